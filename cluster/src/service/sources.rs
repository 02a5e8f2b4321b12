//! What the interface calls for the list of allowed sources (C§13.5).

use super::Service;
use crate::clock::{self, write_deadline};
use crate::command::MetaCommand;
use crate::context::{NodeContext, abreast};
use crate::disk::Purpose;
use quorate_model::{AllowedSource, AllowedSources, Error, Result, limits};
use std::sync::Arc;

impl Service {
    /// Where calls may come from, as far as this node knows; see [`Service::keep_abreast`].
    pub fn sources(&self) -> Arc<AllowedSources> {
        self.inner.context.shared_meta().load().sources.clone()
    }
    /// The same for a look at them. Cost: an atomic load.
    pub fn with_sources<T>(&self, look: impl FnOnce(&AllowedSources) -> T) -> T {
        look(&self.inner.context.shared_meta().load().sources)
    }
    /// Replaces the list; the time of it. Errors: `Invalid` for too many and for one that is listed twice.
    pub async fn set_sources(&self, sources: Vec<AllowedSource>) -> Result<String> {
        check_list(&sources)?;
        propose(self.open_context()?, MetaCommand::SetSources { sources }).await
    }
    /// Adds a source, or describes one anew; the time of it. Errors: `Invalid` when the list is full.
    pub async fn append_source(&self, source: AllowedSource) -> Result<String> {
        let context = self.open_context()?;
        abreast::learn(context).await?;
        let is_full = |sources: &AllowedSources| {
            sources.list().len() >= limits::SOURCES_MAX && !sources.contains(source.source())
        };
        if is_full(&context.meta().sources) {
            return Err(too_many());
        }
        let appended = propose(context, MetaCommand::AppendSource { source: source.clone() }).await?;
        // others may have filled the list meanwhile
        if is_full(&context.meta().sources) { Err(too_many()) } else { Ok(appended) }
    }
    /// Takes a source out of the list; the time of it. `source` is as it stands there. Errors: `NotFound`.
    pub async fn remove_source(&self, source: &str) -> Result<String> {
        let context = self.open_context()?;
        abreast::learn(context).await?;
        if !context.meta().sources.contains(source) {
            return Err(Error::not_found("Source does not exist"));
        }
        propose(context, MetaCommand::RemoveSource { source: source.to_owned() }).await
    }
}

async fn propose(context: &NodeContext, command: MetaCommand) -> Result<String> {
    // also on a full disk: it is small, and somebody may have to be kept out
    let accepted = context.proposer().propose_meta(command, Purpose::Remove, write_deadline()).await?;
    Ok(clock::rfc3339(accepted.time_ms))
}

fn check_list(sources: &[AllowedSource]) -> Result<()> {
    if sources.len() > limits::SOURCES_MAX {
        return Err(too_many());
    }
    let mut names: Vec<&str> = sources.iter().map(AllowedSource::source).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::parameter("source", &format!("each source once; {} is repeated", pair[0]))),
        None => Ok(()),
    }
}

fn too_many() -> Error {
    Error::invalid(format!("There may be at most {} allowed sources", limits::SOURCES_MAX))
}
