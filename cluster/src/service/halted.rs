//! A group stands still on the node that leads it, and one of which every member meets an entry that none can carry out: what
//! goes on?

use super::{CallerOp, ReadRights, Service, ServiceOptions};
use crate::clock::write_deadline;
use crate::command::{Command, Entry, MetaCommand};
use crate::disk::Purpose;
use crate::options::ClusterOptions;
use bytes::Bytes;
use quorate_model::{ErrorKind, GroupId, IndexName, SearchParams};
use quorate_node::Left;
use quorate_raft::Role;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

fn name(text: &str) -> IndexName {
    IndexName::new(text).expect("valid")
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "not in time: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Opens a node whose groups stand still for good when they fail.
async fn open(folder: &Path, own: Option<SocketAddr>, founder: Option<SocketAddr>) -> Service {
    let cluster = ClusterOptions {
        node_name: own.map(|own| own.to_string()),
        peer_listen: own,
        join: founder.filter(|it| Some(*it) != own).map(|it| it.to_string()).into_iter().collect(),
        join_token: Some("qj1-ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4CBgoOpP7iV".into()),
        ..ClusterOptions::default()
    };
    let options = ServiceOptions {
        disk_reserve_bytes: 0,
        search_threads: 1,
        reopen_after: Duration::from_secs(3_600),
        cluster,
        ..ServiceOptions::new(folder)
    };
    let opened = tokio::time::timeout(PATIENCE, Service::open(options)).await;
    opened.expect("a node starts in time").expect("a node that starts").0
}

struct Nodes {
    services: Vec<Service>,
    addresses: Vec<SocketAddr>,
    folders: Vec<TempDir>,
}

impl Nodes {
    /// Starts so many, and waits until each holds every group.
    async fn start(count: usize) -> Nodes {
        let bind = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let bound: Vec<TcpListener> = (0..count).map(bind).collect();
        let addresses: Vec<SocketAddr> =
            bound.iter().map(|it| it.local_addr().expect("an address")).collect();
        drop(bound);
        let folders: Vec<TempDir> = (0..count).map(|_| tempfile::tempdir().expect("a folder")).collect();
        let mut nodes = Nodes { services: vec![], addresses, folders };
        for number in 0..count {
            let service = nodes.open(number).await;
            nodes.services.push(service);
        }
        for service in &nodes.services {
            until("every group is everywhere", async || {
                let groups = service.inner.context.groups().all();
                groups.len() == 17 && groups.iter().all(|it| it.raft.membership().voters.len() == count)
            })
            .await;
        }
        nodes
    }
    async fn open(&self, number: usize) -> Service {
        let own = (self.addresses.len() > 1).then(|| self.addresses[number]);
        open(self.folders[number].path(), own, own.map(|_| self.addresses[0])).await
    }
    async fn stop(&self) {
        for service in &self.services {
            service.shutdown().await;
        }
    }
}

/// Writes a record through a node and waits until the node shows it.
async fn write(service: &Service, index: &str, id: &str) {
    let record = format!(r#"{{"objectID":"{id}"}}"#).into_bytes();
    let op = CallerOp::Put { object_id: Some(id.into()), record };
    let mut receipt = None;
    until("a write is taken", async || {
        receipt = service.write_records(&name(index), vec![op.clone()]).await.ok();
        receipt.is_some()
    })
    .await;
    let task = receipt.expect("taken").task_id;
    until("a write is published", async || service.is_published(task).await.is_ok_and(|it| it)).await;
}
async fn count(service: &Service, index: &str) -> Option<u64> {
    let found = service.search(&name(index), SearchParams::default(), ReadRights::default()).await;
    found.ok().map(|results| results.nb_hits)
}
fn stands_still(service: &Service, group: GroupId) -> bool {
    let word = format!("group {group} stands still: ");
    let health = service.health();
    health.reads.iter().any(|it| it.starts_with(&word))
        && health.writes.iter().any(|it| it.starts_with(&word))
}

#[actix_rt::test]
async fn a_halted_leader_gives_its_group_away_and_reads_and_writes_go_on() {
    let nodes = Nodes::start(3).await;
    write(&nodes.services[0], "a", "before").await;
    let row = crate::read::row(&nodes.services[0].inner.context, &name("a")).expect("known");
    let group = row.group;
    let leads = |service: &Service| {
        service.inner.context.groups().get(group).is_some_and(|it| it.status().role == Role::Leader)
    };
    until("a leader", async || nodes.services.iter().any(leads)).await;
    let halted = nodes.services.iter().find(|it| leads(it)).expect("a leader");
    // as a shard does that has panicked
    assert!(halted.inner.context.node().halt(group).set("planted".into(), Left::Half));
    until("another leader", async || !leads(halted) && nodes.services.iter().any(leads)).await;
    assert!(stands_still(halted, group));
    // through every node, the halted one too
    for (number, service) in nodes.services.iter().enumerate() {
        write(service, "a", &format!("after-{number}")).await;
    }
    for service in &nodes.services {
        until("all of it is read", async || count(service, "a").await == Some(4)).await;
    }
    assert!(!leads(halted));
    let seen = nodes.services.iter().find(|it| !leads(it)).expect("a follower").overview().await;
    let seen = seen.expect("an overview");
    let of_group = seen.groups.iter().find(|it| it.id == group.0).expect("the group");
    let named = of_group.replicas.iter().filter(|it| it.halted.as_deref() == Some("planted")).count();
    assert_eq!(named, 1, "{of_group:?}");
    nodes.stop().await;
}

/// Puts an entry into the log of the meta group that no member can carry out: a command in parts, which only indices have.
async fn poison(nodes: &Nodes) -> u64 {
    let command = Command::Meta(MetaCommand::StartNode);
    let entry = Bytes::from(Entry { time_ms: 1, chunk: 0, chunks: 2, command }.encode());
    let mut put = None;
    until("the entry is in the log", async || {
        for service in &nodes.services {
            let context = &service.inner.context;
            let entries = vec![entry.clone()];
            let proposed =
                context.proposer().propose_here(GroupId::META, entries, Purpose::Add, write_deadline()).await;
            put = put.or(proposed.ok());
            if put.is_some() {
                break;
            }
        }
        put.is_some()
    })
    .await;
    put.expect("in the log")
}

/// Every node says where the meta group stands still, serves and takes what is of indices that it knows, and refuses what takes a
/// command of the meta group.
async fn check_poisoned(nodes: &Nodes, log_index: u64, records: u64) {
    for service in &nodes.services {
        until("it is named", async || stands_still(service, GroupId::META)).await;
        let reads = service.health().reads.join(" ");
        assert!(reads.contains(&format!("group 0 stands still: log index {log_index}: ")), "{reads}");
    }
    for (number, service) in nodes.services.iter().enumerate() {
        write(service, "a", &format!("at-{records}-{number}")).await;
        let expected = records + 1 + number as u64;
        until("it is read", async || count(service, "a").await == Some(expected)).await;
    }
    // each of them tries for as long as a write may take, all of them at a time
    let refusals = nodes.services.iter().map(async |service| {
        let op = CallerOp::Put { object_id: Some("1".into()), record: br#"{"objectID":"1"}"#.to_vec() };
        let refused = service.write_records(&name("new"), vec![op]).await.expect_err("no new index");
        assert_eq!(refused.kind, ErrorKind::Unavailable, "{refused}");
    });
    futures_util::future::join_all(refusals).await;
    let seen = nodes.services[0].overview().await.expect("an overview");
    let meta = seen.groups.iter().find(|it| it.id == 0).expect("the meta group");
    assert!(meta.replicas.iter().all(|it| it.halted.is_some()), "{meta:?}");
}

async fn check_poison(count: usize) {
    let mut nodes = Nodes::start(count).await;
    write(&nodes.services[0], "a", "before").await;
    let log_index = poison(&nodes).await;
    check_poisoned(&nodes, log_index, 1).await;
    // each start meets it again, and ends neither in an error nor in another state
    nodes.stop().await;
    nodes.services.clear();
    let opened = futures_util::future::join_all((0..count).map(|number| nodes.open(number))).await;
    nodes.services = opened;
    check_poisoned(&nodes, log_index, 1 + count as u64).await;
    nodes.stop().await;
}

#[actix_rt::test]
async fn an_entry_that_no_node_can_carry_out_stops_the_meta_group_alone() {
    check_poison(1).await;
}

#[actix_rt::test]
async fn three_nodes_that_meet_such_an_entry_go_on_with_what_they_know() {
    check_poison(3).await;
}
