//! What waits for the writer of the log, and which cuts among it can be made before everything else?

use crate::effects::{Persist, SnapshotChange};
use quorate_model::GroupId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Bytes of one batch; a write that is larger goes alone.
const BATCH_BYTES: usize = 32 << 20;

/// Writes in the order in which they become durable.
#[derive(Default)]
pub(crate) struct Queue {
    writes: VecDeque<Persist>,
    /// Whether there were cuts among what was taken since the writer asked last.
    pub(crate) has_cut: bool,
    pub(crate) is_stopping: bool,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
    pub(crate) fn push(&mut self, persist: Persist) {
        self.writes.push_back(persist);
    }
    /// Takes what waits, up to the size of a batch.
    pub(crate) fn take(&mut self) -> Vec<Persist> {
        let mut bytes = 0;
        let mut taken = Vec::new();
        while let Some(next) = self.writes.front().map(Persist::bytes) {
            if !taken.is_empty() && bytes + next > BATCH_BYTES {
                break;
            }
            bytes += next;
            taken.extend(self.writes.pop_front());
        }
        self.has_cut |= taken.iter().any(|write| write.truncated.is_some());
        taken
    }

    /// The cuts of `head`, which waits for room, and of all that waits behind it: one write for each group, through the last entry
    /// that any of them cuts. They may come first, because only entries are cut that are applied here and durable, in a log as it
    /// stands now: a snapshot that waits begins another one. That a snapshot was restored goes with what is cut behind it: a
    /// log that begins behind a snapshot which counts as not restored looks like one without a state.
    pub(crate) fn cuts(&self, head: &[Persist]) -> Vec<Persist> {
        let mut cuts: BTreeMap<GroupId, Persist> = BTreeMap::new();
        let mut replaced = BTreeSet::new();
        for write in head.iter().chain(&self.writes) {
            if ends_the_log(write) {
                replaced.insert(write.group);
            }
            if replaced.contains(&write.group) {
                continue;
            }
            let cut = cuts.entry(write.group).or_insert_with(|| Persist::new(write.group, 0));
            cut.truncated = [cut.truncated, write.truncated].into_iter().flatten().max_by_key(|at| at.index);
            if matches!(write.snapshot, SnapshotChange::Done) {
                cut.snapshot = SnapshotChange::Done;
            }
        }
        cuts.into_values().filter(|cut| cut.truncated.is_some()).collect()
    }

    /// Takes cuts that are durable out of the writes that had them: a later one would be undone by an earlier one.
    pub(crate) fn forget(&mut self, head: &mut [Persist], cuts: &[Persist]) {
        self.has_cut |= !cuts.is_empty();
        for cut in cuts {
            let of_group = head.iter_mut().chain(&mut self.writes).filter(|write| write.group == cut.group);
            for write in of_group.take_while(|write| !ends_the_log(write)) {
                let through = cut.truncated.map_or(0, |at| at.index);
                write.truncated.take_if(|at| at.index <= through);
                if matches!((&write.snapshot, &cut.snapshot), (SnapshotChange::Done, SnapshotChange::Done)) {
                    write.snapshot = SnapshotChange::Keep;
                }
            }
        }
    }
}

/// Whether another log takes the place of the one there is.
fn ends_the_log(write: &Persist) -> bool {
    match write.snapshot {
        SnapshotChange::Install(_) | SnapshotChange::Leave(_) => true,
        SnapshotChange::Keep | SnapshotChange::Done => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::Position;

    fn write(group: u16, fill: impl FnOnce(&mut Persist)) -> Persist {
        let mut persist = Persist::new(GroupId(group), 1);
        fill(&mut persist);
        persist
    }
    fn cut(group: u16, index: u64) -> Persist {
        write(group, |it| it.truncated = Some(Position { index, term: 1 }))
    }
    fn done(group: u16) -> Persist {
        write(group, |it| it.snapshot = SnapshotChange::Done)
    }
    fn install(group: u16) -> Persist {
        write(group, |it| it.snapshot = SnapshotChange::Install(Box::default()))
    }
    fn leave(group: u16) -> Persist {
        write(group, |it| it.snapshot = SnapshotChange::Leave(Position::default()))
    }
    fn shown(writes: &[Persist]) -> Vec<(u16, u64, bool)> {
        let is_done = |it: &Persist| matches!(it.snapshot, SnapshotChange::Done);
        writes.iter().map(|it| (it.group.0, it.truncated.map_or(0, |at| at.index), is_done(it))).collect()
    }

    #[test]
    fn the_cuts_of_the_log_that_is_there_come_first_and_none_is_undone() {
        // head, what waits → cuts, what is left of head and of what waits
        type Shown = Vec<(u16, u64, bool)>;
        let cases: Vec<(Vec<Persist>, Vec<Persist>, Shown, Shown, Shown)> = vec![
            (vec![write(1, |_| {})], vec![], vec![], vec![(1, 0, false)], vec![]),
            (
                vec![cut(1, 5), write(2, |_| {})],
                vec![cut(2, 7), cut(1, 9), cut(2, 8)],
                vec![(1, 9, false), (2, 8, false)],
                vec![(1, 0, false), (2, 0, false)],
                vec![(2, 0, false), (1, 0, false), (2, 0, false)],
            ),
            // what is cut behind a snapshot that waits is of another log
            (
                vec![cut(1, 5)],
                vec![install(1), cut(1, 900), leave(2), cut(2, 1), cut(3, 4)],
                vec![(1, 5, false), (3, 4, false)],
                vec![(1, 0, false)],
                vec![(1, 0, false), (1, 900, false), (2, 0, false), (2, 1, false), (3, 0, false)],
            ),
            // one that was restored goes with the cut behind it, and not without one
            (
                vec![write(1, |_| {})],
                vec![done(1), cut(1, 6), done(2)],
                vec![(1, 6, true)],
                vec![(1, 0, false)],
                vec![(1, 0, false), (1, 0, false), (2, 0, true)],
            ),
        ];
        for (number, (mut head, waits, cuts, head_left, left)) in cases.into_iter().enumerate() {
            let mut queue = Queue::default();
            waits.into_iter().for_each(|it| queue.writes.push_back(it));
            let found = queue.cuts(&head);
            assert_eq!(shown(&found), cuts, "{number}");
            queue.forget(&mut head, &found);
            assert_eq!(shown(&head), head_left, "{number}");
            assert_eq!(shown(queue.writes.make_contiguous()), left, "{number}");
            assert!(queue.cuts(&head).is_empty(), "{number}");
        }
    }

    #[test]
    fn a_later_cut_stays_when_an_earlier_one_is_durable() {
        let mut queue = Queue::default();
        queue.push(cut(1, 5));
        let cuts = queue.cuts(&[]);
        queue.writes.push_back(cut(1, 6));
        queue.forget(&mut [], &cuts);
        assert_eq!(shown(queue.writes.make_contiguous()), [(1, 0, false), (1, 6, false)]);
    }
}
