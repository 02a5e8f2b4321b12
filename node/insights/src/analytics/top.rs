//! Which queries were searched most, when sums are all that is asked for?
//!
//! Sums of queries lie by fingerprint in all blocks, so that a part of all fingerprints is added up after another: every query is
//! counted exactly, and what is in memory at a time is a part of it. Texts are read of those that are answered.

use super::failure::Failure;
use super::groups::Group;
use crate::error::Result as Read;
use crate::rollup::{Block, SHARDS, Sums, Texts};
use quorate_model::analytics::{Asked, Figures, GROUPS_MAX};
use rustc_hash::FxHashMap;

/// A query, by where its text is.
#[derive(Clone, Copy)]
struct Query {
    sums: Sums,
    block: u32,
    number: u32,
}

/// The queries that may be in the answer: more than these when others are as frequent as the last one.
pub(super) fn queries(
    blocks: &[Block],
    asked: &Asked,
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<Group>, Failure> {
    let most = asked.offset.saturating_add(asked.limit).min(GROUPS_MAX);
    let (mut best, mut of): (Vec<Query>, FxHashMap<u64, Query>) = Default::default();
    for shard in 0..SHARDS {
        of.clear();
        for (block, number) in blocks.iter().zip(0..) {
            if is_over() {
                return Err(Failure::Stopped);
            }
            block.sums(shard, &mut |fingerprint, query, sums| {
                let new = || Query { sums: Sums::default(), block: number, number: query as u32 };
                of.entry(fingerprint).or_insert_with(new).sums.add(sums);
            })?;
        }
        best.extend(of.values());
        keep_best(&mut best, most, asked.ascending);
    }
    Ok(named(blocks, best)?)
}

/// Lets those go that are less than as many others as are asked for.
fn keep_best(all: &mut Vec<Query>, most: usize, ascending: bool) {
    if most == 0 {
        all.clear();
    }
    if all.len() <= most {
        return;
    }
    let rank = |query: &Query| if ascending { query.sums.searches } else { u64::MAX - query.sums.searches };
    let (_, last, _) = all.select_nth_unstable_by_key(most - 1, rank);
    let last = rank(last);
    all.retain(|query| rank(query) <= last);
    if all.len() > GROUPS_MAX {
        // too many of the same frequency
        all.sort_unstable_by_key(|query| (rank(query), query.block, query.number));
        all.truncate(GROUPS_MAX);
    }
}
fn named(blocks: &[Block], mut queries: Vec<Query>) -> Read<Vec<Group>> {
    // those of one block come one after another
    queries.sort_unstable_by_key(|query| (query.block, query.number));
    let (mut groups, mut texts): (Vec<Group>, Option<(u32, Texts)>) = Default::default();
    for query in queries {
        let known = texts.take().filter(|(block, _)| *block == query.block);
        let of_block = match known {
            Some((_, of_block)) => of_block,
            None => blocks[query.block as usize].texts()?,
        };
        let mut figures = Figures::default();
        query.sums.add_to(&mut figures);
        groups.push((of_block.get(query.number as usize)?.to_owned(), figures));
        texts = Some((query.block, of_block));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_with_those_that_are_as_good_as_the_last() {
        let query = |searches| Query { sums: Sums { searches, ..Sums::default() }, block: 0, number: 0 };
        for (most, ascending, expected) in [
            (2, false, vec![5, 9]),
            (3, false, vec![3, 3, 5, 9]),
            (1, true, vec![1]),
            (0, false, vec![]),
            (9, true, vec![1, 3, 3, 5, 9]),
        ] {
            let mut all: Vec<Query> = [3, 9, 1, 5, 3].map(query).to_vec();
            keep_best(&mut all, most, ascending);
            let mut found: Vec<u64> = all.iter().map(|query| query.sums.searches).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{most} {ascending}");
        }
    }
}
