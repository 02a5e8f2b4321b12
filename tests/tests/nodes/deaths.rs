//! Do three nodes act as one, and lose nothing when one of them dies, stops, or loses its disk?

use quorate_tests::accident::{Owner, check_search, settle};
use quorate_tests::chance;
use quorate_tests::cluster::{Cluster, count_of};
use quorate_tests::wait::wait_until;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(90);

fn record(id: &str, n: usize) -> Value {
    json!({"objectID": id, "name": format!("thing {id}"), "n": n})
}

#[test]
fn every_node_takes_writes_and_shows_what_is_published() {
    let cluster = Cluster::start(3).unwrap();
    let clients = cluster.clients();
    for (number, client) in clients.iter().enumerate() {
        for index in ["a", "b", "c"] {
            let id = format!("{index}{number}");
            let task = client.batch(index, &[("addObject", record(&id, number))]).unwrap();
            // asked for and read at other nodes than the one that was written to
            let (asked, read) = (&clients[(number + 1) % 3], &clients[(number + 2) % 3]);
            asked.wait_task(index, task).unwrap();
            assert_eq!(count_of(read, index), Some(number as u64 + 1), "{index} at another node");
        }
    }
    let settings = json!({"attributesForFaceting": ["n"], "customRanking": ["desc(n)"]});
    let task = clients[0].put("/1/indexes/a/settings", &settings).unwrap().task_id().unwrap();
    clients[1].wait_task("a", task).unwrap();
    let found =
        clients[2].search("a", &json!({"query": "thing", "facets": ["n"], "filters": "n > 0"})).unwrap();
    assert_eq!(found["facets"]["n"], json!({"1": 1, "2": 1}));
    assert_eq!(found["hits"][0]["objectID"], "a2");

    let path = "/1/indexes/a/operation";
    let copied = clients[2].post(path, &json!({"operation": "copy", "destination": "d"})).unwrap();
    clients[0].wait_task("d", copied.task_id().unwrap()).unwrap();
    assert!(clients.iter().all(|client| count_of(client, "d") == Some(3)));
    let moved = clients[1].post(path, &json!({"operation": "move", "destination": "e"})).unwrap();
    clients[2].wait_task("e", moved.task_id().unwrap()).unwrap();
    for client in &clients {
        assert_eq!((count_of(client, "a"), count_of(client, "e")), (None, Some(3)));
    }
    let gone = clients[0].delete("/1/indexes/e").unwrap().task_id().unwrap();
    clients[1].wait_task("e", gone).unwrap();
    assert!(clients.iter().all(|client| count_of(client, "e").is_none()));
}

/// Rounds: 2, or `QUORATE_CLUSTER_ROUNDS` for the long run.
#[test]
fn every_answered_write_survives_the_death_of_a_node_once() {
    let rounds: u64 = std::env::var("QUORATE_CLUSTER_ROUNDS")
        .ok()
        .map_or(2, |text| text.parse().expect("a number of rounds"));
    let mut chance = chance::from_environment("cluster");
    let mut cluster = Cluster::start(3).unwrap();
    let index = "kill";
    let settings = json!({"searchableAttributes": ["word"]});
    let task = cluster.clients()[0].put("/1/indexes/kill/settings", &settings).unwrap().task_id().unwrap();
    cluster.wait_task(index, task).unwrap();
    let mut owners: Vec<Owner> =
        ["a", "b", "c", "d"].into_iter().map(|name| Owner::new(name, index, chance.split())).collect();
    let mut answered = 0;
    for round in 0..rounds {
        let victim = chance.below(3) as usize;
        let clients = cluster.clients();
        let kill_after = Duration::from_micros(20_000 + chance.below(600_000));
        let write_for = kill_after + Duration::from_millis(1_500);
        let begun = Instant::now();
        std::thread::scope(|threads| {
            for (number, owner) in owners.iter_mut().enumerate() {
                let client = &clients[number % 3];
                threads.spawn(move || owner.write_until_unanswered_for(client, write_for).unwrap());
            }
            std::thread::sleep(kill_after);
            cluster.kill(victim).unwrap();
        });
        assert!(begun.elapsed() < Duration::from_secs(60), "writes took {:?}", begun.elapsed());
        // the two others go on
        let survivor = cluster.clients().remove(0);
        settle(&survivor, index).unwrap();
        for owner in &mut owners {
            owner.check(&survivor).unwrap_or_else(|e| panic!("round {round}: {e}"));
        }
        cluster.restart(victim).unwrap();
        cluster.wait_settled().unwrap();
        settle(&cluster.clients()[chance.below(3) as usize], index).unwrap();
        for (number, client) in cluster.clients().iter().enumerate() {
            check_search(client, index, &owners, &mut chance)
                .unwrap_or_else(|e| panic!("round {round}, node {number}: {e}"));
        }
        for owner in &mut owners {
            for task in owner.tasks.drain(..).rev().take(5) {
                cluster.wait_task(index, task).unwrap();
                answered += 1;
            }
        }
    }
    println!("{rounds} rounds, {answered} tasks asked for");
    assert!(answered > rounds, "too few writes were answered to show anything");
}

#[test]
fn nodes_restart_one_after_the_other_without_a_failed_call() {
    let mut cluster = Cluster::start(3).unwrap();
    let task = cluster.clients()[0].batch("i", &[("addObject", record("first", 0))]).unwrap();
    cluster.wait_task("i", task).unwrap();
    // ports of clients change with every restart, so each node's clients are made anew from what runs now
    for number in 0..3 {
        let is_over = AtomicBool::new(false);
        let client = cluster.any();
        let written = std::thread::scope(|threads| {
            let writer = threads.spawn(|| {
                let mut client = client.clone();
                let mut written = 0_usize;
                while !is_over.load(Ordering::Relaxed) {
                    client.turn();
                    let id = format!("{number}-{written}");
                    let requests =
                        json!({"requests": [{"action": "addObject", "body": record(&id, written)}]});
                    client.post("/1/indexes/i/batch", &requests).unwrap().success().unwrap();
                    let found = client.post("/1/indexes/i/query", &json!({"query": "thing"})).unwrap();
                    found.success().unwrap();
                    written += 1;
                }
                written
            });
            cluster.stop(number).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            is_over.store(true, Ordering::Relaxed);
            writer.join().unwrap()
        });
        assert!(written > 0, "nothing was written while node {number} stopped");
        cluster.restart(number).unwrap();
        cluster.wait_settled().unwrap();
    }
    let task = cluster.clients()[1].batch("i", &[("deleteObject", json!({"objectID": "first"}))]).unwrap();
    cluster.wait_task("i", task).unwrap();
    let counts: Vec<_> = cluster.clients().iter().map(|client| count_of(client, "i")).collect();
    assert!(
        counts[0].is_some_and(|count| count > 0) && counts.iter().all(|it| *it == counts[0]),
        "{counts:?}"
    );
}

#[test]
fn a_node_that_lost_its_folder_comes_back_by_itself() {
    let mut cluster = Cluster::prepare(3).unwrap();
    for node in 0..3 {
        let setup = cluster.setup_mut(node);
        *setup = setup.clone().option("take-over-s", "2");
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    let records: Vec<(&str, Value)> = (0..200).map(|n| ("addObject", record(&n.to_string(), n))).collect();
    let task = cluster.clients()[0].batch("i", &records).unwrap();
    cluster.wait_task("i", task).unwrap();
    cluster.kill(2).unwrap();
    std::fs::remove_dir_all(cluster.data_dir(2)).unwrap();
    let task = cluster.clients()[0].batch("i", &[("addObject", record("later", 1))]).unwrap();
    cluster.wait_task("i", task).unwrap();
    cluster.restart(2).unwrap();
    cluster.wait_settled().unwrap();
    cluster.wait_count("i", 201).unwrap();
    // it is a full member again: another one may be lost now
    let deadline = Instant::now() + Duration::from_secs(60);
    cluster.kill(0).unwrap();
    let task = loop {
        match cluster.any().post(
            "/1/indexes/i/batch",
            &json!({"requests": [{"action": "addObject", "body": record("last", 2)}]}),
        ) {
            Ok(answer) => break answer.task_id().unwrap(),
            Err(error) => assert!(Instant::now() < deadline, "the new member does not count: {error:#}"),
        }
    };
    cluster.wait_task("i", task).unwrap();
    cluster.wait_count("i", 202).unwrap();
}

#[test]
fn without_a_majority_writes_are_refused_and_nothing_is_lost() {
    let mut cluster = Cluster::start(3).unwrap();
    let task = cluster.clients()[0].batch("i", &[("addObject", record("x", 1))]).unwrap();
    cluster.wait_task("i", task).unwrap();
    cluster.kill(0).unwrap();
    cluster.kill(1).unwrap();
    let lonely = cluster.clients().remove(0);
    let begun = Instant::now();
    let requests = json!({"requests": [{"action": "addObject", "body": record("y", 1)}]});
    let answer = lonely.post("/1/indexes/i/batch", &requests).unwrap();
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    cluster.spawn(0).unwrap();
    cluster.restart(1).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let task = loop {
        match cluster.any().post(
            "/1/indexes/i/batch",
            &json!({"requests": [{"action": "addObject", "body": record("z", 1)}]}),
        ) {
            Ok(answer) => break answer.success().unwrap().task_id().unwrap(),
            Err(error) => {
                assert!(Instant::now() < deadline, "the majority is back and takes nothing: {error:#}")
            }
        }
    };
    cluster.wait_task("i", task).unwrap();
    for id in ["x", "z"] {
        let found = cluster.any().send("GET", &format!("/1/indexes/i/{id}"), &Value::Null).unwrap();
        assert_eq!(found.status, 200, "{id}");
    }
}

#[test]
fn a_node_that_stood_still_shows_nothing_old() {
    let cluster = Cluster::start(3).unwrap();
    let clients = cluster.clients();
    let task = clients[0].batch("i", &[("addObject", record("x", 1))]).unwrap();
    clients[0].wait_task("i", task).unwrap();
    for paused in 0..3 {
        let others: Vec<_> =
            (0..3).filter(|&node| node != paused).map(|node| clients[node].clone()).collect();
        cluster.node(paused).unwrap().signal("STOP").unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let path = "/1/indexes/i/batch";
        let id = format!("while {paused} stood still");
        let task = loop {
            match others[0].post(path, &batch(&[record(&id, 1)])) {
                Ok(answer) if answer.status == 200 => break answer.task_id().unwrap(),
                Ok(_) | Err(_) => assert!(Instant::now() < deadline, "the others do not go on"),
            }
        };
        others[1].wait_task("i", task).unwrap();
        cluster.node(paused).unwrap().signal("CONT").unwrap();
        let (expected, begun) = (Some(paused as u64 + 2), Instant::now());
        while begun.elapsed() < Duration::from_secs(2) {
            let shown = count_of(&clients[paused], "i");
            assert!(shown.is_none() || shown == expected, "{shown:?}, published was {expected:?}");
        }
        cluster.wait_count("i", paused as u64 + 2).unwrap();
    }
}

/// How many indices a node has files of.
fn held(cluster: &Cluster, node: usize) -> usize {
    std::fs::read_dir(cluster.data_dir(node).join("indices")).map_or(0, Iterator::count)
}

#[test]
fn replicas_move_as_nodes_come_and_go_and_leave_nothing_behind() {
    const INDICES: usize = 24;
    let mut cluster = Cluster::prepare(4).unwrap();
    for node in 0..3 {
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    for n in 0..INDICES {
        let index = format!("i{n}");
        let task =
            cluster.any().post(&format!("/1/indexes/{index}/batch"), &batch(&[record("x", n)])).unwrap();
        cluster.wait_task(&index, task.task_id().unwrap()).unwrap();
    }
    let all_are_there = |cluster: &Cluster, records: u64| {
        for n in 0..INDICES {
            cluster.wait_count(&format!("i{n}"), records).unwrap();
        }
    };
    assert_eq!((0..3).map(|node| held(&cluster, node)).collect::<Vec<_>>(), [INDICES; 3]);
    cluster.restart(3).unwrap();
    cluster.wait_settled().unwrap();
    all_are_there(&cluster, 1);
    let total = |cluster: &Cluster| -> usize { (0..4).map(|node| held(cluster, node)).sum() };
    wait_until(PATIENCE, "files of replicas that moved are removed", || total(&cluster) == 3 * INDICES);
    assert!((0..4).all(|node| held(&cluster, node) < INDICES), "shared by all four");

    // one is drained and taken out for good
    let drained = cluster.any().post("/admin/nodes/n0/drain", &json!({})).unwrap();
    assert_eq!(drained.status, 200, "{drained:?}");
    wait_until(PATIENCE, "the drained node holds no index", || held(&cluster, 0) == 0);
    // refused as long as it has a replica of a group, be it an empty one
    let remove = || cluster.any().send("DELETE", "/admin/nodes/n0", &Value::Null).unwrap().status;
    // a node that removes itself may be cut off before it answers, and who asks another one then is told that there is no such node
    wait_until(PATIENCE, "the drained node can be removed", || [200, 404].contains(&remove()));
    cluster.stop(0).unwrap();
    cluster.wait_settled().unwrap();
    for n in 0..INDICES {
        let index = format!("i{n}");
        let task =
            cluster.any().post(&format!("/1/indexes/{index}/batch"), &batch(&[record("y", n)])).unwrap();
        cluster.wait_task(&index, task.task_id().unwrap()).unwrap();
    }
    all_are_there(&cluster, 2);
}

fn batch(records: &[Value]) -> Value {
    let requests: Vec<Value> =
        records.iter().map(|record| json!({"action": "addObject", "body": record})).collect();
    json!({"requests": requests})
}

/// Who serves their own cluster is ready: a balancer would take all of them out for what another cluster has lost.
#[test]
fn a_cluster_that_is_gone_leaves_the_nodes_of_another_one_ready() {
    let mut cluster = Cluster::start_in(&["main", "main", "west"]).unwrap();
    let user = |cluster: &Cluster| cluster.any().with_header("X-Algolia-User-ID", "jane");
    let assigned = user(&cluster).post("/1/clusters/mapping", &json!({"cluster": "main"}));
    assigned.unwrap().success().unwrap();
    cluster.kill(2).unwrap();
    let says = |number: usize| cluster.node(number).unwrap().client().get("/readyz").unwrap();
    let is_told = |number: usize| says(number).body["warnings"].to_string().contains("of the cluster west");
    wait_until(PATIENCE, "the loss is told", || is_told(0) && is_told(1));
    for number in [0, 1] {
        let ready = says(number);
        assert_eq!((ready.status, &ready.body["writes"]["ready"]), (200, &json!(true)), "{:?}", ready.body);
    }
    let nodes = user(&cluster);
    let written = nodes.send("PUT", "/1/indexes/books/1", &record("1", 1)).unwrap().success().unwrap();
    nodes.wait_task("books", written.task_id().unwrap()).unwrap();
}
