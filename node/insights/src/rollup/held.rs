//! Which rollups are in memory?

use super::block::Block;
use super::rolling::Written;
use quorate_model::analytics::Day;
use quorate_store::files::Files;
use quorate_store::layout;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of rollups of a group in memory at most.
pub(super) const BYTES_MAX: usize = 32 << 20;

/// What a rollup was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MadeOf {
    /// Digests of the files that have rows of the index in that time, sorted.
    pub files: Vec<u64>,
    /// How many rows in memory, and the last entry of the log that has one of them.
    pub waiting: (u64, u64),
    /// Whether records shown are in it.
    pub shown: bool,
}

impl MadeOf {
    /// Whether a rollup that was made of this serves who asks for the other one.
    fn serves(&self, asked: &MadeOf) -> bool {
        self.files == asked.files && self.waiting == asked.waiting && (self.shown || !asked.shown)
    }
}

/// An index, and a time (Unix milliseconds).
type Of = (Arc<str>, u64, u64);

/// Rollups of a group.
pub struct Rollups {
    pub(super) files: Arc<dyn Files>,
    /// Where those are that are files.
    pub(super) folder: PathBuf,
    held: Mutex<Held>,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Held {
    of: HashMap<Of, Entry>,
    by_use: BTreeMap<u64, Of>,
    uses: u64,
    bytes: usize,
}

struct Entry {
    made_of: MadeOf,
    blocks: Arc<[Block]>,
    bytes: usize,
    used: u64,
}

impl Held {
    fn remove(&mut self, of: &Of) {
        if let Some(entry) = self.of.remove(of) {
            self.by_use.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}

impl Rollups {
    /// Those of a group whose events are in a folder. No input or output.
    pub(crate) fn new(files: Arc<dyn Files>, events: &Path) -> Rollups {
        let folder = events.join(layout::ROLLUPS);
        Rollups { files, folder, held: Mutex::default(), written: Mutex::default() }
    }
    pub(super) fn path(&self, day: Day) -> PathBuf {
        self.folder.join(format!("{day}.rollup"))
    }
    pub(super) fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The rollup of an index in some time, if there is one that was made of what is there.
    pub(super) fn held(
        &self,
        index: &Arc<str>,
        times_ms: &Range<u64>,
        asked: &MadeOf,
    ) -> Option<Arc<[Block]>> {
        let of = (index.clone(), times_ms.start, times_ms.end);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *held;
        let entry = held.of.get_mut(&of).filter(|entry| entry.made_of.serves(asked))?;
        held.uses += 1;
        held.by_use.remove(&entry.used);
        entry.used = held.uses;
        held.by_use.insert(entry.used, of);
        Some(entry.blocks.clone())
    }
    /// Keeps a rollup, and lets those go that nobody has asked for for longest.
    pub(super) fn hold(
        &self,
        index: &Arc<str>,
        times_ms: &Range<u64>,
        made_of: MadeOf,
        blocks: &Arc<[Block]>,
    ) {
        let of = (index.clone(), times_ms.start, times_ms.end);
        let own = size_of::<Entry>() + 2 * (size_of::<Of>() + index.len()) + 8 * made_of.files.len();
        let bytes = own + blocks.iter().map(Block::bytes).sum::<usize>();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&of);
        if bytes > BYTES_MAX {
            return;
        }
        while held.bytes + bytes > BYTES_MAX
            && let Some((_, oldest)) = held.by_use.pop_first()
        {
            held.remove(&oldest);
        }
        held.uses += 1;
        let used = held.uses;
        held.by_use.insert(used, of.clone());
        held.bytes += bytes;
        held.of.insert(of, Entry { made_of, blocks: blocks.clone(), bytes, used });
    }
    /// Bytes that are in memory.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::Built;
    use super::super::build::Builder;
    use super::*;
    use quorate_store::files::RealFiles;

    #[test]
    fn what_nobody_asked_for_goes_when_there_is_too_much() {
        let rollups = Rollups::new(Arc::new(RealFiles), Path::new("none"));
        let index: Arc<str> = "shop".into();
        let Built { facts, .. } = Builder::new(0).finish("shop");
        let block = Block::held(Built { facts, bytes: vec![0; BYTES_MAX / 10] });
        let blocks: Arc<[Block]> = vec![block].into();
        let made_of = |files| MadeOf { files, waiting: (0, 0), shown: false };
        let is_held = |hour: u64, asked: MadeOf| rollups.held(&index, &(hour..hour + 1), &asked).is_some();
        for hour in 0..30 {
            rollups.hold(&index, &(hour..hour + 1), made_of(vec![1, hour]), &blocks);
            assert!(is_held(0, made_of(vec![1, 0])), "asked for again and again");
            assert!(is_held(hour, made_of(vec![1, hour])) && !is_held(hour, made_of(vec![1])));
            assert!(rollups.bytes() <= BYTES_MAX);
        }
        assert!(!is_held(20, made_of(vec![1, 20])) && is_held(28, made_of(vec![1, 28])));
        assert!(!is_held(28, MadeOf { shown: true, ..made_of(vec![1, 28]) }), "it has no records");
        rollups.hold(&index, &(0..1), made_of(vec![]), &vec![blocks[0].clone(); 11].into());
        assert!(!is_held(0, made_of(vec![])), "too large");
    }
}
