//! Does the engine rank as the obvious slow way does, on random settings, records and queries?
//!
//! The slow way is the reference: every record, every word, every position, no index. It uses nothing of the engine: it has
//! its own words, its own edit distance, its own scores and its own filters.
//!
//! `QUORATE_COMPARE_SEEDS=100000 cargo test --workspace --release --test comparison` makes a long run;
//! `QUORATE_COMPARE_FROM` moves its first seed.

mod attribute;
mod case;
mod compare;
mod criteria;
mod exact;
mod facet_search;
mod filters;
mod groups;
mod growth;
mod highlight;
mod history;
mod letters;
mod order;
mod places;
mod proximity;
mod queries;
mod ranker;
mod readings;
mod relevant;
#[path = "../shard/mod.rs"]
mod shard;
mod texts;
mod tokens;
mod typo;
mod wanted;
mod word_lists;

use compare::{Tally, compare_seed};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seeds of an ordinary run: some seconds in a debug build.
const SEEDS: u64 = 80;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}
#[test]
fn the_engine_agrees_with_the_reference() {
    let from = number("QUORATE_COMPARE_FROM", 1);
    let seeds = number("QUORATE_COMPARE_SEEDS", SEEDS);
    let mut tally = Tally::default();
    // one disagreement does not hide the others
    let mut disagreeing = vec![];
    for seed in from..from + seeds {
        let compared = catch_unwind(AssertUnwindSafe(|| compare_seed(seed, &mut tally)));
        disagreeing.extend(compared.err().map(|_| seed));
    }
    println!(
        "{} triples from seed {from}: {} comparisons, {} with hits",
        tally.triples, tally.compared, tally.with_hits
    );
    assert!(disagreeing.is_empty(), "seeds that disagree: {disagreeing:?}");
    assert!(tally.with_hits * 3 > tally.compared, "too few queries found anything");
}
