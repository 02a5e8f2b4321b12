//! Does an index have the files that it should have? A folder that is gone must not pass for an index without records.
//!
//! Once an index has become durable its group's metadata store says so. What a start does not find then counts as gone when the log has
//! been replayed: one of its commands may remove the index, or give it its records anew.

use super::IndexState;
use crate::error::{Error, Result};
use quorate_engine::index::ShardView;
use std::sync::atomic::{AtomicU8, Ordering};

/// What is known of the files of an index, beside what they say themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kept {
    /// Nothing of it was ever durable, as far as is known.
    Nothing,
    /// It has become durable, and the metadata store does not say so yet.
    New,
    /// The metadata store says that there are files.
    Files,
    /// It says so, and they were not there when the group was opened.
    Absent,
    /// They are gone, and with them what the log does not have any more.
    Gone,
}

impl Kept {
    const ALL: [Kept; 5] = [Kept::Nothing, Kept::New, Kept::Files, Kept::Absent, Kept::Gone];

    /// The value of the row of the metadata store; `None`: there is none.
    pub(crate) fn row(self) -> Option<&'static [u8]> {
        match self {
            Kept::Nothing | Kept::New => None,
            Kept::Files => Some(b"k"),
            Kept::Absent | Kept::Gone => Some(b"g"),
        }
    }
    /// What a row says. What is gone is so until the log has been replayed.
    pub(crate) fn of_row(value: &[u8]) -> Kept {
        if value == b"g" { Kept::Absent } else { Kept::Files }
    }
    /// Whether something that was durable is not there.
    pub(crate) fn lacks_some(self) -> bool {
        matches!(self, Kept::Absent | Kept::Gone)
    }
}

/// The same of one index, for those who share it.
#[derive(Debug, Default)]
pub(crate) struct KeptFiles(AtomicU8);

impl KeptFiles {
    /// Cost: an atomic load.
    pub(crate) fn get(&self) -> Kept {
        Kept::ALL[usize::from(self.0.load(Ordering::Acquire))]
    }
    pub(crate) fn set(&self, kept: Kept) {
        self.0.store(kept as u8, Ordering::Release);
    }
    /// Notes that something has become durable. What is gone does not come back by that.
    pub(crate) fn became_durable(&self) {
        let (nothing, new) = (Kept::Nothing as u8, Kept::New as u8);
        let _known_before = self.0.compare_exchange(nothing, new, Ordering::AcqRel, Ordering::Acquire);
    }
}

impl IndexState {
    /// What is wrong with an index whose files are gone.
    pub(crate) fn gone(&self) -> Error {
        self.engine(ShardView::gone(&self.folder))
    }
    /// Errors: files are gone that nothing has given it again. Cost: an atomic load.
    pub(crate) fn check_files(&self) -> Result<()> {
        if self.kept.get().lacks_some() { Err(self.gone()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_stays_gone_whatever_becomes_durable() {
        for kept in Kept::ALL {
            let files = KeptFiles::default();
            assert_eq!(files.get(), Kept::Nothing);
            files.set(kept);
            files.became_durable();
            let after = if kept == Kept::Nothing { Kept::New } else { kept };
            assert_eq!(files.get(), after);
            let of_row = kept.row().map(Kept::of_row);
            assert!(of_row.is_none_or(|it| it.lacks_some() == kept.lacks_some()));
        }
    }
}
