//! Changing the settings of an index, and which replicas it has (C§3.2, C§5).

use crate::clock::write_deadline;
use crate::context::NodeContext;
use crate::context::proposer::Accepted;
use crate::disk::Purpose;
use crate::metrics;
use crate::types::Receipt;
use crate::write::announcements::note_heard;
use crate::write::replicas::{self, Linked, settled};
use crate::write::{Reach, index_for_write, receipt, tasks};
use quorate_model::{IndexName, Result, level};
use quorate_node::ops::{Incarnation, IndexCommand};
use serde_json::{Map, Value};
use std::time::Instant;

/// Changes the settings of one index, and which replicas it has. When the name stands for another index meanwhile, the change is made
/// again there, and refused as if it had come after that.
pub async fn settings(
    context: &NodeContext,
    name: &IndexName,
    changes: Map<String, Value>,
    reach: Reach,
) -> Result<Receipt> {
    let deadline = write_deadline();
    // who says which replicas there are is answered when they follow, whoever linked them
    let settled = if replicas::listed(&changes)?.is_some() { Reach::Replicas } else { reach };
    loop {
        settled::until_settled(context, (name, settled), deadline).await?;
        let (incarnation, accepted) = change(context, name, changes.clone(), reach, deadline).await?;
        if settled::is_kept(context, (name, settled), incarnation, deadline).await? {
            metrics::accepted("settings");
            return Ok(receipt(accepted, vec![]));
        }
    }
}

/// The same of what the name stands for now. Returns which one that was.
async fn change(
    context: &NodeContext,
    name: &IndexName,
    mut changes: Map<String, Value>,
    reach: Reach,
    deadline: Instant,
) -> Result<(Incarnation, Accepted)> {
    let listed = replicas::listed(&changes)?;
    let known = context.meta();
    if let Some(wanted) = &listed {
        replicas::check(&known, name, wanted)?;
    }
    if let Some(row) = known.catalogue.get(name) {
        replicas::check_settings(row, &changes)?;
    }
    changes.remove("replicas");
    changes.remove("slaves");
    let document = serde_json::to_vec(&changes).expect("a JSON object always serialises");
    // before anything is made or linked for them
    context.proposer().check_level(&level::of_settings(&document))?;
    let wanted = listed.as_deref().unwrap_or_default();
    replicas::take_over_from_primary(context, name, wanted, &changes, deadline).await?;
    let row = index_for_write(context, name, deadline).await?;
    let announcing = context.janitor().announcing().await;
    let linked = match listed {
        Some(wanted) if wanted != row.replicas() => {
            Some(replicas::link(context, name, &wanted, deadline).await?)
        }
        Some(_) | None => None,
    };
    let index = linked.as_ref().map_or(row.incarnation, |linked| linked.primary);
    let change = IndexCommand::Settings { index, changes: document, replace: false };
    let Some(Linked { primary, revision, told, until }) = linked else {
        let accepted =
            context.proposer().propose_index(row.group, reach.of(change), Purpose::Add, deadline).await?;
        return Ok((index, accepted));
    };
    // new replicas take over what is set with them
    let command = IndexCommand::Sequence { commands: vec![change.clone(), told.command, reach.of(change)] };
    let accepted = context.proposer().propose_index(told.group, command, Purpose::Add, until).await?;
    note_heard(context, primary.into(), revision, deadline).await?;
    drop(announcing);
    context.janitor().wake();
    tasks::until_known(context, deadline).await?;
    Ok((index, accepted))
}
