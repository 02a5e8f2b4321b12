//! How a node runs its groups: one log, one consensus thread, a [`GroupHandle`] for each group.

use crate::actor::RaftActor;
use crate::core::{Core, CoreOptions, KeptLog, TICK_MS};
use crate::error::RaftError;
use crate::handle::GroupHandle;
use crate::log::{Log, LogLayer, LogOptions};
use crate::mailbox::FromLog;
use crate::ports::{CommitSink, NoPeers, Outbox};
use crate::report::Left;
use crate::status::StatusCell;
use actix::prelude::*;
use parking_lot::Mutex;
use quorate_model::GroupId;
use quorate_store::space::Room;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long leaving a group may take.
const LEAVE: Duration = Duration::from_secs(20);
/// Pause between two looks at whether a group has stopped.
const STOP_LOOK: Duration = Duration::from_millis(5);

/// How the consensus of a node is opened.
#[derive(Clone)]
pub struct RaftOptions {
    /// The folder of the log.
    pub dir: PathBuf,
    /// Milliseconds of a tick: heartbeats every 2, elections after 8 to 16.
    pub tick_ms: u64,
    /// Where messages to other members go.
    pub outbox: Arc<dyn Outbox>,
    /// What the log that all groups share stands on.
    pub log: LogLayer,
    /// The disk of the folder: its last part is not for the log.
    pub room: Room,
    /// Spreads election timeouts.
    pub seed: u64,
}

impl RaftOptions {
    /// No peers, the real file system, abort on fatal errors.
    pub fn new(dir: &Path) -> Self {
        RaftOptions {
            dir: dir.to_path_buf(),
            tick_ms: TICK_MS,
            outbox: Arc::new(NoPeers),
            log: LogLayer::default(),
            room: Room::boundless(),
            seed: u64::from(std::process::id()),
        }
    }
}

/// How a group starts.
pub struct GroupOptions {
    /// What the state machine has applied durably; entries after it are delivered again.
    pub applied: u64,
    /// The members of a new group; the log's own, when it has some, win.
    pub voters: Vec<u64>,
    /// This member.
    pub self_id: u64,
    /// Receives what the group decides.
    pub sink: Box<dyn CommitSink>,
}

/// The consensus of a node: its log and its groups.
pub struct RaftHost {
    log: Log,
    arbiter: ArbiterHandle,
    system: System,
    thread: Option<std::thread::JoinHandle<()>>,
    options: RaftOptions,
    groups: Mutex<FxHashSet<GroupId>>,
    kept: Arc<KeptLog>,
    begun: Instant,
}

impl RaftHost {
    /// Opens the log and starts the consensus thread.
    pub fn open(options: RaftOptions) -> Result<RaftHost, RaftError> {
        let log_options = LogOptions::on(options.log.clone(), &options.dir);
        let log = Log::open(LogOptions { room: options.room.clone(), ..log_options })?;
        let (started, when_started) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("consensus".into())
            .spawn(move || {
                let runner = System::new();
                let sent = started.send((System::current(), Arbiter::current()));
                if sent.is_ok()
                    && let Err(error) = runner.run()
                {
                    tracing::error!(%error, "the consensus thread failed");
                }
            })
            .map_err(|e| RaftError::Log(e.to_string()))?;
        let (system, arbiter) = when_started.recv().map_err(|e| RaftError::Log(e.to_string()))?;
        let begun = Instant::now();
        Ok(RaftHost {
            log,
            arbiter,
            system,
            thread: Some(thread),
            options,
            groups: Mutex::default(),
            kept: Arc::default(),
            begun,
        })
    }

    /// Starts a group. A group of this member alone leads when this returns; proposals may follow at once.
    ///
    /// Errors: those of [`RaftError`] when log and state machine do not fit together.
    pub fn start_group(&self, group: GroupId, options: GroupOptions) -> Result<GroupHandle, RaftError> {
        if !self.groups.lock().insert(group) {
            return Err(RaftError::NotStarted { group, message: "it runs already" });
        }
        let started = self.start(group, options);
        if started.is_err() {
            self.groups.lock().remove(&group);
        }
        started
    }

    fn start(&self, group: GroupId, options: GroupOptions) -> Result<GroupHandle, RaftError> {
        let GroupOptions { applied, voters, self_id, sink } = options;
        let stored = self.log.stored(group)?;
        let seed = self.options.seed ^ u64::from(group.0) << 32;
        let kept = self.kept.clone();
        let core_options = CoreOptions { group, self_id, voters, applied, seed, kept };
        // The library panics where a log breaks its rules: that must not end the others.
        let reader = self.log.reader(group);
        let core = catch_unwind(AssertUnwindSafe(|| Core::new(core_options, stored, reader)));
        let core = core.map_err(|_| RaftError::Consensus { group, message: "a panic".into() })??;
        let status = Arc::new(StatusCell::default());
        status.store(core.status());
        status.membership.store(Arc::new(core.membership()));
        let left = Arc::<Left>::default();
        let actor = RaftActor {
            group,
            left: left.clone(),
            core,
            sink,
            outbox: self.options.outbox.clone(),
            log: self.log.shared(),
            kept: self.kept.clone(),
            room: self.options.room.clone(),
            status: status.clone(),
            tick: Duration::from_millis(self.options.tick_ms),
            begun: self.begun,
            has_failed: false,
            replies: BTreeMap::new(),
            next_id: first_id(),
            ticks: 0,
            shown_members: 0,
        };
        let log = self.log.shared();
        let (sender, receiver) = std::sync::mpsc::channel();
        let spawned = self.arbiter.spawn_fn(move || {
            let address = RaftActor::create(|ctx| {
                let address = ctx.address();
                // Past the limit of the mailbox: a lost report would stop the group. There is at most one for each of
                // its few writes under way, and the changes of stalling.
                log.listen(group, Arc::new(move |report| address.do_send(FromLog(report))));
                actor
            });
            drop(sender.send(address));
        });
        let stopped = RaftError::NotStarted { group, message: "the consensus thread has stopped" };
        if !spawned {
            return Err(stopped);
        }
        let address = receiver.recv().map_err(|_| stopped)?;
        let log = Arc::downgrade(&self.log.shared());
        Ok(GroupHandle { group, address, status, left, log, tick_ms: self.options.tick_ms })
    }

    /// Whether the log has anything of a group that this node has not left: it is a member, or was one.
    pub fn knows(&self, group: GroupId) -> Result<bool, RaftError> {
        Ok(self.log.stored(group)?.conf.is_some())
    }

    /// Stops a group that this member has left for good, and gives up its log but for what [`crate::leaving`] names.
    /// Returns when that is durable; from then on the group can be started again with an empty state machine. Blocks.
    ///
    /// Errors: `NotStarted` when the group has not stopped within [`LEAVE`]; `Log` when nothing is durable for as long.
    pub fn leave_group(&self, handle: &GroupHandle) -> Result<(), RaftError> {
        let group = handle.group;
        self.end(handle)?;
        self.log.leave(group, LEAVE)?;
        self.groups.lock().remove(&group);
        Ok(())
    }

    /// Stops a group that can be started again afterwards, as after a crash: what was queued for its log is durable then. Blocks.
    ///
    /// Errors: as of [`Self::leave_group`]; it can be tried again.
    pub fn stop_group(&self, handle: &GroupHandle) -> Result<(), RaftError> {
        self.end(handle)?;
        // Else the next life of the group could take a word about an earlier write for one about its own.
        self.log.settle(handle.group, LEAVE)?;
        self.groups.lock().remove(&handle.group);
        Ok(())
    }
    fn end(&self, handle: &GroupHandle) -> Result<(), RaftError> {
        let deadline = Instant::now() + LEAVE;
        handle.shutdown();
        while handle.address.connected() {
            if Instant::now() > deadline {
                return Err(RaftError::NotStarted { group: handle.group, message: "it does not stop" });
            }
            std::thread::sleep(STOP_LOOK);
        }
        Ok(())
    }

    /// Syncs of the log so far.
    pub fn log_syncs(&self) -> u64 {
        self.log.syncs()
    }

    /// Why the log cannot be written at present; `None`: it can.
    pub fn log_stalled(&self) -> Option<String> {
        self.log.stalled()
    }
}

impl Drop for RaftHost {
    /// Ends all groups; requests that wait are answered with `Stopped`. Blocks until the queued writes are on disk.
    fn drop(&mut self) {
        self.system.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the consensus thread panicked");
        }
    }
}

/// Where the numbers of requests begin, by chance: a leader's late answer to a read of an earlier life of this member must not
/// be taken for one to a read of this life.
fn first_id() -> u64 {
    RandomState::new().build_hasher().finish() >> 1
}
