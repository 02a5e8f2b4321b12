//! Bodies of the mapping of users to clusters.

use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Where a user goes; the user stands in the header X-Service-User-ID.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Assignment {
    pub cluster: String,
}
/// Where several users go.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Assignments {
    pub cluster: String,
    pub users: Vec<String>,
}
/// When it was made.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct CreatedAt {
    pub created_at: String,
}
/// When it was deleted.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct DeletedAt {
    pub deleted_at: String,
}
/// When it was changed.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct UpdatedAt {
    pub updated_at: String,
}

/// A user and its cluster.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct MappedUser {
    #[schema(rename = "userID")]
    pub user_id: String,
    pub cluster_name: String,
    pub nb_records: u64,
    pub data_size: u64,
}
/// A page of users.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct MappedUsers {
    #[schema(rename = "userIDs")]
    pub user_ids: Vec<MappedUser>,
    pub page: u64,
    pub hits_per_page: u64,
}
/// The users with the most records, by cluster.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct TopUsers {
    pub top_users: BTreeMap<String, Vec<MappedUser>>,
}
/// The clusters.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Clusters {
    pub clusters: Vec<Cluster>,
}
/// A cluster.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Cluster {
    pub cluster_name: String,
    pub nb_records: u64,
    #[schema(rename = "nbUserIDs")]
    pub nb_user_ids: u64,
    pub data_size: u64,
}
/// Whether users are being moved or removed.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct PendingUsers {
    pub pending: bool,
    /// With `getClusters`: which, by cluster.
    pub clusters: Option<BTreeMap<String, Vec<String>>>,
}
/// A search of users.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct UserSearch {
    #[schema(max_length = 512)]
    pub query: Option<String>,
    pub cluster: Option<String>,
    /// Another name for `cluster`.
    pub cluster_name: Option<String>,
    pub page: Option<u64>,
    #[schema(minimum = 1, maximum = 1000)]
    pub hits_per_page: Option<u64>,
}
/// The users that a search found.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct UsersFound {
    pub hits: Vec<UserFound>,
    pub nb_hits: u64,
    pub page: u64,
    pub hits_per_page: u64,
    /// Unix seconds at which what is searched was gathered.
    pub updated_at: u64,
}
/// A user that a search found.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct UserFound {
    #[schema(rename = "userID")]
    pub user_id: String,
    pub cluster_name: String,
    pub nb_records: u64,
    pub data_size: u64,
    #[schema(rename = "objectID")]
    pub object_id: String,
    #[schema(rename = "_highlightResult")]
    pub highlight_result: BTreeMap<String, Highlight>,
}
/// A text with what matches marked.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Highlight {
    pub value: String,
    pub match_level: MatchLevel,
    pub fully_highlighted: Option<bool>,
    pub matched_words: Vec<String>,
}
/// How much of the query matches.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum MatchLevel {
    None,
    Partial,
    Full,
}
