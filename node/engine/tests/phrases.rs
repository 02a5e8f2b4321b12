//! Are words that have to stand next to each other found wherever they do? (C§4.6, C§6.4, C§7.6, C§11)

mod shard;

use quorate_engine::index::ReadySizes;
use quorate_engine::{Scratch, search};
use quorate_model::{SearchParams, Settings};
use serde_json::{Value, json};
use shard::{Shard, WordLists, limits};

/// The ids of the hits and their distances, in order.
fn found(shard: &Shard, request: Value) -> Vec<(String, u64)> {
    let mut request = request;
    request["getRankingInfo"] = true.into();
    let params = SearchParams::from_json(request.as_object().unwrap()).unwrap();
    let results = search(&shard.view, &shard.configuration, &params, &limits(), &mut Scratch::new()).unwrap();
    let hits = results.hits.iter().map(|raw| serde_json::from_slice::<Value>(raw).unwrap());
    let id = |hit: Value| {
        (
            hit["objectID"].as_str().unwrap().to_owned(),
            hit["_rankingInfo"]["proximityDistance"].as_u64().unwrap(),
        )
    };
    hits.map(id).collect()
}
fn shard(records: &[Value]) -> Shard {
    let settings = json!({"searchableAttributes": ["text"], "advancedSyntax": true});
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    Shard::new(settings, records, &[records.len()], &WordLists::default(), ReadySizes::default())
}

#[test]
fn a_word_that_stands_often_is_found_next_to_another_at_any_of_its_places() {
    for often in [1, 63, 64, 65, 300] {
        // the other word stands often, too, so that there are many pairs
        let before = "the cat x ".repeat(often);
        let far = "who x ".repeat(often.min(40));
        let records = [
            json!({"objectID": "near", "text": format!("{before}the who left")}),
            json!({"objectID": "far", "text": format!("{before}x {far}left")}),
        ];
        let shard = shard(&records);
        let one = |id: &str, distance| vec![(id.to_owned(), distance)];
        let asked = |query: &str| found(&shard, json!({"query": query, "typoTolerance": false}));
        assert_eq!(asked("\"the who\""), one("near", 1), "{often}");
        assert_eq!(asked("left -\"the who\""), one("far", 0), "{often}");
        assert_eq!(asked("the who")[0], ("near".to_owned(), 1), "{often}");
        // "the cat x the cat x x who": four steps from the last one
        assert_eq!(asked("the who")[1], ("far".to_owned(), 4), "{often}");
        assert_eq!(asked("\"the left\""), []);
    }
}

#[test]
fn a_long_phrase_excludes_only_what_has_all_of_it() {
    let words: Vec<String> = (0..30).map(|number| format!("w{number}")).collect();
    let text = |from: usize, to: usize| words[from..to].join(" ");
    let records = [
        json!({"objectID": "all", "text": format!("a {} b", text(0, 30))}),
        json!({"objectID": "part", "text": format!("a {} x {} b", text(0, 12), text(12, 30))}),
    ];
    let shard = shard(&records);
    for to in [2, 9, 10, 11, 12, 13, 19, 20, 25, 30] {
        let found = found(&shard, json!({"query": format!("a -\"{}\"", text(0, to))}));
        let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        // the two stretches of "part" have one after the other no word in common
        assert_eq!(ids, if to <= 12 { vec![] } else { vec!["part"] }, "{to}");
    }
}
