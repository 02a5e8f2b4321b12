//! Which files does a group's folder of events have, and through which entry of the log are they whole?

use crate::error::{Error, Result};
use crate::forgotten::Forgotten;
use crate::segment::SegmentFacts;
use quorate_store::codec::{self, Mark};
use quorate_store::files::Files;
use quorate_store::layout;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use time::OffsetDateTime;

const MARK: Mark = Mark { magic: *b"QEVM", version: 1 };
const NAME: &str = "manifest";
/// The same once more: without it nobody knows what files have.
const COPY: &str = "manifest-copy";
/// Bytes of a manifest at most.
const BYTES_MAX: usize = 256 << 20;
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// The time that a file's rows are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Period {
    /// Days since 1970.
    pub day: u64,
    /// An hour of it; `None` of what came later than a day, and of what was merged.
    pub hour: Option<u8>,
}

impl Period {
    /// Of a row, among rows of which the newest is of this moment.
    pub fn of(time_ms: u64, newest_ms: u64) -> Period {
        let is_late = time_ms.saturating_add(DAY_MS) < newest_ms;
        Period { day: time_ms / DAY_MS, hour: (!is_late).then_some((time_ms % DAY_MS / HOUR_MS) as u8) }
    }
    /// When its day ends, Unix milliseconds.
    pub fn end_ms(self) -> u64 {
        self.day.saturating_add(1).saturating_mul(DAY_MS)
    }
    fn folder(self) -> String {
        let day = i64::try_from(self.day.saturating_mul(DAY_MS / 1_000)).unwrap_or(i64::MAX);
        // a row's time is at most that of its receipt, which is of this era
        let date = OffsetDateTime::from_unix_timestamp(day).unwrap_or(OffsetDateTime::UNIX_EPOCH).date();
        format!("{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day())
    }
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileMeta {
    pub period: Period,
    /// Each file has another one, for ever.
    pub number: u64,
    pub facts: Arc<SegmentFacts>,
}

impl FileMeta {
    /// Below the folder of the group.
    pub fn path(&self) -> PathBuf {
        let name = match self.period.hour {
            Some(hour) => format!("{hour:02}-{:06}.parquet", self.number),
            None => format!("day-{:06}.parquet", self.number),
        };
        Path::new(&self.period.folder()).join(name)
    }
}

/// What a folder of events holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// All entries of the log through here are in the files.
    pub position: u64,
    /// The number of the next file.
    pub next: u64,
    pub metas: Vec<FileMeta>,
    /// Users of whom files still have something.
    pub forgotten: Forgotten,
}

impl Manifest {
    /// Of a folder; an empty one where there is none. One that does not read as it was written is replaced by its copy. Where the copy
    /// does not either, what it named is set aside.
    ///
    /// Errors: the disk refuses; a newer program wrote it.
    pub fn of_folder(files: &dyn Files, folder: &Path) -> Result<Manifest> {
        match (Manifest::read(&folder.join(NAME))?, Manifest::read(&folder.join(COPY))?) {
            (Found::Whole(manifest), copy) => {
                if copy != Found::Whole(manifest.clone()) {
                    // when it fails there is one manifest fewer, until the next one is written
                    drop(manifest.write_as(files, folder, COPY));
                }
                Ok(manifest)
            }
            (Found::None | Found::Damaged, Found::Whole(copy)) => {
                copy.write_as(files, folder, NAME)?;
                Ok(copy)
            }
            (Found::None, Found::None) => Ok(Manifest::default()),
            (Found::Damaged, Found::None | Found::Damaged) | (Found::None, Found::Damaged) => {
                set_aside(files, folder)?;
                Ok(Manifest::default())
            }
        }
    }
    fn read(path: &Path) -> Result<Found> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::None),
            Err(error) => return Err(Error::io("read", path, error)),
        };
        let whatever_version = Mark { version: u16::MAX, ..MARK };
        match codec::unframe(whatever_version, &bytes) {
            Ok(framed) if framed.version > MARK.version => {
                let found = format!("a newer program wrote it: its version is {}", framed.version);
                Err(Error::io("use", path, std::io::Error::other(found)))
            }
            Ok(framed) => match codec::decode(framed.payload, BYTES_MAX) {
                Ok(manifest) => Ok(Found::Whole(manifest)),
                Err(_) => Ok(Found::Damaged),
            },
            Err(_) => Ok(Found::Damaged),
        }
    }
    /// Puts it in the place of the one of a folder. The copy is first: it is never older, and what an older one named may be gone.
    pub fn write(&self, files: &dyn Files, folder: &Path) -> Result<()> {
        files.create_dir_durable(folder).map_err(|error| Error::io("create", folder, error))?;
        self.write_as(files, folder, COPY)?;
        self.write_as(files, folder, NAME)
    }
    /// Writes it into a folder that has no other one, without a copy.
    pub fn write_new(&self, files: &dyn Files, folder: &Path) -> Result<()> {
        files.create_dir_durable(folder).map_err(|error| Error::io("create", folder, error))?;
        self.write_as(files, folder, NAME)
    }
    fn write_as(&self, files: &dyn Files, folder: &Path, name: &str) -> Result<()> {
        let path = folder.join(name);
        let bytes = codec::frame(MARK, &codec::encode(self));
        files.write_atomic(&path, &bytes).map_err(|error| Error::io("write", &path, error))
    }
    pub fn has(&self, number: u64) -> bool {
        self.metas.iter().any(|meta| meta.number == number)
    }
}

/// Each file that the manifest of a folder names: its path in the folder, its bytes and their CRC-32. Errors: the manifest is damaged.
pub fn files_of(folder: &Path) -> Result<Vec<(PathBuf, u64, u32)>> {
    let path = folder.join(NAME);
    match Manifest::read(&path)? {
        Found::None => Ok(vec![]),
        Found::Damaged => Err(Error::damaged(&path, "it does not read as it was written")),
        Found::Whole(manifest) => {
            let metas = manifest.metas.iter();
            Ok(metas.map(|meta| (meta.path(), meta.facts.bytes(), meta.facts.crc())).collect())
        }
    }
}

/// What a file that should be a manifest is.
#[derive(PartialEq, Eq)]
enum Found {
    None,
    Damaged,
    Whole(Manifest),
}

/// Whether a folder beside those of days has this name.
fn is_no_day(name: &OsStr) -> bool {
    [layout::MODELS, layout::DAMAGED, layout::ROLLUPS].iter().any(|known| name == *known)
}

/// Moves rows out of the way. The manifest goes last, so that a start after a crash goes on.
fn set_aside(files: &dyn Files, folder: &Path) -> Result<()> {
    let aside = folder.join(layout::DAMAGED);
    let number = list(&aside)?.len();
    let into = aside.join(number.to_string());
    files.create_dir_durable(&into).map_err(|error| Error::io("create", &into, error))?;
    let is_manifest = |path: &PathBuf| path.file_name().is_some_and(|name| name == NAME || name == COPY);
    // what follows from rows is found by numbers of files, which begin anew
    let stays = |path: &PathBuf| {
        path.file_name().is_none_or(|name| name == layout::MODELS || name == layout::DAMAGED)
    };
    let (manifests, others): (Vec<PathBuf>, Vec<PathBuf>) =
        list(folder)?.into_iter().filter(|path| !stays(path)).partition(is_manifest);
    for part in [others, manifests] {
        for path in part {
            let to = into.join(path.file_name().unwrap_or_default());
            files.rename(&path, &to).map_err(|error| Error::io("move", &path, error))?;
        }
        for folder in [&*into, folder] {
            files.sync_dir(folder).map_err(|error| Error::io("sync", folder, error))?;
        }
    }
    Ok(())
}

/// Removes what a folder has beside what its manifest names, and beside models, rollups and what was set aside, which are no business of the
/// manifest.
pub(super) fn remove_unknown(files: &dyn Files, folder: &Path, manifest: &Manifest) -> Result<()> {
    let known: BTreeSet<PathBuf> = manifest.metas.iter().map(|meta| folder.join(meta.path())).collect();
    for day in list(folder)? {
        if day.file_name().is_some_and(is_no_day) {
            continue;
        }
        if !day.is_dir() {
            if day.file_name().is_none_or(|name| name != NAME && name != COPY) {
                files.remove(&day).map_err(|error| Error::io("remove", &day, error))?;
            }
            continue;
        }
        let found = list(&day)?;
        let unknown = found.iter().filter(|file| !known.contains(*file));
        let mut left = found.len();
        for file in unknown {
            files.remove(file).map_err(|error| Error::io("remove", file, error))?;
            left -= 1;
        }
        if left == 0 {
            files.remove_dir_all(&day).map_err(|error| Error::io("remove", &day, error))?;
        }
    }
    Ok(())
}
/// What a folder has, which need not be there.
pub(super) fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let io = |error| Error::io("list", folder, error);
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry.map_err(io)?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(vec![]),
        Err(error) => Err(io(error)),
    }
}
