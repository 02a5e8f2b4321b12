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
    let lists_replicas = replicas::listed(&changes)?.is_some();
    loop {
        match lists_replicas {
            // what is untold is told with the change
            true => settled::until_settled(context, (name, reach), deadline).await?,
            false => settled::until_reached(context, (name, reach), deadline).await?,
        }
        let (incarnation, accepted) = change(context, name, changes.clone(), reach, deadline).await?;
        if settled::is_kept(context, (name, reach), incarnation, deadline).await? {
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
    let change = |index| IndexCommand::Settings { index, changes: document, replace: false };
    // of the same list, too, as long as the group may not have heard of it: who linked it may have died
    let is_untold = replicas::told::untold(&context.shared_meta().load(), &row).is_some();
    let Some(wanted) = listed.filter(|wanted| is_untold || wanted != row.replicas()) else {
        let (index, command) = (row.incarnation, reach.of(change(row.incarnation)));
        let accepted = context.proposer().propose_index(row.group, command, Purpose::Add, deadline).await?;
        return Ok((index, accepted));
    };
    let announcing = context.janitor().announcing(deadline).await?;
    let linked = replicas::link(context, name, &wanted, deadline).await?;
    let Linked { primary, revision, told, until } = linked;
    let change = change(primary);
    // new replicas take over what is set with them
    let command = IndexCommand::Sequence { commands: vec![change.clone(), told.command, reach.of(change)] };
    let accepted = context.proposer().propose_index(told.group, command, Purpose::Add, until).await?;
    note_heard(context, primary.into(), revision, deadline).await?;
    drop(announcing);
    context.janitor().wake();
    tasks::until_known(context, deadline).await?;
    Ok((primary, accepted))
}
