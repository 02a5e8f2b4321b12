//! Is every wrong request answered with its precise 4xx, and the server unharmed?

use quorate_tests::accident::settle;
use quorate_tests::client::Client;
use quorate_tests::harness::{ADMIN_KEY, APP_ID, Server, Setup};
use serde_json::json;

mod bytes;
mod crowds;
mod greedy;
mod parameters;
#[cfg(target_os = "linux")]
mod proxies;
mod sight;
mod trees;

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
        let body: &[u8] = if path.ends_with("operation") { b"{\"scope\":" } else { b"{\"requests\":" };
        cases.push(case("POST", path, body, 400, Starts("parse error: ")));
        cases.push(case("POST", path, b"\xff", 400, Starts("parse error: ")));
    }
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
            Starts("destination is not valid"),
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
        batch(r#"{"requests":[{"body":{}}]}"#, is("action is required in the operation at the position 0")),
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
        case("POST", "/1/indexes/*/batch", br#"{"requests":[{"action":"addObject","body":{}}]}"#, 400, is("indexName is required in the operation at the position 0")),
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
            "GET",
            "/1/strategies/personalization",
            b"",
            404,
            is("Personalization: this part of the interface is not available in this version"),
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
