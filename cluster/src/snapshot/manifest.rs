//! Which files make up a snapshot, with what tells whether one is whole.
//!
//! A short list travels in one answer. Of a long one the answer is a [`ManifestHead`], and the list is fetched in pieces like
//! a file, under the name [`MANIFEST_FILE`].

use super::{CHUNK_BYTES, ManifestId};
use bytes::Bytes;
use quorate_model::{Error, GroupId, Result};
use quorate_store::codec::{self, Mark};
use quorate_store::layout::{self, Layout};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

const MARK: Mark = Mark { magic: *b"QMAN", version: 1 };
const HEAD_MARK: Mark = Mark { magic: *b"QMHD", version: 1 };
/// Bytes of a manifest at most: some 2,000,000 files.
pub const MANIFEST_BYTES_MAX: usize = 128 << 20;
/// Bytes of a manifest that travels in one answer, as every program reads it; a longer one is fetched in pieces.
pub const MANIFEST_AT_ONCE_BYTES: usize = 12 << 20;
/// What a manifest is called when it is fetched like a file; no file of a snapshot has this name.
pub const MANIFEST_FILE: &str = "manifest";
const HEAD_BYTES_MAX: usize = 64;
/// Bytes of a file's name at most.
const NAME_BYTES_MAX: usize = 128;

/// The files of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The snapshot.
    pub id: ManifestId,
    /// Feature level of the commands it may depend on.
    pub level: u16,
    /// The files, by path; the dump of the metadata store is one of them.
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

/// Stands for a manifest that is too long for one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestHead {
    /// The snapshot.
    pub id: ManifestId,
    /// Bytes of the manifest.
    pub bytes: u64,
}

/// What a node answers when it is asked for a manifest.
#[derive(Debug)]
pub enum ManifestAnswer {
    /// The list.
    Whole(Manifest),
    /// The list is to be fetched in pieces.
    InPieces(ManifestHead),
}

impl ManifestAnswer {
    /// The bytes of the answer for an encoded manifest: itself, or its head when it has more than `at_once` bytes.
    pub fn encode(id: ManifestId, manifest: Bytes, at_once: usize) -> Bytes {
        if manifest.len() <= at_once {
            return manifest;
        }
        codec::frame(HEAD_MARK, &codec::encode(&ManifestHead { id, bytes: manifest.len() as u64 })).into()
    }
    /// Reads an answer of another node. Errors: `Internal` as [`Manifest::decode`], or when the list would be longer than one
    /// may be.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let Ok(framed) = codec::unframe(HEAD_MARK, bytes) else {
            return Manifest::decode(bytes).map(ManifestAnswer::Whole);
        };
        let wrong = |why: String| Error::internal(format!("the head of a manifest: {why}"));
        let head: ManifestHead =
            codec::decode(framed.payload, HEAD_BYTES_MAX).map_err(|e| wrong(e.to_string()))?;
        match head.bytes > MANIFEST_BYTES_MAX as u64 {
            true => Err(wrong(format!("{} bytes, at most {MANIFEST_BYTES_MAX} are allowed", head.bytes))),
            false => Ok(ManifestAnswer::InPieces(head)),
        }
    }
}

impl ManifestHead {
    /// Fetches the manifest with `piece`, which is given where a piece begins and how long it is.
    ///
    /// Errors: those of `piece`; `Internal` when the pieces are no manifest of this snapshot.
    pub fn fetch<E: From<Error>>(
        &self,
        mut piece: impl FnMut(u64, u32) -> std::result::Result<Bytes, E>,
    ) -> std::result::Result<Manifest, E> {
        let wrong = |why: &str| E::from(Error::internal(format!("the manifest of a snapshot: {why}")));
        let mut bytes = Vec::with_capacity(self.bytes as usize);
        while (bytes.len() as u64) < self.bytes {
            let offset = bytes.len() as u64;
            let most = (self.bytes - offset).min(CHUNK_BYTES as u64) as u32;
            let arrived = piece(offset, most)?;
            if arrived.is_empty() || arrived.len() > most as usize {
                return Err(wrong("its pieces are not as long as it"));
            }
            bytes.extend_from_slice(&arrived);
        }
        let manifest = Manifest::decode(&bytes)?;
        match manifest.id == self.id {
            true => Ok(manifest),
            false => Err(wrong("it is that of another one")),
        }
    }
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
            false => Err(wrong("it has no dump of the metadata store".into())),
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
    let is_plain = |name: &str| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_plain)
    };
    match parts[..] {
        ["dumps", _] => path == dump_path(group),
        ["indices", index, shard, name] => {
            let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            index.len() == 14
                && index.bytes().all(is_hex)
                && (1..=5).contains(&shard.len())
                && shard.bytes().all(|b| b.is_ascii_digit())
                && is_plain(name)
        }
        ["events", of, "manifest"] => of == group.to_string(),
        ["events", of, models, folder, name] => {
            let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            of == group.to_string()
                && models == layout::MODELS
                && folder.len() == 32
                && folder.bytes().all(is_hex)
                && is_plain(name)
        }
        ["events", of, day, name] => {
            let is_day = |b: u8| b.is_ascii_digit() || b == b'-';
            of == group.to_string() && day.len() == 10 && day.bytes().all(is_day) && is_plain(name)
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
        let events = [
            "events/3/2026-11-22/14-000031.parquet",
            "events/3/manifest",
            "events/3/models/0123456789abcdef0123456789abcdef/related-products-7.mdl",
        ];
        let good = [&[dump][..], &events, &[segment, "indices/00000000000a0f/0/shard.manifest"]].concat();
        let good = manifest(&good);
        assert_eq!(Manifest::decode(&good.encode().expect("small")), Ok(good.clone()));
        assert_eq!((good.bytes(), good.file(segment).map(|file| file.crc)), (30, Some(6)));
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
            "events/4/manifest",
            "events/3/other",
            "events/3/../../x",
            "events/3/2026-11-22/.hidden",
            "events/3/2026-11-22/a/b",
            "events/3/yesterday!/x",
            "events/4/models/0123456789abcdef0123456789abcdef/a.mdl",
            "events/3/models/0123456789abcdef/a.mdl",
            "events/3/models/../a.mdl",
            "events/3/models/0123456789abcdef0123456789abcdef/../a.mdl",
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

    /// The answer for a manifest with this many segments beside its dump.
    fn long(segments: usize) -> (Manifest, Bytes) {
        let mut paths = vec!["dumps/3.dump".to_string()];
        paths.extend((0..segments).map(|n| format!("indices/{:014x}/0/{n:032x}.seg", n / 8)));
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let manifest = manifest(&paths);
        let bytes = manifest.encode().expect("not too many");
        (manifest, bytes)
    }

    #[test]
    fn a_long_list_comes_in_pieces_and_is_the_same() {
        let (short, bytes) = long(10);
        let answer = ManifestAnswer::encode(short.id, bytes.clone(), MANIFEST_AT_ONCE_BYTES);
        assert_eq!(answer, bytes, "every program reads it");
        assert!(matches!(ManifestAnswer::decode(&answer), Ok(ManifestAnswer::Whole(read)) if read == short));
        // 25,000 indices of eight files
        let (many, bytes) = long(200_000);
        let answer = ManifestAnswer::encode(many.id, bytes.clone(), MANIFEST_AT_ONCE_BYTES);
        assert!(answer.len() < 100, "{} bytes", answer.len());
        let Ok(ManifestAnswer::InPieces(head)) = ManifestAnswer::decode(&answer) else {
            panic!("{answer:?}")
        };
        let piece = |offset: u64, length: u32| {
            let end = (offset as usize + length as usize).min(bytes.len());
            Ok::<_, Error>(bytes.slice(offset as usize..end))
        };
        assert_eq!(head.fetch(piece), Ok(many.clone()));
        // one that is cut short, one that gives too much, one with a wrong bit, and another snapshot's
        let end = bytes.len() as u64 / 2;
        let cut = |offset, length| if offset > end { Ok(Bytes::new()) } else { piece(offset, length) };
        assert!(head.fetch::<Error>(cut).is_err_and(|e| e.message.contains("as long as it")));
        let more = |offset, length| piece(offset, length + 1);
        assert!(head.fetch::<Error>(more).is_err_and(|e| e.message.contains("as long as it")));
        let wrong = |offset, length| piece(offset, length).map(|it| it.iter().map(|b| b ^ 1).collect());
        assert!(head.fetch::<Error>(wrong).is_err());
        let other = ManifestHead { id: ManifestId { index: 8, ..head.id }, ..head };
        assert!(other.fetch(piece).is_err_and(|e| e.message.contains("another one")));
        let endless = ManifestHead { bytes: 1 << 40, ..head };
        let endless = codec::frame(HEAD_MARK, &codec::encode(&endless));
        assert!(ManifestAnswer::decode(&endless).is_err_and(|e| e.message.contains("at most")));
    }
}
