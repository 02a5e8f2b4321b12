//! Does a caller with the public search key, or with none, take more of a node than a call may, or keep others out?
//!
//! Memory is that of the process at its highest, above what it was before: `VmHWM`, which the kernel sets back on request.

use super::*;
use quorate_tests::client::Answer;
use quorate_tests::greedy::{credentials, gzip, marked, tree};
use quorate_tests::harness::ADMIN_KEY;
use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What one call may take above idle.
pub const ONE_CALL: u64 = 64 << 20;
/// What all calls together may.
const ALL_CALLS: u64 = 512 << 20;
/// Bytes of an answer, as the node is told here; the proportions are those of the default.
const ANSWER: &str = "32MiB";

/// A node with records whose every word matches.
fn start_with_words() -> (tempfile::TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    let server = Setup::new(dir.path().join("data")).option("answer-bytes-max", ANSWER).start().unwrap();
    let client = server.client();
    let settings = json!({"attributesForFaceting": ["n"], "paginationLimitedTo": 1000});
    client.put("/1/indexes/words/settings", &settings).unwrap().success().unwrap();
    let text = "aa ".repeat(1_000);
    for part in 0..10 {
        let records: Vec<_> = (0..100)
            .map(|n| ("addObject", json!({"objectID": format!("{}", part * 100 + n), "text": text, "n": n})))
            .collect();
        client.batch("words", &records).unwrap();
    }
    settle(&client, "words").unwrap();
    (dir, server)
}

/// Runs something and returns what the process took at its highest, above what it had before.
pub fn taken(server: &Server, what: impl FnOnce()) -> u64 {
    let before = server.memory("VmRSS:").unwrap();
    std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
    what();
    server.memory("VmHWM:").unwrap().saturating_sub(before)
}

/// Sends the head of a call, and a body, and returns the connection.
fn begin(server: &Server, path: &str, headers: &str, body: &[u8]) -> TcpStream {
    quorate_tests::greedy::begin(server.address(), path, headers, body).unwrap()
}

fn status(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut line = [0; 12];
    stream.read_exact(&mut line).unwrap();
    String::from_utf8_lossy(&line[9..]).into_owned()
}

/// The answer to a search. On a busy machine it may have waited too long for a thread, which is a 503: it is asked again.
fn once_there_is_a_thread(client: &Client, path: &str, body: &serde_json::Value) -> Answer {
    let mut told = String::new();
    for _ in 0..20 {
        let answer = client.post(path, body).unwrap();
        if answer.status != 503 {
            return answer;
        }
        told = answer.message().to_owned();
    }
    panic!("{path} is answered 503 again and again: {told}");
}

#[test]
fn an_answer_is_bounded_while_it_is_made() {
    let (_dir, server) = start_with_words();
    let client = server.client();
    let greedy = marked("aa", 500);
    let tag = &greedy["highlightPreTag"];
    let bytes = taken(&server, || {
        let answer = once_there_is_a_thread(&client, "/1/indexes/words/query", &greedy);
        assert_eq!(answer.status, 400, "{}", answer.message());
        assert!(answer.message().contains("hitsPerPage"), "{}", answer.message());
    });
    assert!(bytes <= ONE_CALL, "{} MB for one search", bytes >> 20);
    let many: Vec<_> = (0..50)
        .map(|_| {
            let mut query = greedy.clone();
            query["indexName"] = json!("words");
            query
        })
        .collect();
    let bytes = taken(&server, || {
        let answer = once_there_is_a_thread(&client, "/1/indexes/*/queries", &json!({"requests": many}));
        assert_eq!(answer.status, 400, "{}", answer.message());
    });
    assert!(bytes <= ONE_CALL, "{} MB for many searches", bytes >> 20);
    // a few of them fit, as long as they do together
    let few = json!({"requests": [
        {"indexName": "words", "query": "aa", "hitsPerPage": 4, "highlightPreTag": tag, "highlightPostTag": tag},
        {"indexName": "words", "query": "aa", "hitsPerPage": 9, "highlightPreTag": tag, "highlightPostTag": tag},
    ]});
    let answer = client.post("/1/indexes/*/queries", &few).unwrap().success().unwrap();
    assert_eq!(answer.body["results"][1]["hits"].as_array().unwrap().len(), 9);
}

#[test]
fn a_page_of_a_browse_ends_early_and_the_next_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let server = Setup::new(dir.path().join("data")).option("answer-bytes-max", "100KB").start().unwrap();
    let client = server.client();
    let text = "b".repeat(9_000);
    let records: Vec<_> =
        (0..100).map(|n| ("addObject", json!({"objectID": n.to_string(), "text": text}))).collect();
    client.batch("books", &records).unwrap();
    settle(&client, "books").unwrap();
    let mut found = std::collections::BTreeSet::new();
    let (mut cursor, mut pages) = (None, 0);
    loop {
        let asked = cursor.map_or(json!({}), |cursor: serde_json::Value| json!({"cursor": cursor}));
        let answer = client.post("/1/indexes/books/browse", &asked).unwrap().success().unwrap().body;
        assert_eq!(answer["page"], pages);
        let hits = answer["hits"].as_array().unwrap();
        assert!((1..=11).contains(&hits.len()), "{}", hits.len());
        found.extend(hits.iter().map(|hit| hit["objectID"].as_str().unwrap().to_owned()));
        pages += 1;
        match answer.get("cursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    assert_eq!((found.len(), pages > 9), (100, true));
    let faceted = json!({"query": "", "hitsPerPage": 1, "facets": ["f"], "maxValuesPerFacet": 1000});
    client
        .put("/1/indexes/books/settings", &json!({"attributesForFaceting": ["f"]}))
        .unwrap()
        .success()
        .unwrap();
    let values: Vec<_> = (0..200)
        .map(|n| {
            ("addObject", json!({"objectID": format!("f{n}"), "f": format!("{n:03}{}", "v".repeat(900))}))
        })
        .collect();
    client.batch("books", &values).unwrap();
    settle(&client, "books").unwrap();
    let refused = client.post("/1/indexes/books/query", &faceted).unwrap();
    assert_eq!(refused.status, 400, "{} bytes", refused.body.to_string().len());
    assert!(refused.message().contains("maxValuesPerFacet"), "{}", refused.message());
    // a page of rules is what somebody has written as settings: it fits, however large they are
    let rule = |n: usize| {
        let promoted: Vec<String> = (0..100).map(|id| format!("{}-{id}", "p".repeat(90))).collect();
        json!({"objectID": n.to_string(), "conditions": [{"pattern": "b", "anchoring": "is"}],
            "consequence": {"promote": [{"objectIDs": promoted, "position": 0}]}})
    };
    let rules: Vec<_> = (0..40).map(rule).collect();
    client.post("/1/indexes/books/rules/batch", &json!(rules)).unwrap().success().unwrap();
    settle(&client, "books").unwrap();
    let page = client
        .post("/1/indexes/books/rules/search", &json!({"hitsPerPage": 1000}))
        .unwrap()
        .success()
        .unwrap();
    assert!(page.body.to_string().len() > 300_000);
    assert_eq!(page.body["hits"].as_array().unwrap().len(), 40);
    let ids: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let all: Vec<_> = ids.iter().map(|id| json!({"indexName": "books", "objectID": id})).collect();
    let refused = client.post("/1/indexes/*/objects", &json!({"requests": all})).unwrap();
    assert_eq!(refused.status, 400);
    assert!(refused.message().contains("attributesToRetrieve"), "{}", refused.message());
}

#[test]
fn a_small_body_does_not_become_a_large_tree() {
    let (_dir, server) = start();
    let client = server.client();
    for (path, bytes, expected) in [
        ("/1/indexes/books/query", 1 << 20, "400"),
        ("/1/indexes/books/query", (1 << 20) + 64, "413"),
        ("/1/indexes/books/browse", (1 << 20) + 64, "413"),
        ("/1/indexes/books/facets/genre/query", (1 << 20) + 64, "413"),
        ("/1/indexes/*/queries", 3 << 20, "400"),
    ] {
        let body = gzip(&tree(bytes));
        assert!(body.len() < 32 << 10);
        let taken = taken(&server, || {
            let headers = format!(
                "{}Content-Encoding: gzip\r\nContent-Length: {}\r\n",
                credentials(ADMIN_KEY),
                body.len()
            );
            assert_eq!(status(begin(&server, path, &headers, &body)), expected, "{path} {bytes}");
        });
        assert!(taken <= ONE_CALL, "{} MB for {path}", taken >> 20);
    }
    check_alive(&client);
}

/// What a parameter reads from a text is a tree or a list as well.
#[test]
fn a_text_does_not_become_a_large_tree_or_list() {
    let (_dir, server) = start();
    let client = server.client();
    let tree = String::from_utf8(tree(700_000)).unwrap();
    let list = "a,".repeat(499_000);
    let many = |name: &str, text: &str| {
        let query = json!({"indexName": "books", name: text});
        json!({"requests": vec![query; 3 * 1_000_000 / text.len().max(4_200)]})
    };
    for (path, body) in [
        ("/1/indexes/books/query", json!({"insidePolygon": tree})),
        ("/1/indexes/books/query", json!({"renderingContent": tree})),
        ("/1/indexes/books/query", json!({"aroundPrecision": tree})),
        ("/1/indexes/books/query", json!({"facets": format!("[{tree}]")})),
        ("/1/indexes/books/query", json!({"facets": list})),
        ("/1/indexes/books/query", json!({"params": format!("facets={list}")})),
        ("/1/indexes/books/browse", json!({"facets": list})),
        ("/1/indexes/books/facets/genre/query", json!({"facets": list})),
        ("/1/indexes/*/queries", many("responseFields", &"a,".repeat(2_000))),
        ("/1/indexes/*/queries", many("insidePolygon", &tree)),
        (
            "/1/indexes/*/recommendations",
            json!({"requests": [
                {"indexName": "books", "model": "trending-items", "threshold": 0, "queryParameters": {"facets": list}},
            ]}),
        ),
    ] {
        let taken = taken(&server, || {
            let answer = client.post(path, &body).unwrap();
            assert_eq!(answer.status, 400, "{path}: {}", answer.body);
        });
        assert!(taken <= ONE_CALL, "{} MB for {path}: {:.100}", taken >> 20, body.to_string());
    }
    check_alive(&client);
}

/// A caller holds no more of the memory that calls share than it leaves to others.
#[test]
fn who_holds_as_much_as_it_can_leaves_some_to_others() {
    let (_dir, server) = start_with_words();
    let client = server.client();
    let key = client.post("/1/keys", &json!({"acl": ["search"]})).unwrap().success().unwrap();
    let key = key.body["key"].as_str().unwrap().to_owned();
    let call = |path: &str, body: &[u8], more: &str, missing: usize| {
        let length = body.len() + missing;
        begin(&server, path, &format!("{}{more}Content-Length: {length}\r\n", credentials(&key)), body)
    };
    // answers of some 10 MB that nobody reads, and bodies that are all there but for a byte
    let body = json!({"query": "aa", "hitsPerPage": 1000});
    let unread: Vec<_> =
        (0..30).map(|_| call("/1/indexes/words/query", body.to_string().as_bytes(), "", 0)).collect();
    let blank = gzip(&vec![b' '; 16 << 20]);
    let unsent: Vec<_> =
        (0..40).map(|_| call("/1/indexes/*/queries", &blank, "Content-Encoding: gzip\r\n", 1)).collect();
    std::thread::sleep(Duration::from_secs(3));
    let answer = once_there_is_a_thread(&client, "/1/indexes/words/query", &body);
    assert_eq!(answer.status, 200, "a large answer: {}", answer.message());
    let text = "bb ".repeat(30_000);
    let records: Vec<_> =
        (0..200).map(|n| ("addObject", json!({"objectID": format!("b{n}"), "text": text}))).collect();
    client.batch("others", &records).unwrap();
    drop((unread, unsent));
}

#[test]
fn strangers_are_turned_away_before_their_body_is_read() {
    let (_dir, server) = start();
    // not one byte of the body is sent
    let head = "X-Algolia-Application-Id: NOBODY\r\nContent-Length: 1000000\r\n";
    let begun = Instant::now();
    assert_eq!(status(begin(&server, "/1/indexes/books/query", head, b"")), "403");
    let head = "X-Algolia-Application-Id: NOBODY\r\nX-Algolia-API-Key: x\r\nContent-Length: 1000000\r\n";
    assert_eq!(status(begin(&server, "/1/indexes/books/query", head, b"")), "403");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // those who know the application id and show no key have a room of their own, and little time
    let piece = gzip(&vec![b' '; 1 << 20]);
    let head = format!(
        "X-Algolia-Application-Id: {APP_ID}\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n",
        piece.len() + 1
    );
    let waiting: Vec<TcpStream> =
        (0..100).map(|_| begin(&server, "/1/indexes/books/query", &head, &piece)).collect();
    check_alive(&server.client());
    let statuses: Vec<String> = waiting.into_iter().map(status).collect();
    assert!(statuses.iter().all(|status| ["400", "503"].contains(&status.as_str())), "{statuses:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn answers_that_nobody_reads_are_bounded() {
    let (_dir, server) = start_with_words();
    let client = server.client();
    // some 10 MB each
    let body = json!({"query": "aa", "hitsPerPage": 1000}).to_string();
    let headers = format!("{}Content-Length: {}\r\n", credentials(ADMIN_KEY), body.len());
    let mut waiting = vec![];
    let bytes = taken(&server, || {
        for _ in 0..100 {
            waiting.push(begin(&server, "/1/indexes/words/query", &headers, body.as_bytes()));
        }
        std::thread::sleep(Duration::from_secs(5));
    });
    assert!(bytes <= ALL_CALLS, "{} MB", bytes >> 20);
    // others are served meanwhile
    let small =
        client.search("words", &json!({"query": "aa", "hitsPerPage": 1, "attributesToRetrieve": ["n"]}));
    assert_eq!(small.unwrap()["nbHits"], 1_000);
    // the kernel ends the connections in time
    let end = Instant::now() + Duration::from_secs(60);
    while client.post("/1/indexes/words/query", &json!({"query": "aa", "hitsPerPage": 1000})).unwrap().status
        != 200
    {
        assert!(Instant::now() < end, "large answers are refused for ever");
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(waiting);
}

/// The only thread that answers HTTP reads a long body, and others are answered meanwhile.
#[test]
fn reading_a_long_body_keeps_nobody_waiting() {
    // a text is read character by character
    let long = r"\n".repeat(6 << 20);
    let body = format!(r#"{{"requests":[{{"indexName":"i","objectID":"{long}"}}]}}"#);
    keeps_nobody_waiting("/1/indexes/*/objects", &body, 200);
}
/// The same where it is one of several searches that is long.
#[test]
fn reading_a_long_element_keeps_nobody_waiting() {
    let body = format!(r#"{{"requests":[{{"indexName":"i","params":"{}=1"}}]}}"#, "%78".repeat(5 << 20));
    keeps_nobody_waiting("/1/indexes/*/queries", &body, 400);
}

fn keeps_nobody_waiting(path: &str, body: &str, status: u16) {
    let dir = tempfile::tempdir().unwrap();
    let server = Setup::new(dir.path().join("data")).option("workers", "1").start().unwrap();
    let client = server.client();
    client.post("/1/indexes/i", &json!({"objectID": "1"})).unwrap().success().unwrap();
    settle(&client, "i").unwrap();
    let of_calls: Vec<(Duration, Duration)> = (0..8)
        .map(|_| {
            let is_over = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|threads| {
                let others = threads.spawn(|| {
                    let mut longest = Duration::ZERO;
                    while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        let asked = Instant::now();
                        assert_eq!(client.get("/livez").unwrap().status, 200);
                        longest = longest.max(asked.elapsed());
                    }
                    longest
                });
                let asked = Instant::now();
                let answer = client.send("POST", path, Some(body.as_bytes()));
                let took = asked.elapsed();
                is_over.store(true, std::sync::atomic::Ordering::Relaxed);
                let waited = others.join().unwrap();
                let answer = answer.unwrap();
                assert_eq!(answer.status, status, "{}", answer.message());
                (took, waited)
            })
        })
        .collect();
    // whatever else the machine does, one of the calls meets it at rest
    let shortest = of_calls.iter().map(|(took, _)| *took).min().unwrap();
    let waited = of_calls.iter().map(|(_, waited)| *waited).min().unwrap();

    assert!(waited * 4 < shortest, "others waited {waited:?} for a call of {shortest:?}");
}
