//! Which other nodes have no room on their disks? Whoever leads a group asks before its majority has none left, and
//! hears soon that it has some again, whatever else is to be done in the background.

use crate::context::NodeContext;
use crate::membership;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks until the task is aborted.
pub async fn run(context: Arc<NodeContext>) {
    loop {
        membership::look_at_disks(&context).await;
        tokio::time::sleep(INTERVAL).await;
    }
}
