//! How a shard gets from the files it has to files that fit its newest settings, while reads and writes go on.
//!
//! Reads are shown the settings that the files fit. The tickets of newer settings await the rebuild, so that
//! records that are written meanwhile are visible before them; the newest settings win, and all that wait become visible together.
//! Nothing of it is durable but the outcome: after a crash the metadata store has the newest settings, the files say how
//! they were built, and when the two differ the rebuild begins again.

use super::open::OpenShard;
use crate::error::Result;
use quorate_engine::Schema;
use quorate_engine::index::{IndexError, RebuildState};
use std::time::Instant;

/// Records of a shard that is rebuilt while its writes wait: it takes less than starting a thread and asking for it.
const AT_ONCE_RECORDS: u64 = 1_000;

impl OpenShard {
    /// Whether the files need no rebuild for the newest settings.
    pub(super) fn files_fit(&self) -> bool {
        self.writer.fits(&self.schema)
    }
    /// Shows reads the newest settings, which the files fit; a rebuild for others is given up.
    pub(super) fn show_settings(&mut self, now: Instant) -> Result<()> {
        self.writer.cancel_rebuild();
        self.writer.describe(&self.schema);
        self.shown = self.schema.clone();
        self.publish(now)?;
        self.release_when_fit();
        Ok(())
    }
    /// Tells that settings are visible, once reads see them.
    pub(super) fn release_when_fit(&self) {
        if self.files_fit() {
            self.state.progress.rebuild_ended();
            *self.state.rebuild.lock() = None;
        }
    }

    /// Moves a rebuild on that is needed. A failed one is tried again later; reads and writes go on.
    ///
    /// Errors: those of taking over what it made; the shard has to recover then.
    pub fn advance_rebuild(&mut self, now: Instant) -> Result<()> {
        if self.files_fit() {
            return Ok(());
        }
        if self.rebuilding().is_none_or(|fingerprint| fingerprint != self.schema.fingerprint()) {
            if !self.rebuild.may_begin(now) {
                return Ok(());
            }
            if self.writer.record_count() <= AT_ONCE_RECORDS {
                return self.settle(now);
            }
            self.begin_rebuild(now)?;
        }
        let state = self.writer.rebuild_step();
        *self.state.rebuild.lock() = self.writer.rebuild_counts();
        match state {
            Ok(RebuildState::Ready) => self.settle(now),
            Ok(RebuildState::Idle | RebuildState::Running) => Ok(()),
            Err(error) => {
                self.note_failure(&error);
                Ok(())
            }
        }
    }
    fn rebuilding(&self) -> Option<u64> {
        self.writer.rebuild_schema().map(Schema::fingerprint)
    }
    fn begin_rebuild(&mut self, now: Instant) -> Result<()> {
        // after a crash the files have to say what reads are shown meanwhile
        self.writer.describe(&self.shown);
        self.flush(now)?;
        tracing::info!(index = self.state.incarnation, "rebuilding a shard whose settings changed");
        self.writer.start_rebuild(&self.schema).map_err(|e| self.engine(e))
    }
    /// Ends a rebuild that is needed before it returns, and shows reads what it made once that is durable.
    pub(super) fn settle(&mut self, now: Instant) -> Result<()> {
        if self.files_fit() {
            return Ok(());
        }
        if self.rebuilding() != Some(self.schema.fingerprint()) {
            self.writer.start_rebuild(&self.schema).map_err(|e| self.engine(e))?;
        }
        if let Err(error) = self.writer.finish_rebuild() {
            self.note_failure(&error);
            return Err(self.engine(error));
        }
        self.commit()?;
        self.rebuild.succeeded();
        self.show_settings(now)
    }
    fn note_failure(&mut self, error: &IndexError) {
        self.failures().count(error);
        self.rebuild.failed();
        let index = self.state.incarnation;
        tracing::error!(index, %error, "a rebuild for other settings failed; it will be tried again");
    }
}
