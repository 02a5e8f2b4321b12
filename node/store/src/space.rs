//! How much room the disk of the data folder has, and how much of it is spoken for: writes stop with a reason before it is full.

use crate::error::{Result, StoreError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes that this process may still write below `folder`, and the size of the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes free for an ordinary user.
    pub free_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
}

/// Asks the file system that holds `folder`. Cost: one system call.
pub fn of(folder: &Path) -> Result<Space> {
    let told = rustix::fs::statvfs(folder)
        .map_err(|e| StoreError::io("ask for the free space of", folder, e.into()))?;
    Ok(Space { free_bytes: told.f_bavail * told.f_frsize, total_bytes: told.f_blocks * told.f_frsize })
}

/// Bytes that an index takes on disk for a thousand bytes of records: at first what those of many different words take, since nothing
/// is known of the records yet.
const INDEXED_AT_FIRST: u64 = 10_000;
/// And at least.
const INDEXED_LEAST: u64 = 2_000;
/// From so many bytes of records on what they have taken says something of those that follow: fewer take much for what each segment has.
const TELLING_BYTES: u64 = 256 << 10;
/// By which part of the difference less is expected after some have taken less.
const LESS_BY: u64 = 4;
/// How long a look at the disk is good for.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// The last part of the reserve, which is kept for what makes room or is needed for it: removals, durable commits, dumps.
const LAST_PART: u64 = 4;

/// From this many reserves down the disk counts as tight, long before anything is refused.
const TIGHT_RESERVES: u64 = 3;

/// The room of one disk, shared by all who write to it. Clones share it.
#[derive(Clone, Debug)]
pub struct Room {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// `None`: a disk without an end.
    folder: Option<PathBuf>,
    reserve_bytes: u64,
    opened: Instant,
    /// Milliseconds since `opened` of the last look, plus one; 0 = never.
    looked_ms: AtomicU64,
    free_bytes: AtomicU64,
    claimed_bytes: AtomicU64,
    /// Bytes that a thousand bytes of records take.
    indexed: AtomicU64,
}

impl Room {
    /// The disk of `folder`, of which `reserve_bytes` stay free.
    pub fn new(folder: &Path, reserve_bytes: u64) -> Room {
        Room::with(Some(folder.to_path_buf()), reserve_bytes)
    }
    /// A disk that is never full.
    pub fn boundless() -> Room {
        Room::with(None, 0)
    }
    fn with(folder: Option<PathBuf>, reserve_bytes: u64) -> Room {
        let shared = Shared {
            folder,
            reserve_bytes,
            opened: Instant::now(),
            looked_ms: AtomicU64::new(0),
            free_bytes: AtomicU64::new(u64::MAX),
            claimed_bytes: AtomicU64::new(0),
            indexed: AtomicU64::new(INDEXED_AT_FIRST),
        };
        Room { shared: Arc::new(shared) }
    }
    /// Bytes that stay free.
    pub fn reserve_bytes(&self) -> u64 {
        self.shared.reserve_bytes
    }
    /// The part of the reserve that only what makes room may use.
    pub fn last_bytes(&self) -> u64 {
        self.shared.reserve_bytes / LAST_PART
    }
    /// Bytes that this process may still write, at most a tenth of a second old.
    pub fn free_bytes(&self) -> u64 {
        let shared = &*self.shared;
        let now_ms = shared.opened.elapsed().as_millis() as u64 + 1;
        let looked_ms = shared.looked_ms.load(Ordering::Acquire);
        if looked_ms == 0 || now_ms - looked_ms.min(now_ms) >= LOOK_INTERVAL.as_millis() as u64 {
            self.look();
            shared.looked_ms.store(now_ms, Ordering::Release);
        }
        shared.free_bytes.load(Ordering::Acquire)
    }
    fn look(&self) {
        let Some(folder) = &self.shared.folder else { return };
        match of(folder) {
            Ok(space) => self.shared.free_bytes.store(space.free_bytes, Ordering::Release),
            // a disk that cannot be asked is not called full; a write will find out
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "cannot read the free space")
            }
        }
    }
    /// Bytes that records will take when they are indexed, about.
    pub fn indexed_bytes(&self, record_bytes: u64) -> u64 {
        let indexed =
            u128::from(record_bytes) * u128::from(self.shared.indexed.load(Ordering::Relaxed)) / 1_000;
        u64::try_from(indexed).unwrap_or(u64::MAX)
    }
    /// Notes what records have taken: as much is expected of those that follow at once when it is more than before, and little by little
    /// when it is less.
    pub fn note_indexed(&self, record_bytes: u64, indexed_bytes: u64) {
        if record_bytes < TELLING_BYTES {
            return;
        }
        let taken = (indexed_bytes.saturating_mul(1_000) / record_bytes).max(INDEXED_LEAST);
        let expect = |before: u64| Some(taken.max(before - before.saturating_sub(taken) / LESS_BY));
        let _before = self.shared.indexed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, expect);
    }
    /// Bytes that were accepted and are not on the disk yet, with those that work under way will take.
    pub fn claimed_bytes(&self) -> u64 {
        self.shared.claimed_bytes.load(Ordering::Relaxed)
    }
    /// Free bytes that nobody has claimed.
    pub fn left_bytes(&self) -> u64 {
        self.free_bytes().saturating_sub(self.claimed_bytes())
    }
    /// Whether the disk fills up: what can be given back of it is given back at once, and operators are told. Cost: as
    /// [`Self::free_bytes`].
    pub fn is_tight(&self) -> bool {
        self.is_tight_with(self.left_bytes())
    }
    /// As [`Self::is_tight`], with so many bytes left.
    pub fn is_tight_with(&self, left_bytes: u64) -> bool {
        left_bytes < self.shared.reserve_bytes.saturating_mul(TIGHT_RESERVES)
    }
    /// Claims bytes that will be written whatever comes, until the claim is dropped.
    pub fn claim(&self, bytes: u64) -> Claim {
        let mut claim = Claim { room: self.clone(), bytes: 0 };
        claim.set(bytes);
        claim
    }
    /// Claims bytes for work that can wait; `None` while that would take the last part of the reserve.
    pub fn claim_spare(&self, bytes: u64) -> Option<Claim> {
        let is_there = self.left_bytes() >= bytes.saturating_add(self.last_bytes());
        is_there.then(|| self.claim(bytes))
    }
}
impl Default for Room {
    fn default() -> Self {
        Room::boundless()
    }
}

/// Bytes of a [`Room`] that somebody will write. Given back when it is dropped.
#[derive(Debug)]
pub struct Claim {
    room: Room,
    bytes: u64,
}
impl Claim {
    /// Claims so many bytes instead.
    pub fn set(&mut self, bytes: u64) {
        let claimed = &self.room.shared.claimed_bytes;
        if bytes >= self.bytes {
            claimed.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else {
            claimed.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
    /// Claims what so many bytes of records will take when they are indexed.
    pub fn set_indexed(&mut self, record_bytes: u64) {
        self.set(self.room.indexed_bytes(record_bytes));
    }
}
impl Drop for Claim {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_room_and_a_missing_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let space = of(dir.path()).unwrap();
        assert!(space.total_bytes > 0 && space.free_bytes <= space.total_bytes);
        assert!(of(&dir.path().join("missing")).is_err());
    }

    #[test]
    fn what_is_claimed_is_not_left_and_work_that_can_wait_leaves_the_last_part() {
        let dir = tempfile::tempdir().unwrap();
        let free = Room::new(dir.path(), 0).free_bytes();
        let room = Room::new(dir.path(), free / 2);
        let mut claim = room.claim(free / 4);
        assert_eq!(room.claimed_bytes(), free / 4);
        // half of the disk is left besides the claim, less the eighth that is the last part of the reserve
        assert!(room.claim_spare(free - free / 4).is_none());
        let spare = room.claim_spare(free / 2).expect("room for it");
        assert!(room.claim_spare(free / 2).is_none());
        drop(spare);
        claim.set(0);
        assert_eq!(room.claimed_bytes(), 0);
        assert!(room.claim_spare(free - free / 4).is_some());
        assert!(Room::boundless().claim_spare(u64::MAX).is_some());
    }

    #[test]
    fn what_records_take_is_learned() {
        const MIB: u64 = 1 << 20;
        let room = Room::boundless();
        assert_eq!(room.indexed_bytes(MIB), 10 * MIB, "the most, as long as nothing is known");
        room.note_indexed(1_000, 3_000);
        assert_eq!(room.indexed_bytes(MIB), 10 * MIB, "too few to tell");
        room.note_indexed(MIB, 6 * MIB);
        assert_eq!(room.indexed_bytes(MIB), 9 * MIB, "a quarter of the difference less");
        (0..50).for_each(|_| room.note_indexed(MIB, MIB));
        let least = room.indexed_bytes(MIB);
        assert!((2 * MIB..2 * MIB + MIB / 100).contains(&least), "{least}");
        room.note_indexed(MIB, 30 * MIB);
        assert_eq!(
            room.clone().indexed_bytes(MIB),
            30 * MIB,
            "more is expected at once, wherever it was seen"
        );
        assert_eq!(room.indexed_bytes(u64::MAX), u64::MAX);
    }
}
