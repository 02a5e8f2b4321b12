//! Saving and removing the synonyms and rules of an index (C§11, C§10).

use crate::clock::{rfc3339, write_deadline};
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::meta::IndexRow;
use crate::metrics;
use crate::read::call::ask;
use crate::read::resources::CountResources;
use crate::types::Receipt;
use crate::write::replicas::settled::{is_kept, until_reached};
use crate::write::{Reach, index_for_write, receipt};
use quorate_model::level::{self, Needs};
use quorate_model::{IndexName, RecommendRule, ResourceKind, Result};
use quorate_node::ops::{Incarnation, IndexCommand, RawResource};
use std::collections::BTreeSet;

/// A change of the synonyms or the rules of an index.
#[derive(Clone, Debug)]
pub enum ResourceChange {
    /// Saves these; one with the id of an earlier one replaces it.
    Save(Vec<RawResource>),
    /// These are all there are from now on, at once.
    Replace(Vec<RawResource>),
    /// Removes one; a missing one is no error.
    Delete(String),
}

impl ResourceChange {
    fn command(self, index: Incarnation, kind: ResourceKind) -> IndexCommand {
        match self {
            ResourceChange::Save(resources) => {
                IndexCommand::SaveResources { index, kind, resources, replace: false }
            }
            ResourceChange::Replace(resources) => {
                IndexCommand::SaveResources { index, kind, resources, replace: true }
            }
            ResourceChange::Delete(object_id) => IndexCommand::DeleteResource { index, kind, object_id },
        }
    }
    fn needs(&self, kind: ResourceKind) -> Needs {
        match self {
            ResourceChange::Save(resources) | ResourceChange::Replace(resources) => {
                let each = resources.iter().map(|document| level::of_document(kind, &document.document));
                each.fold(Needs::level(level::of_kind(kind)), Needs::or)
            }
            ResourceChange::Delete(_) => Needs::level(level::of_kind(kind)),
        }
    }
    /// With the time of the change in resources that keep it.
    fn stamped(mut self, kind: ResourceKind, time_ms: u64) -> ResourceChange {
        match (kind, &mut self) {
            (ResourceKind::Synonyms | ResourceKind::Rules, _) | (_, ResourceChange::Delete(_)) => {}
            (
                ResourceKind::Recommend(_),
                ResourceChange::Save(resources) | ResourceChange::Replace(resources),
            ) => {
                let saved_at = rfc3339(time_ms);
                for RawResource { object_id: _, document } in resources {
                    *document = RecommendRule::stamped(document, &saved_at);
                }
            }
        }
        self
    }
    fn purpose(&self) -> Purpose {
        match self {
            ResourceChange::Save(_) => Purpose::Add,
            ResourceChange::Replace(resources) if resources.is_empty() => Purpose::Remove,
            ResourceChange::Replace(_) => Purpose::Add,
            ResourceChange::Delete(_) => Purpose::Remove,
        }
    }
    /// The ids it names, each once.
    fn ids(&self) -> Vec<String> {
        let ids: BTreeSet<&String> = match self {
            ResourceChange::Save(resources) | ResourceChange::Replace(resources) => {
                resources.iter().map(|document| &document.object_id).collect()
            }
            ResourceChange::Delete(_) => BTreeSet::new(),
        };
        ids.into_iter().cloned().collect()
    }
    /// Refuses what would leave more resources than there may be. Only looks at what is applied already: the command checks
    /// again where it stands in the log.
    async fn check(&self, context: &NodeContext, row: &IndexRow, kind: ResourceKind) -> Result<()> {
        let ids = self.ids();
        let named = ids.len();
        let counted = match self {
            ResourceChange::Save(_) => {
                let (group, incarnation) = (row.group, row.incarnation);
                ask(context, CountResources { group, incarnation, kind, ids }).await?
            }
            ResourceChange::Replace(_) | ResourceChange::Delete(_) => (0, 0),
        };
        check_count(kind, named, counted)
    }
}

/// Errors: `Invalid` when there are too many once `named` resources are saved beside `before`, `known` of them again.
fn check_count(kind: ResourceKind, named: usize, (before, known): (usize, usize)) -> Result<()> {
    let after = before + named.saturating_sub(known);
    if after > kind.count_max() { Err(kind.too_many()) } else { Ok(()) }
}

/// Carries out a change on one index, making the index when it is missing, and on its replicas when they are within reach.
///
/// Errors: `Invalid` when there would be too many resources. A replica that would have too many goes without the change.
pub async fn change(
    context: &NodeContext,
    name: &IndexName,
    kind: ResourceKind,
    change: ResourceChange,
    reach: Reach,
) -> Result<Receipt> {
    let deadline = write_deadline();
    // before an index is made for them
    context.proposer().check_level(&change.needs(kind))?;
    let purpose = change.purpose();
    let change = change.stamped(kind, context.ids().time_ms());
    loop {
        until_reached(context, (name, reach), deadline).await?;
        let row = index_for_write(context, name, deadline).await?;
        change.check(context, &row, kind).await?;
        let command = reach.of(change.clone().command(row.incarnation, kind));
        let accepted = context.proposer().propose_index(row.group, command, purpose, deadline).await?;
        if is_kept(context, (name, reach), row.incarnation, deadline).await? {
            metrics::accepted(kind.name());
            return Ok(receipt(accepted, vec![]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_names_each_id_once() {
        let raw = |id: &str| RawResource { object_id: id.into(), document: b"{}".to_vec() };
        let twice = vec![raw("b"), raw("a"), raw("b")];
        for (change, ids) in [
            (ResourceChange::Save(twice.clone()), vec!["a", "b"]),
            (ResourceChange::Replace(twice), vec!["a", "b"]),
            (ResourceChange::Save(vec![]), vec![]),
            (ResourceChange::Delete("7".into()), vec![]),
        ] {
            assert_eq!(change.ids(), ids, "{change:?}");
        }
    }
    #[test]
    fn c20_the_limit_counts_what_is_new() {
        let kind = ResourceKind::Rules;
        let most = kind.count_max();
        for (named, counted, fits) in [
            (most, (0, 0), true),
            (most + 1, (0, 0), false),
            (most, (most, most), true),
            (2, (most - 1, 1), true),
            (2, (most - 1, 0), false),
            (0, (most, 0), true),
        ] {
            assert_eq!(check_count(kind, named, counted).is_ok(), fits, "{named} {counted:?}");
        }
    }
}
