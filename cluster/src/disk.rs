//! Whether the disk of the data folder has room for another write.

use quorate_model::{Error, Result};
use quorate_store::space;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a look at the disk is good for.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Removing is allowed down to this part of the reserve: it needs room for its own log entry.
const REMOVAL_PART: u64 = 4;

/// What a write does to the disk in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// It may add bytes.
    Add,
    /// It only removes.
    Remove,
}

/// Watches the free bytes of one disk.
#[derive(Debug)]
pub struct DiskGuard {
    folder: PathBuf,
    reserve_bytes: u64,
    opened: Instant,
    /// Milliseconds since `opened` of the last look, plus one; 0 = never.
    looked_ms: AtomicU64,
    free_bytes: AtomicU64,
}

impl DiskGuard {
    /// Guards the disk of `folder`: `reserve_bytes` of it stay free.
    pub fn new(folder: &Path, reserve_bytes: u64) -> Self {
        DiskGuard {
            folder: folder.to_path_buf(),
            reserve_bytes,
            opened: Instant::now(),
            looked_ms: AtomicU64::new(0),
            free_bytes: AtomicU64::new(u64::MAX),
        }
    }
    /// Refuses a write when too little is free. Errors: `Unavailable`. Cost: a system call ten times a second.
    pub fn admit(&self, purpose: Purpose) -> Result<()> {
        let floor = match purpose {
            Purpose::Add => self.reserve_bytes,
            Purpose::Remove => self.reserve_bytes / REMOVAL_PART,
        };
        let free = self.free_bytes();
        if free >= floor {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "disk is almost full: {} MB are free, writes need {} MB",
            free / 1_000_000,
            floor.div_ceil(1_000_000)
        )))
    }
    /// Bytes that this process may still use, at most a tenth of a second old.
    pub fn free_bytes(&self) -> u64 {
        let now_ms = self.opened.elapsed().as_millis() as u64 + 1;
        let looked_ms = self.looked_ms.load(Ordering::Acquire);
        if looked_ms == 0 || now_ms - looked_ms.min(now_ms) >= LOOK_INTERVAL.as_millis() as u64 {
            self.look();
            self.looked_ms.store(now_ms, Ordering::Release);
        }
        self.free_bytes.load(Ordering::Acquire)
    }
    fn look(&self) {
        match space::of(&self.folder) {
            Ok(space) => self.free_bytes.store(space.free_bytes, Ordering::Release),
            // a disk that cannot be asked is not called full; a write will find out
            Err(error) => {
                tracing::warn!(%error, folder = %self.folder.display(), "cannot read the free space")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_stop_before_removals_do() {
        let folder = std::env::temp_dir();
        let free = DiskGuard::new(&folder, 0).free_bytes();
        assert!(free > 0 && free < u64::MAX);
        for (reserve, add, remove) in [
            (0, true, true),
            (free / 2, true, true),
            (free.saturating_mul(2), false, true),
            (u64::MAX, false, false),
        ] {
            let guard = DiskGuard::new(&folder, reserve);
            assert_eq!(guard.admit(Purpose::Add).is_ok(), add, "{reserve}");
            assert_eq!(guard.admit(Purpose::Remove).is_ok(), remove, "{reserve}");
        }
        let error = DiskGuard::new(&folder, u64::MAX).admit(Purpose::Add).expect_err("no such disk");
        assert!(error.message.starts_with("disk is almost full: "), "{error}");
    }
}
