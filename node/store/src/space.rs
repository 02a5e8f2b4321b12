//! How much room the disk of the data folder has: writes stop with a reason before the disk is full.

use crate::error::{Result, StoreError};
use std::path::Path;

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

#[cfg(test)]
mod tests {
    #[test]
    fn a_folder_has_room_and_a_missing_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let space = super::of(dir.path()).unwrap();
        assert!(space.total_bytes > 0 && space.free_bytes <= space.total_bytes);
        assert!(super::of(&dir.path().join("missing")).is_err());
    }
}
