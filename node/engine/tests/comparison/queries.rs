//! Random queries: their words, filters and parameters.

use super::case::{Atom, BRANDS, Part, Query, Test};
use super::places;
use super::shard::WordLists;
use super::texts::{Script, misspelt};
use quorate_model::chance::Chance;
use serde_json::{Map, Value, json};

/// A query in the words of the records, now and then misspelt, cut or with a space too much or too few.
pub fn query(
    chance: &mut Chance,
    script: Script,
    words: &[String],
    word_lists: &WordLists,
    settings: &Map<String, Value>,
) -> Query {
    let mut params = Map::new();
    let is_similar = chance.once_in(12);
    let advanced = !is_similar && chance.once_in(4);
    let mut parts = vec![];
    // ideographs are words of their own, and each more multiplies the ways to choose their places
    let most = if script == Script::Ideographs { 2 } else { 5 };
    for _ in 0..[0, 1, 1, 1, 2, 2, 3, 4, 5][chance.below(9) as usize].min(most) {
        parts.push(match chance.below(if advanced { 4 } else { 2 }) {
            2 => Part::Phrase((0..1 + chance.below(2)).map(|_| chance.pick(words).clone()).collect()),
            3 => Part::Excluded((0..1 + chance.below(2)).map(|_| chance.pick(words).clone()).collect()),
            _ => {
                let typed = match chance.once_in(4) && !word_lists.synonyms.is_empty() {
                    true => word_of_lists(chance, word_lists),
                    false => query_word(chance, script, words),
                };
                parts.extend(typed.split(' ').map(|word| Part::Word(word.to_string())));
                continue;
            }
        });
    }
    if is_similar {
        params.insert("similarQuery".into(), query_text(&parts).into());
    }
    if !is_similar || chance.once_in(2) {
        params.insert("query".into(), query_text(&parts).into());
    }
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
        ("minWordSizefor2Typos", 8, vec![json!(5), json!(10)]),
        ("queryLanguages", script.often_in_a_language(), vec![json!(["de"])]),
        ("decompoundQuery", 6, vec![json!(false)]),
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
        let listed = if chance.once_in(3) { parts.len() } else { 1 };
        set("optionalWords", json!([query_text(&parts[..listed]).replace(['"', '-'], " ")]));
    }
    if advanced && chance.once_in(4) {
        set(
            "advancedSyntaxFeatures",
            chance.pick(&[json!(["exactPhrase"]), json!(["excludeWords"]), json!([])]).clone(),
        );
    }
    let searchable = &settings["searchableAttributes"];
    if chance.once_in(5) && *searchable == json!(["title", "body", "list", "name"]) {
        set(
            "restrictSearchableAttributes",
            chance.pick(&[json!(["body"]), json!(["title", "name"])]).clone(),
        );
    }
    if chance.once_in(4) && *searchable == json!(["title,body", "list"]) {
        set(
            "restrictSearchableAttributes",
            chance.pick(&[json!(["body"]), json!(["title", "list"])]).clone(),
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
    Query { parts, filter, optional, params, is_similar }
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
fn word_of_lists(chance: &mut Chance, word_lists: &WordLists) -> String {
    let synonym = chance.pick(&word_lists.synonyms);
    let lists = ["synonyms", "corrections", "replacements"]
        .map(|name| synonym[name].as_array().cloned().unwrap_or_default());
    let single = ["input", "word"].iter().map(|name| synonym[name].clone()).filter(|text| !text.is_null());
    let all: Vec<Value> = lists.into_iter().flatten().chain(single).collect();
    let text = chance.pick(&all).as_str().unwrap();
    let cut = chance.once_in(4) && text.len() > 2 && !text[..text.len() - 1].ends_with(' ');
    text[..text.len() - usize::from(cut)].to_string()
}
fn query_word(chance: &mut Chance, script: Script, words: &[String]) -> String {
    let word = chance.pick(words).clone();
    if script.is_exact() {
        let letters = word.chars().count() as u64;
        let cut = chance.once_in(3);
        return word
            .chars()
            .take(if cut { 1 + chance.below(letters) as usize } else { usize::MAX })
            .collect();
    }
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
