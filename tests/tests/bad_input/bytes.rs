//! Do names of any script, odd ids and bytes that are no request leave the server whole?

use super::*;
use quorate_tests::greedy::gzip;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

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

#[test]
fn bodies_over_the_limit_and_gzip_bombs_are_refused() {
    let (_dir, server) = start();
    let client = server.client();
    let too_big = "The body is too big: at most 1048576 bytes are accepted";
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
        (bomb[..500].to_vec(), 400, "The body is not valid gzip"),
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
    let mut chance = quorate_tests::chance::from_environment("random bodies");
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

#[test]
fn who_sends_a_refused_body_to_its_end_reads_why_it_was_refused() {
    let (_dir, server) = start();
    let body = vec![b' '; 20 << 20];
    for (path, key, status) in [
        ("/1/indexes/books/query", ADMIN_KEY, "413"),
        ("/1/indexes/books/batch", "a-key-that-nobody-has", "403"),
        ("/1/indexes/books/no/such/path", ADMIN_KEY, "404"),
    ] {
        let mut connection = TcpStream::connect(server.address()).unwrap();
        connection.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\nX-Algolia-Application-Id: {APP_ID}\r\nX-Algolia-API-Key: {key}\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        connection.write_all(head.as_bytes()).unwrap();
        connection.write_all(&body).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut answer = [0; 64];
        let read = connection.read(&mut answer).unwrap_or_else(|error| panic!("{path}: {error}"));
        let line = String::from_utf8_lossy(&answer[..read]);
        assert!(line.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {line}");
    }
}
