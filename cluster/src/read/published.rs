//! Do reads see the records that a command wrote?

use super::call::{Location, ReadCall, in_group};
use crate::context::NodeContext;
use quorate_model::{GroupId, Result};
use serde::{Deserialize, Serialize};

/// Whether reads see the records that a command wrote, even if they wait for settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShowsRecords {
    /// The group.
    pub group: GroupId,
    /// The place of the command in its log.
    pub log_index: u64,
}

impl ReadCall for ShowsRecords {
    const NAME: &'static str = "ShowsRecords";
    type Answer = bool;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<bool> {
        Ok(context.node().records_are_visible(self.group, self.log_index))
    }
}
