//! Whether a write is published: every reader sees it (C§1.6).

use crate::router::Router;
use quorate_model::{GroupId, TaskId};
use quorate_node::Node;

/// Whether every reader of this node sees the write.
///
/// An id beyond the last one issued is not published; one from before is, whatever became of its index.
pub fn is_published(router: &Router, node: &Node, task: TaskId) -> bool {
    let (id, log_index) = (task.group(), task.log_index());
    let Some(group) = router.group(id) else { return false };
    if log_index > *group.applied.borrow() {
        return false;
    }
    id == GroupId::META || node.is_visible(id, log_index)
}
