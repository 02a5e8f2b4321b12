//! Bodies of errors, tasks, health and the calls of operators.

use utoipa::ToSchema;

/// A failed call.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Failure {
    /// What is wrong, for people.
    pub message: String,
    /// The status of the answer.
    pub status: u16,
    /// Which operation of a batch it was, from zero.
    pub position: Option<u64>,
    /// Which record it was.
    #[schema(rename = "objectID")]
    pub object_id: Option<String>,
}

/// What was done or is so, for people.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Message {
    pub message: String,
}

/// The state of a task.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Task {
    pub status: TaskStatus,
    /// Deprecated.
    pub pending_task: bool,
}
/// Whether every reader sees what a write has changed.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum TaskStatus {
    Published,
    NotPublished,
}

/// Whether a node can do its work.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Health {
    /// With status 503: what stands against it.
    pub message: Option<String>,
    pub status: Option<u16>,
    pub ready: bool,
    pub reads: HealthOf,
    pub writes: HealthOf,
    /// What should be looked at soon.
    pub warnings: Option<Vec<String>>,
}
/// Whether a node can do one kind of work.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct HealthOf {
    pub ready: bool,
    pub reasons: Vec<String>,
}

/// Which node takes another one's place.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Replacement {
    /// Its name; chosen when absent.
    pub with: Option<String>,
}
/// Which node is to lead a group.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct NewLeader {
    pub node: String,
}
