//! What is put in order in the background: announcements that nobody made, files of indices that no name stands for, idle
//! shards, keys whose time is up.

use crate::apply::actor::Incarnations;
use crate::clock;
use crate::clock::write_deadline;
use crate::command::{MetaCommand, Subject};
use crate::context::NodeContext;
use crate::context::silence;
use crate::disk::Purpose;
use crate::groups::Group;
use crate::membership;
use crate::meta::MetaState;
use crate::metrics;
use crate::peer::PeerStatus;
use crate::write::announcements::{announce, announcement};
use quorate_model::{Error, GroupId, Result, TaskId, level, limits};
use quorate_node::ops::{Incarnation, IndexCommand};
use quorate_raft::StateCopy;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often idle shards are looked for and tombstoned indices are tried again.
const INTERVAL: Duration = Duration::from_secs(5);

/// Rounds between two looks at the size of every file.
const DISK_ROUNDS: u64 = 12;

/// Rounds between two looks for indices that no name stands for.
const STRAY_ROUNDS: u64 = 12;
/// After this time whoever began something has ended it or is gone: four times as long as a write may take.
const CALLER_GONE: Duration = Duration::from_secs(4 * limits::WRITE_S);
/// After this time it is asked whether anybody is still at it.
const ORPHANED: Duration = Duration::from_secs(10);
/// How far another clock may be behind while ended keys are removed: they are a minute after their end.
const KEYS_END_MS: i64 = 30_000;
/// How long the meta group may take to say how far it is.
const BARRIER: Duration = Duration::from_secs(5);

/// Cleans up until the task is aborted. Every step can be repeated, so it may be cut off anywhere.
///
/// What concerns the whole installation is done by the node that leads the meta group.
pub async fn run(context: Arc<NodeContext>) {
    let mut ages = Ages::default();
    for round in 0_u64.. {
        if is_first(&context)
            && let Err(error) = of_installation(&context, &mut ages).await
        {
            tracing::debug!(%error, "announcements or tombstoned indices wait");
        }
        if round % STRAY_ROUNDS == 0
            && let Err(error) = drop_strays(&context).await
        {
            tracing::debug!(%error, "indices that no name stands for wait");
        }
        if round % STRAY_ROUNDS == 0
            && let Err(error) = remove_dead(&context).await
        {
            tracing::debug!(%error, "folders of indices that are gone wait");
        }
        let node = context.node().clone();
        let upkeep = move || {
            if round % DISK_ROUNDS == 0 {
                metrics::disk(node.layout());
            }
            node.passivate();
        };
        match tokio::task::spawn_blocking(upkeep).await {
            Ok(()) => {}
            Err(_) => tracing::error!("closing idle indices panicked"),
        }
        let _woken_or_time = tokio::time::timeout(INTERVAL, context.janitor().woken()).await;
    }
}

/// Whether this node leads the meta group.
fn is_first(context: &NodeContext) -> bool {
    context.groups().meta().is_ok_and(|group| group.is_led_here())
}
/// Whether no other node can be carrying out anything.
fn is_alone(context: &NodeContext) -> bool {
    context.meta().present_nodes().len() <= 1
}

/// Whether the clock of this node is so far ahead of another one's that it may end keys which others still go by.
fn is_ahead(context: &NodeContext) -> bool {
    let behind_ms = |peer: &PeerStatus| peer.clock_ahead_ms.is_some_and(|ahead_ms| ahead_ms < -KEYS_END_MS);
    context.peers().status().iter().any(behind_ms)
}

async fn of_installation(context: &NodeContext, ages: &mut Ages) -> Result<()> {
    let meta = context.meta();
    ages.look(&meta, is_alone(context));
    let ended = || meta.ended_keys(clock::unix_ms() / 1_000);
    if meta.level() >= level::MANAGED_KEYS && !is_ahead(context) && !ended().is_empty() {
        let remove = MetaCommand::RemoveEndedKeys;
        context.proposer().propose_meta(remove, Purpose::Remove, write_deadline()).await?;
    }
    // before others are asked: what that takes is no age
    let at = Instant::now();
    let oldest = match ages.is_any_reserved_for(ORPHANED) {
        true => membership::oldest_operation(context).await,
        false => None,
    };
    for incarnation in ages.abandoned(&meta, at, oldest) {
        let abandon = MetaCommand::AbandonCopy { incarnation };
        context.proposer().propose_meta(abandon, Purpose::Remove, write_deadline()).await?;
    }
    let outcome = announce_left(context, &meta, ages.unannounced(&meta)).await;
    outcome.and(drop_tombstoned(context).await)
}

/// Announces what nobody is announcing. Groups that nobody reaches are told another time: they would keep those waiting who link.
async fn announce_left(context: &NodeContext, meta: &MetaState, left: Vec<(Subject, u64)>) -> Result<()> {
    let mut outcome = Ok(());
    for (subject, revision) in left {
        let told = announcement(meta, subject, revision);
        if told.is_some_and(|told| silence::is_out_of_reach(context, told.group)) {
            continue;
        }
        // what a caller is about to announce, with settings before it, must not come first from here
        let Some(_nobody_announces) = context.janitor().nobody_announces() else { break };
        // a group that does not answer must not keep the others waiting
        outcome = outcome.and(announce(context, subject, revision, write_deadline()).await.map(drop));
    }
    outcome
}

/// Since when unfinished work of callers has been seen: what they may still be doing on other nodes is left to them.
#[derive(Debug, Default)]
struct Ages {
    began: Option<Instant>,
    reserved: BTreeMap<Incarnation, Instant>,
    unannounced: BTreeMap<(Subject, u64), Instant>,
    is_alone: bool,
}

impl Ages {
    fn look(&mut self, meta: &MetaState, is_alone: bool) {
        let now = Instant::now();
        self.is_alone = is_alone;
        // what a node that is alone finds when it starts is the last process's
        let since =
            if is_alone && self.began.is_none() { now.checked_sub(CALLER_GONE).unwrap_or(now) } else { now };
        self.began.get_or_insert(now);
        self.reserved.retain(|it, _| meta.reserved.contains_key(it));
        for &incarnation in meta.reserved.keys() {
            self.reserved.entry(incarnation).or_insert(since);
        }
        self.unannounced.retain(|(it, revision), _| meta.unannounced.get(it) == Some(revision));
        for (&subject, &revision) in meta.unannounced.iter() {
            self.unannounced.entry((subject, revision)).or_insert(since);
        }
    }
    /// Whether something has been reserved for so long.
    fn is_any_reserved_for(&self, long: Duration) -> bool {
        self.reserved.values().any(|at| at.elapsed() >= long)
    }
    /// Copies whose caller cannot be at work any more: for long enough, or since `oldest`, for which some operation has been under
    /// way on any node, is less by more than rounding. `at` is from before that was asked.
    fn abandoned(&self, meta: &MetaState, at: Instant, oldest: Option<Duration>) -> Vec<Incarnation> {
        let is_orphaned = |age: Duration| {
            age >= ORPHANED && oldest.is_some_and(|oldest| oldest + Duration::from_secs(4) < age)
        };
        let is_over = |it: &&Incarnation| {
            let age = self.reserved.get(it).map(|since| at.saturating_duration_since(*since));
            age.is_some_and(|age| age >= CALLER_GONE || is_orphaned(age))
        };
        meta.reserved.keys().filter(is_over).copied().collect()
    }
    /// What nobody is announcing: on a node that is alone the lock says so.
    fn unannounced(&self, meta: &MetaState) -> Vec<(Subject, u64)> {
        let patience = |subject: &Subject| match subject {
            Subject::Replicas(_) => CALLER_GONE,
            // whoever announces them does nothing before it that has to come first
            Subject::Dictionaries(_) => INTERVAL,
        };
        let is_due = |key: &(Subject, u64)| {
            self.is_alone || self.unannounced.get(key).is_some_and(|at| at.elapsed() >= patience(&key.0))
        };
        meta.unannounced.iter().map(|(it, revision)| (*it, *revision)).filter(is_due).collect()
    }
}

/// Drops what no name stands for any more: first in its group, then from the list.
async fn drop_tombstoned(context: &NodeContext) -> Result<()> {
    let tombstoned = context.meta().tombstoned.clone();
    let (mut outcome, mut silent) = (Ok(()), BTreeSet::new());
    for (&incarnation, &group) in tombstoned.iter() {
        if silent.contains(&group) {
            continue;
        }
        if let Err(error) = drop_index(context, group, incarnation).await {
            silent.insert(group);
            outcome = Err(error);
            continue;
        }
        let dropped = MetaCommand::Dropped { incarnation };
        context.proposer().propose_meta(dropped, Purpose::Remove, write_deadline()).await?;
    }
    outcome
}

async fn drop_index(context: &NodeContext, group: GroupId, index: Incarnation) -> Result<()> {
    let command = IndexCommand::Drop { index };
    context.proposer().propose_index(group, command, Purpose::Remove, write_deadline()).await?;
    Ok(())
}

/// Drops indices that writes brought back after their end, in the groups that this node leads.
async fn drop_strays(context: &NodeContext) -> Result<()> {
    for group in context.groups().placement().into_iter().filter(|group| group.is_led_here()) {
        // listed before the catalogue is read: an index is in the catalogue before it is in its group
        // one that waits for a disk or a rebuild is asked another time
        let asked = tokio::time::timeout(BARRIER, group.incarnations.send(Incarnations));
        let Ok(Ok(held)) = asked.await else { continue };
        if held.is_empty() {
            continue;
        }
        let (_, known) = known(context).await?;
        for incarnation in held.into_iter().filter(|it| !known.contains(it)) {
            tracing::info!(group = group.id.0, incarnation, "dropping an index that no name stands for");
            drop_index(context, group.id, incarnation).await?;
        }
    }
    Ok(())
}

/// Removes folders of this node that belong to no index: a power cut brings back what was removed and not synced yet.
///
/// What is asked for later is not among them: an incarnation is the log index of a command of the meta group, and what has
/// none in the catalogue, nor a reservation, nor waits to be dropped, after that command was applied, never has one again.
async fn remove_dead(context: &NodeContext) -> Result<()> {
    // a state that is on its way may be of before an index was dropped
    let is_fetching = |group: &Arc<Group>| group.status().copy == StateCopy::Fetching;
    if context.groups().all().iter().any(is_fetching) {
        return Ok(());
    }
    let listed = context.node().clone();
    let look = move || -> Result<Vec<Incarnation>> {
        // one that cannot go is no reason to keep others
        if let Err(error) = listed.remove_rests() {
            tracing::warn!(%error, "what is left of the folder of an index stays");
        }
        Ok(listed.layout().incarnations()?)
    };
    let folders = tokio::task::spawn_blocking(look).await;
    let folders = folders.map_err(|_| Error::internal("listing folders broke off"))??;
    if folders.iter().all(|&incarnation| context.node().index(incarnation).is_some()) {
        return Ok(());
    }
    let (through, known) = known(context).await?;
    for incarnation in folders {
        let is_dead = TaskId(incarnation).log_index() <= through && !known.contains(&incarnation);
        if is_dead && context.node().remove_dead(incarnation)? {
            tracing::info!(incarnation, "removed a folder that belongs to no index");
        }
    }
    Ok(())
}

/// The incarnations that the installation knows, and the meta log index as of which.
async fn known(context: &NodeContext) -> Result<(u64, BTreeSet<Incarnation>)> {
    let meta_group = context.groups().meta()?;
    let barrier = meta_group.raft.read_barrier(BARRIER).await;
    let log_index = barrier.map_err(|error| Error::unavailable(error.to_string()))?;
    meta_group.wait_applied(log_index, Instant::now() + BARRIER).await?;
    let meta = context.meta();
    let named = meta.catalogue.iter().map(|(_, row)| row.incarnation);
    let others = meta.reserved.keys().chain(meta.tombstoned.keys()).copied();
    Ok((log_index, named.chain(others).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_given_up_when_nobody_can_be_at_it() {
        let mut meta = MetaState::default();
        meta.reserved.insert(7, crate::meta::Reservation { group: GroupId(1), replica: None });
        let seconds = Duration::from_secs;
        let given_up = |age: Duration, oldest: Option<Duration>| {
            let mut ages = Ages::default();
            ages.reserved.insert(7, Instant::now().checked_sub(age).expect("the machine runs for longer"));
            !ages.abandoned(&meta, Instant::now(), oldest).is_empty()
        };
        for (age_s, oldest_s, expected) in [
            (20, None, false),
            (20, Some(0), true),
            (20, Some(15), true),
            (20, Some(17), false),
            (20, Some(50), false),
            (9, Some(0), false),
            (101, None, true),
            (101, Some(101), true),
        ] {
            assert_eq!(given_up(seconds(age_s), oldest_s.map(seconds)), expected, "{age_s} {oldest_s:?}");
        }
    }
}
