//! What do blocks say without some users?
//!
//! Searches of a block stand by user, and events behind who it was, so that users are passed over; what they add to sums is
//! subtracted. Whether a search counts may depend on an event that another token than its user's was given with, so everything of a
//! user is left out of whose events one has a token that is to be forgotten, and derived anew of rows.

use super::block::{Block, Part};
use super::events::each_run;
use super::searches::{Columns, Search, Searches};
use super::sums::Sums;
use crate::error::Result;
use rustc_hash::FxHashMap;

/// Who is left out of a block.
#[derive(Debug, Default)]
pub(super) struct Without {
    /// Sorted hashes.
    pub users: Vec<u64>,
    /// Their numbers among users of the block who searched, sorted.
    pub numbers: Vec<usize>,
    /// Sums of their searches.
    pub all: Sums,
    /// The same of each query that they searched, by its number.
    pub of: FxHashMap<usize, Sums>,
}

impl Without {
    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        8 * (self.users.len() + self.numbers.len()) + 2 * (8 + size_of::<Sums>()) * self.of.len()
    }
}

/// Sorted hashes of users of some blocks, which are of one time and index, who have anything to do with tokens whose sorted hashes these are.
pub(super) fn users_of(blocks: &[Block], tokens: &[u64]) -> Result<Vec<u64>> {
    let mut users = vec![];
    for block in blocks {
        if !block.has_any(tokens)? {
            continue;
        }
        let is_one = |hash: &u64| tokens.binary_search(hash).is_ok();
        users.extend(block.users()?.into_iter().filter(is_one));
        each_run(&block.part(Part::Events)?, &mut |run, count, reader, names| {
            if is_one(&run.user) || run.pseudonym.as_ref().is_some_and(is_one) {
                users.push(run.user);
            }
            for _ in 0..count {
                super::events::take_event(reader, names, 0)?;
            }
            Ok(true)
        })?;
    }
    users.sort_unstable();
    users.dedup();
    Ok(users)
}

impl Block {
    /// The same without these users, whose hashes are sorted. Cost: some nanoseconds for each search when it has any of them.
    pub(super) fn except(&self, users: &[u64]) -> Result<Block> {
        let mut all = users.to_vec();
        all.extend(self.without().iter().flat_map(|without| &without.users));
        all.sort_unstable();
        all.dedup();
        let there = self.users()?.into_iter().enumerate();
        let is_one = |(_, hash): &(usize, u64)| all.binary_search(hash).is_ok();
        let numbers: Vec<usize> = there.filter(is_one).map(|(number, _)| number).collect();
        let mut without = Without { users: all, numbers, ..Without::default() };
        let Without { numbers, all, of, .. } = &mut without;
        self.of_users(numbers, false, &mut |search, sums| {
            all.add(sums);
            of.entry(search.query).or_default().add(sums);
        })?;
        Ok(self.leaving_out(without))
    }
    /// Sums of records in searches of users who are left out, by the number of the record.
    pub fn records_without(&self) -> Result<FxHashMap<usize, Sums>> {
        let mut gone: FxHashMap<usize, Sums> = FxHashMap::default();
        let Some(without) = self.without().filter(|without| !without.numbers.is_empty()) else {
            return Ok(gone);
        };
        let mut of_lists: FxHashMap<usize, Sums> = FxHashMap::default();
        self.of_users(&without.numbers, true, &mut |search, sums| {
            of_lists.entry(search.list).or_default().add(sums);
        })?;
        let searches = Searches::of(self, Columns { ids: false, shown: true })?;
        let lists = searches.records()?.lists;
        for (list, sums) in &of_lists {
            for record in lists.get(*list).into_iter().flatten() {
                gone.entry(*record).or_default().add(sums);
            }
        }
        Ok(gone)
    }
    /// Gives the searches of users with these numbers, which are sorted.
    fn of_users(
        &self,
        numbers: &[usize],
        shown: bool,
        give: &mut dyn FnMut(&Search<'_>, &Sums),
    ) -> Result<()> {
        let Some(last) = numbers.last() else { return Ok(()) };
        let plain = self.leaving_out(Without::default());
        let mut numbers = numbers.iter().peekable();
        for search in Searches::of(&plain, Columns { ids: false, shown })?.iter() {
            let search = search?;
            if search.user > *last {
                break;
            }
            while numbers.next_if(|number| **number < search.user).is_some() {}
            if numbers.peek() == Some(&&search.user) {
                give(&search, &Sums::of(search.hits, search.filters.is_some(), search.is_tracked));
            }
        }
        Ok(())
    }
}
