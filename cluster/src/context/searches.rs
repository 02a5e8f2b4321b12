//! Which searches has this node served that are to be counted?
//!
//! Hot path: whoever serves a search leaves it here and goes on. A lock for some nanoseconds, nothing is written or formatted; when
//! too much waits it is dropped, and counted. What is typed letter by letter becomes searches in `write/searches.rs`.

use crate::metrics;
use parking_lot::{Mutex, MutexGuard};
use quorate_model::event::QueryId;
use quorate_node::ForgottenUsers;
use quorate_node::chains::{Chains, Counted};
use quorate_store::codec;
use serde::{Deserialize, Serialize};
use serde_bytes::Bytes;
use std::collections::VecDeque;
use std::net::IpAddr;

/// Searches and names of searches that wait at most, and their bytes.
const WAITING_MAX: usize = 16_384;
const WAITING_BYTES_MAX: usize = 32 << 20;
/// Bytes that stay allocated for what comes.
const WAITING_BYTES_KEPT: usize = 1 << 20;
/// Searches that count and wait for a log at most, and their bytes.
const COUNTED_MAX: usize = 65_536;
const COUNTED_BYTES_MAX: usize = 64 << 20;

/// Who searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Searcher<'a> {
    /// Whoever has this token.
    Token(&'a str),
    /// Whoever is at this address, which is not kept.
    Address(IpAddr),
    /// Nobody knows.
    Unknown,
}

/// A search that was served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedSearch<'a> {
    /// The index that was named.
    pub index: &'a str,
    /// Who searched.
    #[serde(borrow)]
    pub user: Searcher<'a>,
    /// When, Unix milliseconds.
    pub time_ms: u64,
    /// What for.
    pub query: &'a str,
    /// Records found.
    pub nb_hits: u64,
    /// The objectIDs of the hits that were shown, as JSON.
    pub shown: Vec<&'a Bytes>,
    /// Tags for analytics.
    pub tags: Vec<&'a str>,
    /// What the records had to pass, as `quorate_model::event::search::filter_texts` writes it.
    pub filters: Vec<&'a str>,
    /// Code of the country of the caller.
    pub country: Option<&'a str>,
    /// What events name it by.
    pub query_id: Option<QueryId>,
}

/// What is to be taken into account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Noted<'a> {
    /// A search was served.
    Search(#[serde(borrow)] ServedSearch<'a>),
    /// An event of a user of an index names a search.
    Event {
        /// The index.
        index: &'a str,
        /// The user.
        user: &'a str,
        /// The search.
        id: QueryId,
    },
}

/// Some of it in its order, as bytes behind each other: whoever notes something allocates little, and nothing that others free.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    bytes: Vec<u8>,
    count: usize,
    /// How many of them are searches.
    searches: usize,
}

impl Notes {
    /// Adds one. Cost: a copy of its texts.
    pub fn push(&mut self, noted: &Noted<'_>) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&[0; size_of::<u32>()]);
        codec::encode_into(&mut self.bytes, noted);
        let (length, behind) = self.bytes[begin..].split_at_mut(size_of::<u32>());
        length.copy_from_slice(&u32::try_from(behind.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.count += 1;
        self.searches += usize::from(matches!(noted, Noted::Search(_)));
    }
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Noted<'_>> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let (length, behind) = rest.split_first_chunk::<4>()?;
            let (one, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = behind;
            codec::decode(one, one.len()).ok()
        })
    }
    fn append(&mut self, others: &Notes) {
        self.bytes.extend_from_slice(&others.bytes);
        self.count += others.count;
        self.searches += others.searches;
    }
    fn clear(&mut self) {
        self.bytes.clear();
        (self.count, self.searches) = (0, 0);
    }
}

/// The searches of a call, in the order they were served.
#[derive(Debug, Default)]
pub struct ServedSearches(pub(crate) Notes);

impl ServedSearches {
    /// Adds one. Cost: a copy of its texts.
    pub fn push(&mut self, search: ServedSearch<'_>) {
        self.0.push(&Noted::Search(search));
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.count == 0
    }
}

/// Searches on their way from who serves them to the log.
#[derive(Default)]
pub struct Searches {
    waiting: Mutex<Notes>,
    held: Mutex<Held>,
}
/// What is made of them.
#[derive(Default)]
pub struct Held {
    /// What is being typed.
    pub chains: Chains,
    /// What counts and is in no log yet, with its bytes.
    counted: VecDeque<Counted>,
    bytes: usize,
    /// Who was forgotten since what counts was taken out.
    forgotten: ForgottenUsers,
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
        self.forgotten = ForgottenUsers::default();
        std::mem::take(&mut self.counted)
    }
    /// Takes some of what was taken out last again, but for what was typed by users before they were forgotten meanwhile.
    pub fn count_again(&mut self, mut counted: Vec<Counted>) {
        match &self.forgotten {
            ForgottenUsers::These(tokens) => {
                let is_gone =
                    |it: &Counted| tokens.get(&*it.user).is_some_and(|told_ms| it.typed.time_ms <= *told_ms);
                counted.retain(|it| !is_gone(it));
            }
            ForgottenUsers::TooMany => counted.clear(),
        }
        self.count(counted);
    }
    /// Forgets what users have typed so far.
    pub fn forget_users(&mut self, forgotten: &ForgottenUsers) {
        match forgotten {
            ForgottenUsers::These(tokens) => tokens.keys().for_each(|token| self.forget(token)),
            ForgottenUsers::TooMany => *self = Held::default(),
        }
        self.forgotten.add(forgotten.clone());
    }
    fn forget(&mut self, user: &str) {
        self.chains.forget(user);
        let bytes = &mut self.bytes;
        self.counted.retain(|counted| {
            let stays = *counted.user != *user;
            *bytes -= if stays { 0 } else { counted.bytes() };
            stays
        });
    }
}

impl Searches {
    /// Notes something. Cost: a lock, a copy of some hundred bytes, and no wait for anything else.
    pub fn note(&self, notes: &Notes) {
        let mut waiting = self.waiting.lock();
        let bytes = waiting.bytes.len() + notes.bytes.len();
        if waiting.count + notes.count > WAITING_MAX || bytes > WAITING_BYTES_MAX {
            drop(waiting);
            metrics::searches_dropped("queue", notes.searches);
            return;
        }
        waiting.append(notes);
    }
    /// Takes all that waits, and leaves what was taken before as the memory of what comes.
    pub fn take_waiting(&self, before: &mut Notes) {
        before.clear();
        before.bytes.shrink_to(WAITING_BYTES_KEPT);
        std::mem::swap(&mut *self.waiting.lock(), before);
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
    fn served() -> ServedSearch<'static> {
        ServedSearch {
            index: "i",
            user: Searcher::Unknown,
            time_ms: 1,
            query: "",
            nb_hits: 0,
            shown: vec![],
            tags: vec![],
            filters: vec![],
            country: None,
            query_id: None,
        }
    }
    fn taken(searches: &Searches) -> Notes {
        let mut notes = Notes::default();
        searches.take_waiting(&mut notes);
        notes
    }

    #[test]
    fn what_is_noted_comes_back_in_its_order() {
        let all = [
            Noted::Search(served()),
            Noted::Event { index: "日本", user: "u", id: QueryId(1 << 100) },
            Noted::Search(ServedSearch {
                user: Searcher::Token("me"),
                time_ms: u64::MAX,
                query: "é\"",
                nb_hits: 7,
                shown: vec![Bytes::new(br#""a\"b""#), Bytes::new(b"")],
                tags: vec!["t", ""],
                filters: vec!["a:b"],
                country: Some("DE"),
                query_id: Some(QueryId(9)),
                ..served()
            }),
            Noted::Search(ServedSearch {
                user: Searcher::Address("2001:db8::1".parse().expect("an address")),
                ..served()
            }),
        ];
        let searches = Searches::default();
        for some in all.chunks(2) {
            let mut notes = Notes::default();
            some.iter().for_each(|noted| notes.push(noted));
            searches.note(&notes);
        }
        let notes = taken(&searches);
        assert_eq!(notes.iter().collect::<Vec<_>>(), all);
        assert_eq!((notes.count, notes.searches), (4, 3));
        assert_eq!(taken(&searches).iter().count(), 0);
    }

    #[test]
    fn all_that_waits_is_bounded_by_its_bytes_and_its_number() {
        let (searches, text) = (Searches::default(), text());
        let mut notes = Notes::default();
        notes.push(&Noted::Search(ServedSearch { filters: vec![&text], ..served() }));
        (0..100).for_each(|_| searches.note(&notes));
        // each takes a little more than its text
        let mut waited = taken(&searches);
        assert_eq!(waited.iter().count(), WAITING_BYTES_MAX / TEXT - 1);
        searches.take_waiting(&mut waited);
        assert!(waited.count == 0 && searches.waiting.lock().bytes.capacity() <= WAITING_BYTES_KEPT);
        let mut small = Notes::default();
        small.push(&Noted::Event { index: "i", user: "u", id: QueryId(1) });
        (0..WAITING_MAX + 10).for_each(|_| searches.note(&small));
        assert_eq!(taken(&searches).iter().count(), WAITING_MAX);
    }

    #[test]
    fn what_counts_is_bounded_by_its_bytes_and_the_oldest_goes() {
        let one = |time_ms: u64| Counted {
            index: "i".into(),
            user: format!("u{}", time_ms % 2).into(),
            typed: Typed::at(time_ms, SearchRow { tags: [text()].iter().collect(), ..SearchRow::default() }),
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

    #[test]
    fn what_comes_back_is_not_of_who_was_forgotten_meanwhile() {
        let of = |user: &str, time_ms: u64| Counted {
            index: "i".into(),
            user: user.into(),
            typed: Typed::at(time_ms, SearchRow::default()),
        };
        let ann = ForgottenUsers::These([("ann".to_owned(), 5)].into());
        let left = |held: &Held| -> Vec<(String, u64)> {
            held.counted.iter().map(|it| (it.user.to_string(), it.typed.time_ms)).collect()
        };
        let mut held = Held::default();
        held.count([of("ann", 5), of("bob", 5)]);
        let taken: Vec<Counted> = held.take_counted().into();
        held.forget_users(&ann);
        held.count_again([taken, vec![of("ann", 6)]].concat());
        assert_eq!(left(&held), [("bob".to_owned(), 5), ("ann".to_owned(), 6)]);
        // a word of before it was taken out is not about it
        held.count([of("ann", 5)]);
        let taken: Vec<Counted> = held.take_counted().into();
        held.count_again(taken);
        assert_eq!(left(&held).len(), 3);
        let taken: Vec<Counted> = held.take_counted().into();
        held.forget_users(&ForgottenUsers::TooMany);
        held.count_again(taken);
        assert_eq!(left(&held), []);
    }
}
