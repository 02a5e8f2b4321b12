//! The indices of one node, shared by the machines that change them and the reads that see them.

mod pinned;

use crate::dictionaries::SharedDictionaries;
use crate::error::{Error, Result};
use crate::events::{Arrived, EventFigures, Forgets, ForgottenUsers, GroupEvents, NamedSearch, NodeEvents};
use crate::halt::Halt;
use crate::index::{IndexState, IndexStats, IndexView};
use crate::machine::PlacementMachine;
use crate::models::registry::NodeModels;
use crate::ops::Incarnation;
use crate::pins::GroupPin;
use crate::search::SearchPool;
use crate::shard::{Pace, ShardOptions, ShardStatus};
use crate::shared::Shared;
use crate::writers::Writers;
use parking_lot::{Mutex, RwLock};
use quorate_engine::index::{LevelInForce, RebuildCounts, WriterOptions};
use quorate_insights::store::EventView;
use quorate_model::{GroupId, IndexName};
use quorate_store::files::Files;
use quorate_store::kv::Kv;
use quorate_store::layout::{self, Layout};
use quorate_store::space::Room;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a node is opened with.
#[derive(Debug)]
pub struct NodeOptions {
    /// Where things are in the data folder.
    pub layout: Layout,
    /// The file layer of durable commits.
    pub files: Arc<dyn Files>,
    /// The working metadata store, verified or empty.
    pub kv: Kv,
    /// Threads that run searches.
    pub search_threads: usize,
    /// Threads of one index writer while it is loaded in bulk.
    pub writer_threads: usize,
    /// Memory of one index writer.
    pub writer_memory_bytes: usize,
    /// Bytes of a new file that one keeps in memory until they are durable; a larger file goes to disk at once.
    pub writer_spill_bytes: usize,
    /// The disk of the data folder.
    pub room: Room,
    /// When shards commit durably, and try again what failed.
    pub pace: Pace,
    /// Decides the form of new segments.
    pub level: LevelInForce,
    /// The dictionaries of all indices.
    pub dictionaries: SharedDictionaries,
    /// How long rows of events are kept, from the end of their day on.
    pub events_kept: Duration,
}

/// One node. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Node {
    shared: Arc<Shared>,
    kv: Kv,
    pool: SearchPool,
}

impl Node {
    /// Starts a node without indices; each group's come with its machine.
    pub fn open(options: NodeOptions) -> Result<Node> {
        let NodeOptions {
            layout,
            files,
            kv,
            search_threads,
            writer_threads,
            writer_memory_bytes,
            writer_spill_bytes,
            room,
            pace,
            level,
            dictionaries,
            events_kept,
        } = options;
        let shard_options = ShardOptions {
            files: files.clone(),
            writer: WriterOptions {
                memory_bytes: writer_memory_bytes,
                threads: writer_threads,
                spill_bytes: writer_spill_bytes,
                room,
                level,
                ..WriterOptions::default()
            },
            is_led_elsewhere: Arc::default(),
            halt: Halt::default(),
            rebuild_failures: Arc::default(),
            pace,
        };
        let shared = Shared {
            layout,
            files,
            dictionaries,
            events: Arc::new(NodeEvents::new(events_kept)),
            models: NodeModels::default(),
            shard_options,
            indices: RwLock::default(),
            writers: Writers::default(),
            applied: RwLock::default(),
            busy: Mutex::default(),
            led_elsewhere: Mutex::default(),
            halts: Mutex::default(),
            pins: Mutex::default(),
            lacking: Mutex::default(),
            gone: Mutex::default(),
            in_hand: Mutex::default(),
            clock: Instant::now(),
            last_use: AtomicU64::new(0),
            opened: AtomicU64::new(0),
        };
        Ok(Node { shared: Arc::new(shared), kv, pool: SearchPool::start(search_threads)? })
    }
    /// The machine of a placement group; to be made once for each group.
    pub fn machine(&self, group: GroupId) -> Result<PlacementMachine> {
        let tree = self.kv.tree(&layout::tree(group))?;
        self.shared.halts.lock().insert(group, Halt::default());
        let machine = PlacementMachine::open(self.shared.clone(), group, tree)?;
        // what the metadata store knows beyond it has not been handed to the shards yet
        self.shared.begins(group, machine.replay_from()?);
        Ok(machine)
    }
    /// Forgets what is in memory of a group, whose machine and shards have ended: [`Self::machine`] opens it anew. Readers go
    /// on with the views they have.
    pub fn forget(&self, group: GroupId) {
        for state in self.shared.of_group(group) {
            state.abandon_writer();
            self.shared.remove(state.incarnation);
        }
        self.shared.forget_busy(group);
        self.shared.drop_pin(group);
    }
    /// Whether a group stands still on this node, for those who may say so and those who ask.
    pub fn halt(&self, group: GroupId) -> Halt {
        self.shared.halt(group)
    }
    /// Whether the metadata store has failed: what changes is in memory and in dumps until the next start.
    pub fn store_has_failed(&self) -> bool {
        self.kv.has_failed()
    }
    /// The threads that searches run on.
    pub fn pool(&self) -> &SearchPool {
        &self.pool
    }
    /// Where things are in the data folder.
    pub fn layout(&self) -> &Layout {
        &self.shared.layout
    }
    /// An index this node holds.
    pub fn index(&self, incarnation: Incarnation) -> Option<Arc<IndexState>> {
        self.shared.index(incarnation)
    }
    /// What reads of an index see now. An index that nothing was written to yet is empty. Errors: `NotFound`.
    pub fn view(&self, incarnation: Incarnation) -> Result<Arc<IndexView>> {
        let state = self
            .shared
            .index(incarnation)
            .ok_or_else(|| Error::Model(quorate_model::Error::not_found("Index does not exist")))?;
        self.shared.use_view(&state);
        state.check_files()?;
        if state.is_deferred.load(Ordering::Relaxed) {
            // for the next reader
            state.publish_now(self.applied(state.group));
        }
        state.view()
    }
    /// As [`Self::view`], of an index that there is although nothing was written to it yet.
    pub fn view_or_empty(&self, incarnation: Incarnation, group: GroupId) -> Result<Arc<IndexView>> {
        match self.shared.index(incarnation) {
            Some(_) => self.view(incarnation),
            None => {
                let folder = self.shared.layout.shard(incarnation, 0);
                let state = IndexState::new(incarnation, group, folder, Arc::default(), 0, 0);
                state.going_by(&self.shared.dictionaries).view()
            }
        }
    }
    /// Figures of an index; zeroes for one that nothing was written to yet.
    pub fn stats(&self, incarnation: Incarnation) -> Result<IndexStats> {
        self.shared.index(incarnation).map_or_else(|| Ok(IndexStats::default()), |state| state.stats())
    }
    /// The last log index of the group that this node has applied and handed to its shards, in this process: a replay begins
    /// where all of them were durable, whatever the metadata store knows already.
    pub fn applied(&self, group: GroupId) -> u64 {
        self.shared.applied.read().get(&group).copied().unwrap_or(0)
    }
    /// The largest log index of the group through which reads see everything but settings that a rebuild goes on for.
    pub fn records_visible_through(&self, group: GroupId) -> u64 {
        let applied = self.applied(group);
        let visible = self.shared.least_of_busy(group, |state| state.progress.records_visible_through());
        visible.map_or(applied, |through| through.min(applied))
    }
    /// The largest log index through which reads see everything of the group, settings that wait for a rebuild included.
    pub fn visible_through(&self, group: GroupId) -> u64 {
        let applied = self.applied(group);
        let shown = self.shared.least_of_busy(group, |state| state.progress.visible_through());
        let shown = shown.map_or(applied, |through| through.min(applied));
        self.shared.dictionaries.visible_through(group, shown)
    }
    /// Whether reads see the command at this place. When they do not, they do soon: who asks waits for it.
    pub fn is_visible(&self, group: GroupId, log_index: u64) -> bool {
        self.sees(group, log_index, |state| state.progress.is_visible(log_index))
            && match self.shared.dictionaries.acts_at(group, log_index) {
                Some(at) => at == log_index || self.sees(group, at, |state| state.progress.is_visible(at)),
                None => false,
            }
    }
    /// The dictionaries that indices go by, and what groups were told of them.
    pub fn dictionaries(&self) -> &SharedDictionaries {
        &self.shared.dictionaries
    }
    /// As [`Self::is_visible`], for the records alone: settings may wait for a rebuild.
    pub fn records_are_visible(&self, group: GroupId, log_index: u64) -> bool {
        self.sees(group, log_index, |state| state.progress.records_are_visible(log_index))
    }
    fn sees(&self, group: GroupId, log_index: u64, shows: impl Fn(&IndexState) -> bool) -> bool {
        if log_index > self.applied(group) {
            return false;
        }
        let is_visible = self.shared.least_of_busy(group, |state| (!shows(state)).then_some(())).is_none();
        if !is_visible {
            self.publish_now(group, log_index);
        }
        is_visible
    }
    /// Says whether this node leads a group, as every node does that nothing was said to. The others show writes in larger
    /// groups, [`Self::publish_now`] apart.
    pub fn set_leads(&self, group: GroupId, leads: bool) {
        self.shared.is_led_elsewhere(group).store(!leads, Ordering::Relaxed);
        if leads {
            self.publish_now(group, self.applied(group));
        }
    }
    /// Shows what was written to the group's indices through `log_index` without delay: somebody waits for it.
    pub fn publish_now(&self, group: GroupId, log_index: u64) {
        let busy = self.shared.busy.lock().get(&group).cloned().unwrap_or_default();
        busy.iter().for_each(|state| state.publish_now(log_index));
    }
    /// How the rebuilds of the node stand.
    pub fn rebuilds(&self) -> RebuildFigures {
        let busy = self.shared.busy.lock();
        let waiting = busy.values().flatten().filter(|state| state.progress.awaits_rebuild());
        let mut figures = RebuildFigures {
            failures: self.shared.shard_options.rebuild_failures.counts(),
            ..Default::default()
        };
        for state in waiting {
            figures.indices += 1;
            let counts = state.rebuild.lock().unwrap_or_default();
            figures.records.done += counts.done;
            figures.records.total += counts.total;
        }
        figures
    }
    /// Closes views and writers that have not been used for a while or are too many. To be called every few seconds.
    pub fn passivate(&self) {
        self.passivate_after(Duration::from_secs(WRITER_IDLE_S));
    }
    /// As [`Self::passivate`], of writers that have not been used for `idle`.
    pub fn passivate_after(&self, idle: Duration) {
        self.shared.close_idle_views();
        self.shared.close_idle_writers(idle);
    }
    /// Indices whose shards cannot carry out what they were given, and try again.
    pub fn failing_shards(&self) -> usize {
        self.shared.writers.open().iter().filter(|state| state.is_failing()).count()
    }
    /// How the shards with an open writer are. Cost: a lock for each.
    pub fn shard_statuses(&self) -> Vec<(Incarnation, ShardStatus)> {
        let now = Instant::now();
        let open = self.shared.writers.open();
        let status =
            |state: &Arc<IndexState>| Some((state.incarnation, state.shard.load().as_ref()?.status(now)));
        open.iter().filter_map(status).collect()
    }
    /// Whether a shard of a group has failed so often in a row that another replica should lead.
    pub fn is_failing(&self, group: GroupId) -> bool {
        let is_failing = |state: &Arc<IndexState>| state.group == group && state.failures() >= FAILURES_MAX;
        self.shared.writers.open().iter().any(is_failing)
    }
    /// Shards with an open writer, and with an open view.
    pub fn open_counts(&self) -> (usize, usize) {
        let indices = self.shared.indices.read();
        let writers = indices.all().filter(|state| state.has_writer()).count();
        (writers, indices.all().filter(|state| state.is_open()).count())
    }
    /// The events of a group as of now; `None` when this node has no replica of it. Cost: a pointer for each entry in memory.
    pub fn events(&self, group: GroupId) -> Option<EventView> {
        self.shared.events.view(group)
    }
    /// How often groups have been told to forget a user: what was computed when it was less may show one.
    pub fn forgets_count(&self) -> u64 {
        self.shared.events.forgets_count()
    }
    /// Users that groups have been told to forget since this one asked last.
    pub fn take_forgotten(&self, by: Forgets) -> ForgottenUsers {
        self.shared.events.take_forgotten(by)
    }
    /// Notes that searches of this node, of users at times (Unix milliseconds), are in the log of a group at an index.
    pub fn counted<'a>(&self, place: (GroupId, u64), searches: impl Iterator<Item = (&'a str, u64)>) {
        self.shared.events.counted(place, searches);
    }
    /// Groups whose logs have searches of this node behind the word that their user is forgotten, with the user, since this was asked last:
    /// they are to be told once more.
    pub fn take_late(&self) -> Vec<(GroupId, String)> {
        self.shared.events.take_late()
    }
    /// Searches that recent events name, of all groups that this node has, since this was asked last.
    pub fn take_named(&self) -> Vec<NamedSearch> {
        self.shared.events.take_named()
    }
    /// What came for the names of a group since their models learned from it, as far as this process knows.
    pub fn arrivals(&self, group: GroupId) -> Vec<(IndexName, Arrived)> {
        self.shared.events.arrivals(group)
    }
    /// Says that no models learn from the events of a name: it is unknown until its next event.
    pub fn drop_arrivals(&self, group: GroupId, name: &IndexName) {
        self.shared.events.drop_arrivals(group, name);
    }
    /// Says that models are learning from so many new rows of a name.
    pub fn settle_arrivals(&self, group: GroupId, name: &IndexName, rows: u64) {
        self.shared.events.settle(group, name, rows);
    }
    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }
    pub(crate) fn shared_models(&self) -> &NodeModels {
        &self.shared.models
    }
    /// What it has of events in all groups. Cost: a lock for each group.
    pub fn event_figures(&self) -> EventFigures {
        self.shared.events.figures()
    }
    /// How long it keeps rows of events, from the end of their day on.
    pub fn events_kept(&self) -> Duration {
        self.shared.events.kept
    }
    /// What it has of events in each group. Cost: a look at all rows in memory.
    pub fn events_of_groups(&self) -> Vec<GroupEvents> {
        self.shared.events.of_groups()
    }
    /// Commands that are applied but not visible to reads yet.
    pub fn pending_writes(&self) -> usize {
        self.shared.busy.lock().values().flatten().map(|state| state.progress.pending()).sum()
    }
    /// The file layer.
    pub(crate) fn files(&self) -> &dyn Files {
        &*self.shared.files
    }
    /// The indices of a group that this node holds.
    pub(crate) fn indices_of(&self, group: GroupId) -> Vec<Arc<IndexState>> {
        self.shared.of_group(group)
    }
    /// What a group held at the newest log index that its replicas are compared at, if nobody has taken it yet.
    pub fn take_pin(&self) -> Option<GroupPin> {
        self.shared.pins.lock().pop_first().map(|(_, pin)| pin)
    }
    /// Indices of this node.
    pub fn index_count(&self) -> usize {
        self.shared.indices.read().len()
    }
}

/// How the rebuilds of a node stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuildFigures {
    /// Indices whose newest settings wait for one.
    pub indices: u64,
    /// Their records, those in progress only.
    pub records: RebuildCounts,
    /// Attempts that failed, with the reason.
    pub failures: [(&'static str, u64); 2],
}

/// Failures in a row after which a shard will hardly be able to write in a moment: some two seconds.
const FAILURES_MAX: u32 = 3;
/// Seconds after which an unused writer is closed.
const WRITER_IDLE_S: u64 = 30;
