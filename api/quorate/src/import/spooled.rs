//! What is no regular file, such as standard input or a pipe, is copied into one first: an import looks at its file several times.

use anyhow::{Context, Result, bail};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A copy, which goes when it is dropped.
pub struct Spooled(PathBuf);

impl Spooled {
    /// A copy of what `given` names, `-` being standard input; `None` for a regular file.
    pub fn of(given: &Path) -> Result<Option<Spooled>> {
        if given.is_file() || (given != Path::new("-") && !given.exists()) {
            return Ok(None);
        }
        if given.is_dir() {
            bail!("{} is a folder, expected a file", given.display());
        }
        let mut from: Box<dyn Read> = match given == Path::new("-") {
            true => Box::new(std::io::stdin().lock()),
            false => Box::new(File::open(given).with_context(|| format!("cannot open {}", given.display()))?),
        };
        let path = std::env::temp_dir().join(format!("quorate-import-{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let cannot = || format!("cannot copy {} to {}", given.display(), path.display());
        let mut to = options.open(&path).with_context(cannot)?;
        let spooled = Spooled(path.clone());
        std::io::copy(&mut from, &mut to).with_context(cannot)?;
        Ok(Some(spooled))
    }
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}
impl Drop for Spooled {
    fn drop(&mut self) {
        // what stays behind is in a folder for such files
        let _ = std::fs::remove_file(&self.0);
    }
}
