//! Which records do filters select and how are facets counted, through the interface (C§5, C§8.1 to C§8.5)?

use super::*;
use serde_json::json;

async fn library() -> Node {
    let node = Node::start().await;
    let settings = json!({
        "attributesForFaceting": ["searchable(author.name)", "tags", "kind", "open", "year", "filterOnly(secret)",
            "categories.lvl0", "categories.lvl1", "afterDistinct(shelf)"],
        "attributeForDistinct": "shelf", "unretrievableAttributes": ["secret"]
    });
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let book = |id: &str, record: Value| {
        let mut record = record;
        record["objectID"] = json!(id);
        json!({"action": "addObject", "body": record})
    };
    let requests = json!([
        book(
            "a",
            json!({"author": {"name": "Ann Lee"}, "kind": "Book", "price": 10, "year": 1999, "open": true, "shelf": "s1",
            "tags": ["new", "A B"], "_tags": ["x", "Y"], "date": 1_700_000_000, "sizes": [1, 5],
            "categories": {"lvl0": "Art", "lvl1": ["Art > Oil", "Art > Ink"]}})
        ),
        book(
            "b",
            json!({"author": {"name": "bob"}, "kind": "book", "price": 10.5, "year": 2020, "open": false, "shelf": "s1",
            "tags": ["old"], "date": 1_710_000_000, "sizes": [7], "categories": {"lvl0": "Art", "lvl1": "Art > Oil"}})
        ),
        book(
            "c",
            json!({"author": [{"name": "Ann Lee"}, {"name": "Cid"}], "kind": "Map", "price": -3, "year": 2020, "shelf": "s2",
            "tags": "-odd", "secret": "yes", "categories": {"lvl0": "Maps"}})
        ),
        book("d", json!({"kind": "x:y", "year": "2020", "open": "true", "note": "no price", "price": "12"}))
    ]);
    node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": requests})).await;
    node
}

impl Node {
    async fn selected(&self, query: Value) -> String {
        let body =
            self.call_with(&self.search_key, Method::POST, "/1/indexes/i/query", &query.to_string()).await;
        let body = body.json();
        let Some(hits) = body["hits"].as_array() else { return body["message"].to_string() };
        let mut ids: Vec<&str> = hits.iter().map(|hit| hit["objectID"].as_str().unwrap()).collect();
        ids.sort_unstable();
        ids.join("")
    }
}

#[actix_web::test]
async fn filters_select_as_their_grammar_says() {
    let node = library().await;
    for (filters, expected) in [
        ("", "abcd"),
        ("kind:book", "ab"),
        ("kind:Book AND NOT author.name:bob", "a"),
        ("author.name:'Ann Lee'", "ac"),
        ("author.name:\"cid\" OR kind:\"x:y\"", "cd"),
        ("NOT author.name:bob", "acd"),
        ("open:true", "ad"),
        ("open:false OR NOT open:true", "bc"),
        ("tags:'A B'", "a"),
        ("tags:-odd", "c"),
        ("year:2020", "bcd"),
        ("year=2020", "bc"),
        ("year!=2020", "a"),
        ("price>10", "b"),
        ("price >= 10 AND price<=10", "a"),
        ("price:10 TO 11", "ab"),
        ("price:-5 TO 0", "c"),
        ("NOT price:-5 TO 10", "bd"),
        ("NOT price>0", "cd"),
        ("price<0", "c"),
        ("sizes:2 TO 4", ""),
        ("sizes<2", "a"),
        ("sizes!=7", "a"),
        ("sizes=1 OR sizes=7", "ab"),
        ("sizes:2 TO 4 OR sizes:6 TO 8", "b"),
        ("sizes=3 OR sizes=6", ""),
        ("NOT sizes=1 OR sizes=5", "abcd"),
        ("sizes!=1 OR sizes=5", "ab"),
        ("date>1700000000 AND date<1720000000", "b"),
        ("open=1", "a"),
        ("x", "a"),
        ("_tags:x", "a"),
        ("_tags:y", ""),
        ("_tags:Y AND (kind:Map OR kind:Book)", "a"),
        ("secret:yes", "c"),
        ("objectID:d", "d"),
        ("objectID:a OR objectID:b", "ab"),
        ("undeclared:1", ""),
        ("NOT undeclared:1", "abcd"),
        ("((kind:book) AND (year=1999 OR year=2020))", "ab"),
        ("kind:book AND year=1999 OR year=2020", "ab"),
        ("kind:and", ""),
        (
            "kind:book and year:2020",
            "\"filters: Unexpected token string(and) expected end of filter at col 10\"",
        ),
        (
            "(kind:book AND year=1) OR x",
            "\"filters: filter (X AND Y) OR Z is not allowed, only (X OR Y) AND Z is allowed\"",
        ),
        (
            "x OR (kind:book AND year=1)",
            "\"filters: filter X OR (Y AND Z) is not allowed, only X AND (Y OR Z) is allowed\"",
        ),
        ("NOT(a OR b)", "\"filters: Unexpected token '(' expected filter at col 3\""),
        ("price>1<score=2>", "\"filters: Unexpected token <score=2> expected end of filter at col 7\""),
    ] {
        assert_eq!(node.selected(json!({"filters": filters})).await, expected, "{filters}");
    }
    let mixed = node.selected(json!({"filters": "kind:book OR price>1"})).await;
    assert!(mixed.starts_with("\"filters: Different types are not allowed in the same OR."), "{mixed}");
    assert!(mixed.contains("Expected a facet filter which needs to have this form:"), "{mixed}");
}

#[actix_web::test]
async fn lists_of_filters_nest() {
    let node = library().await;
    for (query, expected) in [
        (json!({"facetFilters": ["kind:book", "year:2020"]}), "b"),
        (json!({"facetFilters": [["kind:book", "kind:map"], "author.name:Ann Lee"]}), "ac"),
        (json!({"facetFilters": "(kind:book,kind:map),author.name:-bob"}), "ac"),
        (json!({"facetFilters": "[[\"kind:book\"],\"year:1999\"]"}), "a"),
        (json!({"facetFilters": ["tags:\\-odd"]}), "c"),
        (json!({"facetFilters": ["kind:'map'"]}), "c"),
        (json!({"facetFilters": ["kind:x:y"]}), "d"),
        (json!({"facetFilters": [["kind:book", ["kind:map"]]]}), "abc"),
        (json!({"facetFilters": []}), "abcd"),
        (json!({"facetFilters": [[]]}), "abcd"),
        (json!({"numericFilters": ["price>=10", ["year=1999", "year=2020"]]}), "ab"),
        (json!({"numericFilters": "price>=10,(year=1999,year=2020)"}), "ab"),
        (json!({"numericFilters": ["price:10 to 11", "year != 1999"]}), "b"),
        (json!({"tagFilters": ["x", ["Y", "z"]]}), "a"),
        (json!({"tagFilters": "-x"}), "bcd"),
        (json!({"tagFilters": "x,(Y,z)"}), "a"),
        (json!({"filters": "kind:book", "facetFilters": ["year:2020"], "numericFilters": "price<11"}), "b"),
        (json!({"optionalFilters": ["kind:map", "kind:-book"]}), "abcd"),
    ] {
        assert_eq!(node.selected(query.clone()).await, expected, "{query}");
    }
    for (name, wrong) in [
        ("facetFilters", json!(["nothing"])),
        ("numericFilters", json!(["price>x"])),
        ("numericFilters", json!("kind:book")),
        ("optionalFilters", json!([7])),
        ("tagFilters", json!({"a": 1})),
    ] {
        let found = node.selected(json!({ name: wrong })).await;
        assert!(
            found.starts_with(&format!("\"Invalid value for \\\"{name}\\\" parameter, expected ")),
            "{found}"
        );
    }
}

#[actix_web::test]
async fn facets_are_counted_under_any_filter() {
    let node = library().await;
    let facets = |query: Value| {
        let node = &node;
        async move { node.post("/1/indexes/i/query", query).await }
    };
    let all = facets(json!({"facets": ["*"], "query": ""})).await;
    assert_eq!(all["facets"]["kind"], json!({"Book": 1, "Map": 1, "book": 1, "x:y": 1}));
    assert_eq!(all["facets"]["author.name"], json!({"Ann Lee": 2, "Cid": 1, "bob": 1}));
    assert_eq!(all["facets"]["open"], json!({"false": 1, "true": 2}));
    assert_eq!(all["facets"]["categories.lvl1"], json!({"Art > Oil": 2, "Art > Ink": 1}));
    assert_eq!(all["facets"].get("secret"), None);
    assert_eq!(all["facets_stats"]["year"], json!({"min": 1999, "max": 2020, "avg": 2013, "sum": 6039}));
    assert_eq!(
        (&all["exhaustiveFacetsCount"], &all["exhaustive"]["facetValues"]),
        (&json!(true), &json!(true))
    );
    let some =
        facets(json!({"facets": ["categories.lvl0", "categories.lvl1", "none"], "filters": "year:2020",
        "facetFilters": [["categories.lvl0:Art"]]}))
        .await;
    assert_eq!(some["facets"], json!({"categories.lvl0": {"Art": 1}, "categories.lvl1": {"Art > Oil": 1}}));
    assert_eq!(some.get("facets_stats"), None);
    // an attribute that is named several times has each number once
    let settings = json!({"numericAttributesForFiltering": ["year", "equalOnly(year)"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let again = node.post("/1/indexes/i/query", json!({"facets": ["year"]})).await;
    assert_eq!(again["facets_stats"]["year"], all["facets_stats"]["year"]);
    let nothing = facets(json!({"facets": ["kind"], "query": "xyzzyq"})).await;
    assert_eq!(nothing["facets"], json!({}));
    let short = facets(json!({"facets": ["kind"], "maxValuesPerFacet": 1})).await;
    assert_eq!(
        (&short["facets"]["kind"], &short["exhaustive"]["facetValues"]),
        (&json!({"Book": 1}), &json!(false))
    );
    let zero = facets(json!({"facets": ["kind"], "maxValuesPerFacet": 0})).await;
    assert_eq!(zero["facets"], json!({}));
    let huge = facets(json!({"facets": ["kind"], "maxValuesPerFacet": 5_000})).await;
    assert_eq!(huge["facets"]["kind"].as_object().unwrap().len(), 4);
    let late = facets(json!({"facets": ["shelf", "kind"], "distinct": 1})).await;
    assert_eq!((&late["facets"]["shelf"], &late["nbHits"]), (&json!({"s1": 1, "s2": 1}), &json!(3)));
    assert_eq!(late["facets"]["kind"].as_object().unwrap().len(), 4);
    let typed = node
        .post("/1/indexes/i/facets/author.name/query", json!({"facetQuery": "le", "filters": "year=1999"}))
        .await;
    assert_eq!(
        typed["facetHits"],
        json!([{"value": "Ann Lee", "highlighted": "Ann <em>Le</em>e", "count": 1}])
    );
}

/// One query for the hits, and one without each chosen facet for its counts.
#[actix_web::test]
async fn disjunctive_facets_come_from_several_queries() {
    let node = library().await;
    let requests = json!([
        {"indexName": "i", "params": "query=&hitsPerPage=20&facets=%5B%22kind%22%2C%22year%22%5D&tagFilters=&facetFilters=%5B%5B%22kind%3Abook%22%2C%22kind%3AMap%22%5D%2C%5B%22year%3A2020%22%5D%5D"},
        {"indexName": "i", "params": "query=&hitsPerPage=0&page=0&analytics=false&clickAnalytics=false&attributesToRetrieve=%5B%5D&attributesToHighlight=%5B%5D&attributesToSnippet=%5B%5D&tagFilters=&facets=kind&facetFilters=%5B%5B%22year%3A2020%22%5D%5D"},
        {"indexName": "i", "params": "query=&hitsPerPage=0&facets=year&facetFilters=%5B%5B%22kind%3Abook%22%2C%22kind%3AMap%22%5D%5D"}
    ]);
    let body = node.post("/1/indexes/*/queries", json!({"requests": requests})).await;
    let results = &body["results"];
    assert_eq!(
        (&results[0]["nbHits"], &results[0]["facets"]["kind"]),
        (&json!(2), &json!({"Map": 1, "book": 1}))
    );
    assert_eq!(results[1]["facets"], json!({"kind": {"Map": 1, "book": 1, "x:y": 1}}));
    assert_eq!((&results[1]["hits"], &results[1]["nbPages"]), (&json!([]), &json!(0)));
    assert_eq!(results[2]["facets"], json!({"year": {"1999": 1, "2020": 2}}));
}

#[actix_web::test]
async fn groups_and_pages_are_counted_together() {
    let node = Node::start().await;
    let settings =
        json!({"attributeForDistinct": "group", "paginationLimitedTo": 6, "customRanking": ["asc(n)"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let record = |n: usize| json!({"action": "addObject", "body": {"objectID": format!("{n}"), "n": n, "group": format!("g{}", n % 2)}});
    let requests: Vec<Value> = (0..10).map(record).collect();
    node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": requests})).await;
    for (distinct, ids, sequences) in [
        (json!(1), "0 1", "0 0"),
        (json!(2), "0 2 1 3", "0 1 0 1"),
        (json!(3), "0 2 4 1 3 5", "0 1 2 0 1 2"),
        (json!(4), "0 2 4 6 1 3 5 7", "0 1 2 3 0 1 2 3"),
    ] {
        let body = node.post("/1/indexes/i/query", json!({"distinct": distinct})).await;
        let of = |name: &str| {
            let hits = body["hits"].as_array().unwrap().iter();
            hits.map(|hit| hit[name].to_string().replace('"', "")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((of("objectID").as_str(), of("_distinctSeqID").as_str()), (ids, sequences), "{distinct}");
        assert_eq!((&body["nbHits"], &body["nbPages"]), (&json!(2), &json!(1)), "{distinct}");
    }
    for (query, hits, members) in [
        (json!({"hitsPerPage": 4}), 4, json!({"nbHits": 10, "nbPages": 2, "page": 0})),
        (json!({"hitsPerPage": 4, "page": 1}), 2, json!({"nbHits": 10, "nbPages": 2, "page": 1})),
        (
            json!({"hitsPerPage": 4, "page": 2}),
            0,
            json!({"nbHits": 0, "nbPages": 0, "page": 2, "exhaustiveNbHits": true}),
        ),
        (json!({"hitsPerPage": 0}), 0, json!({"nbHits": 10, "nbPages": 0})),
        (
            json!({"offset": 5, "length": 3}),
            1,
            json!({"nbHits": 10, "offset": 5, "length": 3, "page": null, "nbPages": null}),
        ),
        (json!({"offset": 1}), 5, json!({"offset": 1, "length": 20, "hitsPerPage": null})),
        (json!({"length": 2, "page": 3}), 2, json!({"offset": 0, "length": 2})),
        (json!({"offset": 6, "length": 1}), 0, json!({"nbHits": 0, "offset": 6, "length": 1})),
    ] {
        let body = node.post("/1/indexes/i/query", query.clone()).await;
        assert_eq!(body["hits"].as_array().unwrap().len(), hits, "{query}: {body}");
        for (name, value) in members.as_object().unwrap() {
            assert_eq!(body.get(name).unwrap_or(&Value::Null), value, "{query}: {name}");
        }
    }
    let beyond = node.post("/1/indexes/i/query", json!({"hitsPerPage": 4, "page": 2})).await;
    assert!(
        beyond["message"].as_str().unwrap().starts_with("you can only fetch the 6 hits for this query."),
        "{beyond}"
    );
    let fields = json!({"hitsPerPage": 4, "page": 2, "responseFields": ["nbHits"]});
    let beyond = node.post("/1/indexes/i/query", fields).await;
    assert!(beyond["message"].is_string() && beyond["nbHits"] == 0, "{beyond}");
    assert_eq!(beyond.as_object().unwrap().len(), 2, "{beyond}");
}

#[actix_web::test]
async fn what_is_unretrievable_shows_nowhere() {
    let node = library().await;
    let query = json!({"query": "yes", "attributesToHighlight": ["*"], "attributesToSnippet": ["secret"],
        "attributesToRetrieve": ["*", "secret"]});
    let search = |key: &str| {
        let (key, query, node) = (key.to_owned(), query.to_string(), &node);
        async move { node.call_with(&key, Method::POST, "/1/indexes/i/query", &query).await.success() }
    };
    let hidden = search(&node.search_key).await;
    assert_eq!(hidden["hits"][0]["objectID"], "c", "it is found all the same");
    assert!(!hidden["hits"].to_string().contains("yes"), "{hidden}");
    let admin = search(ADMIN).await;
    assert_eq!(admin["hits"][0]["secret"], "yes");
    assert_eq!(admin["hits"][0]["_highlightResult"]["secret"]["value"], "<em>yes</em>");
}

/// Every operation that returns records, or values of them, may be asked for an attribute that the caller may not see: by name, by star,
/// as a mark, a snippet, a facet, a value of a facet.
#[actix_web::test]
async fn what_is_unretrievable_shows_through_no_operation() {
    let node = Node::start().await;
    let settings = json!({"attributesForFaceting": ["searchable(secret)", "searchable(name)", "searchable(deep.secret)"],
        "customRanking": ["desc(secret)"], "unretrievableAttributes": ["secret", "deep.secret"], "replicas": ["virtual(v)"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let record = json!({"name": "car", "secret": "hush", "deep": {"secret": "hush", "open": "seen"}});
    node.write(Method::PUT, "/1/indexes/i/c", record).await;
    let key = async |more: &str| node.key(json!({"acl": ["search", "browse", more]})).await;
    let (plain, privileged) = (key("listIndexes").await, key("seeUnretrievableAttributes").await);
    let all = json!({"query": "car", "facets": ["*", "secret"], "attributesToRetrieve": ["*", "secret", "deep.secret"],
        "attributesToHighlight": ["*", "secret"], "attributesToSnippet": ["*", "secret:5"], "getRankingInfo": true,
        "responseFields": ["*"], "hitsPerPage": 5});
    let of = |index: &str, more: Value| {
        let mut query = all.clone();
        query["indexName"] = json!(index);
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        query
    };
    let queries = json!({"requests": [of("i", json!({})), of("v", json!({"query": "hush"})),
        {"indexName": "i", "type": "facet", "facet": "secret", "facetQuery": "hu"}]});
    let facets = |facet: &str| format!("/1/indexes/i/facets/{facet}/query");
    let objects = json!({"requests": [{"indexName": "i", "objectID": "c", "attributesToRetrieve": ["secret", "deep"]}]});
    // an operation, and whether it shows the values to whoever may see them
    let operations = [
        (Method::POST, "/1/indexes/i/query".to_owned(), all.clone(), true),
        (Method::POST, "/1/indexes/v/query".to_owned(), all.clone(), true),
        (
            Method::GET,
            "/1/indexes/i?query=car&facets=secret&attributesToRetrieve=secret".to_owned(),
            json!(null),
            true,
        ),
        (Method::POST, "/1/indexes/*/queries".to_owned(), queries, true),
        (
            Method::POST,
            "/1/indexes/i/browse".to_owned(),
            json!({"attributesToRetrieve": ["secret", "deep"]}),
            true,
        ),
        (Method::GET, "/1/indexes/i/c".to_owned(), json!(null), true),
        (Method::GET, "/1/indexes/i/c?attributesToRetrieve=secret,deep".to_owned(), json!(null), true),
        (Method::POST, "/1/indexes/*/objects".to_owned(), objects, true),
        (Method::POST, facets("secret"), json!({"facetQuery": "hu"}), true),
        (Method::POST, facets("deep.secret"), json!({"facetQuery": ""}), true),
        (Method::POST, facets("name"), json!({"facetQuery": "ca"}), false),
    ];
    for (method, uri, body, has_values) in operations {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = async |key: &str| {
            let answer = node.call_with(key, method.clone(), &uri, &body).await;
            (answer.status.as_u16(), String::from_utf8(answer.bytes).unwrap())
        };
        let (status, text) = answer(&plain).await;
        assert!(
            status == 200 || (status == 403 && uri.contains("/facets/")) || status == 400,
            "{uri}: {status} {text}"
        );
        let shown = text.replace("\"query\":\"hush\"", "").replace("query=hush", "");
        assert!(!shown.contains("hush"), "{uri}: {text}");
        let (status, text) = answer(&privileged).await;
        assert!(status == 200 && text.contains("hush") == has_values, "{uri}: {status} {text}");
    }
}
