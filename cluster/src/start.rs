//! How a node starts and stops: lock, verify or rebuild the small state, start every group, catch up, first-start keys.

use crate::apply::actor::{ApplyActor, Close};
use crate::apply::group::{DumpFound, DumpPlace, GroupApply};
use crate::apply::inbox::Inbox;
use crate::apply::meta::MetaMachine;
use crate::apply::{Machine, stop_process};
use crate::disk::DiskGuard;
use crate::mint::Mint;
use crate::router::{Group, Router};
use crate::service::ServiceOptions;
use crate::sweep::{self, Sweeper};
use actix::{Actor, Arbiter, ArbiterHandle};
use quorate_model::{Error, GroupId, Result, limits};
use quorate_node::{Node, NodeOptions};
use quorate_raft::{
    CommitSink, CommittedEntry, GroupOptions, Leadership, RaftHost, RaftOptions, SnapshotImage,
};
use quorate_store::dump;
use quorate_store::files::Files;
use quorate_store::identity::DataFolder;
use quorate_store::kv::{Kv, Start, Tree};
use quorate_store::layout::{self, Layout};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Memory of the working store's page cache.
const KV_CACHE_BYTES: u64 = 64 << 20;
/// Memory of one index writer.
const WRITER_MEMORY_BYTES: usize = 64 << 20;
/// Threads that apply: more would not help, fewer let one group's rebuild hold up the others.
const APPLY_THREADS_MAX: usize = 4;
/// How long a group may stand still while it catches up before the start is given up.
const STALL: Duration = Duration::from_secs(600);
/// How often the catching up is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// How often it is looked whether shards show what was replayed to them.
const VISIBLE_LOOK: Duration = Duration::from_millis(2);
/// How long a start waits for a shard that shows nothing new.
const VISIBLE_STALL: Duration = Duration::from_secs(30);
/// How long a group may take to close.
const CLOSE: Duration = Duration::from_secs(120);

/// A node that has caught up with its log.
pub struct Running {
    /// Ways into the groups.
    pub router: Arc<Router>,
    /// The indices.
    pub node: Node,
    /// Wakes the background work.
    pub sweeper: Sweeper,
    /// The locked data folder.
    pub folder: DataFolder,
    /// What the operator should know.
    pub warnings: Vec<String>,
    parts: Parts,
}

/// What only stopping needs.
struct Parts {
    kv: Kv,
    host: Option<RaftHost>,
    arbiters: Vec<Arbiter>,
    sweep: Option<tokio::task::JoinHandle<()>>,
}

/// Opens the data folder and starts every group; returns when all that was committed is applied.
pub async fn start(options: &ServiceOptions) -> Result<Running> {
    let folder = DataFolder::open(&options.data_dir)?;
    let layout = folder.layout().clone();
    let mut warnings = vec![];
    let (kv, trees) = open_state(&layout, &options.files, &mut warnings)?;
    let node = Node::open(node_options(options, &layout, kv.clone()))?;
    let host =
        RaftHost::open(RaftOptions::new(&layout.raft())).map_err(|e| Error::internal(e.to_string()))?;
    // the first one is the meta group's own: a bulk load must not delay the making of an index
    let arbiters: Vec<Arbiter> = (0..=apply_threads()).map(|_| Arbiter::new()).collect();

    let self_id = member_id(&folder);
    let mut groups = Vec::with_capacity(trees.len());
    let meta = MetaMachine::open(trees[0].0.clone()).map_err(|e| unreadable(&kv, &e))?;
    let shared_meta = meta.shared();
    let mut meta = Some(meta);
    for (number, (tree, found)) in trees.into_iter().enumerate() {
        let id = GroupId(number as u16);
        let path = layout.dump(id);
        let place = DumpPlace { group: id, tree, path, files: options.files.clone(), found };
        let arbiter = arbiters[arbiter_of(number, arbiters.len())].handle();
        groups.push(match meta.take() {
            Some(machine) => start_group(&host, machine, place, self_id, &arbiter)?,
            None => {
                let machine = node.machine(id).map_err(|e| unreadable(&kv, &e))?;
                start_group(&host, machine, place, self_id, &arbiter)?
            }
        });
    }
    let disk = DiskGuard::new(layout.root(), options.disk_reserve_bytes);
    let router = Arc::new(Router::new(groups, shared_meta, Mint::new(0), disk));
    let parts = Parts { kv, host: Some(host), arbiters, sweep: None };
    let running = Running { router, node, sweeper: Sweeper::default(), folder, warnings, parts };
    running.catch_up().await?;
    Ok(running)
}

/// Spreads the placement groups over all arbiters but the first.
fn arbiter_of(group: usize, arbiters: usize) -> usize {
    match group {
        0 => 0,
        group => 1 + (group - 1) % (arbiters - 1),
    }
}

fn apply_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(APPLY_THREADS_MAX)
}

fn node_options(options: &ServiceOptions, layout: &Layout, kv: Kv) -> NodeOptions {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    NodeOptions {
        layout: layout.clone(),
        files: options.files.clone(),
        kv,
        search_threads: if options.search_threads == 0 { processors } else { options.search_threads },
        writer_threads: 1,
        writer_memory_bytes: WRITER_MEMORY_BYTES,
    }
}

/// A member's number among the voters of a group: its identity, never its address.
fn member_id(folder: &DataFolder) -> u64 {
    let (high, low) = folder.node_id().as_u64_pair();
    (high ^ low).max(1)
}

/// The tree of each group, by number.
type Trees = Vec<(Tree, DumpFound)>;

/// Opens the working store and brings every tree at least to its dump.
fn open_state(layout: &Layout, files: &Arc<dyn Files>, warnings: &mut Vec<String>) -> Result<(Kv, Trees)> {
    let had_log = std::fs::read_dir(layout.raft()).is_ok_and(|mut entries| entries.next().is_some());
    let (kv, found) = Kv::open(&layout.state(), files.clone(), KV_CACHE_BYTES)?;
    if let Start::Rebuild { reason } = &found
        && had_log
    {
        warnings.push(format!("the small state is rebuilt from its dumps and the log: {reason}"));
    }
    files
        .create_dir_all(&layout.dumps())
        .map_err(|e| Error::internal(format!("cannot create dumps: {e}")))?;
    let mut trees = Vec::new();
    for number in 0..=limits::PLACEMENT_GROUPS {
        let group = GroupId(number);
        let tree = kv.tree(&layout::tree(group))?;
        let found = match dump::read_dump(&layout.dump(group)) {
            Ok(Some(dump)) => {
                if dump.head.applied_index > tree.applied() {
                    dump.restore_into(&tree)?;
                }
                DumpFound::Whole
            }
            Ok(None) if tree.applied() == 0 => DumpFound::Whole,
            Ok(None) => DumpFound::Lost,
            // the log may still reach back far enough; if it does not, consensus refuses to start
            Err(error) => {
                warnings.push(format!("a dump of the small state is not used: {error}"));
                DumpFound::Lost
            }
        };
        trees.push((tree, found));
    }
    Ok((kv, trees))
}

/// A tree that verified but cannot be read must not be used at the next start either.
fn unreadable(kv: &Kv, error: &dyn std::fmt::Display) -> Error {
    let next = match kv.distrust() {
        Ok(()) => "start again to rebuild it from its dumps and the log".to_owned(),
        Err(again) => format!("and it cannot be marked for a rebuild: {again}"),
    };
    Error::internal(format!("the small state cannot be read: {error}; {next}"))
}

/// Puts what consensus decides into the group's inbox.
struct IntoInbox {
    group: GroupId,
    inbox: Arc<Inbox>,
}

impl CommitSink for IntoInbox {
    fn committed(&mut self, entries: Vec<CommittedEntry>) {
        self.inbox.push(entries);
    }
    fn leadership(&mut self, leadership: Leadership) {
        tracing::debug!(group = self.group.0, ?leadership, "leadership");
    }
    fn restore(&mut self, _: SnapshotImage) {
        // only another member sends snapshots, and there is none yet
        stop_process(self.group, &"a snapshot arrived on a node without peers");
    }
    fn snapshot_wanted(&mut self) {
        tracing::warn!(group = self.group.0, "a snapshot is wanted on a node without peers");
    }
}

fn start_group<M: Machine + Unpin>(
    host: &RaftHost,
    machine: M,
    place: DumpPlace,
    self_id: u64,
    arbiter: &ArbiterHandle,
) -> Result<Group> {
    let id = place.group;
    let apply = GroupApply::open(machine, place).map_err(|e| Error::internal(e.to_string()))?;
    let inbox = Inbox::shared();
    let sink = Box::new(IntoInbox { group: id, inbox: inbox.clone() });
    let (position, applied) = watch::channel(apply.taken());
    let options = GroupOptions { applied: apply.taken(), voters: vec![self_id], self_id, sink };
    let raft = host.start_group(id, options).map_err(|e| Error::internal(e.to_string()))?;
    let (for_actor, handle) = (inbox.clone(), raft.clone());
    let actor = ApplyActor::start_in_arbiter(arbiter, move |_| {
        ApplyActor::new(apply, for_actor, Arc::new(position), handle)
    });
    inbox.set_actor(actor.clone().recipient());
    inbox.wake();
    Ok(Group { id, raft, applied, incarnations: actor.clone().recipient(), close: actor.recipient() })
}

/// Notes that a group stands at `now`. Errors: it has stood there for too long.
fn moved_on(group: GroupId, now: u64, seen: u64, since: Instant) -> Result<(u64, Instant)> {
    match now > seen {
        true => Ok((now, Instant::now())),
        false if since.elapsed() <= STALL => Ok((seen, since)),
        false => Err(Error::internal(format!("group {group} stopped at log index {now}"))),
    }
}

impl Running {
    /// Waits until reads see everything that was committed before this node started: it may have been published then.
    async fn catch_up(&self) -> Result<()> {
        for group in self.router.groups() {
            let barrier = group.raft.read_barrier(LOOK).await;
            let target = barrier.map_err(|e| Error::unavailable(format!("group {}: {e}", group.id)))?;
            let (mut seen, mut since) = (0, Instant::now());
            while group.wait_applied(target, Instant::now() + LOOK).await.is_err() {
                let applied = *group.applied.borrow();
                tracing::info!(group = group.id.0, applied, target, "catching up with the log");
                (seen, since) = moved_on(group.id, applied, seen, since)?;
            }
            if group.id != GroupId::META {
                self.wait_visible(group.id).await;
            }
        }
        Ok(())
    }

    /// Waits until reads see what is applied. A shard that shows nothing new for long, because its disk is full or its
    /// files are damaged, does not keep the others from serving.
    async fn wait_visible(&self, group: GroupId) {
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            let visible = self.node.visible_through(group);
            if visible >= self.node.applied(group) {
                return;
            }
            if visible > seen {
                (seen, since) = (visible, Instant::now());
            } else if since.elapsed() > VISIBLE_STALL {
                tracing::warn!(group = group.0, visible, "some writes before the start are not visible yet");
                return;
            }
            tokio::time::sleep(VISIBLE_LOOK).await;
        }
    }

    /// Why the log cannot be written at present; `None`: it can.
    pub fn log_stalled(&self) -> Option<String> {
        self.parts.host.as_ref().and_then(RaftHost::log_stalled)
    }

    /// Starts the background work.
    pub fn start_sweep(&mut self) {
        let sweep = sweep::run(self.router.clone(), self.node.clone(), self.sweeper.clone());
        self.parts.sweep = Some(tokio::spawn(sweep));
    }

    /// Makes everything durable and closes it. What cannot be closed in time is left to the log.
    pub async fn stop(mut self) {
        if let Some(sweep) = self.parts.sweep.take() {
            sweep.abort();
        }
        let mut all_closed = true;
        for group in self.router.groups() {
            let closed = tokio::time::timeout(CLOSE, group.close.send(Close)).await;
            if !matches!(closed, Ok(Ok(()))) {
                all_closed = false;
                tracing::warn!(group = group.id.0, "not closed in time; the log has what is missing");
            }
        }
        // blocks until the writes that are queued are on disk
        let host = self.parts.host.take();
        if tokio::task::spawn_blocking(move || drop(host)).await.is_err() {
            tracing::error!("closing the log panicked");
        }
        for arbiter in &self.parts.arbiters {
            arbiter.stop();
        }
        if all_closed && let Err(error) = self.parts.kv.close() {
            tracing::warn!(%error, "the small state is rebuilt at the next start");
        }
    }
}
