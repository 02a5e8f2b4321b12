//! What do the groups of this node keep of events, for those who read them and for what all of them share?

mod arrivals;
mod forgotten;
mod late;
mod named;
mod of_group;
mod sink;

pub use arrivals::Arrived;
pub use forgotten::{Forgets, ForgottenUsers};
pub use named::NamedSearch;
pub(crate) use of_group::Events;

use arrivals::Arrivals;
use late::{LateSearches, LogPlace};
use named::NamedSearches;
use parking_lot::Mutex;
use quorate_insights::store::{EventStore, EventView};
use quorate_model::analytics::Day;
use quorate_model::event::Event;
use quorate_model::{GroupId, IndexName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The events of one group, which its machine changes and others read.
pub(crate) type SharedStore = Arc<Mutex<EventStore>>;
/// What came for the names of one group.
pub(crate) type SharedArrivals = Arc<Mutex<Arrivals>>;

/// The events of all groups of a node.
pub(crate) struct NodeEvents {
    /// How long rows are kept, from the end of their day on.
    pub kept: Duration,
    stores: Mutex<BTreeMap<GroupId, (SharedStore, SharedArrivals)>>,
    /// Bytes of rows in memory, of all groups.
    waiting_bytes: AtomicUsize,
    /// Whether files of some group are being written anew: one group at a time.
    is_compacting: Arc<AtomicBool>,
    /// Users that groups have been told to forget since each of those that keep traces of them asked last.
    forgotten: Mutex<[ForgottenUsers; Forgets::ALL.len()]>,
    forgets_count: AtomicU64,
    late: Mutex<LateSearches>,
    named: Mutex<NamedSearches>,
    /// Of the sink of events.
    of_sink: sink::OfSink,
}

impl NodeEvents {
    /// Without any group.
    pub fn new(kept: Duration) -> Self {
        NodeEvents {
            kept,
            stores: Mutex::default(),
            waiting_bytes: AtomicUsize::default(),
            is_compacting: Arc::default(),
            forgotten: Mutex::default(),
            forgets_count: AtomicU64::default(),
            late: Mutex::default(),
            named: Mutex::default(),
            of_sink: sink::OfSink::default(),
        }
    }
    /// Lets others read the events of a group.
    pub fn open(&self, group: GroupId, store: SharedStore, arrivals: SharedArrivals) {
        self.stores.lock().insert(group, (store, arrivals));
    }
    /// Ends that, if these are the events that are read.
    pub fn close(&self, group: GroupId, store: &SharedStore) {
        let mut stores = self.stores.lock();
        if stores.get(&group).is_some_and(|(known, _)| Arc::ptr_eq(known, store)) {
            stores.remove(&group);
        }
    }
    /// The events of a group as of now, if it is there.
    pub fn view(&self, group: GroupId) -> Option<EventView> {
        let (store, _) = self.stores.lock().get(&group).cloned()?;
        let view = store.lock().view();
        Some(view)
    }
    /// Notes that a group forgets a user, as somebody was asked to at a time (Unix milliseconds).
    pub fn forgets(&self, place: LogPlace, token: &str, time_ms: u64, now_ms: u64) {
        self.late.lock().forgets(place, token, time_ms, (Instant::now(), now_ms));
        self.forgotten.lock().iter_mut().for_each(|users| users.insert(token, now_ms));
        self.forgets_count.fetch_add(1, Ordering::Release);
    }
    /// Users that groups have been told to forget since this one asked last.
    pub fn take_forgotten(&self, by: Forgets) -> ForgottenUsers {
        std::mem::take(&mut self.forgotten.lock()[by as usize])
    }
    /// Notes that searches, of users at times, are in the log of a group at an index. It does nothing for a group that is not here.
    pub fn counted<'a>(&self, place: LogPlace, searches: impl Iterator<Item = (&'a str, u64)>) {
        if !self.stores.lock().contains_key(&place.0) {
            return;
        }
        let (mut late, now) = (self.late.lock(), Instant::now());
        searches.for_each(|(user, time_ms)| late.counted(place, user, time_ms, now));
    }
    /// Groups whose logs have searches behind the word that their user is forgotten, with the user, since this was asked last.
    pub fn take_late(&self) -> Vec<(GroupId, String)> {
        self.late.lock().take()
    }
    /// Notes which searches events name that a group was told of.
    pub fn names(&self, events: &[Event], time_ms: u64, now_ms: u64) {
        self.named.lock().add(events, time_ms, now_ms);
    }
    /// How often groups have been told to forget a user: what was computed when it was less may show one.
    pub fn forgets_count(&self) -> u64 {
        self.forgets_count.load(Ordering::Acquire)
    }
    /// Searches that recent events of all groups have named since this was asked last.
    pub fn take_named(&self) -> Vec<NamedSearch> {
        self.named.lock().take()
    }
    /// What came for the names of a group since their models learned from it.
    pub fn arrivals(&self, group: GroupId) -> Vec<(IndexName, Arrived)> {
        let of_group = self.stores.lock().get(&group).cloned();
        of_group.map_or_else(Vec::new, |(_, arrivals)| arrivals.lock().all())
    }
    /// Some rows of a name are new no more.
    pub fn settle(&self, group: GroupId, name: &IndexName, rows: u64) {
        let of_group = self.stores.lock().get(&group).cloned();
        if let Some((_, arrivals)) = of_group {
            arrivals.lock().settle(name, rows);
        }
    }
    /// A name of a group counts for nothing until its next event.
    pub fn drop_arrivals(&self, group: GroupId, name: &IndexName) {
        let of_group = self.stores.lock().get(&group).cloned();
        if let Some((_, arrivals)) = of_group {
            arrivals.lock().drop_name(name);
        }
    }
    /// What all groups have. Cost: a lock for each.
    pub fn figures(&self) -> EventFigures {
        let stores: Vec<SharedStore> = self.stores.lock().values().map(|(store, _)| store.clone()).collect();
        let add = |figures: EventFigures, store: &SharedStore| {
            let store = store.lock();
            EventFigures {
                rows: figures.rows + store.rows(),
                bytes: figures.bytes + store.bytes(),
                rollup_bytes: figures.rollup_bytes + store.rollup_bytes(),
                waiting_bytes: figures.waiting_bytes + store.open_bytes() as u64,
                lost_rows: figures.lost_rows + store.lost_rows(),
            }
        };
        stores.iter().fold(EventFigures::default(), add)
    }
    /// What each group has. Cost: a look at all rows in memory.
    pub fn of_groups(&self) -> Vec<GroupEvents> {
        let stores: Vec<(GroupId, SharedStore)> =
            self.stores.lock().iter().map(|(group, (store, _))| (*group, store.clone())).collect();
        let of_group = |(group, store): (GroupId, SharedStore)| {
            let store = store.lock();
            GroupEvents {
                group,
                rows: store.rows(),
                bytes: store.bytes(),
                rollup_bytes: store.rollup_bytes(),
                waiting_rows: store.open_rows(),
                waiting_bytes: store.open_bytes() as u64,
                days: store.days(),
                lost_files: store.lost().len() as u64,
                lost_rows: store.lost_rows(),
            }
        };
        stores.into_iter().map(of_group).collect()
    }
    /// Counts that a group has other bytes of rows in memory than before. Returns the bytes of all groups.
    pub fn recount(&self, before: usize, now: usize) -> usize {
        self.waiting_bytes.fetch_add(now, Ordering::Relaxed);
        self.waiting_bytes.fetch_sub(before, Ordering::Relaxed) - before
    }
    /// Begins to write files anew, unless another group does; it may as long as what is returned lives.
    pub fn compacts(&self) -> Option<Turn> {
        let begins = !self.is_compacting.swap(true, Ordering::Acquire);
        begins.then(|| Turn(self.is_compacting.clone()))
    }
}
impl fmt::Debug for NodeEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeEvents").field("waiting_bytes", &self.waiting_bytes).finish_non_exhaustive()
    }
}

/// The turn of one group to write files anew.
pub(crate) struct Turn(Arc<AtomicBool>);
impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// What a node has of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventFigures {
    /// Rows in files.
    pub rows: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Bytes of files that are derived of them.
    pub rollup_bytes: u64,
    /// Bytes of rows in memory, which only the log makes durable.
    pub waiting_bytes: u64,
    /// Rows of files that are damaged or gone.
    pub lost_rows: u64,
}

/// What a node has of the events of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupEvents {
    /// The group.
    pub group: GroupId,
    /// Rows in files.
    pub rows: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Rows in memory, which only the log makes durable.
    pub waiting_rows: u64,
    /// Bytes of these.
    pub waiting_bytes: u64,
    /// Rows of each day, in files and in memory.
    pub days: BTreeMap<Day, u64>,
    /// Files that are damaged or gone. Nodes of earlier programs do not say so.
    #[serde(default)]
    pub lost_files: u64,
    /// Rows of these, as far as they are known.
    #[serde(default)]
    pub lost_rows: u64,
    /// Bytes of files that are derived of rows.
    #[serde(default)]
    pub rollup_bytes: u64,
}
