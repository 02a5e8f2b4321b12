//! What is asked of counted searches, and what is answered (C§18.5)?

mod dates;
mod tags;

pub use dates::Day;
pub use tags::TagFilter;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Milliseconds of a day.
pub const DAY_MS: u64 = 24 * 3_600_000;
/// Days of a range at most.
pub const DAYS_MAX: u32 = 400;
/// Entries of a list when it is not said how many.
pub const LIMIT: usize = 10;
/// Entries of a list at most.
pub const LIMIT_MAX: usize = 1_000;
/// Groups that are told apart in one answer; when there are more, those with the fewest searches are part of its sums only.
pub const GROUPS_MAX: usize = 100_000;

/// Positions of clicks that are counted together: the first and the last one of each class.
pub const POSITIONS: [(u32, u32); 12] = [
    (1, 1),
    (2, 2),
    (3, 3),
    (4, 4),
    (5, 5),
    (6, 6),
    (7, 7),
    (8, 8),
    (9, 9),
    (10, 10),
    (11, 20),
    (21, u32::MAX),
];

/// What searches are grouped by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum By {
    /// Nothing: only days, and all together.
    #[default]
    Nothing,
    /// The query.
    Query,
    /// The query, those that found nothing.
    QueryWithoutResults,
    /// The query, those that nobody has clicked a result of, though there were some and clicks would be known.
    QueryWithoutClicks,
    /// The records shown.
    Hit,
    /// The attributes filtered by.
    Attribute,
    /// The filters of an attribute.
    FilterOf(String),
    /// All filters of a search together, where it found nothing.
    FiltersWithoutResults,
    /// The country of the caller.
    Country,
}

/// What groups are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Order {
    #[default]
    Searches,
    ClickThroughRate,
    ConversionRate,
    AverageClickPosition,
}

/// What is asked of the searches of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportQuery {
    /// The first day and the last one.
    pub days: (Day, Day),
    /// Only searches whose tags pass, as [`TagFilter::parse`] reads it.
    pub tags: Option<String>,
    /// Only searches with this query.
    pub search: Option<String>,
    /// Groups beside days.
    pub by: By,
    /// Whether events are looked at, too.
    pub with_events: bool,
    /// The order of groups.
    pub order: Order,
    /// Whether the least come first.
    pub ascending: bool,
    /// Groups that are passed over.
    pub offset: usize,
    /// Groups that are answered.
    pub limit: usize,
}

/// Figures of some searches. Those of events are of tracked searches, which have an id that events name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Searches.
    pub searches: u64,
    /// Users who searched; not counted for groups, nor where groups are asked for.
    pub users: u64,
    /// Records found, of all searches together.
    pub hits: u64,
    /// Searches that found nothing.
    pub without_results: u64,
    /// Searches with filters.
    pub with_filters: u64,
    /// Searches with an id.
    pub tracked: u64,
    /// Of these, those that found something.
    pub clickable: u64,
    /// Clickable searches of queries of which none was clicked.
    pub without_clicks: u64,
    /// Tracked searches with a click.
    pub clicked: u64,
    /// Tracked searches with a conversion of any kind.
    pub converted: u64,
    /// Tracked searches after which something was put into a basket.
    pub carted: u64,
    /// Tracked searches after which something was bought.
    pub purchased: u64,
    /// Clicks on records.
    pub clicks: u64,
    /// Conversions of any kind, one for each record.
    pub conversions: u64,
    /// Records put into baskets.
    pub carts: u64,
    /// Records bought.
    pub purchases: u64,
    /// The sum of the positions of clicks.
    pub positions_sum: u64,
    /// Clicks by [`POSITIONS`].
    pub positions: [u64; POSITIONS.len()],
    /// What was paid, by currency, in units of 10^-15, as decimal digits.
    #[serde(with = "amounts")]
    pub revenue: BTreeMap<String, i128>,
}

impl Figures {
    /// A part of the tracked searches; `None` when there are none.
    pub fn rate(&self, part: u64) -> Option<f64> {
        (self.tracked > 0).then(|| part as f64 / self.tracked as f64)
    }
    /// The average position of clicks; `None` when there are none.
    pub fn average_position(&self) -> Option<f64> {
        (self.clicks > 0).then(|| self.positions_sum as f64 / self.clicks as f64)
    }
    /// The average number of records found.
    pub fn average_hits(&self) -> u64 {
        self.hits.checked_div(self.searches).unwrap_or_default()
    }
}

/// What is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Of the whole range.
    pub total: Figures,
    /// Of each day, in order, those without any search included.
    pub days: Vec<(Day, Figures)>,
    /// Of the groups that were asked for, in order.
    pub groups: Vec<(String, Figures)>,
}

/// Amounts as decimal digits: they are longer than numbers of JSON may be.
mod amounts {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    pub fn serialize<S: Serializer>(amounts: &BTreeMap<String, i128>, to: S) -> Result<S::Ok, S::Error> {
        let texts: BTreeMap<&str, String> =
            amounts.iter().map(|(currency, amount)| (currency.as_str(), amount.to_string())).collect();
        texts.serialize(to)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, i128>, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(from)?;
        let amount =
            |(currency, text): (String, String)| Ok((currency, text.parse().map_err(D::Error::custom)?));
        texts.into_iter().map(amount).collect()
    }
}
