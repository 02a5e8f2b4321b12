//! Whether a member that the log does not reach gets a group's state as files and follows, while the leader goes on writing.

use crate::harness::PATIENCE;
use actix::{Actor, Addr, Arbiter};
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_cluster::apply::actor::{Anew, ApplyActor, Close};
use quorate_cluster::apply::group::{DumpFound, DumpPlace, Exported, GroupApply, Replaced};
use quorate_cluster::apply::inbox::Inbox;
use quorate_cluster::apply::meta::MetaMachine;
use quorate_cluster::command::{self, Command, Entry, MetaCommand};
use quorate_cluster::snapshot::{InProcess, RoomOptions, SnapshotRequest, SnapshotRoom, WantedManifest};
use quorate_model::{ErrorKind, GroupId, NodeId, RecordOp};
use quorate_node::ops::IndexCommand;
use quorate_node::{LevelInForce, Node, NodeOptions, Pace, PlacementMachine, SharedDictionaries};
use quorate_raft::*;
use quorate_store::files::RealFiles;
use quorate_store::incoming::{self, Incoming};
use quorate_store::kv::Kv;
use quorate_store::layout::{self, Layout};
use quorate_store::space::Room;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

const GROUP: GroupId = GroupId(3);

/// Members of one process; a message takes the way over its bytes.
#[derive(Clone, Default)]
struct Net {
    groups: Arc<Mutex<BTreeMap<u64, GroupHandle>>>,
    files: Arc<InProcess>,
}
impl Outbox for Net {
    fn send(&self, _: GroupId, messages: Vec<PeerMessage>) {
        for message in messages {
            let to = self.groups.lock().get(&message.to).cloned();
            if let Some(to) = to {
                let message = PeerMessage::decode(&message.encode()).expect("own bytes");
                to.step(message).expect("within limits");
            }
        }
    }
}

struct IntoInbox(Arc<Inbox>);
impl CommitSink for IntoInbox {
    fn committed(&mut self, entries: Vec<CommittedEntry>) {
        self.0.push(entries);
    }
    fn leadership(&mut self, _: Leadership) {}
    fn restore(&mut self, image: SnapshotImage) {
        self.0.restore(image);
    }
    fn snapshot_wanted(&mut self) {
        self.0.want_snapshot();
    }
    fn failed(&mut self, reason: &str) {
        panic!("{reason}");
    }
}

struct Member {
    id: u64,
    raft: GroupHandle,
    node: Node,
    room: Arc<SnapshotRoom>,
    applied: watch::Receiver<u64>,
    actor: Addr<ApplyActor<PlacementMachine>>,
    arbiter: Arbiter,
    host: RaftHost,
    net: Net,
}

/// What a member's transfers are like.
#[derive(Clone, Copy)]
struct Rate(u64);

fn place(data: &Layout, kv: &Kv, group: GroupId) -> DumpPlace {
    let tree = kv.tree(&layout::tree(group)).expect("a tree");
    incoming::resume(&RealFiles, data, group, &tree).expect("no damage");
    incoming::forget(&RealFiles, data, group, tree.applied()).expect("no damage");
    DumpPlace { group, tree, data: data.clone(), files: RealFiles::shared(), found: DumpFound::Whole }
}

impl Member {
    fn open(folder: &Path, id: u64, voters: Vec<u64>, net: &Net, Rate(bytes_per_s): Rate) -> Member {
        let data = Layout::new(folder.join(id.to_string()));
        data.prepare(&RealFiles).expect("a data folder");
        let (kv, _) = Kv::open(&data.state(), RealFiles::shared(), 16 << 20).expect("a store");
        let place = place(&data, &kv, GROUP);
        let files = RealFiles::shared();
        let (layout, writer_memory_bytes) = (data.clone(), 16 << 20);
        let options = NodeOptions {
            layout,
            files,
            kv,
            search_threads: 1,
            writer_threads: 1,
            writer_memory_bytes,
            writer_spill_bytes: 4 << 20,
            room: Room::boundless(),
            pace: Pace::default(),
            level: LevelInForce::default(),
            dictionaries: SharedDictionaries::default(),
            events_kept: std::time::Duration::from_secs(90 * 24 * 3_600),
        };
        let node = Node::open(options).expect("a node");
        let apply = GroupApply::open(node.machine(GROUP).expect("a machine"), place).expect("a group");
        let mut options = RoomOptions::new(&data, RealFiles::shared(), id);
        options.fetch.bytes_per_s = bytes_per_s;
        options.fetch.chunk_bytes = 4_000;
        options.fetch.reserve_bytes = 0;
        // what nobody reads is gone at the next look
        options.offer.lifetime = Duration::ZERO;
        let room = SnapshotRoom::open(options).expect("a room");
        room.connect(net.files.clone());
        net.files.join(id, room.store().clone());
        let raft =
            RaftOptions { outbox: Arc::new(net.clone()), tick_ms: 20, ..RaftOptions::new(&data.raft()) };
        let host = RaftHost::open(raft).expect("a log");
        let inbox = Inbox::shared();
        let (position, applied) = watch::channel(apply.taken());
        let sink = Box::new(IntoInbox(inbox.clone()));
        let group = GroupOptions { applied: apply.taken(), voters, self_id: id, sink };
        let raft = host.start_group(GROUP, group).expect("a group");
        net.groups.lock().insert(id, raft.clone());
        let arbiter = Arbiter::new();
        let (for_actor, handle, for_room) = (inbox.clone(), raft.clone(), room.clone());
        let actor = ApplyActor::start_in_arbiter(&arbiter.handle(), move |_| {
            ApplyActor::new(apply, for_actor, Arc::new(position), handle, for_room)
        });
        inbox.set_actor(actor.clone().recipient());
        inbox.wake();
        Member { id, raft, node, room, applied, actor, arbiter, host, net: net.clone() }
    }
    async fn close(self) {
        self.net.groups.lock().remove(&self.id);
        self.net.files.leave(self.id);
        tokio::time::timeout(PATIENCE, self.actor.send(Close)).await.expect("it closes").expect("an actor");
        let host = self.host;
        tokio::task::spawn_blocking(move || drop(host)).await.expect("no panic");
        self.arbiter.stop();
    }
    async fn write(&self, command: IndexCommand) -> u64 {
        let entries: Vec<Bytes> = command::entries(1_700_000_000_000, Command::Index(command))
            .into_iter()
            .map(Bytes::from)
            .collect();
        self.raft.propose(entries, PATIENCE).await.expect("accepted").last
    }
    async fn put(&self, from: u32, to: u32) -> u64 {
        let put = |n: u32| {
            let object_id = format!("r{n}");
            // no two records are alike to a compressor
            let noise: String =
                (0..40).map(|k| format!("{:x}", (n * 7_919 + k).wrapping_mul(2_654_435_761))).collect();
            let record = format!(r#"{{"n":{n},"objectID":"{object_id}","text":"{noise}"}}"#).into_bytes();
            RecordOp::Put { object_id, record }
        };
        self.write(IndexCommand::Records { index: 1, ops: (from..to).map(put).collect() }).await
    }
    async fn applied(&self, log_index: u64) {
        let mut applied = self.applied.clone();
        let reached = tokio::time::timeout(PATIENCE, applied.wait_for(|applied| *applied >= log_index)).await;
        let status = self.raft.status();
        reached
            .unwrap_or_else(|_| panic!("{} has not applied {log_index}: {status:?}", self.id))
            .expect("an actor");
        let end = Instant::now() + PATIENCE;
        while !self.node.is_visible(GROUP, log_index) {
            assert!(Instant::now() < end, "{} does not show {log_index}", self.id);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    /// Every record, as `n` of each id.
    fn records(&self, ids: u32) -> Vec<String> {
        let view = self.node.view(1).expect("an index");
        let found = (0..ids).filter_map(|n| view.shard.get(&format!("r{n}")));
        let mut records: Vec<String> = found.map(|record| String::from_utf8_lossy(record).into()).collect();
        records.push(view.shard.record_count().to_string());
        records
    }
}

/// A leader with records, and a second member that has just been added.
async fn two(folder: &Path, net: &Net, rate: Rate) -> (Member, Member) {
    let leader = Member::open(folder, 1, vec![1], net, rate);
    leader.put(0, 300).await;
    leader
        .write(IndexCommand::Settings { index: 1, changes: br#"{"hitsPerPage":7}"#.to_vec(), replace: false })
        .await;
    let last = leader.put(300, 600).await;
    leader.applied(last).await;
    let second = Member::open(folder, 2, vec![], net, rate);
    let added = leader.raft.change_members(vec![MemberChange::AddLearner(2)], Bytes::new(), PATIENCE).await;
    added.expect("a learner");
    (leader, second)
}

fn assert_equal(leader: &Member, other: &Member, ids: u32) {
    assert_eq!(leader.records(ids), other.records(ids));
    let settings = |member: &Member| member.node.index(1).expect("an index").settings.load().document.clone();
    assert_eq!(settings(leader), settings(other));
    assert_eq!(settings(other)["hitsPerPage"], 7);
}

#[actix_rt::test]
async fn a_new_member_follows_while_the_leader_goes_on_writing() {
    let folder = tempfile::tempdir().expect("a folder");
    let net = Net::default();
    let (leader, second) = two(folder.path(), &net, Rate(1_000_000)).await;
    let mut last = 0;
    for round in 0..40 {
        last = leader.put(600 + round * 5, 605 + round * 5).await;
        leader.put(round, round + 1).await;
    }
    second.applied(last).await;
    let last = leader.put(0, 3).await;
    leader.applied(last).await;
    second.applied(last).await;
    assert_equal(&leader, &second, 800);
    assert!(second.raft.status().first_index > 2, "its log begins behind the snapshot");

    // both go on after a restart, the second one without another snapshot
    let exports = || std::fs::read_dir(folder.path().join("1/snapshots/out")).expect("a folder").count();
    second.close().await;
    leader.close().await;
    let leader = Member::open(folder.path(), 1, vec![1], &net, Rate(1));
    let second = Member::open(folder.path(), 2, vec![], &net, Rate(1));
    let last = leader.put(790, 800).await;
    leader.applied(last).await;
    second.applied(last).await;
    assert_equal(&leader, &second, 800);
    assert_eq!(exports(), 0);
    second.close().await;
    leader.close().await;
}

#[actix_rt::test]
async fn a_snapshot_that_is_gone_half_way_is_replaced_by_a_newer_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let net = Net::default();
    let (leader, second) = two(folder.path(), &net, Rate(60_000)).await;
    let incoming = folder.path().join("2/snapshots/in");
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(&incoming).into_iter().flatten();
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    let end = Instant::now() + PATIENCE;
    while names().is_empty() {
        assert!(Instant::now() < end, "nothing arrives");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let first = names();
    leader.put(600, 620).await;
    leader.room.store().expire();
    let mut last = leader.put(620, 640).await;
    while names().iter().all(|name| first.contains(name)) && !names().is_empty() {
        assert!(Instant::now() < end, "no newer one arrives");
        tokio::time::sleep(Duration::from_millis(20)).await;
        last = leader.put(0, 1).await;
    }
    leader.applied(last).await;
    second.applied(last).await;
    assert_equal(&leader, &second, 640);
    assert!(names().is_empty(), "{:?}", names());
    second.close().await;
    leader.close().await;
}

#[actix_rt::test]
async fn a_member_that_stops_while_it_fetches_stops_at_once_and_goes_on_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let net = Net::default();
    let (leader, second) = two(folder.path(), &net, Rate(10_000)).await;
    let end = Instant::now() + PATIENCE;
    let dump = |index: u64| folder.path().join(format!("2/snapshots/in/{GROUP}-{index}/dumps/{GROUP}.dump"));
    while !(0..50).any(|index| dump(index).exists()) {
        assert!(Instant::now() < end, "nothing arrives");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let begun = Instant::now();
    second.close().await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let last = leader.put(600, 640).await;
    let second = Member::open(folder.path(), 2, vec![], &net, Rate(1_000_000));
    leader.applied(last).await;
    second.applied(last).await;
    assert_equal(&leader, &second, 640);
    second.close().await;
    leader.close().await;
}

/// What a member says of its own state, and what its leader counts of it.
async fn until_both_say(leader: &Member, member: &Member, what: fn(StateCopy) -> bool) {
    let end = Instant::now() + PATIENCE;
    loop {
        let counted = leader.raft.membership().progress(member.id).expect("a follower").copy;
        let own = member.raft.status().copy;
        if what(own) && what(counted) {
            return;
        }
        assert!(Instant::now() < end, "it says {own:?}, and {counted:?} is counted");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[actix_rt::test]
async fn a_state_that_is_taken_anew_is_not_whole_before_it_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let net = Net::default();
    let (leader, second) = two(folder.path(), &net, Rate(1_000_000)).await;
    let last = leader.put(600, 610).await;
    second.applied(last).await;
    until_both_say(&leader, &second, StateCopy::is_whole).await;
    // nobody can give it for now
    net.files.leave(1);
    let (done, ended) = tokio::sync::oneshot::channel();
    second.actor.send(Anew { from: vec![NodeId(1)], within: PATIENCE, done }).await.expect("an actor");
    until_both_say(&leader, &second, |copy| copy == StateCopy::Fetching).await;
    // who asks it for a snapshot is sent on at once
    let wanted = SnapshotRequest::Manifest(WantedManifest::AtLeast { group: GROUP, index: 1 });
    assert_eq!(second.room.store().answer(&wanted).expect_err("none").kind, ErrorKind::NotFound);
    let last = leader.put(610, 640).await;
    net.files.join(1, leader.room.store().clone());
    ended.await.expect("it is in place");
    leader.applied(last).await;
    second.applied(last).await;
    until_both_say(&leader, &second, StateCopy::is_whole).await;
    assert_equal(&leader, &second, 640);
    second.close().await;
    leader.close().await;
}

#[test]
fn the_meta_state_is_replaced_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |name: &str| {
        let data = Layout::new(folder.path().join(name));
        data.prepare(&RealFiles).expect("a data folder");
        let (kv, _) = Kv::open(&data.state(), RealFiles::shared(), 1 << 20).expect("a store");
        let place = place(&data, &kv, GroupId::META);
        let machine = MetaMachine::open(place.tree.clone()).expect("a state");
        let shared = machine.shared();
        (GroupApply::open(machine, place).expect("a group"), shared, data)
    };
    let create = |index: u64, name: &str| {
        let name = crate::harness::name(name);
        let command = Command::Meta(MetaCommand::CreateIndex { name, group: GROUP });
        let data = Entry { time_ms: index, chunk: 0, chunks: 1, command }.encode().into();
        CommittedEntry { index, term: 1, data }
    };
    let (mut from, of_leader, _) = open("a");
    for (index, name) in (1..).zip(["one", "two", "three"]) {
        from.take(&create(index, name)).expect("applied");
    }
    let out = Layout::new(folder.path().join("out"));
    let Exported::Whole(head) = from.export(&out).expect("no failure") else { panic!("not exported") };
    assert_eq!((head.applied_index, head.term), (3, 1));

    let (mut to, shown, data) = open("b");
    to.take(&create(1, "other")).expect("applied");
    assert_ne!(*shown.load_full(), *of_leader.load_full());
    let incoming = Incoming::new(&data, GroupId::META, 3);
    crate::crash_copy::copy_folder(out.root(), incoming.folder());
    assert_eq!(to.replace(incoming).expect("no failure"), Replaced::At(3));
    assert_eq!(*shown.load_full(), *of_leader.load_full());
    assert_eq!(to.taken(), 3);
    for group in [&mut from, &mut to] {
        group.take(&create(4, "four")).expect("applied");
        group.checkpoint().expect("kept");
    }
    assert_eq!(*shown.load_full(), *of_leader.load_full());
    drop(to);
    let (mut again, shown, _) = open("b");
    // what the store did not have yet comes from the log
    for index in again.taken() + 1..=4 {
        assert_eq!(index, 4, "the snapshot itself is kept");
        again.take(&create(index, "four")).expect("applied");
    }
    assert_eq!(*shown.load_full(), *of_leader.load_full());
}
