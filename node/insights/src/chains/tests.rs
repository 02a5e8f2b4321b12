//! Do chains count what a plain reading of the rule counts?

use super::*;
use crate::rows::Text;
use proptest::prelude::*;

/// When it is begun to type: some seconds before an hour ends.
const BEGIN_MS: u64 = HOUR_MS - 5_000;

/// What happens to one user of one index.
#[derive(Clone, Debug)]
enum Step {
    /// So many milliseconds later this is searched, and answered with this id.
    Search(u64, String, u128),
    /// An event names this search.
    Event(u128),
}

fn typed(time_ms: u64, query: &str, id: u128) -> Typed {
    let search = SearchRow { query: Text::from(query), query_ids: vec![QueryId(id)], ..SearchRow::default() };
    Typed::at(time_ms, search)
}
/// Query, time and ids of what counts.
type Found = Vec<(String, u64, Vec<u128>)>;

fn found(typed: Typed) -> (String, u64, Vec<u128>) {
    let ids = typed.search.query_ids.iter().map(|id| id.0).collect();
    (typed.search.query.to_string(), typed.time_ms, ids)
}
fn counted(steps: &[Step]) -> Found {
    passed(steps, BEGIN_MS, false)
}
/// What counts, and where letters ceased to be taken away.
fn passed(steps: &[Step], begin_ms: u64, with_turns: bool) -> Found {
    let (mut chain, mut now_ms, mut all) = (Chain::default(), begin_ms, vec![]);
    for step in steps {
        match step {
            Step::Search(later_ms, query, id) => {
                now_ms += later_ms;
                all.extend(chain.then(typed(now_ms, query, *id)));
                all.extend(chain.turned().filter(|_| with_turns));
            }
            Step::Event(id) => chain.named(QueryId(*id)),
        }
    }
    all.extend(chain.end());
    all.into_iter().map(found).collect()
}

/// The same, slowly: all queries first, each with what became of it, then who counts.
fn counted_plainly(steps: &[Step]) -> Found {
    struct Shown {
        query: String,
        since_ms: u64,
        time_ms: u64,
        ids: Vec<u128>,
        is_named: bool,
    }
    let (mut queries, mut now_ms): (Vec<Shown>, u64) = (vec![], BEGIN_MS);
    let is_near =
        |a_ms: u64, b_ms: u64| b_ms - a_ms <= TOGETHER_WITHIN_MS && a_ms / HOUR_MS == b_ms / HOUR_MS;
    for step in steps {
        match step {
            Step::Search(later_ms, query, id) => {
                now_ms += later_ms;
                match queries.last_mut() {
                    Some(last) if last.query == *query && is_near(last.time_ms, now_ms) => {
                        last.time_ms = now_ms;
                        last.ids.retain(|there| there != id);
                        last.ids.push(*id);
                    }
                    _ => queries.push(Shown {
                        query: query.clone(),
                        since_ms: now_ms,
                        time_ms: now_ms,
                        ids: vec![*id],
                        is_named: false,
                    }),
                }
            }
            Step::Event(id) => {
                if let Some(last) = queries.last_mut() {
                    last.is_named |= last.ids.contains(id);
                }
            }
        }
    }
    let (mut all, mut ids) = (vec![], vec![]);
    for (at, shown) in queries.iter().enumerate() {
        ids.retain(|id| !shown.ids.contains(id));
        ids.extend_from_slice(&shown.ids);
        let is_dropped = queries.get(at + 1).is_some_and(|next| {
            is_near(shown.time_ms, next.since_ms)
                && together_plainly(&shown.query, &next.query)
                && !shown.is_named
                && (next.query.starts_with(&shown.query) || next.since_ms - shown.since_ms < STANDS_AFTER_MS)
        });
        if !is_dropped {
            let many = ids.len().saturating_sub(IDS_MAX);
            all.push((shown.query.clone(), shown.time_ms, ids.split_off(many)));
            ids.clear();
        }
    }
    all
}
fn together_plainly(one: &str, other: &str) -> bool {
    let (short, long) =
        if one.chars().count() <= other.chars().count() { (one, other) } else { (other, one) };
    let edits = if short.chars().count() >= 8 { 2 } else { 1 };
    let (short, long): (Vec<char>, Vec<char>) = (short.chars().collect(), long.chars().collect());
    let is_near = |length| edits_plainly(&short, &long[..length]) <= edits;
    short.iter().zip(&long).filter(|(a, b)| a == b).count() == short.len() || (0..=long.len()).any(is_near)
}
/// The whole table of edits between two texts, swaps of neighbours included.
fn edits_plainly(one: &[char], other: &[char]) -> usize {
    let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            table[i][j] = match (i, j) {
                (0, far) | (far, 0) => far,
                _ => {
                    let same = usize::from(one[i - 1] != other[j - 1]);
                    let least =
                        (table[i - 1][j] + 1).min(table[i][j - 1] + 1).min(table[i - 1][j - 1] + same);
                    let is_swap = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
                    if is_swap { least.min(table[i - 2][j - 2] + 1) } else { least }
                }
            };
        }
    }
    table[one.len()][other.len()]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let query =
        prop_oneof![3 => "[ab]{0,4}", 2 => "ab[abc]{0,2}", 2 => "abcabcab[abc]{0,3}", 1 => "é[aé]{0,2}"];
    let later = prop_oneof![4 => 0..400_u64, 2 => 1_500..2_500_u64, 1 => 29_500..30_500_u64];
    let search = (later, query, 0..40_u128).prop_map(|(later, query, id)| Step::Search(later, query, id));
    let step = prop_oneof![6 => search, 1 => (0..40_u128).prop_map(Step::Event)];
    prop::collection::vec(step, 0..80)
}

#[test]
fn an_id_of_an_earlier_query_that_comes_again_is_the_last_ones_own() {
    let search = |query: &str, id| Step::Search(10, query.to_owned(), id);
    let steps = [search("", 9), search("bb", 25), search("bb", 9), Step::Event(25), search("ab", 0)];
    assert_eq!(counted(&steps), counted_plainly(&steps));
    assert_eq!(counted(&steps).len(), 2, "an event names the first of them");
}

proptest! {
    #[test]
    fn chains_count_what_a_plain_reading_counts(steps in steps()) {
        prop_assert_eq!(counted(&steps), counted_plainly(&steps));
    }
    #[test]
    fn what_belongs_together_is_what_the_whole_table_says(
        one in "[abc]{0,12}", other in "[abc]{0,12}", cut in 0..12_usize, typo in 0..12_usize,
    ) {
        prop_assert_eq!(belong_together(&one, &other), together_plainly(&one, &other), "{} {}", one, other);
        // and of what is nearly the same
        let mut near: Vec<char> = one.chars().take(cut).collect();
        if typo + 1 < near.len() {
            near.swap(typo, typo + 1);
        }
        let near: String = near.into_iter().collect();
        prop_assert_eq!(belong_together(&one, &near), together_plainly(&one, &near), "{} {}", one, near);
        prop_assert_eq!(belong_together(&near, &one), belong_together(&one, &near));
    }
    /// What a node holds is each user's chain, whatever others type, and ends when that is quiet.
    #[test]
    fn held_chains_are_those_of_each_user(of in prop::collection::vec((0..3_u8, 0..2_u8, steps()), 1..5)) {
        let mut steps_of: std::collections::BTreeMap<(u8, u8), Vec<Step>> = Default::default();
        for (user, index, steps) in of {
            steps_of.insert((user, index), steps);
        }
        let (mut chains, mut all) = (Chains::default(), vec![]);
        let mut complete = |counted: Counted| all.push(counted);
        let mut queue: Vec<(u64, String, String, Step)> = vec![];
        for ((user, index), steps) in &steps_of {
            let mut now_ms = BEGIN_MS;
            for step in steps {
                if let Step::Search(later_ms, ..) = step {
                    now_ms += later_ms;
                }
                queue.push((now_ms, format!("i{index}"), format!("u{user}"), step.clone()));
            }
        }
        // in time, those of one user in their order
        queue.sort_by_key(|(now_ms, ..)| *now_ms);
        for (now_ms, index, user, step) in queue {
            match step {
                Step::Search(_, query, id) => chains.take(&index, &user, typed(now_ms, &query, id), &mut complete),
                Step::Event(id) => chains.named(&index, &user, QueryId(id)),
            }
        }
        chains.end_quiet(u64::MAX, &mut complete);
        prop_assert!(chains.is_empty());
        for ((user, index), steps) in &steps_of {
            let of_user = all.iter().filter(|counted| {
                *counted.index == *format!("i{index}") && *counted.user == *format!("u{user}")
            });
            let of_user: Found = of_user.map(|counted| found(counted.typed.clone())).collect();
            prop_assert_eq!(of_user, passed(steps, BEGIN_MS, true));
        }
    }
}

#[test]
fn what_is_typed_letter_by_letter_is_one_search() {
    let type_all = |queries: &[(u64, &str)]| -> Vec<String> {
        let search =
            |(at, (later, query)): (usize, &(u64, &str))| Step::Search(*later, normalized(query), at as u128);
        let steps: Vec<Step> = queries.iter().enumerate().map(search).collect();
        passed(&steps, 0, false).into_iter().map(|(query, ..)| query).collect()
    };
    for (queries, expected) in [
        (
            &[(0, "T"), (100, "Te"), (100, "Tes"), (9_000, "Test str"), (200, "Test string")][..],
            &["test string"][..],
        ),
        // corrected
        (&[(0, "shoez"), (300, "shoe"), (300, "shoes")], &["shoes"]),
        (&[(0, "hsoes"), (900, "shoes")], &["shoes"]),
        // looked at, then taken back
        (
            &[(0, "red shoes"), (2_500, "red shoe"), (100, "red s"), (300, "red shirt")],
            &["red shoes", "red shirt"],
        ),
        (&[(0, "shoes"), (5_000, "")], &["shoes", ""]),
        // another one
        (&[(0, "shoes"), (1_000, "table")], &["shoes", "table"]),
        (&[(0, "shoes"), (30_001, "shoes red")], &["shoes", "shoes red"]),
        // pages and filters of the same
        (&[(0, "shoes"), (8_000, "Shoes "), (8_000, "shoes")], &["shoes"]),
    ] {
        assert_eq!(type_all(queries), expected, "{queries:?}");
    }
}

#[test]
fn what_is_given_up_at_three_nodes_in_turn_does_not_count() {
    // begun, taken away letter by letter or at once, and replaced, long before what follows is whole
    let given_up = |keys: &mut Vec<String>, text: &str, kept: usize| {
        keys.extend((keys.last().map_or(0, String::len) + 1..=text.len()).map(|end| text[..end].to_owned()));
        keys.extend((kept..text.len()).rev().map(|end| text[..end].to_owned()));
    };
    for (first, kept, last) in [
        ("cork", 0, "velvet umbrella stand"),
        ("woollen curtain", 8, "woollen blanket in blue"),
        ("clock", 0, "x"),
    ] {
        let mut keys = vec![];
        given_up(&mut keys, first, kept);
        given_up(&mut keys, last, last.len());
        let mut rows = vec![];
        for node in 0..3 {
            let (mut chains, mut complete) = (Chains::default(), |counted: Counted| rows.push(counted.typed));
            for (at, key) in keys.iter().enumerate().skip(node).step_by(3) {
                let time_ms = 150 * at as u64;
                chains.take("i", "u", typed(time_ms, key, at as u128), &mut complete);
            }
            chains.end_quiet(u64::MAX, &mut complete);
        }
        rows.sort_by_key(|row| row.time_ms);
        let mut chain = Chain::default();
        let joined = rows.into_iter().map(|row| Typed::at(row.time_ms, row.search));
        let mut all: Vec<Typed> = joined.filter_map(|row| chain.then(row)).collect();
        all.extend(chain.end());
        let queries: Vec<&str> = all.iter().map(|typed| &*typed.search.query).collect();
        assert_eq!(queries, [last], "{first}");
    }
}

#[test]
fn only_so_many_chains_are_held() {
    let (mut chains, mut all) = (Chains::default(), vec![]);
    for user in 0..CHAINS_MAX + 10 {
        chains.take("i", &format!("u{user}"), typed(user as u64, "q", 1), &mut |counted| all.push(counted));
    }
    assert_eq!(chains.len(), CHAINS_MAX);
    let users: Vec<String> = all.iter().map(|counted| counted.user.to_string()).collect();
    assert_eq!(users, (0..10).map(|user| format!("u{user}")).collect::<Vec<_>>(), "the oldest");
    chains.forget("u11");
    assert_eq!(chains.len(), CHAINS_MAX - 1);
    chains.end_quiet(QUIET_MS + 19, &mut |counted| all.push(counted));
    assert_eq!(all.len(), 10 + 9, "u10 to u19 without u11 are quiet");
}

#[test]
fn only_so_many_bytes_of_chains_are_held() {
    const TEXT: usize = 1 << 20;
    const MANY: usize = CHAINS_BYTES_MAX / TEXT;
    let (mut chains, mut all) = (Chains::default(), vec![]);
    let mut long = typed(0, "q", 1);
    long.search.filters = ["f".repeat(TEXT)].iter().collect();
    for user in 0..MANY as u64 + 10 {
        let next = Typed { since_ms: user, time_ms: user, ..long.clone() };
        chains.take("i", &format!("u{user}"), next, &mut |counted| all.push(counted));
        assert!(chains.bytes() <= CHAINS_BYTES_MAX, "{} bytes", chains.bytes());
    }
    // each takes a little more than its text
    assert_eq!((chains.len(), all.len()), (MANY - 1, 11));
    let users: Vec<String> = all.iter().map(|counted| counted.user.to_string()).collect();
    assert_eq!(users, (0..11).map(|user| format!("u{user}")).collect::<Vec<_>>(), "the oldest");
    // one that goes on counts once
    let before = chains.bytes();
    chains.take("i", "u20", Typed { time_ms: MANY as u64 + 20, ..long }, &mut |_| ());
    assert_eq!((chains.len(), chains.bytes()), (MANY - 1, before));
    chains.forget("u20");
    assert_eq!(chains.len(), MANY - 2);
    chains.end_quiet(u64::MAX, &mut |counted| all.push(counted));
    assert_eq!((chains.len(), chains.bytes(), all.len()), (0, 0, MANY + 9));
}
