//! Random settings, records and queries, small enough to be compared by hand when something differs.

use super::places;
use super::shard::{Event, Spoken};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A small random number generator with a printable seed.
#[derive(Clone)]
pub struct Chance(pub u64);
impl Chance {
    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n.max(1)
    }
    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    /// One of the values.
    pub fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len() as u64) as usize]
    }
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
    /// The customRanking of a virtual replica through which the shard is searched.
    pub second_order: Option<Value>,
    pub queries: Vec<Query>,
    pub spoken: Spoken,
}
impl Case {
    /// Every brand that a record may have.
    pub fn brands(&self) -> [&'static str; 5] {
        BRANDS
    }
}
/// One query.
#[derive(Clone, Debug)]
pub struct Query {
    pub parts: Vec<Part>,
    pub filter: Vec<Vec<Atom>>,
    pub optional: Vec<Vec<Atom>>,
    pub params: Map<String, Value>,
}

const BRANDS: [&str; 5] = ["Apple", "Bosch", "apple pie", "Casio", "Dell"];

/// Makes a case from a seed.
pub fn random_case(chance: &mut Chance) -> Case {
    let words = vocabulary(chance);
    let count = 1 + chance.below(60) as usize;
    let mut records: Vec<Value> = (0..count).map(|i| record(chance, &words, i, count)).collect();
    let foreign = chance.once_in(3);
    if foreign {
        records.iter_mut().for_each(|record| disguise(chance, record));
    }
    let events = history(chance, count);
    let mut settings = settings(chance);
    if foreign {
        text_settings(chance, &mut settings);
    }
    // what stands for foreign words is a matter of their own tests
    let spoken = if foreign { Spoken::default() } else { spoken(chance, &words) };
    let queries = (0..8).map(|_| query(chance, &words, &spoken, &settings)).collect();
    let orders = [json!(["desc(price)"]), json!(["asc(rare)", "desc(brand)"]), json!(["desc(flag)"])];
    let second_order = chance.once_in(5).then(|| chance.pick(&orders).clone());
    Case { settings, records, events, second_order, queries, spoken }
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
/// The records that are left of a history, by id.
pub fn surviving(case: &Case) -> Vec<Value> {
    let (mut by_id, mut rest) = (BTreeMap::new(), case.records.iter());
    for event in &case.events {
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
fn spoken(chance: &mut Chance, words: &[String]) -> Spoken {
    let mut spoken = Spoken::default();
    if chance.once_in(3) {
        return spoken;
    }
    let member = |chance: &mut Chance| match chance.below(3) {
        0 => format!("{} {}", chance.pick(words), chance.pick(words)),
        _ => chance.pick(words).clone(),
    };
    for _ in 0..chance.below(5) {
        let members: Vec<String> = (0..1 + chance.below(3)).map(|_| member(chance)).collect();
        spoken.synonyms.push(match chance.below(6) {
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
        spoken.plurals.push(set.collect());
    }
    spoken.stop_words = (0..chance.below(6)).map(|_| chance.pick(words).clone()).collect();
    spoken
}
fn vocabulary(chance: &mut Chance) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    for _ in 0..14 {
        let length = 1 + chance.below(10);
        words.push((0..length).map(|_| (b'a' + chance.below(4) as u8) as char).collect());
        // neighbours of the word, so that typos have something to find
        for _ in 0..2 {
            words.push(misspelt(chance, words.last().expect("one was pushed").clone()));
        }
    }
    // words that are two others written as one
    for _ in 0..6 {
        let joined = format!("{}{}", chance.pick(&words), chance.pick(&words));
        words.push(joined.chars().take(14).collect());
    }
    words
}
fn misspelt(chance: &mut Chance, word: String) -> String {
    let mut chars: Vec<char> = word.chars().collect();
    for _ in 0..1 + chance.below(2) {
        let at = chance.below(chars.len() as u64) as usize;
        let c = (b'a' + chance.below(4) as u8) as char;
        match chance.below(4) {
            0 => chars[at] = c,
            1 => chars.insert(at, c),
            2 if chars.len() > 1 => drop(chars.remove(at)),
            _ if at > 0 => chars.swap(at, at - 1),
            _ => chars.push(c),
        }
    }
    chars.into_iter().collect()
}
fn text(chance: &mut Chance, words: &[String], most: u64) -> String {
    let count = 1 + chance.below(most);
    (0..count).map(|_| chance.pick(words).clone()).collect::<Vec<_>>().join(" ")
}
fn record(chance: &mut Chance, words: &[String], number: usize, count: usize) -> Value {
    // now and then an id that another record has already: it replaces that one
    let id = if chance.once_in(8) { chance.below(count as u64) as usize } else { number };
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
/// Writes the texts of a record in other letters.
fn disguise(chance: &mut Chance, value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| disguise(chance, value)),
        Value::Object(members) => {
            let texts = members.iter_mut().filter(|(name, _)| TEXTS.contains(&name.as_str()));
            texts.for_each(|(_, value)| disguise(chance, value));
        }
        Value::String(text) => *text = text.chars().map(|c| disguised(chance, c)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
const TEXTS: [&str; 5] = ["title", "body", "list", "name", "first"];
fn disguised(chance: &mut Chance, c: char) -> String {
    let other: &[&str] = match c {
        'a' => &["A", "á", "Á", "ａ", "a\u{301}"],
        'b' => &["B", "ｂ", "ḃ", "b\u{307}"],
        'c' => &["C", "ç", "Ç", "c\u{327}", "\u{216d}"],
        'd' => &["đ", "Đ", "ď", "\u{ad}d", "d\u{ad}"],
        ' ' => &["+", " + ", " - ", ", "],
        _ => &[],
    };
    if other.is_empty() || !chance.once_in(5) { c.to_string() } else { (*chance.pick(other)).to_string() }
}
/// Settings that change what a letter and what a word is.
fn text_settings(chance: &mut Chance, settings: &mut Map<String, Value>) {
    if chance.once_in(2) {
        settings.insert("separatorsToIndex".into(), json!("+"));
    }
    if chance.once_in(2) {
        settings.insert("keepDiacriticsOnCharacters".into(), json!("ç"));
    }
    if chance.once_in(2) {
        settings.insert("customNormalization".into(), json!({"default": {"đ": "dd"}}));
    }
}
fn settings(chance: &mut Chance) -> Map<String, Value> {
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
    set("attributesForFaceting", json!(["searchable(brand)", price, "filterOnly(list)"]));
    if chance.once_in(6) {
        set("paginationLimitedTo", json!(1 + chance.below(8)));
    }
    set("attributeForDistinct", json!("brand"));
    let rankings: [&[&str]; 11] = [
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
    ];
    if !chance.once_in(3) {
        set("ranking", json!(chance.pick(&rankings)));
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
    if chance.once_in(5) {
        set("disableExactOnAttributes", json!(["title"]));
    }
    settings
}
fn query(chance: &mut Chance, words: &[String], spoken: &Spoken, settings: &Map<String, Value>) -> Query {
    let mut params = Map::new();
    let advanced = chance.once_in(4);
    let mut parts = vec![];
    for _ in 0..[0, 1, 1, 1, 2, 2, 3, 4][chance.below(8) as usize] {
        parts.push(match chance.below(if advanced { 4 } else { 2 }) {
            2 => Part::Phrase((0..1 + chance.below(2)).map(|_| chance.pick(words).clone()).collect()),
            3 => Part::Excluded((0..1 + chance.below(2)).map(|_| chance.pick(words).clone()).collect()),
            _ => {
                let typed = match chance.once_in(4) && !spoken.synonyms.is_empty() {
                    true => spoken_word(chance, spoken),
                    false => query_word(chance, words),
                };
                parts.extend(typed.split(' ').map(|word| Part::Word(word.to_string())));
                continue;
            }
        });
    }
    params.insert("query".into(), query_text(&parts).into());
    let mut set = |name: &str, value: Value| params.insert(name.to_string(), value);
    set("getRankingInfo", json!(true));
    set("advancedSyntax", json!(advanced));
    if chance.once_in(2) {
        set("hitsPerPage", json!(1 + chance.below(6)));
        set("page", json!(chance.below(3)));
    }
    if chance.once_in(6) {
        set("offset", json!(chance.below(8)));
    }
    if chance.once_in(6) {
        set("length", json!(chance.below(6)));
    }
    if chance.once_in(2) {
        set("facets", json!(["*"]));
    }
    for (name, often, values) in [
        ("typoTolerance", 2, vec![json!(true), json!(false), json!("min"), json!("strict")]),
        ("queryType", 3, vec![json!("prefixAll"), json!("prefixNone")]),
        ("exactOnSingleWordQuery", 3, vec![json!("word"), json!("none")]),
        ("facetingAfterDistinct", 4, vec![json!(true)]),
        ("relevancyStrictness", 2, vec![json!(0), json!(50), json!(80), json!(90), json!(95)]),
        ("sortFacetValuesBy", 4, vec![json!("alpha")]),
        ("maxValuesPerFacet", 4, vec![json!(1), json!(3)]),
        ("minWordSizefor1Typo", 8, vec![json!(3), json!(6)]),
        ("disableExactOnAttributes", 8, vec![json!(["list"]), json!(["name"])]),
        ("disableTypoToleranceOnAttributes", 8, vec![json!(["list", "title"])]),
        ("minProximity", 4, vec![json!(2), json!(7)]),
        ("attributeCriteriaComputedByMinProximity", 4, vec![json!(true)]),
        ("distinct", 4, vec![json!(1), json!(2)]),
        ("removeWordsIfNoResults", 3, vec![json!("lastWords"), json!("firstWords"), json!("allOptional")]),
        ("sumOrFiltersScores", 2, vec![json!(true)]),
        ("allowTyposOnNumericTokens", 4, vec![json!(false)]),
        ("ignorePlurals", 2, vec![json!(true), json!(["en"]), json!(["fr"])]),
        ("removeStopWords", 2, vec![json!(true), json!(["en"])]),
        ("synonyms", 8, vec![json!(false)]),
        (
            "alternativesAsExact",
            3,
            vec![json!([]), json!(["multiWordsSynonym"]), json!(["ignorePlurals", "multiWordsSynonym"])],
        ),
    ] {
        if chance.once_in(often) {
            set(name, chance.pick(&values).clone());
        }
    }
    if chance.once_in(4) && !parts.is_empty() {
        set("optionalWords", json!([query_text(&parts[..1]).replace(['"', '-'], " ")]));
    }
    if chance.once_in(5) && settings["searchableAttributes"] == json!(["title", "body", "list", "name"]) {
        set(
            "restrictSearchableAttributes",
            chance.pick(&[json!(["body"]), json!(["title", "name"])]).clone(),
        );
    }
    places::random_parameters(chance, &mut params);
    showing(chance, &mut params);
    let mut set = |name: &str, value: Value| params.insert(name.to_string(), value);
    let filter = if chance.once_in(2) { groups(chance, Purpose::Filter) } else { vec![] };
    let optional = if chance.once_in(4) { groups(chance, Purpose::Optional) } else { vec![] };
    if !filter.is_empty() {
        let all = filter
            .iter()
            .map(|group| format!("({})", group.iter().map(filter_text).collect::<Vec<_>>().join(" OR ")));
        set("filters", all.collect::<Vec<_>>().join(" AND ").into());
    }
    if !optional.is_empty() {
        let lists: Vec<Vec<String>> =
            optional.iter().map(|group| group.iter().map(optional_text).collect()).collect();
        set("optionalFilters", json!(lists));
    }
    Query { parts, filter, optional, params }
}
/// What of the hits is shown, and how.
fn showing(chance: &mut Chance, params: &mut Map<String, Value>) {
    for (name, often, values) in [
        (
            "attributesToHighlight",
            3,
            vec![json!(["*"]), json!(["title", "list"]), json!(["name.first", "brand"]), json!([])],
        ),
        (
            "attributesToSnippet",
            2,
            vec![
                json!(["*:3"]),
                json!(["body:2", "list:1"]),
                json!(["title", "*:2"]),
                json!(["body:0", "name:1"]),
            ],
        ),
        ("highlightPreTag", 6, vec![json!("<b>"), json!("\"")]),
        ("highlightPostTag", 6, vec![json!("</b>")]),
        ("snippetEllipsisText", 6, vec![json!(""), json!("[..]")]),
        ("restrictHighlightAndSnippetArrays", 4, vec![json!(true)]),
        ("replaceSynonymsInHighlight", 4, vec![json!(true)]),
        ("maxFacetHits", 4, vec![json!(1), json!(2)]),
    ] {
        if chance.once_in(often) {
            params.insert(name.to_string(), chance.pick(&values).clone());
        }
    }
}
/// A word or phrase that stands for another one, now and then only its beginning.
fn spoken_word(chance: &mut Chance, spoken: &Spoken) -> String {
    let synonym = chance.pick(&spoken.synonyms);
    let lists = ["synonyms", "corrections"].map(|name| synonym[name].as_array().cloned().unwrap_or_default());
    let single = ["input", "word"].iter().map(|name| synonym[name].clone()).filter(|text| !text.is_null());
    let all: Vec<Value> = lists.into_iter().flatten().chain(single).collect();
    let text = chance.pick(&all).as_str().unwrap();
    let cut = chance.once_in(4) && text.len() > 2 && !text[..text.len() - 1].ends_with(' ');
    text[..text.len() - usize::from(cut)].to_string()
}
fn query_word(chance: &mut Chance, words: &[String]) -> String {
    let word = chance.pick(words).clone();
    match chance.below(6) {
        4 => format!("{word}{}", chance.pick(words)),
        5 if word.len() > 2 => {
            let at = 1 + chance.below(word.len() as u64 - 1) as usize;
            format!("{} {}", &word[..at], &word[at..])
        }
        0 => misspelt(chance, word),
        1 => word.chars().take(1 + chance.below(word.len() as u64) as usize).collect(),
        2 if word.len() > 4 => {
            let mut word = word;
            word.remove(0);
            misspelt(chance, word)
        }
        _ => word,
    }
}
fn query_text(parts: &[Part]) -> String {
    let part = |part: &Part| match part {
        Part::Word(word) => word.clone(),
        Part::Phrase(words) => format!("\"{}\"", words.join(" ")),
        Part::Excluded(words) if words.len() == 1 => format!("-{}", words[0]),
        Part::Excluded(words) => format!("-\"{}\"", words.join(" ")),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(" ")
}
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    Filter,
    Optional,
}
/// One or two groups of one or two tests; the tests of a group are of one kind.
fn groups(chance: &mut Chance, purpose: Purpose) -> Vec<Vec<Atom>> {
    let mut groups = vec![];
    for _ in 0..1 + chance.below(2) {
        let kind = if purpose == Purpose::Optional { 0 } else { chance.below(3) };
        let size = 1 + chance.below(2);
        groups.push((0..size).map(|_| atom(chance, kind)).collect());
    }
    groups
}
fn atom(chance: &mut Chance, kind: u64) -> Atom {
    let test = match kind {
        0 => Test::Brand(chance.pick(&BRANDS).to_string()),
        1 => Test::Tag(format!("t{}", chance.below(3))),
        _ if chance.once_in(3) => Test::PriceRange(chance.below(4) as f64, 2.0 + chance.below(5) as f64),
        _ => Test::Price(
            chance.pick::<&'static str>(&["=", "!=", "<", "<=", ">", ">="]),
            chance.below(8) as f64,
        ),
    };
    let score = if kind < 2 && chance.once_in(2) { 1 + chance.below(4) as u32 } else { 1 };
    Atom { test, negated: chance.once_in(4), score }
}
fn filter_text(atom: &Atom) -> String {
    let not = if atom.negated { "NOT " } else { "" };
    let score = if atom.score != 1 { format!("<score={}>", atom.score) } else { String::new() };
    match &atom.test {
        // values compare without regard to case
        Test::Brand(value) => format!("{not}brand:\"{}\"{score}", value.to_uppercase()),
        Test::Tag(value) => format!("{not}_tags:{value}{score}"),
        Test::Price(op, value) => format!("{not}price {op} {value}"),
        Test::PriceRange(from, to) => format!("{not}price:{from} TO {to}"),
    }
}
fn optional_text(atom: &Atom) -> String {
    let Test::Brand(value) = &atom.test else { unreachable!("optional filters are facet filters") };
    let score = if atom.score != 1 { format!("<score={}>", atom.score) } else { String::new() };
    format!("brand:{}{value}{score}", if atom.negated { "-" } else { "" })
}
