//! Which segments make up the durable state of a shard: one small file, replaced atomically.

use super::error::{IndexError, Result};
use crate::analysis::Schema;
use crate::language::Dictionaries;
use quorate_model::Settings;
use quorate_store::files::Files;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Name of the file in a shard's folder.
pub(crate) const MANIFEST: &str = "shard.manifest";
const VERSION: u32 = 1;
const WORD: &str = "quorate-shard";

/// What the caller knows about a durable state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// Log index up to which operations are in the state.
    pub applied: u64,
    /// Term of that log entry.
    pub term: u64,
    /// How many steps of that command are in the state, for one that takes several. `None`: a program made it that did not
    /// count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
}

/// How the records of a durable state were analysed: files of another schema are served with this one until they are
/// rebuilt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    /// Fingerprint of the schema, as of the version that built the files.
    pub fingerprint: u64,
    /// The settings document.
    pub settings: Map<String, Value>,
    /// Milliseconds that the last rebuild of all records took; 0 = there was none.
    pub build_ms: u64,
}
impl Built {
    /// Files that are analysed with this schema from the first record on.
    pub fn with(schema: &Schema) -> Built {
        Built { fingerprint: schema.fingerprint(), settings: schema.settings().document.clone(), build_ms: 0 }
    }
    /// Notes that segments are added which this schema analyses. Where it takes compounds apart in another way than the segments
    /// that are there, no schema fits all of them: the files have to be rebuilt, also when the dictionaries change back.
    pub(super) fn write_with(&mut self, schema: &Schema) {
        if self.fingerprint != schema.fingerprint() {
            self.fingerprint = self.fingerprint.rotate_left(32) ^ schema.fingerprint();
        }
    }
    /// The settings, parsed, with the dictionaries of now: those that the files were built with are not kept, a rebuild for the
    /// newest ones is on its way. Errors: `Damaged` when they are not valid.
    pub fn schema(&self, dir: &Path, now: &Arc<Dictionaries>) -> Result<Schema> {
        let settings = Settings::from_document(&self.settings);
        let settings = settings.map_err(|e| IndexError::damaged(&dir.join(MANIFEST), e.to_string()))?;
        Ok(Schema::new(Arc::new(settings), now.clone()))
    }
}

/// The durable state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The caller's part.
    pub payload: Payload,
    /// How its records were analysed.
    pub built: Built,
    /// Its segments.
    pub segments: Vec<SegmentRow>,
}
/// One segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentRow {
    /// Stem of its files.
    pub name: String,
    /// Documents, dead ones included.
    pub docs: u32,
    /// Dead ones among them.
    pub dead: u32,
    /// Bytes of the raw records, dead ones included.
    pub record_bytes: u64,
    /// Its files with their lengths, the file of live documents among them.
    pub files: Vec<(String, u64)>,
    /// The file of live documents, when some are dead.
    pub alive: Option<String>,
}

/// How much a shard holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardFigures {
    /// Live records.
    pub records: u64,
    /// Bytes of the raw records; dead ones count until they are merged away.
    pub data_bytes: u64,
    /// Bytes of all files of the segments.
    pub file_bytes: u64,
}

impl Manifest {
    /// What the state holds, as a view opened from it would say.
    pub fn figures(&self) -> ShardFigures {
        let mut figures = ShardFigures::default();
        for row in self.segments.iter().filter(|row| row.docs > row.dead) {
            figures.records += u64::from(row.docs - row.dead);
            figures.data_bytes += row.record_bytes;
            figures.file_bytes += row.files.iter().map(|(_, length)| length).sum::<u64>();
        }
        figures
    }
    /// Reads the manifest of a folder; `None` when there is none.
    pub fn load(dir: &Path) -> Result<Option<Manifest>> {
        let path = dir.join(MANIFEST);
        let text = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(IndexError::io(&path, e)),
        };
        Self::parse(&path, &text).map(Some)
    }
    fn parse(path: &Path, text: &[u8]) -> Result<Manifest> {
        let damaged = |what: &str| IndexError::damaged(path, what);
        let end = text.iter().position(|&b| b == b'\n').ok_or_else(|| damaged("no header line"))?;
        let header = std::str::from_utf8(&text[..end]).map_err(|_| damaged("no header line"))?;
        let mut words = header.split(' ');
        if words.next() != Some(WORD) {
            return Err(damaged("not a manifest"));
        }
        let version: u32 = words.next().and_then(|v| v.parse().ok()).ok_or_else(|| damaged("no version"))?;
        let crc = words.next().and_then(|c| u32::from_str_radix(c, 16).ok());
        let body = &text[end + 1..];
        let fits = crc == Some(crc32fast::hash(body));
        if version > VERSION && !fits {
            return Err(IndexError::NewerFormat { path: path.into(), found: version, known: VERSION });
        }
        // later versions put their number into the checksum: where it is that of the body alone, the number has changed
        if version > VERSION {
            return Err(damaged("its version"));
        }
        if !fits {
            return Err(damaged("checksum"));
        }
        serde_json::from_slice(body).map_err(|e| damaged(&e.to_string()))
    }
    fn text(&self) -> Vec<u8> {
        let body = serde_json::to_vec(self).expect("a manifest has only strings and numbers");
        let mut text = format!("{WORD} {VERSION} {:08x}\n", crc32fast::hash(&body)).into_bytes();
        text.extend_from_slice(&body);
        text
    }
    /// Replaces the manifest of a folder; durable on return.
    pub fn store(&self, dir: &Path, files: &dyn Files) -> Result<()> {
        let path = dir.join(MANIFEST);
        files.write_atomic(&path, &self.text()).map_err(|e| IndexError::io(&path, e))
    }
    /// Makes this, the durable state of `from`, also that of `dir`, by hard links; the manifest is the last of them.
    pub fn link_into(&self, from: &Path, dir: &Path, files: &dyn Files) -> Result<()> {
        files.create_dir_durable(dir).map_err(|e| IndexError::io(dir, e))?;
        self.link_files(from, dir, files)?;
        files.sync_dir(dir).map_err(|e| IndexError::io(dir, e))?;
        self.store(dir, files)
    }
    /// As [`Self::link_into`] for a folder that nobody looks for after a power cut: the disk is not waited for, which takes many
    /// times as long as the links of a small shard. The manifest of `from` must be this one, and is linked, too.
    pub fn lend_to(&self, from: &Path, dir: &Path, files: &dyn Files) -> Result<()> {
        files.create_dir_all(dir).map_err(|e| IndexError::io(dir, e))?;
        self.link_files(from, dir, files)?;
        // one that is there already says what is in the folder: files of another state
        let to = dir.join(MANIFEST);
        files.hard_link(&from.join(MANIFEST), &to).map_err(|e| IndexError::io(&to, e))
    }
    fn link_files(&self, from: &Path, dir: &Path, files: &dyn Files) -> Result<()> {
        self.file_names().try_for_each(|name| link(&from.join(name), &dir.join(name), files))
    }
    /// Names of all files of the state.
    pub fn file_names(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().flat_map(|s| s.files.iter().map(|(name, _)| name.as_str()))
    }
}

/// Links a segment file, whose name tells it from all others.
fn link(from: &Path, to: &Path, files: &dyn Files) -> Result<()> {
    match files.hard_link(from, to) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(IndexError::io(to, e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_frozen_and_checked() {
        let manifest = Manifest {
            payload: Payload { applied: 7, term: 2, step: None },
            built: Built {
                fingerprint: 9,
                settings: Map::from_iter([("hitsPerPage".into(), 5.into())]),
                build_ms: 6,
            },
            segments: vec![SegmentRow {
                name: "a".into(),
                docs: 3,
                dead: 1,
                record_bytes: 40,
                files: vec![("a.seg".into(), 10)],
                alive: Some("a.1.alive".into()),
            }],
        };
        let text = manifest.text();
        let golden = "quorate-shard 1 1964f55c\n{\"payload\":{\"applied\":7,\"term\":2},\"built\":{\"fingerprint\":9,\"settings\":{\"hitsPerPage\":5},\"build_ms\":6},\"segments\":[{\"name\":\"a\",\"docs\":3,\"dead\":1,\"record_bytes\":40,\"files\":[[\"a.seg\",10]],\"alive\":\"a.1.alive\"}]}";
        assert_eq!(String::from_utf8(text.clone()).unwrap(), golden);
        assert_eq!(manifest.figures(), ShardFigures { records: 2, data_bytes: 40, file_bytes: 10 });
        let path = Path::new("m");
        assert_eq!(Manifest::parse(path, &text).unwrap(), manifest);
        let payload = Payload { step: Some(3), ..manifest.payload };
        let stepped = Manifest { payload, ..Manifest::default() };
        let body = r#"{"payload":{"applied":7,"term":2,"step":3},"built":{"fingerprint":0,"settings":{},"build_ms":0},"segments":[]}"#;
        assert!(stepped.text().ends_with(body.as_bytes()));
        assert_eq!(Manifest::parse(path, &stepped.text()).unwrap(), stepped);
        for i in 0..text.len() {
            let mut broken = text.clone();
            broken[i] ^= 4;
            assert!(Manifest::parse(path, &broken).is_err_and(|_| true) || broken[i] == text[i], "byte {i}");
        }
        let changed = [&b"quorate-shard 3"[..], &text[15..]].concat();
        assert!(matches!(Manifest::parse(path, &changed), Err(IndexError::Damaged { .. })));
        let newer = b"quorate-shard 2 00000000\n{}";
        assert!(matches!(Manifest::parse(path, newer), Err(IndexError::NewerFormat { found: 2, .. })));
    }
}
