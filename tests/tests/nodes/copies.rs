//! Is there a full copy of everything at any time, while nodes come, drain, die and lose their disks, however slowly what they
//! lack is fetched?

use quorate_tests::chance::Chance;
use quorate_tests::cluster::Cluster;
use quorate_tests::harness::Setup;
use quorate_tests::wait::wait_until;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

/// Records of an index; together some 2 MB that no compression makes small.
const RECORDS: u64 = 100;
/// Bytes per second at which files are fetched: seconds for each index.
const SLOW: &str = "500000";

/// A cluster whose nodes fetch slowly, with `started` of them running.
fn slow(count: usize, started: usize) -> Cluster {
    let mut cluster = Cluster::prepare(count).unwrap();
    for node in 0..count {
        let setup = cluster.setup_mut(node);
        *setup = setup.clone().option("snapshot-bytes-per-s", SLOW);
        // it founds alone, and the others come to it
        if node == 0 && started == 1 {
            *setup = setup.clone().without("join");
        }
    }
    for node in 0..started {
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    cluster
}
fn fill(cluster: &Cluster, index: &str) {
    let mut chance = Chance::new(7);
    let mut text = || (0..1_250).map(|_| format!("{:016x}", chance.number())).collect::<String>();
    let record =
        |n: u64, text: String| json!({"action": "addObject", "body": {"objectID": n.to_string(), "t": text}});
    let settings = json!({"searchableAttributes": ["none"]});
    let task = cluster.any().send("PUT", &format!("/1/indexes/{index}/settings"), &settings).unwrap();
    cluster.wait_task(index, task.task_id().unwrap()).unwrap();
    let requests: Vec<Value> = (0..RECORDS).map(|n| record(n, text())).collect();
    let path = format!("/1/indexes/{index}/batch");
    let task = cluster.any().post(&path, &json!({"requests": requests})).unwrap().success().unwrap();
    cluster.wait_task(index, task.task_id().unwrap()).unwrap();
}
/// What a search at a node finds; the status when it is refused.
fn found(cluster: &Cluster, node: usize, index: &str) -> Result<u64, u16> {
    let clients = cluster.clients();
    let at = cluster.running().iter().position(|running| *running == node).unwrap();
    let answer = clients[at].post(&format!("/1/indexes/{index}/query"), &json!({"query": ""}));
    let answer = answer.map_err(|_| 0_u16)?;
    match answer.status {
        200 => Ok(answer.body["nbHits"].as_u64().unwrap()),
        status => Err(status),
    }
}
fn overview(cluster: &Cluster) -> Value {
    cluster.any().send("GET", "/admin/cluster", &Value::Null).unwrap().body
}
fn state_of(cluster: &Cluster, name: &str) -> Vec<(String, String)> {
    let overview = overview(cluster);
    let of = |node: &Value, member: &str| node[member].as_str().unwrap().to_owned();
    let nodes = overview["nodes"].as_array().unwrap().iter().filter(|node| node["name"] == name);
    nodes.map(|node| (of(node, "id"), of(node, "state"))).collect()
}
fn held(data: &Path) -> usize {
    std::fs::read_dir(data.join("indices")).map_or(0, |entries| entries.count())
}

#[test]
fn a_drained_node_keeps_the_only_copy_until_the_other_has_its_own() {
    let mut cluster = slow(2, 1);
    let indices = ["a", "b", "c"];
    indices.iter().for_each(|index| fill(&cluster, index));
    // from the log alone it could not be made again
    cluster.stop(0).unwrap();
    cluster.restart(0).unwrap();
    cluster.spawn(1).unwrap();
    wait_until(PATIENCE, "the second node has joined", || state_of(&cluster, "n1").len() == 1);
    cluster.any().post("/admin/nodes/n0/drain", &json!({})).unwrap().success().unwrap();
    // what is read meanwhile is all of it, or is refused; never less, and never as if there was no such index
    let reads_are_whole = |cluster: &Cluster| {
        for (node, index) in cluster.running().into_iter().flat_map(|node| indices.map(|index| (node, index)))
        {
            let found = found(cluster, node, index);
            assert!(matches!(found, Ok(RECORDS) | Err(0 | 503)), "{index} at {node}: {found:?}");
            assert!(node != 0 || found == Ok(RECORDS), "{index} at the node that has it: {found:?}");
        }
    };
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        reads_are_whole(&cluster);
    }
    assert!(held(cluster.data_dir(0)) >= indices.len(), "nobody else has it yet");
    // twice in a row: who fetches dies while it does, and so does who gives
    cluster.kill(1).unwrap();
    cluster.spawn(1).unwrap();
    cluster.kill(0).unwrap();
    cluster.restart(0).unwrap();
    assert!(held(cluster.data_dir(0)) >= indices.len(), "nobody else has it yet");
    wait_until(PATIENCE, "the drained node has nothing left", || {
        reads_are_whole(&cluster);
        held(cluster.data_dir(0)) == 0
    });
    cluster.wait_up(1).unwrap();
    reads_are_whole(&cluster);
    // asked of the one that stays; an answer that was lost on the way is a 404 the next time
    let remove = || cluster.clients()[1].delete("/admin/nodes/n0").map_or(0, |answer| answer.status);
    wait_until(PATIENCE, "the drained node can be removed", || matches!(remove(), 200 | 404));
    cluster.stop(0).unwrap();
    for index in indices {
        cluster.wait_count(index, RECORDS).unwrap();
    }
}

#[test]
fn one_node_becomes_three_and_refuses_nothing_meanwhile() {
    let mut cluster = slow(3, 1);
    let indices: Vec<String> = (0..6).map(|n| format!("i{n}")).collect();
    indices.iter().for_each(|index| fill(&cluster, index));
    cluster.stop(0).unwrap();
    cluster.restart(0).unwrap();
    cluster.wait_settled().unwrap();
    cluster.spawn(1).unwrap();
    cluster.spawn(2).unwrap();
    let mut written = 0;
    let (mut was_fetching, mut is_settled) = (false, false);
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_settled {
        assert!(Instant::now() < deadline, "{}", overview(&cluster)["waits"]);
        written += 1;
        let mut tasks = vec![];
        for index in &indices {
            let answer =
                cluster.clients()[0].put(&format!("/1/indexes/{index}/w{written}"), &json!({"n": written}));
            let answer = answer.unwrap();
            assert!(answer.status < 300, "{index}: {answer:?}");
            tasks.push((index, answer.task_id().unwrap()));
        }
        for (index, task) in tasks {
            let begun = Instant::now();
            cluster.clients()[0].wait_task(index, task).unwrap();
            assert!(
                begun.elapsed() < Duration::from_secs(8),
                "{index} is published after {:?}",
                begun.elapsed()
            );
            assert_eq!(found(&cluster, 0, index), Ok(RECORDS + written), "{index}");
        }
        let overview = overview(&cluster);
        was_fetching |= overview.to_string().contains("fetching");
        let is_whole =
            |group: &Value| group["fullCopies"] == 3 && group["voters"].as_array().unwrap().len() == 3;
        is_settled = overview["groups"].as_array().unwrap().iter().all(is_whole);
    }
    assert!(was_fetching, "it took no time");
}

#[test]
fn empty_folders_take_nobodys_place() {
    let mut cluster = slow(3, 3);
    fill(&cluster, "a");
    cluster.wait_settled().unwrap();
    let before = ["n1", "n2"].map(|name| state_of(&cluster, name));
    let hidden = |cluster: &Cluster, node: usize| cluster.data_dir(node).with_extension("hidden");
    let unmount = |cluster: &mut Cluster| {
        for node in [1, 2] {
            cluster.kill(node).unwrap();
            std::fs::rename(cluster.data_dir(node), hidden(cluster, node)).unwrap();
            cluster.spawn(node).unwrap();
            let name = format!("n{node}");
            wait_until(PATIENCE, "it waits for its place", || {
                overview(cluster)["claims"].as_array().unwrap().iter().any(|claim| claim["name"] == *name)
            });
        }
    };
    let mount = |cluster: &mut Cluster, node: usize| {
        cluster.kill(node).unwrap();
        std::fs::remove_dir_all(cluster.data_dir(node)).unwrap();
        std::fs::rename(hidden(cluster, node), cluster.data_dir(node)).unwrap();
        cluster.spawn(node).unwrap();
    };
    // both disks come back: everybody is who they were
    unmount(&mut cluster);
    [1, 2].into_iter().for_each(|node| mount(&mut cluster, node));
    [1, 2].into_iter().for_each(|node| cluster.wait_up(node).unwrap());
    wait_until(PATIENCE, "all of it at all nodes", || {
        (0..3).all(|node| found(&cluster, node, "a") == Ok(RECORDS))
    });
    cluster.wait_settled().unwrap();
    unmount(&mut cluster);
    assert_eq!(["n1", "n2"].map(|name| state_of(&cluster, name)), before);
    // nor by the word of an operator as long as too few others have everything
    let refused = |answer: quorate_tests::client::Answer, words: &[&str]| {
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(words.iter().all(|word| answer.message().contains(word)), "{answer:?}");
    };
    let few = ["too few full copies of group 0, ", "(of the first there are 1, and 2 are needed)"];
    let replace = || cluster.any().post("/admin/nodes/n1/replace", &json!({})).unwrap();
    wait_until(PATIENCE, "it counts as gone", || !replace().message().contains("was heard of"));
    refused(replace(), &few);
    refused(cluster.any().post("/admin/nodes/n1/drain", &json!({})).unwrap(), &few);
    let unled = "n1 is a member of groups without a leader (";
    refused(cluster.clients()[0].delete("/admin/nodes/n1").unwrap(), &[unled]);
    // the operator mounts one of the disks
    mount(&mut cluster, 2);
    cluster.wait_up(2).unwrap();
    wait_until(PATIENCE, "a leader", || found(&cluster, 2, "a") == Ok(RECORDS));
    // the other one is lost, and the operator says so
    wait_until(PATIENCE, "the place is given away", || {
        cluster.any().post("/admin/nodes/n1/replace", &json!({})).unwrap().status == 200
    });
    cluster.wait_up(1).unwrap();
    cluster.wait_settled().unwrap();
    assert_ne!(state_of(&cluster, "n1"), before[0]);
    assert_eq!(found(&cluster, 1, "a"), Ok(RECORDS));
    let task = cluster.any().post("/1/indexes/a/batch", &json!({"requests": [{"action": "clear"}]})).unwrap();
    cluster.wait_task("a", task.task_id().unwrap()).unwrap();
}

#[test]
fn a_folder_that_must_hold_data_and_is_empty_is_refused_with_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let (mounted, bare) = (folder.path().join("disk"), folder.path().join("bare"));
    std::fs::create_dir(&bare).unwrap();
    let expecting = |data: &Path| {
        let mut setup = Setup::new(data);
        setup.arguments.push("--expect-data".to_owned());
        setup
    };
    // the mount point without its disk, and no folder at all
    for data in [&bare, &mounted] {
        let (status, log) = expecting(data).run_to_end().unwrap();
        assert!(!status.success(), "{status}: {log}");
        let word = format!("{} holds no data of a node", data.display());
        assert!(log.contains(&word) && log.contains("is its disk mounted?"), "{log}");
        assert!(!data.exists() || std::fs::read_dir(data).unwrap().next().is_none(), "nothing is made in it");
    }
    let server = Setup::new(&mounted).start().unwrap();
    let task = server.client().put("/1/indexes/a/1", &json!({"n": 1})).unwrap().task_id().unwrap();
    server.client().wait_task("a", task).unwrap();
    server.stop().unwrap();
    let server = expecting(&mounted).start().unwrap();
    assert_eq!(server.client().search("a", &json!({"query": ""})).unwrap()["nbHits"], 1);
}
