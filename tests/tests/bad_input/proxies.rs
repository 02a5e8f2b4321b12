//! Whose address is a caller's behind proxies, for keys of some sources and for limits by address?

use super::crowds::connect_from;
use super::*;
use quorate_tests::greedy::credentials;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// An address of this machine that nobody trusts.
const STRANGER: [u8; 4] = [127, 0, 0, 9];
/// One of a trusted proxy.
const PROXY: [u8; 4] = [127, 0, 0, 2];
/// What is trusted.
const TRUSTED: &str = "127.0.0.2, 10.0.0.0/8, 2001:db8:ffff::/48";

/// A call by a connection that is there.
fn post(stream: &mut TcpStream, path: &str, key: &str, forwarded: &[&str], body: &str) -> (String, String) {
    let headers: String = forwarded.iter().map(|value| format!("X-Forwarded-For: {value}\r\n")).collect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\n{}{headers}Content-Length: {}\r\n\r\n{body}",
        credentials(key),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let (mut answer, mut part) = (vec![], [0; 4_096]);
    while !answer.ends_with(b"}") {
        let bytes = stream.read(&mut part).unwrap();
        assert!(bytes > 0, "the connection was closed: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&part[..bytes]);
    }
    let text = String::from_utf8_lossy(&answer);
    (text[9..12].to_owned(), text.split_once("\r\n\r\n").unwrap().1.to_owned())
}
fn search(stream: &mut TcpStream, key: &str, forwarded: &[&str]) -> String {
    post(stream, "/1/indexes/books/query", key, forwarded, "{}").0
}

/// A node behind proxies.
struct Behind(Server);
impl Behind {
    /// A call by a connection of its own; the status of a search.
    fn asked(&self, from: [u8; 4], key: &str, forwarded: &[&str]) -> String {
        search(&mut connect_from(from, self.0.address()).unwrap(), key, forwarded)
    }
    /// A new key; who makes one for some sources has to be there.
    fn key(&self, body: &serde_json::Value) -> String {
        let mut stream = connect_from(PROXY, self.0.address()).unwrap();
        let (status, made) = post(&mut stream, "/1/keys", ADMIN_KEY, &["203.0.113.7"], &body.to_string());
        assert!(status.starts_with("20"), "{status}: {made}");
        serde_json::from_str::<serde_json::Value>(&made).unwrap()["key"].as_str().unwrap().to_owned()
    }
}

#[test]
fn who_calls_is_believed_of_trusted_proxies_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(dir.path().join("data")).option("trusted-proxies", TRUSTED);
    // 512 connections, half of them for an address
    setup.within = ["prlimit", "--nofile=1024:1024", "--"].map(str::to_owned).to_vec();
    let behind = Behind(setup.start().unwrap());
    let client = behind.0.client();
    client.post("/1/indexes/books", &json!({"objectID": "1"})).unwrap().success().unwrap();
    settle(&client, "books").unwrap();
    check_sources(&behind);
    check_limits(&behind);
    // many callers come from a proxy: it has no bound of its own
    let connect = |_| connect_from(PROXY, behind.0.address()).unwrap();
    let mut streams: Vec<TcpStream> = (0..300).map(connect).collect();
    for stream in &mut streams {
        assert_eq!(search(stream, ADMIN_KEY, &["203.0.113.9"]), "200");
    }
    // and the log names who called
    let log = behind.0.log();
    assert!(log.contains("client=203.0.113.9"), "{log}");
}

fn check_sources(behind: &Behind) {
    // an office, and the proxy that stands in it
    let sources = "restrictSources=203.0.113.0%2F24%2C2001%3Adb8%3A1%3A%3A%2F48%2C127.0.0.2";
    let office = behind.key(&json!({"acl": ["search"], "queryParameters": sources}));
    for (from, forwarded, is_allowed) in [
        (STRANGER, &[][..], false),
        (STRANGER, &["203.0.113.7"], false),
        (STRANGER, &["203.0.113.7, 127.0.0.2"], false),
        (PROXY, &[], true),
        (PROXY, &["203.0.113.7"], true),
        (PROXY, &["198.51.100.1"], false),
        // what stands before the last who is no proxy may be invented
        (PROXY, &["203.0.113.7, 198.51.100.1"], false),
        (PROXY, &["198.51.100.1, 203.0.113.7"], true),
        (PROXY, &["203.0.113.7", "198.51.100.1"], false),
        (PROXY, &["198.51.100.1", "203.0.113.7"], true),
        // several proxies, each of which is known
        (PROXY, &["203.0.113.7, 10.1.1.1"], true),
        (PROXY, &["203.0.113.7, 10.1.1.1", "10.2.2.2,127.0.0.2"], true),
        (PROXY, &["203.0.113.7, 192.168.1.1, 10.1.1.1"], false),
        (PROXY, &["198.51.100.1, 203.0.113.7, 10.1.1.1"], true),
        // what is no address
        (PROXY, &["203.0.113.7, unknown"], false),
        (PROXY, &["203.0.113.7,"], false),
        (PROXY, &["unknown, 203.0.113.7"], true),
        (PROXY, &["unknown, 198.51.100.1"], false),
        (PROXY, &["\u{e9}, 198.51.100.1"], false),
        (PROXY, &["198.51.100.1, \u{e9}"], false),
        (PROXY, &["203.0.113.7:4711"], true),
        (PROXY, &["[2001:db8:1::9]:4711"], true),
        // both kinds of addresses
        (PROXY, &["2001:db8:1::9"], true),
        (PROXY, &["2001:db8:2::9"], false),
        (PROXY, &["2001:db8:1::9, 2001:db8:ffff::1"], true),
        (PROXY, &["2001:db8:1::9, 2001:db8:fffe::1"], false),
        (PROXY, &["::ffff:203.0.113.7"], true),
        (PROXY, &["::203.0.113.7"], false),
    ] {
        let expected = if is_allowed { "200" } else { "403" };
        assert_eq!(behind.asked(from, &office, forwarded), expected, "{from:?} {forwarded:?}");
    }
}

/// Calls are counted for whoever the proxy names, and for the peer when anybody else does.
fn check_limits(behind: &Behind) {
    for (from, callers, expected) in [
        (STRANGER, ["203.0.113.1", "203.0.113.2", "203.0.113.3"], ["200", "200", "429"]),
        (PROXY, ["203.0.113.1", "203.0.113.2", "203.0.113.1"], ["200", "200", "200"]),
        (PROXY, ["203.0.113.1", "203.0.113.1", "203.0.113.1"], ["200", "200", "429"]),
        (PROXY, ["1.1.1.1, 203.0.113.1", "2.2.2.2, 203.0.113.1", "203.0.113.1"], ["200", "200", "429"]),
        // in 64 bits of them anybody has as many addresses as they like
        (PROXY, ["2001:db8:1::1", "2001:db8:1::2", "2001:db8:1:0:3:4:5:6"], ["200", "200", "429"]),
        (PROXY, ["2001:db8:1::1", "2001:db8:1::2", "2001:db8:1:1::3"], ["200", "200", "200"]),
    ] {
        let limited = behind.key(&json!({"acl": ["search"], "maxQueriesPerIPPerHour": 2}));
        let statuses = callers.map(|caller| behind.asked(from, &limited, &[caller]));
        assert_eq!(statuses, expected, "{from:?} {callers:?}");
    }
}
