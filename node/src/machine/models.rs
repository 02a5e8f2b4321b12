//! Which models of recommendations does a group have, as its log says? Rows of the metadata store; the files come beside.

use super::{Known, LogPosition, PlacementMachine};
use crate::error::Result;
use crate::event_digest::EventsPin;
use crate::models::key::{Installed, MODEL, ModelKey, decode_row};
use quorate_store::codec;
use quorate_store::layout::Layout;
use std::sync::atomic::Ordering;

impl PlacementMachine {
    /// Puts a model in force, unless a later one is.
    pub(super) fn install_model(&mut self, at: LogPosition, key: ModelKey, seq: u64, length: u64, crc: u32) {
        let installed = Installed { seq, length, crc, time_ms: at.time_ms };
        if !self.node.models.install(self.group, &key, installed) {
            return;
        }
        match length {
            0 => self.changes.delete(key.row()),
            _ => self.changes.put(key.row(), codec::encode(&installed)),
        }
        if self.node.is_led_elsewhere(self.group).load(Ordering::Relaxed) {
            // who leads counts what came while it built
            self.events.arrivals().lock().settle(&key.index, u64::MAX);
        }
    }
    /// Notes what the group holds beside indices, unless files or the metadata store are ahead of a log that is being replayed, or files are lost:
    /// then it is not known what it held.
    pub(super) fn pin_events(&self, at: LogPosition, known: Known) -> Option<EventsPin> {
        match known.0 {
            true => None,
            false => self.events.pin(at.index, self.node.models.states(self.group)),
        }
    }
    /// Loads what the metadata store knows of models.
    pub(super) fn load_models(&self) -> Result<()> {
        let mut models = vec![];
        for (key, value) in self.tree.scan(&[MODEL])? {
            models.extend(decode_row(&key, &value)?);
        }
        self.node.models.load(self.group, models.into_iter());
        Ok(())
    }
    /// Removes events and models.
    pub(super) fn leave_events(&mut self) -> Result<()> {
        let _nobody_adds_to_them = self.node.models.hold_folders();
        self.node.models.forget(self.group);
        self.events.leave()
    }
    /// Links models into another data folder. Whoever reads that fetches what is missing there, so nothing waits for them.
    pub(super) fn export_models(&self, into: &Layout) {
        if let Err(error) = self.node.export_models(self.group, into) {
            tracing::warn!(group = self.group.0, %error, "a snapshot lacks models");
        }
    }
}
