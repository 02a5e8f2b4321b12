//! Do users notice that they are moved between two clusters, even when the node that drives the move is killed?

use anyhow::{Context, Result, ensure};
use quorate_tests::chance;
use quorate_tests::cluster::{AnyNode, Cluster};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const INDEX: &str = "shared";
/// What follows it in both clusters, and must show the same.
const REPLICA: &str = "shared_by_n";
/// What official clients send, too.
const USER: &str = "X-Algolia-User-ID";
/// The clusters of the nodes, by number. `west` has one node only: nobody else could serve its users while that one is dead.
const CLUSTERS: [&str; 4] = ["main", "main", "main", "west"];
/// Records of a user: fewer than one search can show.
const RECORDS: u64 = 900;
/// How long a move may take, the choice of another node to go on with it included.
const PATIENCE: Duration = Duration::from_secs(90);

/// The writes of one user, one after another: number `n` replaces record `n` modulo [`RECORDS`].
struct User {
    name: &'static str,
    /// This many writes were answered; one more may have been carried out.
    answered: AtomicU64,
    /// So many were published when somebody asked.
    published: AtomicU64,
    reads: AtomicU64,
}

impl User {
    fn new(name: &'static str) -> User {
        let zero = || AtomicU64::new(0);
        User { name, answered: zero(), published: zero(), reads: zero() }
    }
    fn write(&self, nodes: &AnyNode, is_over: &AtomicBool) -> Result<()> {
        let mut nodes = nodes.with_header(USER, self.name);
        while !is_over.load(Ordering::Acquire) {
            nodes.turn();
            let n = self.answered.load(Ordering::Acquire);
            let record = json!({"n": n, "owner": self.name});
            let path = format!("/1/indexes/{INDEX}/{}", n % RECORDS);
            let answer = nodes.send("PUT", &path, &record)?.success()?;
            self.answered.store(n + 1, Ordering::Release);
            nodes.wait_task(INDEX, answer.task_id()?)?;
            self.published.store(n + 1, Ordering::Release);
        }
        Ok(())
    }
    fn read(&self, nodes: &AnyNode, is_over: &AtomicBool) -> Result<()> {
        let mut nodes = nodes.with_header(USER, self.name);
        while !is_over.load(Ordering::Acquire) {
            nodes.turn();
            for index in [INDEX, REPLICA] {
                let least = self.published.load(Ordering::Acquire);
                let seen = self.seen(&nodes, index)?;
                ensure!(
                    seen >= least,
                    "{} sees {seen} writes of {least} published ones in {index}",
                    self.name
                );
                self.reads.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }
    /// How many writes one search shows: all up to some one, each record once.
    fn seen(&self, nodes: &AnyNode, index: &str) -> Result<u64> {
        let path = format!("/1/indexes/{index}/query");
        let found = nodes.post(&path, &json!({"query": "", "hitsPerPage": 1000}))?.success()?.body;
        self.writes_in(found["hits"].as_array().context("no hits")?)
    }
    fn writes_in(&self, records: &[Value]) -> Result<u64> {
        let own = records.iter().filter(|record| record["owner"] == self.name);
        let mut numbers: Vec<u64> = own.filter_map(|record| record["n"].as_u64()).collect();
        ensure!(records.len() == numbers.len() + 1, "not one public record beside those of {}", self.name);
        numbers.sort_unstable();
        let writes = numbers.last().map_or(0, |last| last + 1);
        let expected: Vec<u64> = (writes.saturating_sub(RECORDS)..writes).collect();
        ensure!(numbers == expected, "{} has {numbers:?}", self.name);
        Ok(writes)
    }
    /// What every node shows once nothing is written any more.
    fn check(&self, cluster: &Cluster) -> Result<()> {
        let answered = self.answered.load(Ordering::Acquire);
        for client in cluster.clients() {
            let client = client.with_header(USER, self.name);
            for index in [INDEX, REPLICA] {
                let found = self.writes_in(&client.browse_all(index)?)?;
                ensure!(
                    found == answered,
                    "{} has {found} writes in {index}, expected {answered}",
                    self.name
                );
            }
        }
        Ok(())
    }
}

fn assign(nodes: &AnyNode, user: &str, cluster: &str) -> Result<()> {
    let nodes = nodes.with_header(USER, user);
    let deadline = Instant::now() + PATIENCE;
    loop {
        // 503 while the nodes cannot ask each other
        match nodes.post("/1/clusters/mapping", &json!({"cluster": cluster})) {
            Ok(answer) => return answer.success().map(drop),
            Err(error) => ensure!(Instant::now() < deadline, "{user} is not assigned: {error:#}"),
        }
    }
}
fn wait_moved(nodes: &AnyNode, user: &str, cluster: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let record = nodes.send("GET", &format!("/1/clusters/mapping/{user}"), &Value::Null)?;
        let pending = nodes.send("GET", "/1/clusters/mapping/pending", &Value::Null)?.success()?;
        if record.body["clusterName"] == cluster && pending.body["pending"] == false {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{user} is not in {cluster}: {} {}", record.body, pending.body);
        std::thread::sleep(Duration::from_millis(10));
    }
}
/// The node that leads the meta group and so drives moves: one of the cluster of three, which is handed the group when it has
/// another leader.
fn driver(cluster: &Cluster) -> Result<usize> {
    let deadline = Instant::now() + PATIENCE;
    let nodes = cluster.any();
    loop {
        let seen = nodes.send("GET", "/admin/cluster", &Value::Null)?.success()?.body;
        let groups = seen["groups"].as_array().context("no groups")?;
        let meta = groups.iter().find(|group| group["id"] == 0).context("no meta group")?;
        let number = |name: &Value| name.as_str()?.strip_prefix('n')?.parse::<usize>().ok();
        let is_of_three = |&number: &usize| CLUSTERS[number] == "main";
        if let Some(leader) = number(&meta["leader"]) {
            if is_of_three(&leader) {
                return Ok(leader);
            }
            let voters = meta["voters"].as_array().context("no voters")?;
            let next = voters.iter().filter_map(number).find(is_of_three).context("no other voter")?;
            let to = json!({"node": format!("n{next}")});
            // asked again until it has been done
            drop(nodes.post("/admin/groups/0/leader", &to));
        }
        ensure!(Instant::now() < deadline, "no node of the first cluster leads the meta group: {meta}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Rounds: 2, one in each direction, or `QUORATE_USER_ROUNDS` for the long run.
#[test]
fn c15_no_record_is_lost_or_doubled_when_the_driver_of_a_move_is_killed() {
    let rounds: u64 =
        std::env::var("QUORATE_USER_ROUNDS").ok().map_or(2, |text| text.parse().expect("a number of rounds"));
    let mut chance = chance::from_environment("users");
    let mut cluster = Cluster::start_in(&CLUSTERS).unwrap();
    let users = [User::new("jane"), User::new("roe")];
    assign(&cluster.any(), "jane", "main").unwrap();
    assign(&cluster.any(), "roe", "west").unwrap();
    let everyone = cluster.any().with_header(USER, "*");
    let public = everyone.send("PUT", &format!("/1/indexes/{INDEX}/all"), &json!({"owner": "*"})).unwrap();
    cluster.wait_task(INDEX, public.task_id().unwrap()).unwrap();
    let settings = json!({"replicas": [REPLICA]});
    let linked = cluster.any().send("PUT", &format!("/1/indexes/{INDEX}/settings"), &settings).unwrap();
    cluster.wait_task(INDEX, linked.success().unwrap().task_id().unwrap()).unwrap();
    for round in 0..rounds {
        let target = ["west", "main"][round as usize % 2];
        let (nodes, is_over, failed) = (cluster.any(), AtomicBool::new(false), Mutex::new(vec![]));
        let victim = (round % 2 == 0 || chance.below(2) == 0).then(|| driver(&cluster).unwrap());
        let kill_after = Duration::from_millis(chance.below(250));
        let note = |outcome: Result<()>| {
            if let Err(error) = outcome {
                failed.lock().unwrap().push(format!("{error:#}"));
            }
        };
        std::thread::scope(|threads| {
            let (note, nodes, is_over) = (&note, &nodes, &is_over);
            for user in &users {
                threads.spawn(move || note(user.write(nodes, is_over)));
                threads.spawn(move || note(user.read(nodes, is_over)));
            }
            std::thread::sleep(Duration::from_millis(300));
            note(assign(nodes, "jane", target));
            std::thread::sleep(kill_after);
            if let Some(victim) = victim {
                note(cluster.kill(victim));
            }
            note(wait_moved(nodes, "jane", target));
            std::thread::sleep(Duration::from_millis(300));
            is_over.store(true, Ordering::Release);
        });
        let failed = failed.into_inner().unwrap();
        assert!(failed.is_empty(), "round {round}, node {victim:?} killed after {kill_after:?}: {failed:?}");
        if let Some(victim) = victim {
            cluster.restart(victim).unwrap();
            cluster.wait_settled().unwrap();
        }
        for user in &users {
            user.check(&cluster).unwrap_or_else(|e| panic!("round {round}: {e:#}"));
        }
    }
    for User { name, answered, reads, .. } in &users {
        let (answered, reads) = (answered.load(Ordering::Relaxed), reads.load(Ordering::Relaxed));
        println!("{rounds} rounds: {name} wrote {answered} records and read {reads} times");
        assert!(answered >= 2 * rounds && reads >= 2 * rounds, "too little was done to show anything");
    }
}
