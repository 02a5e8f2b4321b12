//! Wakes the janitor, and keeps it from links that a caller is about to announce.

use std::sync::Arc;
use tokio::sync::{Notify, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Wakes the janitor when there is something for it.
#[derive(Clone, Debug, Default)]
pub struct JanitorHandle {
    notify: Arc<Notify>,
    linking: Arc<RwLock<()>>,
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
    /// For the janitor: nobody links replicas while this is held. `None` when somebody does.
    pub fn nobody_links(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.linking.try_write().ok()
    }
    /// While this is held, groups are told of their replicas by its holder and not by the janitor.
    pub async fn linking(&self) -> RwLockReadGuard<'_, ()> {
        self.linking.read().await
    }
}
