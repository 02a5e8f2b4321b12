//! What does a server ask of the kernel before it opens anything: pages, files, who may read what it writes?

/// What the process may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Files and sockets open at a time.
    pub files: u64,
}

/// Files that are taken to be allowed where the kernel does not say; with fewer a node comes to a standstill over some dozens of indices.
const FILES_UNKNOWN: u64 = 1_024;

/// Prepares the process. Where something cannot be had the server runs without; only memory, fewer connections or readable
/// files are what that costs.
#[cfg(target_os = "linux")]
pub fn prepare() -> Allowed {
    use rustix::process::{Resource, getrlimit, setrlimit};
    use_small_pages();
    close_to_others();
    let limit = getrlimit(Resource::Nofile);
    let wanted = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    let current = match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    Allowed { files: current.unwrap_or(u64::MAX) }
}
#[cfg(not(target_os = "linux"))]
pub fn prepare() -> Allowed {
    close_to_others();
    Allowed { files: FILES_UNKNOWN }
}

/// Records, keys and logs are nobody else's.
fn close_to_others() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// Keeps the kernel from rounding what the allocator touches up to 2 MiB: for some twenty threads that made 60 MiB of an
/// idle node's 5, and no query was quicker for it.
#[cfg(target_os = "linux")]
fn use_small_pages() {
    let _kernel_refuses = rustix::thread::disable_transparent_huge_pages(true);
}

impl Allowed {
    /// Errors: they are too few for a node.
    pub fn check(self) -> anyhow::Result<()> {
        match self.files < FILES_UNKNOWN {
            true => anyhow::bail!(
                "this process may have only {} files open: a node needs {FILES_UNKNOWN} or more (ulimit -n, LimitNOFILE of systemd)",
                self.files
            ),
            false => Ok(()),
        }
    }
    /// Connections of callers that leave enough for files of indices, the log and other nodes.
    pub fn connections(self) -> usize {
        let most = self.files.max(FILES_UNKNOWN) / 2;
        usize::try_from(most).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_files_are_for_connections() {
        for (files, connections) in [(0, 512), (1_024, 512), (20_000, 10_000)] {
            assert_eq!(Allowed { files }.connections(), connections);
            assert_eq!(Allowed { files }.check().is_ok(), files >= 1_024);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_limit_of_files_is_raised_as_far_as_it_goes() {
        use rustix::process::{Resource, getrlimit};
        let allowed = prepare();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert_eq!(limit.current.unwrap_or(u64::MAX), allowed.files);
    }
}
