//! What do users do with results (C§18.2)? Events as they are kept in a log, checked.

mod body;
mod history;
mod money;
pub mod search;
mod shown;
mod text_list;

pub use body::{Refused, is_user_token, parse};
pub use history::{History, parse_history};
pub use money::{AMOUNT_CHARS_MAX, Money, PLACES};
pub use search::CountedSearch;
pub use shown::{id_values, with_ids_alone};
pub use text_list::TextList;

use crate::ids::IndexName;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a user did (eventType with eventSubtype).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EventKind {
    /// Saw something.
    View,
    /// Chose something.
    Click,
    /// Did what somebody hoped for.
    Conversion,
    /// Put something into a basket.
    AddToCart,
    /// Bought something.
    Purchase,
}

impl EventKind {
    /// All, in the order of their numbers.
    pub const ALL: [EventKind; 5] =
        [EventKind::View, EventKind::Click, EventKind::Conversion, EventKind::AddToCart, EventKind::Purchase];
    /// Whether it counts as a conversion, of whatever subtype.
    pub fn is_conversion(self) -> bool {
        matches!(self, EventKind::Conversion | EventKind::AddToCart | EventKind::Purchase)
    }
}

/// The id of a search: 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct QueryId(pub u128);

impl QueryId {
    /// Reads 32 digits, `0` to `9` and `a` to `f`.
    pub fn parse(text: &str) -> Option<QueryId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == 32 && text.bytes().all(is_digit))
            .then(|| QueryId(u128::from_str_radix(text, 16).expect("32 hexadecimal digits are 128 bits")))
    }
}
impl fmt::Display for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
impl fmt::Debug for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A record that an event is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventObject {
    /// Its objectID.
    pub object_id: String,
    /// Where it stood among all hits, from 1 on.
    pub position: Option<u32>,
    /// The search that it was found by, where the event names one for each object.
    pub query_id: Option<QueryId>,
    /// The price that was paid for one.
    pub price: Option<Money>,
    /// How many.
    pub quantity: Option<u32>,
    /// What was taken off.
    pub discount: Option<Money>,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventTarget {
    /// Records.
    Objects(Vec<EventObject>),
    /// Filters, each `attribute:value`.
    Filters(Vec<String>),
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What was done.
    pub kind: EventKind,
    /// What its sender calls it.
    pub name: String,
    /// The index, which need not exist.
    pub index: IndexName,
    /// Who, anonymously.
    pub user: String,
    /// Who, by a pseudonym.
    pub authenticated: Option<String>,
    /// When it happened, Unix milliseconds; `None`: when it was received.
    pub time_ms: Option<u64>,
    /// The search that it follows.
    pub query_id: Option<QueryId>,
    /// What it is about.
    pub target: EventTarget,
    /// What it was worth.
    pub value: Option<Money>,
    /// Of its amounts.
    pub currency: Option<String>,
}

impl Event {
    /// The searches that it follows, of the whole and of each object.
    pub fn query_ids(&self) -> impl Iterator<Item = QueryId> {
        let of_objects = match &self.target {
            EventTarget::Objects(objects) => objects.as_slice(),
            EventTarget::Filters(_) => &[],
        };
        self.query_id.into_iter().chain(of_objects.iter().filter_map(|object| object.query_id))
    }
}
