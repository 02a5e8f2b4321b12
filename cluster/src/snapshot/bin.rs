//! Where do folders of links go that are not needed any more? Out of the way at once, and off the disk on a thread of its own: a
//! snapshot of many indices has more names than an apply thread, or a start, may wait for.

use parking_lot::Mutex;
use quorate_store::files::Files;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Removes folders. Cheap to clone.
#[derive(Clone)]
pub(super) struct Bin(Arc<Shared>);

struct Shared {
    files: Arc<dyn Files>,
    /// Where they wait for that.
    folder: PathBuf,
    /// Tells this start of the node from others.
    life: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Folders so far.
    count: u64,
    is_emptied: bool,
}

impl Bin {
    /// A bin whose folder is `folder`, on the file system of those that go there. What an earlier start has left goes with the first.
    pub fn new(files: Arc<dyn Files>, folder: PathBuf, life: u64) -> Bin {
        Bin(Arc::new(Shared { files, folder, life, state: Mutex::default() }))
    }
    /// Removes a folder, if there is one: there is none of this name on return. What cannot be removed is left to the next start.
    pub fn throw(&self, folder: &Path) {
        let mut state = self.0.state.lock();
        state.count += 1;
        let to = self.0.folder.join(format!("{:016x}-{}", self.0.life, state.count));
        match self.0.take_away(folder, &to) {
            Ok(()) if !state.is_emptied => {
                let shared = self.0.clone();
                let begun = std::thread::Builder::new().name("old-snapshots".into());
                match begun.spawn(move || shared.empty()) {
                    Ok(_ends_by_itself) => state.is_emptied = true,
                    Err(error) => tracing::warn!(%error, "cannot start a thread that removes old snapshots"),
                }
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, folder = %folder.display(), "cannot remove an old snapshot");
            }
            Ok(()) | Err(_) => {}
        }
    }
    /// Whether nothing is being removed.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        !self.0.state.lock().is_emptied
    }
}

impl Shared {
    fn take_away(&self, folder: &Path, to: &Path) -> io::Result<()> {
        if !self.files.exists(folder)? {
            return Ok(());
        }
        self.files.create_dir_all(&self.folder)?;
        self.files.rename(folder, to)
    }
    /// Removes what is here, and what comes meanwhile.
    fn empty(&self) {
        let mut failed = BTreeSet::new();
        loop {
            let mut next = None;
            if let Ok(entries) = std::fs::read_dir(&self.folder) {
                next = entries.flatten().map(|entry| entry.path()).find(|path| !failed.contains(path));
            }
            let Some(path) = next else {
                let mut state = self.state.lock();
                // one that came behind the look just now has found this thread at work
                let is_new = |path: PathBuf| !failed.contains(&path);
                let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
                if entries.map(|entry| entry.path()).any(is_new) {
                    continue;
                }
                state.is_emptied = false;
                return;
            };
            if let Err(error) = self.files.remove_dir_all(&path) {
                tracing::warn!(%error, folder = %path.display(), "cannot remove an old snapshot");
                failed.insert(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_store::files::RealFiles;
    use std::time::{Duration, Instant};

    #[test]
    fn folders_are_out_of_the_way_at_once_and_gone_after_a_while() {
        let root = tempfile::tempdir().unwrap();
        let bin = Bin::new(RealFiles::shared(), root.path().join("gone"), 7);
        let left = root.path().join("gone/0000000000000006-1");
        std::fs::create_dir_all(left.join("of an earlier start")).unwrap();
        bin.throw(&root.path().join("nothing"));
        for _ in 0..3 {
            let folder = root.path().join("a");
            for n in 0..50 {
                std::fs::create_dir_all(folder.join(n.to_string())).unwrap();
            }
            bin.throw(&folder);
            assert!(!folder.exists());
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while !bin.is_empty() {
            assert!(Instant::now() < deadline, "the bin is not emptied");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(std::fs::read_dir(root.path().join("gone")).unwrap().count(), 0);
    }
}
