//! What did the first start fix, and which admin keys count: the newest one, and for a time those before it.

use super::rows::{Row, RowChange, StateTable};
use super::{At, MetaState};
use quorate_model::level;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the installation is, as one row.
const INSTALLATION: u8 = b'n';
/// The keys before, as one row.
const KEY_HISTORY: u8 = b'A';
/// Earlier admin keys that are remembered; with one more, the oldest stops counting at once.
pub const RETIRED_MAX: usize = 8;

/// What the first start fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The application id of every request.
    pub app_id: String,
    /// SHA-256 of the admin key.
    pub admin_key: [u8; 32],
}

impl StateTable for Option<Arc<Installation>> {
    fn kinds(&self) -> &'static [u8] {
        &[INSTALLATION]
    }
    fn hashed_as(&self) -> &'static str {
        "admin key"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(self.iter().map(|it| installation_row(it)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        let (app_id, admin_key) = row.decoded()?;
        *self = Some(Arc::new(Installation { app_id, admin_key }));
        Some(())
    }
}

fn installation_row(it: &Installation) -> RowChange {
    RowChange::encoded(INSTALLATION, b"", &(&it.app_id, it.admin_key))
}

/// What came before the admin key of the installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyHistory {
    /// Meta log index at which the admin key was last replaced; 0 = not since this is counted.
    pub revision: u64,
    /// The keys before, the last one last; also those that do not count any more.
    pub retired: Vec<RetiredKey>,
}

/// An admin key that was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredKey {
    /// Its SHA-256.
    pub digest: [u8; 32],
    /// Unix milliseconds until which it counts.
    pub until_ms: u64,
}

impl StateTable for Arc<KeyHistory> {
    fn kinds(&self) -> &'static [u8] {
        &[KEY_HISTORY]
    }
    fn hashed_as(&self) -> &'static str {
        "admin key"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(std::iter::once(history_row(self)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        *self = Arc::new(row.decoded()?);
        Some(())
    }
}

fn history_row(history: &KeyHistory) -> RowChange {
    RowChange::encoded(KEY_HISTORY, b"", history)
}

impl MetaState {
    pub(super) fn set_up(
        &mut self,
        app_id: String,
        admin_key: [u8; 32],
        search_key: &[u8],
    ) -> Vec<RowChange> {
        if self.installation.is_some() {
            return vec![];
        }
        let installation = Installation { app_id, admin_key };
        let mut changes = vec![installation_row(&installation)];
        self.installation = Some(Arc::new(installation));
        changes.extend(self.put_key(search_key));
        changes
    }

    /// The SHA-256 of every admin key that counts at a time: the newest one first.
    pub fn admin_keys(&self, now_ms: u64) -> impl Iterator<Item = [u8; 32]> {
        let retired = self.key_history.retired.iter().filter(move |key| now_ms < key.until_ms);
        let newest = self.installation.iter().map(|it| it.admin_key);
        newest.chain(retired.map(|key| key.digest))
    }

    pub(super) fn rotate_admin_key(
        &mut self,
        at: At,
        admin_key: [u8; 32],
        replaces: u64,
        overlap_ms: u64,
    ) -> Vec<RowChange> {
        let ends_all = self.level() >= level::OVERLAP_OF_ALL;
        let Some(installation) = &mut self.installation else { return vec![] };
        if self.key_history.revision != replaces || installation.admin_key == admin_key {
            return vec![];
        }
        let installation = Arc::make_mut(installation);
        let digest = std::mem::replace(&mut installation.admin_key, admin_key);
        let history = Arc::make_mut(&mut self.key_history);
        history.revision = at.log_index;
        history.retired.retain(|key| key.digest != admin_key && key.digest != digest);
        let until_ms = at.time_ms.saturating_add(overlap_ms);
        if ends_all {
            // a key that leaked may have been replaced before, with more patience
            history.retired.iter_mut().for_each(|key| key.until_ms = key.until_ms.min(until_ms));
        }
        history.retired.push(RetiredKey { digest, until_ms });
        if history.retired.len() > RETIRED_MAX {
            history.retired.remove(0);
        }
        vec![installation_row(installation), history_row(history)]
    }

    pub(super) fn set_admin_key(&mut self, at: At, admin_key: [u8; 32]) -> Vec<RowChange> {
        if self.level() >= level::KEY_ROTATION {
            // proposed by a program from before, and late
            return self.rotate_admin_key(at, admin_key, self.key_history.revision, 0);
        }
        let Some(installation) = &mut self.installation else { return vec![] };
        let installation = Arc::make_mut(installation);
        installation.admin_key = admin_key;
        vec![installation_row(installation)]
    }
}
