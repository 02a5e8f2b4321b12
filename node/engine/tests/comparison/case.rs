//! Random settings, records and queries, small enough to be compared by hand when something differs.

use super::history::Event;
use super::places;
use super::queries::query;
use super::shard::WordLists;
use super::texts::{Script, disguise, text};
use quorate_engine::index::ReadySizes;
use quorate_model::chance::Chance;
use quorate_model::settings::Criterion;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Some of all criteria that have a name, in any order.
fn any_ranking(chance: &mut Chance) -> Vec<&'static str> {
    let mut left = Criterion::NAMES.to_vec();
    let kept = 3 + chance.below(left.len() as u64 - 2);
    (0..kept).map(|_| left.swap_remove(chance.below(left.len() as u64) as usize)).collect()
}
/// A part of the query text.
#[derive(Clone, Debug)]
pub enum Part {
    Word(String),
    Phrase(Vec<String>),
    Excluded(Vec<String>),
}
/// A filter the reference evaluates itself.
#[derive(Clone, Debug)]
pub enum Test {
    Brand(String),
    Tag(String),
    Price(&'static str, f64),
    PriceRange(f64, f64),
}
/// A test with its sign and score.
#[derive(Clone, Debug)]
pub struct Atom {
    pub test: Test,
    pub negated: bool,
    pub score: u32,
}
/// Settings, records and queries of one shard.
pub struct Case {
    pub settings: Map<String, Value>,
    pub records: Vec<Value>,
    /// How the records come to the shard; later ones replace earlier ones with the same id.
    pub events: Vec<Event>,
    /// What else happens before each query.
    pub before: Vec<Vec<Event>>,
    /// The customRanking of a virtual replica through which the shard is searched.
    pub second_order: Option<Value>,
    /// Results that have to share a number of words before fewer words are let in.
    pub results_per_level: u64,
    pub queries: Vec<Query>,
    pub word_lists: WordLists,
    /// What segments hold ready: the usual sizes need more records than there are.
    pub ready: ReadySizes,
}
impl Case {
    /// Every brand that a record may have.
    pub fn brands(&self) -> [&'static str; 5] {
        BRANDS
    }
    /// The records that are left, by id, when a query comes.
    pub fn surviving(&self, query: usize) -> Vec<Value> {
        let (mut by_id, mut rest) = (BTreeMap::new(), self.records.iter());
        for event in self.events.iter().chain(self.before[..=query].iter().flatten()) {
            match event {
                Event::Put(size) => rest.by_ref().take(*size).for_each(|record| {
                    by_id.insert(record["objectID"].to_string(), record.clone());
                }),
                Event::Delete(ids) => ids.iter().for_each(|id| drop(by_id.remove(&json!(id).to_string()))),
                Event::Merge | Event::Rebuild => {}
            }
        }
        by_id.into_values().collect()
    }
}
/// One query.
#[derive(Clone, Debug)]
pub struct Query {
    pub parts: Vec<Part>,
    pub filter: Vec<Vec<Atom>>,
    pub optional: Vec<Vec<Atom>>,
    pub params: Map<String, Value>,
    /// Whether the words are those of `similarQuery`.
    pub is_similar: bool,
}

pub const BRANDS: [&str; 5] = ["Apple", "Bosch", "apple pie", "Casio", "Dell"];
/// A token that synonyms may stand for.
const PLACEHOLDER: &str = "<dd>";
/// Some words with a bitmap and some with a top list; all that two records have with a bitmap; the usual sizes.
const READY: [ReadySizes; 3] = [
    ReadySizes { postings_min: 3, wide_fraction: 4, ranked_fraction: 16, wide_top: 12, ranked_top: 5 },
    ReadySizes { postings_min: 1, wide_fraction: 1_000, ranked_fraction: 1_000, wide_top: 4, ranked_top: 1 },
    ReadySizes::USUAL,
];
/// Queries of a case.
const QUERIES: usize = 8;

/// Which ids records get.
#[derive(Clone, Copy)]
enum Ids {
    /// Each its own.
    Unique,
    /// Once in `often` times one below a number, which another record may have.
    Repeated { often: u64, below: usize },
}

/// Makes a case of at most so many records.
pub fn random_case(chance: &mut Chance, records_max: u64) -> Case {
    let script = Script::random(chance);
    let words = script.vocabulary(chance);
    let mut settings = settings(chance, &words);
    script.settings(chance, &mut settings);
    let count = 1 + chance.below(records_max) as usize;
    let events = history(chance, count);
    let before: Vec<Vec<Event>> = (0..QUERIES).map(|_| changes(chance, count)).collect();
    let put = |event: &Event| if let Event::Put(size) = event { *size } else { 0 };
    let later: usize = before.iter().flatten().map(put).sum();
    // the words of records that are no more would still tell where compounds are cut
    let keeps_all = script == Script::German;
    let ids = |often| if keeps_all { Ids::Unique } else { Ids::Repeated { often, below: count } };
    // what stands for foreign words is a matter of their own tests
    let word_lists =
        if script == Script::Latin { draw_word_lists(chance, &words) } else { WordLists::default() };
    let mut in_texts = words.clone();
    if word_lists.synonyms.iter().any(|synonym| synonym["type"] == "placeholder") {
        in_texts.extend([PLACEHOLDER.to_string(), PLACEHOLDER.to_string()]);
    }
    let mut records: Vec<Value> = (0..count).map(|i| record(chance, &in_texts, i, ids(8))).collect();
    records.extend((count..count + later).map(|i| record(chance, &in_texts, i, ids(2))));
    if script.is_disguised() {
        records.iter_mut().for_each(|record| disguise(chance, record));
    }
    let all = |events: Vec<Event>| -> Vec<Event> {
        events.into_iter().filter(|event| !keeps_all || !matches!(event, Event::Delete(_))).collect()
    };
    let queries = (0..QUERIES).map(|_| query(chance, script, &words, &word_lists, &settings)).collect();
    let orders = [json!(["desc(price)"]), json!(["asc(rare)", "desc(brand)"]), json!(["desc(flag)"])];
    let second_order = chance.once_in(5).then(|| chance.pick(&orders).clone());
    let ready = *chance.pick(&READY);
    Case {
        settings,
        records,
        events: all(events),
        before: before.into_iter().map(all).collect(),
        second_order,
        results_per_level: *chance.pick(&[2, 5, 1_000]),
        queries,
        word_lists,
        ready,
    }
}
/// A few publications, with deletions, merges and now and then a rebuild between them.
fn history(chance: &mut Chance, count: usize) -> Vec<Event> {
    let (mut events, mut left) = (vec![], count);
    for _ in 0..chance.below(3) {
        let size = chance.below(left as u64 + 1) as usize;
        left -= size;
        events.push(Event::Put(size));
        if chance.once_in(3) {
            let some = (0..chance.below(5)).map(|_| chance.below(count as u64).to_string());
            events.push(Event::Delete(some.collect()));
        }
        if chance.once_in(4) {
            events.push(Event::Merge);
        }
    }
    if chance.once_in(8) {
        events.push(Event::Rebuild);
    }
    events.push(Event::Put(left));
    if chance.once_in(4) {
        events.push(Event::Delete(vec![chance.below(count as u64).to_string()]));
    }
    if chance.once_in(6) {
        events.push(Event::Merge);
    }
    events
}
/// What happens between two queries; mostly nothing.
fn changes(chance: &mut Chance, count: usize) -> Vec<Event> {
    let mut events = vec![];
    if !chance.once_in(4) {
        return events;
    }
    if chance.once_in(2) {
        let some = (0..1 + chance.below(4)).map(|_| chance.below(count as u64).to_string());
        events.push(Event::Delete(some.collect()));
    }
    events.push(Event::Put(chance.below(6) as usize));
    if chance.once_in(4) {
        events.push(Event::Merge);
    }
    events
}
fn draw_word_lists(chance: &mut Chance, words: &[String]) -> WordLists {
    let mut word_lists = WordLists::default();
    if chance.once_in(3) {
        return word_lists;
    }
    let member = |chance: &mut Chance| match chance.below(3) {
        0 => format!("{} {}", chance.pick(words), chance.pick(words)),
        _ => chance.pick(words).clone(),
    };
    for _ in 0..chance.below(5) {
        let members: Vec<String> = (0..1 + chance.below(3)).map(|_| member(chance)).collect();
        word_lists.synonyms.push(match chance.below(7) {
            6 => json!({"type": "placeholder", "placeholder": PLACEHOLDER, "replacements": members}),
            0 | 1 => json!({"type": "onewaysynonym", "input": member(chance), "synonyms": members}),
            2 => json!({
                "type": format!("altcorrection{}", 1 + chance.below(2)),
                "word": chance.pick(words),
                "corrections": [chance.pick(words), chance.pick(words)],
            }),
            _ => json!({"type": "synonym", "synonyms": members}),
        });
    }
    let mut rest = words.to_vec();
    rest.sort();
    rest.dedup();
    for _ in 0..chance.below(4) {
        let set = (0..2 + chance.below(2)).map(|_| rest.remove(chance.below(rest.len() as u64) as usize));
        word_lists.plurals.push(set.collect());
    }
    word_lists.stop_words = (0..chance.below(6)).map(|_| chance.pick(words).clone()).collect();
    word_lists
}
fn record(chance: &mut Chance, words: &[String], number: usize, ids: Ids) -> Value {
    let id = match ids {
        Ids::Unique => number,
        // it replaces the record that has the id already
        Ids::Repeated { often, below } if chance.once_in(often) => chance.below(below as u64) as usize,
        Ids::Repeated { .. } => number,
    };
    let mut record = json!({"objectID": format!("{id}"), "title": text(chance, words, 3)});
    let members = record.as_object_mut().expect("it is an object");
    if !chance.once_in(3) {
        members.insert("body".into(), text(chance, words, 6).into());
    }
    if chance.once_in(2) {
        let list: Vec<String> = (0..chance.below(4)).map(|_| text(chance, words, 2)).collect();
        members.insert("list".into(), list.into());
    }
    if chance.once_in(3) {
        members.insert("name".into(), json!({"first": text(chance, words, 2), "age": chance.below(4)}));
    }
    if !chance.once_in(4) {
        members.insert("brand".into(), (*chance.pick(&BRANDS)).into());
    }
    if !chance.once_in(4) {
        let price = chance.below(8) as f64 + if chance.once_in(3) { 0.5 } else { 0.0 };
        let price = if chance.once_in(6) { json!([price, 3]) } else { json!(price) };
        members.insert("price".into(), price);
    }
    if chance.once_in(2) {
        let tags: Vec<String> = (0..chance.below(3)).map(|_| format!("t{}", chance.below(3))).collect();
        members.insert("_tags".into(), tags.into());
    }
    if !chance.once_in(4) {
        members.insert("_geoloc".into(), places::random_place(chance));
    }
    if chance.once_in(5) {
        let values = [json!(1), json!(2.5), json!(-3), json!("x"), json!([4]), json!(true), json!(null)];
        members.insert("rare".into(), chance.pick(&values).clone());
    }
    if chance.once_in(2) {
        members.insert("flag".into(), chance.once_in(2).into());
    }
    record
}
fn settings(chance: &mut Chance, words: &[String]) -> Map<String, Value> {
    let mut settings = Map::new();
    let mut set = |name: &str, value: Value| settings.insert(name.to_string(), value);
    let searchable: [&[&str]; 6] = [
        &["title", "body", "list", "name"],
        &["title,body", "list"],
        &["unordered(title)", "body", "name.first"],
        &["list", "unordered(body)", "title"],
        &["title"],
        &[],
    ];
    set("searchableAttributes", json!(chance.pick(&searchable)));
    let price = if chance.once_in(4) { "afterDistinct(price)" } else { "price" };
    let brand = if chance.once_in(4) { "afterDistinct(searchable(brand))" } else { "searchable(brand)" };
    set("attributesForFaceting", json!([brand, price, "filterOnly(list)"]));
    if chance.once_in(6) {
        set("paginationLimitedTo", json!(1 + chance.below(8)));
    }
    set("attributeForDistinct", json!("brand"));
    let rankings: [&[&str]; 14] = [
        &["typo", "geo", "words", "filters", "proximity", "attribute", "exact", "custom"],
        &["typo", "geo", "words", "proximity", "attribute", "exact", "custom"],
        &["attribute", "typo", "proximity", "exact", "custom"],
        &["words", "filters", "typo", "exact", "attribute", "proximity", "geo", "custom"],
        &["exact", "proximity", "custom"],
        &["asc(price)", "typo", "words", "proximity", "attribute", "exact", "custom"],
        &["desc(brand)", "asc(price)", "typo", "geo", "words", "proximity", "attribute", "exact", "custom"],
        &["typo", "asc(rare)", "desc(price)", "words", "proximity", "attribute", "exact", "custom"],
        &["words", "attribute", "desc(flag)", "exact", "asc(name.age)"],
        &["custom", "asc(rare)", "typo", "proximity"],
        &["geo", "asc(rare)", "attribute", "proximity", "typo", "custom"],
        &["asc(price)", "custom", "words", "desc(flag)", "proximity"],
        &["desc(flag)", "typo", "geo", "words", "custom", "proximity", "attribute", "exact"],
        &["custom", "attribute", "asc(rare)", "desc(price)", "exact", "proximity", "asc(name.age)"],
    ];
    if !chance.once_in(3) {
        let ranking =
            if chance.once_in(4) { json!(any_ranking(chance)) } else { json!(chance.pick(&rankings)) };
        set("ranking", ranking);
    }
    if chance.once_in(2) {
        let custom: [&[&str]; 5] = [
            &["desc(price)"],
            &["asc(brand)", "desc(price)"],
            &["asc(price)"],
            &["desc(rare)", "asc(flag)"],
            &["desc(flag)", "asc(name.age)", "desc(price)"],
        ];
        set("customRanking", json!(chance.pick(&custom)));
    }
    if chance.once_in(5) {
        set("disablePrefixOnAttributes", json!(["title"]));
    }
    if chance.once_in(5) {
        set("disableTypoToleranceOnAttributes", json!(["body"]));
    }
    if chance.once_in(6) {
        set("disableTypoToleranceOnWords", json!([chance.pick(words), chance.pick(words)]));
    }
    if chance.once_in(5) {
        set("disableExactOnAttributes", json!(["title"]));
    }
    settings
}
