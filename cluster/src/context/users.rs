//! What does this node know of the users that are mapped to clusters, beside the mapping?

use super::actors::LeftReport;
use super::silence::Lagging;
use super::user_writes::UserWrites;

/// What goes on for users on this node.
#[derive(Default)]
pub struct Users {
    /// Their writes that are under way.
    pub writes: UserWrites,
    /// The partitions that a change did not reach.
    pub lagging: Lagging,
    /// How the actor of the mapping is.
    pub mapping: LeftReport,
}
