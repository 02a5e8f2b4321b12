//! Do files of rollups read as they were written, and how much do they take?

use super::Rollups;
use super::file::Opened;
use crate::error::{Error, Result};
use quorate_model::analytics::Day;
use std::path::PathBuf;

impl Rollups {
    /// Days that are files.
    fn days(&self) -> Result<Vec<Day>> {
        let named =
            |path: &PathBuf| Day::parse(path.file_stem()?.to_str()?).filter(|day| self.path(*day) == *path);
        Ok(self.list()?.iter().filter_map(named).collect())
    }
    /// Bytes of files. Cost: a look at each, when they are others than before.
    pub(crate) fn file_bytes(&self) -> u64 {
        if let Some(known) = self.written().bytes {
            return known;
        }
        let of = |path: PathBuf| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let bytes = self.list().map_or(0, |paths| paths.into_iter().map(of).sum());
        self.written().bytes = Some(bytes);
        bytes
    }
    /// Compares every byte of files with what was written, as long as `goes_on`. What is damaged is removed, and derived anew. `pace` is
    /// called with the bytes that were read and may take its time. Returns the damaged ones.
    pub fn verify(&self, pace: &mut dyn FnMut(u64), goes_on: &dyn Fn() -> bool) -> Result<Vec<Error>> {
        let mut damaged = vec![];
        for day in self.days()? {
            if !goes_on() {
                break;
            }
            let checked = match Opened::open(&*self.files, &self.path(day)) {
                Ok(None) => Ok(()),
                Ok(Some(opened)) => opened.verify(pace, goes_on),
                Err(error) => Err(error),
            };
            match checked {
                Err(error) if error.is_damage() => {
                    self.remove(day);
                    damaged.push(error);
                }
                other => other?,
            }
        }
        Ok(damaged)
    }
}

impl Opened {
    fn verify(&self, pace: &mut dyn FnMut(u64), goes_on: &dyn Fn() -> bool) -> Result<()> {
        for block in self.all_blocks()? {
            for number in 0..block.facts.regions.len() {
                if !goes_on() {
                    return Ok(());
                }
                pace(block.region(number)?.len() as u64);
            }
        }
        Ok(())
    }
}
