//! How does a copy become an index, and how do copies and moves of users keep out of each other's way?
//!
//! A copy takes one partition of an index after another, each as it is at some moment. A user whose records go from one partition to
//! another meanwhile would be missing in it, or left behind. So no copy begins while a user's writes wait, nobody's writes begin
//! to wait while one is under way (`turns.rs`), and a user goes on to another cluster, or is done with one, when no copy is
//! under way that may have taken the records before. Who wants
//! that goes through the catalogue without holding anybody up and says in its command what it has looked at
//! ([`Looked`]); when the catalogue is another one by then, or a copy will make it so, the command has no effect.

use super::rows::RowChange;
use super::{At, IndexRow, MetaState, Role, Side};
use crate::command::{Copied, Looked, Source};
use quorate_model::{GroupId, IndexName, TaskId, level};
use quorate_node::ops::Incarnation;

/// Incarnations of one copy at most: one for each cluster, far below the numbers that a command has.
pub const COPIES_MAX: usize = 1_000;

impl MetaState {
    /// Notes whether these changes of the last command are of the catalogue.
    pub(super) fn note_catalogue_changed(&mut self, at: At, changes: &mut Vec<RowChange>) {
        if self.level() >= level::LOOKED && changes.iter().any(RowChange::is_of_index) {
            self.catalogue_changed.0 = at.log_index;
            changes.push(self.catalogue_changed.row());
        }
    }
    /// The log index of the last command that changed the catalogue; 0 before level 4 is in force.
    pub fn catalogue_changed(&self) -> u64 {
        self.catalogue_changed.0
    }
    /// Whether a copy that began up to this log index is under way.
    pub fn copies_since_before(&self, through: u64) -> bool {
        let last = TaskId::new(GroupId::META, through).0;
        self.reserved.keys().next().is_some_and(|&first| first <= last)
    }
    /// Whether there is no index, and will be none, that was not looked at.
    pub fn is_as_it_was(&self, Looked { changed, through }: Looked) -> bool {
        self.catalogue_changed() <= changed && !self.copies_since_before(through)
    }

    pub(super) fn reserve(&mut self, at: At, group: GroupId, replica: Option<IndexName>) -> Vec<RowChange> {
        vec![self.reserved.add(TaskId::new(GroupId::META, at.log_index).0, group, replica)]
    }

    pub(super) fn begin_copies(&mut self, at: At, groups: &[GroupId]) -> Vec<RowChange> {
        if groups.len() > COPIES_MAX {
            return vec![];
        }
        let mut changes = match self.take_turn(at, Side::Copies) {
            Ok(changes) => changes,
            Err(changes) => return changes,
        };
        let first = TaskId::new(GroupId::META, at.log_index).0;
        let reserved = (first..).zip(groups.iter().copied());
        changes.extend(reserved.map(|(incarnation, group)| self.reserved.add(incarnation, group, None)));
        changes
    }

    pub(super) fn point_index(
        &mut self,
        at: At,
        name: IndexName,
        incarnation: Incarnation,
        group: GroupId,
    ) -> Vec<RowChange> {
        let old = self.catalogue.get(&name);
        if old.is_some_and(|old| old.role != Role::Alone) {
            return vec![];
        }
        let created_ms = old.map_or(at.time_ms, |old| old.created_ms);
        if self.reserved.remove(&incarnation).is_none() {
            return vec![];
        }
        let row = IndexRow { incarnation, group, created_ms, role: Role::Alone };
        let mut changes = vec![RowChange::not_reserved(incarnation), RowChange::index(&name, &row)];
        if let Some(old) = self.catalogue.put(name.clone(), row) {
            changes.push(self.tombstone(old.incarnation, old.group));
        }
        changes.extend(self.complete_partitions(at, &name, &[]));
        changes
    }

    pub(super) fn abandon_copy(&mut self, incarnation: Incarnation) -> Vec<RowChange> {
        match self.reserved.remove(&incarnation) {
            Some(it) => vec![RowChange::not_reserved(incarnation), self.tombstone(incarnation, it.group)],
            None => vec![],
        }
    }

    pub(super) fn point_copy(
        &mut self,
        at: At,
        name: &IndexName,
        sources: &[Source],
        copies: &[Copied],
    ) -> Vec<RowChange> {
        let old = self.catalogue.get(name);
        let created_ms = old.map_or(at.time_ms, |old| old.created_ms);
        let is_there = |source: &Source| {
            self.catalogue.get(&source.name).is_some_and(|row| row.incarnation == source.incarnation)
        };
        let is_ready = |copied: &Copied| self.reserved.is_in(copied.incarnation, copied.group);
        if old.is_some_and(|old| old.role != Role::Alone)
            || !sources.iter().all(is_there)
            || !copies.iter().all(is_ready)
            || !copies.iter().any(|copied| copied.name == *name)
        {
            return vec![];
        }
        let mut changes = self.remove_partitions(name);
        for Copied { name, incarnation, group } in copies {
            self.reserved.remove(incarnation);
            let row = IndexRow { incarnation: *incarnation, group: *group, created_ms, role: Role::Alone };
            changes.extend([RowChange::not_reserved(*incarnation), RowChange::index(name, &row)]);
            if let Some(old) = self.catalogue.put(name.clone(), row) {
                changes.push(self.tombstone(old.incarnation, old.group));
            }
        }
        changes.extend(self.complete_partitions(at, name, &[]));
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::MetaCommand;
    use crate::command::UserStep;
    use crate::meta::UserState;
    use crate::meta::log_of_tests::Log;
    use quorate_model::UserId;

    impl Log {
        /// Two clusters whose nodes are at this level, the index `a`, and a user in the first cluster.
        fn new(level: u16) -> Log {
            let mut log = Log::default();
            log.join(1, "main", level);
            log.join(2, "west", level);
            log.put(MetaCommand::EnableUsers);
            log.put(MetaCommand::CreateIndex { name: name("a"), group: GroupId(3) });
            log.put(MetaCommand::AssignUsers { cluster: 0, users: vec![user()] });
            log
        }
        /// Returns the task id.
        fn put(&mut self, command: MetaCommand) -> Incarnation {
            self.step(0, command);
            TaskId::new(GroupId::META, self.log_index).0
        }
        fn freeze(&mut self) {
            self.put(MetaCommand::MoveUser { user: user(), to: 1 });
            let epoch = self.row().1;
            self.put(MetaCommand::StepUser { user: user(), epoch, step: UserStep::Freeze });
        }
        fn flip(&mut self, looked: Looked) {
            let (epoch, step) = (self.row().1, UserStep::Flip);
            self.put(MetaCommand::StepUserAfterLook { user: user(), epoch, step, looked });
        }
        fn row(&self) -> (UserState, u64) {
            let row = self.state.users.map.get(&user()).expect("assigned");
            (row.state, row.epoch)
        }
        fn has_moved(&self) -> bool {
            self.row().0 == UserState::Landing { from: 0 }
        }
        fn looked(&self) -> Looked {
            Looked { changed: self.state.catalogue_changed(), through: self.log_index }
        }
        fn lives(&self, index: &str) -> [Option<Incarnation>; 2] {
            let names = [name(index), name(index).partition_in(1).expect("a partition")];
            names.map(|name| self.state.catalogue.get(&name).map(|row| row.incarnation))
        }
        fn sources(&self) -> Vec<Source> {
            let life = |partition: IndexName| {
                let incarnation = self.state.catalogue.get(&partition)?.incarnation;
                Some(Source { name: partition, incarnation })
            };
            [name("a"), name("a").partition_in(1).expect("a partition")]
                .into_iter()
                .filter_map(life)
                .collect()
        }
    }
    fn name(text: &str) -> IndexName {
        IndexName::new(text).expect("valid")
    }
    fn user() -> UserId {
        UserId::new("u").expect("valid")
    }

    #[test]
    fn a_user_goes_on_when_every_index_was_looked_at() {
        let mut log = Log::new(level::NEWEST);
        log.freeze();
        let looked = log.looked();
        log.put(MetaCommand::StartNode);
        log.flip(looked);
        assert!(log.has_moved(), "nothing has changed");
        for change in [
            MetaCommand::CreateIndex { name: name("b"), group: GroupId(3) },
            MetaCommand::MoveIndex { from: name("a"), to: name("b"), replicas: vec![] },
            MetaCommand::DeleteIndex { name: name("a"), incarnation: TaskId::new(GroupId::META, 4).0 },
            MetaCommand::SetReplicas {
                name: name("a"),
                incarnation: TaskId::new(GroupId::META, 4).0,
                replicas: vec![crate::command::WantedReplica {
                    name: name("r"),
                    kind: quorate_node::ops::ReplicaKind::Standard,
                    prepared: None,
                }],
            },
        ] {
            let mut log = Log::new(level::NEWEST);
            log.freeze();
            let looked = log.looked();
            log.put(change.clone());
            log.flip(looked);
            assert!(!log.has_moved(), "{change:?}");
            log.flip(log.looked());
            assert!(log.has_moved(), "{change:?}");
        }
    }

    #[test]
    fn a_user_goes_on_when_no_copy_is_under_way_that_may_lack_something() {
        let mut log = Log::new(level::NEWEST);
        let before = log.put(MetaCommand::BeginCopies { groups: vec![GroupId(3)] });
        log.freeze();
        assert_eq!(log.row().0, UserState::Copying { to: 1 }, "writes do not wait for a copy");
        log.put(MetaCommand::AbandonCopy { incarnation: before });
        log.freeze();
        assert_eq!(log.row().0, UserState::Frozen { to: 1 });
        let refused = log.put(MetaCommand::BeginCopies { groups: vec![GroupId(3)] });
        assert!(!log.state.reserved.contains_key(&refused), "writes of a user wait");
        // what is prepared for replicas
        let before = log.put(MetaCommand::BeginCopy { group: GroupId(3) });
        log.flip(log.looked());
        assert!(!log.has_moved(), "a copy is under way");
        log.put(MetaCommand::AbandonCopy { incarnation: before });
        log.flip(log.looked());
        assert!(log.has_moved());
        // what began after the look takes what was done
        let looked = log.looked();
        let later = log.put(MetaCommand::BeginCopies { groups: vec![GroupId(3), GroupId(4)] });
        assert_eq!(log.state.reserved.len(), 2);
        assert!(log.state.reserved.contains_key(&later), "writes go on when they have landed");
        assert!(log.state.is_as_it_was(looked));
        assert!(!log.state.is_as_it_was(log.looked()));
    }

    #[test]
    fn before_the_level_nothing_is_refused_and_no_row_is_written() {
        let mut log = Log::new(level::LOOKED - 1);
        log.freeze();
        let begun = log.put(MetaCommand::BeginCopy { group: GroupId(3) });
        assert!(log.state.reserved.contains_key(&begun));
        assert_eq!(log.state.catalogue_changed(), 0);
        assert!(!log.rows.keys().any(|key| key[0] == b'c'), "older programs cannot read it");
    }

    #[test]
    fn the_parts_of_a_copy_come_together_or_not_at_all() {
        let begun = |log: &mut Log| {
            log.put(MetaCommand::CreateIndex { name: name("b"), group: GroupId(5) });
            [GroupId(3), GroupId(20)].map(|group| (log.put(MetaCommand::BeginCopy { group }), group))
        };
        let point = |log: &Log, [own, partition]: [(Incarnation, GroupId); 2]| {
            let copied = |name: IndexName, (incarnation, group)| Copied { name, incarnation, group };
            let copies = vec![
                copied(name("b"), own),
                copied(name("b").partition_in(1).expect("a partition"), partition),
            ];
            MetaCommand::PointCopy { name: name("b"), sources: log.sources(), copies }
        };
        let mut log = Log::new(level::NEWEST);
        let ready = begun(&mut log);
        let old = log.lives("b");
        log.put(point(&log, ready));
        assert_eq!(log.lives("b"), ready.map(|(life, _)| Some(life)));
        assert!(log.state.reserved.is_empty());
        assert!(old.into_iter().flatten().all(|life| log.state.tombstoned.contains_key(&life)));

        // a source that is another one by now
        let mut log = Log::new(level::NEWEST);
        let ready = begun(&mut log);
        let (old, command) = (log.lives("b"), point(&log, ready));
        log.put(MetaCommand::DeleteIndex { name: name("a"), incarnation: TaskId::new(GroupId::META, 4).0 });
        log.put(MetaCommand::CreateIndex { name: name("a"), group: GroupId(3) });
        log.put(command);
        assert_eq!(log.lives("b"), old);
        assert_eq!(log.state.reserved.len(), 2, "for its caller to give up");

        // a partition that was given up
        let mut log = Log::new(level::NEWEST);
        let ready = begun(&mut log);
        let old = log.lives("b");
        log.put(MetaCommand::AbandonCopy { incarnation: ready[1].0 });
        log.put(point(&log, ready));
        assert_eq!(log.lives("b"), old);
    }

    #[test]
    fn a_copy_of_nothing_leaves_no_part_of_what_was_there() {
        let mut log = Log::new(level::NEWEST);
        let old = log.lives("a");
        let incarnation = log.put(MetaCommand::BeginCopy { group: GroupId(3) });
        let copies = vec![Copied { name: name("a"), incarnation, group: GroupId(3) }];
        log.put(MetaCommand::PointCopy { name: name("a"), sources: vec![], copies });
        let [own, partition] = log.lives("a");
        assert_eq!(own, Some(incarnation));
        assert!(partition.is_some() && partition != old[1], "a new partition that is empty");
    }
}
