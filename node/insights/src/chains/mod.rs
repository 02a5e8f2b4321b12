//! Which of the searches that somebody types letter by letter count?
//!
//! Two searches of one user of one index that are at most 30 s apart belong together when one query begins with the other, or with
//! something that is nearly the other (`nearly.rs`). Of what belongs together the last query counts, also one that stood for two
//! seconds before letters of it were taken away, and one that an event follows. The same query with other filters, or another page
//! of it, is the same search. Ids of searches that do not count stay with the one that does, so that events find it.
//!
//! Searches of two hours (UTC) never belong together, so that which searches of an hour count depends on what was searched and done in
//! that hour alone. Who types while an hour ends is counted twice: some 0.1 % of what is typed in three seconds.
//!
//! Nodes hold what is typed at them ([`Chains`]); whoever reads rows joins the parts that several nodes saw by the same rule.

mod held;
mod nearly;

pub use held::{CHAINS_BYTES_MAX, CHAINS_MAX, Chains, Counted, QUIET_MS};
pub use nearly::belong_together;

use crate::rows::{SearchRow, Text};
use quorate_model::event::search::{FILTERS_MAX, IDS_MAX};
use quorate_model::event::{QueryId, TextList};

/// Searches further apart do not belong together.
pub const TOGETHER_WITHIN_MS: u64 = 30_000;
/// Time is divided into pieces of this length, and searches of two pieces do not belong together.
pub const HOUR_MS: u64 = 3_600_000;
/// How long a query stands before letters are taken away if it counts.
pub const STANDS_AFTER_MS: u64 = 2_000;

/// A query as it is compared and counted: lower case, one blank between words.
pub fn normalized(query: &str) -> String {
    let mut out = String::with_capacity(query.len());
    for word in query.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        // most are ASCII, and in lower case
        match word.is_ascii() {
            true => out.extend(word.bytes().map(|byte| char::from(byte.to_ascii_lowercase()))),
            false => out.push_str(&word.to_lowercase()),
        }
    }
    out
}

/// A search of somebody who may still be typing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// Since when the query has stood like that, Unix milliseconds.
    pub since_ms: u64,
    /// When it was searched last.
    pub time_ms: u64,
    /// What was searched and found.
    pub search: SearchRow,
}

impl Typed {
    /// A search of one moment.
    pub fn at(time_ms: u64, search: SearchRow) -> Self {
        Typed { since_ms: time_ms, time_ms, search }
    }
    /// About how many bytes its texts and ids take.
    pub fn bytes(&self) -> usize {
        let SearchRow { query, shown, tags, country, query_ids, filters, .. } = &self.search;
        // a text is shared, with two counts in front of it
        let taken = |text: &Text| size_of::<Text>() + 2 * size_of::<usize>() + text.len();
        let listed = |texts: &TextList| texts.bytes() + size_of::<usize>() * texts.len();
        let lists: usize = [shown, tags, filters].into_iter().map(listed).sum();
        taken(query) + country.as_ref().map_or(0, taken) + lists + query_ids.len() * size_of::<QueryId>()
    }
    fn belongs_with(&self, next: &Typed) -> bool {
        next.time_ms.saturating_sub(self.time_ms) <= TOGETHER_WITHIN_MS
            && next.time_ms / HOUR_MS == self.time_ms / HOUR_MS
            && belong_together(&self.search.query, &next.search.query)
    }
    /// Whether it counts although another query follows it.
    fn stands_before(&self, next: &Typed) -> bool {
        let stood_ms = next.since_ms.saturating_sub(self.since_ms);
        let is_shortened = !next.search.query.starts_with(&*self.search.query);
        self.search.stands || is_shortened && stood_ms >= STANDS_AFTER_MS
    }
    /// Makes it go on as `next`, which has the same query.
    fn again(&mut self, next: Typed) {
        let Typed { since_ms: _, time_ms, search } = next;
        let before = std::mem::replace(&mut self.search, search);
        self.time_ms = self.time_ms.max(time_ms);
        self.search.stands |= before.stands;
        self.search.query_ids = together(before.query_ids, &self.search.query_ids, IDS_MAX);
        self.search.filters = filters_together(&before.filters, &self.search.filters);
    }
}

/// Both lists, each value once, the newest ones when there are too many.
fn together<T: Clone + PartialEq>(mut before: Vec<T>, after: &[T], max: usize) -> Vec<T> {
    before.retain(|value| !after.contains(value));
    before.extend_from_slice(after);
    let many = before.len().saturating_sub(max);
    before.drain(..many);
    before
}

fn filters_together(before: &TextList, after: &TextList) -> TextList {
    if before == after || before.is_empty() {
        return after.clone();
    }
    let all = before.iter().filter(|filter| !after.contains(filter)).chain(after.iter());
    let many = all.clone().count().saturating_sub(FILTERS_MAX);
    all.skip(many).collect()
}

/// What one user types at one index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    last: Option<Typed>,
    /// How many of the ids of the last query are of queries before it.
    earlier_ids: usize,
    /// Whether the last query is shorter than the one before it.
    is_shortened: bool,
    turn: Option<Typed>,
}

impl Chain {
    /// Takes the next search, which is not before the one before it. Returns a search that counts and is complete by this.
    pub fn then(&mut self, mut next: Typed) -> Option<Typed> {
        let Some(mut last) = self.last.take() else {
            self.last = Some(next);
            return None;
        };
        let shortens = next.search.query.len() < last.search.query.len();
        if !last.belongs_with(&next) {
            *self = Chain { last: Some(next), ..Chain::default() };
            return Some(last);
        }
        if last.search.query == next.search.query {
            let mut own = last.search.query_ids[self.earlier_ids..].to_vec();
            own.extend_from_slice(&next.search.query_ids);
            last.again(next);
            let ids = &last.search.query_ids;
            self.earlier_ids = ids.iter().position(|id| own.contains(id)).unwrap_or(ids.len());
            self.last = Some(last);
            return None;
        }
        let was_shortened = std::mem::replace(&mut self.is_shortened, shortens);
        if last.stands_before(&next) {
            (self.last, self.earlier_ids) = (Some(next), 0);
            return Some(last);
        }
        if was_shortened && !shortens {
            self.turn = Some(last.clone());
        }
        let own = next.search.query_ids.len();
        let all = together(last.search.query_ids, &next.search.query_ids, IDS_MAX);
        self.earlier_ids = all.len().saturating_sub(own);
        next.search.query_ids = all;
        self.last = Some(next);
        None
    }
    /// The query down to which letters were taken away before others came, if that was the one before the last. It does not count here,
    /// and whoever joins what several nodes saw has to know it: nothing else says that what was typed before is given up.
    pub fn turned(&mut self) -> Option<Typed> {
        self.turn.take()
    }
    /// Notes that an event names a search: if that is the last one, it counts.
    pub fn named(&mut self, id: QueryId) {
        if let Some(last) = &mut self.last {
            last.search.stands |= last.search.query_ids[self.earlier_ids..].contains(&id);
        }
    }
    /// Ends it. Returns its last search, which counts.
    pub fn end(&mut self) -> Option<Typed> {
        std::mem::take(self).last
    }
    /// About how many bytes its texts and ids take.
    pub fn bytes(&self) -> usize {
        self.last.iter().chain(&self.turn).map(Typed::bytes).sum()
    }
    /// When it was searched last, Unix milliseconds.
    pub fn time_ms(&self) -> Option<u64> {
        self.last.as_ref().map(|last| last.time_ms)
    }
}

#[cfg(test)]
mod tests;
