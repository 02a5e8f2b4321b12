//! Which level is in force: the highest that every node has announced at some time.

use super::rows::{Row, RowChange, StateTable};

/// The level, as one row.
const LEVEL: u8 = b'L';

/// The highest level that every node has announced at some time; 0 before the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LevelInForce(pub u16);

impl StateTable for LevelInForce {
    fn kinds(&self) -> &'static [u8] {
        &[LEVEL]
    }
    fn hashed_as(&self) -> &'static str {
        "levels"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(std::iter::once(self.row()))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        self.0 = u16::from_be_bytes(row.value.try_into().ok()?);
        Some(())
    }
}

impl LevelInForce {
    pub(super) fn row(self) -> RowChange {
        RowChange::put(LEVEL, b"", self.0.to_be_bytes().to_vec())
    }
}
