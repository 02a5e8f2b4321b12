//! Has the group of an index heard which replicas the catalogue lists?
//!
//! The catalogue has a link a moment before the group is told of it; what is forwarded between the two reaches only the replicas
//! that the group knows. So who forwards a change asks which links there are, waits until the group has heard of all of them, and makes the
//! change then; what is linked later comes after it. Who links tells the group with the settings of the same call, which new replicas take
//! over, so nobody may be faster: it has told the group within [`TELLING`], or fails. What is untold for [`PATIENCE`], its maker died or
//! failed, and who waits for it tells the group.

use super::settled::{Asked, INTERVAL, INTERVAL_MAX, PATIENCE, until_abreast};
use crate::command::Subject;
use crate::context::NodeContext;
use crate::meta::{IndexRow, MetaState};
use crate::write::announcements::announce;
use quorate_model::{Error, IndexName, Result};
use std::time::{Duration, Instant};

/// How long who links may take from the catalogue to the group: half of what others wait, who see the link later.
pub const TELLING: Duration = Duration::from_millis(PATIENCE.as_millis() as u64 / 2);

/// The replicas of an index that its group may not have heard of, with the revision; `None` when there are none.
pub fn untold(meta: &MetaState, row: &IndexRow) -> Option<(Subject, u64)> {
    let subject = Subject::Replicas(row.incarnation);
    Some((subject, *meta.unannounced.get(&subject)?))
}

/// Waits until the group of a name has heard of all replicas that the catalogue has when this is asked; what is untold for too long is
/// told from here.
///
/// Cost: a round trip to the leader of the meta group. Errors: `Unavailable` when that does not answer, or the group is not told, until
/// the deadline.
pub async fn until_told(context: &NodeContext, name: &IndexName, deadline: Instant) -> Result<()> {
    until_abreast(context, Asked::Always, deadline).await?;
    let now_untold = || {
        let meta = context.shared_meta().load();
        meta.catalogue.get(name).and_then(|row| untold(&meta, row))
    };
    let (mut waited_for, mut since, mut pause) = (None, Instant::now(), INTERVAL);
    while let Some((subject, revision)) = now_untold() {
        if waited_for != Some((subject, revision)) {
            (waited_for, since) = (Some((subject, revision)), Instant::now());
        }
        if since.elapsed() >= PATIENCE {
            tracing::info!(index = %name, revision, "telling the group of replicas that nobody told it of");
            announce(context, subject, revision, deadline).await?;
        } else if Instant::now() >= deadline {
            return Err(Error::unavailable(format!("replicas are being linked to {name}; try again")));
        } else {
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(INTERVAL_MAX);
        }
    }
    Ok(())
}
