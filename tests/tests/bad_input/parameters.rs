//! Does every wrong search parameter name itself and what was expected?

use super::*;

#[test]
fn wrong_parameters_name_themselves() {
    let (_dir, server) = start();
    let long = "a".repeat(513);
    let cases = vec![
        query(&json!({"query": long}).to_string(), parameter("query", "string shorter than 512 bytes")),
        query(
            &json!({"params": format!("query={long}")}).to_string(),
            parameter("query", "string shorter than 512 bytes"),
        ),
        get(
            &format!("/1/indexes/books?query={long}"),
            400,
            parameter("query", "string shorter than 512 bytes"),
        ),
        query(
            &json!({"query": "é".repeat(257)}).to_string(),
            parameter("query", "string shorter than 512 bytes"),
        ),
        query(r#"{"query":{}}"#, parameter("query", "string")),
        query(r#"{"query":["a"]}"#, parameter("query", "string")),
        query(r#"{"hitsPerPage":-1}"#, parameter("hitsPerPage", "integer between 0 and 1000")),
        query(r#"{"hitsPerPage":1001}"#, parameter("hitsPerPage", "integer between 0 and 1000")),
        query(
            r#"{"hitsPerPage":99999999999999999999999999}"#,
            parameter("hitsPerPage", "integer between 0 and 1000"),
        ),
        query(r#"{"hitsPerPage":"many"}"#, parameter("hitsPerPage", "integer between 0 and 1000")),
        query(r#"{"hitsPerPage":{}}"#, parameter("hitsPerPage", "integer between 0 and 1000")),
        query(r#"{"hitsPerPage":1.5}"#, parameter("hitsPerPage", "integer between 0 and 1000")),
        query(r#"{"page":-1}"#, Starts("Invalid value for \"page\" parameter, expected ")),
        query(r#"{"page":18446744073709551616}"#, Starts("Invalid value for \"page\" parameter, expected ")),
        query(
            r#"{"typoTolerance":"often"}"#,
            Starts("Invalid value for \"typoTolerance\" parameter, expected "),
        ),
        query(
            r#"{"aroundLatLng":"91,0"}"#,
            Starts("Invalid value for \"aroundLatLng\" parameter, expected "),
        ),
        query(
            r#"{"aroundLatLng":"NaN,0"}"#,
            Starts("Invalid value for \"aroundLatLng\" parameter, expected "),
        ),
        query(r#"{"aroundRadius":-5}"#, Starts("Invalid value for \"aroundRadius\" parameter, expected ")),
        query(
            r#"{"insideBoundingBox":[[1,2,3]]}"#,
            Starts("Invalid value for \"insideBoundingBox\" parameter, expected "),
        ),
        query(r#"{"facets":7}"#, Starts("Invalid value for \"facets\" parameter, expected ")),
        query(
            r#"{"attributesToRetrieve":[1,{}]}"#,
            Starts("Invalid value for \"attributesToRetrieve\" parameter, expected "),
        ),
        query(r#"{"noSuchParameter":1}"#, is("Unknown parameter: noSuchParameter")),
        query(r#"{"params":7}"#, Starts("Invalid value for \"params\" parameter, expected ")),
        query(r#"{"filters":"a AND"}"#, Starts("filters: Unexpected token ")),
        query(r#"{"filters":"(((((("}"#, Starts("filters: Unexpected token ")),
        query(r#"{"filters":"a:b AND 'open"}"#, Starts("filters: Unexpected token incomplete string")),
        query(
            r#"{"filters":"(a:b AND c:d) OR e:f"}"#,
            is("filters: filter (X AND Y) OR Z is not allowed, only (X OR Y) AND Z is allowed"),
        ),
        query(
            r#"{"filters":"a:b OR n>3"}"#,
            Starts("filters: Different types are not allowed in the same OR."),
        ),
        query(
            r#"{"numericFilters":"price>"}"#,
            Starts("Invalid value for \"numericFilters\" parameter, expected "),
        ),
        query(
            r#"{"numericFilters":["n=1e999"]}"#,
            Starts("Invalid value for \"numericFilters\" parameter, expected "),
        ),
        query(&json!({"facetFilters": vec!["genre:x"; 1_001]}).to_string(), Starts("Invalid value for ")),
        query(
            &json!({"filters": "(".repeat(30_000) + "a:b"}).to_string(),
            is("filters: parentheses are nested more than 64 levels deep"),
        ),
        query(
            &json!({"filters": "x".repeat(70_000)}).to_string(),
            parameter("filters", "string shorter than 65536 bytes"),
        ),
        case(
            "POST",
            "/1/indexes/books/facets/title/query",
            b"{}",
            400,
            is(
                "Cannot search in `title` attribute, you need to add `searchable(title)` to attributesForFaceting.",
            ),
        ),
        case(
            "POST",
            "/1/indexes/books/facets/year/query",
            b"{}",
            400,
            is(
                "Cannot search in `year` attribute, you need to add `searchable(year)` to attributesForFaceting.",
            ),
        ),
        case(
            "POST",
            "/1/indexes/books/facets/genre/query",
            br#"{"maxFacetHits":101}"#,
            400,
            Starts("Invalid value for \"maxFacetHits\" parameter, expected "),
        ),
        case(
            "POST",
            "/1/indexes/books/browse",
            br#"{"cursor":"AAAA"}"#,
            400,
            parameter("cursor", "the cursor of the last answer"),
        ),
        case(
            "POST",
            "/1/indexes/books/browse",
            br#"{"cursor":7}"#,
            400,
            Starts("Invalid value for \"cursor\" parameter, expected "),
        ),
        case(
            "POST",
            "/1/indexes/books/deleteByQuery",
            b"{}",
            400,
            is("deleteBy needs at least one filter or geo restriction"),
        ),
        case(
            "POST",
            "/1/indexes/books/deleteByQuery",
            br#"{"query":"x","filters":"a:b"}"#,
            400,
            is("Invalid parameter for deleteBy: query, only filters and geo restrictions are allowed"),
        ),
        case(
            "POST",
            "/1/indexes/*/queries",
            br#"{"requests":[{"indexName":"books","hitsPerPage":-3}]}"#,
            400,
            parameter("hitsPerPage", "integer between 0 and 1000"),
        ),
        case(
            "POST",
            "/1/indexes/*/queries",
            br#"{"requests":[{"indexName":"none","query":"x"}]}"#,
            404,
            is("Index none does not exist"),
        ),
        case(
            "POST",
            "/1/indexes/*/queries",
            br#"{"requests":[{"query":"x"}]}"#,
            400,
            is("indexName is required in each query"),
        ),
        case(
            "POST",
            "/1/indexes/*/objects",
            br#"{"requests":[{"indexName":"books"}]}"#,
            400,
            is("objectID is required in each request"),
        ),
        get("/1/indexes/books/task/abc", 400, parameter("taskID", "positive integer")),
        get("/1/indexes/books/task/-1", 400, parameter("taskID", "positive integer")),
        get("/1/indexes/books/task/99999999999999999999", 400, parameter("taskID", "positive integer")),
    ];
    check(&server.client(), cases);
}
