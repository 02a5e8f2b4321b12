//! The path of a write: ids are made, the index is found or made, one command goes into its group's log.

pub mod announcements;
pub mod configuring;
pub mod copies;
pub mod dictionaries;
pub mod env;
pub mod events;
pub mod growth;
pub mod operate;
pub mod replicas;
pub mod resource_changes;
pub mod searches;
mod setting_changes;
pub mod tasks;

pub use setting_changes::settings;

use crate::clock::rfc3339;
use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::context::proposer::Accepted;
use crate::disk::Purpose;
use crate::ids::IdSource;
use crate::meta::IndexRow;
use crate::metrics;
use crate::read;
use crate::types::{CallerOp, Receipt};
use crate::write::replicas::settled;
use futures_util::future::try_join_all;
use quorate_model::record::with_object_id;
use quorate_model::{Error, IndexName, RecordOp, ResourceKind, Result, TaskId};
use quorate_node::ops::{Incarnation, IndexCommand};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Instant;

/// Tries to make an index that others delete at the same time.
const CREATE_ATTEMPTS: usize = 8;

/// What a caller's operations on one index come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Operations that have an effect.
    ops: Vec<RecordOp>,
    /// Their places among those of the call.
    places: Vec<u64>,
    /// Whether the index starts anew before them.
    reset: Reset,
}

/// Whether a batch removed everything at some point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reset {
    #[default]
    No,
    /// Records, settings, synonyms and rules as they were are gone.
    Everything,
}

impl Plan {
    /// Takes the next operation and returns the id of the record it names, if it names one (C§3.5).
    pub fn take(&mut self, (place, op): (u64, CallerOp), ids: &IdSource) -> Option<String> {
        self.places.push(place);
        match op {
            CallerOp::Put { object_id, record } => {
                let (object_id, record) = match object_id {
                    Some(object_id) => (object_id, record),
                    None => {
                        let generated = ids.object_id();
                        let record = with_object_id(&record, &generated);
                        (generated, record)
                    }
                };
                self.ops.push(RecordOp::Put { object_id: object_id.clone(), record });
                Some(object_id)
            }
            CallerOp::Ready(op) => {
                let named = op.object_id().map(str::to_owned);
                self.ops.push(op);
                named
            }
            CallerOp::DeleteIndex => {
                // what came before it in the batch is gone too: the batch is atomic
                self.ops.clear();
                self.places.clear();
                self.reset = Reset::Everything;
                None
            }
        }
    }

    /// Refuses what would make a record of the index too large, by its place in the call.
    async fn bound(&mut self, context: &NodeContext, name: &IndexName, by: Instant) -> Result<()> {
        let row = context.meta().catalogue.get(name).filter(|_| self.reset == Reset::No).cloned();
        let bounded = growth::bounded(context, row, std::mem::take(&mut self.ops), by).await;
        self.ops = bounded.map_err(|error| placed(error, &self.places))?;
        Ok(())
    }
    /// Whether nothing is left of the index.
    fn deletes_index(&self) -> bool {
        self.reset == Reset::Everything && self.ops.is_empty()
    }
    fn purpose(&self) -> Purpose {
        purpose(&self.ops)
    }
    /// `kinds` are those of which there may be resources.
    fn command(self, index: Incarnation, kinds: &[ResourceKind]) -> IndexCommand {
        let mut ops = self.ops;
        match self.reset {
            Reset::No => IndexCommand::Records { index, ops },
            Reset::Everything => {
                ops.insert(0, RecordOp::Clear);
                let records = IndexCommand::Records { index, ops };
                let settings = IndexCommand::Settings { index, changes: b"{}".to_vec(), replace: true };
                let no_resources = kinds.iter().map(|&kind| IndexCommand::SaveResources {
                    index,
                    kind,
                    resources: Vec::new(),
                    replace: true,
                });
                let mut commands = vec![records, settings];
                commands.extend(no_resources);
                IndexCommand::Sequence { commands }
            }
        }
    }
}

/// The same error, whose number is that of one of the operations at these places of a call.
pub fn placed(error: Error, places: &[u64]) -> Error {
    let place = error.position.and_then(|number| places.get(usize::try_from(number).ok()?).copied());
    Error { position: place, ..error }
}

/// What operations do to the disk.
pub fn purpose(ops: &[RecordOp]) -> Purpose {
    let adds = |op: &RecordOp| match op {
        RecordOp::Put { .. } | RecordOp::Partial { .. } | RecordOp::PartialUpTo { .. } => true,
        RecordOp::Delete { .. } | RecordOp::DeleteBy { .. } | RecordOp::Clear => false,
    };
    if ops.iter().any(adds) || ops.is_empty() { Purpose::Add } else { Purpose::Remove }
}

/// Finds the index that `name` stands for, making it when there is none.
pub async fn index_for_write(context: &NodeContext, name: &IndexName, deadline: Instant) -> Result<IndexRow> {
    for _ in 0..CREATE_ATTEMPTS {
        if let Some(row) = context.shared_meta().load().catalogue.get(name) {
            check_files(context, name, row)?;
            return Ok(row.clone());
        }
        let group = context.group_for(name)?;
        let create = MetaCommand::CreateIndex { name: name.clone(), group };
        context.proposer().propose_meta(create, Purpose::Add, deadline).await?;
    }
    Err(Error::unavailable(format!("index {name} is being deleted; try again")))
}

/// Errors: `Unavailable` when the files of an index are gone here: what is written would wait for them, and what is made of it would lack
/// them.
pub fn check_files(context: &NodeContext, name: &IndexName, row: &IndexRow) -> Result<()> {
    match context.node().is_gone(row.incarnation) {
        true => Err(Error::unavailable(format!(
            "the files of index {name} are gone on this node: its operator can put them back, or delete the index"
        ))),
        false => Ok(()),
    }
}

async fn carry_out(context: &NodeContext, name: &IndexName, mut plan: Plan) -> Result<Accepted> {
    if plan.deletes_index() {
        return delete(context, name).await;
    }
    let has_replicas = context.meta().catalogue.get(name).is_some_and(|row| !row.replicas().is_empty());
    if plan.reset == Reset::Everything && has_replicas {
        // they go their own way with what they have, as those of an index that is deleted
        let none = Map::from_iter([("replicas".to_owned(), Value::Array(vec![]))]);
        settings(context, name, none, Reach::Index).await?;
    }
    let (deadline, purpose) = (write_deadline(), plan.purpose());
    let index = (name, Reach::Index);
    loop {
        // what starts anew has another configuration, too
        let again = (plan.reset == Reset::Everything).then(|| plan.clone());
        if again.is_some() {
            settled::until_settled(context, index, deadline).await?;
        }
        let row = index_for_write(context, name, deadline).await?;
        replicas::check_writable(&row, name)?;
        let command = plan.command(row.incarnation, &context.resource_kinds());
        let accepted = context.proposer().propose_index(row.group, command, purpose, deadline).await?;
        match again {
            Some(again) if !settled::is_kept(context, index, row.incarnation, deadline).await? => {
                plan = again;
            }
            Some(_) | None => {
                metrics::accepted("records");
                return Ok(accepted);
            }
        }
    }
}

/// Applies operations to one index, in order and as one.
pub async fn records(context: &NodeContext, name: &IndexName, ops: Vec<CallerOp>) -> Result<Receipt> {
    let (mut plan, mut object_ids) = (Plan::default(), Vec::with_capacity(ops.len()));
    for op in (0..).zip(ops) {
        object_ids.extend(plan.take(op, context.ids()));
    }
    plan.bound(context, name, growth::deadline()).await?;
    let accepted = carry_out(context, name, plan).await?;
    Ok(receipt(accepted, object_ids))
}

/// The task of each index, the ids of the records that were named, and the time of the last task.
pub type ManyReceipt = (BTreeMap<IndexName, TaskId>, Vec<String>, String);

/// Applies operations to several indices: in order and as one for each, independent of each other.
pub async fn many(context: &NodeContext, ops: Vec<(IndexName, CallerOp)>) -> Result<ManyReceipt> {
    let (mut plans, mut object_ids) = (BTreeMap::<IndexName, Plan>::new(), Vec::with_capacity(ops.len()));
    for (place, (name, op)) in (0..).zip(ops) {
        object_ids.extend(plans.entry(name).or_default().take((place, op), context.ids()));
    }
    // before anything is written: what is refused changes nothing
    for (name, plan) in &plans {
        replicas::check_known(context, name, plan.deletes_index()).await?;
    }
    let by = growth::deadline();
    for (name, plan) in &mut plans {
        plan.bound(context, name, by).await?;
    }
    let writes = plans.into_iter().map(async |(name, plan)| {
        let accepted = carry_out(context, &name, plan).await?;
        Ok::<_, Error>((name, accepted))
    });
    let accepted = try_join_all(writes).await?;
    let last_ms = accepted.iter().map(|(_, accepted)| accepted.time_ms).max();
    let updated_at = rfc3339(last_ms.unwrap_or_else(|| context.ids().time_ms()));
    let tasks = accepted.into_iter().map(|(name, accepted)| (name, accepted.task_id)).collect();
    Ok((tasks, object_ids, updated_at))
}

/// Which indices a change of settings, synonyms or rules is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The index alone.
    Index,
    /// Its replicas as well.
    Replicas,
}

impl Reach {
    /// The reach that `forwardToReplicas` asks for.
    pub fn forwarded(forward_to_replicas: bool) -> Reach {
        if forward_to_replicas { Reach::Replicas } else { Reach::Index }
    }
    /// The command with this reach.
    pub fn of(self, command: IndexCommand) -> IndexCommand {
        match self {
            Reach::Index => command,
            Reach::Replicas => IndexCommand::Forward { command: Box::new(command) },
        }
    }
}

/// Removes an index; for a missing one there is a task all the same. Errors: `Forbidden` for a linked replica.
pub async fn delete(context: &NodeContext, name: &IndexName) -> Result<Accepted> {
    read::look_again(context, name).await;
    let row = context.shared_meta().load().catalogue.get(name).cloned();
    row.as_ref().map_or(Ok(()), replicas::check_deletable)?;
    let incarnation = row.map_or(0, |row| row.incarnation);
    let delete = MetaCommand::DeleteIndex { name: name.clone(), incarnation };
    let accepted = context.proposer().propose_meta(delete, Purpose::Remove, write_deadline()).await?;
    context.janitor().wake();
    tasks::until_known(context, write_deadline()).await?;
    metrics::accepted("delete_index");
    Ok(accepted)
}

/// The answer to an accepted write.
pub fn receipt(accepted: Accepted, object_ids: Vec<String>) -> Receipt {
    Receipt { task_id: accepted.task_id, updated_at: rfc3339(accepted.time_ms), object_ids }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(id: Option<&str>) -> CallerOp {
        CallerOp::Put { object_id: id.map(str::to_owned), record: br#"{"a":1}"#.to_vec() }
    }
    fn delete_object(id: &str) -> CallerOp {
        CallerOp::Ready(RecordOp::Delete { object_id: id.into() })
    }

    #[test]
    fn a_batch_names_its_records_in_order_and_makes_missing_ids() {
        let (ids, mut plan) = (IdSource::new(5), Plan::default());
        let ops =
            [put(Some("x")), put(None), CallerOp::Ready(RecordOp::Clear), delete_object("y"), put(None)];
        let named: Vec<_> = ops.into_iter().filter_map(|op| plan.take((0, op), &ids)).collect();
        assert_eq!((named.len(), named[0].as_str(), named[2].as_str()), (4, "x", "y"));
        assert!(named[1].len() == 26 && named[3] > named[1], "{named:?}");
        let IndexCommand::Records { index: 9, ops } = plan.command(9, &[]) else { panic!("not records") };
        let RecordOp::Put { object_id, record } = &ops[1] else { panic!("{ops:?}") };
        let record: Value = serde_json::from_slice(record).expect("JSON");
        assert_eq!(
            (object_id, &record["objectID"], &record["a"]),
            (&named[1], &named[1].as_str().into(), &1.into())
        );
    }

    #[test]
    fn the_action_delete_starts_the_index_anew_or_ends_it() {
        let ids = IdSource::new(5);
        let plan_of = |ops: Vec<CallerOp>| {
            let mut plan = Plan::default();
            let named: Vec<_> = ops.into_iter().filter_map(|op| plan.take((0, op), &ids)).collect();
            (plan, named)
        };
        let (plan, named) = plan_of(vec![put(Some("x")), CallerOp::DeleteIndex]);
        assert!(plan.deletes_index() && named == ["x"]);

        let (plan, named) = plan_of(vec![put(Some("x")), CallerOp::DeleteIndex, delete_object("y")]);
        assert!(!plan.deletes_index() && named == ["x", "y"]);
        let IndexCommand::Sequence { commands } = plan.command(9, &ResourceKind::ALL) else {
            panic!("not a sequence")
        };
        let none = |kind| IndexCommand::SaveResources { index: 9, kind, resources: vec![], replace: true };
        let mut expected = vec![
            IndexCommand::Records {
                index: 9,
                ops: vec![RecordOp::Clear, RecordOp::Delete { object_id: "y".into() }],
            },
            IndexCommand::Settings { index: 9, changes: b"{}".to_vec(), replace: true },
        ];
        expected.extend(ResourceKind::ALL.map(none));
        assert_eq!(commands, expected);

        let (plan, _) = plan_of(vec![]);
        assert!(!plan.deletes_index());
        assert_eq!(plan.command(9, &ResourceKind::ALL), IndexCommand::Records { index: 9, ops: vec![] });
    }

    #[test]
    fn only_removals_pass_when_the_disk_is_low() {
        let ids = IdSource::new(5);
        for (ops, expected) in [
            (vec![put(None)], Purpose::Add),
            (vec![delete_object("x"), CallerOp::Ready(RecordOp::Clear)], Purpose::Remove),
            (vec![delete_object("x"), put(Some("x"))], Purpose::Add),
            (vec![], Purpose::Add),
        ] {
            let mut plan = Plan::default();
            for op in ops {
                plan.take((0, op), &ids);
            }
            assert_eq!(plan.purpose(), expected, "{plan:?}");
        }
    }
}
