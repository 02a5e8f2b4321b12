//! How does each criterion order hits, and what do hits look like? Tables of small cases (C§5–C§9).

mod shard;

use quorate_engine::index::ReadySizes;
use quorate_engine::{Scratch, Selection, browse, matching_ids, search, search_facet};
use quorate_model::{FacetHits, Result, SearchParams, SearchResults, Settings};
use serde_json::{Value, json};
use shard::{Shard, WordLists, limits};

fn shard(settings: Value, records: &[Value]) -> Shard {
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    Shard::new(settings, records, &[records.len()], &WordLists::default(), ReadySizes::default())
}
fn params(value: Value) -> SearchParams {
    SearchParams::from_json(value.as_object().unwrap()).unwrap()
}
fn ask(shard: &Shard, request: Value) -> SearchResults {
    search(&shard.view, &shard.configuration, &params(request), &limits(), &mut Scratch::new()).unwrap()
}
fn hits(results: &SearchResults) -> Vec<Value> {
    results.hits.iter().map(|raw| serde_json::from_slice(raw).unwrap()).collect()
}
fn ids(results: &SearchResults) -> String {
    let id = |hit: &Value| hit["objectID"].as_str().unwrap().to_string();
    hits(results).iter().map(id).collect::<Vec<_>>().join(" ")
}
/// Records of titles, their ids being letters in order.
fn titles(titles: &[&str]) -> Vec<Value> {
    let id = |i: usize| char::from(b'a' + i as u8).to_string();
    titles.iter().enumerate().map(|(i, title)| json!({"objectID": id(i), "title": title})).collect()
}

#[test]
fn each_criterion_orders_hits() {
    let searchable = json!({"searchableAttributes": ["title", "body"]});
    for (rule, records, request, expected) in [
        (
            "C§7.2 fewer typos first",
            titles(&["michal", "michael", "mihcel"]),
            json!({"query": "michael"}),
            "b a",
        ),
        (
            "C§7.2 first letter counts twice",
            titles(&["tichael", "michaelx", "michael"]),
            json!({"query": "michael "}),
            "c b a",
        ),
        ("C§7.2 short words are exact", titles(&["cat", "cut"]), json!({"query": "cat"}), "a"),
        (
            "C§7.6 nearer words first",
            titles(&["new x york", "new york", "york new"]),
            json!({"query": "new york"}),
            "b c a",
        ),
        (
            "C§7.7 earlier words first",
            titles(&["x y red", "red x y", "x red y"]),
            json!({"query": "red"}),
            "b c a",
        ),
        ("C§7.8 whole value first", titles(&["red x", "red", "reddish"]), json!({"query": "red"}), "b c a"),
        (
            "C§7.8 exact before prefix",
            titles(&["dog food", "dogs food"]),
            json!({"query": "food dog"}),
            "a b",
        ),
        ("C§7.10 objectID descending", titles(&["same", "same", "same"]), json!({"query": "same"}), "c b a"),
        (
            "C§6.5 only the last word is a prefix",
            titles(&["foo bar", "food bar"]),
            json!({"query": "foo ba"}),
            "a",
        ),
        (
            "C§4.6 every word a prefix",
            titles(&["foo bar", "food bar"]),
            json!({"query": "foo ba", "queryType": "prefixAll"}),
            "a b",
        ),
        (
            "C§4.6 no word a prefix",
            titles(&["foo bar", "food ba"]),
            json!({"query": "foo ba", "queryType": "prefixNone"}),
            "",
        ),
        (
            "C§4.6 phrase",
            titles(&["a b c", "b a c", "a c b"]),
            json!({"query": "\"a b\"", "advancedSyntax": true}),
            "a",
        ),
        (
            "C§4.6 exclusion",
            titles(&["a b", "a c", "a"]),
            json!({"query": "a -b", "advancedSyntax": true}),
            "c b",
        ),
        (
            "C§4.6 optional words",
            titles(&["a", "a b", "b"]),
            json!({"query": "a b", "optionalWords": ["b"]}),
            "b a",
        ),
        (
            "C§4.6 lastWords",
            titles(&["red car", "blue"]),
            json!({"query": "red bike", "removeWordsIfNoResults": "lastWords"}),
            "a",
        ),
        (
            "C§4.5 no typos",
            titles(&["michal", "michael"]),
            json!({"query": "michael", "typoTolerance": false}),
            "b",
        ),
        (
            "C§4.5 min",
            titles(&["michal", "michael"]),
            json!({"query": "michael", "typoTolerance": "min"}),
            "b",
        ),
        (
            "C§4.5 strict",
            titles(&["michal", "michael", "tichael"]),
            json!({"query": "michael ", "typoTolerance": "strict"}),
            "b a",
        ),
    ] {
        let shard = shard(searchable.clone(), &records);
        assert_eq!(ids(&ask(&shard, request.clone())), expected, "{rule}: {request}");
    }
}
fn shop() -> Shard {
    let settings = json!({
        "searchableAttributes": ["name"],
        "attributesForFaceting": ["searchable(brand)", "colors", "price", "filterOnly(secret)", "sold"],
        "unretrievableAttributes": ["secret"],
        "attributeForDistinct": "brand",
        "customRanking": ["desc(price)"],
    });
    let records = [
        json!({"objectID": "1", "name": "Red shoe", "brand": "Acme", "price": 10, "colors": ["red", "blue"], "_tags": ["New"], "sold": true}),
        json!({"objectID": "2", "name": "Blue shoe", "brand": "acme", "price": 20.5, "colors": ["blue"], "secret": "x"}),
        json!({"objectID": "3", "name": "Green hat", "brand": "Mobile Phones", "price": [5, 7], "_tags": ["old"], "sold": false}),
        json!({"objectID": "4", "name": "Hat", "brand": "Acme"}),
    ];
    shard(settings, &records)
}
#[test]
fn sorts_and_custom_ranking_act_where_ranking_names_them() {
    let titles = ["red lamp", "red x lamp", "red x y lamp", "red lanp", "red lamp x"];
    let numbers = [(1, 1), (1, 9), (0, 0), (1, 10), (1, 9)];
    let of = |((title, id), (n, pop)): ((&&str, &str), (u32, u32))| json!({"objectID": id, "title": title, "n": n, "pop": pop});
    let records: Vec<Value> = titles.iter().zip(["a", "b", "c", "d", "e"]).zip(numbers).map(of).collect();
    let ranked = |ranking: Value, split: &[usize]| {
        let settings =
            json!({"searchableAttributes": ["title"], "customRanking": ["desc(pop)"], "ranking": ranking});
        let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
        let shard = Shard::new(settings, &records, split, &WordLists::default(), ReadySizes::default());
        ids(&ask(&shard, json!({"query": "red lamp"})))
    };
    for (ranking, expected) in [
        (json!(["asc(n)", "typo", "custom", "proximity"]), "c e b a d"),
        (json!(["asc(n)", "custom", "typo", "proximity"]), "c d e b a"),
        (json!(["asc(n)", "proximity", "custom", "typo"]), "c d e a b"),
        (json!(["typo", "custom", "proximity", "asc(n)"]), "e b a c d"),
        (json!(["proximity", "asc(n)", "typo", "custom", "attribute"]), "e a d b c"),
    ] {
        for split in [&[5][..], &[2, 3], &[1, 1, 1, 1, 1]] {
            assert_eq!(ranked(ranking.clone(), split), expected, "{ranking} {split:?}");
        }
    }
}
#[test]
fn filters_select_records() {
    let shop = shop();
    for (filters, expected) in [
        ("", "2 1 4 3"),
        ("brand:ACME", "2 1 4"),
        ("NOT brand:acme", "3"),
        ("colors:blue AND brand:Acme", "2 1"),
        ("colors:red OR brand:\"mobile phones\"", "1 3"),
        ("price > 10", "2"),
        ("price >= 10", "2 1"),
        ("price:5 TO 10", "1 3"),
        ("price = 7", "3"),
        ("price != 7", "2 1"),
        ("NOT price:0 TO 100", "4"),
        ("_tags:New", "1"),
        ("_tags:new", ""),
        ("New", "1"),
        ("secret:x", "2"),
        ("sold:true", "1"),
        ("sold = 1", "1"),
        ("objectID:3", "3"),
        ("name:Hat", ""),
        ("missing:1", ""),
    ] {
        let found = ask(&shop, json!({"filters": filters}));
        assert_eq!(ids(&found), expected, "{filters}");
        assert_eq!(found.nb_hits as usize, expected.split_whitespace().count(), "{filters}");
        let deleted =
            matching_ids(&shop.view, shop.configuration.settings(), &params(json!({"filters": filters})))
                .unwrap();
        assert_eq!(deleted.join(" "), expected, "{filters}");
    }
    let scored = json!({"filters": "colors:red<score=1> OR brand:\"Mobile Phones\"<score=5>"});
    assert_eq!(ids(&ask(&shop, scored)), "3 1");
    assert_eq!(ids(&ask(&shop, json!({"optionalFilters": ["brand:Mobile Phones"]}))), "3 2 1 4");
}
#[test]
fn facets_are_counted_and_searched() {
    let shop = shop();
    let results = ask(&shop, json!({"facets": ["*"]}));
    let shown: Vec<String> = results
        .facets
        .as_ref()
        .unwrap()
        .iter()
        .map(|f| {
            format!("{} {:?} {:?}", f.attribute, f.values, f.stats.map(|s| (s.min, s.max, s.avg, s.sum)))
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#"brand [("Acme", 2), ("Mobile Phones", 1), ("acme", 1)] None"#,
            r#"colors [("blue", 2), ("red", 1)] None"#,
            r#"price [("10", 1), ("20.5", 1), ("5", 1), ("7", 1)] Some((5.0, 20.5, 10.625, 42.5))"#,
            r#"sold [("false", 1), ("true", 1)] None"#,
        ]
    );
    let one = ask(&shop, json!({"facets": ["brand"], "maxValuesPerFacet": 1, "filters": "price > 0"}));
    let brand = &one.facets.as_ref().unwrap()[0];
    assert_eq!((brand.values.clone(), brand.complete), (vec![("Acme".to_string(), 1)], false));
    let facet = |query: &str, request: Value| -> Result<FacetHits> {
        let (view, settings) = (&shop.view, &shop.configuration);
        search_facet(view, settings, "brand", query, &params(request), &limits(), &mut Scratch::new())
    };
    for (query, request, expected) in [
        ("", json!({}), "Acme:2 Mobile Phones:1 acme:1"),
        ("phone", json!({}), "Mobile <em>Phone</em>s:1"),
        ("acme", json!({"filters": "price > 15"}), "<em>acme</em>:1"),
        ("mobyle", json!({}), "<em>Mobile</em> Phones:1"),
        ("zzz", json!({}), ""),
    ] {
        let hits = facet(query, request).unwrap().hits;
        let shown: Vec<String> = hits.iter().map(|(_, marked, count)| format!("{marked}:{count}")).collect();
        assert_eq!(shown.join(" "), expected, "{query}");
    }
    let (view, settings) = (&shop.view, &shop.configuration);
    let refused =
        search_facet(view, settings, "price", "", &params(json!({})), &limits(), &mut Scratch::new())
            .unwrap_err();
    assert_eq!(
        refused.message,
        "Cannot search in `price` attribute, you need to add `searchable(price)` to attributesForFaceting."
    );
}
#[test]
fn pages_follow_the_rules() {
    let records: Vec<Value> = (0..9).map(|i| json!({"objectID": format!("{i}"), "t": "x"})).collect();
    let shard = shard(json!({"paginationLimitedTo": 6}), &records);
    for (request, expected, nb_hits, nb_pages) in [
        (json!({}), "8 7 6 5 4 3", 9, 1),
        (json!({"hitsPerPage": 4}), "8 7 6 5", 9, 2),
        (json!({"hitsPerPage": 4, "page": 1}), "4 3", 9, 2),
        (json!({"hitsPerPage": 4, "page": 2}), "", 0, 0),
        (json!({"hitsPerPage": 0}), "", 9, 0),
        (json!({"offset": 5, "length": 3}), "3", 9, 2),
        (json!({"offset": 1, "length": 2, "page": 3}), "7 6", 9, 3),
    ] {
        let results = ask(&shard, request.clone());
        let found = (ids(&results), results.nb_hits, results.nb_pages);
        assert_eq!(found, (expected.to_string(), nb_hits, nb_pages), "{request}");
        assert_eq!(results.message.is_some(), nb_hits == 0, "{request}");
    }
    // pages that reach no hit at all
    let closed = self::shard(json!({"paginationLimitedTo": 0}), &records);
    for request in [json!({}), json!({"hitsPerPage": 0}), json!({"offset": 0, "length": 2})] {
        let results = ask(&closed, request.clone());
        let found = (ids(&results), results.nb_hits, results.nb_pages, results.message.is_some());
        assert_eq!(found, (String::new(), 0, 0, true), "{request}");
    }
}
#[test]
fn distinct_shows_each_value_so_often() {
    let shop = shop();
    for (request, expected, nb_hits) in [
        (json!({"distinct": 1}), "2:0 1:0 3:0", 3),
        (json!({"distinct": 2}), "2:0 1:0 4:1 3:0", 3),
        (json!({"distinct": true, "hitsPerPage": 1, "page": 1}), "1:0", 3),
        (json!({"distinct": 0}), "2:null 1:null 4:null 3:null", 4),
    ] {
        let results = ask(&shop, request.clone());
        let shown: Vec<String> = hits(&results)
            .iter()
            .map(|hit| format!("{}:{}", hit["objectID"].as_str().unwrap(), hit["_distinctSeqID"]))
            .collect();
        assert_eq!((shown.join(" "), results.nb_hits), (expected.to_string(), nb_hits), "{request}");
    }
}
#[test]
fn places_restrict_and_order() {
    let point = |id: &str, lat: f64, lng: f64| json!({"objectID": id, "_geoloc": {"lat": lat, "lng": lng}});
    let records = [
        point("paris", 48.8566, 2.3522),
        point("london", 51.5074, -0.1278),
        json!({"objectID": "two", "_geoloc": [{"lat": 0, "lng": 0}, {"lat": 48.85, "lng": 2.35}]}),
        json!({"objectID": "nowhere"}),
    ];
    let shard = shard(json!({}), &records);
    for (request, expected, radius) in [
        (json!({"aroundLatLng": "48.8566,2.3522"}), "paris two london", Some(343_557)),
        (json!({"aroundLatLng": "48.8566,2.3522", "aroundRadius": 1000}), "paris two", None),
        (
            json!({"aroundLatLng": "48.8566,2.3522", "aroundRadius": "all", "aroundPrecision": 1_000_000}),
            "two paris london",
            None,
        ),
        (json!({"insideBoundingBox": [[50, -1, 52, 1]]}), "london", None),
        (json!({"insidePolygon": [[48, 2, 49, 2, 49, 3, 48, 3]]}), "two paris", None),
    ] {
        let results = ask(&shard, request.clone());
        assert_eq!((ids(&results).as_str(), results.automatic_radius), (expected, radius), "{request}");
    }
    let nearest = &hits(&ask(&shard, json!({"aroundLatLng": "51,0", "getRankingInfo": true})))[0];
    let info = &nearest["_rankingInfo"];
    assert_eq!((&info["geoPrecision"], &info["matchedGeoLocation"]["lat"]), (&json!(10), &json!(51.5074)));
}
#[test]
fn highlights_mark_what_matched() {
    let settings = json!({"searchableAttributes": ["name", "list", "deep.text", "year"]});
    let records = [json!({
        "objectID": "1",
        "name": "George Clooney, \"actor\"",
        "list": ["vim", "beforeneovim"],
        "deep": {"text": "Größe zählt", "other": "vim"},
        "year": 1993,
        "flag": true,
    })];
    let shard = shard(settings, &records);
    let none = |value: &str| json!({"value": value, "matchLevel": "none", "matchedWords": []});
    for (query, path, expected) in [
        ("", "/name", none("George Clooney, \"actor\"")),
        (
            "george clo",
            "/name",
            json!({"value": "<em>George</em> <em>Clo</em>oney, \"actor\"", "matchLevel": "full", "fullyHighlighted": false, "matchedWords": ["george", "clo"]}),
        ),
        (
            "vim",
            "/list/0",
            json!({"value": "<em>vim</em>", "matchLevel": "full", "fullyHighlighted": true, "matchedWords": ["vim"]}),
        ),
        ("vim", "/list/1", none("beforeneovim")),
        (
            "gorge",
            "/name",
            json!({"value": "<em>George</em> Clooney, \"actor\"", "matchLevel": "full", "fullyHighlighted": false, "matchedWords": ["gorge"]}),
        ),
        (
            "zahlt vim",
            "/deep/text",
            json!({"value": "Größe <em>zählt</em>", "matchLevel": "partial", "fullyHighlighted": false, "matchedWords": ["zahlt"]}),
        ),
        (
            "gros",
            "/deep/text",
            json!({"value": "<em>Größ</em>e zählt", "matchLevel": "full", "fullyHighlighted": false, "matchedWords": ["gros"]}),
        ),
        (
            "1993",
            "/year",
            json!({"value": "<em>1993</em>", "matchLevel": "full", "fullyHighlighted": true, "matchedWords": ["1993"]}),
        ),
        ("vim", "/deep/other", Value::Null),
        ("vim", "/flag", Value::Null),
        ("vim", "/objectID", Value::Null),
    ] {
        let hit = &hits(&ask(&shard, json!({"query": query})))[0];
        let shown = hit["_highlightResult"].pointer(path).cloned().unwrap_or_default();
        assert_eq!(shown, expected, "{query} {path}");
    }
    let everything = json!({"query": "vim", "attributesToHighlight": ["*"], "highlightPreTag": "[", "highlightPostTag": "]", "attributesToRetrieve": ["year"]});
    let hit = &hits(&ask(&shard, everything))[0];
    assert_eq!(hit["_highlightResult"]["deep"]["other"]["value"], "[vim]");
    assert_eq!((&hit["year"], hit.get("name")), (&json!(1993), None));
    let off = &hits(&ask(&shard, json!({"attributesToHighlight": []})))[0];
    assert_eq!(off.get("_highlightResult"), None);
    let matching = json!({"query": "vim", "restrictHighlightAndSnippetArrays": true});
    let hit = &hits(&ask(&shard, matching))[0];
    assert_eq!(hit["_highlightResult"]["list"].as_array().unwrap().len(), 1);
}
#[test]
fn snippets_cut_around_matches() {
    let text = "one two three four five six seven eight nine ten eleven twelve.";
    let shard = shard(json!({}), &[json!({"objectID": "1", "text": text, "short": "one two"})]);
    for (query, snippet, expected) in [
        ("", "text:3", "one two three…"),
        ("six", "text:3", "…five <em>six</em> seven…"),
        ("twelve", "text:3", "…ten eleven <em>twelve</em>."),
        ("five six", "text:4", "…four <em>five</em> <em>six</em> seven…"),
        ("one", "text:2", "<em>one</em> two…"),
        ("six", "text:50", "one two three four five <em>six</em> seven eight nine ten eleven twelve."),
        ("six", "*:1", "…<em>six</em>…"),
    ] {
        let request = json!({"query": query, "attributesToSnippet": [snippet], "attributesToHighlight": []});
        let hit = &hits(&ask(&shard, request))[0];
        assert_eq!(hit["_snippetResult"]["text"]["value"], expected, "{query} {snippet}");
    }
    // words that the text has as one, and the query has so, too
    let camel = json!({"camelCaseAttributes": ["text"]});
    let before = "a1 b2 c3 d4 e5 f6 g7 h8 i9 j10 k11 l12";
    for (settings, word, queries) in [
        (&camel, "getUserName", vec!["getusername", "getusernam", "getusernme"]),
        (&camel, "MacBook", vec!["macbook", "macbok", "mabcook"]),
        (&camel, "iPhone12", vec!["iphone12", "iphone 12"]),
        (&json!({}), "hello.world", vec!["helloworld", "heloworld", "hellowrld"]),
    ] {
        let records = [json!({"objectID": "1", "text": format!("{before} {word} x y z")})];
        let shard = self::shard(settings.clone(), &records);
        for query in queries {
            let request = json!({"query": query, "attributesToSnippet": ["text:4"]});
            let hit = &hits(&ask(&shard, request))[0];
            let snippet = hit["_snippetResult"]["text"]["value"].as_str().unwrap();
            assert!(snippet.contains("<em>") && snippet.starts_with('…'), "{query}: {snippet}");
        }
    }
}
#[test]
fn records_show_what_is_asked_for() {
    let settings = json!({"unretrievableAttributes": ["secret", "deep.hidden"]});
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    let raw = br#"{"a":1,"secret":"x","deep":{"hidden":1,"shown":[1,{"x":2}]},"objectID":"7"}"#;
    for (attributes, expected) in [
        (None, r#"{"a":1,"deep":{"shown":[1,{"x":2}]},"objectID":"7"}"#),
        (Some(vec!["*"]), r#"{"a":1,"deep":{"shown":[1,{"x":2}]},"objectID":"7"}"#),
        (Some(vec![]), r#"{"objectID":"7"}"#),
        (Some(vec!["a", "secret"]), r#"{"a":1,"objectID":"7"}"#),
        (Some(vec!["deep.shown.x"]), r#"{"deep":{"shown":[{"x":2}]},"objectID":"7"}"#),
        (Some(vec!["*", "-deep"]), r#"{"a":1,"objectID":"7"}"#),
        (Some(vec!["*", "-objectID", "-a"]), r#"{"deep":{"shown":[1,{"x":2}]},"objectID":"7"}"#),
    ] {
        let attributes: Option<Vec<String>> =
            attributes.map(|list| list.into_iter().map(str::to_string).collect());
        let shown = Selection::new(&settings, attributes.as_deref(), false).render(raw);
        assert_eq!(String::from_utf8(shown).unwrap(), expected, "{attributes:?}");
    }
    assert_eq!(Selection::new(&settings, None, true).render(raw), raw);
    // what is left out takes nothing else away: lists and objects stay where they are, with or without members
    let raw =
        r#"{"o":{"items":[],"e":{}},"e":[],"z":[[],[1],[{}]],"mix":[1,{"v":2},[]],"p":5,"objectID":"7"}"#;
    for (attributes, expected) in [
        (vec!["*", "-o.items.v"], raw),
        (vec!["*", "-o.e.x", "-e.v", "-z.v", "-p.x"], raw),
        (vec!["o", "p", "-o.items.v", "-p.x"], r#"{"o":{"items":[],"e":{}},"p":5,"objectID":"7"}"#),
        (
            vec!["*", "-mix.v"],
            r#"{"o":{"items":[],"e":{}},"e":[],"z":[[],[1],[{}]],"mix":[1,{},[]],"p":5,"objectID":"7"}"#,
        ),
        (vec!["mix.v", "p.x", "e.x"], r#"{"mix":[{"v":2}],"objectID":"7"}"#),
    ] {
        let attributes: Vec<String> = attributes.into_iter().map(str::to_owned).collect();
        let shown = Selection::new(&settings, Some(&attributes), false).render(raw.as_bytes());
        assert_eq!(String::from_utf8(shown).unwrap(), expected, "{attributes:?}");
    }
}
#[test]
fn browse_walks_through_everything_once() {
    let records: Vec<Value> =
        (0..50).map(|i| json!({"objectID": format!("{i:02}"), "n": i % 7, "t": if i % 2 == 0 { "even" } else { "odd" }})).collect();
    let settings = json!({"customRanking": ["asc(n)"]});
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    let shard = Shard::new(settings, &records, &[20, 17, 13], &WordLists::default(), ReadySizes::default());
    for (request, expected) in
        [(json!({"hitsPerPage": 7}), 50), (json!({"query": "even", "hitsPerPage": 5}), 25), (json!({}), 50)]
    {
        let request = params(request);
        let (mut seen, mut cursor): (Vec<(u64, String)>, Option<Vec<u8>>) = (vec![], None);
        for _ in 0..20 {
            let (view, settings) = (&shard.view, &shard.configuration);
            let page =
                browse(view, settings, &request, cursor.as_deref(), &limits(), &mut Scratch::new()).unwrap();
            assert_eq!(page.nb_hits, expected);
            for hit in hits(&page) {
                assert_eq!(hit.get("_highlightResult"), None);
                seen.push((hit["n"].as_u64().unwrap(), hit["objectID"].as_str().unwrap().to_string()));
            }
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        let mut wanted = seen.clone();
        wanted.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.cmp(&a.1)));
        wanted.dedup();
        assert_eq!(seen.len() as u64, expected);
        assert_eq!(seen, wanted);
    }
}
