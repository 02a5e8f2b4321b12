//! Do very many small indices in one placement group keep nobody from reading and writing while nodes join and restart?

use quorate_tests::client::Client;
use quorate_tests::cluster::Cluster;
use quorate_tests::used::{Used, below};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The group that has them, and how many a cluster has.
const GROUP: u64 = 1;
const GROUPS: u64 = 16;
/// How many there may be in a group.
const MOST: usize = 20_000;
/// How long a read, and a write until it is visible, may take while nodes join and restart.
const READ: Duration = Duration::from_secs(5);
const VISIBLE: Duration = Duration::from_secs(30);
/// How long a node may take to be ready that has everything.
const RESTART: Duration = Duration::from_secs(40);

/// The group of a name, as the cluster finds it.
fn group_of(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = mix(name.bytes().fold(0xcbf2_9ce4_8422_2325, step));
    (1..=GROUPS).max_by_key(|group| mix(hash ^ mix(*group))).unwrap()
}
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
fn names_in(group: u64, prefix: &'static str) -> impl Iterator<Item = String> {
    (0_u64..).map(move |n| format!("{prefix}_{n}")).filter(move |name| group_of(name) == group)
}

/// What clients do all the time, and how long it took in each part of the test.
#[derive(Debug, Default)]
struct Load {
    part: Mutex<&'static str>,
    took: Mutex<BTreeMap<(&'static str, &'static str), Vec<Duration>>>,
    failed: Mutex<Vec<String>>,
    is_over: AtomicBool,
}
impl Load {
    fn begin(&self, part: &'static str) {
        *self.part.lock().unwrap() = part;
    }
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
    fn note(&self, what: &'static str, began: Instant) {
        let part = *self.part.lock().unwrap();
        self.took.lock().unwrap().entry((part, what)).or_default().push(began.elapsed());
    }
    fn fail(&self, what: &str, why: &str) {
        let text = format!("{}: {what}: {why}", self.part.lock().unwrap());
        let mut failed = self.failed.lock().unwrap();
        if failed.len() < 100 {
            failed.push(text);
        }
    }
    /// Writes until it is over, each until it is answered and visible. Returns how many there are.
    fn write(&self, client: &Client, index: &str, what: &'static str) -> u64 {
        let mut written = 0;
        while !self.is_over() {
            let began = Instant::now();
            let answer = client.put(&format!("/1/indexes/{index}/w{written}"), &json!({"title": "lamp"}));
            let task = match answer.and_then(|answer| answer.success()?.task_id()) {
                Ok(task) => task,
                Err(error) => {
                    self.fail(what, &format!("{error:#}"));
                    std::thread::sleep(Duration::from_millis(50));
                    continue;
                }
            };
            written += 1;
            self.note(what, began);
            let path = format!("/1/indexes/{index}/task/{task}");
            let is_visible = || client.get(&path).is_ok_and(|answer| answer.body["status"] == "published");
            while !self.is_over() && !is_visible() {
                std::thread::sleep(Duration::from_millis(10));
            }
            self.note("until it is visible", began);
            std::thread::sleep(Duration::from_millis(20));
        }
        written
    }
    fn read(&self, client: &Client, indices: &[String], what: &'static str) {
        for index in indices.iter().cycle().step_by(7) {
            if self.is_over() {
                return;
            }
            let began = Instant::now();
            let answer = client.post(&format!("/1/indexes/{index}/query"), &json!({"query": "record"}));
            match answer {
                Ok(answer) if answer.status == 200 => self.note(what, began),
                // it has not been made yet
                Ok(answer) if answer.status == 404 && *self.part.lock().unwrap() == "making" => {}
                Ok(answer) => self.fail("read", &format!("{answer:?}")),
                Err(error) => self.fail("read", &format!("{error:#}")),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    fn show(&self) {
        for ((part, what), took) in &mut *self.took.lock().unwrap() {
            took.sort_unstable();
            let of = |share: usize| took[(took.len() * share / 100).min(took.len() - 1)];
            println!(
                "{part}: {what}: {} times, {:?} half, {:?} 99 %, {:?} most",
                took.len(),
                of(50),
                of(99),
                of(100)
            );
        }
    }
    /// What was made is read at once, and written to soon, whatever else goes on.
    fn check(&self) {
        for ((part, what), took) in &*self.took.lock().unwrap() {
            let most = if what.starts_with("read") { READ } else { VISIBLE };
            let longest = took.iter().max().unwrap();
            assert!(*part == "making" || longest < &most, "{part}: {what} took {longest:?}");
        }
        let failed = self.failed.lock().unwrap();
        // a write that a node leads which ends, or that waits behind thousands of others, may be told so
        let may_be_told = |text: &&String| {
            text.contains(": write") && !text.starts_with("join") && !text.starts_with("the end")
        };
        let failed: Vec<&String> = failed.iter().filter(|text| !may_be_told(text)).collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }
}

/// Makes the indices, with one record each, and waits until all can be read.
fn make(client: &Client, names: &[String]) {
    let began = Instant::now();
    let mut last = vec![];
    for names in names.chunks(100) {
        let request = |name: &String| {
            let body = json!({"objectID": "r", "text": format!("record of {name}")});
            json!({"action": "addObject", "indexName": name, "body": body})
        };
        let requests: Vec<Value> = names.iter().map(request).collect();
        let body = json!({"requests": requests});
        let answer = loop {
            let answer = client.post("/1/indexes/*/batch", &body).unwrap();
            // what was answered waits to be applied: clients try again
            if answer.status != 503 || !answer.message().contains("too many writes are waiting") {
                break answer.success().unwrap();
            }
        };
        let tasks = answer.body["taskID"].as_object().unwrap().clone();
        last = tasks.into_iter().map(|(index, task)| (index, task.as_u64().unwrap())).collect();
        assert!(last.iter().all(|(_, task)| task & 0xfff == GROUP), "they are in other groups");
    }
    println!("{} indices: answered after {:?}", names.len(), began.elapsed());
    for (index, task) in last {
        let path = format!("/1/indexes/{index}/task/{task}");
        while client.get(&path).unwrap().success().unwrap().body["status"] != "published" {
            assert!(
                began.elapsed() < Duration::from_secs(60) + names.len() as u32 * Duration::from_millis(50)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    println!("{} indices: visible after {:?}", names.len(), began.elapsed());
}

/// Every index is where a node is asked for it, with its record.
fn check_indices(client: &Client, names: &[String]) {
    let listed = client.get("/1/indexes").unwrap().success().unwrap().body;
    let items = listed["items"].as_array().unwrap().iter();
    let entries: BTreeMap<&str, u64> =
        items.map(|item| (item["name"].as_str().unwrap(), item["entries"].as_u64().unwrap())).collect();
    for (n, name) in names.iter().enumerate() {
        assert!(entries.get(name.as_str()).is_some_and(|entries| *entries >= 1), "{name}");
        if n % (names.len() / 200).max(1) == 0 {
            assert_eq!(client.search(name, &json!({"query": "record"})).unwrap()["nbHits"], 1, "{name}");
        }
    }
}

/// What a node uses stays bounded, whatever the number of indices.
fn check_used(cluster: &Cluster, node: usize, when: &str, indices: usize) {
    let used = Used::of(cluster.node(node).unwrap().pid()).unwrap();
    let (files, mib) = below(cluster.data_dir(node));
    println!("{when}: n{node}: {used:?}, {files} files with {mib} MiB");
    assert!(used.files < 900 && used.threads < 150 && used.maps < 20_000, "{used:?}");
    assert!(used.anonymous_mib < 600 + indices as u64 / 20, "{used:?}");
}

/// Waits until a node that was started holds everything, as the others see it.
fn join(cluster: &mut Cluster, node: usize) {
    let began = Instant::now();
    let deadline = began + Duration::from_secs(900);
    cluster.spawn(node).unwrap();
    cluster.wait_listening(node).unwrap();
    let client = cluster.node(0).unwrap().client();
    loop {
        let overview = client.get("/admin/cluster").unwrap().success().unwrap().body;
        if overview["isSettled"] == true && overview["nodes"].as_array().unwrap().len() > node {
            break;
        }
        assert!(Instant::now() < deadline, "it does not settle: {}", overview["waits"]);
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("n{node} has joined after {:?}", began.elapsed());
}

fn restart(cluster: &mut Cluster, node: usize, how: &str) {
    let began = Instant::now();
    cluster.restart(node).unwrap();
    println!("n{node} is ready {:?} after a {how}", began.elapsed());
    assert!(began.elapsed() < RESTART, "a restart of n{node} after a {how}: {:?}", began.elapsed());
    cluster.wait_settled().unwrap();
}

/// Opens every index for reading, one after another.
fn read_all(client: &Client, names: &[String]) {
    let began = Instant::now();
    for name in names {
        client.search(name, &json!({"query": "record"})).unwrap();
    }
    println!("{} indices read one after another in {:?}", names.len(), began.elapsed());
}

/// 60 indices, or `QUORATE_GROUP_INDICES` for the long form: 20,000, as many as a group may have.
#[test]
fn many_small_indices_of_a_group_go_to_nodes_that_join_while_reads_and_writes_go_on() {
    let count: usize = std::env::var("QUORATE_GROUP_INDICES")
        .ok()
        .map_or(60, |text| text.parse().expect("a number of indices"));
    let names: Vec<String> = names_in(GROUP, "many").take(count).collect();
    let other = names_in(GROUP + 1, "other").next().unwrap();
    let mut cluster = Cluster::prepare(3).unwrap();
    // it founds alone, and the others come to it
    let setup = cluster.setup_mut(0);
    *setup = setup.clone().without("join");
    cluster.spawn(0).unwrap();
    cluster.wait_ready().unwrap();
    let client = cluster.node(0).unwrap().client();
    let load = Load::default();
    load.begin("making");
    let (in_group, elsewhere) = std::thread::scope(|scope| {
        let (load, client, names, other) = (&load, &client, &names, &other);
        let in_group = scope.spawn(|| load.write(client, &names[0], "write to the group"));
        let elsewhere = scope.spawn(|| load.write(client, other, "write to another group"));
        scope.spawn(|| load.read(client, names, "read of the group"));
        scope.spawn(|| load.read(client, std::slice::from_ref(other), "read of another group"));
        let _ends = Ends(load);
        make(client, names);
        read_all(client, names);
        check_used(&cluster, 0, "made", count);
        if count == MOST {
            let more = names_in(GROUP, "more").next().unwrap();
            let refused = client.put(&format!("/1/indexes/{more}/r"), &json!({})).unwrap();
            assert!(refused.status == 400 && refused.message().contains("indexName"), "{refused:?}");
        }
        for (node, part) in [(1, "join of n1"), (2, "join of n2")] {
            load.begin(part);
            join(&mut cluster, node);
            check_used(&cluster, node, part, count);
            check_used(&cluster, 0, part, count);
        }
        for node in 0..3 {
            check_indices(&cluster.node(node).unwrap().client(), names);
        }
        load.begin("kill of n2");
        cluster.kill(2).unwrap();
        restart(&mut cluster, 2, "kill");
        load.begin("stop of n1");
        cluster.stop(1).unwrap();
        restart(&mut cluster, 1, "stop");
        load.begin("the end");
        std::thread::sleep(Duration::from_secs(1));
        load.is_over.store(true, Ordering::Relaxed);
        (in_group.join().unwrap(), elsewhere.join().unwrap())
    });
    load.show();
    cluster.stop(0).unwrap();
    restart(&mut cluster, 0, "stop");
    // its own record, too
    cluster.wait_count(&names[0], in_group + 1).unwrap();
    cluster.wait_count(&other, elsewhere).unwrap();
    for node in 0..3 {
        check_indices(&cluster.node(node).unwrap().client(), &names);
        check_used(&cluster, node, "restarted", count);
    }
    cluster.check_alike().unwrap();
    load.check();
}

/// Ends the load when it is dropped.
struct Ends<'a>(&'a Load);
impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}
