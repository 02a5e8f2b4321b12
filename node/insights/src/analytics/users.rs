//! How many users are there?

use rustc_hash::FxHashSet;

/// Users that are told apart. Beyond, those whose hashes are small stand for all.
const USERS_MAX: usize = 1 << 20;

/// Users, by hashes that are as good as random. Exact up to a million, and within some thousandths beyond.
pub(super) struct Users {
    of: FxHashSet<u64>,
    /// How often the hashes that are kept have become half as many.
    halved: u32,
    most: usize,
}

impl Default for Users {
    fn default() -> Self {
        Users { of: FxHashSet::default(), halved: 0, most: USERS_MAX }
    }
}

impl Users {
    /// Adds a user.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        if hash.leading_zeros() >= self.halved && self.of.insert(hash) && self.of.len() > self.most {
            self.halved += 1;
            let halved = self.halved;
            self.of.retain(|hash| hash.leading_zeros() >= halved);
        }
    }
    /// How many.
    pub fn count(&self) -> u64 {
        (self.of.len() as u64) << self.halved
    }
    /// Begins anew.
    pub fn clear(&mut self) {
        self.of.clear();
        self.halved = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::user_hash;

    #[test]
    fn few_are_exact_and_many_are_near() {
        let mut users = Users { most: 16_384, ..Users::default() };
        for number in 0..200_000_u32 {
            let hash = user_hash(&number.to_string());
            users.add(hash);
            users.add(hash);
            if number == 9_999 {
                assert_eq!(users.count(), 10_000);
            }
        }
        assert!(users.count().abs_diff(200_000) < 4_000, "{}", users.count());
        users.clear();
        assert_eq!(users.count(), 0);
    }
}
