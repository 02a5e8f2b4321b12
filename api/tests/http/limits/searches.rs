//! What limits do filters, pages and places of a search have?

use super::rows::{FULL, by, here, padded, repeated};
use super::*;
use quorate_model::limits::*;

/// Every row of it, in the order of the contract.
pub fn all() -> Vec<Limit> {
    [filters(), free(), pages(), geo(), recommendations()].into_iter().flatten().collect()
}

fn filters() -> Vec<Limit> {
    let any = |count: usize| json!((0..count).map(|n| format!("n={n}")).collect::<Vec<_>>().join(" OR "));
    let all = |count: usize| -> Value { (0..count).map(|n| json!(format!("color:{n}"))).collect() };
    let both = |items: usize| search(json!({"filters": any(400), "facetFilters": all(items)}));
    let most = format!("at most {FILTERS_MAX} filters");
    let long = |bytes: usize| json!(format!("color:{}", "x".repeat(bytes - "color:".len())));
    let text = [long(FILTERS_TEXT_BYTES_MAX), long(FILTERS_TEXT_BYTES_MAX + 1)];
    let short = format!("string shorter than {FILTERS_TEXT_BYTES_MAX} bytes");
    let nested = |levels: usize| json!(format!("{}color:a{}", "(".repeat(levels), ")".repeat(levels)));
    let deep = "filters: parentheses are nested more than 64 levels deep";
    let filters = |value: Value| search(json!({ "filters": value }));
    let scored = |score: u32| json!(format!("color:a<score={score}>"));
    vec![
        here(
            "filters of a request, of all kinds together",
            count(FILTERS_MAX),
            "400",
            vec![
                member(search, "filters", [any(FILTERS_MAX), any(FILTERS_MAX + 1)], &most),
                member(search, "facetFilters", [all(FILTERS_MAX), all(FILTERS_MAX + 1)], &most),
                member(search, "optionalFilters", [all(FILTERS_MAX), all(FILTERS_MAX + 1)], &most),
                tried(both(FILTERS_MAX - 400), both(FILTERS_MAX - 399), 400, parameter("filters", &most)),
            ],
        ),
        here(
            "text of a filter parameter",
            bytes(FILTERS_TEXT_BYTES_MAX),
            "400",
            vec![
                member(search, "filters", text.clone(), &short),
                member(search, "facetFilters", text.clone(), &short),
                member(search, "tagFilters", text.clone(), &short),
                member(search, "optionalFilters", text.map(|text| json!([text])), &short),
            ],
        ),
        here(
            "parentheses in `filters`",
            format!("{FILTER_NESTING_MAX} levels"),
            "400",
            vec![tried(
                filters(nested(FILTER_NESTING_MAX)),
                filters(nested(FILTER_NESTING_MAX + 1)),
                400,
                deep,
            )],
        ),
        here(
            "score of a filter",
            count(FILTER_SCORE_MAX),
            "400",
            vec![tried(
                filters(scored(FILTER_SCORE_MAX)),
                filters(scored(FILTER_SCORE_MAX + 1)),
                400,
                "filters: ",
            )],
        ),
    ]
}

fn free() -> Vec<Limit> {
    let names = ["extensions", "reRankingApplyFilter", "renderingContent", "semanticSearch"];
    let expected = format!("at most {FREE_BYTES_MAX} bytes, minified, of {} together", names.join(", "));
    let sized = |bytes: usize| {
        let value =
            |last: usize| json!({"a": vec!["x".repeat(297); (bytes - 200) / 300], "b": "x".repeat(last)});
        value(bytes - value(0).to_string().len())
    };
    let both = |bytes: usize| {
        search(json!({"extensions": sized(bytes), "renderingContent": sized(FREE_BYTES_MAX / 2)}))
    };
    let browse = |body| ask(Method::POST, "/1/indexes/i/browse", body);
    let facet = |body| ask(Method::POST, "/1/indexes/i/facets/color/query", body);
    let query = |mut body: Value| {
        body["indexName"] = json!("i");
        ask(Method::POST, "/1/indexes/*/queries", json!({"requests": [body]}))
    };
    let values = || [sized(FREE_BYTES_MAX), sized(FREE_BYTES_MAX + 1)];
    let mut tries: Vec<Try> = names.map(|name| member(search, name, values(), &expected)).into();
    tries.push(member(browse, names[0], values(), &expected));
    tries.push(member(facet, names[1], values(), &expected));
    tries.push(member(query, names[2], values(), &expected));
    let half = FREE_BYTES_MAX / 2;
    tries.push(tried(both(half), both(half + 1), 400, parameter("renderingContent", &expected)));
    vec![here(
        "`extensions`, `reRankingApplyFilter`, `renderingContent` and `semanticSearch` of a search, minified, together",
        bytes(FREE_BYTES_MAX),
        "400",
        tries,
    )]
}

/// An integer of a request, from one below the least, if that is above 0, to one above the greatest.
fn integer(name: &str, min: u64, max: u64) -> Vec<Try> {
    let expected = format!("integer between {min} and {max}");
    let mut tries = vec![member(search, name, [json!(max), json!(max + 1)], &expected)];
    if min > 0 {
        tries.push(member(search, name, [json!(min), json!(min - 1)], &expected));
    }
    tries
}

fn pages() -> Vec<Limit> {
    let get = |uri: &str, value: u64| ask(Method::GET, format!("{uri}{value}"), "");
    let listed = |uri: &str| {
        let expected = parameter("hitsPerPage", "integer between 1 and 1000");
        [(1_000, 1_001), (1, 0)].map(|(at, past)| tried(get(uri, at), get(uri, past), 400, expected.as_str()))
    };
    let of_page = |uri: &'static str| {
        let call = move |mut body: Value| {
            body["query"] = json!("x");
            ask(Method::POST, uri, body)
        };
        [(1_000, 1_001), (1, 0)].map(|(at, past)| {
            member(call, "hitsPerPage", [json!(at), json!(past)], "integer between 1 and 1000")
        })
    };
    let browse = |body| ask(Method::POST, "/1/indexes/i/browse", body);
    let facet = |body| ask(Method::POST, "/1/indexes/i/facets/color/query", body);
    let page = member(browse, "hitsPerPage", [json!(1_000), json!(1_001)], "integer between 0 and 1000");
    let lists = [
        listed("/1/indexes?page=0&hitsPerPage=").into_iter(),
        listed("/1/dictionaries/stopwords/search?query=x&hitsPerPage=").into_iter(),
        of_page("/1/dictionaries/plurals/search").into_iter(),
        of_page("/1/indexes/i/synonyms/search").into_iter(),
        of_page("/1/indexes/i/rules/search").into_iter(),
        of_page("/1/indexes/i/trending-items/recommend/rules/search").into_iter(),
    ];
    vec![
        here(
            "`hitsPerPage`, `length`, page of browse",
            count(HITS_PER_PAGE_MAX),
            "400",
            [
                integer("hitsPerPage", 0, HITS_PER_PAGE_MAX),
                integer("length", 0, HITS_PER_PAGE_MAX),
                vec![page],
            ]
            .concat_all(),
        ),
        here(
            "`hitsPerPage` of lists: 100 of indices and synonyms, 20 of rules and dictionary entries when it is not given",
            count(DOCUMENTS_PER_PAGE_MAX),
            "400",
            lists.into_iter().flatten().collect(),
        ),
        here(
            "`paginationLimitedTo`",
            count(PAGINATION_LIMIT_MAX),
            "400",
            vec![member(
                settings,
                "paginationLimitedTo",
                [json!(PAGINATION_LIMIT_MAX), json!(PAGINATION_LIMIT_MAX + 1)],
                "integer between 0 and 20000",
            )],
        ),
        by(
            "values of a facet",
            count(FACET_VALUES_MAX),
            "acts as the limit",
            &[(FULL, "a_facet_shows_1_000_values")],
        ),
        here(
            "`maxFacetHits`, 10 when it is not given",
            count(FACET_HITS_MAX),
            "400",
            vec![member(
                facet,
                "maxFacetHits",
                [json!(FACET_HITS_MAX), json!(FACET_HITS_MAX + 1)],
                "integer between 1 and 100",
            )],
        ),
        here(
            "`distinct`",
            "4".into(),
            "400",
            vec![member(search, "distinct", [json!(4), json!(5)], "boolean or integer between 0 and 4")],
        ),
        here("`minProximity`", "1 to 8".into(), "400", integer("minProximity", 1, 8)),
        here("`relevancyStrictness`", "100".into(), "400", integer("relevancyStrictness", 0, 100)),
    ]
}

/// Lists of tries, one behind the other.
trait ConcatAll {
    fn concat_all(self) -> Vec<Try>;
}
impl<const N: usize> ConcatAll for [Vec<Try>; N] {
    fn concat_all(self) -> Vec<Try> {
        self.into_iter().flatten().collect()
    }
}

fn geo() -> Vec<Limit> {
    let shape = |numbers: usize| json!(vec![1; numbers]);
    let shapes = |count: usize, numbers: usize| json!(vec![vec![1; numbers]; count]);
    let large = |last: usize| {
        let mut polygons = vec![vec![1; 2 * POLYGON_POINTS_MAX]; 4];
        polygons.push(vec![1; 2 * POLYGON_POINTS_MAX - 6]);
        polygons.push(vec![1; last]);
        json!(polygons)
    };
    let steps = repeated(PRECISION_STEPS_MAX, |n| json!({"from": n, "value": 10}));
    vec![
        here(
            "boxes or polygons of a request",
            count(GEO_SHAPES_MAX),
            "400",
            vec![
                member(
                    search,
                    "insideBoundingBox",
                    [shapes(GEO_SHAPES_MAX, 4), shapes(GEO_SHAPES_MAX + 1, 4)],
                    "at most 1000 boxes",
                ),
                member(
                    search,
                    "insideBoundingBox",
                    [shape(4 * GEO_SHAPES_MAX), shape(4 * GEO_SHAPES_MAX + 4)],
                    "at most 1000 boxes",
                ),
                member(
                    search,
                    "insidePolygon",
                    [shapes(GEO_SHAPES_MAX, 6), shapes(GEO_SHAPES_MAX + 1, 6)],
                    "at most 1000 polygons",
                ),
            ],
        ),
        here(
            "points of a polygon",
            format!("3 to {}", count(POLYGON_POINTS_MAX)),
            "400",
            vec![
                member(
                    search,
                    "insidePolygon",
                    [shape(6), shape(4)],
                    "array of arrays of 6 to 20000 numbers",
                ),
                member(
                    search,
                    "insidePolygon",
                    [shape(20_000), shape(20_002)],
                    "array of arrays of 6 to 20000 numbers",
                ),
            ],
        ),
        here(
            "points of all polygons of a request",
            count(POLYGONS_POINTS_MAX),
            "400",
            vec![member(
                search,
                "insidePolygon",
                [large(6), large(8)],
                "polygons of at most 50000 points together",
            )],
        ),
        here(
            "steps of `aroundPrecision`",
            count(PRECISION_STEPS_MAX),
            "400",
            vec![member(search, "aroundPrecision", steps, "positive integer or array of up to 20 objects")],
        ),
    ]
}

fn recommendations() -> Vec<Limit> {
    let request = |model: &'static str, name: &'static str| {
        move |value: Value| {
            let mut request = json!({"indexName": "i", "model": model, "threshold": 0, "objectID": "o",
                "facetName": "color", "facetValue": "red"});
            request[name] = value;
            ask(Method::POST, "/1/indexes/*/recommendations", json!({"requests": [request]}))
        }
    };
    let limited = |model, name, values: [Value; 2], expected: &str| {
        let [at, past] = values.map(request(model, name));
        tried(at, past, 400, parameter(name, expected))
    };
    let text = |bytes: usize| [json!("x".repeat(bytes)), json!("x".repeat(bytes + 1))];
    let of_facet = format!("string of at most {QUERY_BYTES_MAX} bytes");
    let most = format!("integer between 0 and {RECOMMENDATIONS_MAX}");
    let id = format!("string of 1 to {OBJECT_ID_BYTES_MAX} bytes");
    vec![
        here(
            "`maxRecommendations`",
            RECOMMENDATIONS_MAX.to_string(),
            "400",
            vec![limited(
                "looking-similar",
                "maxRecommendations",
                [json!(RECOMMENDATIONS_MAX), json!(RECOMMENDATIONS_MAX + 1)],
                &most,
            )],
        ),
        here(
            "`threshold`",
            "100".into(),
            "400",
            vec![limited(
                "trending-items",
                "threshold",
                [json!(100), json!(100.001)],
                "number between 0 and 100",
            )],
        ),
        here(
            "`objectID`, `facetName` and `facetValue` of `*/recommendations`",
            format!("{OBJECT_ID_BYTES_MAX} bytes"),
            "400",
            vec![
                limited("related-products", "objectID", text(OBJECT_ID_BYTES_MAX), &id),
                limited("trending-items", "facetName", text(QUERY_BYTES_MAX), &of_facet),
                limited("trending-items", "facetValue", text(QUERY_BYTES_MAX), &of_facet),
            ],
        ),
    ]
}

/// Queries whose body takes so many bytes as values.
pub(super) fn of_values(bytes: usize) -> Ask {
    let one =
        json!({"indexName": "i", "hitsPerPage": 0, "attributesToRetrieve": vec!["a"; LIST_ENTRIES_MAX]});
    let taken = |body: &str| {
        let each = |sign: char| match sign {
            '{' => 700,
            '[' | ',' => 64,
            _ => 0,
        };
        body.len() + body.chars().map(each).sum::<usize>()
    };
    let queries = bytes / taken(&one.to_string()) - 1;
    let body = json!({"requests": vec![one; queries]}).to_string();
    let missing = bytes - taken(&body);
    padded(Method::POST, "/1/indexes/*/queries", &body, body.len() + missing)
}
