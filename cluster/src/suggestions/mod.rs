//! How are suggestions of queries made (C§16.1)?
//!
//! The node that leads the group of a suggestions index builds it, one index at a time, when its configuration was changed, when it was
//! asked for, every day, and some minutes after a user was forgotten, whose searches may have made some of it. A build that breaks off
//! is begun anew, here or by the next leader: until its records are written, as one command, the index is as it was.

mod build;
mod generate;
mod indices;
pub mod log;
mod own_runtime;
mod pace;
mod publish;
#[cfg(test)]
mod tests;

use crate::clock::{unix_ms, write_deadline};
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::meta::SuggestionsRow;
use crate::metrics;
use indices::Indices;
use log::{BuildLog, Level};
use own_runtime::on_own_runtime;
use quorate_model::{Error, ErrorKind, IndexName, Result, SuggestionConfig, level};
use quorate_node::Payer;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often it is looked what is to be built.
const LOOK: Duration = Duration::from_millis(200);
/// How often it is looked whether a build still has to be.
const WATCH: Duration = Duration::from_millis(50);
/// An index is built again so long after its last build.
const EVERY_MS: u64 = 24 * 3_600 * 1_000;
/// And so long after one that was no success.
const AFTER_FAILURE_MS: u64 = 600 * 1_000;
/// After a user was forgotten an index is built so long after its last build at the earliest.
const FORGETS_EVERY_MS: u64 = 600 * 1_000;
/// How long every group may take to know that a user is forgotten.
const FORGOTTEN_EVERYWHERE_MS: u64 = 2_000;
/// How long an index is left alone that could not be written.
const PAUSE: Duration = Duration::from_secs(5);

/// Builds what has to be built, until the task is aborted.
pub async fn run(context: Arc<NodeContext>) {
    let mut paused: BTreeMap<IndexName, Instant> = BTreeMap::new();
    let (mut forgets, mut forgot_ms) = (context.node().forgets_count(), 0);
    loop {
        tokio::time::sleep(LOOK).await;
        let now = context.node().forgets_count();
        if std::mem::replace(&mut forgets, now) != now {
            forgot_ms = unix_ms();
        }
        if context.meta().level() < level::RECOMMEND {
            continue;
        }
        paused.retain(|_, until| *until > Instant::now());
        let Some(row) = next(&context, &paused, forgot_ms) else { continue };
        let index = row.config.index_name.clone();
        let (begun, _is_running) = (Instant::now(), Running::begin());
        let work = context.clone();
        let built = on_own_runtime(async move { build(&work, &row).await }).await;
        match built.and_then(|built| built) {
            Ok(Some(is_success)) => metrics::built("suggestions", is_success, begun.elapsed()),
            Ok(None) => {}
            Err(error) => {
                metrics::built("suggestions", false, begun.elapsed());
                tracing::warn!(index = index.as_str(), %error, "a suggestions index is not built now");
                paused.insert(index, Instant::now() + PAUSE);
            }
        }
    }
}

/// Shows that a build is running for as long as it lives, also when it breaks off.
struct Running;
impl Running {
    fn begin() -> Running {
        metrics::builds_running("suggestions", true);
        Running
    }
}
impl Drop for Running {
    fn drop(&mut self) {
        metrics::builds_running("suggestions", false);
    }
}

/// What this node has to build next: what waits for the longest time. A user was forgotten last at `forgot_ms`.
fn next(
    context: &NodeContext,
    paused: &BTreeMap<IndexName, Instant>,
    forgot_ms: u64,
) -> Option<Arc<SuggestionsRow>> {
    let (meta, now_ms) = (context.meta(), unix_ms());
    let rows = meta.suggestions.iter().filter(|(index, row)| {
        is_due(row, now_ms, forgot_ms) && !paused.contains_key(*index) && is_built_here(context, index)
    });
    rows.map(|(_, row)| row).min_by_key(|row| row.built.as_ref().map_or(0, |built| built.ended_ms)).cloned()
}

/// Whether there has to be a build.
fn is_due(row: &SuggestionsRow, now_ms: u64, forgot_ms: u64) -> bool {
    row.is_running()
        || row.built.as_ref().is_some_and(|built| {
            // what the last build read may have had the user still: it reads from its begin on
            let begun_ms =
                built.last_success.map_or(0, |(ended_ms, took_ms)| ended_ms.saturating_sub(took_ms));
            let may_have_them = begun_ms < forgot_ms.saturating_add(FORGOTTEN_EVERYWHERE_MS);
            let is_known = now_ms >= forgot_ms.saturating_add(FORGOTTEN_EVERYWHERE_MS);
            let pause = match built.is_success {
                true if forgot_ms > 0 && may_have_them && is_known => FORGETS_EVERY_MS,
                true => EVERY_MS,
                false => AFTER_FAILURE_MS,
            };
            now_ms >= built.ended_ms.saturating_add(pause)
        })
}

/// Whether this node leads the group that an index is in, or would be in.
fn is_built_here(context: &NodeContext, index: &IndexName) -> bool {
    let known = context.meta().catalogue.get(index).map(|row| row.group);
    let group = known.map_or_else(|| context.group_for(index), Ok);
    group.is_ok_and(|group| context.groups().get(group).is_some_and(|group| group.is_led_here()))
}

/// Builds an index, and says so. Returns whether it is a success; nothing when it is another one's now. Errors: it is to be tried
/// again.
async fn build(context: &NodeContext, row: &SuggestionsRow) -> Result<Option<bool>> {
    let index = &row.config.index_name;
    let begin = MetaCommand::BeginSuggestions { index: index.clone(), node: context.self_id() };
    let begun_at = propose(context, begin).await?;
    let Some(now) = context.meta().suggestions.get(index).cloned() else { return Ok(None) };
    let mut log = BuildLog::new(unix_ms);
    let payer = Payer::new(&"suggestions", index);
    let outcome = tokio::select! {
        outcome = payer.charge(carry_out(context, &now, &mut log)) => outcome,
        () = overtaken(context, index, &now, begun_at) => return Ok(None),
    };
    let is_success = match outcome {
        Ok(()) => true,
        Err(error) if error.kind == ErrorKind::Unavailable => return Err(error),
        Err(error) => {
            log.add(Level::Error, 0, &error.message);
            false
        }
    };
    let log = tokio::task::spawn_blocking(move || log.close()).await;
    let log = log.map_err(|_| Error::internal("closing the log of a build broke off"))?;
    let end = MetaCommand::EndSuggestions { index: index.clone(), begun_at, is_success, log };
    propose(context, end).await.map(|_| Some(is_success))
}

async fn propose(context: &NodeContext, command: MetaCommand) -> Result<u64> {
    let accepted = context.proposer().propose_meta(command, Purpose::Add, write_deadline()).await?;
    Ok(accepted.task_id.log_index())
}

/// Ends when a build is not this node's any more, or its configuration is another one or gone.
async fn overtaken(context: &NodeContext, index: &IndexName, begun: &SuggestionsRow, begun_at: u64) {
    let is_as_it_was = || {
        let meta = context.meta();
        let row = meta.suggestions.get(index);
        row.is_some_and(|row| {
            row.config == begun.config
                && row.created == begun.created
                && row.begun.is_some_and(|build| build.at == begun_at)
        }) && is_built_here(context, index)
    };
    while is_as_it_was() {
        tokio::time::sleep(WATCH).await;
    }
}

/// Whether the suggestions index is not there yet.
fn is_to_be_made(context: &NodeContext, config: &SuggestionConfig) -> bool {
    context.meta().catalogue.get(&config.index_name).is_none()
}

async fn carry_out(context: &NodeContext, row: &SuggestionsRow, log: &mut BuildLog) -> Result<()> {
    let config = &row.config;
    log.add(Level::Info, 0, &format!("building {}", config.index_name));
    // a replica that was linked since may close a circle, in which an index would be made of nothing but itself
    if context.meta().leads_back(config) {
        return Err(Error::invalid(format!(
            "the source indices have come to lead to {} itself, by way of a replica: it is left as it is",
            config.index_name
        )));
    }
    let indices = Indices::new(context);
    let dictionaries = context.node().dictionaries().clone();
    let suggestions = match build::suggestions(&indices, config, dictionaries, log).await {
        // an index that is away for a moment empties nothing; the first build makes an empty one
        Err(error) if error.kind == ErrorKind::NotFound && is_to_be_made(context, config) => vec![],
        suggestions => suggestions?,
    };
    publish::replace(context, &config.index_name, suggestions, log).await
}
