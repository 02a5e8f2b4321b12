//! Do real programs of every command level hold the same when they run together, upgraded one after another and back?
//!
//! A long test: `tests/earlier/build.sh FOLDER` builds the earlier programs, `QUORATE_EARLIER=FOLDER` names them, and
//! `QUORATE_MIXED_SECONDS` says how long each mixture runs (10 by default). Without the programs it says that it is skipped. What a
//! program does not know yet it refuses; only what was answered counts.

use quorate_tests::client::Client;
use quorate_tests::cluster::{AnyNode, Cluster};
use quorate_tests::events;
use quorate_tests::skipped::leave_out;
use quorate_tests::wait::wait_until;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const PATIENCE: Duration = Duration::from_secs(120);

const NODES: usize = 3;
/// The level of the program under test.
const NEWEST: u64 = quorate_model::level::NEWEST as u64;

/// The programs of a level, if they have been built.
fn earlier(level: usize) -> Option<PathBuf> {
    let found = std::env::var_os("QUORATE_EARLIER")
        .map(|folder| PathBuf::from(folder).join(format!("level-{level}")));
    let found = found.filter(|program| program.exists());
    if found.is_none() {
        leave_out(&format!(
            "QUORATE_EARLIER names no folder with a program of level {level} (tests/earlier/build.sh makes it)"
        ));
    }
    found
}
fn pause() -> Duration {
    let seconds = std::env::var("QUORATE_MIXED_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(10))
}

/// Clients at work on an installation whose nodes come and go.
struct Load {
    nodes: RwLock<AnyNode>,
    is_over: AtomicBool,
    /// The ids of records whose writes were answered.
    kept: Mutex<BTreeSet<String>>,
    /// The records of events that were answered.
    seen: Mutex<BTreeSet<String>>,
    /// Calls of what came with later programs that were answered.
    later: AtomicUsize,
    done: AtomicUsize,
    refused: AtomicUsize,
}

impl Load {
    fn new(cluster: &Cluster) -> Load {
        Load {
            nodes: RwLock::new(cluster.any()),
            is_over: AtomicBool::new(false),
            kept: Mutex::default(),
            seen: Mutex::default(),
            later: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        }
    }
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }
    /// Asks the nodes in turn, from another one on each time. Returns whether one took it; a 4xx is an answer, too.
    fn ask(&self, method: &str, path: &str, body: &Value) -> bool {
        let mut nodes = self.nodes.read().unwrap().clone();
        (0..self.done.load(Ordering::Relaxed) % NODES).for_each(|_| nodes.turn());
        let took = nodes.send(method, path, body).is_ok_and(|answer| answer.status < 300);
        let counted = if took { &self.done } else { &self.refused };
        counted.fetch_add(1, Ordering::Relaxed);
        if !took {
            std::thread::sleep(Duration::from_millis(20));
        }
        took
    }
    /// Adds records that nobody removes.
    fn add(&self, writer: usize) {
        let mut number = 0;
        while self.goes_on() {
            let ids: Vec<String> = (0..5).map(|at| format!("w{writer}-{}", number + at)).collect();
            let record = |id: &String| json!({"action": "addObject", "body": {"objectID": id, "name": format!("thing {id}"), "brand": format!("b{}", id.len()), "price": number % 100}});
            let requests: Vec<Value> = ids.iter().map(record).collect();
            if self.ask("POST", "/1/indexes/kept/batch", &json!({"requests": requests})) {
                self.kept.lock().unwrap().extend(ids);
            }
            number += 5;
        }
    }
    /// Changes everything else, one after another.
    fn change(&self) {
        let mut round = 0_usize;
        while self.goes_on() {
            let index = format!("churn{}", round % 3);
            let at = |rest: &str| format!("/1/indexes/{index}/{rest}");
            let id = format!("c{}", round % 50);
            let words = ["lamp", "chair", "table"];
            let word = words[round % 3];
            self.ask("POST", &at("batch"), &json!({"requests": [
                {"action": "addObject", "body": {"objectID": id, "name": format!("{word} {round}"), "brand": word, "price": round}},
                {"action": "partialUpdateObject", "body": {"objectID": format!("c{}", (round + 7) % 50), "price": {"_operation": "Increment", "value": 3}, "tags": {"_operation": "AddUnique", "value": word}}},
                {"action": "deleteObject", "body": {"objectID": format!("c{}", (round + 13) % 50)}},
            ]}));
            let attributes = if round.is_multiple_of(2) {
                json!(["searchable(brand)"])
            } else {
                json!(["brand", "filterOnly(price)"])
            };
            match round % 11 {
                0 => self.ask("PUT", &at("settings"), &json!({"attributesForFaceting": attributes, "hitsPerPage": round % 90 + 1})),
                2 => self.ask("PUT", &at("settings"), &json!({"customRanking": [format!("desc(price{})", round % 4)], "mode": "neuralSearch"})),
                // some programs take the long tag, others refuse it
                3 => self.ask("POST", &at("rules/batch"), &json!([{"objectID": format!("r{}", round % 9), "conditions": [{"pattern": word, "anchoring": "contains"}],
                    "consequence": {"params": {"hitsPerPage": 3, "analyticsTags": ["t".repeat(if round.is_multiple_of(2) { 150 } else { 5 })]}}}])),
                4 => self.ask("POST", &at("synonyms/batch"), &json!([{"objectID": format!("s{}", round % 9), "type": "synonym", "synonyms": [word, "thing"]}])),
                5 => self.ask("PUT", &at("settings"), &json!({"replicas": [format!("{index}_by_price"), format!("virtual({index}_shown)")]})),
                6 => self.ask("POST", &at("deleteByQuery"), &json!({"filters": format!("price < {}", round % 20)})),
                7 => self.ask("POST", &at("operation"), &json!({"operation": "copy", "destination": format!("copy{}", round % 2)})),
                8 => self.ask("POST", &format!("/1/indexes/copy{}/operation", round % 2), &json!({"operation": "move", "destination": "moved"})),
                9 => self.ask("PUT", &format!("/1/indexes/{index}_by_price/settings"), &json!({"customRanking": ["asc(price)"]})),
                10 if round.is_multiple_of(3) => self.ask("PUT", &at("settings"), &json!({"replicas": []})),
                _ => self.ask("POST", &at("query"), &json!({"query": word, "facets": ["*"]})),
            };
            round += 1;
        }
    }
    /// Sends events with times of their own, each about another record: what is answered is there once.
    fn report(&self) {
        let mut step = 0;
        while self.goes_on() {
            let ids: Vec<String> = (0..4).map(|n| format!("e{step}-{n}")).collect();
            let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
            let event = |(n, id): (usize, &String)| {
                json!({"eventName": "Seen", "eventType": "view", "index": format!("churn{n}"),
                "userToken": "ann", "timestamp": at, "objectIDs": [id]})
            };
            let events: Vec<Value> = ids.iter().enumerate().map(event).collect();
            if self.ask("POST", "/1/events", &json!({ "events": events })) {
                self.seen.lock().unwrap().extend(ids);
            }
            std::thread::sleep(Duration::from_millis(5));
            step += 1;
        }
    }
    /// Changes what came with later programs.
    fn change_later(&self) {
        let mut round = 0_usize;
        while self.goes_on() {
            let word = format!("w{}", round % 40);
            let index = format!("churn{}", round % 3);
            let took = match round % 6 {
                0 if round < 600 => self.ask(
                    "POST",
                    "/1/keys",
                    &json!({"acl": ["search"], "description": word, "indexes": [index]}),
                ),
                1 => self.ask(
                    "POST",
                    "/1/dictionaries/stopwords/batch",
                    &json!({"requests": [{"action": "addEntry",
                    "body": {"objectID": word, "language": "en", "word": word}}]}),
                ),
                2 => self.ask(
                    "POST",
                    &format!("/1/indexes/{index}/related-products/recommend/rules/batch"),
                    &json!([{"objectID": word,
                    "consequence": {"promote": [{"objectID": "c1", "position": 0}]}}]),
                ),
                3 => self.ask(
                    "PUT",
                    "/1/configs/suggested",
                    &json!({"sourceIndices": [{"indexName": index, "minHits": round % 9}]}),
                ),
                4 => self.ask("DELETE", &format!("/1/usertokens/gone{round}"), &Value::Null),
                _ => self.ask(
                    "POST",
                    &format!("/1/indexes/{index}/query"),
                    &json!({"query": word, "userToken": word, "clickAnalytics": true}),
                ),
            };
            self.later.fetch_add(usize::from(took), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
            round += 1;
        }
    }
    fn read(&self) {
        while self.goes_on() {
            self.ask("POST", "/1/indexes/kept/query", &json!({"query": "thing", "filters": "price > 50"}));
        }
    }
}

/// Starts a node again with a program, while the others go on.
fn change_program(cluster: &mut Cluster, load: &Load, node: usize, program: Option<&PathBuf>) {
    let others = cluster.without(node);
    *load.nodes.write().unwrap() = others;
    cluster.stop(node).unwrap();
    cluster.setup_mut(node).program = program.cloned();
    cluster.restart(node).unwrap();
    cluster.wait_settled().unwrap();
    *load.nodes.write().unwrap() = cluster.any();
    std::thread::sleep(pause());
}

/// What a node holds, without what differs by nature.
fn digest(client: &Client) -> Value {
    let answer = client.get("/admin/cluster/digest").unwrap().success().unwrap();
    let groups = answer.body["groups"].as_array().unwrap().iter();
    groups.map(|group| json!([group["group"], group["indices"]])).collect()
}
fn level(client: &Client) -> u64 {
    client.get("/admin/cluster").unwrap().success().unwrap().body["level"].as_u64().unwrap_or(1)
}

/// The answered records that a node does not show.
fn lost_of(client: &Client, kept: &BTreeSet<String>) -> Vec<String> {
    let shown = client.browse_all("kept").unwrap();
    let found: BTreeSet<&str> = shown.iter().map(|record| record["objectID"].as_str().unwrap()).collect();
    kept.iter().filter(|id| !found.contains(id.as_str())).cloned().collect()
}

fn upgrade_from(level_before: usize) {
    let Some(old) = earlier(level_before) else { return };
    let mut cluster = Cluster::prepare_with_founder(NODES).unwrap();
    for node in 0..NODES {
        cluster.setup_mut(node).program = Some(old.clone());
        cluster.restart(node).unwrap();
    }
    cluster.wait_settled().unwrap();
    let load = Load::new(&cluster);
    std::thread::scope(|threads| {
        for writer in 0..2 {
            let load = &load;
            threads.spawn(move || load.add(writer));
        }
        threads.spawn(|| load.change());
        threads.spawn(|| load.report());
        threads.spawn(|| load.change_later());
        threads.spawn(|| load.read());
        let over = Over(&load.is_over);
        std::thread::sleep(pause());
        // up, and back as long as one node is old
        for node in [2, 0] {
            change_program(&mut cluster, &load, node, None);
            assert!(level(&cluster.node(2).unwrap().client()) <= level_before as u64);
        }
        for node in [0, 2] {
            change_program(&mut cluster, &load, node, Some(&old));
        }
        // and up for good
        for node in [1, 0, 2] {
            change_program(&mut cluster, &load, node, None);
        }
        drop(over);
    });
    cluster.wait_settled().unwrap();
    let clients = cluster.clients();
    wait_until(PATIENCE, "the new level is in force", || {
        clients.iter().all(|client| level(client) == NEWEST)
    });
    let kept = load.kept.lock().unwrap();
    let (done, refused) = (load.done.load(Ordering::Relaxed), load.refused.load(Ordering::Relaxed));
    eprintln!("from level {level_before}: {} records, {done} calls done, {refused} refused", kept.len());
    assert!(kept.len() > 100, "too little was written");
    for client in &clients {
        // what was answered is shown once its task is published
        let mut lost = lost_of(client, &kept);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !lost.is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(200));
            lost = lost_of(client, &kept);
        }
        assert!(lost.is_empty(), "{} answered records are gone: {lost:?}", lost.len());
    }
    check_alike(&clients);
    let seen = load.seen.lock().unwrap();
    eprintln!("{} events and {} later calls answered", seen.len(), load.later.load(Ordering::Relaxed));
    assert!(seen.len() > 40, "too few events were answered");
    for node in 0..NODES {
        cluster.stop(node).unwrap();
        let times = events::kept(cluster.data_dir(node)).unwrap();
        let once = |id: &&String| times.get(&("ann".to_owned(), (*id).clone())) == Some(&1);
        let wrong: Vec<&String> = seen.iter().filter(|id| !once(id)).collect();
        assert!(wrong.is_empty(), "n{node} has events not once that were answered: {wrong:?}");
        cluster.restart(node).unwrap();
    }
}

/// Waits until all nodes hold the same, and answer alike.
fn check_alike(clients: &[Client]) {
    let asked = |client: &Client| {
        let body = |path: &str| client.get(path).unwrap().success().unwrap().body;
        let mut keys = body("/1/keys")["keys"].as_array().unwrap().clone();
        keys.sort_by_key(|key| key["value"].to_string());
        let rules = client
            .post("/1/indexes/churn0/related-products/recommend/rules/search", &json!({}))
            .unwrap()
            .body;
        json!([digest(client), keys, body("/1/dictionaries/*/languages"), body("/1/configs"), rules["hits"]])
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let held: Vec<Value> = clients.iter().map(asked).collect();
        if held.iter().all(|of| *of == held[0]) {
            return;
        }
        assert!(Instant::now() < deadline, "the nodes hold different things: {held:#?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Ends the load, also when the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn programs_of_level_1_run_beside_this_one_both_ways() {
    upgrade_from(1);
}
#[test]
fn programs_of_level_2_run_beside_this_one_both_ways() {
    upgrade_from(2);
}
#[test]
fn programs_of_level_3_run_beside_this_one_both_ways() {
    upgrade_from(3);
}
#[test]
fn programs_of_level_4_run_beside_this_one_both_ways() {
    upgrade_from(4);
}
#[test]
fn programs_of_level_5_run_beside_this_one_both_ways() {
    upgrade_from(5);
}
#[test]
fn programs_of_level_6_run_beside_this_one_both_ways() {
    upgrade_from(6);
}
#[test]
fn programs_of_level_7_run_beside_this_one_both_ways() {
    upgrade_from(7);
}
#[test]
fn programs_of_level_8_run_beside_this_one_both_ways() {
    upgrade_from(8);
}
#[test]
fn programs_of_level_9_run_beside_this_one_both_ways() {
    upgrade_from(9);
}
#[test]
fn programs_of_level_10_run_beside_this_one_both_ways() {
    upgrade_from(10);
}
