//! Bodies of the list of indices and of operations on whole indices.

use utoipa::ToSchema;

/// A page of the list of indices.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct IndexList {
    pub items: Vec<IndexItem>,
    pub nb_pages: u64,
}
/// One index.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct IndexItem {
    pub name: String,
    pub created_at: String,
    pub updated_at: String,
    pub entries: u64,
    /// Bytes of the records.
    pub data_size: u64,
    /// Bytes on disk.
    pub file_size: u64,
    pub last_build_time_s: u64,
    pub number_of_pending_task: u64,
    pub number_of_pending_tasks: u64,
    pub pending_task: bool,
    /// Of a replica: what it follows.
    pub primary: Option<String>,
    pub replicas: Option<Vec<String>>,
    #[schema(rename = "virtual")]
    pub is_virtual: Option<bool>,
}

/// Copies or renames an index.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Operation {
    pub operation: OperationKind,
    pub destination: String,
    /// Of a copy: what is copied instead of everything.
    pub scope: Option<Vec<Scope>>,
}
/// What is done.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum OperationKind {
    Copy,
    Move,
}
/// What a copy may take alone.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum Scope {
    Settings,
    Synonyms,
    Rules,
}
