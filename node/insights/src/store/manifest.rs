//! Which files does a group's folder of events have, and through which entry of the log are they whole?

use crate::error::{Error, Result};
use crate::forgotten::Forgotten;
use crate::segment::SegmentFacts;
use quorate_store::codec::{self, Mark};
use quorate_store::files::Files;
use quorate_store::layout;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use time::OffsetDateTime;

const MARK: Mark = Mark { magic: *b"QEVM", version: 1 };
const NAME: &str = "manifest";
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
pub(super) struct Place {
    pub period: Period,
    /// Each file has another one, for ever.
    pub number: u64,
    pub facts: Arc<SegmentFacts>,
}

impl Place {
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
    pub places: Vec<Place>,
    /// Users of whom files still have something.
    pub forgotten: Forgotten,
}

impl Manifest {
    /// Of a folder; an empty one where there is none.
    pub fn read(folder: &Path) -> Result<Manifest> {
        let path = folder.join(NAME);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Manifest::default()),
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        Ok(codec::decode(codec::unframe(MARK, &bytes)?.payload, BYTES_MAX)?)
    }
    /// Puts it in the place of the one of a folder.
    pub fn write(&self, files: &dyn Files, folder: &Path) -> Result<()> {
        files.create_dir_durable(folder).map_err(|error| Error::io("create", folder, error))?;
        let path = folder.join(NAME);
        let bytes = codec::frame(MARK, &codec::encode(self));
        files.write_atomic(&path, &bytes).map_err(|error| Error::io("write", &path, error))
    }
    pub fn has(&self, number: u64) -> bool {
        self.places.iter().any(|place| place.number == number)
    }
}

/// Removes what a folder has beside what its manifest names, and beside models, which are no business of the manifest.
pub(super) fn remove_unknown(files: &dyn Files, folder: &Path, manifest: &Manifest) -> Result<()> {
    let known: BTreeSet<PathBuf> = manifest.places.iter().map(|place| folder.join(place.path())).collect();
    for day in list(folder)? {
        if day.file_name().is_some_and(|name| name == layout::MODELS) {
            continue;
        }
        if !day.is_dir() {
            if day.file_name().is_none_or(|name| name != NAME) {
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
fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let io = |error| Error::io("list", folder, error);
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry.map_err(io)?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(vec![]),
        Err(error) => Err(io(error)),
    }
}
