//! Tables and properties of request parsing.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn body(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[track_caller]
fn parsed(value: Value) -> SearchParams {
    SearchParams::from_json(&body(value.clone())).unwrap_or_else(|error| panic!("{value}: {error}"))
}

#[track_caller]
fn refused(value: Value, expected: &str) {
    let error = SearchParams::from_json(&body(value.clone())).expect_err(&value.to_string());
    assert_eq!(error.message, expected, "for {value}");
    assert_eq!(error.kind, crate::ErrorKind::Invalid);
}

#[test]
fn c2_direct_members_override_params() {
    let params =
        parsed(json!({"params": "query=a+b%20c&hitsPerPage=3&facets=%5B%22x%22%5D", "hitsPerPage": 5}));
    assert_eq!(params.query.as_deref(), Some("a b c"));
    assert_eq!(params.hits_per_page, Some(5));
    assert_eq!(params.facets, Some(vec!["x".to_owned()]));
    let params = parsed(json!({"params": "attributes=a", "attributesToRetrieve": ["b"]}));
    assert_eq!(params.attributes_to_retrieve, Some(vec!["b".to_owned()]));
}

#[test]
fn c2_scalars_and_lists_are_taken_leniently() {
    let params = parsed(json!({
        "advancedSyntax": "1", "getRankingInfo": 1, "synonyms": "false", "page": "2", "hitsPerPage": 0,
        "facets": "brand", "responseFields": "hits, nbHits", "attributesToRetrieve": "", "distinct": true,
        "typoTolerance": "min", "ignorePlurals": "true", "query": null, "optionalWords": ["a b"], "length": 10.0
    }));
    assert_eq!(
        (params.advanced_syntax, params.get_ranking_info, params.synonyms),
        (Some(true), Some(true), Some(false))
    );
    assert_eq!((params.page, params.hits_per_page, params.length), (Some(2), Some(0), Some(10)));
    assert_eq!(params.facets, Some(vec!["brand".to_owned()]));
    assert_eq!(params.response_fields, Some(vec!["hits".to_owned(), "nbHits".to_owned()]));
    assert_eq!(params.attributes_to_retrieve, Some(vec![]));
    assert_eq!((params.distinct, params.typo_tolerance), (Some(1), Some(TypoTolerance::Min)));
    assert_eq!(params.ignore_plurals, Some(ForLanguages::Query));
    assert_eq!(params.query, None);
    let old = SearchParams::from_url_encoded(
        "tagFilters=&insideBoundingBox=null&query=null&removeWordsIfNoResults=LastWords",
    );
    let old = old.unwrap();
    assert!(old.filter.is_empty());
    assert_eq!(
        (old.query.as_deref(), old.remove_words_if_no_results),
        (Some("null"), Some(RemoveWords::LastWords))
    );
}

#[test]
fn c19_wrong_values_name_the_parameter() {
    let long = "x".repeat(513);
    for (value, name, expected) in [
        (json!({"query": long}), "query", "string shorter than 512 bytes"),
        (json!({"highlightPreTag": "x".repeat(1_025)}), "highlightPreTag", "string shorter than 1024 bytes"),
        (json!({"query": ["a"]}), "query", "string"),
        (json!({"query": true}), "query", "string"),
        (json!({"params": "query=%ff"}), "params", "URL-encoded UTF-8 string"),
        (json!({"hitsPerPage": 1001}), "hitsPerPage", "integer between 0 and 1000"),
        (json!({"hitsPerPage": -1}), "hitsPerPage", "integer between 0 and 1000"),
        (json!({"hitsPerPage": "NaN"}), "hitsPerPage", "integer between 0 and 1000"),
        (json!({"hitsPerPage": 1.5}), "hitsPerPage", "integer between 0 and 1000"),
        (json!({"params": "hitsPerPage="}), "hitsPerPage", "integer between 0 and 1000"),
        (json!({"params": "page=1e999"}), "page", "integer greater than or equal to 0"),
        (json!({"page": -1}), "page", "integer greater than or equal to 0"),
        (json!({"maxFacetHits": 0}), "maxFacetHits", "integer between 1 and 100"),
        (json!({"maxFacetHits": 101}), "maxFacetHits", "integer between 1 and 100"),
        (json!({"distinct": 5}), "distinct", "boolean or integer between 0 and 4"),
        (json!({"minProximity": 0}), "minProximity", "integer between 1 and 8"),
        (json!({"advancedSyntax": "maybe"}), "advancedSyntax", "boolean"),
        (json!({"facets": {"a": 1}}), "facets", "array of strings"),
        (json!({"facets": [1]}), "facets", "array of strings"),
        (json!({"facets": "[1"}), "facets", "array of strings"),
        (json!({"facets": [long]}), "facets", "strings shorter than 512 bytes"),
        (json!({"facets": vec!["a"; 1_001]}), "facets", "at most 1000 strings"),
        (json!({"queryType": "x"}), "queryType", "one of \"prefixLast\", \"prefixAll\", \"prefixNone\""),
        (json!({"typoTolerance": "x"}), "typoTolerance", "one of \"true\", \"false\", \"min\", \"strict\""),
        (json!({"sortFacetValuesBy": 1}), "sortFacetValuesBy", "one of \"count\", \"alpha\""),
        (json!({"aroundRadius": 0}), "aroundRadius", "integer greater than or equal to 1, or \"all\""),
        (json!({"params": 1}), "params", "URL-encoded UTF-8 string"),
        (json!({"filters": ["a"]}), "filters", "string"),
        (json!({"renderingContent": 1}), "renderingContent", "object"),
        (json!({"relevancyStrictness": 101}), "relevancyStrictness", "integer between 0 and 100"),
        (json!({"ignorePlurals": 7}), "ignorePlurals", "boolean or array of language codes"),
    ] {
        refused(value, &format!("Invalid value for \"{name}\" parameter, expected {expected}"));
    }
    assert!(parsed(json!({"query": "x".repeat(512)})).query.is_some());
}

#[test]
fn c19_unknown_parameters_are_refused_in_bodies_only() {
    refused(json!({"hitPerPage": 1}), "Unknown parameter: hitPerPage");
    refused(json!({"params": "x=1"}), "Unknown parameter: x");
    refused(json!({ "é".repeat(300): 1 }), &format!("Unknown parameter: {}…", "é".repeat(64)));
    refused(json!({"searchableAttributes": ["a"]}), "Unknown parameter: searchableAttributes");
    let pairs = [
        ("query", "a"),
        ("x-algolia-api-key", "k"),
        ("X-Algolia-Agent", "b"),
        ("utm", "1"),
        ("params", "page=1"),
    ];
    let params = SearchParams::from_query_pairs(pairs).unwrap();
    assert_eq!((params.query.as_deref(), params.page), (Some("a"), Some(1)));
    let multi = json!({"indexName": "i", "type": "facet", "facet": "brand", "facetQuery": "a", "params": "x-algolia-agent=v"});
    assert_eq!(parsed(multi).other["facetQuery"], json!("a"));
}

#[test]
fn every_row_of_requests_is_accepted() {
    for row in crate::settings::table::ROWS.iter().filter(|row| row.scope.in_query()) {
        let value = row.default_value();
        for name in std::iter::once(row.name).chain(row.legacy.iter().copied()) {
            parsed(json!({ name: value }));
        }
    }
}

#[test]
fn c5_10_all_filters_are_conjoined_and_counted_together() {
    let params = parsed(json!({
        "filters": "a:1", "facetFilters": ["b:2"], "numericFilters": "c>3", "tagFilters": "d", "optionalFilters": "e:5"
    }));
    assert_eq!(params.filter.len(), 4);
    assert_eq!(params.optional_filter.to_string(), r#""e":"5""#);
    let half: Vec<String> = (0..600).map(|n| format!("a:{n}")).collect();
    let message = "Invalid value for \"filters\" parameter, expected at most 1000 filters";
    refused(json!({"facetFilters": half, "optionalFilters": half}), message);
}

#[test]
fn c4_7_geo_parameters_have_many_forms() {
    let point = |lat, lng| LatLng { lat, lng };
    let params = parsed(
        json!({"aroundLatLng": "48.5, -2", "aroundRadius": "all", "aroundPrecision": [{"from": 1000, "value": 2000}, {"from": 0, "value": 5}]}),
    );
    assert_eq!(params.around_lat_lng, Some(point(48.5, -2.0)));
    assert_eq!(params.around_radius, Some(AroundRadius::All));
    assert_eq!(params.around_precision, Some(vec![(0, 10), (1000, 2000)]));
    assert_eq!(parsed(json!({"aroundPrecision": 3})).around_precision, Some(vec![(0, 10)]));
    assert_eq!(parsed(json!({"aroundLatLng": ""})).around_lat_lng, None);
    let two = Some(vec![[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]);
    for form in [
        json!([[1, 2, 3, 4], [5, 6, 7, 8]]),
        json!([1, 2, 3, 4, 5, 6, 7, 8]),
        json!("1,2,3,4,5,6,7,8"),
        json!("[[1,2,3,4],[5,6,7,8]]"),
    ] {
        assert_eq!(parsed(json!({"insideBoundingBox": form})).inside_bounding_box, two, "{form}");
    }
    let triangle = Some(vec![vec![point(1.0, 2.0), point(3.0, 4.0), point(5.0, 6.0)]]);
    for form in [json!([[1, 2, 3, 4, 5, 6]]), json!([1, 2, 3, 4, 5, 6]), json!("1,2,3,4,5,6")] {
        assert_eq!(parsed(json!({"insidePolygon": form})).inside_polygon, triangle, "{form}");
    }
    for wrong in [
        json!({"aroundLatLng": "91,0"}),
        json!({"aroundLatLng": "NaN,0"}),
        json!({"aroundLatLng": "1"}),
        json!({"insideBoundingBox": [1, 2, 3]}),
        json!({"insideBoundingBox": [[1, 2, 3, 400]]}),
        json!({"insideBoundingBox": [[1, 2], 3, 4]}),
        json!({"insidePolygon": [[1, 2, 3, 4]]}),
        json!({"insidePolygon": "inf,0,1,1,2,2"}),
        json!({"aroundPrecision": [{"from": 1}]}),
    ] {
        assert!(SearchParams::from_json(&body(wrong.clone())).is_err(), "{wrong}");
    }
    let many = vec![vec![1; 20_000]; 6];
    let refused = SearchParams::from_json(&body(json!({"insidePolygon": many}))).unwrap_err();
    assert!(refused.message.ends_with("expected polygons of at most 50000 points together"), "{refused}");
    for empty in [json!([]), json!(""), json!([[]])] {
        assert!(parsed(json!({"insidePolygon": empty})).inside_polygon.is_none(), "{empty}");
    }
}

#[test]
fn c3_5_delete_by_takes_filters_only() {
    let select = |value| SearchParams::from_delete_by(&body(value)).map_err(|error| error.message);
    assert!(select(json!({"tagFilters": "algolia"})).is_ok());
    assert!(select(json!({"params": "filters=a%3Ab&query="})).is_ok());
    assert!(select(json!({"aroundLatLng": "1,2", "aroundRadius": 10})).is_ok());
    let none = "deleteBy needs at least one filter or geo restriction";
    assert_eq!(select(json!({})).unwrap_err(), none);
    assert_eq!(select(json!({"filters": ""})).unwrap_err(), none);
    assert!(select(json!({"filters": "a:b", "query": "x"})).unwrap_err().contains("query"));
    assert!(select(json!({"filters": "a:b", "hitsPerPage": 1})).unwrap_err().contains("hitsPerPage"));
    assert_eq!(select(json!({"filters": "a:b", "x": 1})).unwrap_err(), "Unknown parameter: x");
}

#[test]
fn c2_params_are_echoed_url_encoded() {
    for (value, expected) in [
        (json!({}), ""),
        (json!({"params": "query=a%20b&x=1"}), "query=a%20b&x=1"),
        (
            json!({"filters": "editor:'visual studio' OR editor:neovim"}),
            "filters=editor%3A%27visual+studio%27+OR+editor%3Aneovim",
        ),
        (
            json!({"facetFilters": ["editor:'visual studio'", "editor:neovim"]}),
            "facetFilters=%5B%22editor%3A%27visual+studio%27%22%2C%22editor%3Aneovim%22%5D",
        ),
        (
            json!({"indexName": "i", "params": "query=a", "hitsPerPage": 2, "page": null}),
            "query=a&hitsPerPage=2",
        ),
        (json!({"query": "a+b"}), "query=a%2Bb"),
    ] {
        assert_eq!(echo(&body(value)), expected);
    }
    assert_eq!(echo_pairs([("query", "a b"), ("X-Algolia-API-Key", "k")]), "query=a+b");
}

#[test]
fn bodies_are_read_from_bytes() {
    assert_eq!(SearchParams::from_body(b" \n").unwrap(), SearchParams::default());
    assert_eq!(SearchParams::from_body(br#"{"page":1}"#).unwrap().page, Some(1));
    assert!(
        SearchParams::from_body(br#"{"page":1e999}"#).unwrap_err().message.contains("near line:1 column:")
    );
    assert!(SearchParams::from_body(b"[]").is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        r#"[\[\]{}",:a0-9<>=.\- ]{0,12}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(vec!["from", "value", "a"]), inner), 0..3).prop_map(
                |members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            ),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_of_any_parameter_is_answered(row in prop::sample::select(crate::settings::table::ROWS), value in any_json()) {
        let direct = body(json!({ row.name: value }));
        let _ = SearchParams::from_json(&direct);
        let _ = SearchParams::from_url_encoded(&echo(&direct));
        if let Ok(settings) = crate::Settings::default().merge(&direct) {
            prop_assert_eq!(&crate::Settings::from_document(&settings.document).unwrap(), &settings);
            prop_assert_eq!(&settings.merge(&direct).unwrap(), &settings);
            let _ = settings.effective(&SearchParams::default());
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..48), text in ".{0,48}") {
        let _ = SearchParams::from_body(&bytes);
        let _ = crate::Settings::parse_body(&bytes);
        let _ = SearchParams::from_url_encoded(&text);
        let _ = SearchParams::from_query_pairs(form_urlencoded::parse(&bytes));
    }
}
