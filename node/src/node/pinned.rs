//! What do the indices of a group show now, and what did they hold at a log index: asked of a node.

use super::Node;
use crate::digest::PinnedIndex;
use crate::error::Result;
use crate::ops::Incarnation;
use crate::pins::{GroupPin, Held};
use quorate_model::GroupId;

/// Indices that are held open together; of more, each is opened in its turn.
const PINNED_MAX: usize = 256;

impl Node {
    /// As [`Self::pinned`], index by index: one that cannot be opened keeps no other from being looked at. Up to some hundred
    /// are of the moment of this call, more are each of the moment when their turn comes.
    pub fn pin_each(&self, group: GroupId) -> impl Iterator<Item = Result<PinnedIndex>> {
        let mut states = self.indices_of(group);
        states.sort_by_key(|state| state.incarnation);
        let later = states.split_off(states.len().min(PINNED_MAX));
        let now: Vec<_> = states.iter().map(PinnedIndex::of).collect();
        now.into_iter().chain(later.into_iter().map(|state| PinnedIndex::of(&state)))
    }
    /// What every index of a group shows now, by incarnation. Cost: opens those that are closed; hashing is the caller's.
    ///
    /// Errors: the files of an index cannot be opened.
    pub fn pinned(&self, group: GroupId) -> Result<Vec<PinnedIndex>> {
        let mut pinned: Vec<PinnedIndex> =
            self.indices_of(group).iter().map(PinnedIndex::of).collect::<Result<_>>()?;
        pinned.sort_by_key(|index| index.incarnation);
        Ok(pinned)
    }
    /// Checks and hashes what a group held, index by index. `pace` as in [`PinnedIndex::digest`]. Cost: two passes over the records.
    pub fn looks<'p>(
        &'p self,
        pin: GroupPin,
        pace: &'p mut impl FnMut(u64),
    ) -> impl Iterator<Item = (Incarnation, Result<Held>)> + 'p {
        pin.looks(&self.shared, pace)
    }
}
