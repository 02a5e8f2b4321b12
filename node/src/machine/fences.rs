//! Is work for a user who is moved or removed still wanted, or has a later step overtaken it?
//!
//! Whoever drives a move may be held up between a decision and its command, for as long as another node needs to end the
//! move. The command then arrives in a part that serves the user again, and must not touch it. So each such command
//! names the epoch of the user that it was decided on, and a group refuses those that come after one of a later epoch.
//!
//! A restart hands commands again to shards whose files lack them, under the fences of a later moment: what is asked is
//! which fences stood at the command's place in the log. So those are kept that any command saw which may be replayed.

use crate::error::Result;
use quorate_model::UserId;
use quorate_store::codec;
use quorate_store::kv::{Batch, Tree};
use quorate_store::layout::rows;
use std::collections::{BTreeMap, BTreeSet};

/// Rows with the epochs up to which work for a user is refused, by user.
pub(super) const FENCE: u8 = b'u';
/// Log entries after which a fence does not count any more: nobody is held up for so long.
const COUNTS_FOR: u64 = 1 << 20;
/// Users that are forgotten at a time, at most: more than come, so that none stay that do not count, and few enough that no
/// entry waits for it.
const FORGOTTEN_AT_ONCE: usize = 8;
/// Bytes of a row at most.
const ROW_BYTES_MAX: usize = 16 << 20;

/// An epoch, and the log index from which on earlier ones are refused.
type Fence = (u64, u64);

/// The fences of a group: which commands for users it refuses.
#[derive(Debug, Default)]
pub struct Fences {
    by_user: BTreeMap<UserId, Vec<Fence>>,
    /// Where the last fence of each user stands: the first ones are the first that do not count any more.
    by_age: BTreeSet<(u64, UserId)>,
}

impl Fences {
    /// The fences as of the last checkpoint.
    pub fn load(tree: &Tree) -> Result<Fences> {
        let mut fences = Fences::default();
        for (key, value) in tree.scan(&[FENCE])? {
            let text = key.get(1..).and_then(|rest| std::str::from_utf8(rest).ok());
            if let Some(user) = text.and_then(|text| UserId::new(text).ok()) {
                let of_user: Vec<Fence> = codec::decode(&value, ROW_BYTES_MAX)?;
                fences.by_age.extend(of_user.last().map(|(_, from)| (*from, user.clone())));
                fences.by_user.insert(user, of_user);
            }
        }
        Ok(fences)
    }
    /// Whether no later epoch stood before the place `at` of the log.
    pub fn let_pass(&self, user: &UserId, epoch: u64, at: u64) -> bool {
        let stood = |(_, from): &&Fence| *from < at && at - *from < COUNTS_FOR;
        let fences = self.by_user.get(user).map_or(&[][..], Vec::as_slice);
        fences.iter().filter(stood).all(|(fence, _)| *fence <= epoch)
    }
    /// Refuses earlier epochs from `at` on. No command through `replayed` is ever handed over again.
    pub fn raise(&mut self, user: UserId, epoch: u64, at: u64, replayed: u64, changes: &mut Batch) {
        self.forget(replayed, changes);
        let fences = self.by_user.entry(user.clone()).or_default();
        if fences.last().is_some_and(|(fence, _)| *fence >= epoch) {
            return;
        }
        if let Some((_, from)) = fences.last() {
            self.by_age.remove(&(*from, user.clone()));
        }
        self.by_age.insert((at, user.clone()));
        fences.push((epoch, at));
        // whatever the last of these lets pass, the ones before it let pass
        let settled = fences.partition_point(|(_, from)| *from <= replayed);
        fences.drain(..settled.saturating_sub(1));
        changes.put(rows::by_name(FENCE, user.as_str()), codec::encode(fences));
    }
    /// Forgets some of what does not count any more for commands behind `at`: no answer of [`Self::let_pass`] changes by that.
    fn forget(&mut self, at: u64, changes: &mut Batch) {
        for _ in 0..FORGOTTEN_AT_ONCE {
            let counts = |(from, _): &(u64, UserId)| at.saturating_sub(*from) < COUNTS_FOR;
            if self.by_age.first().is_none_or(counts) {
                return;
            }
            if let Some((_, user)) = self.by_age.pop_first() {
                changes.delete(rows::by_name(FENCE, user.as_str()));
                self.by_user.remove(&user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> UserId {
        UserId::new(text).expect("valid")
    }

    #[test]
    fn earlier_epochs_are_refused_after_a_later_one() {
        let (mut fences, mut changes) = (Fences::default(), Batch::default());
        for (epoch, at) in [(3, 10), (3, 11), (2, 12), (7, 20)] {
            fences.raise(user("u"), epoch, at, 0, &mut changes);
        }
        for (epoch, at, passes) in [
            (1, 9, true),
            (1, 10, true),
            (2, 11, false),
            (3, 11, true),
            (4, 20, true),
            (6, 21, false),
            (7, 21, true),
            (9, 21, true),
            (1, 20 + COUNTS_FOR, true),
        ] {
            assert_eq!(fences.let_pass(&user("u"), epoch, at), passes, "epoch {epoch} at {at}");
        }
        assert!(fences.let_pass(&user("other"), 0, 99));
    }

    #[test]
    fn a_replayed_command_meets_the_fences_that_it_met_before() {
        let (mut fences, mut changes) = (Fences::default(), Batch::default());
        for epoch in 0..100 {
            fences.raise(user("u"), epoch, epoch, 60, &mut changes);
            let replayed = 61..=epoch;
            for at in replayed {
                assert!(fences.let_pass(&user("u"), at - 1, at) && !fences.let_pass(&user("u"), at - 2, at));
            }
        }
        assert_eq!(fences.by_user[&user("u")].len(), 40, "one of those through 60");
        assert!(!fences.let_pass(&user("u"), 98, 100));
        fences.forget(98 + COUNTS_FOR, &mut changes);
        assert_eq!(fences.by_user.len(), 1);
        fences.forget(99 + COUNTS_FOR, &mut changes);
        assert!(fences.by_user.is_empty());
    }

    /// A million users, some of them twice, as they are moved one after another; each costs what the first one cost.
    #[test]
    fn what_a_new_user_costs_does_not_grow_with_the_others() {
        let given = std::env::var("QUORATE_FENCES").ok();
        let users: u64 = given.map_or(60_000, |text| text.parse().expect("a number of users"));
        let (mut fences, mut most) = (Fences::default(), 0);
        let begun = std::time::Instant::now();
        for n in 0..users {
            let (at, mut changes) = (1 + n * COUNTS_FOR / 20_000, Batch::default());
            fences.raise(user(&format!("u{n}")), 1, at, at - 1, &mut changes);
            fences.raise(user(&format!("u{}", n / 2)), 2, at, at - 1, &mut changes);
            assert!(changes.len() <= 2 * (1 + FORGOTTEN_AT_ONCE), "{} rows", changes.len());
            assert_eq!(fences.by_age.len(), fences.by_user.len());
            most = most.max(fences.by_user.len());
        }
        println!("{users} users in {:?}, at most {most} at a time", begun.elapsed());
        assert!(most <= 40_001, "{most}: those of as many entries as fences count for");
        assert!(!fences.let_pass(&user(&format!("u{}", users - 1)), 0, 2 + users * COUNTS_FOR / 20_000));
    }

    #[test]
    fn what_is_loaded_is_forgotten_in_the_same_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = quorate_store::files::RealFiles::shared();
        let (kv, _) = quorate_store::kv::Kv::open(folder.path(), files, 16 << 20).expect("a store");
        let tree = kv.tree("g").expect("a tree");
        let (mut fences, mut changes) = (Fences::default(), Batch::default());
        for n in 0..20 {
            fences.raise(user(&format!("u{}", (n * 7) % 20)), n, 1 + n, 0, &mut changes);
        }
        changes.set_applied_index(20);
        tree.apply(&changes).expect("written");
        let mut loaded = Fences::load(&tree).expect("own rows");
        assert_eq!(loaded.by_age, fences.by_age);
        loaded.forget(4 + COUNTS_FOR, &mut Batch::default());
        assert_eq!(loaded.by_age.first().map(|(from, _)| *from), Some(5), "those through 4 are forgotten");
        assert_eq!(loaded.by_user.len(), 16);
    }
}
