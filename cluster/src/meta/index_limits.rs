//! Is there room for another index, in its group and in the installation?

use super::MetaState;
use crate::command::MetaCommand;
use quorate_model::{Error, GroupId, Result, limits};

/// How many indices there may be. What is over it when it is lowered stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLimits {
    /// In one group, copies that are being made included.
    pub of_group: usize,
    /// In the installation, copies that are being made included.
    pub of_installation: usize,
}

impl Default for IndexLimits {
    fn default() -> Self {
        IndexLimits { of_group: limits::INDICES_OF_GROUP_MAX, of_installation: limits::INDICES_MAX }
    }
}

impl IndexLimits {
    /// Whether a command may be proposed on this state. Commands that are proposed at the same moment may each find the last
    /// room. Errors: `Invalid`.
    pub fn check(&self, meta: &MetaState, command: &MetaCommand) -> Result<()> {
        if !command.row().makes_indices {
            return Ok(());
        }
        let new = new_in(meta, command);
        if new.is_empty() {
            return Ok(());
        }
        let there = meta.catalogue.len() + meta.reserved.len();
        if there + new.len() > self.of_installation {
            let most = self.of_installation;
            return Err(too_many(&format!("the installation has {there} of at most {most}")));
        }
        for group in &new {
            let copies = meta.reserved.values().filter(|it| it.group == *group).count();
            let there = meta.catalogue.count_of(*group) + copies;
            if there + new.iter().filter(|it| *it == group).count() > self.of_group {
                let most = self.of_group;
                return Err(too_many(&format!(
                    "group {group}, which its name falls to, has {there} of at most {most}"
                )));
            }
        }
        Ok(())
    }
}

fn too_many(reason: &str) -> Error {
    let expected = format!("the name of an index that there is: {reason} indices; delete some first");
    Error::parameter("indexName", &expected)
}

/// The groups that get another index by a command, one entry for each.
fn new_in(meta: &MetaState, command: &MetaCommand) -> Vec<GroupId> {
    match command {
        MetaCommand::CreateIndex { name, group } => match meta.catalogue.get(name) {
            Some(_) => vec![],
            None => vec![*group],
        },
        MetaCommand::BeginCopy { group } | MetaCommand::BeginReplica { name: _, group } => vec![*group],
        MetaCommand::BeginCopies { groups } => groups.clone(),
        MetaCommand::SetReplicas { name, replicas, .. } => {
            let Some(primary) = meta.catalogue.get(name) else { return vec![] };
            // one that is prepared was counted when its copy began
            let new =
                replicas.iter().filter(|it| it.prepared.is_none() && meta.catalogue.get(&it.name).is_none());
            new.map(|_| primary.group).collect()
        }
        // their rows say that they make none
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::WantedReplica;
    use crate::meta::{IndexRow, Role};
    use quorate_model::IndexName;
    use quorate_node::ops::ReplicaKind;

    fn name(text: &str) -> IndexName {
        IndexName::new(text).expect("valid")
    }

    /// Group 1 has two indices and a copy that is being made, group 2 has one index.
    fn state() -> MetaState {
        let mut state = MetaState::default();
        for (index, group) in [("a", 1), ("b", 1), ("c", 2)] {
            let row = IndexRow { incarnation: 1, group: GroupId(group), created_ms: 0, role: Role::Alone };
            state.catalogue.put(name(index), row);
        }
        state.reserved.add(9, GroupId(1), None);
        state
    }

    #[test]
    fn what_makes_an_index_needs_room_in_its_group_and_in_the_installation() {
        let create =
            |index: &str, group| MetaCommand::CreateIndex { name: name(index), group: GroupId(group) };
        let copies = |groups: &[u16]| MetaCommand::BeginCopies {
            groups: groups.iter().map(|it| GroupId(*it)).collect(),
        };
        let replicas = |of: &str, names: &[(&str, Option<u64>)]| MetaCommand::SetReplicas {
            name: name(of),
            incarnation: 1,
            replicas: names
                .iter()
                .map(|(index, prepared)| WantedReplica {
                    name: name(index),
                    kind: ReplicaKind::Standard,
                    prepared: *prepared,
                })
                .collect(),
        };
        let cases = [
            (create("new", 2), 3, 5, true),
            (create("new", 1), 3, 5, false),
            (create("new", 2), 3, 4, false),
            // those that are there take no room
            (create("a", 1), 3, 4, true),
            (copies(&[2, 2]), 3, 6, true),
            (copies(&[2, 2, 2]), 3, 7, false),
            (copies(&[2, 2]), 3, 5, false),
            (MetaCommand::BeginCopy { group: GroupId(1) }, 3, 9, false),
            (MetaCommand::BeginCopy { group: GroupId(2) }, 3, 9, true),
            (MetaCommand::BeginReplica { name: name("a"), group: GroupId(1) }, 3, 9, false),
            (MetaCommand::BeginReplica { name: name("a"), group: GroupId(2) }, 3, 9, true),
            (replicas("c", &[("r", None), ("s", None)]), 3, 6, true),
            (replicas("c", &[("r", None), ("s", None), ("t", None)]), 3, 7, false),
            (replicas("a", &[("r", Some(9))]), 3, 4, true),
            (replicas("a", &[("c", None)]), 3, 4, true),
            (MetaCommand::DeleteIndex { name: name("a"), incarnation: 1 }, 0, 0, true),
        ];
        for (command, of_group, of_installation, is_taken) in cases {
            let found = IndexLimits { of_group, of_installation }.check(&state(), &command);
            assert_eq!(found.is_ok(), is_taken, "{command:?} {found:?}");
        }
    }
}
