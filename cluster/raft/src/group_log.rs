//! What the consensus library sees as its storage: a window of entries in memory over the log on disk.

use crate::effects::Position;
use crate::error::RaftError;
use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{GetEntriesContext, RaftState, Storage, StorageError};
use std::cell::Cell;
use std::collections::VecDeque;

/// Changes of members whose configuration is remembered for snapshots of earlier indices.
const CONF_HISTORY_MAX: usize = 16;

/// Reads what is durable of one group's log.
pub trait LogReader: Send + 'static {
    /// Entries of `[low, high)`, as many as fit in `bytes_max`, at least one.
    fn entries(&self, low: u64, high: u64, bytes_max: u64) -> Result<Vec<Entry>, RaftError>;
}

/// What a group's log holds at start.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// The member it belongs to; `None`: a new log.
    pub identity: Option<u64>,
    /// Term, vote and commit.
    pub hard_state: HardState,
    /// The members, and the index they are of.
    pub conf: Option<(u64, ConfState)>,
    /// Everything up to here was cut off.
    pub truncated: Position,
    /// The last index; `truncated.index` when there is no entry.
    pub last: u64,
    /// A snapshot that the state machine had not confirmed.
    pub snapshot: Option<Snapshot>,
    /// Where the log ended that this member had when it left the group before.
    pub left: Position,
}

/// Who keeps what it has instead of being sent a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Spared {
    /// All of these.
    pub(crate) all: Vec<u64>,
    /// Of these only one is sent one until the next look.
    pub(crate) all_but_one: Vec<u64>,
}

pub(crate) struct GroupLog<R> {
    reader: R,
    hard_state: HardState,
    conf: Vec<(u64, ConfState)>,
    truncated: Position,
    /// Everything from `window_first` to the end of the log.
    window: VecDeque<Entry>,
    window_first: u64,
    /// What the entries in memory count.
    window_bytes: u64,
    /// An entry that is not in memory, the last one as a rule: every read barrier asks for its term, and entries are large.
    known: Cell<Position>,
    offer: Option<Snapshot>,
    /// Members that are sent no snapshot, or not at once.
    spared: Spared,
    /// The one of them that was given a snapshot since the last look.
    given: Cell<Option<u64>>,
    snapshot_wanted: Cell<bool>,
    read_error: Cell<Option<String>>,
    milestones: Milestones,
}

/// Bytes between two milestones.
const MILESTONE_BYTES: u64 = 4 << 20;
/// What an entry counts that an earlier process has appended: nobody looks at each of them for that.
const EARLIER_BYTES: u64 = 10 << 10;

/// About how many bytes stand in the log behind an index.
#[derive(Debug, Default)]
struct Milestones {
    /// Everything through here was appended by earlier processes.
    earlier: u64,
    appended: u64,
    /// Some indices, and the bytes that had been appended through each; both ascend.
    marks: VecDeque<(u64, u64)>,
}
impl Milestones {
    fn append(&mut self, entries: &[Entry]) {
        if let Some(first) = entries.first() {
            self.earlier = self.earlier.min(first.index - 1);
            while self.marks.back().is_some_and(|(index, _)| *index >= first.index) {
                self.marks.pop_back();
            }
        }
        for entry in entries {
            self.appended += entry_bytes(entry);
            if self.marks.back().is_none_or(|(_, through)| self.appended - through >= MILESTONE_BYTES) {
                self.marks.push_back((entry.index, self.appended));
            }
        }
    }
    fn cut(&mut self, through: u64) {
        while self.marks.get(1).is_some_and(|(index, _)| *index <= through) {
            self.marks.pop_front();
        }
    }
    fn behind(&self, index: u64) -> u64 {
        let after = self.marks.partition_point(|(mark, _)| *mark <= index);
        let appended =
            self.marks.get(after.saturating_sub(1)).map_or(0, |(_, through)| self.appended - through);
        appended + self.earlier.saturating_sub(index) * EARLIER_BYTES
    }
}

impl<R: LogReader> GroupLog<R> {
    pub(crate) fn new(stored: &Stored, conf: (u64, ConfState), reader: R) -> Self {
        GroupLog {
            reader,
            hard_state: stored.hard_state.clone(),
            conf: vec![conf],
            truncated: stored.truncated,
            window: VecDeque::new(),
            window_first: stored.last + 1,
            window_bytes: 0,
            known: Cell::default(),
            offer: None,
            spared: Spared::default(),
            given: Cell::new(None),
            snapshot_wanted: Cell::new(false),
            read_error: Cell::new(None),
            milestones: Milestones { earlier: stored.last, ..Milestones::default() },
        }
    }

    /// Takes the last [`Self::spare`] back, to be filled anew.
    pub(crate) fn take_spared(&mut self) -> Spared {
        std::mem::take(&mut self.spared)
    }
    /// From now on these members get no snapshot.
    pub(crate) fn spare(&mut self, spared: Spared) {
        self.spared = spared;
        self.given.set(None);
    }
    /// About how many bytes of entries stand behind an index, of which nothing is cut; those of earlier processes count alike.
    pub(crate) fn bytes_behind(&self, index: u64) -> u64 {
        self.milestones.behind(index)
    }
    pub(crate) fn hard_state(&self) -> &HardState {
        &self.hard_state
    }
    pub(crate) fn set_hard_state(&mut self, hard_state: HardState) {
        self.hard_state = hard_state;
    }
    pub(crate) fn first(&self) -> u64 {
        self.truncated.index + 1
    }
    pub(crate) fn last(&self) -> u64 {
        self.window_first + self.window.len() as u64 - 1
    }
    /// The members now, and the index of the change that made them so.
    pub(crate) fn conf(&self) -> &(u64, ConfState) {
        self.conf.last().expect("the list starts with one and keeps its last")
    }
    pub(crate) fn set_conf(&mut self, index: u64, conf: ConfState) {
        self.conf.push((index, conf));
        if self.conf.len() > CONF_HISTORY_MAX {
            self.conf.remove(0);
        }
    }

    /// Appends, replacing whatever was there from the first entry's index on.
    pub(crate) fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first().map(|e| e.index) else { return };
        debug_assert!(first <= self.last() + 1 && first > self.truncated.index);
        self.milestones.append(entries);
        if first <= self.known.get().index {
            self.known.take();
        }
        let kept = first.saturating_sub(self.window_first) as usize;
        self.window_bytes -= self.window.drain(kept..).map(|entry| entry_bytes(&entry)).sum::<u64>();
        self.window_first = self.window_first.min(first);
        self.window_bytes += entries.iter().map(entry_bytes).sum::<u64>();
        self.window.extend(entries.iter().cloned());
    }

    /// Forgets the entries in memory up to `through`; they are durable.
    pub(crate) fn trim_window(&mut self, through: u64) {
        let count = (through + 1).saturating_sub(self.window_first).min(self.window.len() as u64);
        if let Some(last) = count.checked_sub(1).and_then(|last| self.window.get(last as usize)) {
            self.known.set(Position { index: last.index, term: last.term });
        }
        self.window_bytes -=
            self.window.drain(..count as usize).map(|entry| entry_bytes(&entry)).sum::<u64>();
        self.window_first += count;
        if self.window.is_empty() && self.window.capacity() > 1_024 {
            self.window.shrink_to(64);
        }
    }

    /// As [`Self::trim_window`], but only while the entries in memory count more than `bytes_max`.
    pub(crate) fn bound_window(&mut self, through: u64, bytes_max: u64) {
        let (mut over, mut forgotten) = (self.window_bytes.saturating_sub(bytes_max), 0);
        for entry in self.window.iter().take_while(|entry| entry.index <= through) {
            if over == 0 {
                break;
            }
            over = over.saturating_sub(entry_bytes(entry));
            forgotten = entry.index;
        }
        self.trim_window(forgotten);
    }

    /// Cuts the log off; `None` when there is nothing to cut.
    pub(crate) fn compact(&mut self, through: u64) -> Option<Position> {
        if through <= self.truncated.index || through > self.last() {
            return None;
        }
        let term = self.term(through).ok()?;
        self.truncated = Position { index: through, term };
        self.milestones.cut(through);
        self.trim_window(through);
        Some(self.truncated)
    }

    /// Replaces the whole log by a snapshot.
    pub(crate) fn install(&mut self, snapshot: &Snapshot) {
        let metadata = snapshot.get_metadata();
        self.truncated = Position { index: metadata.index, term: metadata.term };
        self.window.clear();
        self.window_bytes = 0;
        self.milestones = Milestones::default();
        self.window_first = metadata.index + 1;
        self.known.take();
        self.conf = vec![(metadata.index, metadata.get_conf_state().clone())];
        self.offer = None;
    }

    /// Keeps a snapshot for lagging members; false when its configuration or term is not known any more.
    pub(crate) fn offer(&mut self, index: u64, data: bytes::Bytes) -> bool {
        let Some((_, conf)) = self.conf.iter().rev().find(|(at, _)| *at <= index) else { return false };
        let Ok(term) = self.term(index) else { return false };
        let mut snapshot = Snapshot::default();
        snapshot.data = data;
        snapshot.mut_metadata().index = index;
        snapshot.mut_metadata().term = term;
        snapshot.mut_metadata().set_conf_state(conf.clone());
        self.offer = Some(snapshot);
        true
    }
    pub(crate) fn take_snapshot_wanted(&self) -> bool {
        self.snapshot_wanted.replace(false)
    }
    pub(crate) fn take_read_error(&self) -> Option<String> {
        self.read_error.take()
    }

    /// Entries of `[low, high)` from memory or disk, at least one.
    pub(crate) fn read(&self, low: u64, high: u64, bytes_max: u64) -> raft::Result<Vec<Entry>> {
        if low <= self.truncated.index {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        if high > self.last() + 1 || low >= high {
            return Err(raft::Error::Store(StorageError::Unavailable));
        }
        let mut out = Vec::new();
        if low < self.window_first {
            let disk_high = high.min(self.window_first);
            out = self.reader.entries(low, disk_high, bytes_max).map_err(|e| {
                self.read_error.set(Some(e.to_string()));
                raft::Error::Store(StorageError::Other(Box::new(e)))
            })?;
            if (out.len() as u64) < disk_high - low || disk_high == high {
                return Ok(out);
            }
        }
        let mut bytes: u64 = out.iter().map(entry_bytes).sum();
        let offset = low.saturating_sub(self.window_first) as usize;
        let count = (high - low.max(self.window_first)) as usize;
        for entry in self.window.iter().skip(offset).take(count) {
            bytes += entry_bytes(entry);
            if !out.is_empty() && bytes > bytes_max {
                break;
            }
            out.push(entry.clone());
        }
        Ok(out)
    }
}

/// What an entry counts against limits on bytes.
pub(crate) fn entry_bytes(entry: &Entry) -> u64 {
    entry.data.len() as u64 + entry.context.len() as u64 + 16
}

impl<R: LogReader> Storage for GroupLog<R> {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(RaftState { hard_state: self.hard_state.clone(), conf_state: self.conf().1.clone() })
    }
    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        self.read(low, high, max_size.into().unwrap_or(u64::MAX))
    }
    fn term(&self, index: u64) -> raft::Result<u64> {
        if index == self.truncated.index {
            return Ok(self.truncated.term);
        }
        if index < self.truncated.index {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        if index > self.last() {
            return Err(raft::Error::Store(StorageError::Unavailable));
        }
        if index >= self.window_first {
            return Ok(self.window[(index - self.window_first) as usize].term);
        }
        let known = self.known.get();
        if known.index == index {
            return Ok(known.term);
        }
        let term = self.read(index, index + 1, 1)?[0].term;
        self.known.set(Position { index, term });
        Ok(term)
    }
    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.first())
    }
    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last())
    }
    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<Snapshot> {
        let is_single = self.spared.all_but_one.contains(&to);
        let is_next = is_single && self.given.get().is_some_and(|given| given != to);
        if is_next || self.spared.all.contains(&to) {
            return Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        let oldest = request_index.max(self.truncated.index);
        let fits = |offer: &&Snapshot| {
            let metadata = offer.get_metadata();
            metadata.index >= oldest && has_member(metadata.get_conf_state(), to)
        };
        match self.offer.as_ref().filter(fits) {
            Some(offer) => {
                if is_single {
                    self.given.set(Some(to));
                }
                Ok(offer.clone())
            }
            None => {
                self.snapshot_wanted.set(true);
                Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable))
            }
        }
    }
}

/// Whether a configuration names a member. A member ignores a snapshot that does not name it, without a word.
fn has_member(conf: &ConfState, member: u64) -> bool {
    let ConfState { voters, learners, voters_outgoing, learners_next, .. } = conf;
    [voters, learners, voters_outgoing, learners_next].iter().any(|list| list.contains(&member))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::Persist;
    use crate::memory::SharedMemoryLog;
    use quorate_model::GroupId;

    fn entry(index: u64, term: u64) -> Entry {
        let mut entry = Entry::default();
        entry.index = index;
        entry.term = term;
        entry.data = vec![b'x'; 84].into();
        entry
    }

    #[test]
    fn what_stands_behind_an_index_is_counted_in_bytes() {
        let mut log =
            GroupLog::new(&Stored::default(), (0, ConfState::default()), SharedMemoryLog::default());
        let mut large = |range: std::ops::RangeInclusive<u64>, term| {
            let sized = |index| Entry { data: vec![b'x'; 1 << 20].into(), ..entry(index, term) };
            log.append(&range.map(sized).collect::<Vec<_>>());
            log.trim_window(u64::MAX - 1);
            [0, 1, 20, 40].map(|index| log.bytes_behind(index) >> 20)
        };
        assert_eq!(large(1..=1, 1), [0, 0, 0, 0]);
        let behind = large(2..=40, 1);
        assert!(behind[1] == 39 && (20..=24).contains(&behind[2]) && behind[3] < 4, "{behind:?}");
        // another leader replaces the second half
        let behind = large(21..=30, 2);
        assert!((10..=34).contains(&behind[2]), "{behind:?}");
        log.milestones.cut(25);
        assert!(log.milestones.marks.len() <= 3 && log.bytes_behind(30) < 4 << 20);
        // after a start nobody knows how large the entries are
        let stored = Stored { last: 1_000, ..Stored::default() };
        let mut log = GroupLog::new(&stored, (0, ConfState::default()), SharedMemoryLog::default());
        assert_eq!(log.bytes_behind(1_000), 0);
        assert_eq!(log.bytes_behind(200), 800 * EARLIER_BYTES);
        log.append(&[entry(501, 9)]);
        assert_eq!(log.bytes_behind(200), 300 * EARLIER_BYTES);
    }

    /// Entries 1 to 10, term = index / 3, of which 1 to `on_disk` are read from disk.
    fn log(on_disk: u64) -> GroupLog<SharedMemoryLog> {
        let disk = SharedMemoryLog::default();
        let mut log = GroupLog::new(&Stored::default(), (0, ConfState::default()), disk.clone());
        let entries: Vec<_> = (1..=10).map(|index| entry(index, index / 3)).collect();
        log.append(&entries);
        let mut persist = Persist::new(GroupId(1), 1);
        persist.entries = entries;
        disk.0.lock().write(&persist);
        log.trim_window(on_disk);
        log
    }
    fn context() -> GetEntriesContext {
        GetEntriesContext::empty(false)
    }

    #[test]
    fn reads_are_the_same_from_memory_and_disk() {
        for on_disk in 0..=10 {
            let log = log(on_disk);
            for low in 1..=10 {
                for high in low + 1..=11 {
                    let all: Vec<_> = (low..high).map(|index| entry(index, index / 3)).collect();
                    assert_eq!(
                        log.entries(low, high, None, context()).unwrap(),
                        all,
                        "{on_disk} {low} {high}"
                    );
                    // Entries count 100 bytes each; at least one comes whatever the limit.
                    for (limit, count) in [(0, 1), (100, 1), (250, 2)] {
                        let some = log.entries(low, high, limit, context()).unwrap();
                        let count = count.min(all.len());
                        assert!(
                            some == all[..count] || !some.is_empty() && some.len() < count,
                            "{on_disk} {low} {high} {limit}"
                        );
                    }
                }
            }
            assert!(matches!(
                log.entries(1, 12, None, context()),
                Err(raft::Error::Store(StorageError::Unavailable))
            ));
        }
    }

    #[test]
    fn entries_in_memory_are_bounded_by_what_is_on_disk() {
        // durable through, bytes allowed (each entry counts 100) → entries left in memory
        for (through, bytes_max, left) in
            [(10, 1_000, 10), (10, 999, 9), (10, 950, 9), (10, 250, 2), (4, 250, 6), (0, 0, 10), (10, 0, 0)]
        {
            let mut log = log(0);
            log.bound_window(through, bytes_max);
            assert_eq!(log.window.len(), left, "{through} {bytes_max}");
            assert_eq!(log.window_bytes, 100 * left as u64);
            let all: Vec<_> = (1..=10).map(|index| entry(index, index / 3)).collect();
            assert_eq!(log.entries(1, 11, None, context()).unwrap(), all, "{through} {bytes_max}");
            log.append(&[entry(5, 9)]);
            assert_eq!(log.window_bytes, log.window.iter().map(entry_bytes).sum::<u64>());
        }
    }

    #[test]
    fn the_term_before_the_first_entry_is_known_after_a_cut() {
        for on_disk in 0..=10 {
            let mut log = log(on_disk);
            let cut = log.compact(6).unwrap();
            assert_eq!((cut.index, cut.term), (6, 2));
            assert_eq!((log.first_index().unwrap(), log.last_index().unwrap()), (7, 10));
            assert_eq!(log.term(6).unwrap(), 2);
            assert_eq!(log.term(9).unwrap(), 3);
            assert!(matches!(log.term(5), Err(raft::Error::Store(StorageError::Compacted))));
            assert!(matches!(log.term(11), Err(raft::Error::Store(StorageError::Unavailable))));
            assert!(matches!(
                log.entries(6, 8, None, context()),
                Err(raft::Error::Store(StorageError::Compacted))
            ));
            assert!(log.compact(6).is_none() && log.compact(11).is_none());
            // Cut off entirely, then go on.
            log.compact(10).unwrap();
            assert_eq!(
                (log.first_index().unwrap(), log.last_index().unwrap(), log.term(10).unwrap()),
                (11, 10, 3)
            );
            log.append(&[entry(11, 5)]);
            assert_eq!(log.entries(11, 12, None, context()).unwrap(), [entry(11, 5)]);
        }
    }

    #[test]
    fn a_new_tail_replaces_the_old_one_in_memory_and_on_disk() {
        for on_disk in 0..=10 {
            let mut log = log(on_disk);
            assert_eq!(log.term(10).unwrap(), 3);
            log.append(&[entry(5, 9)]);
            assert_eq!((log.last_index().unwrap(), log.term(5).unwrap()), (5, 9), "{on_disk}");
            log.trim_window(5);
            assert_eq!(log.term(5).unwrap(), 9, "{on_disk}");
            log.append(&[entry(5, 11)]);
            log.append(&[entry(5, 9)]);
            assert_eq!(log.term(5).unwrap(), 9, "{on_disk}");
            assert_eq!(log.entries(4, 6, None, context()).unwrap(), [entry(4, 1), entry(5, 9)], "{on_disk}");
            assert!(log.term(6).is_err());
        }
    }

    #[test]
    fn a_snapshot_is_only_given_to_those_it_names_and_while_it_fits_the_log() {
        let mut log = log(4);
        let is_unavailable = |result: raft::Result<Snapshot>| {
            matches!(result, Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable)))
        };
        assert!(
            is_unavailable(log.snapshot(0, 2)) && log.take_snapshot_wanted() && !log.take_snapshot_wanted()
        );
        let mut conf = ConfState::default();
        conf.voters = vec![1, 2];
        log.set_conf(5, conf.clone());
        assert!(log.offer(4, bytes::Bytes::new()), "the configuration before it is known");
        assert!(is_unavailable(log.snapshot(0, 2)), "it does not name 2");
        assert!(log.offer(6, bytes::Bytes::new()));
        let snapshot = log.snapshot(0, 2).unwrap();
        let metadata = snapshot.get_metadata();
        assert_eq!((metadata.index, metadata.term, metadata.get_conf_state()), (6, 2, &conf));
        assert!(is_unavailable(log.snapshot(7, 2)), "older than asked for");
        log.compact(7).unwrap();
        assert!(is_unavailable(log.snapshot(0, 2)), "entries after it are gone");
    }
}
