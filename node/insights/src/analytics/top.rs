//! Which queries were searched most, and which records shown, when sums are all that is asked for?
//!
//! Sums of queries lie by fingerprint in all blocks, and those of records by checksum, so that a part of all is added up after
//! another: everything is counted exactly, and what is in memory at a time is a part of it. Texts of queries are read of those that
//! are answered.

use super::failure::Failure;
use super::groups::Group;
use crate::error::Result as Read;
use crate::rollup::{Block, EachRecord, Record, SHARDS, Sums, Texts};
use quorate_model::analytics::{Figures, GROUPS_MAX, ReportQuery};
use rustc_hash::FxHashMap;

/// What has sums: a query by where its text is, its block and its number there; a record by its name.
#[derive(Clone, Copy)]
struct Counted<T> {
    sums: Sums,
    what: T,
}
type Query = Counted<(u32, u32)>;

/// The queries that may be in the answer: more than these when others are as frequent as the last one.
pub(super) fn queries(
    blocks: &[Block],
    asked: &ReportQuery,
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
                let new = || Query { sums: Sums::default(), what: (number, query as u32) };
                of.entry(fingerprint).or_insert_with(new).sums.add(sums);
            })?;
        }
        best.extend(of.values());
        keep_best(&mut best, most, asked.ascending);
    }
    Ok(named(blocks, best)?)
}

/// The records that may be in the answer.
pub(super) fn records(
    blocks: &[Block],
    asked: &ReportQuery,
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<Group>, Failure> {
    let most = asked.offset.saturating_add(asked.limit).min(GROUPS_MAX);
    let gone = blocks.iter().map(Block::records_without).collect::<Read<Vec<_>>>()?;
    let mut best: Vec<Counted<Box<str>>> = vec![];
    for shard in 0..SHARDS {
        if is_over() {
            return Err(Failure::Stopped);
        }
        let regions = blocks.iter().map(|block| block.records(shard)).collect::<Read<Vec<_>>>()?;
        let mut all = regions.iter().map(|region| EachRecord::of(region)).collect::<Read<Vec<_>>>()?;
        let mut of: FxHashMap<&str, Sums> = FxHashMap::default();
        // few at a time: what is looked up by name stays near
        for part in shard * SHARDS..(shard + 1) * SHARDS {
            for (records, gone) in all.iter_mut().zip(&gone) {
                while let Some(Record { name, number, sums }) = records.next_of(part)? {
                    let left = gone.get(&number).map_or(sums, |gone| sums.less(gone));
                    if left.searches > 0 {
                        of.entry(name).or_default().add(&left);
                    }
                }
            }
            let mut of_part: Vec<Counted<&str>> =
                of.drain().map(|(what, sums)| Counted { sums, what }).collect();
            keep_best(&mut of_part, most, asked.ascending);
            best.extend(
                of_part.into_iter().map(|Counted { sums, what }| Counted { sums, what: what.into() }),
            );
        }
        keep_best(&mut best, most, asked.ascending);
    }
    let figures = |sums: Sums| {
        let mut figures = Figures::default();
        sums.add_to(&mut figures);
        figures
    };
    Ok(best.into_iter().map(|Counted { sums, what }| (what.into(), figures(sums))).collect())
}

/// Lets those go that are less than as many others as are asked for.
fn keep_best<T: Ord>(all: &mut Vec<Counted<T>>, most: usize, ascending: bool) {
    if most == 0 {
        all.clear();
    }
    if all.len() <= most {
        return;
    }
    let rank = |counted: &Counted<T>| match ascending {
        true => counted.sums.searches,
        false => u64::MAX - counted.sums.searches,
    };
    let (_, last, _) = all.select_nth_unstable_by_key(most - 1, rank);
    let last = rank(last);
    all.retain(|counted| rank(counted) <= last);
    if all.len() > GROUPS_MAX {
        // too many of the same frequency
        all.sort_unstable_by(|one, other| {
            rank(one).cmp(&rank(other)).then_with(|| one.what.cmp(&other.what))
        });
        all.truncate(GROUPS_MAX);
    }
}
fn named(blocks: &[Block], mut queries: Vec<Query>) -> Read<Vec<Group>> {
    // those of one block come one after another
    queries.sort_unstable_by_key(|query| query.what);
    let (mut groups, mut texts): (Vec<Group>, Option<(u32, Texts)>) = Default::default();
    for query in queries {
        let (of, number) = query.what;
        let known = texts.take().filter(|(block, _)| *block == of);
        let of_block = match known {
            Some((_, of_block)) => of_block,
            None => blocks[of as usize].texts()?,
        };
        let mut figures = Figures::default();
        query.sums.add_to(&mut figures);
        groups.push((of_block.get(number as usize)?.to_owned(), figures));
        texts = Some((of, of_block));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_with_those_that_are_as_good_as_the_last() {
        let query = |searches| Query { sums: Sums { searches, ..Sums::default() }, what: (0, 0) };
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
