//! Is every wrong value of every row refused with a text that names the row and what was expected (C§19), at query time
//! and as a setting, and is every lenient form of C§2 read?

use super::*;
use quorate_model::settings::Criterion;
use quorate_model::settings::table::{Form, Target};

/// What is sent for a row, and the beginning of what was expected; `None` when the value is read.
type Attempt = (Value, Option<String>);

fn refused(values: impl IntoIterator<Item = Value>, expected: &str) -> Vec<Attempt> {
    values.into_iter().map(|value| (value, Some(expected.to_owned()))).collect()
}
fn read(values: impl IntoIterator<Item = Value>) -> Vec<Attempt> {
    values.into_iter().map(|value| (value, None)).collect()
}

fn flag() -> Vec<Attempt> {
    let wrong = [json!("maybe"), json!(2), json!(-1), json!(0.5), json!([]), json!({}), json!("")];
    [refused(wrong, "boolean"), read([json!("true"), json!("false"), json!(1), json!(0), json!("1")])]
        .concat()
}
fn count(min: u64, max: u64) -> Vec<Attempt> {
    let expected = match max {
        u64::MAX => format!("integer greater than or equal to {min}"),
        max => format!("integer between {min} and {max}"),
    };
    let mut wrong =
        vec![json!(-1), json!(1.5), json!("x"), json!([]), json!({}), json!(true), json!(1e30), json!("")];
    if max < u64::MAX {
        wrong.push(json!(max + 1));
    }
    if min > 0 {
        wrong.push(json!(min - 1));
    }
    [refused(wrong, &expected), read([json!(min), json!(min.to_string()), json!(min as f64)])].concat()
}
fn text(bytes_max: usize) -> Vec<Attempt> {
    let long = [json!("a".repeat(bytes_max + 1)), json!("é".repeat(bytes_max / 2 + 1))];
    let long = refused(long, &format!("string shorter than {bytes_max} bytes"));
    [
        refused([json!([]), json!({}), json!(true)], "string"),
        long,
        read([json!(""), json!(7), json!("a".repeat(bytes_max))]),
    ]
    .concat()
}
/// `entry`: one that is allowed.
fn list(expected: &str, entry: &str) -> Vec<Attempt> {
    let wrong = [json!(7), json!({}), json!(true), json!([1]), json!([null]), json!([[entry]])];
    [refused(wrong, expected), read([json!([]), json!([entry])])].concat()
}

/// What is tried of a row whose form is its own.
fn own(name: &str) -> Vec<Attempt> {
    let range = |from: u64, to: u64| count(from, to);
    let words = |expected: &str, known: &[&str]| {
        let wrong = [json!("other"), json!(7), json!([]), json!({}), json!(["other"])];
        [refused(wrong, expected), read(known.iter().map(|word| json!(word)))].concat()
    };
    let items = |expected: &str, wrong: &[&str]| {
        let shapes = [json!(7), json!({}), json!([7]), json!(true)];
        [
            refused(shapes, expected),
            refused(wrong.iter().map(|text| json!(text)), expected),
            read([json!(""), json!([])]),
        ]
        .concat()
    };
    match name {
        "minProximity" => range(1, 8),
        "filters" => refused([json!(7), json!([]), json!({}), json!(true)], "string"),
        "facetFilters" | "optionalFilters" => items("", &["nothing", ":value"]),
        "numericFilters" => items("", &["price", "price>", "price>x", "price:1 TO", ">1"]),
        "tagFilters" => items("", &[]),
        "maxValuesPerFacet" => range(0, u64::MAX),
        "sortFacetValuesBy" => words("one of \"count\", \"alpha\"", &["count", "alpha"]),
        "distinct" => [
            refused(
                [json!(5), json!(-1), json!("x"), json!([]), json!(1.5)],
                "boolean or integer between 0 and 4",
            ),
            read([json!(true), json!("true"), json!(4), json!("2")]),
        ]
        .concat(),
        "typoTolerance" => [
            refused(
                [json!("maybe"), json!(2), json!([]), json!({})],
                "one of \"true\", \"false\", \"min\", \"strict\"",
            ),
            read([json!(true), json!("false"), json!("min"), json!("strict")]),
        ]
        .concat(),
        "ignorePlurals" | "removeStopWords" => [
            refused([json!(2), json!({}), json!([1])], "boolean or array of language codes"),
            refused(
                [json!(["xx"]), json!("en,xx"), json!(["en", "english"])],
                "language codes such as \"en\"",
            ),
            read([json!(true), json!("true"), json!(["en", "PT-BR"]), json!([])]),
        ]
        .concat(),
        "queryType" => words("one of \"prefixLast\", \"prefixAll\", \"prefixNone\"", &["prefixLast"]),
        "removeWordsIfNoResults" => {
            words("one of \"none\", \"lastWords\", \"firstWords\", \"allOptional\"", &["none", "LastWords"])
        }
        "advancedSyntaxFeatures" => {
            list("array of strings among \"exactPhrase\", \"excludeWords\"", "exactPhrase")
        }
        "exactOnSingleWordQuery" => {
            words("one of \"attribute\", \"none\", \"word\"", &["none", "word", "true"])
        }
        "alternativesAsExact" => list("array of strings among \"ignorePlurals\", ", "ignorePlurals"),
        "ruleContexts" => {
            let many: Vec<String> = (0..11).map(|n| n.to_string()).collect();
            [list("array of strings", "web"), refused([json!(many)], "array of at most 10 strings")].concat()
        }
        "analyticsTags" => {
            let long = refused([json!(["é".repeat(101)])], "array of strings of at most 100 characters");
            [list("array of strings", "web"), long, read([json!(["é".repeat(100)])])].concat()
        }
        "aroundLatLng" => [
            refused(
                [
                    json!("x"),
                    json!("1"),
                    json!("1,2,3"),
                    json!("91,0"),
                    json!("0,181"),
                    json!("NaN,0"),
                    json!([1, 2]),
                    json!(7),
                ],
                "\"lat,lng\" with a latitude in -90..90 and a longitude in -180..180",
            ),
            read([json!(""), json!("1, 2"), json!("-90,180")]),
        ]
        .concat(),
        "aroundRadius" => [
            refused(
                [json!(0), json!(-5), json!("some"), json!([]), json!(1.5), json!("")],
                "integer greater than or equal to 1, or \"all\"",
            ),
            read([json!(1), json!("all"), json!("7")]),
        ]
        .concat(),
        "aroundPrecision" => [
            refused(
                [
                    json!("x"),
                    json!(-1),
                    json!({}),
                    json!([1]),
                    json!([{"from": 1}]),
                    json!([{"from": "a", "value": 1}]),
                    json!(true),
                ],
                "positive integer or array of up to 20 objects with integers from and value",
            ),
            read([
                json!(0),
                json!("100"),
                json!([]),
                json!([{"from": 0, "value": 10}]),
                json!("[{\"from\":0,\"value\":25}]"),
            ]),
        ]
        .concat(),
        "insideBoundingBox" => [
            refused(
                [
                    json!(7),
                    json!("x"),
                    json!([1, 2, 3]),
                    json!([[1, 2, 3]]),
                    json!([[91, 0, 0, 0]]),
                    json!([["a", 0, 0, 0]]),
                    json!({}),
                ],
                "array of arrays of four numbers lat,lng,lat,lng",
            ),
            read([
                json!("1,2,3,4"),
                json!([1, 2, 3, 4, 5, 6, 7, 8]),
                json!(""),
                json!([]),
                json!([["1", "2", "3", "4"]]),
            ]),
        ]
        .concat(),
        "insidePolygon" => [
            refused(
                [
                    json!(7),
                    json!("x"),
                    json!([[1, 2, 3, 4]]),
                    json!([1, 2, 3, 4, 5]),
                    json!([[1, 2, 3, 4, 5, 500]]),
                    json!({}),
                ],
                "array of arrays of 6 to 20000 numbers lat,lng,…",
            ),
            refused([json!(vec![vec![1; 20_000]; 6])], "polygons of at most 50000 points together"),
            read([json!("1,2,3,4,5,6"), json!([1, 2, 3, 4, 5, 6]), json!([])]),
        ]
        .concat(),
        "renderingContent" => {
            [refused([json!(7), json!([]), json!("x")], "object"), read([json!({}), json!("{\"a\":1}")])]
                .concat()
        }
        "cursor" => refused([json!({}), json!([]), json!(true)], "string"),
        "searchableAttributes" => [
            list("array of attribute names, ordered(name) or unordered(name)", "unordered(a)"),
            refused(
                [
                    json!(["unordered(a"]),
                    json!(["bogus(a)"]),
                    json!(["unordered(searchable(a))"]),
                    json!(["a)"]),
                ],
                "attribute names, ordered(name) or unordered(name), \"",
            ),
            refused(
                [json!(["unordered()"]), json!(["a,"]), json!([" "])],
                "attribute names, ordered(name) or unordered(name), not an empty name",
            ),
        ]
        .concat(),
        "attributesForFaceting" => [
            list(
                "array of attribute names, searchable(name), filterOnly(name) or afterDistinct(name)",
                "afterDistinct(searchable(a))",
            ),
            refused(
                [json!(["bogus(c)"]), json!(["searchable(a"]), json!("Searchable(a)")],
                "attribute names, searchable(name), filterOnly(name) or afterDistinct(name), \"",
            ),
            refused(
                [json!(["filterOnly(searchable(a))"])],
                "either searchable(name) or filterOnly(name), not both",
            ),
        ]
        .concat(),
        "ranking" => [
            list("", "desc(a)"),
            refused(
                [
                    json!(["best"]),
                    json!(["Typo"]),
                    json!(["asc(a"]),
                    json!(["asc(desc(a))"]),
                    json!(["asc(a),desc(b)"]),
                ],
                &format!("{}, asc(name) or desc(name), \"", Criterion::NAMES.join(", ")),
            ),
        ]
        .concat(),
        "customRanking" => [
            list("array of asc(name) or desc(name)", "desc(a)"),
            refused([json!(["price"]), json!("up(price)"), json!(["asc(a"])], "asc(name) or desc(name), \""),
        ]
        .concat(),
        "replicas" => [
            list("array of index names or virtual(name)", "other"),
            refused(
                [json!(["*"]), json!(["virtual()"]), json!(["n".repeat(257)])],
                "array of index names or virtual(name)",
            ),
        ]
        .concat(),
        "indexLanguages" => {
            [list("array of language codes", "ja"), refused([json!(["xx"])], "language codes such as \"en\"")]
                .concat()
        }
        "customNormalization" => {
            let many: Map<String, Value> = ('a'..='k').map(|c| (c.to_string(), json!("x"))).collect();
            let wrong = [
                json!(7),
                json!([]),
                json!({"default": 1}),
                json!({"default": {"ab": "c"}}),
                json!({"default": {"a": 1}}),
                json!({"default": many}),
            ];
            [
                refused(wrong, "object of at most 10 replacements of one character each"),
                read([json!({}), json!({"default": {"a": "bc"}})]),
            ]
            .concat()
        }
        "decompoundedAttributes" => [
            refused(
                [
                    json!(7),
                    json!([]),
                    json!({"xx": ["a"]}),
                    json!({"fr": ["a"]}),
                    json!({"de": "a"}),
                    json!({"de": [1]}),
                ],
                "object of lists of attribute names under de, nl, fi, da, sv or no",
            ),
            read([json!({}), json!({"de": ["a"], "nl": []})]),
        ]
        .concat(),
        "userData" => [
            refused(
                [json!("x".repeat(40_000)), json!({"a": vec![1; 20_000]})],
                "JSON of at most 32768 bytes",
            ),
            read([json!({}), json!([1]), json!("text"), json!(7), json!(false)]),
        ]
        .concat(),
        "numericAttributesForFiltering" => [
            list("array of attribute names or equalOnly(name)", "equalOnly(a)"),
            refused([json!(["bogus(a)"]), json!(["equalOnly(a"])], "attribute names or equalOnly(name), \""),
        ]
        .concat(),
        other => panic!("{other} needs wrong values"),
    }
}

fn attempts(row: &SettingRow) -> Vec<Attempt> {
    match row.target {
        Target::Flag(_) | Target::Kept(Form::Flag) => flag(),
        Target::Count(min, max, _) | Target::Kept(Form::Count(min, max)) => count(min, max),
        Target::IndexCount(min, max, _) => count(min, max),
        Target::Text(bytes_max, _) => text(bytes_max),
        Target::Kept(Form::Text) | Target::IndexText(_) => text(512),
        Target::List(_) | Target::IndexStrings(_) | Target::Kept(Form::List) => {
            list("array of strings", "name")
        }
        Target::Languages(_) => [
            list("array of language codes", "en"),
            refused([json!(["xx"]), json!(["en", "english"])], "language codes such as \"en\", \""),
        ]
        .concat(),
        Target::Kept(Form::Choice(known)) => {
            let wrong = refused([json!("other"), json!(7), json!([]), json!("")], "one of \"");
            [wrong, read(known.iter().map(|word| json!(word)))].concat()
        }
        Target::Kept(Form::Object) => {
            [refused([json!(7), json!([]), json!("x")], "object"), read([json!({}), json!({"a": 1})])]
                .concat()
        }
        Target::Kept(Form::Any) => read([json!(7), json!({"a": 1}), json!(["a"]), json!("a")]),
        Target::Index("boolean", _) => flag(),
        Target::Index("string", _) => text(512),
        Target::Query(..) | Target::Index(..) | Target::IndexList(..) => own(row.name),
        Target::Dropped => read([json!(7), json!({}), json!("x"), json!([1])]),
    }
}

/// What a wrong value found instead of its refusal.
fn judged(name: &str, answer: &Answer, expected: Option<&str>) -> Option<String> {
    let text = String::from_utf8_lossy(&answer.bytes);
    let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
    let is_right = match expected {
        None => answer.status.is_success(),
        Some(expected) => {
            answer.status == 400
                && message
                    .starts_with(&format!("Invalid value for \"{name}\" parameter, expected {expected}"))
        }
    };
    (!is_right).then(|| {
        format!("{}, expected {expected:?}: {}", answer.status, &text[..text.floor_char_boundary(300)])
    })
}

#[actix_web::test]
async fn wrong_parameters_are_refused_and_lenient_ones_read() {
    let node = Node::start().await;
    let settings = json!({"attributesForFaceting": ["searchable(color)"], "searchableAttributes": ["name"]});
    node.fill("i", &settings, &shop()).await;
    let mut found = vec![];
    for row in ROWS.iter().filter(|row| row.scope.in_query()) {
        let only_here = ["type", "facet", "facetQuery"].contains(&row.name);
        for name in names(row).filter(|_| !only_here) {
            for (value, expected) in attempts(row).into_iter().chain([(Value::Null, None)]) {
                let body = json!({name: value}).to_string();
                let answer = node.call(Method::POST, "/1/indexes/i/query", &body).await;
                let judged = judged(name, &answer, expected.as_deref());
                found.extend(
                    judged.map(|judged| format!("{}\n    {judged}", &body[..body.floor_char_boundary(200)])),
                );
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[actix_web::test]
async fn wrong_settings_are_refused_and_null_resets() {
    let node = Node::start().await;
    let mut found = vec![];
    for row in ROWS.iter().filter(|row| row.scope.in_settings()) {
        for name in names(row) {
            for (value, expected) in attempts(row).into_iter().chain([(Value::Null, None)]) {
                // texts for lists are refused otherwise (C§4.9), and so are empty entries
                let is_list = matches!(
                    row.target,
                    Target::List(_) | Target::Languages(_) | Target::IndexStrings(_) | Target::IndexList(..)
                );
                if is_list && (value.is_string() || value == json!([" "])) {
                    continue;
                }
                let body = json!({name: value}).to_string();
                let answer = node.call(Method::PUT, "/1/indexes/i/settings", &body).await;
                let judged = judged(name, &answer, expected.as_deref());
                found.extend(
                    judged.map(|judged| format!("{}\n    {judged}", &body[..body.floor_char_boundary(200)])),
                );
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    let unknown = node.call(Method::PUT, "/1/indexes/i/settings", r#"{"nothing":1}"#).await;
    unknown.refused(400, "Invalid object attributes: nothing near line:1 column:10");
    let unknown = node.call(Method::POST, "/1/indexes/i/query", r#"{"nothing":1}"#).await;
    unknown.refused(400, "Unknown parameter: nothing");
    let settings_only =
        node.call(Method::POST, "/1/indexes/i/query", r#"{"customRanking":["asc(a)"]}"#).await;
    settings_only.refused(400, "Unknown parameter: customRanking");
}
