//! What a node does with a call of another one: the same as with its own, as far as its replicas are up to date.

use crate::calls::{Answered, Asked, SentParts, SentSettings, ServiceCall, encode_answer};
use crate::documents;
use crate::parts;
use crate::read;
use crate::remote::Way;
use crate::router::Router;
use crate::user_mapping::owned;
use quorate_model::wire::Text;
use quorate_model::{Error, GroupId, IndexName, Result, limits};
use quorate_node::Node;
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long this node may lag behind what the asker knows of the catalogue.
const CATALOGUE: Duration = Duration::from_secs(1);
/// How long a call waits until what was put off is shown, at most: a publication takes some milliseconds.
const SHOWN: Duration = Duration::from_millis(200);
/// How often it is looked for.
const SHOWN_LOOK: Duration = Duration::from_millis(1);

/// Carries a call out. Returns the bytes of an `Answered`.
pub async fn serve(router: &Router, node: &Node, call: &[u8]) -> Vec<u8> {
    let asked = match serde_json::from_slice::<Asked>(call) {
        Ok(asked) => asked,
        // a newer node asks: one of its own version may answer
        Err(error) => {
            tracing::debug!(%error, "a call that this node does not know");
            return encode_answer(&Answered::<()>::NotHere);
        }
    };
    let known = match router.groups().meta() {
        Ok(meta) => meta.wait_applied(asked.meta, Instant::now() + CATALOGUE).await,
        Err(error) => Err(error),
    };
    match known {
        Ok(()) => {
            show_put_off(router, node, &asked.call).await;
            answer(router, node, asked.call).await
        }
        Err(_) => encode_answer(&Answered::<()>::NotHere),
    }
}

/// Lets this node show what it has of the records that a call reads. The asker's last read may have gone to a node that showed
/// them already: what its clients see would go backwards.
async fn show_put_off(router: &Router, node: &Node, call: &ServiceCall) {
    let names: Vec<&IndexName> = match call {
        ServiceCall::Search { index, .. }
        | ServiceCall::Browse { index, .. }
        | ServiceCall::SearchFacet { index, .. } => vec![index],
        ServiceCall::Objects { requests, .. } => requests.iter().map(|request| &request.index).collect(),
        _ => vec![],
    };
    let groups: BTreeSet<GroupId> =
        names.into_iter().filter_map(|name| read::row(router, name).ok()).map(|row| row.group).collect();
    let until = Instant::now() + SHOWN;
    for group in groups {
        while node.hurry_put_off(group) && Instant::now() < until {
            tokio::time::sleep(SHOWN_LOOK).await;
        }
    }
}

async fn answer(router: &Router, node: &Node, call: ServiceCall) -> Vec<u8> {
    match call {
        ServiceCall::Search { index, params, rights } => {
            let rights = read::rights_of(rights);
            let search = async |view| node.pool().search(view, *params, rights).await;
            encoded(read::on_view(router, node, &index, search).await).await
        }
        ServiceCall::Browse { index, params, after, rights } => {
            let rights = read::rights_of(rights);
            let browse = async |view| node.pool().browse(view, *params, after, rights).await;
            encoded(read::on_view(router, node, &index, browse).await).await
        }
        ServiceCall::SearchFacet { index, facet, facet_query, params } => {
            let search = async |view| node.pool().search_facet(view, facet, facet_query, *params).await;
            encoded(read::on_view(router, node, &index, search).await).await
        }
        ServiceCall::Objects { requests, rights, filter } => {
            let found = read::objects_here(router, node, requests, rights, filter).await;
            let texts =
                |found: Vec<Option<Vec<u8>>>| found.into_iter().map(|it| it.map(Text)).collect::<Vec<_>>();
            encoded(found.map(|found| found.map(texts))).await
        }
        ServiceCall::Settings { index } => {
            let shown = read::shown_settings(router, node, &index).await;
            let sent = shown.map(|shown| {
                shown.map(|settings| SentSettings {
                    document: settings.document.clone(),
                    primary: settings.index.primary.clone(),
                })
            });
            encoded(sent).await
        }
        ServiceCall::Document { index, kind, object_id } => {
            let found = documents::get(router, node, &index, kind, &object_id).await;
            encoded(found.map(|found| found.map(Text))).await
        }
        ServiceCall::SearchDocuments { index, kind, asked } => {
            encoded(documents::search(router, node, &index, kind, &asked).await).await
        }
        ServiceCall::Figures { group, incarnations } => {
            let figures = async || read::figures(node, incarnations).await;
            encoded(in_group(router, node, group, figures).await).await
        }
        ServiceCall::Parts { group, incarnation, kinds, within_ms } => {
            let within = Duration::from_millis(within_ms).min(Duration::from_secs(limits::WRITE_S));
            let parts = async || {
                let parts =
                    parts::here(router, node, (group, incarnation), &kinds, Instant::now() + within).await?;
                Ok(SentParts::from(parts))
            };
            encoded(in_group(router, node, group, parts).await).await
        }
        ServiceCall::Count { group, incarnation, kind, ids } => {
            let count = async || Ok(documents::count(node, incarnation, kind, &ids));
            encoded(in_group(router, node, group, count).await).await
        }
        ServiceCall::ShowsRecords { group, log_index } => {
            let shows = async || Ok(node.records_are_visible(group, log_index));
            encoded(in_group(router, node, group, shows).await).await
        }
        ServiceCall::Owned { group, incarnation, whose, within_ms } => {
            let (place, by) = ((group, incarnation), given_up(within_ms));
            let digest = async || owned::digest_here(router, node, place, whose, by).await;
            encoded(in_group(router, node, group, digest).await).await
        }
        ServiceCall::Stored { group, incarnation, ids, within_ms } => {
            let (place, by) = ((group, incarnation), given_up(within_ms));
            let records = async || owned::records_here(router, node, place, ids, by).await;
            encoded(in_group(router, node, group, records).await).await
        }
        ServiceCall::Owners { group, incarnation } => {
            let owners = async || owned::owners_here(node, incarnation).await;
            encoded(in_group(router, node, group, owners).await).await
        }
    }
}

/// When a caller has given up that waits for so long.
fn given_up(within_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(within_ms).min(Duration::from_secs(limits::WRITE_S))
}

async fn in_group<T>(
    router: &Router,
    node: &Node,
    group: GroupId,
    work: impl AsyncFnOnce() -> Result<T>,
) -> Result<Way<T>> {
    match read::is_readable(router, node, group) {
        true => work().await.map(Way::Here),
        false => Ok(Way::There(group)),
    }
}

/// On a thread that may compute: an answer can be long.
async fn encoded<T: Serialize + Send + 'static>(found: Result<Way<T>>) -> Vec<u8> {
    let answered = match found {
        Ok(Way::Here(answer)) => Answered::Done(answer),
        Ok(Way::There(_)) => Answered::NotHere,
        Err(error) => Answered::Failed(error.into()),
    };
    let encoded = tokio::task::spawn_blocking(move || encode_answer(&answered)).await;
    encoded.unwrap_or_else(|_| {
        let error = Error::internal("an answer to another node could not be written");
        encode_answer(&Answered::<()>::Failed(error.into()))
    })
}
