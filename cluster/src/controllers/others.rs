//! Which other nodes have no room on their disks, and which groups do they lead? Whoever leads a group asks before its majority has no room left, and
//! hears soon that it has some again, whatever else is to be done in the background.

use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::membership;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks until the task is aborted.
pub async fn run(context: Arc<NodeContext>) {
    loop {
        membership::look_at_others(&context).await;
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Looks at once while this node has no room itself: whether others are better off is asked before anything is given to them.
pub async fn look_if_full(context: &NodeContext) {
    if context.disk().admit(Purpose::Add).is_err() {
        membership::look_at_others(context).await;
    }
}

/// Whether this disk is full, and those of so many voters that no other leader could take writes either. Where not a byte is left no
/// vote can be written down: without this leader the group might have none, and reads no lease.
pub fn is_short_everywhere(context: &NodeContext, voters: &[u64]) -> bool {
    let is_full = context.disk().admit(Purpose::Add).is_err();
    is_full && context.disk().full_majority((context.self_id(), "this node"), voters, Purpose::Add).is_some()
}
