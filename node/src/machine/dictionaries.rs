//! How does a group come to go by the dictionaries that it was told of?
//!
//! The node knows what they say (`crate::dictionaries`), once for all groups; an entry of the group's log says which revision
//! its indices have to go by from there on. Queries need nothing more. Indices whose segments hold parts of compounds are
//! rebuilt as for other settings: their files are compared with what the dictionaries ask for, and the entry awaits the rebuild when
//! they do not fit. A node that does not know the revision yet goes on with the log, and begins when it does.

use super::{LogPosition, PlacementMachine};
use crate::dictionaries::{Following, Told};
use crate::error::Result;
use crate::index::IndexState;
use crate::log_place::LogPlace;
use quorate_store::codec;
use std::sync::Arc;

/// The row that says what the group was told.
pub(super) const DICTIONARIES: u8 = b'l';
/// Bytes of the row at most: two numbers.
const ROW_BYTES_MAX: usize = 64;

impl PlacementMachine {
    /// Carries out `Dictionaries`. What is not newer than what the group was told changes nothing.
    pub(super) fn follow_dictionaries(&mut self, at: LogPosition, revision: u64) -> Result<()> {
        let before = self.node.dictionaries.following(self.group).unwrap_or_default();
        if revision <= before.told.revision {
            return Ok(());
        }
        let told = Told { revision, log_index: at.index };
        self.changes.put([DICTIONARIES], codec::encode(&told));
        let waits_since = Some(before.waits_since.unwrap_or(at.index));
        self.node.dictionaries.note(self.group, Some(Following { told, waits_since, late: None }));
        self.catch_up_with_dictionaries(at)
    }

    /// Takes over what the tree says that the group was told, and lets it await the rebuild of files that do not fit.
    pub(super) fn load_dictionaries(&self) -> Result<()> {
        let Some(bytes) = self.tree.get(&[DICTIONARIES])? else {
            self.node.dictionaries.note(self.group, None);
            return Ok(());
        };
        let told: Told = codec::decode(&bytes, ROW_BYTES_MAX)?;
        let is_known = self.node.dictionaries.revision() >= told.revision;
        if is_known {
            for state in self.taken_apart() {
                if !state.progress.awaits_rebuild() && state.files_differ()? {
                    state.progress.resume_awaiting_rebuild(told.log_index);
                    self.node.busy(&state);
                }
            }
        }
        let waits_since = (!is_known).then_some(told.log_index);
        self.node.dictionaries.note(self.group, Some(Following { told, waits_since, late: None }));
        Ok(())
    }

    /// Goes on when the node has come to know what the group was told of.
    pub(super) fn resume_dictionaries(&mut self) -> Result<()> {
        let waits = self.node.dictionaries.following(self.group).is_some_and(|it| it.waits_since.is_some());
        if !waits {
            return Ok(());
        }
        self.step = LogPlace::ALL;
        self.catch_up_with_dictionaries(LogPosition { index: self.applied, term: 0, time_ms: 0 })
    }

    fn catch_up_with_dictionaries(&mut self, at: LogPosition) -> Result<()> {
        let Some(following) = self.node.dictionaries.following(self.group) else { return Ok(()) };
        let Some(since) = following.waits_since else { return Ok(()) };
        if self.node.dictionaries.revision() < following.told.revision {
            return Ok(());
        }
        for state in self.taken_apart() {
            self.show(at, &state)?;
            self.keep(&state);
        }
        let late = (since != at.index).then_some((since, at.index));
        self.node.dictionaries.note(self.group, Some(Following { waits_since: None, late, ..following }));
        Ok(())
    }

    /// The indices of the group that take words apart.
    fn taken_apart(&self) -> Vec<Arc<IndexState>> {
        let mut states = self.node.of_group(self.group);
        states.retain(|state| !state.settings.load().index.decompounded_attributes.is_empty());
        states
    }
}
