//! Who makes the models of an index? The node that leads the group of its name, one at a time, on a thread of low priority, which
//! ends when another node leads. What it has made is put in force by a command.

use super::due::{Last, Standing, is_due};
use crate::beside::{Asker, StopGuard, beside};
use crate::clock::unix_ms;
use crate::context::NodeContext;
use crate::context::builds::{Attempt, Which};
use crate::disk::Purpose;
use crate::groups::Group;
use crate::read::models;
use quorate_model::level::{self, Needs};
use quorate_model::{Error, GroupId, IndexName, RecommendModel, Result};
use quorate_node::{Interactions, Made, Making, ModelKey, Node, NodeError};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Between two looks for what is due.
const LOOK: Duration = Duration::from_secs(10);
/// How often it is looked whether this node still leads, beside being told.
const LEADS_LOOK: Duration = Duration::from_millis(50);
/// How long the group may take to say how far it is.
const BARRIER: Duration = Duration::from_secs(5);
/// The models that are made of events and kept as files.
const MODELS: [RecommendModel; 2] = [RecommendModel::RelatedProducts, RecommendModel::BoughtTogether];

/// What is to be built.
#[derive(Clone, Debug)]
struct Work {
    group: GroupId,
    index: IndexName,
    models: Vec<RecommendModel>,
    /// Rows that will not be new any more.
    new_rows: u64,
}

/// Builds what is due or asked for until the task is aborted.
pub async fn run(context: Arc<NodeContext>) {
    loop {
        let is_possible = context.proposer().check_level(&Needs::level(level::RECOMMEND)).is_ok()
            && context.disk().admit(Purpose::Add).is_ok();
        let next = if is_possible { asked(&context).or_else(|| due(&context)) } else { None };
        match next {
            Some(work) => build(&context, work).await,
            None => {
                let _asked_or_time = tokio::time::timeout(LOOK, context.insights().builds.asked()).await;
            }
        }
    }
}

/// The groups that this node leads.
fn led(context: &NodeContext) -> BTreeMap<GroupId, Arc<Group>> {
    let groups = context.groups().placement().into_iter();
    groups
        .filter(|group| group.is_led_here() && !group.halt.is_set())
        .map(|group| (group.id, group))
        .collect()
}

fn asked(context: &NodeContext) -> Option<Work> {
    let led = led(context);
    let (group, ModelKey { index, model }) =
        context.insights().builds.next(|group| led.contains_key(&group))?;
    Some(Work { group, index, models: vec![model], new_rows: 0 })
}

/// The first index whose models are due. Events may name what is no index: nobody could ask for what goes together there, and names
/// without end would keep those of indices from being counted.
fn due(context: &NodeContext) -> Option<Work> {
    let latest = context.insights().builds.at_latest()?;
    let meta = context.meta();
    for group in led(context).into_keys() {
        let mut names: BTreeMap<IndexName, (u64, u64)> = BTreeMap::new();
        for state in context.node().models(group) {
            names.insert(state.key.index, (0, 0));
        }
        for (name, arrived) in context.node().arrivals(group) {
            match meta.catalogue.get(&name) {
                Some(_) => drop(names.insert(name, (arrived.rows, arrived.since_ms))),
                None => context.node().drop_arrivals(group, &name),
            }
        }
        for (index, (new_rows, since_ms)) in names {
            let waiting = Duration::from_millis(unix_ms().saturating_sub(since_ms));
            let (last, has_model) = last_of(context, group, &index, new_rows);
            if is_due(Standing { new_rows, waiting, last, has_model }, latest) {
                let models = built(context, group, &index);
                if !models.is_empty() {
                    return Some(Work { group, index, models, new_rows });
                }
            }
        }
    }
    None
}

/// The models of an index that are built without being asked for: those that were not made elsewhere.
fn built(context: &NodeContext, group: GroupId, index: &IndexName) -> Vec<RecommendModel> {
    let is_built = |model: &RecommendModel| {
        let key = ModelKey { index: index.clone(), model: *model };
        !context.node().model_report(group, &key).is_some_and(|report| report.is_uploaded)
    };
    MODELS.into_iter().filter(is_built).collect()
}

/// The last build of an index' models, here or by who led before.
fn last_of(context: &NodeContext, group: GroupId, index: &IndexName, new_rows: u64) -> (Option<Last>, bool) {
    let mut last: Option<Last> = None;
    let mut has_model = false;
    for model in MODELS {
        let which = (group, ModelKey { index: index.clone(), model });
        let installed = context.node().model(group, &which.1).map(|state| state.installed);
        has_model |= installed.is_some();
        let found = match (context.insights().builds.last(&which), installed) {
            (Some(attempt), _) => {
                let rows = attempt.report.map_or(0, |report| report.rows);
                Some(Last { ago: attempt.at.elapsed(), rows })
            }
            (None, Some(installed)) => {
                let ago = Duration::from_millis(unix_ms().saturating_sub(installed.time_ms));
                // the file is only looked at when it matters
                let report = if new_rows > 0 { context.node().model_report(group, &which.1) } else { None };
                Some(Last { ago, rows: report.map_or(0, |report| report.rows) })
            }
            (None, None) => None,
        };
        last = match (last, found) {
            (Some(last), Some(found)) if last.ago <= found.ago => Some(last),
            (last, None) => last,
            (_, found) => found,
        };
    }
    (last, has_model)
}

/// Makes the models of an index and puts them in force.
async fn build(context: &Arc<NodeContext>, work: Work) {
    let Work { group, index, models, new_rows } = work;
    let (begun, stop) = (Instant::now(), Arc::new(AtomicBool::new(false)));
    let _stopped_when_aborted = StopGuard(stop.clone());
    let first = ModelKey { index: index.clone(), model: models[0] };
    context.insights().builds.note_running(Some((group, first)));
    abreast(context, group).await;
    let read = {
        let (node, index, stop) = (context.node().clone(), index.clone(), stop.clone());
        move || node.interactions(group, index.as_str(), unix_ms(), &stop)
    };
    let read = while_led(context, group, read, &stop).await;
    let interactions = match read {
        Some(Ok(interactions)) => Arc::new(interactions),
        Some(Err(error)) => {
            let reason = error.to_string();
            models.iter().for_each(|model| {
                failed(context, (group, ModelKey { index: index.clone(), model: *model }), begun, &reason)
            });
            return context.insights().builds.note_running(None);
        }
        None => return context.insights().builds.note_running(None),
    };
    let mut all_done = true;
    for model in models {
        let key = ModelKey { index: index.clone(), model };
        context.insights().builds.note_running(Some((group, key.clone())));
        all_done &= build_one(context, (group, key), interactions.clone(), &stop).await;
    }
    if all_done {
        context.node().settle_arrivals(group, &index, new_rows);
    }
    context.insights().builds.note_running(None);
}

/// Waits until this node has applied what was answered before, as far as that can be known: somebody may ask for a build right after
/// events.
async fn abreast(context: &NodeContext, group: GroupId) {
    let Ok(group) = context.group(group) else { return };
    if let Ok(through) = group.raft.read_barrier(BARRIER).await {
        let _it_is_behind = group.wait_applied(through, Instant::now() + BARRIER).await;
    }
}

/// Returns whether it came to an end.
async fn build_one(
    context: &Arc<NodeContext>,
    which: Which,
    interactions: Arc<Interactions>,
    stop: &Arc<AtomicBool>,
) -> bool {
    let (group, key) = &which;
    let begun = Instant::now();
    let known = context.node().model(*group, key).map(|state| state.installed);
    let seq = known.map_or(0, |known| known.seq + 1).max(unix_ms());
    let place = Arc::new(context.node().begin_model(*group, key, seq));
    let made = {
        let (node, key, stop, place) = (context.node().clone(), key.clone(), stop.clone(), place.clone());
        move || make(&node, &key, &interactions, &place, &stop)
    };
    let Some(made) = while_led(context, *group, made, stop).await else { return false };
    let installed = match made {
        Ok(made) => install(context, &which, seq, &made, known.is_some()).await.map(|()| made),
        Err(error) => Err(Error::internal(error.to_string())),
    };
    drop(place);
    match installed {
        Ok(made) => {
            let reason = (made.length == 0).then(|| "nothing goes together yet".to_owned());
            let (index, model) = (&key.index, &key.model);
            let (rows, bytes, took_ms) = (made.report.rows, made.length, begun.elapsed().as_millis() as u64);
            tracing::info!(group = group.0, %index, %model, seq, rows, bytes, took_ms, "built a model");
            let (at, took) = (Instant::now(), begun.elapsed());
            let attempt = Attempt { at, at_ms: unix_ms(), took, report: Some(made.report), reason };
            context.insights().builds.note(which, attempt);
            true
        }
        Err(error) => {
            failed(context, which, begun, &error.message);
            false
        }
    }
}

fn make(
    node: &Node,
    key: &ModelKey,
    interactions: &Interactions,
    place: &Making,
    stop: &AtomicBool,
) -> Result<Made, NodeError> {
    node.build_model(key, interactions, place, stop)
}

/// Puts a model in force, or takes away the one that is when there is nothing more.
async fn install(context: &NodeContext, which: &Which, seq: u64, made: &Made, is_known: bool) -> Result<()> {
    if made.length == 0 && !is_known {
        return Ok(());
    }
    models::install(context, which, seq, made).await
}

fn failed(context: &NodeContext, which: Which, begun: Instant, reason: &str) {
    let (group, key) = &which;
    tracing::warn!(group = group.0, index = %key.index, model = %key.model, reason, "a model was not built");
    let (at, took, reason) = (Instant::now(), begun.elapsed(), Some(reason.to_owned()));
    context.insights().builds.note(which, Attempt { at, at_ms: unix_ms(), took, report: None, reason });
}

/// The result of work on a thread of low priority; `None` when this node leads the group no more, and the work is told to stop, or
/// when it broke off.
async fn while_led<T: Send + 'static>(
    context: &NodeContext,
    group: GroupId,
    work: impl FnOnce() -> T + Send + 'static,
    stop: &AtomicBool,
) -> Option<T> {
    let mut work = pin!(beside("model-build", |_: &mut Asker<T>| work()));
    loop {
        tokio::select! {
            done = &mut work => return done
                .inspect_err(|error| tracing::warn!(%error, group = group.0, "a model was not built"))
                .ok(),
            () = tokio::time::sleep(LEADS_LOOK) => {
                if !led(context).contains_key(&group) {
                    stop.store(true, std::sync::atomic::Ordering::Relaxed);
                    // it ends within 100 ms, and takes what it wrote with it
                    drop(work.await);
                    return None;
                }
            }
        }
    }
}
