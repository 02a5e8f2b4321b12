//! What is kept of an event or a search: rows, one for each record or filter that it names.

mod columns;
mod json;
mod of_event;
mod of_search;

pub use columns::Parts;
pub(crate) use columns::{COLUMNS, SCHEMA, bounds, has_pseudonym, read, user_hashes, write};
pub use json::write_line;
pub use of_event::of_event;
pub use of_search::of_search;

use quorate_model::event::{EventKind, Money, QueryId, TextList};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use std::sync::Arc;

/// A text that several rows share.
pub type Text = Arc<str>;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowKind {
    /// A search that counts.
    Search,
    /// An event.
    Event(EventKind),
}

impl RowKind {
    /// All.
    pub const ALL: [RowKind; 6] = [
        RowKind::Search,
        RowKind::Event(EventKind::View),
        RowKind::Event(EventKind::Click),
        RowKind::Event(EventKind::Conversion),
        RowKind::Event(EventKind::AddToCart),
        RowKind::Event(EventKind::Purchase),
    ];
    /// What files call it.
    pub fn name(self) -> &'static str {
        match self {
            RowKind::Search => "search",
            RowKind::Event(EventKind::View) => "view",
            RowKind::Event(EventKind::Click) => "click",
            RowKind::Event(EventKind::Conversion) => "conversion",
            RowKind::Event(EventKind::AddToCart) => "addToCart",
            RowKind::Event(EventKind::Purchase) => "purchase",
        }
    }
    fn named(name: &str) -> Option<RowKind> {
        RowKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What only searches have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchRow {
    /// The query, normalised.
    pub query: Text,
    /// Records found.
    pub hits: u64,
    /// Records shown, the first ones.
    pub shown: TextList,
    /// Tags for analytics.
    pub tags: TextList,
    /// Code of the country of the caller.
    pub country: Option<Text>,
    /// Ids that this search was answered with, keystrokes before it included.
    pub query_ids: Vec<QueryId>,
    /// Filters, each as `quorate_model::event::search::filter_texts` writes it.
    pub filters: TextList,
    /// Whether it counts whatever follows it.
    pub stands: bool,
}

/// A row. Its order is that of files: index, user, time, then what tells rows of one moment apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// The name of the index.
    pub index: Text,
    /// [`user_hash`] of the user.
    pub user_hash: u64,
    /// Who it was.
    pub user: Text,
    /// Who it was, by a pseudonym.
    pub authenticated: Option<Text>,
    /// When, Unix milliseconds.
    pub time_ms: u64,
    /// Whether the event said when it happened; otherwise the time is that of its receipt.
    pub is_timed: bool,
    /// What it is.
    pub kind: RowKind,
    /// What the sender calls the event.
    pub event: Option<Text>,
    /// The record that it is about.
    pub object: Option<Text>,
    /// Where that stood among all hits, from 1 on.
    pub position: Option<u32>,
    /// The search that the event follows.
    pub query_id: Option<QueryId>,
    /// What the event was worth.
    pub value: Option<Money>,
    /// What was paid for one record.
    pub price: Option<Money>,
    /// How many were bought.
    pub quantity: Option<u32>,
    /// What was taken off.
    pub discount: Option<Money>,
    /// Of the amounts.
    pub currency: Option<Text>,
    /// The filter that it is about.
    pub filter: Option<Text>,
    /// What only searches have.
    pub search: Option<Box<SearchRow>>,
    /// A digest of all the sender said, and of which record or filter of it this is. A batch that is sent twice gives the same.
    pub fingerprint: u64,
    /// Where the log has it.
    pub log_index: u64,
}

impl EventRow {
    /// What rows are ordered by.
    pub(crate) fn order(&self) -> (&str, u64, &str, u64, u64, u64) {
        (&self.index, self.user_hash, &self.user, self.time_ms, self.fingerprint, self.log_index)
    }
    /// Whether both are of one user of one index.
    pub fn is_of_same_user(&self, other: &EventRow) -> bool {
        self.user_hash == other.user_hash && self.user == other.user && self.index == other.index
    }
    /// About how many bytes it takes in memory, with the texts that it may share.
    pub fn bytes(&self) -> usize {
        let texts = [&self.authenticated, &self.event, &self.object, &self.currency, &self.filter];
        let own: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        let search = self.search.as_ref().map_or(0, |search| {
            let lists = [&search.shown, &search.tags, &search.filters];
            let lists: usize = lists.into_iter().map(|texts| texts.bytes() + 16 * texts.len()).sum();
            size_of::<SearchRow>() + search.query.len() + lists + 16 * search.query_ids.len()
        });
        size_of::<EventRow>() + self.index.len() + self.user.len() + own + search
    }
}
impl PartialOrd for EventRow {
    fn partial_cmp(&self, other: &EventRow) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for EventRow {
    fn cmp(&self, other: &EventRow) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// Of a user token; the same everywhere and for ever.
pub fn user_hash(token: &str) -> u64 {
    first_eight(Sha256::digest(token))
}
/// The first eight bytes of a digest.
pub(crate) fn first_eight(digest: impl AsRef<[u8]>) -> u64 {
    u64::from_le_bytes(digest.as_ref()[..8].try_into().expect("a digest has 32 bytes"))
}

#[cfg(test)]
pub(crate) mod tests;
