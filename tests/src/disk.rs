//! How is a disk filled in a test? A small file system in memory, which root can mount.

use crate::skipped::skip;
use anyhow::{Result, ensure};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system in memory; unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one of so many MiB at `path`, which is made. `None` where that is not allowed, which is told as something left out.
    pub fn mount(path: &Path, mib: u64) -> Result<Option<SmallDisk>> {
        std::fs::create_dir_all(path)?;
        let size = format!("size={mib}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Ok(Some(SmallDisk(path.to_path_buf())));
        }
        skip("mounting a small file system needs root");
        Ok(None)
    }
    /// Lets it be of so many MiB from now on, with what is on it.
    pub fn resize(&self, mib: u64) -> Result<()> {
        let size = format!("remount,size={mib}m");
        let resized = Command::new("mount").args(["-o", &size]).arg(self.path()).status()?;
        ensure!(resized.success(), "{} cannot be resized", self.path().display());
        Ok(())
    }
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
    /// Fills it with one file until `left_bytes` are free; of one that is full already no byte becomes free meanwhile.
    pub fn fill(&self, left_bytes: u64) -> Result<()> {
        let mut file = File::options().append(true).create(true).open(self.ballast())?;
        for piece in [1 << 20, 4 << 10, 1] {
            let bytes = vec![0u8; piece];
            while file.write_all(&bytes).is_ok() {}
        }
        let length = file.metadata()?.len();
        Ok(file.set_len(length.saturating_sub(left_bytes))?)
    }
    /// Removes that file.
    pub fn empty(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.ballast())?)
    }
    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a server may still be ending.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
