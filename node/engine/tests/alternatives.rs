//! What else stands for the words of a query: how it matches, ranks, counts and is shown (C§6.4, C§11). Tables of small
//! cases.

mod reference;

use quorate_engine::{Scratch, SearchLimits, search};
use quorate_model::{SearchParams, SearchResults, Settings};
use reference::shard::Shard;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn shard(settings: Value, records: &[Value]) -> Shard {
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    Shard::new(settings, records, &[records.len()])
}
/// Records of titles, their ids being letters in order.
fn titles(titles: &[&str]) -> Vec<Value> {
    let id = |i: usize| char::from(b'a' + i as u8).to_string();
    titles.iter().enumerate().map(|(i, title)| json!({"objectID": id(i), "title": title})).collect()
}
fn ask(shard: &Shard, request: &Value) -> SearchResults {
    let limits = SearchLimits {
        now_s: 0,
        deadline: Instant::now() + Duration::from_secs(60),
        sees_unretrievable: false,
        max_hits_per_query: 0,
    };
    let params = SearchParams::from_json(request.as_object().unwrap()).unwrap();
    search(&shard.view, &shard.configuration, &params, &limits, &mut Scratch::new()).unwrap()
}
fn hits(results: &SearchResults) -> Vec<Value> {
    results.hits.iter().map(|raw| serde_json::from_slice(raw).unwrap()).collect()
}
/// Ids in order, each with typos, proximity, exact words and words.
fn ranked(results: &SearchResults) -> String {
    assert_eq!(results.nb_hits, results.hits.len() as u64);
    let one = |hit: &Value| {
        let info = &hit["_rankingInfo"];
        let number = |name: &str| info[name].as_u64().unwrap();
        format!(
            "{}:{}{}{}{}",
            hit["objectID"].as_str().unwrap(),
            number("nbTypos"),
            number("proximityDistance"),
            number("nbExactWords"),
            number("words")
        )
    };
    hits(results).iter().map(one).collect::<Vec<_>>().join(" ")
}
fn with_info(mut request: Value) -> Value {
    request["getRankingInfo"] = json!(true);
    request
}

#[test]
fn words_are_joined_and_cut() {
    for (rule, records, request, expected) in [
        (
            "a pair is one word",
            titles(&["wifi", "wi fi", "wi x fi", "wifis"]),
            json!({"query": "wi fi"}),
            "b:0122 c:0222 d:1102 a:1102",
        ),
        (
            "no join before a space",
            titles(&["wifis"]),
            json!({"query": "wi fi", "queryType": "prefixNone"}),
            "",
        ),
        ("all words are one", titles(&["abcd", "abc d"]), json!({"query": "a b c d"}), "a:1304"),
        (
            "a joined pair beside a word",
            titles(&["wifi router", "wi router"]),
            json!({"query": "wi fi router"}),
            "a:1213",
        ),
        (
            "a word is two words",
            titles(&["play list", "playlist", "play x list", "list play"]),
            json!({"query": "playlist"}),
            "b:0011 a:1001",
        ),
        ("the second part begins a word", titles(&["play lists"]), json!({"query": "playlis"}), "a:1001"),
        ("only the last word is begun", titles(&["play lists x"]), json!({"query": "playlis x"}), ""),
        ("short words are whole", titles(&["ab c"]), json!({"query": "abc"}), ""),
        (
            "the place with most records",
            titles(&["abc def", "ab cdef", "abc def"]),
            json!({"query": "abcdef"}),
            "c:1001 a:1001",
        ),
        (
            "no typos",
            titles(&["play list", "playlist"]),
            json!({"query": "playlist", "typoTolerance": false}),
            "b:0011",
        ),
        ("no typos, no join", titles(&["wifi"]), json!({"query": "wi fi", "typoTolerance": false}), ""),
        (
            "no typos in the attribute",
            titles(&["play list", "wifi"]),
            json!({"query": "playlist", "disableTypoToleranceOnAttributes": ["title"]}),
            "",
        ),
        ("a phrase stays", titles(&["wifi"]), json!({"query": "\"wi fi\"", "advancedSyntax": true}), ""),
        ("twelve letters", titles(&["abcdefghijklm nopqr"]), json!({"query": "abcdefghijklmnopqr"}), ""),
        (
            "only the fewest typos",
            titles(&["wifi", "wi fi"]),
            json!({"query": "wi fi", "typoTolerance": "min"}),
            "b:0122",
        ),
    ] {
        let shard = shard(json!({"searchableAttributes": ["title"]}), &records);
        assert_eq!(ranked(&ask(&shard, &with_info(request.clone()))), expected, "{rule} {request}");
    }
    let settings =
        json!({"searchableAttributes": ["title"], "disableTypoToleranceOnWords": ["playlist", "wi"]});
    let shard = shard(settings, &titles(&["play list", "wifi"]));
    for query in ["playlist", "wi fi"] {
        assert_eq!(ask(&shard, &json!({"query": query})).nb_hits, 0, "{query}");
    }
}

#[test]
fn what_matched_in_any_way_is_marked() {
    for (title, query, value, level, words) in [
        ("my playlist", "play list", "my <em>playlist</em>", "full", json!(["play", "list"])),
        ("my playlists", "play list", "my <em>playlist</em>s", "full", json!(["play", "list"])),
        (
            "list, play list, play",
            "playlist",
            "list, <em>play</em> <em>list</em>, play",
            "full",
            json!(["playlist"]),
        ),
        ("Élan vital", "elanvit", "<em>Élan</em> <em>vit</em>al", "full", json!(["elanvit"])),
        ("my wifi", "wi fi my", "<em>my</em> <em>wifi</em>", "full", json!(["wi", "fi", "my"])),
    ] {
        let shard = shard(json!({}), &titles(&[title]));
        let hits = hits(&ask(&shard, &json!({"query": query})));
        let shown = &hits[0]["_highlightResult"]["title"];
        assert_eq!(
            (&shown["value"], &shown["matchLevel"], &shown["matchedWords"]),
            (&json!(value), &json!(level), &words),
            "{query} in {title}"
        );
    }
}
