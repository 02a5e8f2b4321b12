//! Does every node show the suggestions that another one has built, and are they whole when the one that builds them dies?

use quorate_tests::cluster::{AnyNode, Cluster, count_of};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Queries of the external index. Each is searched three times: they are only found misspelt.
const ASKED: usize = 600;

fn state(nodes: &AnyNode) -> Value {
    let answer = nodes.send("GET", "/1/configs/suggested/status", &Value::Null).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}
/// Waits until nothing is to be built; each number of suggestions that was seen meanwhile.
fn built(nodes: &mut AnyNode) -> Vec<u64> {
    let (deadline, mut seen) = (Instant::now() + Duration::from_secs(60), vec![]);
    loop {
        nodes.turn();
        let found = nodes.post("/1/indexes/suggested/query", &json!({"hitsPerPage": 0})).unwrap();
        seen.extend(found.body["nbHits"].as_u64());
        let state = state(nodes);
        if state["isRunning"] == false {
            assert_eq!(state["lastBuiltAt"], state["lastSuccessfulBuiltAt"], "{state}");
            return seen;
        }
        assert!(Instant::now() < deadline, "not built in time: {state}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
fn configure(nodes: &AnyNode, external: &[&str]) {
    let source =
        json!({"indexName": "shop", "minHits": 2, "generate": [["color", "kind"]], "external": external});
    let answer = nodes.send("PUT", "/1/configs/suggested", &json!({"sourceIndices": [source]})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
}
/// Who leads the group of the suggestions index, and so builds it.
fn builder(nodes: &AnyNode) -> usize {
    let nothing = nodes.post("/1/indexes/suggested/batch", &json!({"requests": []})).unwrap();
    let group = nothing.task_id().unwrap() & 0xfff;
    let overview = nodes.send("GET", "/admin/cluster", &Value::Null).unwrap().body;
    let groups = overview["groups"].as_array().unwrap();
    let found = groups.iter().find(|it| it["id"] == group).unwrap_or_else(|| panic!("{group} in {overview}"));
    let name = found["leader"].as_str().expect("a leader");
    name.trim_start_matches('n').parse().expect("a node")
}

#[test]
fn suggestions_are_whole_on_every_node_when_the_one_that_builds_them_dies() {
    let mut cluster = Cluster::start(3).unwrap();
    let mut nodes = cluster.any();
    let facets = json!({"attributesForFaceting": ["color", "kind"]});
    nodes.send("PUT", "/1/indexes/shop/settings", &facets).unwrap();
    let record = |number: usize| {
        let (color, kind) = (["red", "blue"][number % 2], ["lamp", "desk", "chair"][number % 3]);
        json!({"action": "addObject", "body": {"objectID": number.to_string(), "color": color, "kind": kind,
            "name": format!("{color} {kind}")}})
    };
    let asked = |number: usize| {
        let query = format!("blue lamq{number}x");
        json!({"action": "addObject", "body": {"objectID": number.to_string(), "query": query, "count": 1}})
    };
    let good = json!({"action": "addObject", "body": {"objectID": "good", "query": "Chair", "count": 7}});
    for (index, requests) in [
        ("shop", (0..24).map(record).collect::<Vec<_>>()),
        ("asked", (0..ASKED).map(asked).collect()),
        ("good", vec![good]),
    ] {
        let answer =
            nodes.post(&format!("/1/indexes/{index}/batch"), &json!({ "requests": requests })).unwrap();
        nodes.wait_task(index, answer.body["taskID"].as_u64().unwrap()).unwrap();
    }
    configure(&nodes, &[]);
    built(&mut nodes);
    cluster.wait_count("suggested", 6).unwrap();
    for client in cluster.clients() {
        let log = client.get("/1/logs/suggested?x-algolia-agent=test").unwrap();
        let lines = log.body.as_array().expect("a list");
        assert_eq!(lines.last().unwrap()["message"], "6 suggestions", "{}", log.body);
    }
    let builder = builder(&nodes);
    configure(&nodes, &["asked", "good"]);
    // once it is at it
    std::thread::sleep(Duration::from_millis(250));
    cluster.kill(builder).unwrap();
    let mut others = cluster.without(builder);
    let seen = built(&mut others);
    assert!(seen.iter().all(|count| [6, 7].contains(count)), "the old ones or the new ones: {seen:?}");
    cluster.restart(builder).unwrap();
    cluster.wait_count("suggested", 7).unwrap();
    let client = &cluster.clients()[builder];
    let chair = client.get("/1/indexes/suggested/chair").unwrap().body;
    assert_eq!((&chair["popularity"], &chair["shop"]["exact_nb_hits"]), (&json!(7), &json!(8)), "{chair}");
    assert_eq!(count_of(client, "suggested"), Some(7));
    cluster.check_alike().unwrap();
}
