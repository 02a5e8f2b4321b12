//! Wakes the janitor, and keeps it from what a caller is about to announce.

use quorate_model::{Error, Result};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Notify, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Wakes the janitor when there is something for it.
#[derive(Clone, Debug, Default)]
pub struct JanitorHandle {
    notify: Arc<Notify>,
    announcing: Arc<RwLock<()>>,
}

impl JanitorHandle {
    /// Something was tombstoned.
    pub fn wake(&self) {
        self.notify.notify_one();
    }
    /// Waits until somebody wakes it.
    pub async fn woken(&self) {
        self.notify.notified().await;
    }
    /// For the janitor: no caller announces anything while this is held. `None` when somebody does.
    pub fn nobody_announces(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.announcing.try_write().ok()
    }
    /// From before something is decided that groups have to be told until its holder has told them: the janitor leaves it to
    /// the holder. Errors: `Unavailable` when the janitor announces something until the deadline.
    pub async fn announcing(&self, deadline: Instant) -> Result<RwLockReadGuard<'_, ()>> {
        let waited = tokio::time::timeout_at(deadline.into(), self.announcing.read()).await;
        waited.map_err(|_| Error::unavailable("replicas of other indices are being linked; try again"))
    }
}
