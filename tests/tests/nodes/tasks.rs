//! Who waits for the last task of an index has waited for all of them, whatever it was, on every node; and a name that another index is
//! moved to shows never a part of it.

use quorate_tests::client::Client;
use quorate_tests::cluster::Cluster;
use quorate_tests::harness::Setup;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

const BATCHES: u64 = 6;
const RECORDS: u64 = 400;

/// Writes records without waiting, some of which replace those of the round before.
fn write(client: &Client, index: &str, round: u64) {
    for batch in 0..BATCHES {
        let put = |number: u64| {
            let id = batch * RECORDS + number;
            let text = format!("a lamp of round {round} with number {id}");
            json!({"action": "addObject", "body": {"objectID": format!("r{id}"), "text": text, "round": round}})
        };
        let requests: Vec<Value> = (0..RECORDS).map(put).collect();
        let path = format!("/1/indexes/{index}/batch");
        client.post(&path, &json!({"requests": requests})).unwrap().success().unwrap();
    }
}
fn count(client: &Client, index: &str, round: u64) -> u64 {
    let params = json!({"numericFilters": [format!("round={round}")], "hitsPerPage": 0});
    client.search(index, &params).unwrap()["nbHits"].as_u64().unwrap()
}

/// Calls that change no records, each of which is the last one of a round.
fn last_calls(index: &str) -> Vec<(&'static str, String, Value)> {
    let rule = json!({"objectID": "rule", "consequence": {"params": {"page": 0}}});
    let synonym = json!({"objectID": "same", "type": "synonym", "synonyms": ["lamp", "light"]});
    vec![
        ("POST", format!("/1/indexes/{index}/rules/batch"), json!([rule])),
        ("PUT", format!("/1/indexes/{index}/synonyms/same?forwardToReplicas=true"), synonym),
        ("POST", format!("/1/indexes/{index}/synonyms/clear"), json!({})),
        ("PUT", format!("/1/indexes/{index}/settings"), json!({"hitsPerPage": 7})),
        (
            "POST",
            "/1/indexes/other/operation".to_owned(),
            json!({"operation": "copy", "destination": index, "scope": ["rules"]}),
        ),
        ("DELETE", format!("/1/indexes/{index}/rules/rule"), Value::Null),
        (
            "POST",
            format!("/1/indexes/{index}/operation"),
            json!({"operation": "copy", "destination": "copied"}),
        ),
    ]
}

fn check_order(writes: &Client, reads: &[Client], names: &[&str]) {
    writes.put("/1/indexes/other/a", &json!({"n": 1})).unwrap().success().unwrap();
    for (round, (method, path, body)) in (0..).zip(last_calls("things")) {
        write(writes, "things", round);
        let body = (!body.is_null()).then(|| serde_json::to_vec(&body).unwrap());
        let answer = writes.send(method, &path, body.as_deref()).unwrap().success().unwrap();
        let task = answer.task_id().unwrap();
        writes.wait_task("things", task).unwrap();
        for (client, name) in reads.iter().flat_map(|client| names.iter().map(move |name| (client, name))) {
            assert_eq!(count(client, name, round), BATCHES * RECORDS, "{method} {path}: {name}");
        }
        let state = writes.get(&format!("/1/indexes/things/task/{task}")).unwrap().body;
        assert_eq!(state, json!({"status": "published", "pendingTask": false}), "{method} {path}");
    }
}

#[test]
fn the_last_task_of_an_index_is_published_after_those_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).start().unwrap();
    let client = server.client();
    check_order(&client, &[server.client()], &["things"]);
    // an earlier one says that there are more
    write(&client, "things", 100);
    let first = client.put("/1/indexes/things/one", &json!({"round": 101})).unwrap().success().unwrap();
    write(&client, "things", 102);
    let path = format!("/1/indexes/things/task/{}", first.task_id().unwrap());
    loop {
        let state = client.get(&path).unwrap().body;
        let others = client.get("/1/indexes").unwrap().body["items"].to_string();
        if state["status"] == "published" {
            let has_more = others.contains("\"pendingTask\":true");
            assert!(state["pendingTask"] == true || !has_more, "{state} {others}");
            break;
        }
        assert_eq!(state["pendingTask"], true, "{state}");
    }
}

#[test]
fn the_last_task_is_published_on_all_nodes_after_those_before_it() {
    let cluster = Cluster::start(3).unwrap();
    let clients = cluster.clients();
    let replicas = json!({"replicas": ["things_by_round"]});
    let made = clients[1].put("/1/indexes/things/settings", &replicas).unwrap().success().unwrap();
    clients[1].wait_task("things", made.task_id().unwrap()).unwrap();
    check_order(&clients[1], &clients, &["things", "things_by_round"]);
}

#[test]
fn a_moved_index_never_shows_a_part_of_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).start().unwrap();
    let client = server.client();
    write(&client, "live", 0);
    let move_over = |round: u64| {
        write(&client, "next", round);
        let body = json!({"operation": "move", "destination": "live"});
        let moved = client.post("/1/indexes/next/operation", &body).unwrap().success().unwrap();
        let task = moved.task_id().unwrap();
        client.wait_task("live", task).unwrap();
        assert_eq!(count(&client, "live", round), BATCHES * RECORDS);
    };
    move_over(1);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let client = server.client();
            let mut seen = vec![];
            while !is_over.load(Ordering::Relaxed) {
                seen.push(client.search("live", &json!({"hitsPerPage": 0})).unwrap()["nbHits"].as_u64());
            }
            seen
        });
        (2..5).for_each(move_over);
        is_over.store(true, Ordering::Relaxed);
        let seen = reader.join().unwrap();
        assert!(seen.len() > 10 && seen.iter().all(|it| *it == Some(BATCHES * RECORDS)), "{seen:?}");
    });
}
