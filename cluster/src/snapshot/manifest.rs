//! Which files make up a snapshot, with what tells whether one is whole.

use super::ManifestId;
use bytes::Bytes;
use quorate_model::{Error, GroupId, Result};
use quorate_store::codec::{self, Mark};
use quorate_store::layout::Layout;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

const MARK: Mark = Mark { magic: *b"QMAN", version: 1 };
/// Bytes of a manifest at most: it travels in one answer. About 120,000 files.
pub const MANIFEST_BYTES_MAX: usize = 12 << 20;
/// Bytes of a file's name at most.
const NAME_BYTES_MAX: usize = 128;

/// The files of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The snapshot.
    pub id: ManifestId,
    /// Feature level of the commands it may depend on.
    pub level: u16,
    /// The files, by path; the dump of the small state is one of them.
    pub files: Vec<FileRow>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    /// Where it is in a data folder, with `/` between the parts.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its CRC-32.
    pub crc: u32,
}

impl Manifest {
    /// The bytes. Errors: `TooLarge`.
    pub fn encode(&self) -> Result<Bytes> {
        let bytes = codec::frame(MARK, &codec::encode(self));
        match bytes.len() > MANIFEST_BYTES_MAX {
            true => Err(Error::new(
                quorate_model::ErrorKind::TooLarge,
                format!(
                    "the list of {} files takes {} bytes, at most {MANIFEST_BYTES_MAX} are allowed",
                    self.files.len(),
                    bytes.len()
                ),
            )),
            false => Ok(bytes.into()),
        }
    }
    /// Reads a manifest of another node. Errors: `Internal` when it is none, or names a file that no snapshot of its
    /// group has.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let wrong = |why: String| Error::internal(format!("the manifest of a snapshot: {why}"));
        let framed = codec::unframe(MARK, bytes).map_err(|e| wrong(e.to_string()))?;
        let manifest: Manifest =
            codec::decode(framed.payload, MANIFEST_BYTES_MAX).map_err(|e| wrong(e.to_string()))?;
        let mut paths = BTreeSet::new();
        for FileRow { path, .. } in &manifest.files {
            if !is_of_group(path, manifest.id.group) || !paths.insert(path.as_str()) {
                return Err(wrong(format!("{path:?} is not a file that it can have")));
            }
        }
        match paths.contains(dump_path(manifest.id.group).as_str()) {
            true => Ok(manifest),
            false => Err(wrong("it has no dump of the small state".into())),
        }
    }
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&FileRow> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        Some(&self.files[at])
    }
}

/// Where the dump of a group is in a data folder.
fn dump_path(group: GroupId) -> String {
    let layout = Layout::new("");
    path_text(&layout.dump(group)).unwrap_or_default()
}

/// A relative path with `/` between its parts; `None` when a part is no text.
pub fn path_text(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

/// Whether a path is one that a snapshot of the group can have: nothing outside, no other group's, nothing hidden.
fn is_of_group(path: &str, group: GroupId) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["dumps", _] => path == dump_path(group),
        ["indices", index, shard, name] => {
            let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
            index.len() == 14
                && index.bytes().all(is_hex)
                && (1..=5).contains(&shard.len())
                && shard.bytes().all(|b| b.is_ascii_digit())
                && (1..=NAME_BYTES_MAX).contains(&name.len())
                && !name.starts_with('.')
                && name.bytes().all(is_plain)
        }
        _ => false,
    }
}

/// Whether a file never changes under its name: those of segments are named by chance, and written once.
pub fn is_written_once(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    stem.len() == 32 && stem.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(paths: &[&str]) -> Manifest {
        let row = |path: &&str| FileRow { path: path.to_string(), bytes: 5, crc: 6 };
        let id = ManifestId { group: GroupId(3), index: 7, life: 9 };
        Manifest { id, level: 1, files: paths.iter().map(row).collect() }
    }

    #[test]
    fn only_files_of_the_group_are_taken() {
        let dump = "dumps/3.dump";
        let segment = "indices/00000000000a0f/0/0123456789abcdef0123456789abcdef.seg";
        let good = manifest(&[dump, segment, "indices/00000000000a0f/0/shard.manifest"]);
        assert_eq!(Manifest::decode(&good.encode().expect("small")), Ok(good.clone()));
        assert_eq!((good.bytes(), good.file(segment).map(|file| file.crc)), (15, Some(6)));
        assert_eq!(good.file("indices"), None);
        assert!(is_written_once(segment) && !is_written_once(dump));
        for path in [
            "",
            "dumps/4.dump",
            "dumps/../dumps/3.dump",
            "/etc/passwd",
            "indices/00000000000a0f/0/../x",
            "indices/00000000000a0f/0/.hidden",
            "indices/00000000000a0f/0/a/b",
            "indices/00000000000a0f/0/",
            "indices/00000000000a0f//x",
            "indices/00000000000A0F/0/x",
            "indices/../x/y",
            "indices/00000000000a0f/x/y",
            "indices/00000000000a0f/0/a\\b",
            "state/db",
            "raft/x",
            dump,
        ] {
            let bytes = manifest(&[dump, path]).encode().expect("small");
            let error = Manifest::decode(&bytes).expect_err(path);
            assert!(error.message.contains("not a file"), "{path:?}: {error}");
        }
        let without = manifest(&[segment]).encode().expect("small");
        assert!(Manifest::decode(&without).is_err_and(|e| e.message.contains("no dump")));
        assert!(Manifest::decode(b"QMAN").is_err());
    }

    #[test]
    fn a_list_that_no_answer_can_carry_is_refused() {
        let long = "x".repeat(MANIFEST_BYTES_MAX);
        assert!(manifest(&[&long]).encode().is_err_and(|e| e.message.contains("1 files")));
    }
}
