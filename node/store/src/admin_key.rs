//! Where does a node keep the admin key, and which one was it given last?

use crate::error::Result;
use crate::files::Files;
use crate::identity::{read_line, write_private_line};
use crate::layout::Layout;
use std::fmt::Write as _;
use std::sync::Arc;

/// Version of the note, its first word.
const FORMAT: &str = "1";

/// The two files of a data folder that the admin key is about.
#[derive(Clone, Debug)]
pub struct AdminKeyFiles {
    layout: Layout,
    files: Arc<dyn Files>,
}

/// What a node was told about the admin key, by its digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// SHA-256 of the key that the last start had which was given one; `None` = none was given yet.
    pub digest: Option<[u8; 32]>,
    /// It is wished for in the place of the key of this revision, and it is not known yet what came of that.
    pub replaces: Option<u64>,
}

impl AdminKeyFiles {
    /// Those of a folder.
    pub fn new(layout: Layout, files: Arc<dyn Files>) -> Self {
        AdminKeyFiles { layout, files }
    }
    /// The admin key in the folder.
    pub fn key(&self) -> Result<Option<String>> {
        read_line(&self.layout.admin_key())
    }
    /// Puts the admin key into its file, durably and whole; only the owner may read it.
    pub fn set_key(&self, key: &str) -> Result<()> {
        write_private_line(&self.layout.admin_key(), key, &*self.files)
    }
    /// What was noted last; `None` when nothing was, or nothing that can be read.
    pub fn given(&self) -> Result<Option<Given>> {
        Ok(read_line(&self.layout.admin_key_given())?.as_deref().and_then(parse))
    }
    /// Notes what the node was given, durably; only the owner may read it.
    pub fn set_given(&self, given: Given) -> Result<()> {
        write_private_line(&self.layout.admin_key_given(), &line(given), &*self.files)
    }
}

/// `1 DIGEST REVISION`, with `-` for what there is not.
fn line(given: Given) -> String {
    let mut line = format!("{FORMAT} ");
    match given.digest {
        Some(digest) => {
            digest.iter().for_each(|byte| write!(line, "{byte:02x}").expect("writing to a string"))
        }
        None => line.push('-'),
    }
    let revision = given.replaces.map_or_else(|| "-".to_owned(), |revision| revision.to_string());
    line + " " + &revision
}

fn parse(line: &str) -> Option<Given> {
    let words: Vec<&str> = line.split(' ').collect();
    let [FORMAT, digest, revision] = words[..] else { return None };
    let digest = match digest {
        "-" => None,
        digest => Some(bytes_of(digest)?),
    };
    let replaces = match revision {
        "-" => None,
        revision => Some(revision.parse().ok()?),
    };
    Some(Given { digest, replaces })
}

fn bytes_of(hex: &str) -> Option<[u8; 32]> {
    let byte = |at: usize| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
    bytes.filter(|_| hex.len() == 64)?.try_into().ok()
}

impl From<&crate::identity::DataFolder> for AdminKeyFiles {
    fn from(folder: &crate::identity::DataFolder) -> Self {
        AdminKeyFiles::new(folder.layout().clone(), folder.files().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::RealFiles;

    #[test]
    fn what_was_given_is_read_as_it_was_noted() {
        let dir = tempfile::tempdir().unwrap();
        let files = AdminKeyFiles::new(Layout::new(dir.path()), RealFiles::shared());
        assert_eq!((files.given().unwrap(), files.key().unwrap()), (None, None));
        for given in [
            Given::default(),
            Given { digest: Some([0xa7; 32]), replaces: None },
            Given { digest: Some([9; 32]), replaces: Some(u64::MAX) },
        ] {
            files.set_given(given).unwrap();
            assert_eq!(files.given().unwrap(), Some(given));
        }
        let golden = format!("1 {} 7", "0b".repeat(32));
        assert_eq!(line(Given { digest: Some([11; 32]), replaces: Some(7) }), golden);
        for damaged in ["", "1", "1 - x", "2 - -", "1 0b -", "1 - - -", &golden.replace("0b0b", "0x0b")] {
            std::fs::write(dir.path().join("admin-key-given"), damaged).unwrap();
            assert_eq!(files.given().unwrap(), None, "{damaged}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_the_admin_key() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let files = AdminKeyFiles::new(layout.clone(), RealFiles::shared());
        for key in ["first", "second"] {
            files.set_key(key).unwrap();
            assert_eq!(files.key().unwrap().as_deref(), Some(key));
        }
        files.set_given(Given::default()).unwrap();
        for path in [layout.admin_key(), layout.admin_key_given()] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
