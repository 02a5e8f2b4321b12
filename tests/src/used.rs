//! What does the system say that a process, and a folder, take?

use anyhow::{Context, Result};
use std::path::Path;

/// What the system says a process uses.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// Open files.
    pub files: usize,
    /// Threads.
    pub threads: usize,
    /// Mapped ranges.
    pub maps: usize,
    /// MiB of memory that are no files.
    pub anonymous_mib: u64,
}

impl Used {
    /// That of a process by its id.
    pub fn of(pid: u32) -> Result<Used> {
        let process = Path::new("/proc").join(pid.to_string());
        let entries =
            |folder: &str| Ok::<_, std::io::Error>(std::fs::read_dir(process.join(folder))?.count());
        let status = std::fs::read_to_string(process.join("status"))?;
        let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("RssAnon")?;
        let kib: u64 = anonymous.trim().trim_end_matches(" kB").parse()?;
        Ok(Used {
            files: entries("fd")?,
            threads: entries("task")?,
            maps: std::fs::read_to_string(process.join("maps"))?.lines().count(),
            anonymous_mib: kib >> 10,
        })
    }
}

/// Files and MiB below a folder, each name of a file counted.
pub fn below(folder: &Path) -> (usize, u64) {
    let (mut files, mut bytes) = (0, 0);
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(data) if data.is_dir() => folders.push(entry.path()),
                Ok(data) => (files, bytes) = (files + 1, bytes + data.len()),
                // it was removed meanwhile
                Err(_) => {}
            }
        }
    }
    (files, bytes >> 20)
}
