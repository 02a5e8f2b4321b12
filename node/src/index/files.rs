//! Does an index have the files that it should have? A folder that is gone must not pass for an index without records.
//!
//! Once an index has become durable its group's metadata store says so. What a start does not find is gone, unless the log that is
//! replayed removes the index or fills it anew. Until the files are back, or another state is in their place, it is given no work and
//! the log is kept for it; reads say what is wrong.

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
}

/// The same of one index, for those who share it.
#[derive(Debug, Default)]
pub(crate) struct KeptFiles(AtomicU8);

impl KeptFiles {
    /// Cost: an atomic load.
    pub(crate) fn get(&self) -> Kept {
        const ALL: [Kept; 4] = [Kept::Nothing, Kept::New, Kept::Files, Kept::Absent];
        ALL[usize::from(self.0.load(Ordering::Acquire))]
    }
    pub(crate) fn set(&self, kept: Kept) {
        self.0.store(kept as u8, Ordering::Release);
    }
    /// Notes that something has become durable.
    pub(crate) fn became_durable(&self) {
        let (nothing, new) = (Kept::Nothing as u8, Kept::New as u8);
        let _known_before = self.0.compare_exchange(nothing, new, Ordering::AcqRel, Ordering::Acquire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_never_durable_is_new() {
        for kept in [Kept::Nothing, Kept::New, Kept::Files, Kept::Absent] {
            let files = KeptFiles::default();
            assert_eq!(files.get(), Kept::Nothing);
            files.set(kept);
            files.became_durable();
            assert_eq!(files.get(), if kept == Kept::Nothing { Kept::New } else { kept });
        }
    }
}
