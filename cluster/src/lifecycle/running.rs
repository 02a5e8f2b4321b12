//! A node whose groups run: how it catches up after its start, what it does in the background, how it stops.

use crate::apply::actor::Close;
use crate::context::{NodeContext, Opened};
use crate::controllers::call_counts;
use crate::controllers::event_sink;
use crate::controllers::integrity;
use crate::controllers::janitor;
use crate::controllers::models;
use crate::controllers::others;
use crate::disk::DiskGuard;
use crate::groups::Group;
use crate::groups::start::{Founding, Starter};
use crate::lifecycle::admin_key::AdminKeys;
use crate::options::CheckOptions;
use crate::options::EventSink;
use crate::options::ServiceOptions;
use crate::panics;
use crate::request_log::RequestLog;
use crate::suggestions;
use crate::users::actor::UserMappingActor;
use crate::users::{self, UserDirectory};
use crate::write::searches;
use futures_util::future::{join_all, try_join_all};
use quorate_model::{Error, GroupId, Result};
use quorate_node::Forgets;
use quorate_raft::StateCopy;
use quorate_store::identity::DataFolder;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the meta group may stand still while it catches up before the start is given up.
const STALL: Duration = Duration::from_secs(600);
/// How often the catching up is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// How often it is looked whether shards show what was replayed to them.
const VISIBLE_LOOK: Duration = Duration::from_millis(2);
/// How long a start waits for a group that gets no further: it serves nothing before it does, and the others go on.
const GROUP_STALL: Duration = Duration::from_secs(30);
/// The same while what it writes fails again and again.
const FAILING_STALL: Duration = Duration::from_secs(2);
/// How long a group may take to close.
const CLOSE: Duration = Duration::from_secs(120);

/// A node whose groups run.
pub struct Running {
    /// What its work rests on.
    pub context: Arc<NodeContext>,
    /// The locked data folder.
    pub folder: DataFolder,
    /// Starts and stops groups.
    pub starter: Arc<Starter>,
    /// The admin key as this node was given it.
    pub admin_keys: Arc<AdminKeys>,
    /// What is known of users beside the mapping.
    pub users: Arc<UserDirectory>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
    /// The thread of the user mapping.
    mapping: Option<std::thread::JoinHandle<()>>,
}

/// Opens the data folder and the meta group; the placement groups follow with [`Running::start_groups`].
pub async fn start(options: &ServiceOptions) -> Result<Running> {
    let folder = DataFolder::open(&options.data_dir)?;
    let starter = Starter::open(&folder, options)?;
    let of_log = starter.groups.clone();
    let in_log = move || of_log.all().iter().map(|group| bytes_in_log(group)).sum();
    let opened = Opened {
        self_id: starter.self_id,
        node: starter.node().clone(),
        groups: starter.groups.clone(),
        meta: starter.meta.clone(),
        disk: DiskGuard::new(starter.room.clone(), Box::new(in_log)),
    };
    let context = Arc::new(NodeContext::new(opened, options));
    match &context.calls().log {
        Some(log) => {
            let node = starter.node().clone();
            log.keep_in(folder.layout().request_logs(), move || node.take_forgotten(Forgets::Requests));
        }
        None => RequestLog::forget_files(&folder.layout().request_logs()),
    }
    let admin_keys = AdminKeys::new(&folder, options);
    Ok(Running {
        context,
        folder,
        starter: Arc::new(starter),
        admin_keys,
        users: Arc::default(),
        tasks: vec![],
        mapping: None,
    })
}

/// Bytes of operations that a group has accepted and not applied.
fn bytes_in_log(group: &Group) -> u64 {
    let status = group.status();
    status.pending_bytes + status.unapplied_bytes
}

/// How long a group has stood where it stands.
struct Standing {
    at: u64,
    since: Instant,
}
impl Standing {
    fn new() -> Standing {
        Standing { at: 0, since: Instant::now() }
    }
    /// The time since it moved on for the last time; it is at `now`.
    fn at(&mut self, now: u64) -> Duration {
        if now > self.at {
            *self = Standing { at: now, since: Instant::now() };
        }
        self.since.elapsed()
    }
}

impl Running {
    /// Starts the placement groups that this node is a member of.
    pub fn start_groups(&self) -> Result<()> {
        let (meta, self_id) = (self.starter.meta.load_full(), self.starter.self_id);
        for group in meta.clusters.keys().flat_map(|cluster| meta.groups_of(cluster)) {
            let is_member = self.starter.knows(group)?;
            let is_founder = meta.is_founder(self_id, group);
            if is_member || is_founder || meta.wanted(group).contains(&self_id) {
                let founding = if is_founder { Founding::Founder } else { Founding::Joiner };
                self.starter.start_group(group, founding)?;
            } else {
                self.starter.remove_left(group)?;
            }
        }
        Ok(())
    }

    /// Waits until reads see everything that was committed before this node started, of the groups it leads alone: it
    /// may have been published then. Of the others it serves nothing before it holds a lease.
    pub async fn catch_up(&self) -> Result<()> {
        let groups = self.context.groups().all();
        // one that fetches its state serves nothing before it has it, and may wait for others that start later
        let alone = groups.iter().filter(|group| {
            let is_fetching = group.status().copy == StateCopy::Fetching;
            !is_fetching && group.raft.membership().voters == [self.starter.self_id.0]
        });
        try_join_all(alone.map(|group| self.catch_up_with(group))).await.map(drop)
    }

    /// Errors: the meta group does not get there. A placement group that does not is left behind: it serves nothing before it
    /// is there, and does not keep the others from serving.
    async fn catch_up_with(&self, group: &Group) -> Result<()> {
        let target = match group.raft.read_barrier(LOOK).await {
            Ok(target) => target,
            Err(_) if group.halt.is_set() => return Ok(()),
            Err(error) => return Err(Error::unavailable(format!("group {}: {error}", group.id))),
        };
        let mut standing = Standing::new();
        while group.wait_applied(target, Instant::now() + LOOK).await.is_err() {
            let applied = *group.applied.borrow();
            tracing::info!(group = group.id.0, applied, target, "catching up with the log");
            let stands = standing.at(applied);
            if group.id == GroupId::META && stands > STALL {
                return Err(Error::internal(format!("the meta group stopped at log index {applied}")));
            }
            if group.halt.is_set() || group.id != GroupId::META && stands > self.patience(group) {
                tracing::warn!(
                    group = group.id.0,
                    applied,
                    target,
                    "the group serves nothing until it has caught up"
                );
                return Ok(());
            }
        }
        if group.id != GroupId::META {
            self.wait_visible(group).await;
        }
        Ok(())
    }

    /// How long nothing of a group may go on before others are served without it.
    fn patience(&self, group: &Group) -> Duration {
        match self.context.node().is_failing(group.id) {
            // its disk is full, as a rule, and may stay so
            true => FAILING_STALL,
            false => GROUP_STALL,
        }
    }
    /// Waits until reads see what is applied. A shard that shows nothing new for long, because its files are damaged or are
    /// being rebuilt, does not keep the others from serving.
    async fn wait_visible(&self, group: &Group) {
        let mut standing = Standing::new();
        loop {
            let visible = self.context.node().records_visible_through(group.id);
            if visible >= self.context.node().applied(group.id) || group.halt.is_set() {
                return;
            }
            if standing.at(visible) > self.patience(group) {
                tracing::warn!(
                    group = group.id.0,
                    visible,
                    "the group serves nothing until its shards have caught up"
                );
                return;
            }
            tokio::time::sleep(VISIBLE_LOOK).await;
        }
    }

    /// Starts the checks of files and replicas.
    pub fn start_checks(&mut self, options: CheckOptions) {
        let (context, meta) = (self.context.clone(), self.starter.meta_pins.clone());
        self.run("checks", move || integrity::run(context.clone(), meta.clone(), options));
    }

    /// Begins to send events to a sink.
    pub fn start_sink(&mut self, sink: Arc<dyn EventSink>) {
        let context = self.context.clone();
        self.run("events to the sink", move || event_sink::run(context.clone(), sink.clone()));
    }

    /// Starts the background work. Errors: there is no thread for it.
    pub fn start_janitor(&mut self) -> Result<()> {
        let context = self.context.clone();
        self.run("janitor", move || janitor::run(context.clone()));
        let context = self.context.clone();
        self.run("full disks", move || others::run(context.clone()));
        let context = self.context.clone();
        self.run("counts of calls", move || call_counts::report_on(context.clone()));
        let context = self.context.clone();
        self.run("searches", move || searches::gather(context.clone()));
        let context = self.context.clone();
        self.run("counted searches", move || searches::propose(context.clone()));
        let context = self.context.clone();
        self.run("suggestions", move || suggestions::run(context.clone()));
        let context = self.context.clone();
        self.run("alike parts", move || users::partitions::keep_alike(context.clone()));
        let (context, room) = (self.context.clone(), self.starter.snapshots.clone());
        self.run("files of models", move || models::keep_files(context.clone(), room.clone()));
        let context = self.context.clone();
        self.run("builds of models", move || models::build(context.clone()));
        let mapping = UserMappingActor::run(self.context.clone(), self.users.clone())
            .map_err(|e| Error::internal(format!("cannot start the user mapping: {e}")))?;
        self.mapping = Some(mapping);
        Ok(())
    }

    /// Runs a task until it ends or the node stops; one that panics is begun again.
    pub fn run<T: Future<Output = ()> + Send + 'static>(
        &mut self,
        name: &'static str,
        begin: impl Fn() -> T + Send + Sync + 'static,
    ) {
        self.tasks.push(tokio::spawn(panics::again(name, begin)));
    }

    /// Makes everything durable and closes it. What cannot be closed in time is left to the log.
    pub async fn stop(self) {
        for task in &self.tasks {
            task.abort();
        }
        self.users.stop();
        if let Some(mapping) = self.mapping
            && !matches!(tokio::task::spawn_blocking(move || mapping.join()).await, Ok(Ok(())))
        {
            tracing::error!("the thread of the user mapping panicked");
        }
        if let Some(peers) = self.context.peers().connections().cloned() {
            // from now on other nodes get no answers from here: they ask elsewhere
            if tokio::task::spawn_blocking(move || peers.stop()).await.is_err() {
                tracing::error!("closing the connections to other nodes panicked");
            }
        }
        if let Some(log) = self.context.calls().log.clone()
            && tokio::task::spawn_blocking(move || log.close()).await.is_err()
        {
            tracing::error!("closing the request log panicked");
        }
        let starter = &self.starter;
        let groups = starter.groups.all();
        let closed = join_all(groups.iter().map(async |group| {
            let closed = tokio::time::timeout(CLOSE, group.close.send(Close)).await;
            let is_closed = matches!(closed, Ok(Ok(()))) && !group.halt.is_half();
            if !is_closed {
                tracing::warn!(group = group.id.0, "not closed; the log has what is missing");
            }
            is_closed
        }));
        let all_closed = closed.await.into_iter().all(|is_closed| is_closed);
        // blocks until the writes that are queued are on disk
        let host = starter.host.lock().take();
        if tokio::task::spawn_blocking(move || drop(host)).await.is_err() {
            tracing::error!("closing the log panicked");
        }
        for group in &groups {
            group.thread.stop();
        }
        if all_closed && let Err(error) = starter.kv.clone().close() {
            tracing::warn!(%error, "the metadata store is rebuilt at the next start");
        }
    }
}
