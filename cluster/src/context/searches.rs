//! Which searches has this node served that are to be counted?
//!
//! Hot path: whoever serves a search leaves it here and goes on. A lock for some nanoseconds, nothing is written or formatted; when
//! too much waits it is dropped, and counted. What is typed letter by letter becomes searches in `write/searches.rs`.

use crate::metrics;
use parking_lot::{Mutex, MutexGuard};
use quorate_model::event::QueryId;
use quorate_model::results::Hits;
use quorate_model::{Filter, IndexName};
use quorate_node::chains::{Chains, Counted};
use std::collections::VecDeque;
use std::net::IpAddr;

/// Searches and names of searches that wait at most, and their bytes.
const WAITING_MAX: usize = 16_384;
const WAITING_BYTES_MAX: usize = 32 << 20;
/// Searches that count and wait for a log at most.
const COUNTED_MAX: usize = 65_536;

/// Who searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Searcher {
    /// Whoever has this token.
    Token(String),
    /// Whoever is at this address, which is not kept.
    Address(IpAddr),
    /// Nobody knows.
    Unknown,
}

/// A search that was served.
#[derive(Clone, Debug)]
pub struct ServedSearch {
    /// The index that was named.
    pub index: IndexName,
    /// Who searched.
    pub user: Searcher,
    /// When, Unix milliseconds.
    pub time_ms: u64,
    /// What for.
    pub query: String,
    /// Records found.
    pub nb_hits: u64,
    /// The hits that were shown, of each at least its objectID.
    pub hits: Hits,
    /// Tags for analytics.
    pub tags: Vec<String>,
    /// What the records had to pass.
    pub filter: Filter,
    /// Code of the country of the caller.
    pub country: Option<String>,
    /// What events name it by.
    pub query_id: Option<QueryId>,
}

/// What is to be taken into account, in its order.
#[derive(Debug)]
pub enum Noted {
    /// A search was served.
    Search(Box<ServedSearch>),
    /// An event of a user of an index names a search.
    Event(IndexName, String, QueryId),
}

impl Noted {
    fn bytes(&self) -> usize {
        match self {
            Noted::Search(search) => {
                size_of::<ServedSearch>() + search.hits.json.capacity() + search.query.len()
            }
            Noted::Event(..) => size_of::<Noted>(),
        }
    }
}

/// Searches on their way from who serves them to the log.
#[derive(Default)]
pub struct Searches {
    waiting: Mutex<Waiting>,
    held: Mutex<Held>,
}
#[derive(Default)]
struct Waiting {
    noted: Vec<Noted>,
    bytes: usize,
}
/// What is made of them.
#[derive(Default)]
pub struct Held {
    /// What is being typed.
    pub chains: Chains,
    /// What counts and is in no log yet.
    pub counted: VecDeque<Counted>,
}

impl Held {
    /// Takes searches that count. Those that are too many are dropped: the oldest ones.
    pub fn count(&mut self, counted: impl IntoIterator<Item = Counted>) {
        self.counted.extend(counted);
        let many = self.counted.len().saturating_sub(COUNTED_MAX);
        self.counted.drain(..many);
        metrics::searches_dropped("log", many);
    }
}

impl Searches {
    /// Notes something. Cost: a lock, and no wait for anything else.
    pub fn note(&self, noted: Noted) {
        let bytes = noted.bytes();
        let mut waiting = self.waiting.lock();
        if waiting.noted.len() >= WAITING_MAX || waiting.bytes.saturating_add(bytes) > WAITING_BYTES_MAX {
            drop(waiting);
            metrics::searches_dropped("queue", usize::from(matches!(noted, Noted::Search(_))));
            return;
        }
        waiting.bytes += bytes;
        waiting.noted.push(noted);
    }
    /// Takes all that waits.
    pub fn take_waiting(&self) -> Vec<Noted> {
        std::mem::take(&mut *self.waiting.lock()).noted
    }
    /// What is made of them.
    pub fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock()
    }
}
