//! What waits for the writer of the log, how much of it, and which cuts among it can be made before everything else?

use crate::effects::{Persist, SnapshotChange, persisted_bytes};
use quorate_model::GroupId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Bytes of one batch; a write that is larger goes alone.
const BATCH_BYTES: usize = 32 << 20;

/// Writes in the order in which they become durable.
///
/// They are few however long they wait: a write becomes part of the last one of its group, unless both would be larger than a batch
/// or one of them changes the snapshot. So of any two writes of a group that follow each other one changes the snapshot, or both
/// together are larger than a batch. A group waits for its snapshots one at a time, and bounds the bytes that it hands in
/// (`core/waiting.rs`).
#[derive(Default)]
pub(crate) struct Queue {
    writes: VecDeque<Waiting>,
    /// Whether there were cuts among what was taken since the writer asked last.
    pub(crate) has_cut: bool,
    pub(crate) is_stopping: bool,
}

struct Waiting {
    write: Persist,
    bytes: usize,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
    /// How many writes wait.
    pub(crate) fn len(&self) -> usize {
        self.writes.len()
    }
    /// Adds a write behind those of its group. Cost: a look at each that waits.
    pub(crate) fn push(&mut self, write: Persist) {
        let bytes = write.bytes();
        match self.writes.iter_mut().rev().find(|last| last.write.group == write.group) {
            Some(last) if last.takes(&write, bytes) => last.join(write, bytes),
            Some(_) | None => self.writes.push_back(Waiting { write, bytes }),
        }
    }
    /// Takes what waits, up to the size of a batch.
    pub(crate) fn take(&mut self) -> Vec<Persist> {
        let mut bytes = 0;
        let mut taken = Vec::new();
        while let Some(next) =
            self.writes.pop_front_if(|next| taken.is_empty() || bytes + next.bytes <= BATCH_BYTES)
        {
            bytes += next.bytes;
            taken.push(next.write);
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
        for write in head.iter().chain(self.writes.iter().map(|waiting| &waiting.write)) {
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
            let waiting = self.writes.iter_mut().map(|waiting| &mut waiting.write);
            let of_group = head.iter_mut().chain(waiting).filter(|write| write.group == cut.group);
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

impl Waiting {
    /// Whether one write can do what this one and the next of its group do.
    fn takes(&self, next: &Persist, bytes: usize) -> bool {
        let keeps = |write: &Persist| matches!(write.snapshot, SnapshotChange::Keep);
        keeps(&self.write) && keeps(next) && self.bytes + bytes <= BATCH_BYTES
    }
    /// Does what the next write does, too.
    fn join(&mut self, next: Persist, bytes: usize) {
        let Persist { group: _, seq, hard_state, entries, conf, truncated, snapshot: _, identity } = next;
        let last = &mut self.write;
        last.seq = seq;
        last.hard_state = hard_state.or(last.hard_state.take());
        last.conf = conf.or(last.conf.take());
        last.truncated = truncated.or(last.truncated);
        last.identity = identity.or(last.identity);
        if let Some(first) = entries.first() {
            let kept = last.entries.partition_point(|entry| entry.index < first.index);
            self.bytes -= last.entries.drain(kept..).map(|entry| persisted_bytes(&entry)).sum::<usize>();
        }
        last.entries.extend(entries);
        self.bytes += bytes;
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
    use crate::core::Stored;
    use crate::effects::Position;
    use crate::memory::MemoryLog;
    use quorate_model::chance::Chance;
    use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};

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
            let mut queue = of_each(waits);
            let found = queue.cuts(&head);
            assert_eq!(shown(&found), cuts, "{number}");
            queue.forget(&mut head, &found);
            assert_eq!(shown(&head), head_left, "{number}");
            assert_eq!(shown(&left_in(&queue)), left, "{number}");
            assert!(queue.cuts(&head).is_empty(), "{number}");
        }
    }

    #[test]
    fn a_later_cut_stays_when_an_earlier_one_is_durable() {
        let mut queue = Queue::default();
        queue.push(cut(1, 5));
        let cuts = queue.cuts(&[]);
        queue.push(cut(1, 6));
        queue.forget(&mut [], &cuts);
        assert_eq!(shown(&left_in(&queue)), [(1, 6, false)]);
    }

    /// Writes that wait each for itself.
    fn of_each(writes: Vec<Persist>) -> Queue {
        let writes = writes.into_iter().map(|write| Waiting { bytes: write.bytes(), write }).collect();
        Queue { writes, ..Queue::default() }
    }
    fn left_in(queue: &Queue) -> Vec<Persist> {
        queue.writes.iter().map(|waiting| waiting.write.clone()).collect()
    }
    fn entries(group: u16, range: std::ops::RangeInclusive<u64>, term: u64, bytes: usize) -> Persist {
        let data = bytes::Bytes::from(vec![b'x'; bytes]);
        let of = |index| Entry { index, term, data: data.clone(), ..Entry::default() };
        write(group, |it| it.entries = range.map(of).collect())
    }

    #[test]
    fn what_waits_is_few_writes_that_do_the_same_in_a_log() {
        let mut chance = Chance::new(1);
        let mut draw = |below: u64| chance.below(below);
        for round in 0..200 {
            let (mut queue, mut model, mut joined) =
                (Queue::default(), MemoryLog::default(), MemoryLog::default());
            let (mut seq, mut changes) = (0, 0);
            for step in 0..200 {
                let Stored { truncated, last, .. } = model.stored();
                let mut next = match draw(12) {
                    0..6 => {
                        // some replace a tail
                        let first = last + 1 - draw(4).min(last - truncated.index);
                        entries(1, first..=first + draw(4), step, 10)
                    }
                    6 => {
                        write(1, |it| it.hard_state = Some(HardState { term: step, ..HardState::default() }))
                    }
                    7 => write(1, |it| it.conf = Some((step, ConfState::default()))),
                    8 => cut(1, truncated.index + draw(last - truncated.index + 1)),
                    9 => write(1, |it| it.identity = Some(step)),
                    10 if draw(10) == 0 => {
                        let mut snapshot = Snapshot::default();
                        snapshot.mut_metadata().index = last + 10;
                        write(1, |it| it.snapshot = SnapshotChange::Install(Box::new(snapshot)))
                    }
                    11 if draw(10) == 0 => done(1),
                    _ => continue,
                };
                changes += usize::from(!matches!(next.snapshot, SnapshotChange::Keep));
                seq += 1;
                next.seq = seq;
                model.write(&next);
                queue.push(next);
                queue.push(cut(2, step));
            }
            let of_two = queue.writes.iter().filter(|it| it.write.group == GroupId(2)).count();
            assert!(of_two == 1 && queue.len() <= 2 + 2 * changes, "{round}: {} for {changes}", queue.len());
            let bytes: usize = queue.writes.iter().map(|it| it.bytes).sum();
            let left = left_in(&queue);
            assert_eq!(bytes, left.iter().map(Persist::bytes).sum::<usize>(), "{round}");
            let of_one: Vec<_> = left.into_iter().filter(|it| it.group == GroupId(1)).collect();
            assert!(of_one.is_sorted_by_key(|it| it.seq) && of_one.last().is_none_or(|it| it.seq == seq));
            of_one.iter().for_each(|it| joined.write(it));
            assert_eq!(format!("{joined:?}"), format!("{model:?}"), "{round}");
        }
    }

    #[test]
    fn no_write_grows_beyond_a_batch() {
        let mut queue = Queue::default();
        for index in 1..=100 {
            queue.push(entries(1, index..=index, 1, 1 << 20));
        }
        assert_eq!(queue.len(), 4);
        let mut last = 0;
        while let Some(write) = queue.take().pop() {
            assert!(write.bytes() <= BATCH_BYTES && write.entries[0].index == last + 1);
            last = write.entries.last().unwrap().index;
        }
        assert_eq!(last, 100);
        queue.push(entries(1, 1..=1, 1, 2 * BATCH_BYTES));
        queue.push(cut(1, 1));
        assert_eq!((queue.take().len(), queue.take().len()), (1, 1), "one that is larger goes alone");
    }
}
