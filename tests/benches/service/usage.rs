//! What did the node use? CPU time, memory and disk, from /proc and the file system.

use anyhow::{Context, Result};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Kernel ticks of one second in /proc: fixed by the interface of Linux.
const TICKS: f64 = 100.0;

/// Memory of a process in MiB.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Its own.
    pub anonymous: f64,
    /// Pages of mapped files, which the kernel may drop.
    pub mapped: f64,
    /// The most that was resident at once.
    pub peak: f64,
}

/// CPU seconds of a process so far.
pub fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat =
        std::fs::read_to_string(format!("/proc/{pid}/stat")).context("cannot read /proc: is this Linux?")?;
    // The name in brackets may hold spaces.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks =
        |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).context("a short /proc stat");
    Ok((ticks(11)? + ticks(12)?) / TICKS)
}

/// Memory of a process now.
pub fn memory(pid: u32) -> Result<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let mib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next())
            .and_then(|kib| kib.parse::<f64>().ok())
            .unwrap_or(0.0)
            / 1024.0
    };
    Ok(Memory { anonymous: mib("RssAnon:"), mapped: mib("RssFile:"), peak: mib("VmHWM:") })
}

/// MiB of allocated blocks below a path.
pub fn disk_mib(path: &Path) -> f64 {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return 0.0 };
    let own = meta.blocks() as f64 * 512.0 / f64::from(1 << 20);
    let below: f64 = match meta.is_dir() {
        true => {
            std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| disk_mib(&entry.path())).sum()
        }
        false => 0.0,
    };
    own + below
}

/// A value of a sorted list below which the share `share` of it lies.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        len => sorted[((len - 1) as f64 * share).round() as usize],
    }
}
