//! Do operators see their installation, and do listeners keep to their kind of work?
//!
//! - `GET /admin/cluster`: admin
//! - `GET /admin/cluster/digest`: admin
//! - `POST /admin/nodes/{node}/drain`: admin
//! - `POST /admin/nodes/{node}/undrain`: admin
//! - `POST /admin/nodes/{node}/replace`: admin
//! - `DELETE /admin/nodes/{node}`: admin
//! - `POST /admin/groups/{group}/leader`: admin
//! - `POST /admin/admin-key`: admin
//! - `POST /admin/recover`: admin

use super::*;
use quorate_api::Listener;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[actix_web::test]
async fn one_node_is_an_installation_that_is_settled() {
    let node = Node::start().await;
    let deadline = Instant::now() + Duration::from_secs(60);
    let seen = loop {
        let seen = node.get("/admin/cluster").await;
        if seen["isSettled"] == true {
            break seen;
        }
        assert!(Instant::now() < deadline, "{seen}");
        actix_web::rt::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(seen["appId"], APP);
    let nodes = seen["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 1);
    let own = &nodes[0];
    assert_eq!(own["name"], seen["answeredBy"]);
    assert_eq!((own["state"].as_str(), own["isReachable"].as_bool()), (Some("active"), Some(true)));
    assert_eq!((own["leads"].as_u64(), own["replicas"].as_u64()), (Some(17), Some(17)));
    assert!(own["diskTotalBytes"].as_u64() > own["diskFreeBytes"].as_u64(), "{own}");
    let actors = own["actors"].as_array().unwrap();
    let of = |kind: &str| actors.iter().filter(|actor| actor["kind"] == kind).collect::<Vec<_>>();
    assert_eq!((of("apply").len(), of("user-mapping").len(), of("shard").len()), (17, 1, 0), "{own}");
    assert_eq!((of("apply")[0]["of"].as_str(), of("apply")[0]["lastError"].as_str()), (Some("meta"), None));
    let groups = seen["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 17);
    for group in groups {
        assert_eq!(group["leader"], own["name"], "{group}");
        let replica = &group["replicas"][0];
        assert_eq!((replica["role"].as_str(), replica["hasLease"].as_bool()), (Some("leader"), Some(true)));
        assert!(replica["shown"].as_u64() <= replica["committed"].as_u64(), "{replica}");
    }
    node.call_with(&node.search_key, Method::GET, "/admin/cluster", "")
        .await
        .refused(403, "Method not allowed");
    let plan = node.post("/admin/recover", json!({})).await;
    assert_eq!(plan["message"], "every group has a leader: there is nothing to recover");
}

#[actix_web::test]
async fn what_a_node_holds_is_told_in_hashes() {
    let node = Node::start().await;
    let of = |seen: &Value, index: &str| {
        let groups = seen["groups"].as_array().unwrap();
        let mut indices = groups.iter().flat_map(|group| group["indices"].as_array().unwrap().clone());
        indices.find(|it| it["index"] == index).unwrap()
    };
    for index in ["one", "two"] {
        // the same records in another order, in other segments
        let ids = if index == "one" { ["a", "b"] } else { ["b", "a"] };
        for id in ids {
            node.write(Method::PUT, &format!("/1/indexes/{index}/{id}"), json!({"n": id})).await;
        }
    }
    let seen = node.get("/admin/cluster/digest").await;
    let (one, two) = (of(&seen, "one"), of(&seen, "two"));
    assert_eq!((one["records"].as_u64(), &one["content"]), (Some(2), &two["content"]), "{seen}");
    assert_eq!(one["content"].as_str().map(str::len), Some(32));
    node.write(Method::PUT, "/1/indexes/one/b", json!({"n": "c"})).await;
    let again = node.get("/admin/cluster/digest").await;
    assert_ne!(of(&again, "one")["content"], one["content"]);
    assert_eq!(of(&again, "two"), two);
    node.call_with(&node.search_key, Method::GET, "/admin/cluster/digest", "")
        .await
        .refused(403, "Method not allowed");
}

#[actix_web::test]
async fn changes_that_make_no_sense_are_refused() {
    let node = Node::start().await;
    let name = node.get("/admin/cluster").await["answeredBy"].as_str().unwrap().to_owned();
    let cases = [
        (
            Method::POST,
            "/admin/nodes/n9/drain".to_owned(),
            "",
            404,
            format!("there is no node n9; the nodes are {name}"),
        ),
        (
            Method::POST,
            format!("/admin/nodes/{name}/drain"),
            "",
            400,
            format!("{name} cannot be drained: it is the last"),
        ),
        (
            Method::DELETE,
            format!("/admin/nodes/{name}"),
            "",
            400,
            format!("{name} cannot be removed: it is the last"),
        ),
        (
            Method::DELETE,
            format!("/admin/nodes/{name}?force=yes"),
            "",
            400,
            "Invalid value for \"force\" parameter".into(),
        ),
        (
            Method::POST,
            format!("/admin/nodes/{name}/replace"),
            "",
            400,
            "no node has joined the cluster main after".into(),
        ),
        (
            Method::POST,
            format!("/admin/nodes/{name}/replace"),
            r#"{"with":"n9"}"#,
            404,
            "there is no node n9".into(),
        ),
        (
            Method::POST,
            "/admin/groups/99/leader".into(),
            &format!(r#"{{"node":"{name}"}}"#),
            404,
            "there is no group 99".into(),
        ),
        (
            Method::POST,
            "/admin/groups/x/leader".into(),
            "{}",
            400,
            "Invalid value for \"group\" parameter".into(),
        ),
        (Method::POST, "/admin/groups/1/leader".into(), "{}", 400, "Parameter node is missing".into()),
    ];
    for (method, uri, body, status, start) in cases {
        let answer = node.call(method, &uri, body).await;
        assert_eq!(answer.status.as_u16(), status, "{uri}: {}", String::from_utf8_lossy(&answer.bytes));
        answer.refused(status, &start);
    }
    node.post(&format!("/admin/nodes/{name}/undrain"), json!({})).await;
    node.post("/admin/groups/1/leader", json!({ "node": name })).await;
}

#[actix_web::test]
async fn readiness_is_asked_for_one_kind_of_work() {
    let node = Node::start().await;
    for uri in ["/readyz", "/readyz?for=read", "/readyz?for=write", "/readyz?writes=true", "/livez"] {
        node.get(uri).await;
    }
    node.call(Method::GET, "/readyz?for=all", "")
        .await
        .refused(400, "Invalid value for \"for\" parameter, expected read or write");
}

/// One request on a connection of its own; its status and body.
fn exchange(address: SocketAddr, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let credentials = format!("X-Algolia-Application-Id: {APP}\r\nX-Algolia-API-Key: {ADMIN}\r\n");
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{credentials}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    (status, text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap())
}

#[actix_web::test]
async fn listeners_keep_to_their_kind_of_work() {
    let node = Node::start().await;
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let kinds = [Listener::Read, Listener::Write, Listener::Operate];
    let options = ServerOptions { split: kinds.map(|kind| (kind, any)).to_vec(), ..node.options() };
    let bound = quorate_api::server(options).unwrap();
    let handle = bound.server.handle();
    let [read, write, operate] = [0, 1, 2].map(|at: usize| bound.split[at].1);
    let everything = bound.address;
    let running = actix_rt::spawn(bound.server);
    let calls = actix_rt::task::spawn_blocking(move || {
        let put = |at| exchange(at, "PUT /1/indexes/i/o", r#"{"a":1}"#);
        let (status, body) = put(read);
        assert_eq!(status, 403, "{body}");
        let right =
            format!("belongs to writes, which {write} (--write-listen) and {everything} (--listen) take");
        assert!(body.contains("This address takes reads only") && body.contains(&right), "{body}");
        assert_eq!(put(operate).0, 403);
        assert_eq!((put(write).0, put(everything).0), (201, 201));
        let query = |at| exchange(at, "POST /1/indexes/i/query", "{}").0;
        // an index that was made just now is found once its first write is published
        let deadline = Instant::now() + Duration::from_secs(30);
        while query(everything) == 404 {
            assert!(Instant::now() < deadline, "the write is not published in time");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!([read, write, operate, everything].map(query), [200, 403, 403, 200]);
        let cluster = |at| exchange(at, "GET /admin/cluster", "").0;
        assert_eq!([read, write, operate, everything].map(cluster), [403, 403, 200, 200]);
        let task = |at| exchange(at, "GET /1/indexes/i/task/1", "").0;
        assert_eq!([read, write, operate, everything].map(task), [200, 200, 403, 200]);
        for path in ["/readyz", "/livez", "/readyz?for=write"] {
            let ready = |at| exchange(at, &format!("GET {path}"), "").0;
            assert_eq!([read, write, operate, everything].map(ready), [200; 4], "{path}");
        }
    });
    let outcome = calls.await;
    handle.stop(true).await;
    running.await.unwrap().unwrap();
    outcome.unwrap();
}
