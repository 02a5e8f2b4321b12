//! Which cluster each user is in: an immutable map of millions whose copies share what did not change.

use quorate_model::UserId;
use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Branches of each of the two levels above the buckets: a change copies two lists of so many pointers and one bucket,
/// which has about 150 users at 10^7.
const BRANCHES: usize = 256;

/// What the installation knows of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRow {
    /// Number of the cluster that serves the user.
    pub cluster: u16,
    /// Rises with every change of the row: what was decided on an older one has no effect.
    pub epoch: u64,
    /// What happens to the user.
    pub state: UserState,
}

/// Whether something is under way for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UserState {
    /// Nothing.
    Assigned,
    /// The records are being copied to this cluster; reads and writes go to the old one.
    Copying {
        /// Number of the cluster.
        to: u16,
    },
    /// As before, and writes wait.
    Frozen {
        /// Number of the cluster.
        to: u16,
    },
    /// Moved, or not; what this other cluster has of the user is being deleted.
    Cleaning {
        /// Number of the cluster.
        from: u16,
    },
    /// The records are being deleted, then the user is no more.
    Removing,
    /// The new cluster serves the user; writes wait until every node that serves reads knows it.
    Landing {
        /// Number of the cluster that served the user before.
        from: u16,
    },
}

impl UserRow {
    /// Whether nothing is under way.
    pub fn is_settled(&self) -> bool {
        self.state == UserState::Assigned
    }
}

type Bucket = FxHashMap<UserId, UserRow>;
type Branch = Arc<[Arc<Bucket>]>;

/// The map from users to clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMap {
    branches: Arc<[Branch]>,
    len: usize,
}

impl Default for UserMap {
    fn default() -> Self {
        let bucket = Arc::new(Bucket::default());
        let branch: Branch = vec![bucket; BRANCHES].into();
        UserMap { branches: vec![branch; BRANCHES].into(), len: 0 }
    }
}

impl UserMap {
    /// What is known of a user.
    pub fn get(&self, user: &UserId) -> Option<&UserRow> {
        let (branch, bucket) = place_of(user);
        self.branches[branch][bucket].get(user)
    }
    /// Lets `row` be what is known of a user and returns what was.
    pub fn put(&mut self, user: UserId, row: UserRow) -> Option<UserRow> {
        let earlier = self.bucket_mut(&user).insert(user, row);
        self.len += usize::from(earlier.is_none());
        earlier
    }
    /// Forgets a user.
    pub fn remove(&mut self, user: &UserId) -> Option<UserRow> {
        let removed = self.bucket_mut(user).remove(user);
        self.len -= usize::from(removed.is_some());
        removed
    }
    /// Every user, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (&UserId, &UserRow)> {
        self.branches.iter().flat_map(|branch| branch.iter()).flat_map(|bucket| bucket.iter())
    }
    /// How many users there are.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Whether this is the very map that `other` is: nothing changed between the two.
    pub fn is_same(&self, other: &UserMap) -> bool {
        Arc::ptr_eq(&self.branches, &other.branches)
    }
    fn bucket_mut(&mut self, user: &UserId) -> &mut Bucket {
        let (branch, bucket) = place_of(user);
        let branch = &mut Arc::make_mut(&mut self.branches)[branch];
        Arc::make_mut(&mut Arc::make_mut(branch)[bucket])
    }
}

/// Branch and bucket of a user; of this process only.
fn place_of(user: &UserId) -> (usize, usize) {
    let mut hasher = FxHasher::default();
    user.hash(&mut hasher);
    let hash = hasher.finish();
    // the upper half is the better mixed one
    ((hash >> 56) as usize % BRANCHES, (hash >> 48) as usize % BRANCHES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_what_it_had_and_buckets_stay_small() {
        let user = |i: u64| UserId::new(&format!("user-{i}")).expect("valid");
        let row = |epoch| UserRow { cluster: 0, epoch, state: UserState::Assigned };
        let mut now = UserMap::default();
        for i in 0..20_000 {
            assert_eq!(now.put(user(i), row(i)), None);
        }
        let before = now.clone();
        assert!(before.is_same(&now));
        assert_eq!(now.put(user(3), row(9)), Some(row(3)));
        assert_eq!(now.remove(&user(4)), Some(row(4)));
        assert_eq!(now.remove(&user(4)), None);
        assert!(!before.is_same(&now));
        assert_eq!((before.get(&user(3)), before.get(&user(4))), (Some(&row(3)), Some(&row(4))));
        assert_eq!((now.get(&user(3)), now.get(&user(4))), (Some(&row(9)), None));
        assert_eq!((before.len(), now.len(), now.iter().count()), (20_000, 19_999, 19_999));
        let largest = now.branches.iter().flat_map(|b| b.iter()).map(|bucket| bucket.len()).max();
        assert!(largest < Some(12), "{largest:?} of 20,000 users in one of 65,536 buckets");
    }
}
