//! What is left of the folder of a process that is killed now? For tests.

use std::path::Path;
use std::time::{Duration, Instant};

/// How long a copy may be begun anew.
const PATIENCE: Duration = Duration::from_secs(20);

/// Copies a folder with all it holds: what a process leaves that is killed now.
///
/// The process goes on meanwhile, so what relies on other files is copied before them: the metadata store says which files are
/// there, and the log has what both lack. When a file is removed under the copy, it is begun anew.
pub fn copy_folder(from: &Path, to: &Path) {
    let end = Instant::now() + PATIENCE;
    loop {
        match try_copy(from, to) {
            Ok(()) => return,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && Instant::now() < end => {
                std::fs::remove_dir_all(to).expect("a half copy can be removed");
            }
            Err(e) => panic!("{} cannot be copied: {e}", from.display()),
        }
    }
}

fn try_copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    let entries = std::fs::read_dir(from)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort_by_key(|path| match path.file_name().and_then(|name| name.to_str()) {
        Some("state") => 0,
        Some("raft") => 2,
        Some(_) | None => 1,
    });
    for path in paths {
        let target = to.join(path.file_name().expect("an entry has a name"));
        match path.is_dir() {
            true => try_copy(&path, &target)?,
            false => drop(std::fs::copy(&path, target)?),
        }
    }
    Ok(())
}
