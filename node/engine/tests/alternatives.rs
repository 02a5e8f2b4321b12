//! What else stands for the words of a query: how it matches, ranks, counts and is shown (C§6.4, C§11). Tables of small
//! cases.

mod shard;

use quorate_engine::index::ReadySizes;
use quorate_engine::{Scratch, search};
use quorate_model::{SearchParams, SearchResults, Settings};
use serde_json::{Value, json};
use shard::{Shard, WordLists, limits};

fn shard(settings: Value, records: &[Value]) -> Shard {
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    Shard::new(settings, records, &[records.len()], &WordLists::default(), ReadySizes::default())
}
/// Records of titles, their ids being letters in order.
fn titles(titles: &[&str]) -> Vec<Value> {
    let id = |i: usize| char::from(b'a' + i as u8).to_string();
    titles.iter().enumerate().map(|(i, title)| json!({"objectID": id(i), "title": title})).collect()
}
fn ask(shard: &Shard, request: &Value) -> SearchResults {
    let params = SearchParams::from_json(request.as_object().unwrap()).unwrap();
    search(&shard.view, &shard.configuration, &params, &limits(), &mut Scratch::new()).unwrap()
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

/// A shard of titles with synonyms; plurals and stop words are those given.
fn with_synonyms(titles_given: &[&str], synonyms: Value) -> Shard {
    let settings = json!({"searchableAttributes": ["title"]});
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    let word_lists = WordLists {
        synonyms: synonyms.as_array().unwrap().clone(),
        plurals: vec![vec!["foot".into(), "feet".into()], vec!["shoe".into(), "shoes".into()]],
        stop_words: ["the", "of", "in"].map(String::from).to_vec(),
    };
    let records = titles(titles_given);
    Shard::new(settings, &records, &[records.len()], &word_lists, ReadySizes::default())
}
#[test]
fn synonyms_stand_for_words() {
    let pants = json!([{"type": "synonym", "synonyms": ["pants", "trousers", "slacks"]}]);
    let one_way = json!([{"type": "onewaysynonym", "input": "tablet", "synonyms": ["ipad", "galaxy note"]}]);
    let york = json!([{"type": "synonym", "synonyms": ["ny", "new york"]}]);
    let corrections = json!([
        {"type": "altcorrection1", "word": "shirt", "corrections": ["top"]},
        {"type": "altcorrection2", "word": "shirt", "corrections": ["blouse"]},
    ]);
    let chain =
        json!([{"type": "synonym", "synonyms": ["aa", "bb"]}, {"type": "synonym", "synonyms": ["bb", "cc"]}]);
    let rings = json!([{"type": "synonym", "synonyms": ["lord of the rings", "lotr"]}]);
    for (rule, titles, synonyms, request, expected) in [
        (
            "each for all others",
            &["pants", "trousers", "slacks", "shirt"][..],
            &pants,
            json!({"query": "trousers"}),
            "c:0011 b:0011 a:0011",
        ),
        ("none with typos", &["pants", "trousers"], &pants, json!({"query": "trouserz"}), "b:1001"),
        ("while the word is typed", &["pants", "trousers"], &pants, json!({"query": "pan"}), "b:0001 a:0001"),
        ("not before another word", &["trousers x"], &pants, json!({"query": "pan x"}), ""),
        ("off", &["pants", "trousers"], &pants, json!({"query": "trousers", "synonyms": false}), "b:0011"),
        (
            "not exact",
            &["pants", "trousers"],
            &pants,
            json!({"query": "pants", "alternativesAsExact": []}),
            "a:0011 b:0001",
        ),
        ("the other way is none", &["tablet", "ipad"], &one_way, json!({"query": "ipad"}), "b:0011"),
        ("one way", &["tablet", "ipad"], &one_way, json!({"query": "tablet"}), "b:0011 a:0011"),
        (
            "words next to each other",
            &["galaxy note", "galaxy x note", "note galaxy"],
            &one_way,
            json!({"query": "tablet"}),
            "a:0001",
        ),
        (
            "a phrase of the query",
            &["ny pizza", "new york pizza", "new x york pizza"],
            &york,
            json!({"query": "new york pizza"}),
            "b:0233 a:0213 c:0333",
        ),
        (
            "a phrase counts as asked",
            &["ny pizza"],
            &york,
            json!({"query": "new york pizza", "alternativesAsExact": ["multiWordsSynonym"]}),
            "a:0233",
        ),
        (
            "a phrase of records",
            &["new york city", "york new", "ny city"],
            &york,
            json!({"query": "ny city"}),
            "c:0122 a:0112",
        ),
        ("a phrase that is typed", &["ny"], &york, json!({"query": "new yo"}), "a:0102"),
        (
            "corrections count as typos",
            &["top", "blouse", "shirt"],
            &corrections,
            json!({"query": "shirt"}),
            "c:0011 a:1001 b:2001",
        ),
        (
            "not from one to the next",
            &["aa", "bb", "cc"],
            &chain,
            json!({"query": "aa", "queryType": "prefixNone"}),
            "b:0011 a:0011",
        ),
        (
            "in quotes",
            &["pants", "trousers"],
            &pants,
            json!({"query": "\"pants\"", "advancedSyntax": true}),
            "a:0011",
        ),
        (
            "stop words inside",
            &["lotr x"],
            &rings,
            json!({"query": "lord of the rings x", "removeStopWords": true}),
            "a:0213",
        ),
        (
            "only stop words",
            &["the of"],
            &rings,
            json!({"query": "the of ", "removeStopWords": true, "queryType": "prefixNone"}),
            "a:0122",
        ),
        (
            "stop words left out",
            &["house hill", "hill"],
            &rings,
            json!({"query": "the house in the hill", "removeStopWords": ["en"]}),
            "a:0122",
        ),
        (
            "stop words make room for words beyond the tenth",
            &["house hill", "hill"],
            &rings,
            json!({"query": "the of in the of in the of in the house hill", "removeStopWords": ["en"]}),
            "a:0122",
        ),
        (
            "in a similar query, too",
            &["house hill", "hill"],
            &rings,
            json!({"similarQuery": "the of in the of in the of in the house hill", "removeStopWords": ["en"]}),
            "a:0122 b:0011",
        ),
        (
            "other forms",
            &["foot", "feet", "fee"],
            &rings,
            json!({"query": "foot", "ignorePlurals": true, "queryType": "prefixNone"}),
            "b:0011 a:0011",
        ),
        (
            "other languages",
            &["feet"],
            &rings,
            json!({"query": "foot", "ignorePlurals": ["fr"], "typoTolerance": false}),
            "",
        ),
    ] {
        let shard = with_synonyms(titles, synonyms.clone());
        assert_eq!(ranked(&ask(&shard, &with_info(request.clone()))), expected, "{rule} {request}");
    }
}

#[test]
fn synonyms_are_shown_as_the_query_has_them() {
    let synonyms = json!([{"type": "synonym", "synonyms": ["pants", "Trousers", "leg wear"]}]);
    for (title, query, expected) in [
        ("My TROUSERS, pants", "pants", "My <em>pants</em>, <em>pants</em>"),
        ("pants", "trousers", "<em>trousers</em>"),
        ("old leg wear, leg", "pants", "old <em>pants</em>, leg"),
        ("pants", "leg wear", "<em>pants</em>"),
        ("trousers", "trousers", "<em>trousers</em>"),
        ("trousersuit", "trousers", "<em>trousers</em>uit"),
    ] {
        let shard = with_synonyms(&[title], synonyms.clone());
        let hits = hits(&ask(&shard, &json!({"query": query, "replaceSynonymsInHighlight": true})));
        assert_eq!(hits[0]["_highlightResult"]["title"]["value"], json!(expected), "{query} in {title}");
    }
}
#[test]
fn placeholders_are_found_by_their_replacements_alone() {
    let street = json!([{"type": "placeholder", "placeholder": "<Street_Name>", "replacements": ["fleet", "abbey road"]}]);
    for (title, query, expected) in [
        ("12 <Street_Name>", "12 fleet", "<em>12</em> <em><Street_Name></em>"),
        (
            "12 <Street_Name>, London",
            "london 12 abbey road",
            "<em>12</em> <em><Street_Name></em>, <em>London</em>",
        ),
        ("<street_name>", "street", ""),
        ("<street_name>", "fleet", "<em><street_name></em>"),
        ("Vec<street_name>", "street", "Vec<<em>street</em>_name>"),
        ("Vec<street_name>", "fleet", ""),
        ("<b>bold</b> a < b > c", "bold b", "<<em>b</em>><em>bold</em></<em>b</em>> a < <em>b</em> > c"),
    ] {
        let shard = with_synonyms(&[title], street.clone());
        let hits = hits(&ask(&shard, &json!({"query": query})));
        let shown = hits.first().map_or(json!(""), |hit| hit["_highlightResult"]["title"]["value"].clone());
        assert_eq!(shown, json!(expected), "{query} in {title}");
    }
    let shard = with_synonyms(&["12 <Street_Name>"], street);
    let answer = ask(&shard, &json!({"query": "12 <Street_Name>", "getRankingInfo": true}));
    assert_eq!(answer.parsed_query.as_deref(), Some("12 <streetname>"));
}
#[test]
fn compound_words_are_their_parts() {
    for (title, request, expected) in [
        ("stuhl im garten", json!({"query": "gartenstuhl", "queryLanguages": ["de"]}), "a:0001"),
        ("stuhl im garten", json!({"query": "gartenstuhl"}), ""),
        (
            "stuhl im garten",
            json!({"query": "gartenstuhl", "queryLanguages": ["de"], "decompoundQuery": false}),
            "",
        ),
        ("stuhl im hof", json!({"query": "gartenstuhl", "queryLanguages": ["de"]}), ""),
    ] {
        let shard = shard(json!({"searchableAttributes": ["title"]}), &titles(&[title, "garten hof"]));
        assert_eq!(ranked(&ask(&shard, &with_info(request.clone()))), expected, "{request}");
    }
}
#[test]
fn broad_queries_give_words_up() {
    let none = json!([]);
    for (titles, request, expected) in [
        (
            &["feet of the house", "house", "shoes house garden", "garden"][..],
            json!({"similarQuery": "the house in the garden"}),
            "c:0122 d:0011 b:0011 a:0011",
        ),
        (
            &["feet of the house", "shoe", "foot"],
            json!({"query": "the foot of house ", "naturalLanguages": ["en"], "queryType": "prefixNone"}),
            "a:0322",
        ),
        (&["foot"], json!({"query": "foot x house ", "naturalLanguages": ["en"]}), "a:0011"),
    ] {
        let shard = with_synonyms(titles, none.clone());
        assert_eq!(ranked(&ask(&shard, &with_info(request.clone()))), expected, "{request}");
    }
}
#[test]
fn required_words_grow_with_the_results() {
    let mut records = vec![];
    for i in 0..2_200 {
        let title = match i {
            0..200 => "one two three four",
            200..1_300 => "one two three",
            1_300..1_600 => "four two",
            _ => "one",
        };
        records.push(json!({"objectID": format!("{i}"), "title": title}));
    }
    let shard = shard(json!({}), &records);
    for (query, optional, expected) in [
        ("one two three four", "one two three four", 1_600),
        ("one two three four", "one two three", 500),
        ("one two three", "one two three", 2_200),
    ] {
        let request = json!({"query": query, "optionalWords": optional, "queryType": "prefixNone"});
        assert_eq!(ask(&shard, &request).nb_hits, expected, "{query}: {optional}");
    }
}
#[test]
fn what_was_looked_for_is_explained() {
    let synonyms = json!([
        {"type": "synonym", "synonyms": ["shoe", "leg wear"]},
        {"type": "altcorrection1", "word": "shoe", "corrections": ["boot"]},
        {"type": "synonym", "synonyms": ["shoe", "clog"]},
    ]);
    let shard = with_synonyms(&["leg wear shoehouse", "sh oe"], synonyms);
    let request = json!({
        "query": "the shoe house -garden", "ignorePlurals": true, "removeStopWords": true, "advancedSyntax": true,
        "optionalWords": "house", "explain": ["match.alternatives"]
    });
    let all = ask(&shard, &request).alternatives.unwrap();
    let shown: Vec<String> = all
        .iter()
        .map(|one| {
            format!(
                "{} {} {} {}+{}",
                one.types.join(","),
                one.words.join(" "),
                one.typos,
                one.offset,
                one.length
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "original shoe 0 1+1",
            "original,optional house 0 2+1",
            "plural shoes 0 1+1",
            "altCorrection boot 1 1+1",
            "synonym clog 0 1+1",
            "synonym leg wear 0 1+1",
            "concat shoehouse 1 1+2",
            "split sh oe 1 1+1",
            "stopWord the 0 0+1",
            "excluded garden 0 3+1",
        ]
    );
    assert_eq!(ask(&shard, &json!({"query": "shoe"})).alternatives, None);
    // words beyond the tenth are there, too
    let long = json!({"query": "a b c d e f g h i j kk -l mm", "advancedSyntax": true, "explain": ["match.alternatives"]});
    let all = ask(&shard, &long).alternatives.unwrap();
    let places: Vec<(&str, usize)> = all.iter().map(|one| (one.words[0].as_str(), one.offset)).collect();
    assert_eq!(places[9..], [("j", 9), ("kk", 10), ("mm", 12), ("l", 11)]);
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
        ("Red TROUSERS", "pants red", "<em>Red</em> <em>TROUSERS</em>", "full", json!(["pants", "red"])),
        ("leg wear, leg", "trousers", "<em>leg</em> <em>wear</em>, leg", "full", json!(["trousers"])),
        ("trousers", "leg wear", "<em>trousers</em>", "full", json!(["leg", "wear"])),
        ("shirt, top", "shirt", "<em>shirt</em>, top", "full", json!(["shirt"])),
        ("my top", "shirt", "my <em>top</em>", "full", json!(["shirt"])),
        ("my wifi", "wi fi my", "<em>my</em> <em>wifi</em>", "full", json!(["wi", "fi", "my"])),
    ] {
        let shard = with_synonyms(
            &[title],
            json!([
                {"type": "synonym", "synonyms": ["pants", "trousers", "leg wear"]},
                {"type": "altcorrection2", "word": "shirt", "corrections": ["top"]},
            ]),
        );
        let hits = hits(&ask(&shard, &json!({"query": query})));
        let shown = &hits[0]["_highlightResult"]["title"];
        assert_eq!(
            (&shown["value"], &shown["matchLevel"], &shown["matchedWords"]),
            (&json!(value), &json!(level), &words),
            "{query} in {title}"
        );
    }
}
