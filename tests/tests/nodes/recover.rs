//! Do those that are left go on when the majority is lost for good, and do others join them anew?

use quorate_model::{GroupId, TaskId};
use quorate_tests::binary;
use quorate_tests::client::Client;
use quorate_tests::cluster::{Cluster, count_of};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const RECORDS: u64 = 40;

/// Writes the records of an index; answers with the group that took them.
fn fill(cluster: &Cluster, client: &Client, index: &str) -> GroupId {
    let ids: Vec<String> = (0..RECORDS).map(|number| number.to_string()).collect();
    let requests: Vec<_> =
        ids.iter().map(|id| ("addObject", json!({"objectID": id, "name": "kept"}))).collect();
    let task = client.batch(index, &requests).unwrap();
    cluster.wait_task(index, task).unwrap();
    TaskId(task).group()
}

/// Writes a record through whichever node takes it.
fn write_by_any(cluster: &Cluster, index: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let path = format!("/1/indexes/{index}/batch");
    let add = json!({"requests": [{"action": "addObject", "body": {"objectID": "last"}}]});
    let task = loop {
        match cluster.any().post(&path, &add) {
            Ok(answer) => break answer.success().unwrap().task_id().unwrap(),
            Err(error) => assert!(Instant::now() < deadline, "no node goes on: {error:#}"),
        }
    };
    cluster.wait_task(index, task).unwrap();
}

fn recover(data_dir: &Path, confirm: &[&str]) -> Output {
    let mut command = Command::new(binary::path().unwrap());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("QUORATE_")) {
        command.env_remove(name);
    }
    command.args(["cluster", "recover", "--data-dir"]).arg(data_dir).args(confirm).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
/// Lets each of the survivors, which are stopped, write what it has to a file.
fn surveyed(cluster: &Cluster, survivors: &[usize]) -> Vec<PathBuf> {
    let survey = |&node: &usize| {
        let folder = cluster.data_dir(node);
        let file = folder.with_extension("survey.json");
        let written = recover(folder, &["--write-survey", file.to_str().unwrap()]);
        assert!(written.status.success(), "{}", said(&written));
        file
    };
    survivors.iter().map(survey).collect()
}
/// Gives an index a replica.
fn link(cluster: &Cluster, index: &str, replica: &str) {
    let path = format!("/1/indexes/{index}/settings");
    let linked = cluster.any().send("PUT", &path, &json!({"replicas": [replica]})).unwrap();
    cluster.wait_task(index, linked.success().unwrap().task_id().unwrap()).unwrap();
}

/// Changes a byte in the middle of the largest file of the indices.
fn damage(data_dir: &Path) {
    let mut folders = vec![data_dir.join("indices")];
    let mut files = vec![];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let largest = files.into_iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let mut bytes = std::fs::read(&largest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    // not into a file that a snapshot may have a link to
    std::fs::remove_file(&largest).unwrap();
    std::fs::write(largest, bytes).unwrap();
}

#[test]
fn a_group_goes_on_with_the_survivor_whose_files_are_not_damaged() {
    let mut cluster = Cluster::start(3).unwrap();
    let client = cluster.clients().remove(0);
    let group = fill(&cluster, &client, "a");
    cluster.wait_settled().unwrap();
    for node in [2, 1, 0] {
        cluster.stop(node).unwrap();
    }
    // of two logs that are equally long the one of the higher number would be chosen
    for damaged in [0, 1] {
        let folder = cluster.data_dir(damaged).to_path_buf();
        let kept = folder.with_extension("kept");
        assert!(Command::new("cp").arg("-a").args([&folder, &kept]).status().unwrap().success());
        damage(&folder);
        let surveys = surveyed(&cluster, &[0, 1]);
        let given: Vec<&str> = surveys.iter().flat_map(|it| ["--survey", it.to_str().unwrap()]).collect();
        let text = said(&recover(cluster.data_dir(0), &given));
        let (one, other) = (format!("n{damaged}"), format!("n{}", 1 - damaged));
        assert!(text.contains(&format!("{one} has part of group {group} only (")), "{text}");
        assert!(text.contains("the group does not go on with it"), "{text}");
        let row =
            text.lines().find(|line| line.split_whitespace().next() == Some(&group.to_string())).unwrap();
        assert_eq!(row.split_whitespace().nth(1), Some(&*other), "{text}");
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::rename(&kept, &folder).unwrap();
    }
}

#[test]
fn one_node_goes_on_when_the_others_are_lost_for_good() {
    let mut cluster = Cluster::start(3).unwrap();
    let client = cluster.clients().remove(0);
    let indices = ["a", "b", "c"];
    for index in indices {
        fill(&cluster, &client, index);
    }
    let folder = cluster.data_dir(0).to_path_buf();
    let running = recover(&folder, &[]);
    assert!(!running.status.success(), "the node runs");
    for node in 0..3 {
        cluster.kill(node).unwrap();
    }

    let plan = recover(&folder, &[]);
    let text = String::from_utf8(plan.stdout).unwrap();
    assert!(plan.status.success(), "{}", String::from_utf8_lossy(&plan.stderr));
    for part in
        ["n0 would go on as the only node", "n1", "n2", "meta", "What can be lost", "--confirm TESTAPP"]
    {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let wrong = recover(&folder, &["--confirm", "OTHER"]);
    assert!(!wrong.status.success());
    let done = recover(&folder, &["--confirm", "TESTAPP"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));

    cluster.restart(0).unwrap();
    cluster.wait_settled().unwrap();
    let client = cluster.clients().remove(0);
    for index in indices {
        assert_eq!(count_of(&client, index), Some(RECORDS), "{index}");
        let task = client.batch(index, &[("addObject", json!({"objectID": "new"}))]).unwrap();
        cluster.wait_task(index, task).unwrap();
        assert_eq!(count_of(&client, index), Some(RECORDS + 1), "{index}");
    }
    let nodes = client.get("/admin/cluster").unwrap().body["nodes"].as_array().unwrap().len();
    assert_eq!(nodes, 1, "the others are gone");

    // two new nodes in the places of the lost ones, one after the other
    for (node, others) in [(1, 1), (2, 2)] {
        std::fs::remove_dir_all(cluster.data_dir(node)).unwrap();
        cluster.restart(node).unwrap();
        cluster.wait_settled().unwrap();
        let nodes = client.get("/admin/cluster").unwrap().body["nodes"].as_array().unwrap().len();
        assert_eq!(nodes, others + 1);
    }
    for client in cluster.clients() {
        for index in indices {
            assert_eq!(count_of(&client, index), Some(RECORDS + 1), "{index} on every node");
        }
    }
    // they count: the one that was left may be lost now
    cluster.kill(0).unwrap();
    for index in indices {
        write_by_any(&cluster, index);
        cluster.wait_count(index, RECORDS + 2).unwrap();
    }
}

/// Three of five nodes are lost, all that have replicas of some groups among them.
#[test]
fn two_nodes_go_on_together_when_three_are_lost_for_good() {
    let mut cluster = Cluster::start(5).unwrap();
    let client = cluster.clients().remove(0);
    let indices: Vec<String> = (0..24).map(|number| format!("index_{number}")).collect();
    let groups: Vec<GroupId> = indices.iter().map(|index| fill(&cluster, &client, index)).collect();
    let replica = |index: &str| format!("{index}_replica");
    for index in &indices {
        link(&cluster, index, &replica(index));
    }
    let seen = client.get("/admin/cluster").unwrap().body;
    let voters = |group: GroupId| -> BTreeSet<String> {
        let rows = seen["groups"].as_array().unwrap();
        let row = rows.iter().find(|row| row["id"] == group.0).unwrap();
        row["voters"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    // a node that comes later asks the first three, so that one of them has to be left
    let asked: BTreeSet<String> = (0..3).map(|node| format!("n{node}")).collect();
    let may_go = |nodes: &BTreeSet<String>| *nodes != asked;
    let lost_nodes = groups.iter().map(|group| voters(*group)).find(may_go);
    let lost_nodes = lost_nodes.expect("16 groups are not all on the same three of five nodes");
    assert_eq!(lost_nodes.len(), 3, "{seen}");
    let survivors: Vec<usize> = (0..5).filter(|node| !lost_nodes.contains(&format!("n{node}"))).collect();
    let (lost, kept): (Vec<_>, Vec<_>) =
        indices.iter().zip(&groups).partition(|(_, group)| voters(**group).is_subset(&lost_nodes));
    assert!(!lost.is_empty() && !kept.is_empty());
    for node in 0..5 {
        cluster.kill(node).unwrap();
    }

    let folder = |node: usize| cluster.data_dir(node).to_path_buf();
    let files = surveyed(&cluster, &survivors);
    let surveys: Vec<&str> = files.iter().flat_map(|file| ["--survey", file.to_str().unwrap()]).collect();
    let plans: Vec<String> = survivors
        .iter()
        .map(|&node| {
            let plan = recover(&folder(node), &surveys);
            assert!(plan.status.success(), "{}", said(&plan));
            said(&plan)
        })
        .collect();
    let table = |plan: &str| -> Vec<String> {
        let rows =
            plan.lines().skip_while(|line| !line.starts_with("group ")).take_while(|line| !line.is_empty());
        rows.map(str::to_owned).collect()
    };
    assert_eq!(table(&plans[0]).len(), 1 + 1 + 16, "{}", plans[0]);
    assert_eq!(table(&plans[0]), table(&plans[1]), "one plan");
    for part in lost.iter().map(|(index, _)| index.as_str()).chain(lost_nodes.iter().map(String::as_str)) {
        assert!(plans[0].contains(part), "{part} is missing:\n{}", plans[0]);
    }
    let alone =
        recover(&folder(survivors[0]), &["--survey", files[1].to_str().unwrap(), "--confirm", "TESTAPP"]);
    assert!(!alone.status.success() && said(&alone).contains("no survey of this node"), "{}", said(&alone));
    let confirmed = [surveys.as_slice(), &["--confirm", "TESTAPP"]].concat();
    let refused = recover(&folder(survivors[0]), &confirmed);
    assert!(!refused.status.success() && said(&refused).contains("--lose-groups"), "{}", said(&refused));
    let accepted = [confirmed.as_slice(), &["--lose-groups"]].concat();
    // twice: what broke off can be done again
    for node in [survivors[0], survivors[1], survivors[0], survivors[1]] {
        let done = recover(&folder(node), &accepted);
        assert!(done.status.success(), "{}", said(&done));
    }

    for &node in &survivors {
        cluster.spawn(node).unwrap();
    }
    for &node in &survivors {
        cluster.wait_up(node).unwrap();
    }
    cluster.wait_settled().unwrap();
    let clients = cluster.clients();
    assert_eq!(clients[0].get("/admin/cluster").unwrap().body["nodes"].as_array().unwrap().len(), 2);
    for client in &clients {
        for (index, _) in &kept {
            assert_eq!(count_of(client, index), Some(RECORDS), "{index}");
        }
        for name in lost.iter().flat_map(|(index, _)| [index.to_string(), replica(index)]) {
            assert_eq!(client.get(&format!("/1/indexes/{name}?query=")).unwrap().status, 404, "{name}");
        }
    }
    for index in &indices {
        let task = clients[1].batch(index, &[("addObject", json!({"objectID": "new"}))]).unwrap();
        cluster.wait_task(index, task).unwrap();
    }
    for client in &clients {
        for (index, _) in &kept {
            assert_eq!(count_of(client, index), Some(RECORDS + 1), "{index}");
            assert_eq!(count_of(client, &replica(index)), Some(RECORDS + 1), "{index} feeds its replica");
        }
        for (index, _) in &lost {
            assert_eq!(count_of(client, index), Some(1), "{index}");
        }
    }
    // a new node in the place of a lost one, and every node may be lost again
    let place: usize = lost_nodes.first().unwrap().trim_start_matches('n').parse().unwrap();
    std::fs::remove_dir_all(cluster.data_dir(place)).unwrap();
    cluster.restart(place).unwrap();
    cluster.wait_settled().unwrap();
    cluster.kill(survivors[0]).unwrap();
    for index in &indices {
        write_by_any(&cluster, index);
    }
}

/// A cluster that has lost its majority, and with it that of the installation, goes on beside one that has not.
#[test]
fn two_clusters_go_on_when_one_has_a_single_node_left() {
    const INDEX: &str = "shared";
    let mut cluster = Cluster::start_in(&["main", "main", "main", "west"]).unwrap();
    let survivors = [0, 3];
    let users = [("jane", "main"), ("roe", "west")];
    let of = |cluster: &Cluster, user: &str| cluster.any().with_header("X-Algolia-User-ID", user);
    let write = |cluster: &Cluster, user: &str, id: &str| {
        let (nodes, path) = (of(cluster, user), format!("/1/indexes/{INDEX}/{id}"));
        let written = nodes.send("PUT", &path, &json!({"owner": user})).unwrap().success().unwrap();
        nodes.wait_task(INDEX, written.task_id().unwrap()).unwrap();
    };
    let sees = |cluster: &Cluster, user: &str, index: &str| {
        let path = format!("/1/indexes/{index}/query");
        let found = of(cluster, user).post(&path, &json!({"query": ""})).unwrap().success().unwrap().body;
        found["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["objectID"].to_string())
            .collect::<BTreeSet<_>>()
    };
    for (user, of_cluster) in users {
        let assigned = of(&cluster, user).post("/1/clusters/mapping", &json!({"cluster": of_cluster}));
        assigned.unwrap().success().unwrap();
        write(&cluster, user, "first");
    }
    write(&cluster, "*", "public");
    link(&cluster, INDEX, "replica");
    for node in 0..4 {
        cluster.kill(node).unwrap();
    }

    let files = surveyed(&cluster, &survivors);
    let surveys: Vec<&str> = files.iter().flat_map(|file| ["--survey", file.to_str().unwrap()]).collect();
    let confirmed = [surveys.as_slice(), &["--confirm", "TESTAPP"]].concat();
    for node in survivors {
        let done = recover(cluster.data_dir(node), &confirmed);
        assert!(done.status.success(), "{}", said(&done));
    }
    for node in survivors {
        cluster.spawn(node).unwrap();
    }
    for node in survivors {
        cluster.wait_up(node).unwrap();
    }
    cluster.wait_settled().unwrap();
    for (user, _) in users {
        write(&cluster, user, "second");
        let expected: BTreeSet<String> = ["first", "second", "public"].map(|id| json!(id).to_string()).into();
        for index in [INDEX, "replica"] {
            assert_eq!(sees(&cluster, user, index), expected, "{user} in {index}");
        }
    }
}
