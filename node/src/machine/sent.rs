//! Through which entry has a sink been given the events of a group, as its log says? One row of the metadata store.

use super::PlacementMachine;
use crate::error::Result;
use quorate_store::codec;

/// The row with the log index through which a sink has been given the events.
pub(super) const SENT: u8 = b'e';

impl PlacementMachine {
    /// Notes that a sink has everything through a log index, unless more is known already.
    pub(super) fn note_sent(&mut self, through: u64) {
        if self.events.note_sent(through) {
            self.changes.put([SENT], codec::encode(&through));
        }
    }
    /// Loads what the metadata store knows of that.
    pub(super) fn load_sent(&mut self) -> Result<()> {
        if let Some(bytes) = self.tree.get(&[SENT])? {
            self.events.note_sent(codec::decode::<u64>(&bytes, 16)?);
        }
        Ok(())
    }
}
