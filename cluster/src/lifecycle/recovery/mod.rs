//! How an installation goes on with those nodes that are left when the majority is lost for good: `quorate cluster recover`,
//! on stopped nodes.
//!
//! Each survivor says what it has; from all that follows one plan, and each survivor carries its own share of it out. Every
//! group goes on with one member, whose log is the longest, and all nodes that are not among the survivors are noted as
//! removed in the meta log. They must never run again with the folders they have; with empty ones they may join anew.

mod plan;

pub use plan::{NodeSurvey, RecoveryPlan};

use crate::clock;
use crate::command::NodeState;
use crate::command::{self, Command, MetaCommand};
use crate::groups::{damage, kept};
use crate::meta::{IndexRow, MetaState};
use bytes::Bytes;
use plan::{Future, KnownNode};
use quorate_model::{Error, GroupId, IndexName, NodeId, Result};
use quorate_raft::log::{Log, LogOptions};
use quorate_raft::recovery::{self, Survey};
use quorate_store::identity::DataFolder;
use quorate_store::incoming::Incoming;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A stopped node, opened to be recovered.
pub struct Recovery {
    log: Log,
    meta: Arc<MetaState>,
    survey: NodeSurvey,
    plan: RecoveryPlan,
    _folder: DataFolder,
}

/// Whether what is in groups that no survivor has may be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It may.
    Accepted,
    /// Nothing is done if there are such groups.
    Refused,
}

impl Recovery {
    /// Opens a data folder and finds out what a recovery would do with the nodes that `surveys` are of; without any, with
    /// this node alone. Changes nothing. Cost: without surveys all files of indices are read.
    ///
    /// Errors: the folder is in use, or cannot be read; the surveys do not fit together, or with the folder; there is nothing
    /// to recover.
    pub fn open(data_dir: &Path, surveys: Vec<NodeSurvey>) -> Result<Recovery> {
        let mut opened = Opened::at(data_dir)?;
        let surveys = match surveys.is_empty() {
            true => vec![opened.look_at_files()?.clone()],
            false => surveys,
        };
        let Opened { log, meta, survey, folder } = opened;
        let mut plan = RecoveryPlan::of(&surveys)?;
        let Some(shown) = surveys.iter().find(|it| it.node == survey.node) else {
            return Err(Error::invalid(
                "no survey of this node is among those given: all survivors must be shown the same ones",
            ));
        };
        is_unchanged(&plan, shown, &survey)?;
        let emptied: BTreeSet<GroupId> = plan.emptied().map(|(group, _)| group).collect();
        let lost = meta.catalogue.iter().filter(|(_, row)| emptied.contains(&row.group));
        plan.lost_indices = lost.map(|(name, _)| name.to_string()).collect();
        plan.lost_indices.sort();
        Ok(Recovery { log, meta, survey, plan, _folder: folder })
    }
    /// What a stopped node has. Changes nothing. Errors: the folder is in use, or cannot be read. Cost: all files of indices are
    /// read.
    pub fn survey(data_dir: &Path) -> Result<NodeSurvey> {
        Opened::at(data_dir)?.look_at_files().cloned()
    }
    /// What would be done.
    pub fn plan(&self) -> &RecoveryPlan {
        &self.plan
    }
    /// Carries this node's share of the plan out when `confirm` is the application id. Errors: it is not, there are losses
    /// that are not accepted, or the log cannot be written; doing it again is possible then.
    pub fn carry_out(self, confirm: &str, loss: Loss) -> Result<()> {
        if confirm != self.plan.app_id {
            return Err(Error::invalid(format!(
                "{confirm} is not the application id of this installation: nothing was changed"
            )));
        }
        if loss == Loss::Refused && self.plan.emptied().next().is_some() {
            return Err(Error::invalid(
                "there are groups that no survivor has, and what is in them would be lost: nothing was changed. Let more \
                 survivors take part with --survey, or accept the loss with --lose-groups",
            ));
        }
        // the meta group last: as long as it is not done, the node does not start to serve what is half done
        for (&group, future) in self.plan.groups.iter().rev() {
            self.carry_on(group, future).map_err(failed)?;
        }
        Ok(())
    }
    fn carry_on(&self, group: GroupId, future: &Future) -> std::result::Result<(), quorate_raft::RaftError> {
        let (log, own) = (&self.log, self.survey.node);
        match (future, self.survey.replicas.get(&group)) {
            (Future::With { leader, survey }, Some(replica)) => {
                let entries = if group == GroupId::META { self.noted() } else { vec![] };
                recovery::hand_to(log, group, (own.0, replica), (leader.0, survey.last), entries)
            }
            (Future::Empty { founder }, _) if *founder == own => recovery::found_anew(log, group, own.0),
            (Future::With { .. } | Future::Empty { .. } | Future::Lost, _) => Ok(()),
        }
    }
    /// What goes into the meta log: who is removed, which indices are lost, and where groups are made anew.
    fn noted(&self) -> Vec<Bytes> {
        let removed = self.plan.removed.keys();
        let removed = removed.map(|&node| MetaCommand::SetNodeState { node, state: NodeState::Removed });
        let emptied: BTreeSet<GroupId> = self.plan.emptied().map(|(group, _)| group).collect();
        // one that has parts in other clusters goes on without what it lost
        let is_lost = |row: &IndexRow, name: &IndexName| {
            emptied.contains(&row.group) && self.meta.other_partitions(name).is_empty()
        };
        let lost = self.meta.catalogue.named().into_iter().filter_map(|name| {
            let row = self.meta.catalogue.get(&name).filter(|row| is_lost(row, &name))?;
            Some((row.primary().is_some(), MetaCommand::DeleteIndex { name, incarnation: row.incarnation }))
        });
        let mut lost: Vec<(bool, MetaCommand)> = lost.collect();
        // a replica can be deleted when its primary is gone
        lost.sort_by_key(|(is_replica, _)| *is_replica);
        let lost = lost.into_iter().map(|(_, command)| command);
        // a group that is made anew does not know what follows what
        let told = emptied.iter().filter(|_| self.meta.partitions_follow());
        let told = told.map(|&group| MetaCommand::Reannounce { group });
        let made =
            self.plan.emptied().map(|(group, founder)| MetaCommand::Place { group, nodes: vec![founder] });
        let time_ms = clock::unix_ms();
        let entries = removed
            .chain(lost)
            .chain(told)
            .chain(made)
            .flat_map(|it| command::entries(time_ms, Command::Meta(it)));
        entries.map(Bytes::from).collect()
    }
}

/// A stopped node, as it is found.
struct Opened {
    log: Log,
    meta: Arc<MetaState>,
    survey: NodeSurvey,
    folder: DataFolder,
}

impl Opened {
    fn at(data_dir: &Path) -> Result<Opened> {
        if !damage::has_log(data_dir)? {
            return Err(Error::invalid(format!("{} is no data folder of a node", data_dir.display())));
        }
        let folder = DataFolder::open(data_dir)?;
        let (meta, applied) = kept::read_state(&folder)?;
        let log = Log::open(LogOptions::new(&folder.layout().raft())).map_err(failed)?;
        let Some(installation) = &meta.installation else {
            return Err(Error::invalid("this node has never been part of an installation"));
        };
        let known = |(id, row): (NodeId, &crate::meta::NodeRow)| {
            (id, KnownNode { name: row.name.clone(), cluster: row.cluster.clone() })
        };
        let clusters = meta.clusters.keys().map(|name| (name.clone(), meta.groups_of(name)));
        let mut survey = NodeSurvey {
            app_id: installation.app_id.clone(),
            node: kept::node_number(&folder),
            nodes: meta.present_nodes().into_iter().map(known).collect(),
            clusters: clusters.collect(),
            replicas: [].into(),
            leftovers: [].into(),
            partial: [].into(),
        };
        let groups: Vec<GroupId> = survey.clusters.values().flatten().copied().collect();
        for group in std::iter::once(GroupId::META).chain(groups) {
            let applied = applied.get(&group).copied().unwrap_or_default();
            if let Some(replica) = recovery::survey(&log, group, applied).map_err(failed)? {
                survey.replicas.insert(group, replica);
            } else if applied > 0 {
                survey.leftovers.insert(group);
            }
        }
        Ok(Opened { log, meta, survey, folder })
    }
    /// Adds to the survey of which groups the node has part only: files are damaged, or a state is on its way that was to take the
    /// place of such files. Cost: all files of indices are read.
    fn look_at_files(&mut self) -> Result<&NodeSurvey> {
        let (groups, layout) = (self.survey.replicas.keys().copied(), self.folder.layout());
        self.survey.partial = kept::read_damage(&self.folder, groups.clone())?;
        for group in groups {
            if !Incoming::of_group(layout, group)?.is_empty() {
                self.survey.partial.entry(group).or_insert_with(|| plan::STATE_ON_ITS_WAY.to_owned());
            }
        }
        Ok(&self.survey)
    }
}

/// Whether a node is as it was when its survey was made, but for what this recovery has done to it already.
fn is_unchanged(plan: &RecoveryPlan, shown: &NodeSurvey, found: &NodeSurvey) -> Result<()> {
    let is_done = |group: &GroupId, survey: Option<&Survey>| match plan.groups.get(group) {
        Some(Future::With { leader, .. } | Future::Empty { founder: leader }) => {
            survey.is_none_or(|it| it.voters == [leader.0] && it.learners.is_empty())
        }
        Some(Future::Lost) | None => false,
    };
    let groups: BTreeSet<&GroupId> = shown.replicas.keys().chain(found.replicas.keys()).collect();
    let has_changed = |group: &&GroupId| {
        let now = found.replicas.get(*group);
        shown.replicas.get(*group) != now && !is_done(group, now)
    };
    match groups.into_iter().find(has_changed) {
        Some(group) => Err(Error::invalid(format!(
            "this node has run since its survey was made (group {group}): make all surveys again"
        ))),
        None => Ok(()),
    }
}

fn failed(error: quorate_raft::RaftError) -> Error {
    Error::internal(error.to_string())
}
