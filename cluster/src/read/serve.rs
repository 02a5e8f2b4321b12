//! What a node does with a call of another one: the same as with its own, as far as its replicas are up to date.

use crate::context::NodeContext;
use crate::read;
use crate::read::documents;
use crate::read::owned;
use crate::read::parts;
use crate::read::remote::Way;
use crate::rpc::calls::ReadOf;
use crate::rpc::calls::{Answered, Asked, SentParts, SentSettings, ServiceCall, encode_answer};
use quorate_model::wire::Text;
use quorate_model::{Error, GroupId, Result, limits};
use quorate_node::Node;
use serde::Serialize;
use std::time::{Duration, Instant};

/// How long this node may lag behind what the asker knows of the catalogue.
const CATALOGUE: Duration = Duration::from_secs(1);
/// How long a call waits until what the asker has seen is shown, at most: a publication takes some milliseconds.
const SHOWN: Duration = Duration::from_millis(500);
/// How often it is looked for.
const SHOWN_LOOK: Duration = Duration::from_millis(1);

/// Carries a call out. Returns the bytes of an `Answered`.
pub async fn serve(context: &NodeContext, call: &[u8]) -> Vec<u8> {
    let asked = match serde_json::from_slice::<Asked>(call) {
        Ok(asked) => asked,
        // a newer node asks: one of its own version may answer
        Err(error) => {
            tracing::debug!(%error, "a call that this node does not know");
            return encode_answer(&Answered::<()>::NotHere);
        }
    };
    let known = match context.groups().meta() {
        Ok(meta) => meta.wait_applied(asked.meta, Instant::now() + CATALOGUE).await,
        Err(error) => Err(error),
    };
    match known {
        Ok(()) => {
            if let Some(read) = asked.read {
                show_seen(context, read).await;
            }
            asked.payer.charge(answer(context, asked.read, asked.call)).await
        }
        Err(_) => encode_answer(&Answered::<()>::NotHere),
    }
}

/// Lets this node show what the asker's clients have seen on another node: for them it would go backwards. What cannot be shown
/// in time, some milliseconds in any ordinary case, they miss until it is.
async fn show_seen(context: &NodeContext, read: ReadOf) {
    if !read::is_readable(context, read.group) {
        return;
    }
    let until = Instant::now() + SHOWN;
    while context.node().visible_through(read.group) < read.seen && Instant::now() < until {
        context.node().publish_now(read.group, read.seen);
        tokio::time::sleep(SHOWN_LOOK).await;
    }
}

/// How an answer is sent.
struct Reply<'a> {
    node: &'a Node,
    read: Option<ReadOf>,
}

impl Reply<'_> {
    /// On a thread that may compute: an answer can be long.
    async fn encode<T: Serialize + Send + 'static>(&self, found: Result<Way<T>>) -> Vec<u8> {
        // after the answer was found: all that is in it had been applied
        let applied = self.read.map(|read| self.node.applied(read.group));
        let answered = match (found, applied) {
            (Ok(Way::Here(answer)), None) => Answered::Done(answer),
            (Ok(Way::Here(answer)), Some(applied)) => Answered::DoneAt { applied, answer },
            (Ok(Way::There(_)), _) => Answered::NotHere,
            (Err(error), _) => Answered::Failed(error.into()),
        };
        let encoded = tokio::task::spawn_blocking(move || encode_answer(&answered)).await;
        encoded.unwrap_or_else(|_| {
            let error = Error::internal("an answer to another node could not be written");
            encode_answer(&Answered::<()>::Failed(error.into()))
        })
    }
}

async fn answer(context: &NodeContext, read: Option<ReadOf>, call: ServiceCall) -> Vec<u8> {
    let reply = Reply { node: context.node(), read };
    match call {
        ServiceCall::Search { index, params, rights } => {
            let rights = read::rights_of(rights);
            let search = async |view| context.node().pool().search(view, *params, rights).await;
            reply.encode(read::on_view(context, &index, search).await).await
        }
        ServiceCall::Browse { index, params, after, rights } => {
            let rights = read::rights_of(rights);
            let browse = async |view| context.node().pool().browse(view, *params, after, rights).await;
            reply.encode(read::on_view(context, &index, browse).await).await
        }
        ServiceCall::SearchFacet { index, facet, facet_query, params, rights } => {
            let rights = read::rights_of(rights);
            let search = async |view| {
                context.node().pool().search_facet(view, facet, facet_query, *params, rights).await
            };
            reply.encode(read::on_view(context, &index, search).await).await
        }
        ServiceCall::Objects { requests, rights, filter } => {
            let found = read::objects_here(context, requests, rights, filter).await;
            let texts =
                |found: Vec<Option<Vec<u8>>>| found.into_iter().map(|it| it.map(Text)).collect::<Vec<_>>();
            reply.encode(found.map(|found| found.map(texts))).await
        }
        ServiceCall::Settings { index } => {
            let shown = read::shown_settings(context, &index).await;
            let sent = shown.map(|shown| {
                shown.map(|settings| SentSettings {
                    document: settings.document.clone(),
                    primary: settings.index.primary.clone(),
                })
            });
            reply.encode(sent).await
        }
        ServiceCall::Document { index, kind, object_id } => {
            let found = documents::get(context, &index, kind, &object_id).await;
            reply.encode(found.map(|found| found.map(Text))).await
        }
        ServiceCall::SearchDocuments { index, kind, asked } => {
            reply.encode(documents::search(context, &index, kind, &asked).await).await
        }
        ServiceCall::Figures { group, incarnations } => {
            let figures = async || read::figures(context.node(), incarnations).await;
            reply.encode(in_group(context, group, figures).await).await
        }
        ServiceCall::Parts { group, incarnation, kinds, within_ms } => {
            let within = Duration::from_millis(within_ms).min(Duration::from_secs(limits::WRITE_S));
            let parts = async || {
                let parts =
                    parts::here(context, (group, incarnation), &kinds, Instant::now() + within).await?;
                Ok(SentParts::from(parts))
            };
            reply.encode(in_group(context, group, parts).await).await
        }
        ServiceCall::Count { group, incarnation, kind, ids } => {
            let count = async || Ok(documents::count(context.node(), incarnation, kind, &ids));
            reply.encode(in_group(context, group, count).await).await
        }
        ServiceCall::ShowsRecords { group, log_index } => {
            let shows = async || Ok(context.node().records_are_visible(group, log_index));
            reply.encode(in_group(context, group, shows).await).await
        }
        ServiceCall::Owned { group, incarnation, whose, within_ms } => {
            let (place, by) = ((group, incarnation), given_up(within_ms));
            let digest = async || owned::digest_here(context, place, whose, by).await;
            reply.encode(in_group(context, group, digest).await).await
        }
        ServiceCall::Stored { group, incarnation, ids, within_ms } => {
            let (place, by) = ((group, incarnation), given_up(within_ms));
            let records = async || owned::records_here(context, place, ids, by).await;
            reply.encode(in_group(context, group, records).await).await
        }
        ServiceCall::Owners { group, incarnation } => {
            let owners = async || owned::owners_here(context.node(), incarnation).await;
            reply.encode(in_group(context, group, owners).await).await
        }
    }
}

/// When a caller has given up that waits for so long.
fn given_up(within_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(within_ms).min(Duration::from_secs(limits::WRITE_S))
}

async fn in_group<T>(
    context: &NodeContext,
    group: GroupId,
    work: impl AsyncFnOnce() -> Result<T>,
) -> Result<Way<T>> {
    match read::is_readable(context, group) {
        true => work().await.map(Way::Here),
        false => Ok(Way::There(group)),
    }
}

#[cfg(test)]
mod tests;
