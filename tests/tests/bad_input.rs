//! Is every wrong request answered with its precise 4xx, and the server unharmed?

use quorate_tests::accident::settle;
use quorate_tests::client::Client;
use quorate_tests::harness::{ADMIN_KEY, APP_ID, Server, Setup};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// One wrong request and its answer.
struct Case {
    method: &'static str,
    path: String,
    body: Option<Vec<u8>>,
    status: u16,
    message: Message,
}

enum Message {
    Is(String),
    /// For texts that go on with a place or with words of a library.
    Starts(&'static str),
}
use Message::Starts;

fn is(text: &str) -> Message {
    Message::Is(text.to_string())
}

fn case(method: &'static str, path: &str, body: &[u8], status: u16, message: Message) -> Case {
    Case { method, path: path.to_string(), body: Some(body.to_vec()), status, message }
}
fn get(path: &str, status: u16, message: Message) -> Case {
    Case { method: "GET", path: path.to_string(), body: None, status, message }
}
fn query(body: &str, message: Message) -> Case {
    case("POST", "/1/indexes/books/query", body.as_bytes(), 400, message)
}
fn record(body: &[u8], message: Message) -> Case {
    case("POST", "/1/indexes/books", body, 400, message)
}
fn settings(body: &str, message: Message) -> Case {
    case("PUT", "/1/indexes/books/settings", body.as_bytes(), 400, message)
}
fn batch(body: &str, message: Message) -> Case {
    case("POST", "/1/indexes/books/batch", body.as_bytes(), 400, message)
}

fn start() -> (tempfile::TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    let server = Setup::new(dir.path().join("data")).option("body-bytes-max", "4MiB").start().unwrap();
    let client = server.client();
    let settings = json!({"attributesForFaceting": ["searchable(genre)", "year"]});
    client.put("/1/indexes/books/settings", &settings).unwrap().success().unwrap();
    client.post("/1/indexes/books", &json!({"objectID": "1", "title": "Emma", "genre": "novel"})).unwrap();
    settle(&client, "books").unwrap();
    (dir, server)
}

fn check_alive(client: &Client) {
    assert_eq!(client.get("/1/indexes/books/1").unwrap().body["title"], "Emma");
    assert_eq!(client.search("books", &json!({"query": "emma"})).unwrap()["nbHits"], 1);
}

fn check(client: &Client, cases: Vec<Case>) {
    let mut wrong = Vec::new();
    for case in &cases {
        let answer = client.send(case.method, &case.path, case.body.as_deref()).unwrap();
        let fits = match &case.message {
            Message::Is(text) => answer.message() == text,
            Starts(text) => answer.message().starts_with(text),
        };
        if answer.status != case.status || !fits || answer.body["status"] != case.status {
            let body = case
                .body
                .as_deref()
                .map(|body| String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned());
            let expected = match &case.message {
                Message::Is(text) => text,
                Starts(text) => *text,
            };
            wrong.push(format!(
                "{} {} {}\n   gave {} {}\n   not  {} {expected}",
                case.method,
                case.path,
                body.unwrap_or_default(),
                answer.status,
                answer.body,
                case.status,
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    check_alive(client);
}

fn parameter(name: &str, expected: &str) -> Message {
    Message::Is(format!("Invalid value for \"{name}\" parameter, expected {expected}"))
}

#[test]
fn broken_json_is_refused_with_its_place() {
    let (_dir, server) = start();
    let deep = format!("{{\"query\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_record = format!("{{\"a\":{}1{}}}", "{\"b\":".repeat(5_000), "}".repeat(5_000));
    let mut cases = vec![
        query("{", Starts("parse error: ")),
        query("{\"query\":}", Starts("parse error: ")),
        query("[]", is("parse error: expected a JSON object near line:1 column:1")),
        query("\"text\"", is("parse error: expected a JSON object near line:1 column:1")),
        query("{\"query\":\"a\"} trailing", Starts("parse error: ")),
        query("{\"page\":NaN}", Starts("parse error: ")),
        query("{\"page\":Infinity}", Starts("parse error: ")),
        query("{\"page\":1e999}", Starts("parse error: ")),
        query("{\"page\":0x10}", Starts("parse error: ")),
        query("{\"query\":\"\\ud800\"}", Starts("parse error: ")),
        query(&deep, Starts("parse error: ")),
        record(
            deep_record.as_bytes(),
            Starts("parse error: JSON is nested more than 64 levels deep near line:1 column:"),
        ),
        record(
            b"{\"a\":\"\xff\xfe\"}",
            is("lexical error: invalid bytes in UTF8 string near line:1 column:7"),
        ),
        record(
            b"{\"objectID\":\"x\",\"a\":\"\xc3\x28\"}",
            is("lexical error: invalid bytes in UTF8 string near line:1 column:22"),
        ),
        record(b"{\"a\":1e999}", is("parse error: floating point overflow near line:1 column:11")),
        record(b"{\"a\":NaN}", is("lexical error: invalid char in json text. near line:1 column:6")),
        record(
            b"{\"a\":-}",
            Starts("lexical error: malformed number, a digit is required after the minus sign. near line:1"),
        ),
        record(
            b"{\"a\":01}",
            Starts("parse error: after key and value, inside map, I expect ',' or '}' near line:1"),
        ),
        record(b"[1,2]", Starts("Invalid record: expected a JSON object")),
        record(b"null", Starts("Invalid record: expected a JSON object")),
        record(b"\"text\"", Starts("Invalid record: expected a JSON object")),
        record(b"{\"a\":1,\"a\":2}", Starts("Duplicate attribute: a ")),
        batch("{\"requests\":[{\"action\":\"addObject\",\"body\":{\"a\":}}]}", Starts("parse error: ")),
        batch("{\"requests\":{}}", Starts("parse error: ")),
        batch("[]", is("parse error: expected a JSON object near line:1 column:1")),
    ];
    for path in
        ["/1/indexes/*/queries", "/1/indexes/*/objects", "/1/indexes/*/batch", "/1/indexes/books/operation"]
    {
        cases.push(case("POST", path, b"{\"requests\":", 400, Starts("parse error: ")));
        cases.push(case("POST", path, b"\xff", 400, Starts("parse error: ")));
    }
    check(&server.client(), cases);
}

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

#[test]
fn wrong_settings_name_themselves() {
    let (_dir, server) = start();
    let cases = vec![
        settings(
            r#"{"noSuchSetting":1}"#,
            Starts("Invalid object attributes: noSuchSetting near line:1 column:"),
        ),
        settings(r#"{"hitsPerPage":"x"}"#, Starts("Invalid value for \"hitsPerPage\" parameter, expected ")),
        settings(
            r#"{"hitsPerPage":1e999}"#,
            is("parse error: floating point overflow near line:1 column:21"),
        ),
        settings(r#"{"searchableAttributes":[""]}"#, Starts("Invalid string of size 0 near line:1 column:")),
        settings(
            r#"{"searchableAttributes":{"a":1}}"#,
            Starts("Invalid value for \"searchableAttributes\" parameter, expected "),
        ),
        settings(r#"{"ranking":["best"]}"#, Starts("Invalid value for \"ranking\" parameter, expected ")),
        settings(
            r#"{"customRanking":["down(x)"]}"#,
            Starts("Invalid value for \"customRanking\" parameter, expected "),
        ),
        settings(
            r#"{"typoTolerance":"often"}"#,
            Starts("Invalid value for \"typoTolerance\" parameter, expected "),
        ),
        settings("[]", is("Invalid object inside settings near line:1 column:1")),
        settings("7", is("Invalid object inside settings near line:1 column:1")),
        settings("{\"ranking\":", is("parse error: premature EOF near line:1 column:11")),
        case(
            "POST",
            "/1/indexes/books/operation",
            br#"{"operation":"swap","destination":"b"}"#,
            400,
            is("Invalid operation \"swap\", expected copy or move"),
        ),
        case(
            "POST",
            "/1/indexes/books/operation",
            br#"{"operation":"copy","destination":"b","scope":"rules"}"#,
            400,
            Starts(
                "parse error: scope: invalid type: string \"rules\", expected an array near line:1 column:",
            ),
        ),
        case(
            "POST",
            "/1/indexes/books/operation",
            br#"{"operation":"copy"}"#,
            400,
            is("destination is required"),
        ),
        case(
            "POST",
            "/1/indexes/books/operation",
            br#"{"operation":"copy","destination":""}"#,
            400,
            Starts("indexName is not valid"),
        ),
        case(
            "POST",
            "/1/indexes/books/operation",
            br#"{"operation":"move","destination":"b","scope":["rules"]}"#,
            400,
            is("scope is only supported with the copy operation"),
        ),
    ];
    let client = server.client();
    let before = client.get("/1/indexes/books/settings").unwrap().body;
    check(&client, cases);
    assert_eq!(
        client.get("/1/indexes/books/settings").unwrap().body,
        before,
        "a refused setting changed nothing"
    );
}

#[test]
fn wrong_records_and_batches_change_nothing() {
    let (_dir, server) = start();
    let large = json!({"objectID": "big", "text": "x".repeat(100_000)});
    let size = large.to_string().len();
    let cases = vec![
        record(
            large.to_string().as_bytes(),
            Message::Is(format!("Record is too big size={size}/100000 bytes. Please have a look at the option record-bytes-max")),
        ),
        record(br#"{"objectID":""}"#, is("objectID must not be empty")),
        record(br#"{"objectID":null}"#, is("objectID must be a string or a number")),
        record(br#"{"objectID":{"a":1}}"#, is("objectID must be a string or a number")),
        record(br#"{"objectID":["a"]}"#, is("objectID must be a string or a number")),
        record(br#"{"objectID":true}"#, is("objectID must be a string or a number")),
        record(br#"{"objectID":"a\u0000b"}"#, is("objectID must not contain control characters")),
        record(json!({"objectID": "i".repeat(513)}).to_string().as_bytes(), is("objectID must have at most 512 bytes")),
        batch("{}", is("requests is required: a list of operations")),
        batch("{\"requests\":[5]}", Starts("parse error: requests[0]: invalid type: integer `5`, expected an object near")),
        batch(
            "{\"requests\":[{\"action\":\"addObject\"}]}",
            is("body is required in the operation at the position 0"),
        ),
        case(
            "POST",
            "/1/indexes/*/objects",
            b"{\"requests\":[{\"indexName\":\"books\",\"objectID\":\"1\",\"attributesToRetrieve\":5}]}",
            400,
            parameter("attributesToRetrieve", "array of strings"),
        ),
        batch(r#"{"requests":[{"body":{}}]}"#, is("action is required in each operation")),
        batch(r#"{"requests":[{"action":"explode","body":{}}]}"#, Starts("Invalid batch action: explode, expected one of ")),
        batch(r#"{"requests":[{"action":7,"body":{}}]}"#, Starts("parse error: ")),
        batch(r#"{"requests":[{"action":"updateObject","body":{"a":1}}]}"#, is("objectID is required in the operation at the position 0")),
        batch(
            r#"{"requests":[{"action":"addObject","body":{"objectID":"2"}},{"action":"deleteObject","body":{}}]}"#,
            is("objectID is required in the operation at the position 1"),
        ),
        batch(&json!({"requests": [{"action": "addObject", "body": {"objectID": "2"}}, {"action": "addObject", "body": large}]}).to_string(), Starts("Record at the position 1 objectID=big is too big size=")),
        batch(r#"{"requests":[{"action":"addObject","body":[1]}]}"#, Starts("Invalid record: expected a JSON object")),
        case("POST", "/1/indexes/books/1/partial", br#"{"n":{"_operation":"Multiply","value":2}}"#, 400, Starts("Invalid operation on attribute n, expected _operation among ")),
        case("POST", "/1/indexes/books/1/partial", br#"{"n":{"_operation":"Increment","value":"x"}}"#, 400, is("Invalid operation on attribute n, expected number as value")),
        case("POST", "/1/indexes/books/1/partial", br#"{"n":{"_operation":"IncrementFrom","value":1.5}}"#, 400, is("Invalid operation on attribute n, expected integer as value")),
        case("POST", "/1/indexes/books/1/partial", b"[]", 400, Starts("Invalid record: expected a JSON object")),
        case("POST", "/1/indexes/*/batch", br#"{"requests":[{"action":"addObject","body":{}}]}"#, 400, is("indexName is required in each operation")),
        case("POST", "/1/indexes/*/batch", br#"{"requests":[{"indexName":"","action":"addObject","body":{}}]}"#, 400, Starts("indexName is not valid")),
    ];
    let client = server.client();
    check(&client, cases);
    settle(&client, "books").unwrap();
    let all = client.browse_all("books").unwrap();
    assert_eq!(all.len(), 1, "a refused write left something: {all:?}");
}

#[test]
fn unknown_paths_methods_names_and_keys_are_told_apart() {
    let (_dir, server) = start();
    let client = server.client();
    let long = "n".repeat(257);
    let cases = vec![
        get("/", 404, Starts("Path not supported")),
        get("/2/indexes", 404, Starts("Path not supported")),
        get("/1/indexes/a/b/c/d/e/f/g/h/i/j", 404, Starts("Path not supported")),
        case("PUT", "/1/indexes", b"{}", 405, Starts("Method not allowed")),
        case("PATCH", "/1/indexes/books", b"{}", 405, Starts("Method not allowed")),
        get("/1/indexes/%FF%FE/settings", 400, Starts("The path is not valid UTF-8")),
        get("/1/indexes/none/settings", 404, is("Index none does not exist")),
        get("/1/indexes/books/none", 404, is("ObjectID does not exist")),
        get("/1/indexes/none/x", 404, is("Index none does not exist")),
        case("POST", "/1/indexes/none/query", b"{}", 404, is("Index none does not exist")),
        case(
            "POST",
            &format!("/1/indexes/{long}"),
            b"{}",
            400,
            is("indexName is not valid: it must have at most 256 characters"),
        ),
        case(
            "POST",
            "/1/indexes/a%00b",
            b"{}",
            400,
            is("indexName is not valid: it must not contain control characters"),
        ),
        case("POST", "/1/indexes/*", b"{}", 400, Starts("indexName is not valid")),
        case(
            "PUT",
            "/1/indexes/books/rules/r",
            b"{}",
            501,
            is("Rules: this part of the interface is not available in this version"),
        ),
    ];
    check(&client, cases);
    for (key, app) in [("wrong", APP_ID), (ADMIN_KEY, "OTHER"), ("", ""), ("\u{e9}", APP_ID)] {
        let stranger = Client::new(server.address(), quorate_tests::client::Family::Algolia, app, key);
        let answer = stranger.get("/1/indexes/books/1").unwrap();
        assert_eq!((answer.status, answer.message()), (403, "Invalid Application-ID or API key"));
    }
    let answer = client.anonymous().get("/1/indexes").unwrap();
    assert_eq!((answer.status, answer.message()), (403, "Invalid Application-ID or API key"));
}

#[test]
fn names_of_any_script_are_kept_exactly() {
    let (_dir, server) = start();
    let client = server.client();
    let names = [
        "a b",
        "a/b",
        "50%",
        "a%2Fb",
        "日本語",
        "имя",
        "🙂",
        "..",
        ".",
        "a\\b",
        "a:b*?",
        "con",
        "A",
        "a+b",
        "é",
        "e\u{301}",
    ];
    let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    for name in names {
        let index = encode(name);
        let id = encode(&format!("{name}#"));
        let answer = client.put(&format!("/1/indexes/{index}/{id}"), &json!({"title": name})).unwrap();
        assert_eq!(answer.status, 201, "{name}: {answer:?}");
        settle(&client, &index).unwrap();
        let kept = client.get(&format!("/1/indexes/{index}/{id}")).unwrap();
        assert_eq!(kept.body, json!({"objectID": format!("{name}#"), "title": name}), "{name}");
    }
    let list = client.get("/1/indexes?page=0&hitsPerPage=1000").unwrap().success().unwrap().body;
    let mut found: Vec<&str> =
        list["items"].as_array().unwrap().iter().filter_map(|i| i["name"].as_str()).collect();
    let mut expected: Vec<&str> = names.iter().copied().chain(["books"]).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn ids_that_are_numbers_are_their_text() {
    let (_dir, server) = start();
    let client = server.client();
    for (id, text) in
        [("7", "7"), ("-3", "-3"), ("12345678901234567890123", "12345678901234567890123"), ("1.50", "1.5")]
    {
        let body = format!("{{\"objectID\":{id},\"title\":\"n\"}}");
        let answer =
            client.send("POST", "/1/indexes/books", Some(body.as_bytes())).unwrap().success().unwrap();
        assert_eq!(answer.body["objectID"], text);
        settle(&client, "books").unwrap();
        assert_eq!(client.get(&format!("/1/indexes/books/{text}")).unwrap().body["objectID"], text);
    }
    let answer = client
        .post("/1/indexes/*/objects", &json!({"requests": [{"indexName": "books", "objectID": 7}]}))
        .unwrap();
    assert_eq!(answer.body["results"][0]["objectID"], "7");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn bodies_over_the_limit_and_gzip_bombs_are_refused() {
    let (_dir, server) = start();
    let client = server.client();
    let too_big = "The body is too big: at most 4194304 bytes are accepted";
    let large = format!("{{\"query\":\"{}\"}}", "x".repeat(5 << 20));
    // The server may close the connection before such a body is sent: both are right, a 500 or a crash is not.
    if let Ok(answer) = client.send("POST", "/1/indexes/books/query", Some(large.as_bytes())) {
        assert_eq!((answer.status, answer.message()), (413, too_big));
    }
    check_alive(&client);
    let zipped = client.with_header("Content-Encoding", "gzip");
    let bomb = gzip(&vec![b' '; 64 << 20]);
    assert!(bomb.len() < 100_000);
    for (body, status, message) in [
        (bomb.clone(), 413, too_big),
        (b"no gzip at all".to_vec(), 400, "The body is not valid gzip"),
        (bomb[..1_000].to_vec(), 400, "The body is not valid gzip"),
        (gzip(&bomb), 400, ""),
    ] {
        let answer = zipped.send("POST", "/1/indexes/books/query", Some(&body)).unwrap();
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(message.is_empty() || answer.message() == message, "{answer:?}");
    }
    let answer = zipped.send("POST", "/1/indexes/books/query", Some(&gzip(b"{\"query\":\"emma\"}"))).unwrap();
    assert_eq!(answer.body["nbHits"], 1);
    let brotli = client.with_header("Content-Encoding", "br");
    assert_eq!(brotli.send("POST", "/1/indexes/books/query", Some(b"x")).unwrap().status, 400);
    check_alive(&client);
}

/// Requests no HTTP library would send.
#[test]
fn bytes_that_are_no_http_do_not_harm() {
    let (_dir, server) = start();
    let head = format!("x-service-application-id: {APP_ID}\r\nx-service-api-key: {ADMIN_KEY}\r\n");
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(200_000));
    let raw: Vec<Vec<u8>> = vec![
        b"\x00\x01\x02\x03\r\n\r\n".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc".to_vec(),
        long.into_bytes(),
        format!("GET /1/indexes/\u{ff}\u{fe} HTTP/1.1\r\nhost: x\r\n{head}\r\n").into_bytes(),
        format!("GET /1/indexes/%zz%/settings HTTP/1.1\r\nhost: x\r\n{head}connection: close\r\n\r\n").into_bytes(),
        format!("POST /1/indexes/books/query HTTP/1.1\r\nhost: x\r\n{head}content-length: 99999999999999\r\nconnection: close\r\n\r\n{{}}").into_bytes(),
        format!("POST /1/indexes/books/query HTTP/1.1\r\nhost: x\r\n{head}content-length: -1\r\n\r\n").into_bytes(),
        format!("POST /1/indexes/books/query HTTP/1.1\r\nhost: x\r\n{head}transfer-encoding: chunked\r\n\r\nzz\r\n").into_bytes(),
        format!("POST /1/indexes/books/query HTTP/1.1\r\nhost: x\r\n{head}content-length: 500\r\n\r\n{{\"query\"").into_bytes(),
    ];
    for bytes in raw {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        // The server may close while we write.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_string();
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert!(line.is_empty() || line.contains(" 4"), "{shown:?} gave {line:?}");
    }
    check_alive(&server.client());
}

/// Random JSON to every endpoint that takes a body: any answer but a 500, and the server lives.
#[test]
fn random_bodies_never_break_the_server() {
    let (_dir, server) = start();
    let client = server.client();
    let mut chance = quorate_tests::chance::Chance::from_environment("random bodies");
    let names = [
        "query",
        "hitsPerPage",
        "page",
        "filters",
        "facets",
        "facetFilters",
        "numericFilters",
        "tagFilters",
        "params",
        "aroundLatLng",
        "ranking",
        "searchableAttributes",
        "customRanking",
        "replicas",
        "requests",
        "action",
        "body",
        "indexName",
        "objectID",
        "cursor",
        "_geoloc",
        "_tags",
        "_operation",
        "value",
        "strategy",
        "distinct",
        "typoTolerance",
    ];
    let endpoints = [
        ("POST", "/1/indexes/books/query"),
        ("POST", "/1/indexes/books/browse"),
        ("POST", "/1/indexes/books/facets/genre/query"),
        ("POST", "/1/indexes/*/queries"),
        ("POST", "/1/indexes/*/objects"),
        ("POST", "/1/indexes/scratch"),
        ("PUT", "/1/indexes/scratch/x"),
        ("POST", "/1/indexes/scratch/x/partial"),
        ("POST", "/1/indexes/scratch/batch"),
        ("POST", "/1/indexes/*/batch"),
        ("POST", "/1/indexes/scratch/deleteByQuery"),
        ("PUT", "/1/indexes/scratch/settings"),
    ];
    fn value(chance: &mut quorate_tests::chance::Chance, names: &[&str], depth: u64) -> Value {
        match chance.below(if depth > 3 { 8 } else { 11 }) {
            0 => Value::Null,
            1 => json!(chance.below(2) == 0),
            2 => json!(chance.number() as i64),
            3 => json!(f64::from_bits(chance.number())),
            4 => json!(""),
            5 => json!(
                [
                    "emma",
                    "genre:novel",
                    "n>3",
                    "-",
                    "1,2",
                    "addObject",
                    "books",
                    "(a OR b) AND c:d",
                    "a=b&c=d",
                    "virtual(x)",
                    "desc(n)",
                    "\u{0}"
                ][chance.below(12) as usize]
            ),
            6 => json!(chance.below(30)),
            7 => json!(names[chance.below(names.len() as u64) as usize]),
            8 => (0..chance.below(4)).map(|_| value(chance, names, depth + 1)).collect(),
            _ => Value::Object(
                (0..chance.below(4))
                    .map(|_| {
                        (
                            names[chance.below(names.len() as u64) as usize].to_string(),
                            value(chance, names, depth + 1),
                        )
                    })
                    .collect(),
            ),
        }
    }
    for round in 0..600 {
        let (method, path) = endpoints[round % endpoints.len()];
        let members: Vec<String> = (0..1 + chance.below(3))
            .map(|_| {
                format!(
                    "\"{}\":{}",
                    names[chance.below(names.len() as u64) as usize],
                    value(&mut chance, &names, 0)
                )
            })
            .collect();
        let body = format!("{{{}}}", members.join(","));
        let answer = client
            .send(method, path, Some(body.as_bytes()))
            .unwrap_or_else(|e| panic!("{method} {path} {body}: {e}"));
        assert!(answer.status < 500, "{method} {path} {body} gave {answer:?}");
    }
    check_alive(&client);
}
