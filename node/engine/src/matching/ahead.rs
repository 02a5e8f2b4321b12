//! How are documents gone through so that their words are in the cache when each is evaluated?
//!
//! Hot path: some ns a document, which a look at one that is not in the cache takes ten times over.

use crate::index::Lists;
use crate::prefetch::{prefetch, prefetch_range};

/// Documents between asking where a document's words are and evaluating it.
const PLACES_AHEAD: usize = 16;
/// Documents between asking for the words of a document and evaluating it.
const WORDS_AHEAD: usize = 6;

/// Calls `visit` with every document in order until it answers `false`.
pub fn each_ahead(
    lists: &Lists<'_>,
    mut docs: impl Iterator<Item = u32>,
    mut visit: impl FnMut(u32) -> bool,
) {
    let mut ring = [0u32; PLACES_AHEAD];
    let (mut taken, mut asked, mut visited) = (0, 0, 0);
    loop {
        while taken < visited + PLACES_AHEAD {
            let Some(doc) = docs.next() else { break };
            prefetch(lists.doc_off, doc as usize);
            ring[taken % PLACES_AHEAD] = doc;
            taken += 1;
        }
        while asked < taken.min(visited + WORDS_AHEAD) {
            let doc = ring[asked % PLACES_AHEAD] as usize;
            let (from, to) = (lists.doc_off[doc] as usize, lists.doc_off[doc + 1] as usize);
            prefetch_range(lists.ords, from, to);
            prefetch_range(lists.pos, from, to);
            asked += 1;
        }
        if visited == taken || !visit(ring[visited % PLACES_AHEAD]) {
            return;
        }
        visited += 1;
    }
}
