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
    /// What is wrong with the indices of a group whose files were there and are gone. Cost: a lock.
    pub fn gone_files(&self, group: GroupId) -> Vec<Error> {
        self.shared().gone_of(group).iter().filter_map(|state| state.check_files().err()).collect()
    }
}
