//! Whether the disk of the data folder has room for another write.

use parking_lot::Mutex;
use quorate_model::{Error, NodeId, Result};
use quorate_store::space::Room;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a write does to the disk in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// It may add bytes.
    Add,
    /// It only removes.
    Remove,
}

/// Bytes of operations that the log has accepted and the indices have not.
pub type InLog = Box<dyn Fn() -> u64 + Send + Sync>;

/// Watches the room of one disk: what is free, less what was accepted and is not on the disk yet, less what merges take.
pub struct DiskGuard {
    room: Room,
    in_log: InLog,
    looked: Looked,
    /// Milliseconds since `looked.opened` at which writes were refused first, plus one; 0 = they are not.
    short_ms: AtomicU64,
    /// Other nodes that say that they have no room.
    full_elsewhere: Mutex<BTreeMap<NodeId, FullDisk>>,
}

/// What another node says whose disk is too full for another write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullDisk {
    /// What the node is called.
    pub name: String,
    /// Whether it is too full for anything: the log of that node stands still.
    pub is_to_the_brim: bool,
}

/// What the last look at all groups found: a write must not look at each of them.
#[derive(Debug)]
struct Looked {
    opened: Instant,
    /// Milliseconds since `opened` of the last look, plus one; 0 = never.
    at_ms: AtomicU64,
    in_log: AtomicU64,
    /// Bytes accepted since.
    accepted: AtomicU64,
}
/// How long a look is good for.
const LOOK_INTERVAL_MS: u64 = 100;

impl fmt::Debug for DiskGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskGuard").field("room", &self.room).finish_non_exhaustive()
    }
}

impl DiskGuard {
    /// Guards a disk for a node whose log holds `in_log` bytes that its indices do not have.
    pub fn new(room: Room, in_log: InLog) -> Self {
        let looked = Looked {
            opened: Instant::now(),
            at_ms: AtomicU64::new(0),
            in_log: AtomicU64::new(0),
            accepted: AtomicU64::new(0),
        };
        DiskGuard { room, in_log, looked, short_ms: AtomicU64::new(0), full_elsewhere: Mutex::default() }
    }
    /// Refuses a write when too little is left. Errors: `Unavailable`. Cost: a few atomic reads; ten times a second a look
    /// at each group and a system call.
    pub fn admit(&self, purpose: Purpose) -> Result<()> {
        self.admit_on("", purpose)
    }
    /// As [`Self::admit`] for a write to a group with these voters: a refusal names this node, which is called `own`, and those of
    /// them that have no room either.
    pub fn admit_as(&self, own: &str, voters: &[u64], purpose: Purpose) -> Result<()> {
        let named = |mut error: Error| {
            let also = self.full_among(voters, purpose);
            if !also.is_empty() {
                error.message.push_str(&format!("; also on {}", also.join(", ")));
            }
            error
        };
        self.admit_on(&format!(" on {own}"), purpose).map_err(named)
    }
    fn admit_on(&self, place: &str, purpose: Purpose) -> Result<()> {
        let (left, floor) = match purpose {
            Purpose::Add => (self.left_bytes(), self.room.reserve_bytes()),
            // needs room for its own log entry only, and makes some
            Purpose::Remove => (self.free_bytes(), self.room.last_bytes()),
        };
        if left >= floor {
            if purpose == Purpose::Add && self.short_ms.load(Ordering::Relaxed) != 0 {
                self.short_ms.store(0, Ordering::Relaxed);
            }
            return Ok(());
        }
        if purpose == Purpose::Add {
            let now_ms = self.now_ms();
            // the first one that is refused says since when
            let _earlier = self.short_ms.compare_exchange(0, now_ms, Ordering::Relaxed, Ordering::Relaxed);
        }
        Err(Error::unavailable(format!(
            "disk is almost full{place}: {} MB are free{}, writes need {} MB",
            self.free_bytes() / 1_000_000,
            self.spoken_for(),
            floor.div_ceil(1_000_000)
        )))
    }
    /// Refuses what callers with the public search key make a node keep: events, and searches that count. They are taken until the disk
    /// fills up; what is left then is for records. Errors: `Unavailable`. Cost: as [`Self::admit`].
    pub fn admit_observed(&self) -> Result<()> {
        match self.warning() {
            None => Ok(()),
            Some(warning) => Err(Error::unavailable(format!("events are not taken while {warning}"))),
        }
    }
    /// For how long writes have been refused, as far as [`Self::admit`] was asked; `None` while they are not. A shortage of a moment passes by itself:
    /// what was accepted reaches the disk, and dead files of the log go.
    pub fn short_for(&self) -> Option<Duration> {
        let now_ms = self.now_ms();
        match self.short_ms.load(Ordering::Relaxed) {
            0 => None,
            since_ms => Some(Duration::from_millis(now_ms.saturating_sub(since_ms))),
        }
    }
    fn now_ms(&self) -> u64 {
        self.looked.opened.elapsed().as_millis() as u64 + 1
    }
    /// Notes bytes of operations that were let through: they count at once, before the next look at the groups.
    pub fn note_accepted(&self, bytes: u64) {
        self.looked.accepted.fetch_add(bytes, Ordering::Relaxed);
    }
    /// Bytes of operations that the log has accepted and the indices have not, a tenth of a second ago and since.
    fn in_log_bytes(&self) -> u64 {
        let looked = &self.looked;
        let now_ms = self.now_ms();
        let at_ms = looked.at_ms.load(Ordering::Acquire);
        let is_due = at_ms == 0 || now_ms - at_ms.min(now_ms) >= LOOK_INTERVAL_MS;
        // one looks, the others go on with what is known
        if is_due && looked.at_ms.compare_exchange(at_ms, now_ms, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            // what comes while the groups are looked at may count twice for a tenth of a second, and never not at all
            looked.accepted.store(0, Ordering::Relaxed);
            looked.in_log.store((self.in_log)(), Ordering::Relaxed);
        }
        looked.in_log.load(Ordering::Relaxed).saturating_add(looked.accepted.load(Ordering::Relaxed))
    }
    /// Notes which other nodes have no room.
    pub fn note_full_elsewhere(&self, full: BTreeMap<NodeId, FullDisk>) {
        *self.full_elsewhere.lock() = full;
    }
    /// Refuses a write to a group whose voters with room are no majority. A voter without room is left out as long as they are:
    /// its log takes entries down to the last part of its reserve, stands still then, and catches up when there is room.
    ///
    /// Errors: `Unavailable`.
    pub fn admit_at(&self, voters: &[u64], purpose: Purpose) -> Result<()> {
        match self.without_majority(voters, purpose) {
            Some(full) => Err(Error::unavailable(full)),
            None => Ok(()),
        }
    }
    /// Says which other voters have no room when those with room are no majority, as if this node had some.
    pub fn without_majority(&self, voters: &[u64], purpose: Purpose) -> Option<String> {
        no_majority(self.full_among(voters, purpose), voters)
    }
    /// The same with this node, which is `own` and called so, if it has none.
    pub fn full_majority(&self, own: (NodeId, &str), voters: &[u64], purpose: Purpose) -> Option<String> {
        let mut full = self.full_among(voters, purpose);
        if voters.contains(&own.0.0) && self.admit(purpose).is_err() {
            full.push(own.1.to_owned());
            full.sort_unstable();
        }
        no_majority(full, voters)
    }
    /// The names of those of these nodes, other than this one, that have no room.
    fn full_among(&self, nodes: &[u64], purpose: Purpose) -> Vec<String> {
        let all = self.full_elsewhere.lock();
        let full = nodes.iter().filter_map(|node| all.get(&NodeId(*node)));
        let full = full.filter(|disk| purpose == Purpose::Add || disk.is_to_the_brim);
        let mut names: Vec<String> = full.map(|disk| disk.name.clone()).collect();
        names.sort_unstable();
        names
    }
    /// The names of all other nodes that have no room.
    pub fn full_elsewhere(&self) -> Vec<String> {
        let full = self.full_elsewhere.lock();
        let mut names: Vec<String> = full.values().map(|disk| disk.name.clone()).collect();
        names.sort_unstable();
        names
    }
    /// Says that the disk fills up, before writes are refused.
    pub fn warning(&self) -> Option<String> {
        let left = self.left_bytes();
        let reserve = self.room.reserve_bytes();
        self.room.is_tight_with(left).then(|| {
            format!(
                "the disk fills up: {} MB are free{}, and writes stop below {} MB",
                self.free_bytes() / 1_000_000,
                self.spoken_for(),
                reserve.div_ceil(1_000_000)
            )
        })
    }
    fn spoken_for(&self) -> String {
        match self.claimed_bytes() / 1_000_000 {
            0 => String::new(),
            claimed => format!(", {claimed} MB of them for what was accepted before"),
        }
    }
    /// Bytes that this process may still use, at most a tenth of a second old.
    pub fn free_bytes(&self) -> u64 {
        self.room.free_bytes()
    }
    /// Bytes that stay free: with less left, writes are refused.
    pub fn reserve_bytes(&self) -> u64 {
        self.room.reserve_bytes()
    }
    /// Bytes that what was accepted will take, and merges that go on.
    pub fn claimed_bytes(&self) -> u64 {
        self.room.claimed_bytes().saturating_add(self.room.indexed_bytes(self.in_log_bytes()))
    }
    fn left_bytes(&self) -> u64 {
        self.free_bytes().saturating_sub(self.claimed_bytes())
    }
}

/// Says which of the voters have no room, if the others are no majority.
fn no_majority(full: Vec<String>, voters: &[u64]) -> Option<String> {
    let with_room = voters.len() - full.len().min(voters.len());
    let is_none = !full.is_empty() && with_room * 2 <= voters.len();
    is_none.then(|| format!("disk is almost full on {}", full.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn writes_stop_before_removals_do() {
        let folder = std::env::temp_dir();
        let guard = |reserve, in_log| DiskGuard::new(Room::new(&folder, reserve), Box::new(move || in_log));
        let free = guard(0, 0).free_bytes();
        assert!(free > 0 && free < u64::MAX);
        for (reserve, in_log, add, remove) in [
            (0, 0, true, true),
            (free / 2, 0, true, true),
            (free / 2, free, false, true),
            (free.saturating_mul(2), 0, false, true),
            (u64::MAX, 0, false, false),
        ] {
            let guard = guard(reserve, in_log);
            assert_eq!(guard.admit(Purpose::Add).is_ok(), add, "{reserve}");
            assert_eq!(guard.admit(Purpose::Remove).is_ok(), remove, "{reserve}");
        }
        let error = guard(u64::MAX, 0).admit(Purpose::Add).expect_err("no such disk");
        assert!(error.message.starts_with("disk is almost full: "), "{error}");
    }

    #[test]
    fn a_shortage_begins_with_the_first_refusal_and_ends_with_room() {
        let folder = tempfile::tempdir().unwrap();
        let free = Room::new(folder.path(), 0).free_bytes();
        let room = Room::new(folder.path(), free / 4);
        let guard = DiskGuard::new(room.clone(), Box::new(|| 0));
        assert!(guard.admit(Purpose::Add).is_ok());
        assert_eq!(guard.short_for(), None);
        let claim = room.claim(free);
        assert!(guard.admit(Purpose::Add).is_err());
        std::thread::sleep(Duration::from_millis(30));
        assert!(guard.admit(Purpose::Add).is_err() && guard.admit(Purpose::Remove).is_ok());
        assert!(
            guard.short_for() >= Some(Duration::from_millis(29)),
            "a second refusal begins no other shortage"
        );
        drop(claim);
        assert!(guard.admit(Purpose::Add).is_ok());
        assert_eq!(guard.short_for(), None);
    }

    #[test]
    fn a_write_looks_at_no_group_and_counts_what_came_before_it() {
        let looks = Arc::new(AtomicU64::new(0));
        let counted = looks.clone();
        let folder = tempfile::tempdir().unwrap();
        let free = Room::new(folder.path(), 0).free_bytes();
        let in_log = Box::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            0
        });
        let guard = DiskGuard::new(Room::new(folder.path(), free / 2), in_log);
        let start = Instant::now();
        for _ in 0..10_000 {
            assert!(guard.admit(Purpose::Add).is_ok());
        }
        let most = 2 + start.elapsed().as_millis() as u64 / LOOK_INTERVAL_MS;
        assert!(looks.load(Ordering::Relaxed) <= most, "{looks:?} looks");
        // the look that may come between the two forgets what the groups now say themselves
        let mut tries = (0..10).map(|_| {
            guard.note_accepted(free);
            guard.admit(Purpose::Add)
        });
        assert!(tries.any(|admitted| admitted.is_err()), "what was let through counts at once");
    }

    #[test]
    fn a_group_needs_a_majority_with_room() {
        let guard = DiskGuard::new(Room::boundless(), Box::new(|| 0));
        let full = |nodes: &[u64], is_to_the_brim| {
            let disk = |&id: &u64| (NodeId(id), FullDisk { name: format!("n{id}"), is_to_the_brim });
            nodes.iter().map(disk).collect()
        };
        for (without, is_admitted) in [(&[][..], true), (&[2], true), (&[2, 3], false), (&[8, 9], true)] {
            for is_to_the_brim in [false, true] {
                guard.note_full_elsewhere(full(without, is_to_the_brim));
                assert_eq!(guard.admit_at(&[1, 2, 3], Purpose::Add).is_ok(), is_admitted, "{without:?}");
                let removes = guard.admit_at(&[1, 2, 3], Purpose::Remove);
                assert_eq!(removes.is_ok(), is_admitted || !is_to_the_brim, "{without:?}: {removes:?}");
            }
        }
        guard.note_full_elsewhere(full(&[2], false));
        let error = guard.admit_at(&[1, 2], Purpose::Add).expect_err("one of two");
        assert_eq!(error.message, "disk is almost full on n2");
    }

    #[test]
    fn a_refusal_names_all_voters_without_room() {
        let guard = DiskGuard::new(Room::new(&std::env::temp_dir(), u64::MAX), Box::new(|| 0));
        let refused =
            |guard: &DiskGuard| guard.admit_as("n1", &[1, 2, 3], Purpose::Add).expect_err("no room");
        let alone = refused(&guard).message;
        assert!(alone.starts_with("disk is almost full on n1: ") && alone.ends_with(" MB"), "{alone}");
        let majority = |voters: &[u64]| guard.full_majority((NodeId(1), "n1"), voters, Purpose::Add);
        assert_eq!(majority(&[1, 2, 3]), None, "the other two have room");
        let disk =
            |(id, name): (u64, &str)| (NodeId(id), FullDisk { name: name.to_owned(), is_to_the_brim: false });
        guard.note_full_elsewhere([(2, "n2"), (9, "n9")].map(disk).into());
        let both = refused(&guard).message;
        assert!(both.starts_with("disk is almost full on n1: ") && both.ends_with("; also on n2"), "{both}");
        assert_eq!(guard.full_elsewhere(), ["n2", "n9"]);
        for (voters, named) in [
            (&[1, 2, 3][..], Some("n1, n2")),
            (&[2, 3, 4], None),
            (&[1, 2, 3, 4, 5], None),
            (&[1], Some("n1")),
            (&[], None),
        ] {
            let found = majority(voters);
            assert_eq!(found, named.map(|names| format!("disk is almost full on {names}")), "{voters:?}");
        }
    }

    #[test]
    fn what_is_claimed_counts_and_a_warning_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let free = Room::new(folder.path(), 0).free_bytes();
        let room = Room::new(folder.path(), free / 4);
        let guard = DiskGuard::new(room.clone(), Box::new(|| 0));
        assert!(guard.warning().is_none() && guard.admit_observed().is_ok());
        let claim = room.claim(free / 2);
        let warning = guard.warning().expect("little is left");
        assert!(warning.starts_with("the disk fills up: "), "{warning}");
        assert!(warning.contains("for what was accepted before"), "{warning}");
        let reserve_mb = guard.reserve_bytes().div_ceil(1_000_000);
        assert!(warning.ends_with(&format!("writes stop below {reserve_mb} MB")), "{warning}");
        assert!(guard.admit(Purpose::Add).is_ok(), "what is left is for records");
        let refused = guard.admit_observed().expect_err("nothing of it is for events");
        assert!(refused.message.starts_with("events are not taken while the disk fills up: "), "{refused}");
        let more = room.claim(free / 3);
        assert!(guard.admit(Purpose::Add).is_err() && guard.admit(Purpose::Remove).is_ok());
        drop((claim, more));
        assert_eq!(guard.warning(), None);
    }
}
