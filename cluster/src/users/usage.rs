//! How many records and bytes each user and each cluster has, as of a few seconds ago.

use quorate_model::UserId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A number of records and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Records.
    pub records: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Figures {
    /// Counts more.
    pub fn add(&mut self, other: Figures) {
        self.records += other.records;
        self.bytes += other.bytes;
    }
}

/// The figures of the installation at some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Of the users that have records, and of the public records.
    pub users: FxHashMap<UserId, Figures>,
    /// Of the clusters that have records, by their number.
    pub clusters: BTreeMap<u16, Figures>,
}

impl Usage {
    /// What a user has.
    pub fn of(&self, user: &UserId) -> Figures {
        self.users.get(user).copied().unwrap_or_default()
    }
    /// Counts what one index holds of a user in a cluster.
    pub fn add(&mut self, cluster: u16, user: UserId, figures: Figures) {
        self.clusters.entry(cluster).or_default().add(figures);
        self.users.entry(user).or_default().add(figures);
    }
}
