//! Which synonyms and rules hold the words that someone looks for among them, and what is shown of them (C§10.6, C§11)?
//!
//! Cost: every document is looked at, some microseconds each; only those of the page are rendered.

mod recommend;

pub use recommend::find_recommend_rules;

use crate::analysis::{Analyzer, Schema, TokenOptions, as_written};
use quorate_model::resource::ResourceQuery;
use quorate_model::results::ResourceHits;
use quorate_model::rule::{Condition, PatternPart, QueryChange};
use quorate_model::{Error, Result, Rule, Synonym, SynonymKind};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::ops::Range;

/// Tags around matched words.
const TAGS: (&str, &str) = ("<em>", "</em>");

/// The synonyms that match, of one page.
///
/// `synonyms` come in the order of the answer. Every word of the query has to be in the document, the last one as a
/// prefix. Errors: `Invalid` when the answer is too big.
pub fn find_synonyms<'a>(
    synonyms: impl Iterator<Item = &'a Synonym>,
    schema: &Schema,
    asked: &ResourceQuery,
) -> Result<ResourceHits> {
    let words = Words::new(schema, &asked.query);
    let selected = synonyms
        .filter(|synonym| asked.types.is_empty() || asked.types.contains(&synonym.kind.type_name()))
        .filter(|synonym| words.are_in(&synonym_texts(synonym)));
    page(selected, asked, |synonym| {
        let mut members = parsed(&synonym.document);
        let shown = members.iter().filter(|(name, _)| name.as_str() != "objectID");
        let shown: Map<String, Value> =
            shown.filter_map(|(name, value)| Some((name.clone(), words.shown(value)?))).collect();
        members.insert("_highlightResult".to_owned(), Value::Object(shown));
        members
    })
}

/// The rules that match, of one page; see [`find_synonyms`].
pub fn find_rules<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    schema: &Schema,
    asked: &ResourceQuery,
) -> Result<ResourceHits> {
    let words = Words::new(schema, &asked.query);
    let is_selected = |rule: &Rule| {
        let is_so = |condition: &Condition| {
            let anchoring = condition.pattern.as_ref().map(|pattern| pattern.anchoring);
            (asked.anchoring.is_none() || asked.anchoring == anchoring)
                && (asked.context.is_none() || asked.context == condition.context)
        };
        let any_condition = asked.anchoring.is_none() && asked.context.is_none();
        asked.enabled.is_none_or(|enabled| enabled == rule.enabled)
            && (any_condition || rule.conditions.iter().any(is_so))
    };
    let selected = rules.filter(|rule| is_selected(rule)).filter(|rule| words.are_in(&rule_texts(rule)));
    page(selected, asked, |rule| {
        let mut members = parsed(&rule.document);
        let pattern = |condition: &Value| match condition.get("pattern") {
            Some(pattern) => json!({"pattern": words.shown(pattern)}),
            None => json!({}),
        };
        let mut shown = Map::new();
        if let Some(Value::Array(conditions)) = members.get("conditions") {
            shown.insert("conditions".to_owned(), conditions.iter().map(pattern).collect());
        }
        if let Some(condition) = members.get("condition") {
            shown.insert("condition".to_owned(), pattern(condition));
        }
        let params = members.get("consequence").and_then(|consequence| consequence.get("params"));
        if let Some(params) = params.and_then(|params| words.shown(params)) {
            shown.insert("consequence".to_owned(), json!({ "params": params }));
        }
        members.insert("_highlightResult".to_owned(), Value::Object(shown));
        members
    })
}

/// Bytes of an answer that are beside its resources, at most.
const BYTES_BESIDE: usize = 128;

/// Counts what matches and renders the page, no further than the answer may be long.
fn page<'a, T: 'a>(
    selected: impl Iterator<Item = &'a T>,
    asked: &ResourceQuery,
    render: impl Fn(&T) -> Map<String, Value>,
) -> Result<ResourceHits> {
    let selected: Vec<&T> = selected.collect();
    let nb_hits = selected.len() as u64;
    let skipped = usize::try_from(asked.page.saturating_mul(asked.hits_per_page)).unwrap_or(usize::MAX);
    let of_page = selected.into_iter().skip(skipped).take(asked.hits_per_page as usize);
    let mut bytes = BYTES_BESIDE;
    let written = |document| {
        let hit = serde_json::to_vec(&render(document)).expect("a JSON object is always text");
        bytes += hit.len() + 1;
        match asked.bytes_max == 0 || bytes <= asked.bytes_max {
            true => Ok(hit),
            false => Err(too_big(asked.bytes_max)),
        }
    };
    Ok(ResourceHits {
        hits: of_page.map(written).collect::<Result<_>>()?,
        nb_hits,
        page: asked.page,
        nb_pages: nb_hits.div_ceil(asked.hits_per_page.max(1)),
    })
}
fn too_big(bytes_max: usize) -> Error {
    Error::invalid(format!(
        "The answer is too big: it may have {bytes_max} bytes. Ask for fewer at a time with hitsPerPage"
    ))
}

fn parsed(document: &str) -> Map<String, Value> {
    serde_json::from_str(document).expect("a kept document is a JSON object")
}

fn synonym_texts(synonym: &Synonym) -> Vec<&str> {
    let (single, list) = match &synonym.kind {
        SynonymKind::Synonym { synonyms } => (None, synonyms),
        SynonymKind::OneWay { input, synonyms } => (Some(input), synonyms),
        SynonymKind::AltCorrection { typos: _, word, corrections } => (Some(word), corrections),
        SynonymKind::Placeholder { placeholder, replacements } => (Some(placeholder), replacements),
    };
    let texts = std::iter::once(&synonym.object_id).chain(single).chain(list).map(String::as_str);
    // a placeholder in its brackets is one word, and is found by the words inside of them, too
    let inside = single.and_then(|text| text.strip_prefix('<')?.strip_suffix('>'));
    texts.chain(inside).collect()
}

fn rule_texts(rule: &Rule) -> Vec<&str> {
    let mut texts = vec![rule.object_id.as_str()];
    texts.extend(rule.description.as_deref());
    let patterns = rule.conditions.iter().filter_map(|condition| condition.pattern.as_ref());
    texts.extend(patterns.map(|pattern| pattern.text.as_str()));
    match &rule.consequence.query {
        None => {}
        Some(QueryChange::Replace(text)) => texts.push(text),
        Some(QueryChange::Edit(edits)) => {
            for edit in edits {
                match &edit.delete {
                    PatternPart::Literal(text) | PatternPart::Facet(text) => texts.push(text),
                }
                texts.extend(edit.insert.as_deref());
            }
        }
    }
    texts
}

/// The words of a query, normalised; the last one is a prefix.
struct Words {
    analyzer: Analyzer,
    words: Vec<String>,
}

impl Words {
    fn new(schema: &Schema, query: &str) -> Words {
        let analyzer = schema.analyzer().clone();
        let mut words = Vec::new();
        each_word(&analyzer, query, |word, _| words.push(word.to_owned()));
        Words { analyzer, words }
    }
    /// Which word of the query a word of a document matches.
    fn of<'w>(&'w self, word: &'w str) -> impl Iterator<Item = usize> + 'w {
        let last = self.words.len().saturating_sub(1);
        let matches = move |(at, asked): &(usize, &String)| {
            asked.as_str() == word || (*at == last && word.starts_with(asked.as_str()))
        };
        self.words.iter().enumerate().filter(matches).map(|(at, _)| at)
    }
    fn are_in(&self, texts: &[&str]) -> bool {
        let mut found = vec![false; self.words.len()];
        for text in texts {
            if found.iter().all(|&found| found) {
                return true;
            }
            each_word(&self.analyzer, text, |word, _| self.of(word).for_each(|at| found[at] = true));
        }
        found.iter().all(|&found| found)
    }
    /// The texts of a value with their matches, in its own structure; `None` when it holds no text.
    fn shown(&self, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) => Some(self.leaf(text)),
            Value::Number(number) => Some(self.leaf(&number.to_string())),
            Value::Array(list) => Some(list.iter().filter_map(|inner| self.shown(inner)).collect()),
            Value::Object(map) => {
                let members = map.iter().filter_map(|(name, inner)| Some((name.clone(), self.shown(inner)?)));
                Some(Value::Object(members.collect()))
            }
            Value::Null | Value::Bool(_) => None,
        }
    }
    /// One text with its matches marked (C§9.1 to C§9.3).
    fn leaf(&self, text: &str) -> Value {
        let mut found = vec![false; self.words.len()];
        let mut marked: Vec<Range<usize>> = Vec::new();
        let mut is_whole = true;
        each_word(&self.analyzer, text, |word, place| {
            let Some(at) =
                self.of(word).inspect(|&at| found[at] = true).max_by_key(|&at| self.words[at].len())
            else {
                is_whole = false;
                return;
            };
            let asked = &self.words[at];
            if asked.len() == word.len() {
                marked.push(place);
                return;
            }
            is_whole = false;
            let shown = &text[place.clone()];
            let prefix = shown.char_indices().nth(asked.chars().count()).map_or(shown.len(), |(end, _)| end);
            marked.push(place.start..place.start + prefix);
        });
        let matched = self.words.iter().zip(&found).filter(|(_, found)| **found);
        let matched: Vec<Cow<'_, str>> = matched.map(|(word, _)| as_written(word)).collect();
        let level = match matched.len() {
            0 => "none",
            some if some == self.words.len() => "full",
            _ => "partial",
        };
        let mut leaf =
            json!({"value": with_tags(text, &marked), "matchLevel": level, "matchedWords": matched});
        if level != "none" {
            leaf["fullyHighlighted"] = Value::Bool(is_whole);
        }
        leaf
    }
}

fn with_tags(text: &str, marked: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len() + marked.len() * (TAGS.0.len() + TAGS.1.len()));
    let mut end = 0;
    for place in marked.iter().filter(|place| place.start <= place.end) {
        if place.start < end {
            continue;
        }
        out.push_str(&text[end..place.start]);
        out.push_str(TAGS.0);
        out.push_str(&text[place.clone()]);
        out.push_str(TAGS.1);
        end = place.end;
    }
    out.push_str(&text[end..]);
    out
}

/// Calls `sink` with every word of a text and its place; joined forms are left to their parts.
fn each_word(analyzer: &Analyzer, text: &str, mut sink: impl FnMut(&str, Range<usize>)) {
    analyzer.tokens(text, TokenOptions::default(), |token| {
        if token.span == 1 {
            sink(token.text, token.start..token.end);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::rule::Anchoring;

    fn synonym(document: Value) -> Synonym {
        Synonym::from_document(document.to_string().as_bytes()).unwrap()
    }
    fn rule(document: Value) -> Rule {
        Rule::from_document(document.to_string().as_bytes()).unwrap()
    }
    fn asked(query: &str) -> ResourceQuery {
        ResourceQuery { query: query.into(), hits_per_page: 10, ..ResourceQuery::default() }
    }
    fn ids(hits: &ResourceHits) -> String {
        let id = |hit: &Vec<u8>| {
            let hit: Value = serde_json::from_slice(hit).unwrap();
            hit["objectID"].as_str().unwrap().to_owned()
        };
        hits.hits.iter().map(id).collect::<Vec<_>>().join(" ")
    }
    fn leaf(value: &str, level: &str, words: &[&str]) -> Value {
        json!({"value": value, "matchLevel": level, "matchedWords": words})
    }

    #[test]
    fn c11_synonyms_are_found_by_the_words_of_any_member() {
        let all = [
            synonym(
                json!({"objectID": "d", "type": "placeholder", "placeholder": "<Street>", "replacements": ["1", "12"]}),
            ),
            synonym(
                json!({"objectID": "c", "type": "oneWaySynonym", "input": "Tablet", "synonyms": ["iPad", "galaxy note"]}),
            ),
            synonym(
                json!({"objectID": "b", "type": "altcorrection1", "word": "smartphone", "corrections": ["phone"]}),
            ),
            synonym(
                json!({"objectID": "a", "type": "synonym", "synonyms": ["car", "Véhicule", "auto mobile"]}),
            ),
        ];
        let schema = Schema::default();
        let find = |asked: &ResourceQuery| find_synonyms(all.iter(), &schema, asked).unwrap();
        for (query, expected) in [
            ("", "d c b a"),
            ("street", "d"),
            ("1", "d"),
            ("GALAXY no", "c"),
            ("galaxy no ipad", ""),
            ("galaxy note ipa", "c"),
            ("note gal", "c"),
            ("gal note", ""),
            ("vehic", "a"),
            ("phone", "b"),
            ("nothing", ""),
        ] {
            assert_eq!(ids(&find(&asked(query))), expected, "{query}");
        }
        let typed = |types: &[&'static str]| ResourceQuery { types: types.to_vec(), ..asked("") };
        assert_eq!(ids(&find(&typed(&["synonym", "placeholder"]))), "d a");
        assert_eq!(ids(&find(&typed(&["altcorrection2"]))), "");
        let second = find(&ResourceQuery { page: 1, hits_per_page: 3, ..asked("") });
        assert_eq!((ids(&second).as_str(), second.nb_hits, second.nb_pages, second.page), ("a", 4, 2, 1));
        let within =
            |bytes_max| find_synonyms(all.iter(), &schema, &ResourceQuery { bytes_max, ..asked("") });
        let bytes = BYTES_BESIDE + find(&asked("")).hits.iter().map(|hit| hit.len() + 1).sum::<usize>();
        assert_eq!(within(bytes).map(|found| found.hits.len()), Ok(4));
        assert!(within(bytes - 1).is_err_and(|error| error.message.contains("hitsPerPage")));
    }

    #[test]
    fn c11_hits_show_every_member_with_its_matches() {
        let all = [synonym(
            json!({"objectID": "c", "type": "onewaysynonym", "input": "Tablet", "synonyms": ["iPad", "Tab note"]}),
        )];
        let found = find_synonyms(all.iter(), &Schema::default(), &asked("tab")).unwrap();
        let hit: Value = serde_json::from_slice(&found.hits[0]).unwrap();
        let mut tablet = leaf("<em>Tab</em>let", "full", &["tab"]);
        tablet["fullyHighlighted"] = json!(false);
        let mut note = leaf("<em>Tab</em> note", "full", &["tab"]);
        note["fullyHighlighted"] = json!(false);
        let shown = json!({"type": leaf("onewaysynonym", "none", &[]), "input": tablet,
            "synonyms": [leaf("iPad", "none", &[]), note]});
        assert_eq!(hit["_highlightResult"], shown);
        assert_eq!((&hit["input"], &hit["synonyms"]), (&json!("Tablet"), &json!(["iPad", "Tab note"])));
    }

    #[test]
    fn c10_6_rules_are_found_by_words_and_members() {
        let all = [
            rule(
                json!({"objectID": "r3", "conditions": [{"pattern": "cheap {facet:brand}", "anchoring": "startsWith"}],
                "consequence": {"params": {"filters": "price < 3"}}, "enabled": false}),
            ),
            rule(
                json!({"objectID": "r2", "conditions": [{"context": "mobile"}, {"pattern": "zorro", "anchoring": "contains"}],
                "consequence": {"params": {"query": {"edits": [{"type": "replace", "delete": "mask", "insert": "masque"}]}}}}),
            ),
            rule(
                json!({"objectID": "r1", "description": "Spring sale", "consequence": {"params": {"query": "flowers", "hitsPerPage": 3}}}),
            ),
        ];
        let schema = Schema::default();
        let find = |asked: &ResourceQuery| find_rules(all.iter(), &schema, asked).unwrap();
        for (query, expected) in [
            ("", "r3 r2 r1"),
            ("zor", "r2"),
            ("masque", "r2"),
            ("mask", "r2"),
            ("flow", "r1"),
            ("sale spring", "r1"),
            ("price", ""),
            ("r1", "r1"),
        ] {
            assert_eq!(ids(&find(&asked(query))), expected, "{query}");
        }
        let with = |change: fn(&mut ResourceQuery)| {
            let mut asked = asked("");
            change(&mut asked);
            ids(&find(&asked))
        };
        assert_eq!(with(|asked| asked.anchoring = Some(Anchoring::Contains)), "r2");
        assert_eq!(with(|asked| asked.context = Some("mobile".into())), "r2");
        assert_eq!(with(|asked| asked.context = Some("Mobile".into())), "");
        assert_eq!(with(|asked| asked.enabled = Some(false)), "r3");
        assert_eq!(with(|asked| asked.enabled = Some(true)), "r2 r1");

        let found = find(&asked("zorro"));
        let hit: Value = serde_json::from_slice(&found.hits[0]).unwrap();
        let mut zorro = leaf("<em>zorro</em>", "full", &["zorro"]);
        zorro["fullyHighlighted"] = json!(true);
        assert_eq!(hit["_highlightResult"]["conditions"], json!([{}, {"pattern": zorro}]));
        let edit = &hit["_highlightResult"]["consequence"]["params"]["query"]["edits"][0];
        assert_eq!(edit["insert"], leaf("masque", "none", &[]));
        assert_eq!(hit.get("enabled"), None);
    }
}
