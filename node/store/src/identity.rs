//! Who this node is: the data folder's lock, the member's UUID, the application id.

use crate::error::{Result, StoreError};
use crate::files::{Files, RealFiles};
use crate::layout::Layout;
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// A data folder that this process, and no other, uses. Dropping it lets the next one in.
#[derive(Debug)]
pub struct DataFolder {
    layout: Layout,
    files: Arc<dyn Files>,
    node_id: Uuid,
    _lock: File,
}

/// Lets only the owner of a new folder in, and nobody else write to one that was there before: keys are sent to the address in it.
#[cfg(unix)]
fn close_to_others(root: &Path, is_new: bool) -> std::io::Result<()> {
    take_bits(root, if is_new { OF_OTHERS } else { 0o022 })
}
/// What others may do by a mode.
#[cfg(unix)]
const OF_OTHERS: u32 = 0o077;
/// Takes these bits of a mode away.
#[cfg(unix)]
fn take_bits(path: &Path, bits: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path)?.permissions().mode() & 0o7777;
    match mode & bits == 0 {
        true => Ok(()),
        false => std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & !bits)),
    }
}

/// Lets nobody but the owner read what is in a folder that others were let into before, and closes the folder itself last: a
/// start that breaks off here begins anew. Nobody else may write to it any more, so that nothing becomes a link meanwhile.
///
/// Errors: what the first says that cannot be closed; all others are closed all the same. Cost: a look at each file, once.
#[cfg(unix)]
fn close_all(root: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(root)?.permissions().mode() & OF_OTHERS == 0 {
        return Ok(());
    }
    let (mut folders, mut outcome) = (vec![root.to_path_buf()], Ok(()));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            // a folder first, for the same reason
            let closed = if kind.is_symlink() { Ok(()) } else { take_bits(&entry.path(), OF_OTHERS) };
            match kind.is_dir() && closed.is_ok() {
                true => folders.push(entry.path()),
                false => outcome = outcome.and(closed),
            }
        }
    }
    outcome.and(take_bits(root, OF_OTHERS))
}

/// Folders have no mode here.
#[cfg(not(unix))]
fn close_to_others(_root: &Path, _is_new: bool) -> std::io::Result<()> {
    Ok(())
}
#[cfg(not(unix))]
fn close_all(_root: &Path) -> std::io::Result<()> {
    Ok(())
}

/// What belongs to somebody else cannot be closed, and is told: a volume that was mounted for this process may be such.
fn told(closed: std::io::Result<()>, root: &Path) -> Result<()> {
    match closed {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            tracing::warn!(folder = %root.display(), "others may get into the data folder, where something belongs to another user");
            Ok(())
        }
        closed => closed.map_err(|e| StoreError::io("set the mode of", root, e)),
    }
}

impl DataFolder {
    /// Locks and prepares the folder, making or upgrading it as needed.
    ///
    /// Errors: `InUse` while another process has it; `TooNew`; `NotOurs`; `Io`.
    pub fn open(root: &Path) -> Result<DataFolder> {
        let files = RealFiles::shared();
        let layout = Layout::new(root);
        let is_new = !root.exists();
        files.create_dir_durable(root).map_err(|e| StoreError::io("create", root, e))?;
        told(close_to_others(root, is_new), root)?;
        let lock = lock(&layout)?;
        layout.prepare(&*files)?;
        told(close_all(root), root)?;
        let node_id = read_or_make_node_id(&layout, &*files)?;
        Ok(DataFolder { layout, files, node_id, _lock: lock })
    }
    /// Where everything in it is.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// The file layer it is written through.
    pub fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }
    /// The member's identity: a file, never an address.
    pub fn node_id(&self) -> Uuid {
        self.node_id
    }
    /// The application id, once there is one.
    pub fn app_id(&self) -> Result<Option<String>> {
        read_line(&self.layout.app_id())
    }
    /// Sets the application id at the first start.
    ///
    /// Errors: `OtherApp` when the folder has another one.
    pub fn set_app_id(&self, app_id: &str) -> Result<()> {
        match self.app_id()? {
            Some(kept) if kept == app_id => Ok(()),
            Some(kept) => Err(StoreError::OtherApp {
                path: self.layout.root().to_path_buf(),
                kept,
                asked: app_id.to_string(),
            }),
            None => write_line(&self.layout.app_id(), app_id, &*self.files),
        }
    }
    /// The join token in the folder.
    pub fn join_token(&self) -> Result<Option<String>> {
        read_line(&self.layout.join_token())
    }
    /// Puts the join token into its file, which only the owner may read.
    pub fn set_join_token(&self, token: &str) -> Result<()> {
        write_private_line(&self.layout.join_token(), token, &*self.files)
    }
    /// Notes the bound address of the server, for tools and tests on this machine.
    pub fn set_address(&self, address: &str) -> Result<()> {
        write_line(&self.layout.address(), address, &*self.files)
    }
    /// Takes the note of the address away: at the start, because it is the last process's, and at the end.
    pub fn clear_address(&self) -> Result<()> {
        let path = self.layout.address();
        match self.files.remove(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io("remove", &path, e)),
            _ => Ok(()),
        }
    }
}

/// How often the lock is tried, and the pause between.
const LOCK_ATTEMPTS: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

fn lock(layout: &Layout) -> Result<File> {
    let path = layout.lock();
    let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    let mut file = file.map_err(|e| StoreError::io("open", &path, e))?;
    for attempt in 1.. {
        match file.try_lock() {
            Ok(()) => break,
            // a command looks for a moment whether somebody has it, and a process that was killed lets go of it when its memory is gone
            Err(TryLockError::WouldBlock) if attempt < LOCK_ATTEMPTS => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => {
                let mut process = String::new();
                let _it_may_not_say = file.read_to_string(&mut process);
                // of an earlier program that has it the lock says nothing, and in a container it may be the own number
                let process = process.trim().parse().ok().filter(|id| *id != std::process::id());
                return Err(StoreError::InUse { path: layout.root().to_path_buf(), process });
            }
            Err(TryLockError::Error(e)) => return Err(StoreError::io("lock", &path, e)),
        }
    }
    // for whoever wants to know who has the folder; a full disk may take it
    let _it_says_nothing = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

fn read_or_make_node_id(layout: &Layout, files: &dyn Files) -> Result<Uuid> {
    let path = layout.node_id();
    match read_line(&path)? {
        Some(text) => {
            Uuid::parse_str(&text).map_err(|_| StoreError::damaged(path.display().to_string(), "not a UUID"))
        }
        None if path.exists() => Err(StoreError::damaged(path.display().to_string(), "it is empty")),
        None => {
            let id = Uuid::new_v4();
            write_line(&path, &id.to_string(), files)?;
            Ok(id)
        }
    }
}

/// The one line of a file, without surrounding blanks. `None` when the file is missing or empty.
pub(crate) fn read_line(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_string()).filter(|line| !line.is_empty())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(StoreError::io("read", path, e)),
    }
}

fn write_line(path: &Path, line: &str, files: &dyn Files) -> Result<()> {
    files.write_atomic(path, format!("{line}\n").as_bytes()).map_err(|e| StoreError::io("write", path, e))
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private_line(path: &Path, line: &str, files: &dyn Files) -> Result<()> {
    let line = format!("{line}\n");
    files.write_atomic_private(path, line.as_bytes()).map_err(|e| StoreError::io("write", path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_somebody_looks_at_for_a_moment_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        drop(DataFolder::open(dir.path()).unwrap());
        let lock = File::open(Layout::new(dir.path()).lock()).unwrap();
        lock.lock_shared().unwrap();
        std::thread::scope(|scope| {
            let opened = scope.spawn(|| DataFolder::open(dir.path()).map(drop));
            std::thread::sleep(LOCK_PAUSE);
            lock.unlock().unwrap();
            opened.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_second_user_of_the_folder_is_refused_until_the_first_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataFolder::open(dir.path()).unwrap();
        let refused = DataFolder::open(dir.path()).unwrap_err();
        assert!(matches!(refused, StoreError::InUse { .. }));
        assert_eq!(
            std::fs::read_to_string(first.layout().lock()).unwrap(),
            format!("{}\n", std::process::id())
        );
        assert!(refused.to_string().contains(dir.path().to_str().unwrap()), "{refused}");
        assert!(
            refused.to_string().contains("another process: stop"),
            "the own number names nobody: {refused}"
        );
        std::fs::write(first.layout().lock(), "4000000\n").unwrap();
        let refused = DataFolder::open(dir.path()).unwrap_err();
        assert!(refused.to_string().contains("another process (its lock names 4000000): stop"), "{refused}");
        let id = first.node_id();
        drop(first);
        assert_eq!(DataFolder::open(dir.path()).unwrap().node_id(), id, "the identity stays");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_and_all_in_it_is_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("data");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        drop(DataFolder::open(&root).unwrap());
        assert_eq!(mode(&root), 0o700);
        let layout = Layout::new(&root);
        let (folder, outside) = (layout.index(7), dir.path().join("outside"));
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("file");
        for path in [&file, &outside] {
            std::fs::write(path, "words").unwrap();
        }
        std::os::unix::fs::symlink(&outside, folder.join("link")).unwrap();
        for (of_root, of_folder, of_file) in
            [(0o755, 0o755, 0o644), (0o2775, 0o777, 0o666), (0o750, 0o710, 0o440)]
        {
            set(&root, of_root);
            set(&folder, of_folder);
            set(&file, of_file);
            set(&outside, 0o644);
            drop(DataFolder::open(&root).unwrap());
            assert_eq!(mode(&root), of_root & 0o7700);
            assert_eq!((mode(&folder), mode(&file)), (0o700, of_file & 0o700));
            assert_eq!(mode(&layout.format()) & 0o077, 0);
            assert_eq!(mode(&outside), 0o644, "what is not in it stays");
        }
        // nothing is changed in a folder that is no data folder
        let foreign = dir.path().join("foreign");
        std::fs::create_dir(&foreign).unwrap();
        std::fs::write(foreign.join("letter"), "words").unwrap();
        set(&foreign, 0o755);
        set(&foreign.join("letter"), 0o644);
        assert!(DataFolder::open(&foreign).is_err());
        assert_eq!((mode(&foreign), mode(&foreign.join("letter"))), (0o755, 0o644));
    }

    #[test]
    fn the_application_id_stays() {
        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(dir.path()).unwrap();
        assert_eq!(folder.app_id().unwrap(), None);
        folder.set_app_id("SHOP").unwrap();
        folder.set_app_id("SHOP").unwrap();
        let text = folder.set_app_id("OTHER").unwrap_err().to_string();
        assert!(text.contains("SHOP") && text.contains("OTHER"), "{text}");
        folder.set_address("127.0.0.1:7700").unwrap();
        folder.clear_address().unwrap();
        folder.clear_address().unwrap();
        assert!(!folder.layout().address().exists());
    }

    #[test]
    fn a_damaged_node_id_is_an_error_not_a_new_identity() {
        let dir = tempfile::tempdir().unwrap();
        drop(DataFolder::open(dir.path()).unwrap());
        std::fs::write(Layout::new(dir.path()).node_id(), "nonsense").unwrap();
        assert!(matches!(DataFolder::open(dir.path()), Err(StoreError::Damaged { .. })));
    }
}
