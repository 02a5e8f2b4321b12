//! Do queries that are typed letter by letter, at several nodes in turn, become the searches that were meant, whatever dies then?

use quorate_tests::client::Client;
use quorate_tests::cluster::Cluster;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const INDEX: &str = "products";
/// What each user means, one after the other.
const MEANT: [(&str, [&str; 2]); 3] = [
    ("ann", ["red shoes", "table lamp"]),
    ("bob", ["running shoes", "red shoes"]),
    ("cat", ["umbrella", "running shoes"]),
];
/// How long a user looks at results before going on: longer than whoever is still typing.
const LOOKS: Duration = Duration::from_millis(2_200);
/// Between two letters. What different nodes serve within one millisecond has no order, and nobody types that fast.
const LETTER: Duration = Duration::from_millis(20);
/// Between a result that is seen and a click, and between the click and the next letter.
const CLICK: Duration = Duration::from_millis(700);
/// How long it may take until searches show in figures.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);

fn type_letters(nodes: &[Client], user: &str, text: &str) {
    for end in 1..=text.len() {
        std::thread::sleep(LETTER);
        let params = json!({"query": &text[..end], "userToken": user, "clickAnalytics": true});
        let node = &nodes[end % nodes.len()];
        node.post(&format!("/1/indexes/{INDEX}/query"), &params).unwrap().success().unwrap();
    }
}
/// Types at one node, tells another one of a click, and goes on long before what was clicked has stood for two seconds.
fn click_at_another_node(nodes: &[Client], user: &str, [clicked, next]: [&str; 2]) {
    let search = |query: &str| {
        let params = json!({"query": query, "userToken": user, "clickAnalytics": true});
        nodes[0].post(&format!("/1/indexes/{INDEX}/query"), &params).unwrap().success().unwrap().body
    };
    let found = search(clicked);
    std::thread::sleep(CLICK);
    let event = json!({"eventType": "click", "eventName": "Clicked", "index": INDEX, "userToken": user,
        "queryID": found["queryID"], "objectIDs": ["1"], "positions": [1]});
    nodes[1].post("/1/events", &json!({"events": [event]})).unwrap().success().unwrap();
    std::thread::sleep(CLICK);
    search("");
    search(next);
}
/// Queries with how often they were searched, as a node says.
fn figures(node: &Client) -> Option<Value> {
    let answer =
        node.get(&format!("/2/searches?index={INDEX}")).ok().filter(|answer| answer.status == 200)?;
    let searches = answer.body["searches"].as_array()?.iter();
    Some(searches.map(|of| json!([of["search"], of["count"]])).collect())
}
fn wait_for(node: &Client, expected: &Value) {
    let deadline = Instant::now() + SHOWN_WITHIN;
    while figures(node).as_ref() != Some(expected) {
        assert!(Instant::now() < deadline, "{:?}, expected {expected}", figures(node));
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn what_is_typed_at_three_nodes_in_turn_is_what_was_meant() {
    let mut cluster = Cluster::start(3).unwrap();
    let nodes = cluster.clients();
    let record = json!({"objectID": "1", "name": "red shoes"});
    let task = nodes[0].batch(INDEX, &[("addObject", record)]).unwrap();
    cluster.wait_task(INDEX, task).unwrap();
    std::thread::scope(|threads| {
        for (user, meant) in MEANT {
            let nodes = &nodes;
            threads.spawn(move || {
                for text in meant {
                    type_letters(nodes, user, text);
                    std::thread::sleep(LOOKS);
                }
            });
        }
        threads.spawn(|| click_at_another_node(&nodes, "dan", ["table lamp", "umbrella"]));
    });
    let expected = json!([["red shoes", 2], ["running shoes", 2], ["table lamp", 2], ["umbrella", 2]]);
    for node in &nodes {
        wait_for(node, &expected);
    }
    let users = nodes[2].get(&format!("/2/users/count?index={INDEX}")).unwrap().success().unwrap();
    assert_eq!(users.body["count"], 4);
    cluster.kill(0).unwrap();
    for node in &nodes[1..] {
        wait_for(node, &expected);
    }
}

/// What a user has searched is held for some seconds, and proposed every second: whoever is forgotten then is in no figure, whichever node
/// has heard of it first.
#[test]
fn who_is_forgotten_while_searches_are_on_their_way_is_in_no_figure() {
    const USERS: u64 = 60;
    let cluster = Cluster::start(3).unwrap();
    let nodes = cluster.clients();
    let task =
        nodes[0].batch(INDEX, &[("addObject", json!({"objectID": "1", "name": "red shoes"}))]).unwrap();
    cluster.wait_task(INDEX, task).unwrap();
    let search = |node: &Client, user: &str| {
        let params = json!({"query": "red shoes", "userToken": user});
        node.post(&format!("/1/indexes/{INDEX}/query"), &params).unwrap().success().unwrap();
    };
    std::thread::scope(|threads| {
        for number in 0..USERS {
            let (nodes, search) = (&nodes, &search);
            threads.spawn(move || {
                let (user, place) = (format!("gone{number}"), number as usize % nodes.len());
                std::thread::sleep(Duration::from_millis(30 * number));
                search(&nodes[place], &user);
                // searches count five seconds after the last letter
                std::thread::sleep(Duration::from_millis(5_400 + 300 * number / USERS));
                let other = &nodes[(place + number as usize / nodes.len() % 2) % nodes.len()];
                assert_eq!(other.delete(&format!("/1/usertokens/{user}")).unwrap().status, 204);
            });
        }
    });
    search(&nodes[0], "stays");
    let users = |node: &Client| {
        let answer = node.get(&format!("/2/users/count?index={INDEX}")).unwrap();
        if answer.status == 200 { answer.body["count"].clone() } else { Value::Null }
    };
    // by the time that this search counts the others are in the log
    let deadline = Instant::now() + SHOWN_WITHIN;
    std::thread::sleep(Duration::from_secs(9));
    for node in &nodes {
        while users(node) != json!(1) {
            assert!(Instant::now() < deadline, "{} users", users(node));
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
