//! Do the scripts in `golden/` hold? Each shows one criterion or feature with records, queries and expected hits, to be
//! read without Rust.
//!
//! A line `settings` starts a new index; `record`, `synonym` and `rule` fill it; `query` asks it. The lines below a query
//! are its answer: hits in order, each with the integers or shown texts to compare, the number of hits, facets.

mod shard;

use quorate_engine::index::ReadySizes;
use quorate_engine::{RuleSet, Scratch, search};
use quorate_model::{Rule, SearchParams, SearchResults, Settings};
use serde_json::{Value, json};
use shard::{Shard, WordLists, limits};
use std::sync::Arc;

/// An index in the making.
#[derive(Default)]
struct Script {
    settings: Value,
    records: Vec<Value>,
    word_lists: WordLists,
    rules: Vec<Arc<Rule>>,
    built: Option<Shard>,
}
impl Script {
    fn ask(&mut self, request: &Value) -> SearchResults {
        let shard = self.built.get_or_insert_with(|| {
            let settings = Settings::from_document(self.settings.as_object().unwrap()).unwrap();
            let mut shard = Shard::new(
                settings,
                &self.records,
                &[self.records.len()],
                &self.word_lists,
                ReadySizes::default(),
            );
            let rules = RuleSet::new(&self.rules, &[], &shard.configuration.schema);
            shard.configuration.rules = Arc::new(rules);
            shard
        });
        let mut request = request.clone();
        request["getRankingInfo"] = json!(true);
        let params = SearchParams::from_json(request.as_object().unwrap()).unwrap();
        search(&shard.view, &shard.configuration, &params, &limits(), &mut Scratch::new()).unwrap()
    }
}
/// What a hit has under a name of the scripts.
fn shown(hit: &Value, name: &str) -> Value {
    let info = &hit["_rankingInfo"];
    match name {
        "typos" => info["nbTypos"].clone(),
        "geo" => info["geoDistance"].clone(),
        "words" => info["words"].clone(),
        "filters" => info["filters"].clone(),
        "proximity" => info["proximityDistance"].clone(),
        "attribute" => info["firstMatchedWord"].clone(),
        "exact" => info["nbExactWords"].clone(),
        "sequence" => hit["_distinctSeqID"].clone(),
        _ => {
            let (results, path) = match name.split_once(':') {
                Some((_, path)) => ("_snippetResult", path),
                None => ("_highlightResult", name),
            };
            hit[results].pointer(&format!("/{path}/value")).cloned().unwrap_or_default()
        }
    }
}
/// Writes an answer as the expected lines are written.
fn written(results: &SearchResults, expected: &[&str]) -> Vec<String> {
    let mut hits = results.hits.iter().map(|raw| serde_json::from_slice::<Value>(raw).unwrap());
    let mut lines = vec![];
    let lists_hits = !expected.iter().all(|line| line.starts_with("nbHits") || line.starts_with("facet "));
    for line in expected {
        if line.starts_with("nbHits ") {
            lines.push(format!("nbHits {}", results.nb_hits));
        } else if let Some(facet) = line.strip_prefix("facet ") {
            let name = facet.split(':').next().unwrap();
            let counts = results.facets.iter().flatten().find(|counts| counts.attribute == name);
            let values = counts.into_iter().flat_map(|counts| &counts.values);
            let values: Vec<String> = values.map(|(value, count)| format!("{value} {count}")).collect();
            lines.push(format!("facet {name}: {}", values.join(", ")));
        } else if let Some(hit) = hits.next() {
            lines.push(written_hit(&hit, line));
        }
    }
    if lists_hits || expected.is_empty() {
        lines.extend(hits.map(|hit| hit["objectID"].as_str().unwrap().to_string()));
    }
    lines
}
/// A hit with the members that the expected line names: the id, then `name=value` with values in JSON.
fn written_hit(hit: &Value, expected: &str) -> String {
    let mut line = hit["objectID"].as_str().unwrap().to_string();
    let mut rest = expected.split_once(' ').map_or("", |(_, rest)| rest);
    while let Some((name, after)) = rest.split_once('=') {
        line.push_str(&format!(" {}={}", name.trim(), shown(hit, name.trim())));
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        values.next().expect("a value follows").expect("the value is JSON");
        rest = &after[values.byte_offset()..];
    }
    line
}
fn run(name: &str, text: &str) -> usize {
    let mut script = Script::default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut queries = 0;
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with(' ')) {
        let (word, document) = line.split_once(' ').unwrap_or((line, "{}"));
        let document: Value =
            serde_json::from_str(document).unwrap_or_else(|e| panic!("{name}: {line}: {e}"));
        match word {
            "settings" => script = Script { settings: document, ..Script::default() },
            "record" => script.records.push(document),
            "synonym" => script.word_lists.synonyms.push(document),
            "rule" => {
                let id = document["objectID"].as_str().unwrap();
                let rule = Rule::parse_body(document.to_string().as_bytes(), id).unwrap();
                script.rules.push(Arc::new(rule));
            }
            "query" => {
                let below = lines[number + 1..].iter().take_while(|line| line.starts_with(' '));
                let expected: Vec<&str> = below.map(|line| line.trim()).collect();
                let found = written(&script.ask(&document), &expected);
                assert_eq!(found, expected, "{name}: {line}");
                queries += 1;
            }
            other => panic!("{name}: {other} is no word of these scripts"),
        }
    }
    queries
}
#[test]
fn the_scripts_hold() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let (mut scripts, mut queries) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().to_string();
        queries += run(&name, &std::fs::read_to_string(&path).unwrap());
        scripts += 1;
    }
    assert!(scripts >= 14 && queries >= 2 * scripts, "{scripts} scripts, {queries} queries");
}
