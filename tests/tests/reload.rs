//! Does a running node read its configuration again on SIGHUP, and say what it does with it?

use quorate_tests::client::{Client, Family};
use quorate_tests::harness::{ADMIN_KEY, APP_ID, Server, Setup};
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
    server.signal("HUP").unwrap();
    wait_for(&server, "the configuration was read again, and says what it said", 1);
}

#[test]
fn a_node_takes_another_admin_key_from_its_file() {
    const SECOND: &str = "the-second-admin-key-of-the-tests";
    const THIRD: &str = "the-third-admin-key-of-the-tests";
    let dir = tempfile::tempdir().unwrap();
    let key_file = dir.path().join("key");
    std::fs::write(&key_file, ADMIN_KEY).unwrap();
    let data = dir.path().join("data");
    let setup = Setup::new(&data).option("admin-key-file", key_file.to_str().unwrap());
    let server = setup.option("admin-key-overlap-s", "3600").start().unwrap();
    let status = |server: &Server, key: &str| {
        Client::new(server.address(), Family::Service, APP_ID, key).get("/admin/cluster").unwrap().status
    };
    let wait_for_key = |server: &Server, key: &str| {
        let deadline = Instant::now() + Duration::from_secs(30);
        while status(server, key) != 200
            || std::fs::read_to_string(data.join("admin-key")).unwrap().trim() != key
        {
            assert!(Instant::now() < deadline, "{key} does not count: {}", server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    for (n, key) in [SECOND, THIRD].into_iter().enumerate() {
        std::fs::write(&key_file, key).unwrap();
        server.signal("HUP").unwrap();
        wait_for(&server, "new_admin_key=\"given\"", n + 1);
        wait_for_key(&server, key);
    }
    assert_eq!(status(&server, SECOND), 200, "the one before counts for a time");
    // what no start would take changes nothing, and the same key is no new one
    for wrong in ["short", ""] {
        let told = server.log().matches("is not taken over").count();
        std::fs::write(&key_file, wrong).unwrap();
        server.signal("HUP").unwrap();
        wait_for(&server, "the configuration is not taken over", told + 1);
    }
    std::fs::write(&key_file, THIRD).unwrap();
    server.signal("HUP").unwrap();
    wait_for(&server, "new_admin_key=\"none\"", 1);
    assert_eq!(status(&server, THIRD), 200);
    assert!(!server.log().contains(THIRD), "the log holds a key");
    let server = server.kill().unwrap().start().unwrap();
    wait_for_key(&server, THIRD);
}
