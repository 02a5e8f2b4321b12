//! How an installation goes on with one node when the majority is lost for good: `quorate cluster recover`, on a stopped node.
//!
//! The node becomes the only member of every group it has a replica of, and all others are noted as removed in the meta
//! log. They must never run again with the folders they have; with empty ones they may join anew.

use crate::command::{self, Command, MetaCommand};
use crate::meta::{MetaState, NodeState};
use crate::mint;
use crate::start;
use bytes::Bytes;
use quorate_model::{Error, GroupId, NodeId, Result};
use quorate_raft::log::{Log, LogOptions};
use quorate_raft::recovery::{self, Survey};
use quorate_store::identity::DataFolder;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// What a recovery would do.
#[derive(Clone, Debug)]
pub struct RecoveryPlan {
    /// The application id, which confirms the plan.
    pub app_id: String,
    /// The name of the node of the folder.
    pub node: String,
    /// The names of all others: they are removed for good.
    pub others: Vec<String>,
    /// Why it cannot be carried out; empty = it can.
    pub obstacles: Vec<String>,
    groups: Vec<(GroupId, Survey)>,
}

/// A stopped node, opened to be recovered.
pub struct Recovery {
    log: Log,
    self_id: NodeId,
    others: Vec<NodeId>,
    plan: RecoveryPlan,
    _folder: DataFolder,
}

impl Recovery {
    /// Opens a data folder and finds out what a recovery would do. Changes nothing.
    ///
    /// Errors: the folder is in use, or cannot be read; the node alone makes up its installation.
    pub fn open(data_dir: &Path) -> Result<Recovery> {
        let identity = data_dir.join("raft");
        if !identity.exists() {
            return Err(Error::invalid(format!("{} is no data folder of a node", data_dir.display())));
        }
        let folder = DataFolder::open(data_dir)?;
        let self_id = start::node_number(&folder);
        let meta = start::read_meta(&folder)?;
        let log = Log::open(LogOptions::new(&folder.layout().raft())).map_err(failed)?;
        let others: Vec<NodeId> =
            meta.present_nodes().into_iter().map(|(id, _)| id).filter(|&id| id != self_id).collect();
        let plan = plan(&log, &meta, self_id, &others)?;
        Ok(Recovery { log, self_id, others, plan, _folder: folder })
    }
    /// What would be done.
    pub fn plan(&self) -> &RecoveryPlan {
        &self.plan
    }
    /// Carries the plan out when `confirm` is the application id. Errors: it is not, there are obstacles, or the log cannot
    /// be written; doing it again is possible then.
    pub fn carry_out(self, confirm: &str) -> Result<()> {
        if confirm != self.plan.app_id {
            return Err(Error::invalid(format!(
                "{confirm} is not the application id of this installation: nothing was changed"
            )));
        }
        if let Some(obstacle) = self.plan.obstacles.first() {
            return Err(Error::invalid(obstacle.clone()));
        }
        let time_ms = mint::unix_ms();
        let removals = self.others.iter().flat_map(|&node| {
            let removed = MetaCommand::SetNodeState { node, state: NodeState::Removed };
            command::entries(time_ms, Command::Meta(removed))
        });
        let removals: Vec<Bytes> = removals.map(Bytes::from).collect();
        // the meta group last: as long as it is not done, the node does not start to serve what is half done
        for (group, _) in self.plan.groups.iter().rev() {
            let entries = if *group == GroupId::META { removals.clone() } else { vec![] };
            recovery::go_on_alone(&self.log, *group, self.self_id.0, entries).map_err(failed)?;
        }
        Ok(())
    }
}

fn failed(error: quorate_raft::RaftError) -> Error {
    Error::internal(error.to_string())
}

fn plan(log: &Log, meta: &Arc<MetaState>, self_id: NodeId, others: &[NodeId]) -> Result<RecoveryPlan> {
    let name = |id: NodeId| meta.nodes.get(&id).map_or_else(|| id.to_string(), |row| row.name.clone());
    let Some(installation) = &meta.installation else {
        return Err(Error::invalid("this node has never been part of an installation"));
    };
    let (mut groups, mut obstacles) = (vec![], vec![]);
    for group in std::iter::once(GroupId::META).chain(meta.placement.keys().copied()) {
        match recovery::survey(log, group).map_err(failed)? {
            Some(survey) if survey.is_restoring => {
                obstacles.push(format!("group {group} was being copied here and is not whole: take another node"));
            }
            Some(survey) => groups.push((group, survey)),
            None => obstacles.push(format!(
                "this node has no replica of group {group}, so its indices would be lost: take a node that has one"
            )),
        }
    }
    let is_alone = |survey: &Survey| survey.voters == [self_id.0] && survey.learners.is_empty();
    if others.is_empty() && groups.iter().all(|(_, survey)| is_alone(survey)) {
        return Err(Error::invalid(
            "this node is the only one of its installation: there is nothing to recover",
        ));
    }
    Ok(RecoveryPlan {
        app_id: installation.app_id.clone(),
        node: name(self_id),
        others: others.iter().map(|&id| name(id)).collect(),
        obstacles,
        groups,
    })
}

impl RecoveryPlan {
    /// The plan for people: what would be done, what can be lost, how to confirm it.
    pub fn text(&self) -> String {
        let others = self.others.join(", ");
        let mut text = format!(
            "{} would go on as the only node of {}; {others} would be removed for good.\n\n\
             Do this only when the majority is lost for good. If the others can be started again, start them: nothing is\n\
             lost then. If several nodes are left, look at the plan on each and take the one whose logs are longest (the\n\
             highest term, then the highest last index); the rest join anew with empty folders.\n\n",
            self.node, self.app_id
        );
        writeln!(
            text,
            "{:<6} {:>10} {:>12} {:>12} {:>8}",
            "group", "term", "committed", "last index", "voters"
        )
        .expect("writing to a string");
        for (group, survey) in &self.groups {
            let name = if *group == GroupId::META { "meta".to_owned() } else { group.to_string() };
            let Survey { voters, term, committed, last, .. } = survey;
            writeln!(text, "{name:<6} {term:>10} {committed:>12} {last:>12} {:>8}", voters.len())
                .expect("writing to a string");
        }
        text.push_str(
            "\nWhat can be lost: every write that the others had and this node had not when it last heard of them. Such\n\
             writes were answered, and may have been published: nothing here shows which they are. Clients that wait for\n\
             their tasks may be told that they are published, or that they are not, for ever.\n\
             What can appear: writes at the end of a log above that were never answered.\n\
             What must never happen again: a start of one of the others with the folder it has.\n",
        );
        for obstacle in &self.obstacles {
            writeln!(text, "\nIt cannot be done: {obstacle}.").expect("writing to a string");
        }
        text
    }
}
