//! Are bodies read whatever their type, within their limits, and answers compressed when asked?

use super::*;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::{Read, Write};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
fn post(uri: &str) -> test::TestRequest {
    test::TestRequest::post()
        .uri(uri)
        .insert_header(("X-Algolia-Application-Id", APP))
        .insert_header(("X-Algolia-API-Key", ADMIN))
}

#[actix_web::test]
async fn compressed_bodies_are_read_and_bombs_are_not() {
    let node = Node::start().await;
    let record = gzip(br#"{"objectID":"1","name":"packed"}"#);
    let compressed =
        |bytes: Vec<u8>| post("/1/indexes/i").insert_header(("Content-Encoding", "gzip")).set_payload(bytes);
    let answer = node.send(compressed(record)).await;
    assert_eq!(answer.status, 201);
    node.wait(answer.json()["taskID"].as_u64().unwrap()).await;
    assert_eq!(node.get("/1/indexes/i/1").await["name"], "packed");
    let shouted = post("/1/indexes/i").insert_header(("Content-Encoding", "GZIP")).set_payload(gzip(b"{}"));
    assert_eq!(node.send(shouted).await.status, 201);
    let bomb = gzip(&vec![b' '; BODY_BYTES_MAX + 1]);
    assert!(bomb.len() < 10_000);
    node.send(compressed(bomb)).await.refused(413, "The body is too big: at most 1048576 bytes");
    node.send(compressed(b"no gzip".to_vec())).await.refused(400, "The body is not valid gzip");
    let brotli = post("/1/indexes/i").insert_header(("Content-Encoding", "br")).set_payload("x");
    node.send(brotli).await.refused(400, "Content-Encoding is not supported");
    let plain = post("/1/indexes/i").set_payload(vec![b' '; BODY_BYTES_MAX + 1]);
    node.send(plain).await.refused(413, "The body is too big");
}

#[actix_web::test]
async fn empty_bodies_equal_empty_objects_and_faults_are_400() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"a": 1})).await;
    for uri in ["/1/indexes/i/query", "/1/indexes/i/browse"] {
        assert_eq!(node.call(Method::POST, uri, "").await.success()["nbHits"], 1, "{uri}");
    }
    node.call(Method::POST, "/1/indexes/i/clear", "").await.success();
    for (uri, body, start) in [
        ("/1/indexes/i/query", "{\"query\":", "parse error: EOF"),
        ("/1/indexes/i/query", "query=a", "parse error: expected a JSON object near line:1 column:1"),
        ("/1/indexes/i/query", "[]", "parse error: expected a JSON object"),
        ("/1/indexes/i/query", "{\"nonsense\":1}", "Unknown parameter: nonsense"),
        ("/1/indexes/i/query", "{\"hitsPerPage\":\"many\"}", "Invalid value for \"hitsPerPage\" parameter"),
        ("/1/indexes/i/query", "{\"page\":1e999}", "parse error: number out of range"),
        ("/1/indexes/i", "", ""),
        ("/1/indexes/i", "7", ""),
        ("/1/indexes/i", "{\"a\":NaN}", ""),
        ("/1/indexes/i", "{\"objectID\":[1]}", ""),
        ("/1/indexes/i/batch", "{\"requests\":[{\"action\":\"fly\",\"body\":{}}]}", ""),
        ("/1/indexes/i/batch", "{}", "requests is required"),
        ("/1/indexes/*/objects", "{}", "requests is required"),
        ("/1/indexes/*/queries", "{}", "requests is required"),
        ("/1/indexes/*/queries", "{\"requests\":[],\"strategy\":\"best\"}", "Invalid value for \"strategy\""),
        ("/1/indexes/i/deleteByQuery", "{}", "deleteBy needs at least one filter"),
        ("/1/indexes/i/operation", "{\"operation\":\"copy\"}", "destination is required"),
        ("/1/indexes/i/browse", "{\"cursor\":\"broken\"}", "Invalid value for \"cursor\" parameter"),
    ] {
        node.call(Method::POST, uri, body).await.refused(400, start);
    }
    let long = json!({"query": "x".repeat(513)}).to_string();
    node.call(Method::POST, "/1/indexes/i/query", &long)
        .await
        .refused(400, "Invalid value for \"query\" parameter, expected string shorter than 512 bytes");
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for uri in ["/1/indexes/i/query", "/1/indexes/i", "/1/indexes/i/batch", "/1/indexes/*/queries"] {
        node.call(Method::POST, uri, &deep).await.refused(400, "");
    }
    let invalid_text = post("/1/indexes/i").set_payload(&b"{\"a\":\"\xff\"}"[..]);
    node.send(invalid_text).await.refused(400, "");
    node.call(Method::PUT, "/1/indexes/i/settings", "{\"fly\":1}")
        .await
        .refused(400, "Invalid object attributes: fly");
    let big = json!({"objectID": "b", "text": "x".repeat(1_000)});
    let body =
        node.call(Method::PUT, "/1/indexes/i/b", &big.to_string()).await.refused(400, "Record is too big");
    assert_eq!(body["objectID"], "b");
    let batch = json!({"requests": [{"action": "addObject", "body": big}]}).to_string();
    let body = node
        .call(Method::POST, "/1/indexes/i/batch", &batch)
        .await
        .refused(400, "Record at the position 0 objectID=b is too big size=");
    assert_eq!((&body["position"], &body["objectID"]), (&json!(0), &json!("b")));
}

#[actix_web::test]
async fn long_answers_are_compressed_when_asked() {
    let node = Node::start().await;
    let requests: Vec<Value> = (0..20)
        .map(|n| json!({"action": "addObject", "body": {"objectID": n.to_string(), "text": "same words again ".repeat(10)}}))
        .collect();
    node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": requests})).await;
    let answer = node.send(post("/1/indexes/i/query").insert_header(("Accept-Encoding", "gzip, br"))).await;
    assert_eq!(answer.header("content-encoding"), "gzip");
    let mut text = String::new();
    GzDecoder::new(&answer.bytes[..]).read_to_string(&mut text).unwrap();
    assert!(answer.bytes.len() * 3 < text.len());
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["nbHits"], 20);
    let plain = node.send(post("/1/indexes/i/query")).await;
    assert_eq!((plain.header("content-encoding"), plain.header("vary")), ("", "accept-encoding"));
    plain.success();
}
