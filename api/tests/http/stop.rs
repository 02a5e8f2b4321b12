//! Does a listener take real connections, names in raw paths, and stop without cutting anybody off?

use super::*;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// One request on a connection that stays open; reads the head and as much body as it announces.
fn exchange(stream: &mut TcpStream, head: &str) -> String {
    let credentials = format!("Host: x\r\nX-Algolia-Application-Id: {APP}\r\nX-Algolia-API-Key: {ADMIN}\r\n");
    stream.write_all(format!("{head} HTTP/1.1\r\n{credentials}\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    let mut piece = [0u8; 4_096];
    loop {
        let read = stream.read(&mut piece).unwrap();
        assert_ne!(read, 0, "the connection ended within an answer");
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.trim().parse::<usize>().unwrap()) {
            return text;
        }
    }
}

#[actix_web::test]
async fn idle_connections_do_not_hold_a_graceful_stop() {
    let node = Node::start().await;
    let bound = quorate_api::server(node.options()).unwrap();
    let (handle, address) = (bound.server.handle(), bound.address);
    let running = actix_rt::spawn(bound.server);
    let client = actix_rt::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let alive = exchange(&mut stream, "GET /livez");
        let missing = exchange(&mut stream, "GET /1/indexes/a%2Fb%20c/settings");
        (stream, alive, missing)
    });
    let (mut stream, alive, missing) = client.await.unwrap();
    assert!(alive.starts_with("HTTP/1.1 200"), "{alive}");
    assert!(missing.contains("Index a/b c does not exist"), "{missing}");
    let stopped = actix_rt::time::timeout(Duration::from_secs(10), handle.stop(true)).await;
    assert!(stopped.is_ok(), "an idle connection must not hold the stop");
    running.await.unwrap().unwrap();
    let mut rest = Vec::new();
    assert_eq!(stream.read_to_end(&mut rest).unwrap(), 0, "the connection is closed");
    assert!(TcpStream::connect(address).is_err());
}
