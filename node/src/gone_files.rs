//! Which indices of this node have lost their files (`machine/kept_files.rs` finds them)?

use crate::error::Error;
use crate::node::Node;
use crate::ops::Incarnation;
use quorate_model::GroupId;

impl Node {
    /// Whether an index of a group lacks its files, as far as it was looked at: a replay may still remove it. Cost: a lock.
    pub fn lacks_files(&self, group: GroupId) -> bool {
        self.shared().lacking.lock().contains(&group)
    }
    /// Whether the files of an index are gone. Cost: a lock.
    pub fn is_gone(&self, incarnation: Incarnation) -> bool {
        self.shared().index(incarnation).is_some_and(|state| state.is_gone())
    }
    /// Whether a text, which may go on, is what [`Node::gone_files`] said of an index of the group that has been dropped since. Cost: a
    /// look at each of its indices.
    pub fn is_dropped(&self, group: GroupId, told: &str) -> bool {
        let begins_like = |folder| told.starts_with(&Error::Gone { folder }.to_string());
        let is_of_gone = told.starts_with("the files of an index in ") && told.contains(" are gone, ");
        is_of_gone && !self.shared().of_group(group).iter().any(|state| begins_like(state.folder.clone()))
    }
    /// What is wrong with the indices of a group whose files were there and are gone. Cost: a lock.
    pub fn gone_files(&self, group: GroupId) -> Vec<Error> {
        self.shared().gone_of(group).iter().filter_map(|state| state.check_files().err()).collect()
    }
}
