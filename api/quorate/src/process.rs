//! What does a server ask of the kernel before it opens anything: pages, files, who may read what it writes?

/// What the process may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Files and sockets open at a time.
    pub files: u64,
    /// Bytes of address space.
    pub address_space: u64,
}

/// Files that are taken to be allowed where the kernel does not say; with fewer a node comes to a standstill over some dozens of indices.
const FILES_UNKNOWN: u64 = 1_024;

/// Bytes of address space that the threads of a node take on a machine with two processors, which use hardly any of it.
const ADDRESS_SPACE_MIN: u64 = 2_400 << 20;

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
    let address_space = getrlimit(Resource::As).current.unwrap_or(u64::MAX);
    Allowed { files: current.unwrap_or(u64::MAX), address_space }
}
#[cfg(not(target_os = "linux"))]
pub fn prepare() -> Allowed {
    close_to_others();
    Allowed { files: FILES_UNKNOWN, address_space: u64::MAX }
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
    /// Errors: it is too little for a node.
    pub fn check(self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.files >= FILES_UNKNOWN,
            "this process may have only {} files open: a node needs {FILES_UNKNOWN} or more (ulimit -n, LimitNOFILE of systemd)",
            self.files
        );
        anyhow::ensure!(
            self.address_space >= ADDRESS_SPACE_MIN,
            "this process may have only {} MiB of address space: a node needs 3 GiB or more, most of which takes no memory (ulimit -v, LimitAS of systemd)",
            self.address_space >> 20
        );
        Ok(())
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
            let allowed = Allowed { files, address_space: u64::MAX };
            assert_eq!(allowed.connections(), connections);
            assert_eq!(allowed.check().is_ok(), files >= 1_024);
            let narrow = Allowed { address_space: 1 << 30, ..allowed };
            assert!(narrow.check().is_err());
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
