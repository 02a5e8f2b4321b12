//! Shapes of what operators ask of events and bring from elsewhere.

use super::insights::UserEvent;
use utoipa::ToSchema;

/// What there is of events.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct EventsFound {
    /// As the replica of each group says that has most: repeated rows that are not merged yet count more than once.
    pub rows: u64,
    /// Bytes of files of one replica of each group.
    pub bytes: u64,
    pub oldest_day: Option<String>,
    pub newest_day: Option<String>,
    pub groups: Vec<EventsOfGroup>,
    /// Nodes that did not answer.
    pub unreachable: Vec<UnheardNode>,
}
/// What there is of the events of a group.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct EventsOfGroup {
    pub group: u16,
    pub days: Vec<DayOfEvents>,
    pub nodes: Vec<EventReplica>,
}
/// How many rows a day has.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct DayOfEvents {
    pub day: String,
    pub rows: u64,
}
/// What a node has of the events of a group.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct EventReplica {
    pub node: String,
    /// Rows in files.
    pub rows: u64,
    /// Bytes of files.
    pub bytes: u64,
    /// Bytes of files that figures of finished days are read from.
    pub rollup_bytes: u64,
    /// Rows that are not in files yet.
    pub waiting_rows: u64,
    pub waiting_bytes: u64,
    /// Entries of the log that another node has applied and this one has not.
    pub lag_entries: u64,
    /// Files that are damaged or gone.
    pub lost_files: u64,
    /// Rows of these files, as far as they are known.
    pub lost_rows: u64,
    pub oldest_day: Option<String>,
    pub newest_day: Option<String>,
}
/// A node that did not answer.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct UnheardNode {
    pub node: String,
    pub reason: String,
}
/// Rows of events of a day.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct EventRows {
    /// How many.
    pub rows: u64,
    /// A Parquet file, base64; empty when there are no rows.
    pub parquet: String,
    /// Where the next ones begin, for `after`; without it there are none.
    pub next: Option<String>,
}
/// Whose events and searches are forgotten.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct ForgottenUser {
    /// A text of 1 to 512 bytes, as searches take it.
    pub user_token: String,
}
/// Events and searches of the past.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct EventHistory {
    /// As `POST /1/events` takes them, each with its timestamp.
    pub events: Option<Vec<UserEvent>>,
    pub searches: Option<Vec<PastSearch>>,
}
/// A search of the past that counts.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct PastSearch {
    pub index: String,
    pub user_token: String,
    /// Unix milliseconds.
    pub timestamp: u64,
    pub query: String,
    /// Records found.
    pub hits: Option<u64>,
    /// The first records shown.
    pub shown: Option<Vec<String>>,
    pub tags: Option<Vec<String>>,
    /// Each as `attribute:value` or `attribute>number`.
    pub filters: Option<Vec<String>>,
    /// Code of a country.
    pub country: Option<String>,
    /// Of the answers, those of keystrokes before included.
    #[schema(rename = "queryIDs")]
    pub query_ids: Option<Vec<String>>,
    /// Whether it counts whatever follows it.
    pub stands: Option<bool>,
}
