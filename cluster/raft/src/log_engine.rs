//! The engine that keeps the log, opened and closed: it panics when a sync fails, and this says so instead.
//!
//! It also syncs when it is closed, and when it cannot be opened and gives up what it has opened so far.

use crate::error::RaftError;
use crate::log_dead::drop_dead;
use crate::log_files::EngineFiles;
use raft_engine::{Config, Engine};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub(crate) type RaftEngine = Engine<EngineFiles>;

/// An engine that is open until it is dropped.
pub(crate) struct OpenEngine(Option<RaftEngine>);

impl OpenEngine {
    /// Opens it. Errors: `Log`, it cannot be read, or something cannot be written.
    pub(crate) fn open(config: Config, files: EngineFiles) -> Result<OpenEngine, RaftError> {
        let (dir, unread) = (config.dir.clone(), files.unread());
        let opened = catch_unwind(AssertUnwindSafe(|| {
            let engine = Engine::open_with_file_system(config, Arc::new(files));
            let engine = OpenEngine(Some(engine.map_err(|e| RaftError::Log(e.to_string()))?));
            if let Some(reason) = unread.reason() {
                return Err(RaftError::Log(format!("the log in {dir} cannot be read: {reason}")));
            }
            unread.end();
            drop_dead(&engine)?;
            Ok(engine)
        }));
        opened.unwrap_or_else(|_| Err(RaftError::Log(format!("a file of the log in {dir} cannot be synced"))))
    }
}

impl Deref for OpenEngine {
    type Target = RaftEngine;

    fn deref(&self) -> &RaftEngine {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for OpenEngine {
    /// What was confirmed is durable already, so nothing is lost when this fails.
    fn drop(&mut self) {
        let engine = self.0.take();
        if catch_unwind(AssertUnwindSafe(|| drop(engine))).is_err() {
            tracing::error!("the raft log could not be closed in order: a file of it cannot be synced");
        }
    }
}
