//! What becomes of a node whose log is damaged in the middle, by the commands that its operator is told of?

use quorate_tests::binary;
use quorate_tests::client::Client;
use quorate_tests::cluster::{Cluster, count_of};
use quorate_tests::harness::Setup;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const RECORDS: u64 = 60;
const PATIENCE: Duration = Duration::from_secs(120);

/// Writes one record after another, each of which is found in the log by its text.
fn fill(client: &Client, index: &str) {
    let mut last = None;
    for n in 0..RECORDS {
        let record = json!({"text": format!("{index}-number-{n}-of-many")});
        let answer = client.put(&format!("/1/indexes/{index}/r{n}"), &record).unwrap().success().unwrap();
        last = Some(answer.task_id().unwrap());
    }
    client.wait_task(index, last.unwrap()).unwrap();
}

/// Changes a bit of a record in the middle of the log; returns the file.
fn damage_log(data_dir: &Path, text: &str) -> PathBuf {
    for item in std::fs::read_dir(data_dir.join("raft")).unwrap() {
        let path = item.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap_or_default();
        if let Some(at) = bytes.windows(text.len()).position(|window| window == text.as_bytes()) {
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            return path;
        }
    }
    panic!("no file of the log has {text}");
}

/// `quorate log …`, with what it said.
fn log(command: &str, data_dir: &Path, more: &[&str]) -> (Output, String) {
    let mut program = Command::new(binary::path().unwrap());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("QUORATE_")) {
        program.env_remove(name);
    }
    let output = program.args(["log", command, "--data-dir"]).arg(data_dir).args(more).output().unwrap();
    let said = [&output.stdout[..], &output.stderr].concat();
    (output, String::from_utf8_lossy(&said).into_owned())
}

/// A start that the damage stops, and what the log says of it.
fn refused(setup: &Setup, file: &Path) -> String {
    let (status, said) = setup.run_to_end().unwrap();
    assert!(!status.success(), "{said}");
    for part in [&*file.display().to_string(), "lacks entries", "quorate log inspect"] {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
    said
}

fn digest(client: &Client) -> Value {
    client.get("/admin/cluster/digest").unwrap().success().unwrap().body["groups"].clone()
}

#[test]
fn a_node_with_a_damaged_log_takes_its_place_anew_and_has_everything() {
    let mut cluster = Cluster::start(3).unwrap();
    for index in ["a", "b"] {
        fill(&cluster.clients()[0], index);
        cluster.wait_count(index, RECORDS).unwrap();
    }
    cluster.kill(1).unwrap();
    let data_dir = cluster.data_dir(1).to_path_buf();
    let file = damage_log(&data_dir, "a-number-30-of-many");
    let said = refused(cluster.setup_mut(1), &file);
    assert!(said.contains("log start-anew"), "{said}");
    let (inspected, said) = log("inspect", &data_dir, &[]);
    assert_eq!(inspected.status.code(), Some(2), "{said}");
    let (lossy, said) = log("accept-loss", &data_dir, &["--confirm", "TESTAPP"]);
    assert!(!lossy.status.success(), "the others have it: {said}");
    // nor when the log does not even say any more that there are others
    let copy = data_dir.with_extension("unsaid");
    assert!(Command::new("cp").arg("-a").args([&data_dir, &copy]).status().unwrap().success());
    for item in std::fs::read_dir(copy.join("raft")).unwrap() {
        let path = item.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "raftlog") {
            let length = std::fs::metadata(&path).unwrap().len() as usize;
            std::fs::write(&path, vec![0xff; length]).unwrap();
        }
    }
    let (lossy, said) = log("accept-loss", &copy, &["--confirm", "TESTAPP"]);
    assert!(!lossy.status.success() && said.contains("nothing was changed"), "{said}");
    let (unsaid, said) = log("start-anew", &data_dir, &[]);
    assert!(!unsaid.status.success() && said.contains("--confirm TESTAPP"), "{said}");
    // the others write on meanwhile
    let later = cluster.any().post(
        "/1/indexes/a/batch",
        &json!({"requests": [
        {"action": "addObject", "body": {"objectID": "later", "text": "meanwhile"}}]}),
    );
    cluster.wait_task("a", later.unwrap().success().unwrap().task_id().unwrap()).unwrap();
    let (anew, said) = log("start-anew", &data_dir, &["--confirm", "TESTAPP"]);
    assert!(anew.status.success(), "{said}");
    cluster.spawn(1).unwrap();
    let deadline = Instant::now() + PATIENCE;
    // its operator gives it the place that it had under another number
    while cluster.without(1).post("/admin/nodes/n1/replace", &json!({})).unwrap().status != 200 {
        assert!(Instant::now() < deadline, "the node does not get its place");
        std::thread::sleep(Duration::from_millis(100));
    }
    cluster.wait_up(1).unwrap();
    cluster.wait_settled().unwrap();
    for (index, count) in [("a", RECORDS + 1), ("b", RECORDS)] {
        cluster.wait_count(index, count).unwrap();
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        let digests: Vec<Value> = cluster.clients().iter().map(digest).collect();
        if digests.iter().all(|digest| *digest == digests[0]) {
            break;
        }
        assert!(Instant::now() < deadline, "the nodes hold different things: {digests:#?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_node_that_is_alone_is_told_what_it_loses_and_has_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(folder.path().join("data"));
    let server = setup.start().unwrap();
    fill(&server.client(), "a");
    server.kill().unwrap();
    let file = damage_log(&setup.data_dir, "a-number-30-of-many");
    let said = refused(&setup, &file);
    assert!(said.contains("log accept-loss"), "{said}");
    let (accepted, said) = log("accept-loss", &setup.data_dir, &["--confirm", "TESTAPP"]);
    assert!(accepted.status.success(), "{said}");
    // file, bytes, group and entry
    for part in [&*file.display().to_string(), "bytes", "group", "entr"] {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
    let server = setup.start().unwrap();
    let client = server.client();
    let missing: Vec<u64> =
        (0..RECORDS).filter(|n| client.get(&format!("/1/indexes/a/r{n}")).unwrap().status == 404).collect();
    assert_eq!(missing, [30], "{said}");
    assert_eq!(count_of(&client, "a"), Some(RECORDS - 1));
    fill(&client, "a");
    assert_eq!(count_of(&client, "a"), Some(RECORDS));
}

/// Places of the log that a test run damages one after another; `QUORATE_DAMAGE=all` takes all that are as far apart as records are short.
const PLACES: usize = 6;

#[test]
fn a_node_that_is_alone_and_was_stopped_loses_nothing_whatever_record_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(folder.path().join("data"));
    let server = setup.start().unwrap();
    fill(&server.client(), "a");
    server.stop().unwrap();
    let whole = folder.path().join("whole");
    std::fs::rename(&setup.data_dir, &whole).unwrap();
    let appended = |data_dir: &Path| data_dir.join("raft/0000000000000001.raftlog");
    let length = std::fs::read(appended(&whole)).unwrap().len();
    let step = match std::env::var("QUORATE_DAMAGE") {
        Ok(all) if all == "all" => 16,
        _ => length / PLACES,
    };
    let mut damaged = 0;
    for place in (69..length).step_by(step) {
        let copied = Command::new("cp").arg("-a").args([&whole, &setup.data_dir]).status().unwrap();
        assert!(copied.success());
        let mut bytes = std::fs::read(appended(&setup.data_dir)).unwrap();
        bytes[place] ^= 0x20;
        std::fs::write(appended(&setup.data_dir), bytes).unwrap();
        let (inspected, said) = log("inspect", &setup.data_dir, &[]);
        if inspected.status.code() == Some(2) {
            damaged += 1;
            let (accepted, said) = log("accept-loss", &setup.data_dir, &["--confirm", "TESTAPP"]);
            assert!(accepted.status.success(), "byte {place}: {said}");
        }
        // everything was in the files of the index, and in the states of the groups
        let server = setup.start().unwrap_or_else(|error| panic!("byte {place}: {error}: {said}"));
        let client = server.client();
        assert_eq!(count_of(&client, "a"), Some(RECORDS), "byte {place}: {said}");
        let answer = client.put("/1/indexes/a/more", &json!({"text": "more"})).unwrap().success().unwrap();
        client.wait_task("a", answer.task_id().unwrap()).unwrap();
        assert_eq!(count_of(&client, "a"), Some(RECORDS + 1), "byte {place}");
        server.kill().unwrap();
        // twice in a row
        let server = setup.start().unwrap();
        assert_eq!(count_of(&server.client(), "a"), Some(RECORDS + 1), "byte {place}");
        server.kill().unwrap();
        std::fs::remove_dir_all(&setup.data_dir).unwrap();
    }
    assert!(damaged > PLACES / 3, "{damaged}");
}
