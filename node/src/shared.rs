//! What do the machines of a node and those who read share: the indices, their writers, and what is known of each group?

use crate::dictionaries::SharedDictionaries;
use crate::error::Result;
use crate::events::{Events, NodeEvents};
use crate::halt::Halt;
use crate::index::{IndexState, IndexView};
use crate::indices::Indices;
use crate::models::registry::NodeModels;
use crate::ops::Incarnation;
use crate::pins::GroupPin;
use crate::shard::ShardOptions;
use crate::writers::{Writers, close, longest_unused_first};
use parking_lot::{Mutex, RwLock};
use quorate_insights::store::KeptRows;
use quorate_model::{GroupId, limits};
use quorate_store::files::Files;
use quorate_store::layout::Layout;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What machines and reads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub layout: Layout,
    pub files: Arc<dyn Files>,
    pub dictionaries: SharedDictionaries,
    pub(crate) events: Arc<NodeEvents>,
    pub models: NodeModels,
    pub(crate) shard_options: ShardOptions,
    pub(crate) indices: RwLock<Indices>,
    /// Those with an open writer.
    pub writers: Writers,
    pub(crate) applied: RwLock<BTreeMap<GroupId, u64>>,
    /// Indices with work that is not durable yet, by group.
    pub(crate) busy: Mutex<BTreeMap<GroupId, Vec<Arc<IndexState>>>>,
    /// Which groups other nodes lead.
    pub(crate) led_elsewhere: Mutex<BTreeMap<GroupId, Arc<AtomicBool>>>,
    /// Whether groups stand still; shards and machines share what is said of theirs.
    pub(crate) halts: Mutex<BTreeMap<GroupId, Halt>>,
    /// What groups held at the last log index that their replicas are compared at, until somebody hashes it.
    pub(crate) pins: Mutex<BTreeMap<GroupId, GroupPin>>,
    /// Groups of which an index lacks its files.
    pub(crate) lacking: Mutex<BTreeSet<GroupId>>,
    /// Indices whose files are gone, of the groups that have some.
    pub(crate) gone: Mutex<BTreeMap<GroupId, Vec<Arc<IndexState>>>>,
    /// Indices whose folder a command is filling or removing ([`InHand`]). Locked while the folder of an index that is not here gets the name
    /// of a dead one, so that none comes meanwhile and finds half of it: an entry that is replayed, or carried out late, may
    /// bring an index back for a moment.
    pub(crate) in_hand: Mutex<BTreeSet<Incarnation>>,
    pub(crate) clock: Instant,
    pub(crate) last_use: AtomicU64,
    /// Views that were opened.
    pub(crate) opened: AtomicU64,
}

/// Views that are opened between two looks whether too many are open.
const OPENED_LOOK: u64 = 64;

/// Segments of an index that has been merged and is not written to: a large one, and a small one beside it.
const SEGMENTS_AT_REST: usize = 2;

impl Shared {
    pub(crate) fn index(&self, incarnation: Incarnation) -> Option<Arc<IndexState>> {
        self.indices.read().get(incarnation).cloned()
    }
    pub(crate) fn insert(&self, state: Arc<IndexState>) {
        self.touch(&state);
        let _no_removal = self.in_hand.lock();
        self.indices.write().insert(state);
    }
    pub(crate) fn remove(&self, incarnation: Incarnation) -> Option<Arc<IndexState>> {
        self.indices.write().remove(incarnation)
    }
    pub(crate) fn of_group(&self, group: GroupId) -> Vec<Arc<IndexState>> {
        self.indices.read().of_group(group).cloned().collect()
    }
    /// Notes that an index has work under way.
    pub(crate) fn busy(&self, state: &Arc<IndexState>) {
        let mut busy = self.busy.lock();
        let of_group = busy.entry(state.group).or_default();
        if !of_group.iter().any(|known| Arc::ptr_eq(known, state)) {
            of_group.push(state.clone());
        }
    }
    pub(crate) fn events(&self) -> &NodeEvents {
        &self.events
    }
    /// The events of a group, as its folder has them.
    pub(crate) fn open_events(&self, group: GroupId, kept: KeptRows) -> Result<Events> {
        Events::open(&self.events, group, self.files.clone(), self.layout.events_of(group), kept)
    }
    pub(crate) fn is_led_elsewhere(&self, group: GroupId) -> Arc<AtomicBool> {
        self.led_elsewhere.lock().entry(group).or_default().clone()
    }
    pub(crate) fn halt(&self, group: GroupId) -> Halt {
        self.halts.lock().entry(group).or_default().clone()
    }
    /// How a shard of the group runs.
    pub(crate) fn shard_options(&self, group: GroupId) -> ShardOptions {
        ShardOptions {
            is_led_elsewhere: self.is_led_elsewhere(group),
            halt: self.halt(group),
            ..self.shard_options.clone()
        }
    }
    /// The least of what `position` says of the group's indices with work under way.
    pub(crate) fn least_of_busy<T: Ord>(
        &self,
        group: GroupId,
        position: impl Fn(&IndexState) -> Option<T>,
    ) -> Option<T> {
        self.busy.lock().get(&group)?.iter().filter_map(|state| position(state)).min()
    }
    /// Forgets the indices of the group whose work has all become durable.
    pub(crate) fn forget_idle(&self, group: GroupId) {
        if let Some(of_group) = self.busy.lock().get_mut(&group) {
            of_group
                .retain(|state| state.progress.durable_through().is_some() || state.progress.pending() > 0);
        }
    }
    /// Forgets all work of the group: its indices have been replaced.
    pub(crate) fn forget_busy(&self, group: GroupId) {
        self.busy.lock().remove(&group);
    }
    /// Keeps what a group holds at a log index in the place of what it held at an earlier one.
    pub(crate) fn put_pin(&self, pin: GroupPin) {
        let _no_reader_needs_it = self.pins.lock().insert(pin.group, pin);
    }
    /// Notes whether an index of a group lacks its files.
    pub(crate) fn note_lacking(&self, group: GroupId, lacks_some: bool) {
        let mut lacking = self.lacking.lock();
        if lacks_some {
            lacking.insert(group)
        } else {
            lacking.remove(&group)
        };
    }
    /// Notes the indices of a group whose files are gone.
    pub(crate) fn note_gone(&self, group: GroupId, states: Vec<Arc<IndexState>>) {
        let mut gone = self.gone.lock();
        for state in &states {
            if !gone.get(&group).is_some_and(|known| known.iter().any(|it| Arc::ptr_eq(it, state))) {
                let (index, folder) = (state.incarnation, state.folder.display());
                tracing::error!(group = group.0, index, %folder, "the files of an index are gone");
            }
        }
        match states.is_empty() {
            true => drop(gone.remove(&group)),
            false => drop(gone.insert(group, states)),
        }
    }
    /// Those of a group whose files are gone and that nothing has replaced since. Cost: a lock.
    pub(crate) fn gone_of(&self, group: GroupId) -> Vec<Arc<IndexState>> {
        let gone = self.gone.lock();
        let is_there = |state: &&Arc<IndexState>| {
            self.index(state.incarnation).is_some_and(|now| Arc::ptr_eq(&now, state)) && state.is_gone()
        };
        gone.get(&group).into_iter().flatten().filter(is_there).cloned().collect()
    }
    /// Lets go of what a group held: that state is gone.
    pub(crate) fn drop_pin(&self, group: GroupId) {
        self.pins.lock().remove(&group);
    }
    /// The group begins behind this log index.
    pub(crate) fn begins(&self, group: GroupId, log_index: u64) {
        self.applied.write().insert(group, log_index);
    }
    /// Through where everything of the group has been handed to its shards, in this process.
    pub(crate) fn handed(&self, group: GroupId) -> u64 {
        self.applied.read().get(&group).copied().unwrap_or(0)
    }
    /// Everything of the group through this log index has been handed to its shards.
    pub(crate) fn applied(&self, group: GroupId, log_index: u64) {
        let mut applied = self.applied.write();
        let known = applied.entry(group).or_default();
        *known = log_index.max(*known);
    }
    /// Marks an index as used now.
    pub(crate) fn touch(&self, state: &IndexState) {
        let now = self.clock.elapsed().as_millis() as u64;
        state.used.store(now, Ordering::Relaxed);
        self.last_use.store(now, Ordering::Relaxed);
    }
    /// As [`Self::touch`], of an index whose view is about to be opened unless it is open. Callers open as many as they like, and each
    /// takes memory and a mapping of files: after every few, those that are too many are closed.
    pub(crate) fn use_view(&self, state: &IndexState) {
        self.touch(state);
        if !state.is_open() && self.opened.fetch_add(1, Ordering::Relaxed) % OPENED_LOOK == OPENED_LOOK - 1 {
            self.close_idle_views();
        }
    }
    /// An index of the group whose settings wait for a rebuild that nothing does, when there is room for it.
    pub(crate) fn rebuild_to_resume(&self, group: GroupId) -> Option<Arc<IndexState>> {
        let waits = |state: &&Arc<IndexState>| {
            state.progress.awaits_rebuild() && !state.has_writer() && !state.is_gone()
        };
        let state = self.busy.lock().get(&group)?.iter().find(waits)?.clone();
        let rebuilding = self.writers.open().iter().filter(|state| state.progress.awaits_rebuild()).count();
        (rebuilding < limits::OPEN_WRITERS_MAX / 2).then_some(state)
    }
    /// An index of the group that is searched in more segments than it has when its merging has ended, and that nothing
    /// merges, when there is room for it.
    pub(crate) fn merge_to_resume(&self, group: GroupId) -> Option<Arc<IndexState>> {
        let is_split = |view: Arc<IndexView>| view.shard.segments().len() > SEGMENTS_AT_REST;
        let waits = |state: &&Arc<IndexState>| {
            state.opened_view().is_some_and(is_split) && !state.has_writer() && !state.is_gone()
        };
        let state = self.indices.read().of_group(group).find(waits)?.clone();
        (self.writers.open().len() < limits::OPEN_WRITERS_MAX / 2).then_some(state)
    }
    pub(crate) fn close_idle_writers(&self, idle: Duration) {
        let now = self.clock.elapsed().as_millis() as u64;
        for state in self.writers.open() {
            let unused_ms = now.saturating_sub(state.used.load(Ordering::Relaxed));
            let has_work = state.progress.pending() > 0 || state.has_background_work();
            if unused_ms >= idle.as_millis() as u64 && !has_work {
                close(&state);
            }
        }
    }
    pub(crate) fn close_idle_views(&self) {
        let mut open: Vec<_> = self
            .indices
            .read()
            .all()
            .filter(|state| state.is_open() && !state.has_writer())
            .cloned()
            .collect();
        if open.len() <= limits::OPEN_VIEWS_MAX {
            return;
        }
        longest_unused_first(&mut open);
        for state in &open[..open.len() - limits::OPEN_VIEWS_MAX] {
            state.close_view();
        }
    }
}

/// As long as this lives, the folder of an index is the business of one command, also while this node does not hold the index.
pub(crate) struct InHand {
    shared: Arc<Shared>,
    incarnation: Incarnation,
}

impl InHand {
    pub(crate) fn new(shared: &Arc<Shared>, incarnation: Incarnation) -> InHand {
        shared.in_hand.lock().insert(incarnation);
        InHand { shared: shared.clone(), incarnation }
    }
}
impl Drop for InHand {
    fn drop(&mut self) {
        self.shared.in_hand.lock().remove(&self.incarnation);
    }
}
