//! How are several nodes run as one installation, killed and started again?

use crate::client::{Answer, Client};
use crate::delay::Delays;
use crate::harness::{Server, Setup};
use crate::network::Network;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The secret of every test installation: a made one, which programs of all ages read alike and at once.
pub const JOIN_TOKEN: &str = "qj1-ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4CBgoOpP7iV";
/// How long nodes may take to agree on something: generous, for machines that do something else too.
const PATIENCE: Duration = Duration::from_secs(120);

/// Nodes of one installation, by number from 0. Killed and removed when dropped.
#[derive(Debug)]
pub struct Cluster {
    setups: Vec<Setup>,
    nodes: Vec<Option<Server>>,
    _folder: TempDir,
}

/// How often replicas are compared: whatever the tests do, they must hold the same.
const COMPARED_EVERY_S: &str = "2";

impl Cluster {
    /// Starts nodes that found an installation together, whatever the order in which they come up, and waits until it
    /// has a replica of everything on each of them.
    pub fn start(count: usize) -> Result<Cluster> {
        let mut cluster = Cluster::prepare(count)?;
        for node in 0..count {
            cluster.nodes[node] = Some(cluster.setups[node].spawn()?);
        }
        cluster.wait_ready()?;
        Ok(cluster)
    }
    /// As [`Cluster::start`], a node for each of `clusters` (C§15) and in that cluster; they place records by user.
    pub fn start_in(clusters: &[&str]) -> Result<Cluster> {
        let mut cluster = Cluster::prepare(clusters.len())?;
        for (setup, name) in cluster.setups.iter_mut().zip(clusters) {
            *setup = setup.clone().option("cluster", name).variable("QUORATE_MULTI_CLUSTER", "true");
        }
        for node in 0..clusters.len() {
            cluster.spawn(node)?;
        }
        cluster.wait_ready()?;
        Ok(cluster)
    }
    /// Waits until the nodes that were started can serve and every replica is in place.
    pub fn wait_ready(&mut self) -> Result<()> {
        for node in self.nodes.iter_mut().flatten() {
            node.wait_ready()?;
        }
        self.wait_settled()
    }
    /// Nodes that are not started yet; all are told to join the first three, themselves included, under other names than
    /// they give themselves.
    pub fn prepare(count: usize) -> Result<Cluster> {
        let addresses = free_addresses(count)?;
        Cluster::prepare_at(&addresses, &addresses)
    }
    /// As [`Cluster::prepare`], with a proxy before each node that can make what is sent to it late.
    pub fn prepare_behind_delays(count: usize) -> Result<(Cluster, Delays)> {
        let listened = free_addresses(count)?;
        let delays = Delays::before(&listened)?;
        let found: Vec<SocketAddr> = (0..count).map(|node| delays.address(node)).collect();
        Ok((Cluster::prepare_at(&listened, &found)?, delays))
    }
    /// Nodes that are not started yet; all join the first one, which joins nobody: any program founds like that.
    pub fn prepare_with_founder(count: usize) -> Result<Cluster> {
        let addresses = free_addresses(count)?;
        let folder = tempfile::tempdir()?;
        let setup = |number: usize| {
            let setup = Setup::new(folder.path().join(format!("n{number}")))
                .option("peer-listen", &addresses[number].to_string())
                .option("node-name", &format!("n{number}"))
                .variable("QUORATE_JOIN_TOKEN", JOIN_TOKEN);
            if number == 0 { setup } else { setup.option("join", &addresses[0].to_string()) }
        };
        let setups: Vec<Setup> = (0..count).map(setup).collect();
        let nodes = setups.iter().map(|_| None).collect();
        Ok(Cluster { setups, nodes, _folder: folder })
    }
    /// Nodes that listen at the first addresses and are found at the second ones.
    fn prepare_at(listened: &[SocketAddr], found: &[SocketAddr]) -> Result<Cluster> {
        let folder = tempfile::tempdir()?;
        let setup = |number: usize| {
            let setup = Setup::new(folder.path().join(format!("n{number}")))
                .option("peer-listen", &listened[number].to_string())
                .option("peer-address", &found[number].to_string())
                .option("node-name", &format!("n{number}"))
                .option("check-every-s", COMPARED_EVERY_S)
                .variable("QUORATE_JOIN_TOKEN", JOIN_TOKEN);
            found.iter().take(3).fold(setup, |setup, node| setup.option("join", &by_name(*node)))
        };
        let setups: Vec<Setup> = (0..listened.len()).map(setup).collect();
        let nodes = setups.iter().map(|_| None).collect();
        Ok(Cluster { setups, nodes, _folder: folder })
    }
    /// Starts a node on each host of a network of the test's own, and waits as [`Cluster::start`] does.
    pub fn start_on(network: &Network) -> Result<Cluster> {
        let folder = tempfile::tempdir()?;
        let hosts = network.hosts();
        let setup = |number: usize| {
            let peer = |host: usize| format!("{}:7800", network.address(host));
            let mut setup = Setup::new(folder.path().join(format!("n{number}")))
                .option("peer-listen", &peer(number))
                .option("node-name", &format!("n{number}"))
                .variable("QUORATE_JOIN_TOKEN", JOIN_TOKEN);
            setup.listen = format!("{}:0", network.address(number));
            setup.within = network.within(number);
            for other in (0..hosts).filter(|&other| other != number) {
                setup = setup.option("join", &peer(other));
            }
            setup
        };
        let setups = (0..hosts).map(setup).collect();
        let mut cluster = Cluster { setups, nodes: (0..hosts).map(|_| None).collect(), _folder: folder };
        for node in 0..hosts {
            cluster.spawn(node)?;
        }
        cluster.wait_ready()?;
        Ok(cluster)
    }

    /// Errors: a node has said that it holds something else than others.
    pub fn check_alike(&self) -> Result<()> {
        for (number, node) in self.nodes.iter().enumerate() {
            let log = node.as_ref().map(Server::log).unwrap_or_default();
            if let Some(line) =
                log.lines().find(|line| line.contains("holds something else than other replicas"))
            {
                // whether they still do after the next comparisons
                std::thread::sleep(Duration::from_secs(10));
                let seen = self.node(number)?.client().get("/admin/cluster")?.body;
                bail!("n{number} differs: {line}; later: {}", seen["waits"]);
            }
        }
        Ok(())
    }
    /// How many nodes there are, running or not.
    pub fn len(&self) -> usize {
        self.setups.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.setups.is_empty()
    }
    /// A node that runs.
    pub fn node(&self, number: usize) -> Result<&Server> {
        self.nodes[number].as_ref().with_context(|| format!("node {number} does not run"))
    }
    /// How a node is started from now on.
    pub fn setup_mut(&mut self, number: usize) -> &mut Setup {
        &mut self.setups[number]
    }
    /// Waits until a node that was started can serve.
    pub fn wait_up(&mut self, number: usize) -> Result<()> {
        self.nodes[number].as_mut().with_context(|| format!("node {number} does not run"))?.wait_ready()
    }
    /// Waits until a node that was started answers, also when it says that it is not ready.
    pub fn wait_listening(&mut self, number: usize) -> Result<()> {
        self.nodes[number].as_mut().with_context(|| format!("node {number} does not run"))?.wait_listening()
    }
    /// The numbers of the nodes that run.
    pub fn running(&self) -> Vec<usize> {
        (0..self.len()).filter(|&number| self.nodes[number].is_some()).collect()
    }
    /// Whether every node that was started and not stopped is still there.
    pub fn all_run(&mut self) -> bool {
        self.nodes.iter_mut().flatten().all(Server::is_running)
    }
    /// The data folder of a node.
    pub fn data_dir(&self, number: usize) -> &Path {
        &self.setups[number].data_dir
    }
    /// Lets the clients of all nodes have another admin key from now on.
    pub fn clients_use(&mut self, key: &str) {
        self.setups.iter_mut().for_each(|setup| key.clone_into(&mut setup.key));
        self.nodes.iter_mut().flatten().for_each(|node| node.clients_use(key));
    }
    /// A client of every node that runs.
    pub fn clients(&self) -> Vec<Client> {
        self.nodes.iter().flatten().map(Server::client).collect()
    }
    /// A client that tries the running nodes in turn, as official ones do.
    pub fn any(&self) -> AnyNode {
        AnyNode { clients: self.clients(), first: 0 }
    }

    /// As [`Cluster::any`], without one of them.
    pub fn without(&self, number: usize) -> AnyNode {
        let others = self.nodes.iter().enumerate().filter(|(node, _)| *node != number);
        AnyNode { clients: others.filter_map(|(_, node)| Some(node.as_ref()?.client())).collect(), first: 0 }
    }

    /// Ends a node as kill -9 does.
    pub fn kill(&mut self, number: usize) -> Result<()> {
        if let Some(server) = self.nodes[number].take() {
            server.kill()?;
        }
        Ok(())
    }
    /// Lets a node stop by itself.
    pub fn stop(&mut self, number: usize) -> Result<()> {
        if let Some(server) = self.nodes[number].take() {
            server.stop()?;
        }
        Ok(())
    }
    /// Starts a node and waits until it can serve.
    pub fn restart(&mut self, number: usize) -> Result<()> {
        self.nodes[number] = Some(self.setups[number].start()?);
        Ok(())
    }
    /// Starts a node and does not wait for it.
    pub fn spawn(&mut self, number: usize) -> Result<()> {
        self.nodes[number] = Some(self.setups[number].spawn()?);
        Ok(())
    }

    /// Waits until every replica is where it is wanted and caught up, as every running node sees it.
    pub fn wait_settled(&self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        for client in self.clients() {
            loop {
                let answer = client.get("/admin/cluster")?;
                if answer.body["isSettled"] == true {
                    break;
                }
                ensure!(Instant::now() < deadline, "the nodes do not settle: {}", answer.body);
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }
    /// Waits until a task is published, by whichever node.
    pub fn wait_task(&self, index: &str, task: u64) -> Result<()> {
        self.any().wait_task(index, task)
    }
    /// Waits until every running node finds exactly so many records.
    pub fn wait_count(&self, index: &str, count: u64) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let counts: Vec<Option<u64>> =
                self.clients().iter().map(|client| count_of(client, index)).collect();
            if counts.iter().all(|found| *found == Some(count)) {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "{index} has {counts:?} records, expected {count}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn by_name(address: SocketAddr) -> String {
    format!("localhost:{}", address.port())
}

/// Addresses of this machine that nobody listens at.
fn free_addresses(count: usize) -> Result<Vec<SocketAddr>> {
    // held together until all are known, so that they differ
    let ports: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<std::io::Result<_>>()?;
    Ok(ports.iter().map(TcpListener::local_addr).collect::<std::io::Result<_>>()?)
}

/// How many records an index has by one node; `None` when it does not say.
pub fn count_of(client: &Client, index: &str) -> Option<u64> {
    let path = format!("/1/indexes/{index}/query");
    let answer = client.post(&path, &json!({"query": "", "hitsPerPage": 0})).ok()?;
    answer.success().ok()?.body["nbHits"].as_u64()
}

/// Tries one node after the other, as official clients do: on 5xx, and when there is no answer.
#[derive(Clone, Debug)]
pub struct AnyNode {
    clients: Vec<Client>,
    first: usize,
}

impl AnyNode {
    /// The same with one more header on every request.
    pub fn with_header(&self, name: &str, value: &str) -> AnyNode {
        let clients = self.clients.iter().map(|client| client.with_header(name, value));
        AnyNode { clients: clients.collect(), first: self.first }
    }
    /// Begins with another node the next time.
    pub fn turn(&mut self) {
        self.first += 1;
    }
    /// Sends a request. Errors: no node answers it with less than 500.
    pub fn send(&self, method: &str, path: &str, body: &Value) -> Result<Answer> {
        let bytes = serde_json::to_vec(body)?;
        let body = (!body.is_null()).then_some(bytes.as_slice());
        let mut refusals = vec![];
        for number in 0..self.clients.len() {
            let client = &self.clients[(self.first + number) % self.clients.len()];
            match client.send(method, path, body) {
                Ok(answer) if answer.status < 500 => return Ok(answer),
                Ok(answer) => refusals.push(format!("{}: {}", answer.status, answer.body)),
                Err(error) => refusals.push(format!("{error:#}")),
            }
        }
        bail!("no node answers {method} {path}: {refusals:?}")
    }
    /// POST with a JSON body.
    pub fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.send("POST", path, body)
    }
    /// Waits until a task is published.
    pub fn wait_task(&self, index: &str, task: u64) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let path = format!("/1/indexes/{index}/task/{task}");
        loop {
            let answer = self.send("GET", &path, &Value::Null)?.success()?;
            if answer.body["status"] == "published" {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "task {task} of {index} is not published in time");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
