//! Does a running node read its configuration again on SIGHUP, and say what it does with it?

use quorate_tests::harness::{Server, Setup};
use serde_json::json;
use std::time::{Duration, Instant};

/// Waits until a text stands so many times in the log.
fn wait_for(server: &Server, text: &str, times: usize) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.log().matches(text).count() < times {
        assert!(Instant::now() < deadline, "no {text:?} in the log: {}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_node_takes_another_log_level_and_names_what_waits_for_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("quorate.toml");
    std::fs::write(&config, "log_level = \"info\"\n").unwrap();
    let server =
        Setup::new(dir.path().join("data")).option("config", config.to_str().unwrap()).start().unwrap();
    let client = server.client();
    let search = || client.post("/1/indexes/i/query", &json!({"query": ""})).unwrap();
    client.post("/1/indexes/i", &json!({"objectID": "1"})).unwrap().success().unwrap();
    let lines = || server.log().matches("/1/indexes/i/query").count();
    search();
    wait_for(&server, "/1/indexes/i/query", 1);

    std::fs::write(&config, "log_level = \"warn\"\nworkers = 3\n").unwrap();
    server.signal("HUP").unwrap();
    wait_for(&server, "the configuration was read again", 1);
    let log = server.log();
    let line = log.lines().find(|line| line.contains("was read again")).unwrap();
    assert!(line.contains("taken=[\"log-level\"]") && line.contains("needs_restart=[\"workers\"]"), "{line}");
    let before = lines();
    (0..5).for_each(|_| assert_eq!(search().status, 200));
    assert_eq!(lines(), before, "requests are no warnings");

    // what cannot be read changes nothing
    for wrong in ["log_level = \"loud\"\n", "log_level = \n", "no_such_option = 1\n"] {
        std::fs::write(&config, wrong).unwrap();
        let told = server.log().matches("is not taken over").count();
        server.signal("HUP").unwrap();
        wait_for(&server, "the configuration is not taken over", told + 1);
        assert_eq!(search().status, 200);
        assert_eq!(lines(), before);
    }
    std::fs::write(&config, "log_level = \"info\"\n").unwrap();
    server.signal("HUP").unwrap();
    wait_for(&server, "the configuration was read again", 2);
    search();
    wait_for(&server, "/1/indexes/i/query", before + 1);
}
