//! What the whole installation knows: which index a name stands for, the keys, the application id.
//!
//! [`MetaState`] is the state machine of the meta group. It is cheap to clone: every request reads an immutable copy.

mod admin_key;
mod announcements;
mod catalogue;
mod copies;
mod dictionaries;
mod digest;
mod index_limits;
mod indices;
mod keys;
mod level;
mod links;
#[cfg(test)]
mod log_of_tests;
mod node_rows;
mod nodes;
mod partitions;
mod reserved;
mod restore;
mod rows;
mod sources;
mod suggestions;
mod suggestions_row;
mod turns;
mod user_map;
mod users;

pub use admin_key::{Installation, KeyHistory, RetiredKey};
use arc_swap::ArcSwap;
pub use catalogue::{Catalogue, IndexRow, Link, Role, group_of};
pub use copies::COPIES_MAX;
pub use dictionaries::DictionaryChanges;
pub use index_limits::IndexLimits;
pub use indices::Tombstoned;
pub use keys::{DeletedKey, KeyDigest, KeyMap, Keys};
pub use links::too_many;
pub use nodes::{CLUSTERS_MAX, ClusterRow, META_VOTERS_MAX, NodeRow, NotAdmitted};
pub use quorate_model::SharedMap;
pub use reserved::{Reservation, Reserved};
pub use restore::RowError;
pub use rows::RowChange;
pub use suggestions_row::{BuildBegun, Built, SuggestionsRow};
pub use turns::{Side, Waiting};
pub use user_map::{UserMap, UserRow, UserState};
pub use users::{USERS_PER_COMMAND_MAX, Users};

use crate::command::{MetaCommand, Subject};
use catalogue::CatalogueChanged;
use level::LevelInForce;
use quorate_model::level::{DICTIONARIES_ACT, FIRST};
use quorate_model::{AllowedSources, GroupId, IndexName, NodeId};
use rows::StateTable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of the meta group after some entry of its log. Each field says itself which rows it lies in, and is listed below.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetaState {
    /// The installation; `None` before the first start.
    pub installation: Option<Arc<Installation>>,
    /// The admin keys before the one of the installation.
    pub key_history: Arc<KeyHistory>,
    /// Name to index.
    pub catalogue: Catalogue,
    /// Every key but the admin key.
    pub keys: Keys,
    /// Where calls may come from.
    pub sources: Arc<AllowedSources>,
    /// Incarnations that are being made for names.
    pub reserved: Reserved,
    /// Incarnations that no name stands for any more and that still hold files in their group.
    pub tombstoned: Tombstoned,
    /// What groups have to be told and may not have heard yet, with the meta log index of the decision.
    pub unannounced: SharedMap<Subject, u64>,
    /// Every node that ever joined.
    pub nodes: Arc<BTreeMap<NodeId, NodeRow>>,
    /// Every cluster.
    pub clusters: Arc<BTreeMap<String, ClusterRow>>,
    /// Where the replicas of each placement group are wanted.
    pub placement: Arc<BTreeMap<GroupId, Vec<NodeId>>>,
    /// Which cluster serves each user.
    pub users: Users,
    /// How suggestions indices are made.
    pub suggestions: Arc<BTreeMap<IndexName, Arc<SuggestionsRow>>>,
    /// Custom entries of dictionaries, and which standard ones are switched off.
    pub dictionaries: DictionaryChanges,
    /// The log index of the last command that changed the catalogue.
    catalogue_changed: CatalogueChanged,
    /// Who waits for a copy or a move to end.
    waiting: Option<Waiting>,
    /// See [`MetaState::level`].
    in_force: LevelInForce,
}

/// Lists the tables of the state; one that is missing does not compile.
macro_rules! tables {
    ($($table:ident)*) => {
        impl MetaState {
            fn tables(&self) -> Vec<&dyn StateTable> {
                let MetaState { $($table),* } = self;
                vec![$($table),*]
            }
            fn tables_mut(&mut self) -> Vec<&mut dyn StateTable> {
                let MetaState { $($table),* } = self;
                vec![$($table),*]
            }
        }
    };
}
tables! {
    installation key_history catalogue keys sources reserved tombstoned unannounced nodes clusters placement users suggestions
    dictionaries catalogue_changed waiting in_force
}

/// The meta state that requests read without a lock.
pub type SharedMeta = Arc<ArcSwap<MetaState>>;

/// The place and time of a command in the meta log.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Its log index.
    pub log_index: u64,
    /// Unix milliseconds, given by the proposer.
    pub time_ms: u64,
}

impl MetaState {
    /// The newest commands that may be proposed: every node knows them. It never falls, so a node that knows less cannot join.
    pub fn level(&self) -> u16 {
        self.in_force.0.max(FIRST)
    }
    /// Carries a command out and returns the rows that changed. A command that does not fit changes nothing.
    pub fn apply(&mut self, at: At, command: MetaCommand) -> Vec<RowChange> {
        let before = self.level();
        let watched = self.watched();
        let mut changes = self.carry_out(at, command);
        changes.extend(self.give_up_outdated(watched));
        if before < DICTIONARIES_ACT && !self.dictionaries.custom.is_empty() {
            // those from before act now, if this command has raised the level
            changes.extend(self.revise_dictionaries(at));
        }
        self.note_catalogue_changed(at, &mut changes);
        changes
    }

    fn carry_out(&mut self, at: At, command: MetaCommand) -> Vec<RowChange> {
        match command {
            MetaCommand::SetUp { app_id, admin_key, search_key } => {
                self.set_up(app_id, admin_key, &search_key)
            }
            MetaCommand::StartNode | MetaCommand::Compare => vec![],
            MetaCommand::SetAdminKey { admin_key } => self.set_admin_key(at, admin_key),
            MetaCommand::CreateIndex { name, group } => self.create_index(at, name, group),
            MetaCommand::DeleteIndex { name, incarnation } => self.delete_index(at, &name, incarnation),
            MetaCommand::MoveIndex { from, to, replicas } => self.move_index(at, &from, &to, &replicas),
            MetaCommand::BeginCopy { group } => self.reserve(at, group, None),
            MetaCommand::BeginReplica { name, group } => self.reserve(at, group, Some(name)),
            MetaCommand::PointIndex { name, incarnation, group } => {
                self.point_index(at, name, incarnation, group)
            }
            MetaCommand::AbandonCopy { incarnation } => self.abandon_copy(incarnation),
            MetaCommand::Dropped { incarnation } => self.dropped(incarnation),
            MetaCommand::SetReplicas { name, incarnation, replicas } => {
                self.set_replicas(at, &name, incarnation, &replicas)
            }
            MetaCommand::Announced { subject, revision } => self.announced(subject, revision),
            MetaCommand::PutKey { key } => self.put_key(&key),
            MetaCommand::DeleteKey { value } => self.delete_key(at, &value),
            MetaCommand::DeleteKeyOf { value, index } => self.delete_key_of(at, &value, &index),
            MetaCommand::CopyKeys { from, to } => self.copy_keys(&from, &to),
            MetaCommand::CreateKey { key } => self.create_key(at, &key),
            MetaCommand::UpdateKey { key } => self.update_key(at, &key),
            MetaCommand::RestoreKey { value } => self.restore_key(at, &value),
            MetaCommand::RemoveEndedKeys => self.remove_ended_keys(at),
            MetaCommand::AddNode { node, joining } => self.add_node(at.log_index, node, joining),
            MetaCommand::TakePlace { node, joining } => self.take_place(at.log_index, node, joining),
            MetaCommand::SetNodeState { node, state } => self.set_node_state(node, state),
            MetaCommand::Place { group, nodes } => self.place(at.log_index, group, nodes),
            MetaCommand::EnableUsers => self.enable_users(),
            MetaCommand::AssignUsers { cluster, users } => self.assign_users(at, cluster, users),
            MetaCommand::MoveUser { user, to } => self.move_user(user, to),
            MetaCommand::RemoveUser { user } => self.remove_user(user),
            MetaCommand::StepUser { user, epoch, step } => self.step_user(at, user, epoch, step),
            MetaCommand::Reannounce { group } => self.reannounce(at, group),
            MetaCommand::MakePartitions { name } => self.complete_partitions(at, &name, &[]),
            MetaCommand::RotateAdminKey { admin_key, replaces, overlap_ms } => {
                self.rotate_admin_key(at, admin_key, replaces, overlap_ms)
            }
            MetaCommand::StepUserAfterLook { user, epoch, step, looked } => match self.is_as_it_was(looked) {
                true => self.step_user(at, user, epoch, step),
                false => vec![],
            },
            MetaCommand::BeginCopies { groups } => self.begin_copies(at, &groups),
            MetaCommand::PointCopy { name, sources, copies } => self.point_copy(at, &name, &sources, &copies),
            MetaCommand::SetSources { sources } => self.set_sources(sources),
            MetaCommand::AppendSource { source } => self.append_source(source),
            MetaCommand::RemoveSource { source } => self.remove_source(&source),
            MetaCommand::ChangeDictionary { kind, clear, ops } => {
                self.change_dictionary(at, kind, clear, ops)
            }
            MetaCommand::SetStandardEntries { changes } => self.set_standard_entries(at, changes),
            MetaCommand::PutSuggestions { config, is_new } => self.put_suggestions(at, &config, is_new),
            MetaCommand::DeleteSuggestions { index } => self.delete_suggestions(&index),
            MetaCommand::AskForSuggestions { index } => self.ask_for_suggestions(at, index),
            MetaCommand::BeginSuggestions { index, node } => self.begin_suggestions(at, index, node),
            MetaCommand::EndSuggestions { index, begun_at, is_success, log } => {
                self.end_suggestions(at, index, begun_at, is_success, log)
            }
        }
    }
}

#[cfg(test)]
mod tests;
