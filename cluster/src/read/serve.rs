//! What a node does with a call of another one: the same as with its own, as far as its replicas are up to date. Here is the list
//! of all calls.

use crate::context::NodeContext;
use crate::read;
use crate::read::analytics::GetReport;
use crate::read::call::{Location, ReadCall};
use crate::read::candidates::{GetCandidates, GetTrends};
use crate::read::event_rows::{GetEventRows, GetEvents};
use crate::read::figures::GetFigures;
use crate::read::filtered::FilteredQueries;
use crate::read::index_config::GetIndexConfig;
use crate::read::models::{AskForBuild, GetModels, PutModel};
use crate::read::objects::GetObjects;
use crate::read::popular::PopularQueries;
use crate::read::published::ShowsRecords;
use crate::read::recommend::Recommend;
use crate::read::request_log::GetCalls;
use crate::read::resources::{CountResources, GetResource, SearchResources};
use crate::read::search::{Browse, Search, SearchFacet};
use crate::read::settings::GetSettings;
use crate::read::user_records::{GetOwned, GetOwners, GetStored};
use crate::rpc::calls::{Answered, CallEnvelope, ReadOf, encode_answer};
use quorate_model::{Error, Result};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long this node may lag behind what the asker knows of the catalogue.
const CATALOGUE: Duration = Duration::from_secs(1);
/// How long a call waits until what the asker has seen is shown, at most: a publication takes some milliseconds.
const SHOWN: Duration = Duration::from_millis(500);
/// How often it is looked for.
const SHOWN_LOOK: Duration = Duration::from_millis(1);

/// A call on its way between nodes, under its name.
type Named<'a> = BTreeMap<&'a str, &'a RawValue>;

/// Carries a call out. Returns the bytes of an `Answered`.
pub async fn serve(context: &NodeContext, call: &[u8]) -> Vec<u8> {
    let asked = match serde_json::from_slice::<CallEnvelope<Named<'_>>>(call) {
        Ok(asked) => asked,
        Err(error) => return unknown(&error.to_string()),
    };
    let known = match context.groups().meta() {
        Ok(meta) => meta.wait_applied(asked.meta, Instant::now() + CATALOGUE).await,
        Err(error) => Err(error),
    };
    if known.is_err() {
        return encode_answer(&Answered::<()>::NotHere);
    }
    if let Some(read) = asked.read {
        show_seen(context, read).await;
    }
    asked.payer.charge(answer(context, asked.call, Reply { read: asked.read })).await
}

/// A newer node asks: one of its own version may answer.
fn unknown(reason: &str) -> Vec<u8> {
    tracing::debug!(reason, "a call that this node does not know");
    encode_answer(&Answered::<()>::NotHere)
}

/// Carries out the one of these calls that has the name.
macro_rules! calls {
    ($($call:ident),+ $(,)?) => {
        async fn answer(context: &NodeContext, call: Named<'_>, reply: Reply) -> Vec<u8> {
            let Some((name, body)) = call.first_key_value() else { return unknown("nothing is asked") };
            match *name {
                $($call::NAME => match serde_json::from_str::<$call>(body.get()) {
                    Ok(call) => reply.to(context, call).await,
                    Err(error) => unknown(&error.to_string()),
                },)+
                _ => unknown(name),
            }
        }
        #[cfg(test)]
        const NAMES: &[&str] = &[$($call::NAME),+];
    };
}

calls! {
    Search, Browse, SearchFacet, GetObjects, GetSettings, GetResource, SearchResources, GetFigures, GetIndexConfig, CountResources,
    ShowsRecords, GetOwned, GetStored, GetOwners, GetCalls, Recommend, GetCandidates, AskForBuild, GetModels, GetReport,
    PopularQueries, FilteredQueries, GetTrends, GetEvents, GetEventRows, PutModel,
}

/// Lets this node show what the asker's clients have seen on another node: for them it would go backwards. What cannot be shown
/// in time, some milliseconds in any ordinary case, they miss until it is.
async fn show_seen(context: &NodeContext, read: ReadOf) {
    if !read::is_readable(context, read.group) {
        return;
    }
    let until = Instant::now() + SHOWN;
    while context.node().records_visible_through(read.group) < read.seen && Instant::now() < until {
        context.node().publish_now(read.group, read.seen);
        tokio::time::sleep(SHOWN_LOOK).await;
    }
}

/// How an answer is sent.
#[derive(Clone, Copy)]
struct Reply {
    read: Option<ReadOf>,
}

impl Reply {
    /// The bytes of the answer to a call.
    async fn to<C: ReadCall>(self, context: &NodeContext, call: C) -> Vec<u8> {
        let found = match call.locate(context).await {
            Ok(Location::Local(source)) => call.read(context, source).await.map(Some),
            Ok(Location::Remote(_)) => Ok(None),
            Err(error) => Err(error),
        };
        self.encode(context, found).await
    }

    /// On a thread that may compute: an answer can be long.
    async fn encode<T: Serialize + Send + 'static>(
        self,
        context: &NodeContext,
        found: Result<Option<T>>,
    ) -> Vec<u8> {
        // after the answer was found: all that is in it had been applied
        let applied = self.read.map(|read| context.node().applied(read.group));
        let answered = match (found, applied) {
            (Ok(Some(answer)), None) => Answered::Done(answer),
            (Ok(Some(answer)), Some(applied)) => Answered::DoneAt { applied, answer },
            (Ok(None), _) => Answered::NotHere,
            (Err(error), _) => Answered::Failed(error.into()),
        };
        let encoded = tokio::task::spawn_blocking(move || encode_answer(&answered)).await;
        encoded.unwrap_or_else(|_| {
            let error = Error::internal("an answer to another node could not be written");
            encode_answer(&Answered::<()>::Failed(error.into()))
        })
    }
}

#[cfg(test)]
mod tests;
