//! Does a new admin key reach every node, whichever of them brings it, and does no old one come back?

use quorate_tests::client::{Client, Family};
use quorate_tests::cluster::Cluster;
use quorate_tests::harness::{ADMIN_KEY, APP_ID, Setup};
use quorate_tests::wait::wait_until;
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(90);

const SECOND: &str = "the-second-admin-key-of-the-tests";
const THIRD: &str = "the-third-admin-key-of-the-tests";
const FOURTH: &str = "the-fourth-admin-key-of-the-tests";
const FIFTH: &str = "the-fifth-admin-key-of-the-tests";
fn counts(address: &str, key: &str) -> bool {
    let client = Client::new(address, Family::Service, APP_ID, key);
    client.get("/admin/cluster").is_ok_and(|answer| answer.status == 200)
}
fn counts_on_all(cluster: &Cluster, key: &str) -> bool {
    cluster.running().iter().all(|&node| counts(cluster.node(node).unwrap().address(), key))
}
fn in_file(data_dir: &Path) -> String {
    std::fs::read_to_string(data_dir.join("admin-key")).unwrap_or_default().trim().to_owned()
}
fn in_all_files(cluster: &Cluster, key: &str) -> bool {
    cluster.running().iter().all(|&node| in_file(cluster.data_dir(node)) == key)
}
/// Starts a node with a key from now on.
fn give(cluster: &mut Cluster, node: usize, key: &str) {
    let setup = cluster.setup_mut(node);
    *setup = setup.clone().variable("QUORATE_ADMIN_KEY", key);
}
fn wait_for_key(cluster: &Cluster, key: &str) {
    wait_until(PATIENCE, "the new key counts on every node", || counts_on_all(cluster, key));
    wait_until(PATIENCE, "the new key is in every file", || in_all_files(cluster, key));
}

#[test]
fn a_new_admin_key_reaches_every_node_and_no_old_one_comes_back() {
    let mut cluster = Cluster::start(3).unwrap();
    assert!(in_all_files(&cluster, ADMIN_KEY));

    // one member brings it while another one is down
    cluster.kill(1).unwrap();
    cluster.stop(2).unwrap();
    give(&mut cluster, 2, SECOND);
    cluster.restart(2).unwrap();
    wait_for_key(&cluster, SECOND);
    assert!(counts_on_all(&cluster, ADMIN_KEY), "the one before counts for a time");
    for node in [0, 2] {
        let server = cluster.node(node).unwrap();
        wait_until(PATIENCE, "the node logs it", || {
            server.log().contains("the admin key of the installation was replaced")
        });
        assert!(!server.log().contains(SECOND), "a key in the log");
    }

    // the one that was down comes back with the old key: it takes the new one
    cluster.restart(1).unwrap();
    wait_for_key(&cluster, SECOND);
    #[cfg(unix)]
    for node in 0..3 {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(cluster.data_dir(node).join("admin-key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    // all members bring it, one after another, and the first is killed again and again meanwhile
    for node in 0..3 {
        give(&mut cluster, node, THIRD);
    }
    for pause_ms in [0, 150, 400] {
        cluster.kill(0).unwrap();
        cluster.spawn(0).unwrap();
        std::thread::sleep(Duration::from_millis(pause_ms));
    }
    cluster.wait_up(0).unwrap();
    wait_for_key(&cluster, THIRD);
    for node in [1, 2] {
        cluster.stop(node).unwrap();
        cluster.restart(node).unwrap();
    }
    wait_for_key(&cluster, THIRD);

    // it comes without a leader, and counts when there is one; until then the node serves with the one before
    cluster.kill(1).unwrap();
    cluster.kill(2).unwrap();
    cluster.stop(0).unwrap();
    give(&mut cluster, 0, FOURTH);
    *cluster.setup_mut(0) = cluster.setup_mut(0).clone().option("admin-key-overlap-s", "1");
    cluster.spawn(0).unwrap();
    let address = cluster.data_dir(0).join("address");
    wait_until(PATIENCE, "the node listens", || {
        std::fs::read_to_string(&address).is_ok_and(|it| it.ends_with('\n'))
    });
    let address = std::fs::read_to_string(&address).unwrap().trim().to_owned();
    wait_until(PATIENCE, "the key before counts", || counts(&address, THIRD));
    assert!(!counts(&address, FOURTH));
    assert_eq!(in_file(cluster.data_dir(0)), THIRD, "a key that does not count in the file");
    cluster.spawn(1).unwrap();
    cluster.spawn(2).unwrap();
    (0..3).for_each(|node| cluster.wait_up(node).unwrap());
    wait_for_key(&cluster, FOURTH);
    wait_until(PATIENCE, "the one before ends", || {
        cluster.running().iter().all(|&node| !counts(cluster.node(node).unwrap().address(), THIRD))
    });
    assert!(!counts_on_all(&cluster, SECOND), "an earlier one counts for no longer");
}

/// Also on a node that was given another one in between.
#[test]
fn an_old_file_brings_no_key_back_that_was_replaced() {
    let mut cluster = Cluster::start(2).unwrap();
    *cluster.setup_mut(1) = cluster.setup_mut(1).clone().option("admin-key-overlap-s", "0");
    for (key, counting) in [(SECOND, SECOND), (ADMIN_KEY, SECOND), (THIRD, THIRD), (SECOND, THIRD)] {
        cluster.stop(1).unwrap();
        give(&mut cluster, 1, key);
        cluster.restart(1).unwrap();
        if key != counting {
            let log = |text: &str| cluster.node(1).unwrap().log().contains(text);
            wait_until(PATIENCE, "the node says so", || log("one that was replaced does not come back"));
        }
        wait_for_key(&cluster, counting);
        let others = [ADMIN_KEY, SECOND, THIRD].into_iter().filter(|it| *it != counting);
        for other in others {
            assert!(
                cluster.running().iter().all(|&node| !counts(cluster.node(node).unwrap().address(), other)),
                "{other}"
            );
        }
    }
}

/// Also when it is killed, and when it is started with that key again and again.
#[test]
fn a_node_that_joins_with_another_admin_key_changes_none_and_says_so() {
    let mut cluster = Cluster::prepare_with_founder(3).unwrap();
    for node in 0..2 {
        cluster.restart(node).unwrap();
    }
    give(&mut cluster, 2, SECOND);
    let says =
        "the admin key given to this node is not that of the installation; a node that joins changes none";
    for start in 0..3 {
        cluster.restart(2).unwrap();
        cluster.wait_settled().unwrap();
        wait_for_key(&cluster, ADMIN_KEY);
        let server = cluster.node(2).unwrap();
        // every start adds to the same log
        wait_until(PATIENCE, "the node says that its key is not used", || {
            server.log().matches(says).count() > start
        });
        assert!(!server.log().contains(SECOND), "a key in the log");
        for &node in &cluster.running() {
            let server = cluster.node(node).unwrap();
            assert!(!counts(server.address(), SECOND), "the key of the node that joined counts on n{node}");
            assert!(!server.log().contains("the admin key of the installation was replaced"), "n{node}");
        }
        match start {
            0 => cluster.stop(2).unwrap(),
            1 => cluster.kill(2).unwrap(),
            _ => {}
        }
    }
}

#[test]
fn of_two_new_admin_keys_every_node_takes_the_same() {
    let mut cluster = Cluster::start(3).unwrap();
    cluster.stop(1).unwrap();
    cluster.stop(2).unwrap();
    give(&mut cluster, 1, SECOND);
    give(&mut cluster, 2, THIRD);
    cluster.spawn(1).unwrap();
    cluster.spawn(2).unwrap();
    (0..3).for_each(|node| cluster.wait_up(node).unwrap());
    wait_until(PATIENCE, "all files have the same new key", || {
        let key = in_file(cluster.data_dir(0));
        key != ADMIN_KEY && in_all_files(&cluster, &key)
    });
    let key = in_file(cluster.data_dir(0));
    wait_for_key(&cluster, &key);
    // decided, whatever the nodes are started with again
    for node in [1, 2] {
        cluster.stop(node).unwrap();
        cluster.restart(node).unwrap();
    }
    wait_for_key(&cluster, &key);
}

#[test]
fn a_node_alone_that_is_killed_while_it_takes_a_new_key_has_the_old_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |key: &str| {
        Setup::new(folder.path().join("n"))
            .variable("QUORATE_ADMIN_KEY", key)
            .option("admin-key-overlap-s", "3600")
    };
    setup(ADMIN_KEY).start().unwrap().stop().unwrap();
    for (round, (before, key)) in
        [(ADMIN_KEY, SECOND), (SECOND, THIRD), (THIRD, FIFTH)].into_iter().enumerate()
    {
        for pause_ms in [20, 60, 120, 200] {
            let server = setup(key).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(pause_ms + 15 * round as u64));
            server.kill().unwrap();
            let found = in_file(&folder.path().join("n"));
            assert!(found == before || found == key, "{found}");
        }
        let server = setup(key).start().unwrap();
        assert!(counts(server.address(), key) && counts(server.address(), before));
        assert_eq!(in_file(server.data_dir()), key);
        server.stop().unwrap();
    }
}

/// Ends the callers, also when the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Three callers of each node: with the search key, with the first admin key while it counts, and with the one before the newest,
/// which changes hands meanwhile. None is refused.
#[test]
fn callers_without_a_pause_notice_nothing_when_the_admin_key_is_replaced() {
    let mut cluster = Cluster::prepare_with_founder(3).unwrap();
    for node in 0..3 {
        *cluster.setup_mut(node) = cluster.setup_mut(node).clone().option("admin-key-overlap-s", "600");
        cluster.restart(node).unwrap();
    }
    cluster.wait_settled().unwrap();
    let first = &cluster.clients()[0];
    let written = first.batch("i", &[("addObject", json!({"objectID": "o", "a": 1}))]).unwrap();
    for client in cluster.clients() {
        client.wait_task("i", written).unwrap();
    }
    let search_key =
        std::fs::read_to_string(cluster.data_dir(0).join("search-key")).unwrap().trim().to_owned();
    let (over, known) = (AtomicBool::new(false), RwLock::new(ADMIN_KEY.to_owned()));
    let (asked, wrong) = (AtomicUsize::new(0), Mutex::new(vec![]));
    let addresses: Vec<String> =
        (0..3).map(|node| cluster.node(node).unwrap().address().to_owned()).collect();
    std::thread::scope(|threads| {
        let _over = Over(&over);
        for address in &addresses {
            for kind in ["search", "first", "known"] {
                let (over, known, asked, wrong, search_key) = (&over, &known, &asked, &wrong, &search_key);
                threads.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        let key = match kind {
                            "search" => search_key.clone(),
                            "first" => ADMIN_KEY.to_owned(),
                            _ => known.read().unwrap().clone(),
                        };
                        let client = Client::new(address, Family::Service, APP_ID, &key);
                        let answer = client.post("/1/indexes/i/query", &json!({}));
                        asked.fetch_add(1, Ordering::Relaxed);
                        if !answer.as_ref().is_ok_and(|answer| answer.status == 200) {
                            wrong.lock().unwrap().push(format!("{kind} at {address}: {answer:?}"));
                        }
                    }
                });
            }
        }
        let mut before = ADMIN_KEY;
        for (node, key) in [SECOND, THIRD, FOURTH].into_iter().enumerate() {
            let client = Client::new(&addresses[node], Family::Service, APP_ID, before);
            let answer = client.post("/admin/admin-key", &json!({ "adminKey": key })).unwrap();
            assert_eq!(answer.status, 200, "{}", answer.body);
            wait_for_key(&cluster, key);
            *known.write().unwrap() = key.to_owned();
            before = key;
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} of {asked:?} calls were refused: {:?}",
        wrong.len(),
        &wrong[..wrong.len().min(5)]
    );
    assert!(asked.into_inner() > 100, "too few calls to notice anything");
}
