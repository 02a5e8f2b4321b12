//! Has the group of an index heard which replicas the catalogue lists?
//!
//! The catalogue has a link a moment before the group is told of it; what is forwarded between the two reaches only the replicas
//! that the group knows. So who forwards a change waits until nothing is untold, makes the change, and looks again: what was linked
//! before the answer and is told after the change, the change is made again for. Who links has told the group within [`TELLING`], or is
//! answered with an error and tells nothing of its settings; what is untold for [`PATIENCE`], who waits for it tells.

use super::settled::{INTERVAL, INTERVAL_MAX, PATIENCE};
use crate::command::Subject;
use crate::context::NodeContext;
use crate::meta::MetaState;
use crate::write::Reach;
use crate::write::announcements::announce;
use quorate_model::{Error, IndexName, Result};
use std::time::{Duration, Instant};

/// How long who links may take from the catalogue to the group: half of what others wait, who see the link later.
pub const TELLING: Duration = Duration::from_millis(PATIENCE.as_millis() as u64 / 2);

/// The replicas of a name that its group may not have heard of, with the revision; `None` when there are none within reach.
fn untold(meta: &MetaState, (name, reach): (&IndexName, Reach)) -> Option<(Subject, u64)> {
    let row = meta.catalogue.get(name).filter(|_| reach == Reach::Replicas)?;
    let subject = Subject::Replicas(row.incarnation);
    Some((subject, *meta.unannounced.get(&subject)?))
}

/// Waits until the group of a name has heard of all replicas within reach that this node knows; what is untold for too long is told
/// from here. Returns whether there was something to wait for.
///
/// Cost: a look at what is untold. Errors: `Unavailable` when that takes until the deadline.
pub async fn until_told(
    context: &NodeContext,
    index: (&IndexName, Reach),
    deadline: Instant,
) -> Result<bool> {
    let now_untold = || untold(&context.shared_meta().load(), index);
    let Some(mut waited_for) = now_untold() else { return Ok(false) };
    let (mut since, mut pause) = (Instant::now(), INTERVAL);
    while let Some(still) = now_untold() {
        if still != waited_for {
            (waited_for, since) = (still, Instant::now());
        }
        if since.elapsed() >= PATIENCE {
            let (subject, revision) = still;
            tracing::info!(index = %index.0, revision, "telling the group of replicas that nobody told it of");
            announce(context, subject, revision, deadline).await?;
        } else if Instant::now() >= deadline {
            return Err(Error::unavailable(format!("replicas are being linked to {}; try again", index.0)));
        } else {
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(INTERVAL_MAX);
        }
    }
    Ok(true)
}
