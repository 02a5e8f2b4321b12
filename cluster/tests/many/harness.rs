//! Starts installations of several nodes in temporary folders, and asks them with the patience of a client.

use crate::crash_copy::copy_folder;
use quorate_cluster::{
    CallerOp, CheckOptions, ClusterOptions, ObjectRequest, RawResource, Reach, ReadRights, Receipt,
    ResourceChange, Service, ServiceOptions,
};
use quorate_model::{
    Error, ErrorKind, Filter, IndexName, ResourceKind, SearchParams, SearchResults, Settings, TaskId, level,
};
use quorate_raft::LogLayer;
use quorate_store::files::{Files, RealFiles};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a client tries before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a whole test may take.
const WHOLE: Duration = Duration::from_secs(240);
/// How nodes check what they hold.
const CHECKS: CheckOptions =
    CheckOptions { bytes_per_s: 1 << 30, every: Duration::from_millis(300), anew_within: PATIENCE };
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Nodes that found or joined one installation.
pub struct Installation {
    nodes: Vec<Service>,
    founder: SocketAddr,
    folders: Vec<TempDir>,
    options: Vec<ServiceOptions>,
    /// The newest commands that nodes take part in which are started from now on.
    pub level: u16,
    /// How such nodes check what they hold.
    checks: CheckOptions,
    /// How long a group of theirs that failed stands still at first.
    reopen_after: Option<Duration>,
}

pub fn name(text: &str) -> IndexName {
    IndexName::new(text).expect("a valid name")
}
pub fn object(value: Value) -> Map<String, Value> {
    let Value::Object(members) = value else { panic!("{value} is no object") };
    members
}
pub fn params(value: Value) -> SearchParams {
    SearchParams::from_json(&object(value)).expect("parameters")
}
pub fn put(id: &str, attributes: Value) -> CallerOp {
    let mut record = attributes;
    record["objectID"] = json!(id);
    CallerOp::Put { object_id: Some(id.into()), record: record.to_string().into_bytes() }
}
pub fn raw(document: Value) -> RawResource {
    let object_id = document["objectID"].as_str().expect("an id").to_owned();
    RawResource { object_id, document: document.to_string().into_bytes() }
}

/// Runs a test that fails when it hangs.
pub async fn in_time(test: impl Future<Output = ()>) {
    in_times(1, test).await;
}
/// The same for one that takes as long as so many.
pub async fn in_times(many: u32, test: impl Future<Output = ()>) {
    tokio::time::timeout(many * WHOLE, test).await.expect("the test ends in time");
}

/// Asks until the answer is another one than 503, as clients do on the next host.
pub async fn patiently<T, F: Future<Output = Result<T, Error>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> Result<T, Error> {
    let end = Instant::now() + PATIENCE;
    loop {
        match ask().await {
            Err(error) if error.kind == ErrorKind::Unavailable => {
                assert!(Instant::now() < end, "{what}: {error}");
                tokio::time::sleep(PAUSE).await;
            }
            other => return other,
        }
    }
}

fn free_addresses(count: usize) -> Vec<SocketAddr> {
    let bound: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port")).collect();
    bound.iter().map(|listener| listener.local_addr().expect("an address")).collect()
}

/// Copies a folder with everything in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for item in std::fs::read_dir(from).expect("a folder") {
        let item = item.expect("a file");
        match item.file_type().expect("a file").is_dir() {
            true => copy(&item.path(), &to.join(item.file_name())),
            false => drop(std::fs::copy(item.path(), to.join(item.file_name())).expect("a copy")),
        }
    }
}

async fn opened(number: usize, options: ServiceOptions) -> Service {
    tried(number, options).await.expect("a node that starts")
}
async fn tried(number: usize, options: ServiceOptions) -> Result<Service, Error> {
    let opened = tokio::time::timeout(PATIENCE, Service::open(options)).await;
    let opened = opened.unwrap_or_else(|_| panic!("node {number} does not start in time"));
    opened.map(|(node, _)| node)
}

impl Installation {
    /// Starts `count` nodes; all but the first join.
    pub async fn start(count: usize) -> Installation {
        Installation::start_with(&vec![ClusterOptions::default(); count]).await
    }
    /// Starts a node for each of `clusters`, in that cluster, which place records by user.
    pub async fn start_in(clusters: &[&str]) -> Installation {
        let options = |name: &&str| ClusterOptions {
            cluster: Some((*name).into()),
            multi_cluster: true,
            ..ClusterOptions::default()
        };
        Installation::start_with(&clusters.iter().map(options).collect::<Vec<_>>()).await
    }
    fn without_nodes(founder: SocketAddr, level: u16) -> Installation {
        Installation {
            nodes: vec![],
            founder,
            folders: vec![],
            options: vec![],
            level,
            checks: CHECKS,
            reopen_after: None,
        }
    }
    async fn start_with(options: &[ClusterOptions]) -> Installation {
        let addresses = free_addresses(options.len());
        let mut installation = Installation::without_nodes(addresses[0], level::NEWEST);
        for (address, options) in addresses.into_iter().zip(options) {
            installation.add(address, options.clone(), None).await;
        }
        installation
    }
    /// Starts a node that takes part in commands up to this level, as an older program does.
    pub async fn start_at_level(level: u16) -> Installation {
        let founder = free_addresses(1)[0];
        let mut installation = Installation::without_nodes(founder, level);
        installation.add(founder, ClusterOptions::default(), None).await;
        installation
    }
    /// Starts a node on each of these file layers.
    pub async fn start_on(layers: &[Arc<dyn Files>]) -> Installation {
        Installation::start_checked(layers, CHECKS).await
    }
    /// The same for nodes that check like this what they hold.
    pub async fn start_checked(layers: &[Arc<dyn Files>], checks: CheckOptions) -> Installation {
        let addresses = free_addresses(layers.len());
        let mut installation = Installation::without_nodes(addresses[0], level::NEWEST);
        installation.checks = checks;
        for (address, files) in addresses.into_iter().zip(layers) {
            let layer = (files.clone(), LogLayer::default());
            installation.add_on(address, ClusterOptions::default(), None, layer).await;
        }
        installation
    }
    /// Starts nodes whose logs are on these layers, and whose groups stand still for no longer than `reopen_after` at first.
    pub async fn start_on_logs(logs: &[LogLayer], reopen_after: Duration) -> Installation {
        let addresses = free_addresses(logs.len());
        let mut installation = Installation::without_nodes(addresses[0], level::NEWEST);
        installation.reopen_after = Some(reopen_after);
        for (address, log) in addresses.into_iter().zip(logs) {
            let layer = (RealFiles::shared(), log.clone());
            installation.add_on(address, ClusterOptions::default(), None, layer).await;
        }
        installation
    }
    /// Starts another node, in a cluster that may be new.
    pub async fn join(&mut self, cluster: &str) {
        let options = ClusterOptions {
            cluster: Some(cluster.into()),
            multi_cluster: true,
            ..ClusterOptions::default()
        };
        self.add(free_addresses(1)[0], options, None).await;
    }
    /// Starts another node that is given an admin key.
    pub async fn join_with_key(&mut self, admin_key: &str) {
        self.add(free_addresses(1)[0], ClusterOptions::default(), Some(admin_key.into())).await;
    }
    async fn add(&mut self, address: SocketAddr, options: ClusterOptions, admin_key: Option<String>) {
        self.add_on(address, options, admin_key, (RealFiles::shared(), LogLayer::default())).await;
    }
    async fn add_on(
        &mut self,
        address: SocketAddr,
        options: ClusterOptions,
        admin_key: Option<String>,
        (files, log): (Arc<dyn Files>, LogLayer),
    ) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let number = self.nodes.len();
        let cluster = ClusterOptions {
            node_name: Some(format!("n{number}")),
            peer_listen: Some(address),
            join: if address == self.founder { vec![] } else { vec![self.founder.to_string()] },
            join_token: Some("qj1-ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4CBgoOpP7iV".into()),
            ..options
        };
        let usual = ServiceOptions::new(folder.path());
        let options = ServiceOptions {
            disk_reserve_bytes: 0,
            search_threads: 1,
            checks: self.checks,
            admin_key,
            cluster,
            command_level: self.level,
            reopen_after: self.reopen_after.unwrap_or(usual.reopen_after),
            files,
            log,
            ..usual
        };
        self.nodes.push(opened(number, options.clone()).await);
        self.folders.push(folder);
        self.options.push(options);
    }
    /// Stops a node, lets `change` do something to a copy of its folder, and starts it again with that: this process may have
    /// files of a stopped node open.
    pub async fn restart(&mut self, number: usize, change: impl FnOnce(&Path)) {
        self.down(number).await;
        self.up(number, change).await;
    }
    /// Stops a node.
    pub async fn down(&self, number: usize) {
        self.nodes[number].shutdown().await;
    }
    /// Starts a node that was stopped, as [`Installation::restart`] does.
    pub async fn up(&mut self, number: usize, change: impl FnOnce(&Path)) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        copy(self.folder(number), folder.path());
        change(folder.path());
        self.options[number].data_dir = folder.path().into();
        self.options[number].command_level = self.level;
        self.nodes[number] = opened(number, self.options[number].clone()).await;
        self.folders[number] = folder;
    }
    /// Ends a node as kill -9 does; returns what it had on disk then.
    pub async fn kill(&self, number: usize) -> TempDir {
        let left = tempfile::tempdir().expect("a temporary folder");
        copy_folder(self.folder(number), left.path());
        self.down(number).await;
        left
    }
    /// What is in the folder of a node that could not be started.
    pub fn left(&mut self, number: usize) -> TempDir {
        std::mem::replace(&mut self.folders[number], tempfile::tempdir().expect("a temporary folder"))
    }
    /// Tries to start a node that was stopped, with what it had on disk. After an error that is still to be had, changed by the try.
    pub async fn try_up(&mut self, number: usize, left: &Path) -> Result<(), Error> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        copy(left, folder.path());
        self.options[number].data_dir = folder.path().into();
        self.folders[number] = folder;
        self.nodes[number] = tried(number, self.options[number].clone()).await?;
        Ok(())
    }
    pub async fn stop(self) {
        for node in &self.nodes {
            node.shutdown().await;
        }
    }
    /// The admin key in the folder of a node.
    pub fn admin_key(&self, number: usize) -> Option<String> {
        let text = std::fs::read_to_string(self.folders[number].path().join("admin-key")).ok()?;
        Some(text.trim().to_owned())
    }
    /// The data folder of a node.
    pub fn folder(&self, number: usize) -> &Path {
        self.folders[number].path()
    }
    pub fn nodes(&self) -> impl Iterator<Item = &Service> {
        self.nodes.iter()
    }
    /// A node; numbers go round.
    pub fn node(&self, number: usize) -> &Service {
        &self.nodes[number % self.nodes.len()]
    }
    /// Waits until a node says that every reader sees the write.
    pub async fn published(&self, number: usize, task: TaskId) {
        let end = Instant::now() + PATIENCE;
        while !self.node(number).is_published(task).await.expect("an answer") {
            if Instant::now() >= end {
                let health: Vec<_> = self.nodes().map(Service::health).collect();
                let groups = self.node(number).overview().await.map(|overview| overview.groups);
                panic!("task {task:?} is not published in time, says node {number}: {health:?} {groups:?}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    /// Writes at one node and waits until another says that it is published.
    pub async fn write(&self, number: usize, index: &str, ops: Vec<CallerOp>) -> Receipt {
        let (node, index) = (self.node(number), name(index));
        let receipt = patiently("a write", || node.write_records(&index, ops.clone())).await;
        self.through(number, receipt).await
    }
    pub async fn set(&self, number: usize, index: &str, settings: Value) -> Receipt {
        let (node, index, changes) = (self.node(number), name(index), object(settings));
        let receipt = patiently("settings", || node.set_settings(&index, changes.clone(), false)).await;
        self.through(number, receipt).await
    }
    pub async fn save(&self, number: usize, index: &str, kind: ResourceKind, documents: &[Value]) -> Receipt {
        let (node, index) = (self.node(number), name(index));
        let change = ResourceChange::Save(documents.iter().cloned().map(raw).collect());
        let receipt =
            patiently("documents", || node.change_resources(&index, kind, change.clone(), Reach::Index))
                .await;
        self.through(number, receipt).await
    }
    /// Notes every warning of a node that has this text, until there is nothing more to look for: one may stand for a moment only.
    pub async fn warnings(&self, number: usize, text: &str, noted: &Mutex<BTreeSet<String>>) {
        loop {
            let warnings = self.node(number).health().warnings;
            noted.lock().expect("no panic").extend(warnings.into_iter().filter(|it| it.contains(text)));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    /// Waits, at the next node, until an accepted write is published.
    pub async fn through(&self, number: usize, receipt: Result<Receipt, Error>) -> Receipt {
        let receipt = receipt.expect("an accepted write");
        self.published(number + 1, receipt.task_id).await;
        receipt
    }
    pub async fn search(&self, number: usize, index: &str, asked: Value) -> Result<SearchResults, Error> {
        let (node, index, asked) = (self.node(number), name(index), params(asked));
        patiently("a search", || node.search(&index, asked.clone(), ReadRights::default())).await
    }
    pub async fn settings(&self, number: usize, index: &str) -> Result<Arc<Settings>, Error> {
        let (node, index) = (self.node(number), name(index));
        patiently("settings", || node.settings(&index)).await
    }
    /// The ids of the records that a search finds, in order.
    pub async fn found(&self, number: usize, index: &str, query: &str) -> Vec<String> {
        let results = self.search(number, index, json!({"query": query})).await.expect("an answer");
        let hit = |hit: &[u8]| serde_json::from_slice::<Value>(hit).expect("JSON")["objectID"].clone();
        results.hits.iter().map(hit).map(|id| id.as_str().expect("an id").to_owned()).collect()
    }
    pub async fn objects(&self, number: usize, ids: &[(&str, &str)]) -> Result<Vec<Option<Value>>, Error> {
        let request = |(index, id): &(&str, &str)| ObjectRequest {
            index: name(index),
            object_id: (*id).into(),
            attributes_to_retrieve: None,
        };
        let requests: Vec<ObjectRequest> = ids.iter().map(request).collect();
        let (node, rights) = (self.node(number), ReadRights::default());
        let found =
            patiently("objects", || node.objects(requests.clone(), rights, Filter::default())).await?;
        let parsed = |record: Vec<u8>| serde_json::from_slice(&record).expect("JSON");
        Ok(found.into_iter().map(|record| record.map(parsed)).collect())
    }
}
