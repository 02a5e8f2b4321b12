//! Bodies of the log of requests.

use utoipa::ToSchema;

/// Calls that were answered lately, the newest first.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Logs {
    #[schema(max_items = 1000)]
    pub logs: Vec<LoggedRequest>,
}

/// A call that was answered, with its keys masked. Numbers are text.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct LoggedRequest {
    #[schema(format = DateTime)]
    pub timestamp: String,
    pub method: String,
    /// The status of the answer.
    pub answer_code: String,
    /// Its beginning: 1,000 characters.
    pub query_body: String,
    /// Its beginning: 1,000 characters.
    pub answer: String,
    /// Path and query string.
    pub url: String,
    /// The address of the caller; empty when it is not known.
    pub ip: String,
    /// One a line.
    pub query_headers: String,
    /// Forty hexadecimal digits that tell it from every other.
    pub sha1: String,
    /// How many queries it had, at least one.
    pub nb_api_calls: String,
    pub processing_time_ms: String,
    /// The query string.
    pub query_params: String,
    /// The index that its path names.
    pub index: Option<String>,
    /// How many records its query found.
    pub query_nb_hits: Option<String>,
    /// Whether that is exact.
    pub exhaustive: Option<bool>,
    pub inner_queries: Option<Vec<LoggedInnerQuery>>,
}

/// One of the queries of a call.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct LoggedInnerQuery {
    pub index_name: String,
    pub user_token: Option<String>,
    pub query_id: Option<String>,
}
