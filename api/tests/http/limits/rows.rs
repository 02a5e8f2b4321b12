//! What limits do calls have, how great are they, and which calls are at them and past them?

use super::*;
use quorate_model::limits::{BODY_BYTES_MAX, *};

/// Every row, in the order of the contract.
pub fn all() -> Vec<Limit> {
    let of_parts =
        [kept::all(), installation::all(), events::all(), recommend_rules::all(), suggestions::all()];
    [bodies(), texts(), searches::all()].into_iter().chain(of_parts).flatten().collect()
}

pub(super) fn here(what: &'static str, limit: String, past: &'static str, tries: Vec<Try>) -> Limit {
    Limit { what, limit, past, shown: Shown::Here(tries) }
}
pub(super) fn by(
    what: &'static str,
    limit: String,
    past: &'static str,
    tests: &'static [(&'static str, &'static str)],
) -> Limit {
    Limit { what, limit, past, shown: Shown::By(tests) }
}
pub(super) const FULL: &str = "api/tests/http/limits/full.rs";

/// A call whose body has so many bytes, all but a few of them spaces.
pub(super) fn padded(method: Method, uri: &str, body: &str, bytes: usize) -> Ask {
    ask(method, uri, format!("{body}{}", " ".repeat(bytes - body.len())))
}
pub(super) fn body_of(bytes_max: usize, method: Method, uri: &str, body: &str) -> Try {
    let at = |bytes| padded(method.clone(), uri, body, bytes);
    let message = format!("The body is too big: at most {bytes_max} bytes are accepted");
    tried(at(bytes_max), at(bytes_max + 1), 413, message)
}
/// As many times as there may be of something, and once more.
pub(super) fn repeated(times_max: usize, one: impl Fn(usize) -> Value) -> [Value; 2] {
    [times_max, times_max + 1].map(|times| (0..times).map(&one).collect())
}
pub(super) fn letters(bytes_max: usize) -> [Value; 2] {
    [json!("x".repeat(bytes_max)), json!("x".repeat(bytes_max + 1))]
}
fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inner, _| json!([inner]))
}

fn bodies() -> Vec<Limit> {
    let record = |bytes: usize| {
        let empty = json!({"objectID": "r", "text": ""}).to_string().len();
        let record = json!({"objectID": "r", "text": "x".repeat(bytes - empty)});
        ask(Method::PUT, "/1/indexes/i/r", record)
    };
    let too_big = format!(
        "Record is too big size={}/{RECORD_BYTES_MAX} bytes. Please have a look",
        RECORD_BYTES_MAX + 1
    );
    let deletes = |count| {
        let one = json!({"action": "deleteObject", "body": {"objectID": "none"}});
        ask(Method::POST, "/1/indexes/i/batch", json!({"requests": vec![one; count]}))
    };
    let several = |uri: &'static str, one: Value| {
        move |count| ask(Method::POST, uri, json!({"requests": vec![one.clone(); count]}))
    };
    let queries = several("/1/indexes/*/queries", json!({"indexName": "i", "hitsPerPage": 0}));
    let recommendations = several(
        "/1/indexes/*/recommendations",
        json!({"indexName": "i", "model": "trending-items", "threshold": 0}),
    );
    // as many filters as one query may have, until there are so many
    let with_filters = |uri: &'static str, one: Value, name: &'static str| {
        move |count: usize| {
            let full = (0..count).collect::<Vec<_>>();
            let requests = full.chunks(FILTERS_MAX).map(|numbers| {
                let filters: Vec<_> = numbers.iter().map(|n| format!("color:{n}")).collect();
                let mut one = one.clone();
                let parameters = if name.is_empty() { &mut one } else { &mut one[name] };
                parameters["filters"] = json!(filters.join(" OR "));
                one
            });
            ask(Method::POST, uri, json!({"requests": requests.collect::<Vec<_>>()}))
        }
    };
    let filtered = with_filters("/1/indexes/*/queries", json!({"indexName": "i", "hitsPerPage": 0}), "");
    let recommended = with_filters(
        "/1/indexes/*/recommendations",
        json!({"indexName": "i", "model": "trending-items", "threshold": 0}),
        "queryParameters",
    );
    let objects = several("/1/indexes/*/objects", json!({"indexName": "i", "objectID": "none"}));
    let with_attributes = |count: usize| {
        let full = vec!["a"; count];
        let requests = full
            .chunks(LIST_ENTRIES_MAX)
            .map(|names| json!({"indexName": "i", "objectID": "o", "attributesToRetrieve": names}));
        ask(Method::POST, "/1/indexes/*/objects", json!({"requests": requests.collect::<Vec<_>>()}))
    };
    let searches = [
        ("/1/indexes/i/query", "{}"),
        ("/1/indexes/i/browse", "{}"),
        ("/1/indexes/i/facets/color/query", "{}"),
        ("/1/indexes/i/deleteByQuery", r#"{"filters":"color:none"}"#),
        ("/1/indexes/i/synonyms/search", "{}"),
        ("/1/indexes/i/rules/search", "{}"),
        ("/1/indexes/i/trending-items/recommend/rules/search", "{}"),
        ("/1/dictionaries/stopwords/search", r#"{"query":"x"}"#),
        ("/1/keys", "{}"),
        ("/1/configs", r#"{"indexName":"body_s","sourceIndices":[{"indexName":"i"}]}"#),
    ];
    let searches = searches.map(|(uri, body)| body_of(SEARCH_BODY_BYTES_MAX, Method::POST, uri, body));
    let multi = ["/1/indexes/*/queries", "/1/indexes/*/objects", "/1/indexes/*/recommendations"];
    let multi = multi.map(|uri| body_of(MULTI_BODY_BYTES_MAX, Method::POST, uri, r#"{"requests":[]}"#));
    let batch = body_of(BODY_BYTES_MAX, Method::POST, "/1/indexes/i/batch", r#"{"requests":[]}"#);
    let entries = body_of(
        DICTIONARY_BATCH_BYTES_MAX,
        Method::POST,
        "/1/dictionaries/plurals/batch",
        r#"{"requests":[]}"#,
    );
    const OTHER: usize = 16 << 20;
    const VALUES_BYTES: usize = 48 << 20;
    let others = [
        (Method::PUT, "/1/indexes/i/settings", "{}"),
        (Method::PUT, "/1/indexes/i/synonyms/s", r#"{"objectID":"s","type":"synonym","synonyms":["a"]}"#),
        (Method::PUT, "/1/dictionaries/*/settings", r#"{"disableStandardEntries":{"stopwords":{}}}"#),
    ];
    let deep = |name: &str, levels| json!({ name: nested(levels) });
    let json_64 = |call: fn(Value) -> Ask, name, status: &str| {
        // the object itself is a level
        tried(call(deep(name, JSON_DEPTH_MAX - 1)), call(deep(name, JSON_DEPTH_MAX)), 400, status)
    };
    vec![
        here(
            "record, minified, without escapes that its texts do not need",
            format!("{} bytes (`--record-bytes-max`)", count(RECORD_BYTES_MAX)),
            "400",
            vec![tried(record(RECORD_BYTES_MAX), record(RECORD_BYTES_MAX + 1), 400, too_big)],
        ),
        here(
            "body with records, synonyms or rules",
            format!("{} (`--body-bytes-max`)", bytes(BODY_BYTES_MAX)),
            "413",
            vec![batch],
        ),
        here(
            "operations of a batch",
            count(BATCH_OPS_MAX),
            "400",
            vec![tried(
                deletes(BATCH_OPS_MAX),
                deletes(BATCH_OPS_MAX + 1),
                400,
                "parse error: requests: a batch has at most 100000 operations near line:1 column:",
            )],
        ),
        here(
            "body of a search (records, facet values, synonyms, rules, entries, users), of browse, of `deleteByQuery`, of a key, of a configuration of suggestions",
            format!("{} (`--search-body-bytes-max`)", bytes(SEARCH_BODY_BYTES_MAX)),
            "413",
            searches.into(),
        ),
        here(
            "body of `*/queries`, of `*/objects`, of `*/recommendations`",
            format!("{} (`--multi-body-bytes-max`)", bytes(MULTI_BODY_BYTES_MAX)),
            "413",
            multi.into(),
        ),
        here(
            "values of a body that is read as a tree (not of batches of records, synonyms, rules, entries, not of events): its bytes, 700 for an object, 64 for a value of a list",
            bytes(VALUES_BYTES),
            "400",
            vec![tried(
                searches::of_values(VALUES_BYTES),
                searches::of_values(VALUES_BYTES + 1),
                400,
                "parse error: the body has too many values: at most 50331648 bytes",
            )],
        ),
        here(
            "elements of `*/queries`, of `*/objects`, of `*/recommendations`",
            count(MULTI_MAX),
            "400",
            vec![
                tried(
                    queries(MULTI_MAX),
                    queries(MULTI_MAX + 1),
                    400,
                    "requests has too many queries: at most 1000",
                ),
                tried(
                    recommendations(MULTI_MAX),
                    recommendations(MULTI_MAX + 1),
                    400,
                    "requests has too many queries: at most 1000",
                ),
                tried(
                    objects(MULTI_MAX),
                    objects(MULTI_MAX + 1),
                    400,
                    "requests has too many objects: at most 1000",
                ),
            ],
        ),
        here(
            "filters of all elements of `*/queries` or `*/recommendations` together, those that a key forces on each included",
            count(MULTI_FILTERS_MAX),
            "400",
            vec![
                tried(
                    filtered(MULTI_FILTERS_MAX),
                    filtered(MULTI_FILTERS_MAX + 1),
                    400,
                    "requests has too many filters: at most 100000 together",
                ),
                tried(
                    recommended(MULTI_FILTERS_MAX),
                    recommended(MULTI_FILTERS_MAX + 1),
                    400,
                    "requests has too many filters: at most 100000 together",
                ),
            ],
        ),
        here(
            "`attributesToRetrieve` of all elements of `*/objects` together, those that a key forces on each included",
            count(MULTI_ATTRIBUTES_MAX),
            "400",
            vec![tried(
                with_attributes(MULTI_ATTRIBUTES_MAX),
                with_attributes(MULTI_ATTRIBUTES_MAX + 1),
                400,
                "requests has too many attributes in attributesToRetrieve: at most 100000 together",
            )],
        ),
        here(
            "body of a batch of dictionary entries",
            bytes(DICTIONARY_BATCH_BYTES_MAX),
            "413",
            vec![entries],
        ),
        here(
            "body of any other call",
            bytes(OTHER),
            "413",
            others.map(|(method, uri, body)| body_of(OTHER, method, uri, body)).into(),
        ),
        here(
            "JSON",
            format!("{JSON_DEPTH_MAX} levels"),
            "400",
            vec![
                json_64(
                    |body| ask(Method::PUT, "/1/indexes/i/deep", body),
                    "a",
                    "parse error: JSON is nested more than 64 levels",
                ),
                json_64(settings, "userData", "parse error: JSON is nested more than 64 levels"),
                json_64(search, "reRankingApplyFilter", "parse error: nesting is deeper than 64"),
            ],
        ),
        by(
            "answer",
            format!("{} (`--answer-bytes-max`)", bytes(ANSWER_BYTES_MAX)),
            "400; browse ends its page",
            &[
                (FULL, "an_answer_has_as_many_bytes_as_it_may"),
                ("tests/tests/bad_input/greedy.rs", "an_answer_is_bounded_while_it_is_made"),
                ("tests/tests/bad_input/greedy.rs", "a_page_of_a_browse_ends_early_and_the_next_goes_on"),
            ],
        ),
        by(
            "page of synonyms or rules",
            format!("{}, twice that of an answer where that is configured", bytes(2 * ANSWER_BYTES_MAX)),
            "400",
            &[(FULL, "a_page_of_rules_has_as_many_bytes_as_all_answers_leave_to_one")],
        ),
    ]
}

fn texts() -> Vec<Limit> {
    let short = |bytes: usize| format!("string shorter than {bytes} bytes");
    let facet = |body| ask(Method::POST, "/1/indexes/i/facets/color/query", body);
    let texts = ["query", "similarQuery", "snippetEllipsisText", "userToken"];
    let mut texts: Vec<Try> =
        texts.map(|name| member(search, name, letters(QUERY_BYTES_MAX), &short(QUERY_BYTES_MAX))).into();
    texts.push(member(facet, "facetQuery", letters(QUERY_BYTES_MAX), &short(QUERY_BYTES_MAX)));
    for name in ["separatorsToIndex", "keepDiacriticsOnCharacters", "snippetEllipsisText"] {
        texts.push(member(settings, name, letters(QUERY_BYTES_MAX), &short(QUERY_BYTES_MAX)));
    }
    let tags = ["highlightPreTag", "highlightPostTag"].map(|name| {
        [search, settings].map(|call| member(call, name, letters(TAG_BYTES_MAX), &short(TAG_BYTES_MAX)))
    });
    let lists = ["facets", "attributesToRetrieve", "optionalWords", "responseFields", "analyticsTags"];
    let lists = lists
        .map(|name| member(search, name, repeated(LIST_ENTRIES_MAX, |_| json!("a")), "at most 1000 strings"));
    let objects = |shown: Value| {
        let one = json!({"indexName": "i", "objectID": "o", "attributesToRetrieve": shown});
        ask(Method::POST, "/1/indexes/*/objects", json!({ "requests": [one] }))
    };
    let [objects_at, objects_past] = repeated(LIST_ENTRIES_MAX, |_| json!("a")).map(objects);
    let of_objects =
        tried(objects_at, objects_past, 400, parameter("attributesToRetrieve", "at most 1000 strings"));
    let entries = ["facets", "optionalWords"].map(|name| {
        let values = letters(QUERY_BYTES_MAX).map(|entry| json!([entry]));
        member(search, name, values, &format!("strings shorter than {QUERY_BYTES_MAX} bytes"))
    });
    let put = |id: &str| ask(Method::PUT, format!("/1/indexes/i/{id}"), "{}");
    let named = |letters| ask(Method::POST, format!("/1/indexes/{}", "n".repeat(letters)), "{}");
    let length = |text: &str, most: usize| [json!([text.repeat(most)]), json!([text.repeat(most + 1)])];
    vec![
        here(
            "`query`, `facetQuery`, any other single text without a limit of its own",
            bytes(QUERY_BYTES_MAX),
            "400",
            texts,
        ),
        here(
            "`highlightPreTag`, `highlightPostTag`",
            bytes(TAG_BYTES_MAX),
            "400",
            tags.into_iter().flatten().collect(),
        ),
        here(
            "list in a request",
            format!("{} entries", count(LIST_ENTRIES_MAX)),
            "400",
            lists.into_iter().chain([of_objects]).collect(),
        ),
        here("entry of a list in a request", bytes(QUERY_BYTES_MAX), "400", entries.into()),
        here(
            "entry of `analyticsTags`",
            "100 characters".into(),
            "400",
            vec![member(
                search,
                "analyticsTags",
                length("é", 100),
                "array of strings of at most 100 characters",
            )],
        ),
        here(
            "`ruleContexts`",
            "10 entries".into(),
            "400",
            vec![member(
                search,
                "ruleContexts",
                repeated(10, |n| json!(n.to_string())),
                "array of at most 10 strings",
            )],
        ),
        here(
            "objectID",
            bytes(OBJECT_ID_BYTES_MAX),
            "400",
            vec![tried(
                put(&"o".repeat(OBJECT_ID_BYTES_MAX)),
                put(&"o".repeat(OBJECT_ID_BYTES_MAX + 1)),
                400,
                "objectID must have at most 512 bytes",
            )],
        ),
        here(
            "index name",
            format!("{INDEX_NAME_CHARS_MAX} characters"),
            "400",
            vec![tried(
                named(INDEX_NAME_CHARS_MAX),
                named(INDEX_NAME_CHARS_MAX + 1),
                400,
                "indexName is not valid: it must have at most 256 characters",
            )],
        ),
        here(
            "taskID",
            "64 bits".into(),
            "400",
            vec![tried(
                ask(Method::GET, "/1/task/18446744073709551615", ""),
                ask(Method::GET, "/1/task/18446744073709551616", ""),
                400,
                parameter("taskID", "positive integer"),
            )],
        ),
        by(
            "header `X-Algolia-UserToken`",
            "129 bytes".into(),
            "counts as none",
            &[(FULL, "a_longer_user_token_counts_as_none")],
        ),
        by(
            "`X-Algolia-TagFilters` of a call, all of them together",
            bytes(quorate_api::auth::TAG_FILTERS_BYTES_MAX),
            "400",
            &[("api/tests/http/restricted.rs", "tags_of_a_header_hold_for_everything_that_is_read")],
        ),
    ]
}
