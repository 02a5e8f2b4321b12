//! What are the users of a node typing?

use super::{Chain, Typed};
use crate::rows::Text;
use quorate_model::event::QueryId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// How long nothing is typed before the last query counts.
pub const QUIET_MS: u64 = 5_000;
/// Users and indices at a time: when there are more, those that have been quiet for longest are complete.
pub const CHAINS_MAX: usize = 65_536;
/// Bytes that they take together, likewise.
pub const CHAINS_BYTES_MAX: usize = 64 << 20;

/// A search that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The name of the index.
    pub index: Text,
    /// Who it was.
    pub user: Text,
    /// What and when.
    pub typed: Typed,
}
impl Counted {
    /// About how many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of::<Counted>() + self.index.len() + self.user.len() + self.typed.bytes()
    }
}

type Who = (Text, Text);

/// What is being typed, by index and user. Without a clock: times are arguments.
#[derive(Default)]
pub struct Chains {
    of: FxHashMap<Who, Held>,
    /// By when it was typed at last, and a number.
    by_time: BTreeMap<(u64, u64), Who>,
    next: u64,
    /// What the chains take.
    bytes: usize,
}
struct Held {
    chain: Chain,
    place: (u64, u64),
    /// What it takes, with index and user.
    bytes: usize,
}
/// About how many bytes of memory a chain takes, with its places in both maps.
fn bytes_of(who: &Who, chain: &Chain) -> usize {
    2 * size_of::<Who>() + size_of::<Held>() + who.0.len() + who.1.len() + chain.bytes()
}

impl Chains {
    /// Takes a search, and gives what is complete by it to `complete`, and where letters ceased to be taken away ([`Chain::turned`]).
    /// Cost: two looks at maps, a comparison of queries, and a look at each text of the search.
    pub fn take(&mut self, index: &str, user: &str, typed: Typed, complete: &mut impl FnMut(Counted)) {
        let who = (Text::from(index), Text::from(user));
        self.next += 1;
        let place = (typed.time_ms, self.next);
        if !self.of.contains_key(&who) && self.of.len() >= CHAINS_MAX {
            self.end_first(complete);
        }
        let new = || Held { chain: Chain::default(), place, bytes: 0 };
        let held = self.of.entry(who.clone()).or_insert_with(new);
        self.by_time.remove(&held.place);
        held.place = place;
        self.by_time.insert(place, who.clone());
        let counts = held.chain.then(typed);
        for typed in counts.into_iter().chain(held.chain.turned()) {
            complete(Counted { index: who.0.clone(), user: who.1.clone(), typed });
        }
        let bytes = bytes_of(&who, &held.chain);
        self.bytes = self.bytes - held.bytes + bytes;
        held.bytes = bytes;
        while self.bytes > CHAINS_BYTES_MAX && !self.by_time.is_empty() {
            self.end_first(complete);
        }
    }
    /// Notes that an event of a user names a search.
    pub fn named(&mut self, index: &str, user: &str, id: QueryId) {
        if let Some(held) = self.of.get_mut(&(Text::from(index), Text::from(user))) {
            held.chain.named(id);
        }
    }
    /// Gives what has been quiet for [`QUIET_MS`] to `complete`.
    pub fn end_quiet(&mut self, now_ms: u64, complete: &mut impl FnMut(Counted)) {
        while let Some(((time_ms, _), _)) = self.by_time.first_key_value()
            && time_ms.saturating_add(QUIET_MS) <= now_ms
        {
            self.end_first(complete);
        }
    }
    /// Forgets what a user types.
    pub fn forget(&mut self, user: &str) {
        let bytes = &mut self.bytes;
        self.of.retain(|who, held| {
            let stays = *who.1 != *user;
            *bytes -= if stays { 0 } else { held.bytes };
            stays
        });
        self.by_time.retain(|_, who| *who.1 != *user);
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.of.len()
    }
    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
    /// Whether nobody types.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }
    fn end_first(&mut self, complete: &mut impl FnMut(Counted)) {
        let Some((_, who)) = self.by_time.pop_first() else { return };
        let held = self.of.remove(&who);
        self.bytes -= held.as_ref().map_or(0, |held| held.bytes);
        if let Some(typed) = held.and_then(|mut held| held.chain.end()) {
            complete(Counted { index: who.0, user: who.1, typed });
        }
    }
}
