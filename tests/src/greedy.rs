//! What does a caller send who wants to take more of a node than a call may?

use crate::chance::Chance;
use crate::harness::APP_ID;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A search whose marks are longer than what they mark.
pub fn marked(query: &str, tag_bytes: usize) -> Value {
    let tag = "t".repeat(tag_bytes);
    json!({
        "query": query, "hitsPerPage": 1000, "highlightPreTag": tag, "highlightPostTag": tag, "attributesToHighlight": ["*"],
    })
}

/// A search that takes as long as one may where there are many places: [`in_polygons`] of the largest kind.
pub fn large_polygon() -> Value {
    in_polygons(4, 10_000)
}

/// A search in polygons of so many corners around the whole earth but for the quarter that is north and east of zero: a
/// record there has to be compared with every side, and is not found.
pub fn in_polygons(polygons: usize, corners: usize) -> Value {
    let point = |n: usize| {
        let angle = (0.25 + 0.75 * n as f64 / corners as f64) * std::f64::consts::TAU;
        [80.0 * angle.sin(), 170.0 * angle.cos()].map(|it| (it * 1_000.0).round() / 1_000.0)
    };
    let around = (0..corners - 1).flat_map(point).chain([-0.1, -0.1]);
    let polygon: Vec<f64> = around.collect();
    json!({"query": "", "insidePolygon": vec![polygon; polygons]})
}

/// Text of so many bytes that takes many times as much when it is read as a tree of values.
pub fn tree(bytes: usize) -> Vec<u8> {
    let mut body = br#"{"x":["#.to_vec();
    while body.len() < bytes - 16 {
        body.extend_from_slice(br#"{"":0},"#);
    }
    body.extend_from_slice(b"0]}");
    body
}

/// These bytes, compressed.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory takes what is written");
    encoder.finish().expect("memory takes what is written")
}

/// Lines of a head that show a key.
pub fn credentials(key: &str) -> String {
    format!("X-Algolia-Application-Id: {APP_ID}\r\nX-Algolia-API-Key: {key}\r\n")
}

/// Sends the head of a call, and a body, and returns the connection.
pub fn begin(address: &str, path: &str, headers: &str, body: &[u8]) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    Ok(stream)
}

/// One call of somebody who has the public search key and wants to do harm to `index`.
///
/// Returns the status of the answer; `None` when nobody waits for it, or the node is away.
pub fn harm(address: &str, key: &str, index: &str, chance: &mut Chance) -> Option<u16> {
    let path = format!("/1/indexes/{index}/query");
    let send = |path: &str, body: &[u8], more: &str| {
        let headers = format!("{}{more}Content-Length: {}\r\n", credentials(key), body.len());
        begin(address, path, &headers, body)
    };
    let polygon = || large_polygon().to_string().into_bytes();
    let waited_for = match chance.below(11) {
        0 => send(&path, &polygon(), ""),
        1 => send(&path, marked("lamp", 500).to_string().as_bytes(), ""),
        2 => send(&path, &gzip(&tree(1 << 20)), "Content-Encoding: gzip\r\n"),
        3 => {
            let mut query = marked("lamp", 300);
            query["indexName"] = index.into();
            send("/1/indexes/*/queries", json!({"requests": vec![query; 50]}).to_string().as_bytes(), "")
        }
        4 => {
            let anything = json!({"query": "a b c d e f g h i j", "removeWordsIfNoResults": "allOptional", "facets": ["*"],
                "hitsPerPage": 1000, "typoTolerance": true, "attributesToSnippet": ["*:1000"]});
            send(&path, anything.to_string().as_bytes(), "")
        }
        5 => {
            // hangs up in the middle of the work
            let begun = send(&path, &polygon(), "");
            std::thread::sleep(Duration::from_millis(50));
            drop(begun);
            return None;
        }
        6 => {
            // asks for much and reads nothing of it
            let begun = send(&path, json!({"query": "lamp", "hitsPerPage": 1000}).to_string().as_bytes(), "");
            std::thread::sleep(Duration::from_secs(2));
            drop(begun);
            return None;
        }
        7 => {
            let text = String::from_utf8_lossy(&tree(900_000)).into_owned();
            send(&path, json!({"insidePolygon": text}).to_string().as_bytes(), "")
        }
        8 => {
            let asked = json!({"facetQuery": "a", "maxFacetHits": 100, "query": ""}).to_string();
            send(&format!("/1/indexes/{index}/facets/colour/query"), asked.as_bytes(), "")
        }
        9 => {
            // reads some bytes now and then
            let asked = json!({"query": "lamp", "hitsPerPage": 1000}).to_string();
            let begun = send(&path, asked.as_bytes(), "");
            for _ in 0..20 {
                std::thread::sleep(Duration::from_millis(100));
                let _nothing_yet = begun.as_ref().map(|mut stream| stream.read(&mut [0; 16]));
            }
            return None;
        }
        _ => {
            // shows no key, and never sends the body that it promises
            let head = format!("X-Algolia-Application-Id: {APP_ID}\r\nContent-Length: 900000\r\n");
            let begun = begin(address, &path, &head, b"{");
            std::thread::sleep(Duration::from_secs(1));
            drop(begun);
            return None;
        }
    };
    waited_for.and_then(status).ok()
}

/// The status of the answer.
fn status(mut stream: TcpStream) -> Result<u16> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut line = [0; 12];
    stream.read_exact(&mut line)?;
    let mut rest = [0; 64 << 10];
    while stream.read(&mut rest).is_ok_and(|bytes| bytes > 0) {
        // one that keeps its connection sends nothing more after a while
        stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    }
    std::str::from_utf8(&line[9..])?.parse().context("a status")
}
