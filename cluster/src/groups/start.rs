//! How a node starts: verify or rebuild the metadata store, start and leave groups. What runs then is [`crate::lifecycle::running`].

use crate::apply::actor::{ApplyActor, Leave, LetGo};
use crate::apply::group::{DumpPlace, GroupApply};
use crate::apply::inbox::Inbox;
use crate::apply::left;
use crate::apply::meta::{MetaMachine, MetaPins};
use crate::apply::{Halt, Machine};
use crate::groups::damage;
use crate::groups::kept::{log_before, node_number, node_options, open_state, open_tree, unreadable};
use crate::groups::leases::GroupLeases;
use crate::groups::{Group, Groups};
use crate::ids;
use crate::meta::NodeRow;
use crate::meta::SharedMeta;
use crate::options::ServiceOptions;
use crate::peer::Peers;
use crate::snapshot::{RoomOptions, SnapshotRoom};
use actix::{Actor, Arbiter};
use parking_lot::Mutex;
use quorate_model::{Error, GroupId, NodeId, Result};
use quorate_node::{Left, LevelInForce, Node, NodeOptions, PlacementMachine};
use quorate_raft::{
    CommitSink, CommittedEntry, GroupOptions, Leadership, Outbox, PeerMessage, RaftError, RaftHost,
    RaftOptions, Role, SnapshotImage,
};
use quorate_store::files::Files;
use quorate_store::identity::DataFolder;
use quorate_store::kv::Kv;
use quorate_store::layout::{self, Layout};
use quorate_store::space::Room;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;

/// The way to the other members, which is there only after consensus.
#[derive(Default)]
pub struct LatePeers(pub OnceLock<Peers>);

impl Outbox for LatePeers {
    fn send(&self, group: GroupId, messages: Vec<PeerMessage>) {
        if let Some(peers) = self.0.get() {
            peers.send(group, messages);
        }
    }
}

/// Whether a group that this node has no log of is made by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Founding {
    /// This node is its first member.
    Founder,
    /// Others will add this node.
    Joiner,
}

/// What starting a group needs. Groups start when the node starts, or when it becomes a member of them.
pub struct Starter {
    /// This node.
    pub self_id: NodeId,
    /// The disk of the data folder.
    pub room: Room,
    /// The groups that run.
    pub groups: Arc<Groups>,
    /// The meta state that requests read.
    pub meta: SharedMeta,
    /// What members of the meta group are compared by.
    pub meta_pins: MetaPins,
    /// What the operator should know.
    pub warnings: Mutex<Vec<String>>,
    /// Where consensus sends to, once that is known.
    pub outbox: Arc<LatePeers>,
    /// The snapshots that this node offers and fetches.
    pub snapshots: Arc<SnapshotRoom>,
    /// The newest commands that this node takes part in.
    pub level: u16,
    /// A number that no other start of the node has.
    life: u64,
    pub(crate) node: Node,
    pub(crate) kv: Kv,
    layout: Layout,
    files: Arc<dyn Files>,
    pub(crate) host: Mutex<Option<Arc<RaftHost>>>,
    /// Serialises the starting of groups: a group has one machine.
    starting: Mutex<()>,
    /// Serialises what ends groups.
    ending: tokio::sync::Mutex<()>,
    /// Taken when the meta group starts.
    meta_machine: Mutex<Option<(MetaMachine, DumpPlace)>>,
}

impl Starter {
    pub(crate) fn open(folder: &DataFolder, options: &ServiceOptions) -> Result<Starter> {
        let (layout, files) = (folder.layout().clone(), options.files.clone());
        let mut warnings = vec![];
        let disk = Room::new(layout.root(), options.disk_reserve_bytes);
        let outbox = Arc::new(LatePeers::default());
        let raft = RaftOptions {
            outbox: outbox.clone(),
            log: options.log.clone(),
            room: disk.clone(),
            ..RaftOptions::new(&layout.raft())
        };
        let log_was = log_before(&layout);
        // the first thing that is looked at: when it is damaged, everything else stays as it is
        let host = RaftHost::open(raft).map_err(|error| unopened(&error, &layout))?;
        let kv = open_state(&layout, &files, log_was, &mut warnings)?;
        let place = open_tree(&kv, &layout, &files, GroupId::META, &mut warnings)?;
        let meta = MetaMachine::open(place.tree.clone()).map_err(|e| unreadable(&kv, &e))?;
        let in_force = meta.shared();
        let level = LevelInForce::new(move || in_force.load().level());
        let dictionaries = meta.dictionaries();
        let node_options = node_options(options, &layout, kv.clone(), disk.clone());
        let node_options = NodeOptions { level, dictionaries, ..node_options };
        let node = Node::open(node_options)?;
        let self_id = node_number(folder);
        let mut room = RoomOptions::new(&layout, files.clone(), self_id.0);
        room.fetch.bytes_per_s = options.snapshot_bytes_per_s;
        room.fetch.reserve_bytes = options.disk_reserve_bytes;
        room.fetch.level = options.command_level;
        let snapshots = SnapshotRoom::open(room)?;
        Ok(Starter {
            self_id,
            room: disk,
            snapshots,
            groups: Arc::default(),
            meta: meta.shared(),
            meta_pins: meta.pins(),
            warnings: Mutex::new(warnings),
            outbox,
            level: options.command_level,
            life: ids::chance(),
            node,
            kv,
            layout,
            files,
            host: Mutex::new(Some(Arc::new(host))),
            starting: Mutex::default(),
            ending: tokio::sync::Mutex::default(),
            meta_machine: Mutex::new(Some((meta, place))),
        })
    }

    /// Whether the log has anything of a group.
    pub fn knows(&self, group: GroupId) -> Result<bool> {
        match &*self.host.lock() {
            Some(host) => host.knows(group).map_err(|e| Error::internal(e.to_string())),
            None => Err(stopping()),
        }
    }
    /// Starts a group that does not run yet. What its log holds wins over `founding`.
    pub fn start_group(&self, id: GroupId, founding: Founding) -> Result<()> {
        let _one_at_a_time = self.starting.lock();
        self.start_unless_it_runs(id, founding)
    }
    fn start_unless_it_runs(&self, id: GroupId, founding: Founding) -> Result<()> {
        if self.groups.get(id).is_some() {
            return Ok(());
        }
        let group = match id {
            GroupId::META => {
                let (machine, place) = self.meta_machine.lock().take().ok_or_else(stopping)?;
                self.start_machine(machine, place, founding)?
            }
            _ => {
                self.remove_left(id)?;
                let (machine, place) = self.open_machine(id)?;
                self.start_machine(machine, place, founding)?
            }
        };
        self.groups.put(group);
        // one whose leaving was cut off before the log had it; not before the group runs, since the log may have it yet
        let unmarked = left::is_marked(&*self.files, &self.layout, id).and_then(|is_marked| {
            if is_marked { left::unmark(&*self.files, &self.layout, id) } else { Ok(()) }
        });
        if let Err(error) = unmarked {
            tracing::warn!(group = id.0, %error, "a group stays marked as left, although it is here");
        }
        Ok(())
    }
    fn open_machine(&self, id: GroupId) -> Result<(PlacementMachine, DumpPlace)> {
        let place = open_tree(&self.kv, &self.layout, &self.files, id, &mut self.warnings.lock())?;
        let machine = self.node.machine(id).map_err(|e| unreadable(&self.kv, &e))?;
        Ok((machine, place))
    }
    /// Removes what a group has left here that this node left, and died before everything was gone.
    pub fn remove_left(&self, id: GroupId) -> Result<()> {
        if self.knows(id)? {
            return Ok(());
        }
        let is_marked = left::is_marked(&*self.files, &self.layout, id)?;
        // a metadata store that is rebuilt has nothing of any group yet
        if !is_marked && self.kv.tree(&layout::tree(id))?.applied() == 0 {
            return Ok(());
        }
        if !is_marked && self.is_alone(id) {
            return Err(Error::internal(format!(
                "group {id} has a state here, and the log has nothing of the group, which no other node has: put {} back as it was",
                self.layout.raft().display()
            )));
        }
        let (mut machine, place) = self.open_machine(id)?;
        tracing::info!(group = id.0, "removing what is left of a group that this node has left");
        left::remove(&mut machine, &place).map_err(|e| Error::internal(e.to_string()))
    }
    /// Whether no other node of the cluster of a group can have it.
    fn is_alone(&self, id: GroupId) -> bool {
        let meta = self.meta.load();
        let cluster = meta.cluster_of(id);
        let is_other = |(node, row): &(NodeId, &NodeRow)| {
            *node != self.self_id && cluster.is_none_or(|cluster| row.cluster == cluster)
        };
        !meta.present_nodes().iter().any(is_other)
    }
    /// Ends a group of which this node is no member any more, and removes what it has of it.
    pub async fn leave_group(&self, id: GroupId) -> Result<()> {
        let _one_at_a_time = self.ending.lock().await;
        let host = self.host.lock().clone().ok_or_else(stopping)?;
        let Some(group) = self.groups.take(id) else { return Ok(()) };
        group.leases.give_up();
        if let Err(error) = left::mark(&*self.files, &self.layout, id) {
            // on a full disk: the group is left all the same
            tracing::warn!(group = id.0, %error, "a group that is left cannot be marked for that");
        }
        let raft = group.raft.clone();
        let left = tokio::task::spawn_blocking(move || host.leave_group(&raft)).await;
        left.map_err(|_| Error::internal("leaving a group broke off"))?
            .map_err(|e| Error::unavailable(e.to_string()))?;
        let left = group.leave.send(Leave).await;
        group.thread.stop();
        left.map_err(|e| Error::internal(e.to_string()))
    }
    /// Opens a group anew that failed, from what is durable and from its log, as a start of the node does.
    ///
    /// Errors: it cannot be opened at present; it is among no groups then, and [`Groups::failed`] says so.
    pub async fn reopen_group(&self, id: GroupId) -> Result<()> {
        let _one_at_a_time = self.ending.lock().await;
        let host = self.host.lock().clone().ok_or_else(stopping)?;
        let running = self.groups.get(id);
        if let Some(group) = &running {
            self.groups.note_failed(id, group.halt.reason().unwrap_or("it failed").to_owned());
            group.leases.give_up();
            // a group that has ended says so at once
            let _ended_before = group.let_go.send(LetGo).await;
            group.thread.stop();
            let raft = group.raft.clone();
            let stopped = tokio::task::spawn_blocking(move || host.stop_group(&raft)).await;
            stopped
                .map_err(|_| Error::internal("stopping a group broke off"))?
                .map_err(|e| Error::unavailable(e.to_string()))?;
        }
        let _nobody_else_starts_it = self.starting.lock();
        if running.is_some() {
            self.groups.take(id);
            self.node.forget(id);
        }
        self.start_unless_it_runs(id, Founding::Joiner)
    }
    fn start_machine<M: Machine + Unpin>(
        &self,
        machine: M,
        place: DumpPlace,
        founding: Founding,
    ) -> Result<Group> {
        let (id, self_id) = (place.group, self.self_id.0);
        let apply = GroupApply::open(machine, place).map_err(|e| Error::internal(e.to_string()))?;
        let apply = apply.knowing(self.level);
        let halt = apply.halt();
        let inbox = Inbox::shared();
        // each life of a group asks for leases of its own
        let leases = Arc::new(GroupLeases::new(self.self_id, ids::chance(), halt.clone()));
        let (is_led, led) = watch::channel(false);
        let sink = Box::new(IntoInbox {
            group: id,
            inbox: inbox.clone(),
            leases: leases.clone(),
            led: is_led,
            node: self.node.clone(),
            halt: halt.clone(),
        });
        let (position, applied) = watch::channel(apply.taken());
        let voters = match founding {
            Founding::Founder => vec![self_id],
            Founding::Joiner => vec![],
        };
        let options = GroupOptions { applied: apply.taken(), voters, self_id, sink };
        let raft = match &*self.host.lock() {
            Some(host) => host.start_group(id, options).map_err(|e| unopened(&e, &self.layout))?,
            None => return Err(stopping()),
        };
        if raft.membership().voters == [self_id] && id != GroupId::META {
            // what is in the log of a member without others is committed, and may have been shown
            leases.was_visible_through(raft.status().last_index);
        }
        let apply = apply.continuing(raft.status().last_index);
        leases.set_raft(raft.clone());
        let (for_actor, handle, room) = (inbox.clone(), raft.clone(), self.snapshots.clone());
        let (meta, disk) = (self.meta.clone(), self.room.clone());
        // its own: a group that waits for a disk, a full shard or a rebuild holds up no other
        let thread = Arbiter::new().handle();
        let actor = ApplyActor::start_in_arbiter(&thread, move |_| {
            let in_force = Arc::new(move || meta.load().level());
            let actor = ApplyActor::new(apply, for_actor, Arc::new(position), handle, room);
            actor.with_level(in_force).on_disk(disk)
        });
        inbox.set_actor(actor.clone().recipient());
        inbox.wake();
        Ok(Group {
            id,
            raft,
            applied,
            led,
            halt,
            leases,
            inbox,
            thread,
            incarnations: actor.clone().recipient(),
            anew: actor.clone().recipient(),
            count: actor.clone().recipient(),
            close: actor.clone().recipient(),
            let_go: actor.clone().recipient(),
            leave: actor.recipient(),
        })
    }
    /// The indices.
    pub fn node(&self) -> &Node {
        &self.node
    }
    /// A number that no other start of the node has.
    pub fn life(&self) -> u64 {
        self.life
    }
    /// Why the log cannot be written at present; `None`: it can.
    pub fn log_stalled(&self) -> Option<String> {
        self.host.lock().as_ref().and_then(|host| host.log_stalled())
    }
}

/// Why the log cannot be opened, and what can be done about it.
fn unopened(error: &RaftError, layout: &Layout) -> Error {
    match error {
        RaftError::Damaged(report) => {
            let advice = damage::advice(report, layout.root());
            Error::internal(format!(
                "{error}. Nothing was changed; quorate log inspect shows all of it. {advice}"
            ))
        }
        RaftError::LogLost { .. } => Error::internal(format!(
            "{error}. Put {} back as it was; where other nodes have everything, quorate log start-anew takes the place of this one anew from them",
            layout.raft().display()
        )),
        RaftError::Identity { .. } => Error::internal(format!(
            "{error}. Was the file node-id in {} lost, or the folder of another node copied? Put back the one that belongs to this log",
            layout.root().display()
        )),
        other => Error::internal(other.to_string()),
    }
}

fn stopping() -> Error {
    Error::unavailable("the node is stopping")
}

/// Puts what consensus decides into the group's inbox.
struct IntoInbox {
    group: GroupId,
    inbox: Arc<Inbox>,
    leases: Arc<GroupLeases>,
    led: watch::Sender<bool>,
    node: Node,
    halt: Halt,
}

impl CommitSink for IntoInbox {
    fn committed(&mut self, entries: Vec<CommittedEntry>) {
        self.leases.look_at_members();
        self.inbox.push(entries);
    }
    fn leadership(&mut self, leadership: Leadership) {
        self.leases.lead(leadership);
        let leads = leadership.role == Role::Leader;
        self.node.set_leads(self.group, leads);
        self.led.send_replace(leads);
        tracing::debug!(group = self.group.0, ?leadership, "leadership");
    }
    fn restore(&mut self, image: SnapshotImage) {
        self.leases.look_at_members();
        self.inbox.restore(image);
    }
    fn snapshot_wanted(&mut self) {
        self.inbox.want_snapshot();
    }
    fn failed(&mut self, reason: &str) {
        // the state is whole, but what may be in the log is not known any more
        self.halt.set(format!("consensus: {reason}"), Left::Half);
    }
}
