//! Which rows should a folder of events have and has not? They are told, and the rest is read without them.
//!
//! The manifest goes on to name a file that cannot be opened, so every start tells the same, and a copy of the file that is put back
//! counts again. Without a manifest nobody knows which files count: they are set aside. That all of them are gone only others know
//! ([`KeptRows`]); a mark beside the files goes on to tell it.

use super::manifest::{self, FileMeta, Manifest};
use super::{EventStore, Written};
use crate::error::{Error, Result};
use crate::segment::{Segment, without_unreadable};
use quorate_store::files::Files;
use quorate_store::layout;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The number of the file; `None` of what was set aside.
    number: Option<u64>,
    path: PathBuf,
    why: String,
    /// How many; `None`: nobody knows.
    pub rows: Option<u64>,
}

impl Lost {
    /// What is wrong with which file.
    pub fn error(&self) -> Error {
        Error::damaged(&self.path, &self.why)
    }
}

/// What the files of a folder have, for whoever has to know it beside the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptRows {
    /// The log index through which they have everything.
    pub through: u64,
    /// How many rows.
    pub rows: u64,
}

/// What the name of a mark begins with that tells of files that are gone, before the number of their rows.
const GONE: &str = "gone-";

/// Opens the files of a manifest that can be opened. Errors: the disk refuses.
pub(super) fn open(
    files: &dyn Files,
    folder: &Path,
    manifest: &Manifest,
) -> Result<(Vec<Segment>, Vec<Lost>)> {
    let (mut segments, mut lost) = (vec![], set_aside(folder)?);
    for meta in &manifest.metas {
        let path = folder.join(meta.path());
        match Segment::open(files, &path, meta.facts.clone()) {
            Ok(segment) => segments.push(segment),
            Err(error) => {
                let (number, rows) = (Some(meta.number), Some(meta.facts.rows));
                lost.push(Lost { number, rows, why: error.lost()?, path });
            }
        }
    }
    Ok((segments, lost))
}

/// What earlier starts have set aside.
fn set_aside(folder: &Path) -> Result<Vec<Lost>> {
    let aside = manifest::list(&folder.join(layout::DAMAGED))?.into_iter();
    let told = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match name.strip_prefix(GONE) {
            Some(rows) => gone(folder, rows.parse().ok()),
            None => {
                let why = "the manifest that named these files was damaged: they are set aside, and count when they are imported";
                Lost { number: None, path, why: why.into(), rows: None }
            }
        }
    };
    Ok(aside.map(told).collect())
}
fn gone(folder: &Path, rows: Option<u64>) -> Lost {
    let why = "it had files of events that are gone, or is of an earlier day";
    Lost { number: None, path: folder.to_owned(), why: why.into(), rows: rows.filter(|rows| *rows > 0) }
}

impl EventStore {
    /// What its files have, whatever of it is lost.
    pub fn kept(&self) -> KeptRows {
        let rows = self.manifest.metas.iter().map(|meta| meta.facts.rows).sum();
        KeptRows { through: self.manifest.position, rows }
    }
    /// Looks whether its files have what they should; [`Self::lost`] tells what is gone. To be called before anything is taken. No entry
    /// through there comes again. Errors: the disk refuses.
    pub fn look_for(&mut self, should: KeptRows) -> Result<()> {
        if self.manifest.position >= should.through || should.rows == 0 {
            return Ok(());
        }
        // what was set aside is told already
        if self.lost.iter().all(|lost| lost.number.is_some()) {
            let rows = should.rows.saturating_sub(self.kept().rows);
            let mark = self.folder.join(layout::DAMAGED).join(format!("{GONE}{rows}"));
            self.files.create_dir_durable(&mark).map_err(|error| Error::io("create", &mark, error))?;
            self.lost.push(gone(&self.folder, Some(rows)));
        }
        self.open.through = should.through;
        self.put_in_force(Manifest { position: should.through, ..self.manifest.clone() }, vec![])
    }
    /// What is not there: files, and row groups of files that were not as they were written when somebody read them.
    pub fn lost(&self) -> Vec<Lost> {
        let damaged = self.damaged().map(|(meta, segment)| Lost {
            number: Some(meta.number),
            path: self.folder.join(meta.path()),
            why: format!("{} of its row groups are not as they were written", segment.unreadable().len()),
            rows: Some(segment.unreadable_rows()),
        });
        self.lost.iter().cloned().chain(damaged).collect()
    }
    /// Rows that are not there, as far as they are known.
    pub fn lost_rows(&self) -> u64 {
        self.lost().iter().filter_map(|lost| lost.rows).sum()
    }
    /// Looks at every byte of its files, as long as `goes_on`, so that [`Self::lost`] knows what is damaged. Errors: the disk refuses. Cost: one pass
    /// over the files.
    pub fn look_at_all(&self, goes_on: &dyn Fn() -> bool) -> Result<()> {
        for segment in self.segments.iter() {
            match segment.verify(&mut |_| {}, goes_on) {
                Err(error) if !error.is_damage() => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
    /// Files that have damaged row groups.
    fn damaged(&self) -> impl Iterator<Item = (&FileMeta, &Segment)> {
        self.metas().zip(self.segments.iter()).filter(|(_, segment)| !segment.unreadable().is_empty())
    }
    /// Goes on without what is lost: nothing tells of it any more. Returns what that was. Errors: the disk refuses; some may be told still.
    pub fn accept_loss(&mut self) -> Result<Vec<Lost>> {
        let mut manifest = self.manifest.clone();
        manifest.metas.retain(|meta| self.is_there(meta));
        let lost = self.lost();
        let (mut written, mut next) = (Written::new(&*self.files, &self.folder), self.next);
        for (meta, segment) in self.damaged() {
            manifest.metas.retain(|other| other.number != meta.number);
            let mut meta = FileMeta { number: next, ..meta.clone() };
            next += 1;
            let path = written.path(&meta)?;
            if let Some(facts) = without_unreadable(segment, &*self.files, &path)? {
                meta.facts = Arc::new(facts);
                manifest.metas.push(meta);
            }
        }
        let paths = written.keep();
        self.next = next;
        if manifest.metas != self.manifest.metas {
            self.put_in_force(manifest, paths)?;
        }
        let aside = self.folder.join(layout::DAMAGED);
        match self.files.remove_dir_all(&aside) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &aside, error));
            }
            Ok(()) | Err(_) => self.lost.clear(),
        }
        Ok(lost)
    }
    /// The segments of another manifest; those that are open stay so.
    pub(super) fn opened(
        &self,
        manifest: &Manifest,
        open: &BTreeMap<u64, Segment>,
    ) -> Result<Arc<[Segment]>> {
        let open = |meta: &FileMeta| match open.get(&meta.number) {
            Some(segment) => Ok(segment.clone()),
            None => Segment::open(&*self.files, &self.folder.join(meta.path()), meta.facts.clone()),
        };
        manifest.metas.iter().filter(|meta| self.is_there(meta)).map(open).collect()
    }
    /// Of the files that are not lost, in the order of the manifest.
    pub(super) fn metas(&self) -> impl Iterator<Item = &FileMeta> {
        self.manifest.metas.iter().filter(|meta| self.is_there(meta))
    }
    /// The segments by the numbers of their files.
    pub(super) fn by_number(&self) -> BTreeMap<u64, Segment> {
        let numbers = self.metas().map(|meta| meta.number);
        numbers.zip(self.segments.iter().cloned()).collect()
    }
    fn is_there(&self, meta: &FileMeta) -> bool {
        self.lost.iter().all(|lost| lost.number != Some(meta.number))
    }
    /// Passes over what the manifest does not name any more.
    pub(super) fn forget_lost(&mut self) {
        let manifest = &self.manifest;
        self.lost.retain(|lost| lost.number.is_none_or(|number| manifest.has(number)));
    }
}

#[cfg(test)]
mod tests;
