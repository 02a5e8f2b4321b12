//! Which records have the words and values of another one (model looking-similar)?
//!
//! A record is what is rare in it: its words that few records have, those of the first searchable attributes before others, and at
//! half their weight its values of facets. How alike another record is says the cosine between the two, seen along those of the
//! source: with all of them it is 100, whatever else is in it. A record that shares only what many have is not alike. Nothing is kept
//! between requests.
//!
//! Cost: words and values of one record are looked up in every segment, then at most [`POSTINGS_MAX`] documents are added up, in
//! blocks that the nearest cache holds.

use crate::bits;
use crate::clock::Clock;
use crate::index::position::AttributeNumbers;
use crate::index::{FacetDocs, Segment, ShardView};
use crate::ranking::top::{Entry, Ranked, Top};
use crate::term_matches;
use quorate_model::Settings;
use quorate_model::recommend::SCORE_MAX;
use rustc_hash::FxHashMap;

/// Words that stand for a record, and as many values.
const FEATURES_MAX: usize = 25;
/// Words, and values, of a record that are looked up at most: the first ones.
const LOOKED_UP_MAX: usize = 1_024;
/// Documents that are added up at most, repetitions counted.
const POSTINGS_MAX: u64 = 500_000;
/// What more than 1 / this of the records have makes none alike, and only adds to what does.
const COMMON_FRACTION: u64 = 10;
/// What more than 1 / this of the records have says nothing.
const USELESS_FRACTION: u64 = 2;
/// What at most so many records have is rare in any index: of a small one a tenth is next to nothing.
const ALWAYS_RARE: u64 = 10;
/// What a value of a facet weighs beside a word.
const VALUE_WEIGHT: f64 = 0.5;
/// Documents that are added up together: their sums fit the second cache.
const BLOCK: u32 = 1 << 16;
/// Lists up to this length are counted without deleted documents.
const COUNTED_MAX: usize = 64;
/// Documents that are added up in the time of ranking one.
const ADDED_PER_UNIT: u32 = 16;
/// Of how many times as many records as are wanted it is asked first whether they are allowed.
const ASKED_OF: usize = 8;
/// Sums that are compared at once.
const LANES: usize = 16;
/// The attribute that every record may carry for tag filters.
const TAGS: &str = "_tags";

/// A record with its likeness in hundredths, 1 to 10,000.
pub type Similar = (Entry, u16);

/// Where a word or a value stands in a segment: its number in the terms or in the column.
#[derive(Clone, Copy)]
enum Docs<'a> {
    List(&'a [u32]),
    Bitmap(&'a [u64], u64),
}
impl Docs<'_> {
    fn count(&self) -> u64 {
        match self {
            Docs::List(docs) => docs.len() as u64,
            Docs::Bitmap(_, count) => *count,
        }
    }
}
/// A word or a value of the source, with the documents of each segment that have it.
struct Feature<'a> {
    weight: f64,
    is_rare: bool,
    postings: u64,
    docs: Vec<Docs<'a>>,
}

/// The records most like the source, best first, at most `most`, of those that `allowed` holds; the source is not to be one.
pub fn similar(
    view: &ShardView,
    settings: &Settings,
    source: (usize, u32),
    allowed: impl Fn(usize, u32) -> bool,
    most: usize,
    clock: &mut Clock,
) -> Vec<Similar> {
    let mut features = words(view, settings, source, clock);
    features.extend(values(view, settings, source, clock));
    // stable: words before values of the same weight
    features.sort_by(|a, b| b.is_rare.cmp(&a.is_rare).then_with(|| b.weight.total_cmp(&a.weight)));
    let mut left = POSTINGS_MAX;
    features.retain(|feature| {
        let fits = feature.postings <= left;
        left -= if fits { feature.postings } else { 0 };
        fits
    });
    let all = features.iter().fold(0.0, |sum, feature| sum + square(feature));
    let mut found: Vec<(u128, Entry)> = vec![];
    for (number, segment) in view.segments().iter().enumerate() {
        let best_of = |is_wanted: &dyn Fn(u32) -> bool, most: usize, clock: &mut Clock| {
            let mut top = Top::new(most);
            each_sum(segment, number, &features, clock, |doc, sum| {
                if is_wanted(doc) {
                    top.push((u128::from(SCORE_MAX - hundredths(sum, all)), doc));
                }
                top.worst().map_or(0.0, |(key, _)| least_above(SCORE_MAX - key as u16, all))
            });
            top.into_sorted()
        };
        let is_allowed = |doc: u32| allowed(number, doc);
        // to ask about the best alone is cheaper than about each that is among the best so far
        let best = best_of(&|_| true, most * ASKED_OF, clock);
        let is_whole = best.len() < most * ASKED_OF;
        let mut best: Vec<Ranked> = best.into_iter().filter(|(_, doc)| is_allowed(*doc)).take(most).collect();
        if best.len() < most && !is_whole && !clock.rang() {
            let of_all = best_of(&is_allowed, most, clock);
            // where time ran out, what was found before is no worse
            best = if clock.rang() && of_all.len() < best.len() { best } else { of_all };
        }
        found.extend(best.into_iter().map(|(key, doc)| (key, Entry { segment: number, doc, key: 0 })));
    }
    let rank = |entry: &Entry| view.segments()[entry.segment].rank(entry.doc);
    found.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| rank(one).cmp(rank(other))));
    found.truncate(most);
    found.into_iter().map(|(key, entry)| (entry, SCORE_MAX - key as u16)).collect()
}
fn square(feature: &Feature<'_>) -> f32 {
    (feature.weight * feature.weight) as f32
}
/// The cosine, from the squares of what both have and of all that the source has.
fn hundredths(sum: f32, all: f32) -> u16 {
    let cosine = (f64::from(sum) / f64::from(all)).sqrt();
    ((cosine * f64::from(SCORE_MAX)).round() as u16).clamp(1, SCORE_MAX)
}
/// What a document comes to at least that is more alike than so many hundredths, which those that come later have to be: a little less
/// than that, for what is rounded.
fn least_above(hundredths: u16, all: f32) -> f32 {
    let cosine = (f64::from(hundredths) + 0.4) / f64::from(SCORE_MAX);
    (cosine * cosine * f64::from(all)) as f32
}
/// What a word or value says that so many of the records have.
fn idf(records: u64, having: u64) -> f64 {
    let without = records.saturating_sub(having) as f64;
    (1.0 + (without + 0.5) / (having as f64 + 0.5)).ln()
}
/// A word or a value that says something: not the source alone has it, nor do most of the others.
fn feature<'a>(view: &'a ShardView, docs: Vec<Docs<'a>>, factor: f64) -> Option<Feature<'a>> {
    let records = view.record_count();
    let postings = docs.iter().map(Docs::count).sum();
    let having = view.segments().iter().zip(&docs).map(|(segment, docs)| alive(segment, docs)).sum();
    let up_to = |fraction: u64| (records / fraction).max(ALWAYS_RARE);
    let says_something = (2..=up_to(USELESS_FRACTION)).contains(&having);
    // what all have is common in the smallest index, too
    let is_rare = having <= up_to(COMMON_FRACTION) && having < records;
    let weight = factor * idf(records, having);
    says_something.then_some(Feature { weight, is_rare, postings, docs })
}
/// How many documents are on a list. Deleted ones count on long lists, where they make no difference.
fn alive(segment: &Segment, docs: &Docs<'_>) -> u64 {
    match docs {
        Docs::List(list) if list.len() <= COUNTED_MAX => {
            list.iter().filter(|&&doc| segment.is_alive(doc)).count() as u64
        }
        docs => docs.count(),
    }
}
fn heaviest(mut features: Vec<Feature<'_>>) -> Vec<Feature<'_>> {
    // stable: of two that weigh the same the earlier one
    features.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    features.truncate(FEATURES_MAX);
    features
}

/// The words that stand for the source.
fn words<'a>(
    view: &'a ShardView,
    settings: &Settings,
    (at, doc): (usize, u32),
    clock: &mut Clock,
) -> Vec<Feature<'a>> {
    let segment = &view.segments()[at];
    let (lists, numbers) = (segment.lists(), AttributeNumbers::new(&settings.index, segment.form()));
    let tokens = lists.doc_off[doc as usize] as usize..lists.doc_off[doc as usize + 1] as usize;
    let mut places: FxHashMap<u32, u16> = FxHashMap::default();
    for (&term, &position) in lists.ords[tokens.clone()].iter().zip(&lists.pos[tokens]) {
        let place = numbers.rank(position);
        places.entry(term).and_modify(|least| *least = place.min(*least)).or_insert(place);
    }
    let mut terms: Vec<(u16, u32)> = places.into_iter().map(|(term, place)| (place, term)).collect();
    terms.sort_unstable();
    let mut features = vec![];
    for (place, term) in terms.into_iter().take(LOOKED_UP_MAX) {
        if clock.spend(view.segments().len() as u32) {
            break;
        }
        let text = segment.terms().text(term);
        let docs = view.segments().iter().enumerate().map(|(number, other)| {
            let term = if number == at { Some(term) } else { other.terms().ordinal(&text) };
            term.map_or(Docs::List(&[]), |term| docs_of_term(other, term))
        });
        // the first attribute counts whole, the fourth half
        let factor = 1.0 / f64::from(1 + (place >> 10)).sqrt();
        features.extend(feature(view, docs.collect(), factor));
    }
    heaviest(features)
}
fn docs_of_term(segment: &Segment, term: u32) -> Docs<'_> {
    let lists = segment.lists();
    match segment.bitmap(term, term + 1) {
        Some(bitmap) => Docs::Bitmap(bitmap, term_matches::postings(&lists, term, term + 1)),
        None => Docs::List(
            &lists.csr[lists.csr_off[term as usize] as usize..lists.csr_off[term as usize + 1] as usize],
        ),
    }
}

/// The values of facets that stand for the source. Numbers that happen to be the same make nothing alike.
fn values<'a>(
    view: &'a ShardView,
    settings: &Settings,
    (at, doc): (usize, u32),
    clock: &mut Clock,
) -> Vec<Feature<'a>> {
    let segment = &view.segments()[at];
    let declared = settings.index.attributes_for_faceting.iter().map(|facet| facet.path.as_str());
    let is_number =
        |path: &str| segment.numeric(path).is_some_and(|column| !column.values_of(doc).is_empty());
    let mut paths: Vec<&str> = declared.filter(|path| *path != TAGS && !is_number(path)).collect();
    paths.push(TAGS);
    let mut features = vec![];
    let values = paths.into_iter().filter_map(|path| Some((path, segment.facet(path)?)));
    let values = values.flat_map(|(path, column)| {
        let ordinals: Vec<u32> = column.ords_of(doc).take(LOOKED_UP_MAX).collect();
        ordinals.into_iter().map(move |ordinal| (path, column.value(ordinal)))
    });
    for (path, value) in values.take(LOOKED_UP_MAX) {
        if clock.spend(view.segments().len() as u32) {
            break;
        }
        let docs = view.segments().iter().map(|other| {
            let found = other.facet(path).and_then(|column| Some(column.docs_of(column.find(value)?)));
            match found {
                Some(FacetDocs::List(docs)) => Docs::List(docs),
                Some(FacetDocs::Bitmap(bitmap, count)) => Docs::Bitmap(bitmap, u64::from(count)),
                None => Docs::List(&[]),
            }
        });
        features.extend(feature(view, docs.collect(), VALUE_WEIGHT));
    }
    heaviest(features)
}

/// Adds up the squares of the features of each document that has a rare one. `visit` is told of sums that come to what it has
/// returned last.
fn each_sum(
    segment: &Segment,
    number: usize,
    features: &[Feature<'_>],
    clock: &mut Clock,
    mut visit: impl FnMut(u32, f32) -> f32,
) {
    let mut begun = vec![0; features.len()];
    let mut sums = vec![0f32; BLOCK.min(segment.doc_count()) as usize];
    let mut least = f32::MIN_POSITIVE;
    for first in (0..segment.doc_count()).step_by(BLOCK as usize) {
        let end = first.saturating_add(BLOCK).min(segment.doc_count());
        let mut is_empty = true;
        for (feature, begun) in features.iter().zip(&mut begun) {
            let (square, mut added) = (square(feature), 0);
            let mut add = |doc: u32| {
                let sum = &mut sums[(doc - first) as usize];
                // rare ones come first
                if feature.is_rare || *sum > 0.0 {
                    *sum += square;
                }
                added += 1;
            };
            match feature.docs[number] {
                Docs::List(docs) => {
                    let here = docs[*begun..].iter().take_while(|doc| **doc < end);
                    here.for_each(|doc| add(*doc));
                    *begun += added as usize;
                }
                Docs::Bitmap(bitmap, _) => {
                    let words = &bitmap[first as usize / 64..(end as usize).div_ceil(64)];
                    bits::each(words, |doc| {
                        add(first + doc);
                        true
                    });
                }
            }
            is_empty &= added == 0;
            if clock.spend(added / ADDED_PER_UNIT + 1) {
                return;
            }
        }
        if is_empty {
            continue;
        }
        let sums = &mut sums[..(end - first) as usize];
        for (first, chunk) in (first..end).step_by(LANES).zip(sums.chunks(LANES)) {
            // hardly any chunk has one: all are compared without a branch
            if !chunk.iter().fold(false, |any, sum| any | (*sum >= least)) {
                continue;
            }
            for (doc, &sum) in (first..).zip(chunk) {
                if sum >= least {
                    least = visit(doc, sum).max(f32::MIN_POSITIVE);
                }
            }
        }
        sums.fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::chance::Chance;

    #[test]
    fn what_is_more_alike_is_never_passed_over() {
        let mut chance = Chance::new(7);
        let mut passed_over = 0;
        for _ in 0..200_000 {
            let all = (1 + chance.below(1_000_000)) as f32 / 1_000.0;
            let sum = all * (chance.below(1_000_001) as f32 / 1_000_000.0);
            // the same or nearly so
            let worst = hundredths(all * (chance.below(1_000_001) as f32 / 1_000_000.0), all);
            for worst in [worst, hundredths(sum, all), (hundredths(sum, all) - 1).max(1)] {
                let is_passed_over = sum < least_above(worst, all);
                passed_over += u32::from(is_passed_over);
                assert!(!is_passed_over || hundredths(sum, all) <= worst, "{sum} of {all} beside {worst}");
            }
        }
        assert!(passed_over > 100_000, "{passed_over}");
    }
}
