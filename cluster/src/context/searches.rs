//! Which searches has this node served that are to be counted?
//!
//! Hot path: whoever serves a search leaves it here and goes on. A lock for some nanoseconds, nothing is written or formatted; when
//! too much waits it is dropped, and counted. What is typed letter by letter becomes searches in `write/searches.rs`.

use crate::metrics;
use parking_lot::{Mutex, MutexGuard};
use quorate_model::IndexName;
use quorate_model::event::QueryId;
use quorate_model::results::Hits;
use quorate_node::chains::{Chains, Counted};
use std::collections::VecDeque;
use std::net::IpAddr;

/// Searches and names of searches that wait at most, and their bytes.
const WAITING_MAX: usize = 16_384;
const WAITING_BYTES_MAX: usize = 32 << 20;
/// Searches that count and wait for a log at most, and their bytes.
const COUNTED_MAX: usize = 65_536;
const COUNTED_BYTES_MAX: usize = 64 << 20;

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
    /// What the records had to pass, as `quorate_model::event::search::filter_texts` writes it.
    pub filters: Vec<String>,
    /// Code of the country of the caller.
    pub country: Option<String>,
    /// What events name it by.
    pub query_id: Option<QueryId>,
}

impl ServedSearch {
    /// Bytes of memory that it takes.
    fn bytes(&self) -> usize {
        let ServedSearch { index, user, query, hits, tags, filters, country, .. } = self;
        let token = match user {
            Searcher::Token(token) => token.capacity(),
            Searcher::Address(_) | Searcher::Unknown => 0,
        };
        let lists = [tags, filters].into_iter();
        let listed = lists.map(|list| {
            let texts: usize = list.iter().map(String::capacity).sum();
            texts + list.capacity() * size_of::<String>()
        });
        let hits = hits.json.capacity() + size_of_val(hits.ends.as_slice());
        let country = country.as_ref().map_or(0, String::capacity);
        let texts = index.as_str().len() + token + query.capacity() + country;
        size_of::<ServedSearch>() + texts + hits + listed.sum::<usize>()
    }
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
            Noted::Search(search) => size_of::<Noted>() + search.bytes(),
            Noted::Event(index, user, _) => size_of::<Noted>() + index.as_str().len() + user.capacity(),
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
    /// What counts and is in no log yet, with its bytes.
    counted: VecDeque<Counted>,
    bytes: usize,
}

impl Held {
    /// Takes searches that count. Those that are too many, or too many bytes, are dropped: the oldest ones.
    pub fn count(&mut self, counted: impl IntoIterator<Item = Counted>) {
        let mut dropped = 0;
        for counted in counted {
            self.bytes += counted.bytes();
            self.counted.push_back(counted);
            while self.counted.len() > COUNTED_MAX || self.bytes > COUNTED_BYTES_MAX {
                let Some(oldest) = self.counted.pop_front() else { break };
                self.bytes -= oldest.bytes();
                dropped += 1;
            }
        }
        metrics::searches_dropped("log", dropped);
    }
    /// Takes all that counts out.
    pub fn take_counted(&mut self) -> VecDeque<Counted> {
        self.bytes = 0;
        std::mem::take(&mut self.counted)
    }
    /// Forgets what a user has searched.
    pub fn forget(&mut self, user: &str) {
        self.chains.forget(user);
        let bytes = &mut self.bytes;
        self.counted.retain(|counted| {
            let stays = *counted.user != *user;
            *bytes -= if stays { 0 } else { counted.bytes() };
            stays
        });
    }
    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Held::default();
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

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_node::chains::Typed;
    use quorate_node::rows::SearchRow;

    const TEXT: usize = 1 << 20;

    fn text() -> String {
        "t".repeat(TEXT)
    }
    fn served() -> ServedSearch {
        ServedSearch {
            index: IndexName::new("i").expect("a name"),
            user: Searcher::Unknown,
            time_ms: 1,
            query: String::new(),
            nb_hits: 0,
            hits: Hits::default(),
            tags: vec![],
            filters: vec![],
            country: None,
            query_id: None,
        }
    }

    #[test]
    fn all_that_waits_is_bounded_by_its_bytes() {
        let with: [fn(&mut ServedSearch); 5] = [
            |search| search.user = Searcher::Token(text()),
            |search| search.query = text(),
            |search| search.tags = vec![text()],
            |search| search.filters = vec![text()],
            |search| search.country = Some(text()),
        ];
        let noted = with.map(|with| {
            let mut search = served();
            with(&mut search);
            Noted::Search(Box::new(search))
        });
        let event = Noted::Event(IndexName::new("i").expect("a name"), text(), QueryId(1));
        for (number, one) in noted.into_iter().chain([event]).enumerate() {
            assert!((TEXT..2 * TEXT).contains(&one.bytes()), "{number}: {} bytes", one.bytes());
        }
        let searches = Searches::default();
        for _ in 0..100 {
            searches.note(Noted::Search(Box::new(ServedSearch { filters: vec![text()], ..served() })));
        }
        // each takes a little more than its text
        assert_eq!(searches.take_waiting().len(), WAITING_BYTES_MAX / TEXT - 1);
        assert_eq!(searches.waiting.lock().bytes, 0);
    }

    #[test]
    fn what_counts_is_bounded_by_its_bytes_and_the_oldest_goes() {
        let one = |time_ms: u64| Counted {
            index: "i".into(),
            user: format!("u{}", time_ms % 2).into(),
            typed: Typed::at(time_ms, SearchRow { tags: vec![text().into()], ..SearchRow::default() }),
        };
        const LEFT: usize = COUNTED_BYTES_MAX / TEXT - 1;
        let mut held = Held::default();
        held.count((0..100).map(one));
        assert!(held.bytes <= COUNTED_BYTES_MAX, "{} bytes", held.bytes);
        let times: Vec<u64> = held.counted.iter().map(|counted| counted.typed.time_ms).collect();
        assert_eq!(times, (100 - LEFT as u64..100).collect::<Vec<_>>());
        held.forget("u1");
        let bytes: usize = held.counted.iter().map(Counted::bytes).sum();
        assert_eq!((held.counted.len(), held.bytes), (LEFT / 2, bytes));
        held.take_counted();
        held.count([one(1)]);
        assert_eq!((held.counted.len(), held.bytes), (1, one(1).bytes()));
    }
}
