//! The same models from dense matrices of exact floats, slowly: do they have the same neighbours?

use super::super::parameters::{Choice, is_held_out};
use super::super::trial;
use super::*;
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

const DAY: u32 = 86_400;

/// Rows of weights by item: users, or baskets.
type Weights = Vec<HashMap<u32, f64>>;

fn weight(kind: Kind) -> f64 {
    match kind {
        Kind::View => 0.25,
        Kind::Click => 1.0,
        Kind::Cart => 2.0,
        Kind::Conversion => 3.0,
        Kind::Purchase => 4.0,
    }
}
fn strongest<'a>(events: impl Iterator<Item = &'a Event>) -> HashMap<u32, f64> {
    let mut weights = HashMap::new();
    for event in events {
        let known = weights.entry(event.item).or_insert(0.0f64);
        *known = known.max(weight(event.kind));
    }
    weights
}
fn weights(events: &[Event], build: Build) -> Weights {
    let users: BTreeSet<u64> = events.iter().map(|event| event.user).collect();
    let mut rows = Vec::new();
    for user in users {
        let mut own: Vec<&Event> = events.iter().filter(|event| event.user == user).collect();
        if build == Build::Related {
            rows.push(strongest(own.into_iter()));
            continue;
        }
        own.retain(|event| event.kind >= Kind::Cart);
        while let Some(first) = own.iter().map(|event| event.second).min() {
            let is_in = |event: &&Event| event.second < first + DAY;
            rows.push(strongest(own.iter().copied().filter(is_in)));
            own.retain(|event| !is_in(event));
        }
    }
    rows
}

struct Similar {
    common: usize,
    score: f64,
    is_by_chance: bool,
}

/// In how many rows each item is.
fn counts(weights: &Weights) -> HashMap<u32, f64> {
    let mut counts = HashMap::new();
    weights.iter().flat_map(HashMap::keys).for_each(|item| *counts.entry(*item).or_default() += 1.0);
    counts
}
/// The similarity of `from` and each other item.
fn row(
    weights: &Weights,
    counts: &HashMap<u32, f64>,
    from: u32,
    (alpha, beta, lambda): (f64, f64, f64),
) -> HashMap<u32, Similar> {
    let slots: f64 = weights.iter().map(|row| row.len() as f64).sum();
    let pairs: f64 = weights.iter().map(|row| (row.len() * row.len()) as f64 - row.len() as f64).sum();
    let mut sums: HashMap<u32, (f64, f64)> = HashMap::new();
    for row in weights.iter().filter(|row| row.contains_key(&from)) {
        for (other, weight) in row.iter().filter(|(other, _)| **other != from) {
            let (common, sum) = sums.entry(*other).or_default();
            *common += 1.0;
            *sum += row[&from] * weight * (row.len() as f64).powf(-alpha);
        }
    }
    let similar = |(other, (common, sum)): (u32, (f64, f64))| {
        let score = common / (common + lambda) * sum / counts[&other].powf(beta);
        let expected = counts[&from] * counts[&other] * pairs / (slots * slots);
        let deviance = 2.0 * (common * (common / expected).ln() - common + expected);
        let is_by_chance = common <= expected || deviance < 10.83;
        (other, Similar { common: common as usize, score, is_by_chance })
    };
    sums.into_iter().map(similar).collect()
}
/// The neighbours of an item, the best first.
fn neighbours(similar: &HashMap<u32, Similar>, build: Build) -> Vec<(u32, f64)> {
    let sorted = |is_in: &dyn Fn(&Similar) -> bool| {
        let mut sorted: Vec<(u32, f64)> =
            similar.iter().filter(|(_, pair)| is_in(pair)).map(|(item, pair)| (*item, pair.score)).collect();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        sorted
    };
    if build == Build::Together {
        return sorted(&|pair| pair.common > 1 && !pair.is_by_chance);
    }
    let mut list = sorted(&|pair| pair.common > 1);
    list.truncate(100);
    let fillers = sorted(&|pair| pair.common == 1);
    list.extend(fillers.into_iter().take(30usize.saturating_sub(list.len())));
    list.sort_by(|a, b| b.1.total_cmp(&a.1));
    list
}

/// Every list has as many entries as it should, each with the score that it should have. Which of equal ones are listed is open.
fn compare(events: &[Event], build: Build) {
    let found = lists(&bytes(events, build));
    let weights = weights(events, build);
    let items: BTreeSet<u32> = weights.iter().flat_map(|row| row.keys().copied()).collect();
    let counts = counts(&weights);
    assert_eq!(found.len(), items.len());
    for item in items {
        let similar = row(&weights, &counts, item, (0.5, 0.4, 5.0));
        let wanted = neighbours(&similar, build);
        let list = &found[&name(item)];
        assert_eq!(list.len(), wanted.len(), "neighbours of {item}");
        for (place, (other, hundredths)) in list.iter().enumerate() {
            let number: u32 = other.strip_prefix("item-").unwrap().parse().unwrap();
            let scaled = |score: f64| 10_000.0 * score / wanted[0].1;
            for score in [similar[&number].score, wanted[place].1] {
                let difference = (scaled(score) - f64::from(*hundredths)).abs();
                assert!(difference <= 1.1, "{item} has {other} with {hundredths}, not {}", scaled(score));
            }
        }
    }
}

fn event(users: u64, items: u32, days: u32) -> impl Strategy<Value = Event> {
    // the lower of two numbers: some users and items are much more frequent than others
    let lower = |end: u32| (0..end, 0..end).prop_map(|(one, other)| one.min(other));
    let kind = prop::sample::select(Kind::ALL.to_vec());
    (lower(users as u32), lower(items), kind, 0..days * DAY).prop_map(|(user, item, kind, second)| Event {
        user: spread(u64::from(user)),
        item,
        kind,
        second,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn related_products_are_those_of_dense_matrices(events in prop::collection::vec(event(12, 60, 3), 0..260)) {
        compare(&events, Build::Related);
    }
    #[test]
    fn what_is_bought_together_is_that_of_dense_matrices(events in prop::collection::vec(event(30, 14, 20), 0..400)) {
        compare(&events, Build::Together);
    }
    #[test]
    fn the_order_of_rows_changes_no_byte(
        events in prop::collection::vec(event(12, 40, 3), 0..200).prop_flat_map(|events| {
            (Just(events.clone()), Just(events).prop_shuffle())
        }),
    ) {
        for build in [Build::Related, Build::Together] {
            prop_assert!(bytes(&events.0, build) == bytes(&events.1, build));
        }
    }
}

/// Clicks of users with two interests of twelve.
fn clicks(users: u64, each: u64) -> Vec<Event> {
    let mut chance = Chance(7);
    let mut events = Vec::new();
    for user in 0..users {
        let interests = [chance.below(12), chance.below(12)];
        for _ in 0..each {
            let within = (chance.unit() * chance.unit() * 30.0) as u32;
            let item = interests[chance.below(2) as usize] as u32 * 30 + within;
            events.push(Event { user: spread(user), item, kind: Kind::Click, second: 0 });
        }
    }
    events
}
#[test]
fn the_exponents_are_those_that_find_most_of_what_is_held_out() {
    let events = clicks(500, 16);
    let matrix = super::super::histories::histories(&collect(&events), &AtomicBool::new(false)).unwrap();
    assert!(matrix.histories.cells() >= 5_000);
    let report = Model::open(&bytes(&events, Build::Related)).unwrap().report().unwrap();
    let tried = report.held_out.unwrap();

    let mut left: Vec<(u64, HashMap<u32, f64>)> = Vec::new();
    for user in events.iter().map(|event| event.user).collect::<BTreeSet<u64>>() {
        left.push((user, strongest(events.iter().filter(|event| event.user == user))));
    }
    let mut held: Vec<Vec<u32>> = Vec::new();
    for (user, items) in &mut left {
        let own: Vec<u32> =
            items.keys().copied().filter(|item| is_held_out(*user, name(*item).as_bytes())).collect();
        let is_tried = !own.is_empty() && own.len() < items.len();
        own.iter().filter(|_| is_tried).for_each(|item| assert!(items.remove(item).is_some()));
        held.push(if is_tried { own } else { Vec::new() });
    }
    let weights: Weights = left.into_iter().map(|(_, items)| items).collect();
    let recalls: Vec<(f64, Parameters)> = Choice::all()
        .map(|choice| (recall(&weights, &held, choice.parameters()), choice.parameters()))
        .to_vec();

    assert_eq!(tried.users as usize, held.iter().filter(|held| !held.is_empty()).count());
    assert_eq!(tried.interactions as usize, held.iter().map(Vec::len).sum::<usize>());
    // floats of half the length may order near neighbours otherwise
    let own = recalls.iter().find(|(_, parameters)| *parameters == report.parameters).unwrap();
    assert!((own.0 - tried.recall).abs() < 0.004, "{} is not {}", tried.recall, own.0);
    let best = recalls.iter().map(|(recall, _)| *recall).fold(0.0, f64::max);
    assert!(own.0 >= 0.985 * best && best > 0.3, "{recalls:?}");
    let larger = recalls.iter().filter(|(_, parameters)| parameters.beta > report.parameters.beta);
    assert!(
        larger.into_iter().all(|(recall, _)| *recall < 0.995 * best),
        "{:?} of {recalls:?}",
        report.parameters
    );
}
/// The mean part of what is held out among the 20 best.
fn recall(weights: &Weights, held: &[Vec<u32>], parameters: Parameters) -> f64 {
    let Parameters { alpha, beta, lambda } = parameters;
    let (mut lists, counts) = (HashMap::new(), counts(weights));
    let (mut sum, mut users) = (0.0, 0.0);
    for (history, held) in weights.iter().zip(held).filter(|(_, held)| !held.is_empty()) {
        let mut scores: HashMap<u32, f64> = HashMap::new();
        for item in history.keys() {
            let list = lists.entry(*item).or_insert_with(|| {
                neighbours(&row(weights, &counts, *item, (alpha, beta, f64::from(lambda))), Build::Related)
            });
            let total: f64 = list.iter().map(|(_, score)| score).sum();
            list.iter().for_each(|(other, score)| *scores.entry(*other).or_default() += score / total);
        }
        let mut best: Vec<(u32, f64)> =
            scores.into_iter().filter(|(item, _)| !history.contains_key(item)).collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        let hits = best.iter().take(20).filter(|(item, _)| held.contains(item)).count();
        sum += hits as f64 / held.len() as f64;
        users += 1.0;
    }
    sum / users
}
#[test]
fn too_few_finds_choose_nothing() {
    // every user has items of its own, and one that all have: nothing can be foretold
    let events: Vec<Event> = (0..6_000u32)
        .map(|n| Event {
            user: spread(u64::from(n / 6)),
            item: if n % 6 == 0 { 0 } else { n },
            kind: Kind::Click,
            second: 0,
        })
        .collect();
    let report = Model::open(&bytes(&events, Build::Related)).unwrap().report().unwrap();
    assert_eq!(report.parameters, Choice::DEFAULT.parameters());
    assert!(
        report.held_out.is_some_and(|held| held.recall * f64::from(held.users) < f64::from(trial::HITS_MIN))
    );
}
