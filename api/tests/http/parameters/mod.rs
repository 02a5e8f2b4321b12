//! Does every row of the table of settings and parameters act as C§4 to C§9 say, as a parameter, as a setting and under
//! its legacy names?

mod cases;
mod elsewhere;
mod wrong;

use super::*;
use quorate_model::settings::table::{ROWS, SettingRow, lookup};
use serde_json::{Map, json};
use std::collections::HashMap;

/// What an answer is compared by.
#[derive(Clone, Copy, Debug)]
enum See {
    /// The objectIDs of the hits, with spaces between them.
    Hits,
    /// What a JSON pointer leads to; `null` when there is nothing.
    At(&'static str),
    /// The names of the members of an object.
    Names(&'static str),
    /// The values that a search in the facet shows, with spaces between them.
    FacetHits(&'static str),
    /// A member of the settings.
    Setting(&'static str),
}

/// An effect: the same search with a row and without it.
#[derive(Clone, Debug)]
struct Case {
    row: &'static str,
    /// Records as objectID and members; the shop when empty.
    records: Vec<(&'static str, Value)>,
    /// Lists of synonyms and rules that the index has.
    knows: [Value; 2],
    settings: Value,
    query: Value,
    given: Value,
    see: See,
    without: Value,
    with: Value,
}

/// Rows whose effect is that of a place of its own, with the test that shows it.
const ELSEWHERE: &[(&str, &str)] = &[
    ("relevancyStrictness", "replicas::virtual_replicas_sort_what_the_primary_ranks_best"),
    ("aroundLatLngViaIP", "elsewhere::callers_are_the_centre_where_their_place_is_known"),
    ("replicas", "elsewhere::replicas_are_made"),
    ("cursor", "elsewhere::calls_have_members_of_their_own"),
    ("type", "elsewhere::calls_have_members_of_their_own"),
    ("facet", "elsewhere::calls_have_members_of_their_own"),
    ("facetQuery", "elsewhere::calls_have_members_of_their_own"),
];

/// Rows that are taken and change no answer, with a value to send and the reason.
const WITHOUT_EFFECT: &[(&str, &str, &str)] = &[
    ("enableReRanking", "false", "C§4.2: stored and ignored"),
    ("reRankingApplyFilter", "[\"brand:Acme\"]", "C§4.2: stored and ignored"),
    ("mode", "\"neuralSearch\"", "C§4.2: stored and ignored"),
    ("semanticSearch", "{\"eventSources\":[\"i\"]}", "C§4.2: stored and ignored"),
    ("attributesToTransliterate", "[\"name\"]", "C§4.5: may be accepted and ignored"),
    ("analytics", "false", "C§4.7: recorded for analytics only"),
    ("analyticsTags", "[\"web\"]", "C§4.7: recorded for analytics only"),
    ("percentileComputation", "false", "C§4.7: recorded for analytics only"),
    ("enableABTest", "false", "C§4.7: recorded for analytics only"),
    ("userToken", "\"somebody\"", "C§18.3: recorded for analytics only"),
    ("enablePersonalization", "true", "C§4.7: may be ignored"),
    ("personalizationImpact", "50", "C§4.7: may be ignored"),
    ("allowCompressionOfIntegerArray", "true", "C§4.7: may be ignored"),
    ("extensions", "{\"any\":1}", "C§4.7: a member of multi-query calls"),
    ("primary", "\"other\"", "C§3.1: only answers carry it"),
    ("version", "2", "a number in settings that the hosted service exports"),
    ("attributeCriteriaComputedBy", "\"minProximity\"", "C§4.9: accepted for old clients"),
    ("placeholders", "{\"a\":[\"b\"]}", "C§4.8: before the synonym interface"),
    ("altCorrections", "[]", "C§4.8: before the synonym interface"),
];

fn shop() -> Vec<(&'static str, Value)> {
    vec![
        (
            "a",
            json!({"name": "Red lamp", "text": "Lights a small room well", "brand": "Acme", "price": 10, "_tags": ["sale"],
                "color": "red", "group": "g1", "_geoloc": {"lat": 48.85, "lng": 2.35}}),
        ),
        (
            "b",
            json!({"name": "Blue lamp", "brand": "Acme", "price": 20, "color": "blue", "group": "g1",
                "_geoloc": {"lat": 48.86, "lng": 2.36}}),
        ),
        (
            "c",
            json!({"name": "Green chair", "brand": "Zeta", "price": 30, "color": "green", "group": "g2",
                "_geoloc": {"lat": 45.76, "lng": 4.84}}),
        ),
        ("d", json!({"name": "Lamps and shades", "brand": "Zeta", "price": 5, "group": "g2"})),
        ("e", json!({"name": "Wooden chair red", "brand": "acorn", "price": 20, "color": "red"})),
    ]
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// One object with the members of both.
fn joined(value: &Value, name: &str, given: &Value) -> Value {
    let mut members = object(value);
    members.insert(name.to_owned(), given.clone());
    Value::Object(members)
}

impl Node {
    /// Fills an index.
    async fn fill(&self, index: &str, settings: &Value, records: &[(&str, Value)]) {
        let uri = format!("/1/indexes/{index}");
        if settings.as_object().is_some_and(|members| !members.is_empty()) {
            self.write(Method::PUT, &format!("{uri}/settings"), settings.clone()).await;
        }
        let add = |(id, record): &(&str, Value)| {
            let body = joined(record, "objectID", &json!(id));
            json!({"action": "addObject", "body": body})
        };
        let requests: Vec<Value> = records.iter().map(add).collect();
        self.write(Method::POST, &format!("{uri}/batch"), json!({"requests": requests})).await;
    }
    /// Gives an index synonyms and rules.
    async fn teach(&self, index: &str, [synonyms, rules]: &[Value; 2]) {
        for (kind, list) in [("synonyms", synonyms), ("rules", rules)] {
            if list.is_array() {
                self.write(Method::POST, &format!("/1/indexes/{index}/{kind}/batch"), list.clone()).await;
            }
        }
    }
    /// Searches with the search key and answers what is compared.
    async fn see(&self, index: &str, query: &Value, see: See) -> Value {
        let path = match see {
            See::FacetHits(facet) => format!("facets/{facet}/query"),
            See::Setting(_) => "settings".to_owned(),
            See::Hits | See::At(_) | See::Names(_) => "query".to_owned(),
        };
        let (key, method) = match see {
            See::Setting(_) => (ADMIN, Method::GET),
            See::FacetHits(_) | See::Hits | See::At(_) | See::Names(_) => {
                (self.search_key.as_str(), Method::POST)
            }
        };
        let answer =
            self.call_with(key, method, &format!("/1/indexes/{index}/{path}"), &query.to_string()).await;
        let answer = answer.success();
        let texts = |list: &Value, member: &str| -> Value {
            let texts = list.as_array().into_iter().flatten().map(|hit| hit[member].as_str().unwrap());
            Value::from(texts.collect::<Vec<_>>().join(" "))
        };
        match see {
            See::Hits => texts(&answer["hits"], "objectID"),
            See::FacetHits(_) => texts(&answer["facetHits"], "value"),
            See::At(pointer) => answer.pointer(pointer).cloned().unwrap_or_default(),
            See::Names(pointer) => {
                let names = answer.pointer(pointer).map(object).unwrap_or_default();
                Value::from(names.keys().cloned().collect::<Vec<_>>().join(" "))
            }
            See::Setting(name) => answer.get(name).cloned().unwrap_or_default(),
        }
    }
}

/// What to compare, and what was found instead.
#[derive(Default)]
struct Differences(Vec<String>);
impl Differences {
    fn check(&mut self, what: String, found: &Value, expected: &Value) {
        if found != expected {
            self.0.push(format!("{what}:\n    found    {found}\n    expected {expected}"));
        }
    }
    #[track_caller]
    fn none(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

#[actix_web::test]
async fn every_row_acts_where_it_may_be_given() {
    let node = Node::start().await;
    let mut indices: HashMap<String, String> = HashMap::new();
    let mut differences = Differences::default();
    for (number, case) in cases::all().into_iter().enumerate() {
        let row = lookup(case.row).unwrap();
        let records = if case.records.is_empty() { shop() } else { case.records.clone() };
        let key = format!("{:?} {:?} {}", case.records, case.knows, case.settings);
        let known = indices.len();
        let index = indices.entry(key).or_insert_with(|| format!("base{known}")).clone();
        if indices.len() > known {
            node.fill(&index, &case.settings, &records).await;
            node.teach(&index, &case.knows).await;
        }
        let what = |how: &str| format!("{} {how}, {} with {}", case.row, case.query, case.given);
        differences.check(what("absent"), &node.see(&index, &case.query, case.see).await, &case.without);
        for name in names(row) {
            if row.scope.in_query() {
                let query = joined(&case.query, name, &case.given);
                differences.check(what(name), &node.see(&index, &query, case.see).await, &case.with);
            }
            if row.scope.in_settings() {
                let index = format!("case{number}{name}");
                let settings = joined(&case.settings, name, &case.given);
                node.fill(&index, &settings, &records).await;
                node.teach(&index, &case.knows).await;
                let found = node.see(&index, &case.query, case.see).await;
                differences.check(what(&format!("{name} as a setting")), &found, &case.with);
            }
        }
    }
    differences.none();
}

fn names(row: &SettingRow) -> impl Iterator<Item = &'static str> {
    std::iter::once(row.name).chain(row.legacy.iter().copied())
}

#[actix_web::test]
async fn no_row_is_forgotten() {
    let cases = cases::all();
    for row in ROWS {
        let shown = cases.iter().any(|case| case.row == row.name);
        let elsewhere = ELSEWHERE.iter().any(|(name, _)| *name == row.name);
        let none = WITHOUT_EFFECT.iter().any(|(name, ..)| *name == row.name);
        let count = usize::from(shown) + usize::from(elsewhere) + usize::from(none);
        assert_eq!(count, 1, "{} needs a case, a test elsewhere or a reason to have no effect", row.name);
    }
}

#[actix_web::test]
async fn rows_without_effect_are_taken_and_shown() {
    let node = Node::start().await;
    node.fill("i", &json!({}), &shop()).await;
    let plain = node.see("i", &json!({"query": "lamp"}), See::At("/hits")).await;
    let mut changes = Map::new();
    for (name, value, reason) in WITHOUT_EFFECT {
        let (row, value) = (lookup(name).unwrap(), serde_json::from_str::<Value>(value).unwrap());
        if row.scope.in_query() {
            let query = json!({"query": "lamp", *name: value});
            assert_eq!(node.see("i", &query, See::At("/hits")).await, plain, "{name}: {reason}");
        }
        if row.scope.in_settings() {
            changes.insert((*name).to_owned(), value);
        }
    }
    node.write(Method::PUT, "/1/indexes/i/settings", Value::Object(changes.clone())).await;
    assert_eq!(node.see("i", &json!({"query": "lamp"}), See::At("/hits")).await, plain);
    let shown = node.get("/1/indexes/i/settings").await;
    for (name, value) in changes {
        let dropped = matches!(
            name.as_str(),
            "primary" | "version" | "attributeCriteriaComputedBy" | "placeholders" | "altCorrections"
        );
        assert_eq!(shown.get(&name), (!dropped).then_some(&value), "{name}");
    }
}
