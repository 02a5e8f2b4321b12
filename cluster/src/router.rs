//! Which group a command belongs to, and how it gets into that group's log.

use crate::apply::actor::{Close, Incarnations};
use crate::apply::meta::SharedMeta;
use crate::command::{self, Command, MetaCommand};
use crate::disk::{DiskGuard, Purpose};
use crate::metrics;
use crate::mint::Mint;
use actix::Recipient;
use bytes::Bytes;
use quorate_model::{Error, GroupId, Result, TaskId, limits};
use quorate_node::ops::IndexCommand;
use quorate_raft::{GroupHandle, ProposeError, Status};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// One group of this node, as writes and tasks see it.
pub struct Group {
    /// Its number.
    pub id: GroupId,
    /// Its consensus.
    pub raft: GroupHandle,
    /// The last log index that was applied here.
    pub applied: watch::Receiver<u64>,
    /// Asks its actor for what it holds.
    pub incarnations: Recipient<Incarnations>,
    /// Tells its actor to stop.
    pub close: Recipient<Close>,
}

/// The groups of this node and what a proposal needs.
pub struct Router {
    groups: Vec<Group>,
    meta: SharedMeta,
    mint: Mint,
    disk: DiskGuard,
}

/// A command that is on disk on a majority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its task id.
    pub task_id: TaskId,
    /// The time it was minted with, Unix milliseconds.
    pub time_ms: u64,
}

/// When a write that starts now gives up.
pub fn write_deadline() -> Instant {
    Instant::now() + Duration::from_secs(limits::WRITE_S)
}

/// How long it is until `deadline`.
pub fn within(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

impl Router {
    /// A router over the groups, the meta group first.
    pub fn new(groups: Vec<Group>, meta: SharedMeta, mint: Mint, disk: DiskGuard) -> Self {
        Router { groups, meta, mint, disk }
    }
    /// The groups, the meta group first.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }
    /// The group with this number.
    pub fn group(&self, id: GroupId) -> Option<&Group> {
        self.groups.get(usize::from(id.0))
    }
    /// How many placement groups there are.
    pub fn placement_groups(&self) -> u16 {
        (self.groups.len() - 1) as u16
    }
    /// The catalogue and the keys as of now.
    pub fn meta(&self) -> Arc<crate::meta::MetaState> {
        self.meta.load_full()
    }
    /// What requests read of the catalogue and the keys.
    pub fn shared_meta(&self) -> &SharedMeta {
        &self.meta
    }
    /// Ids and times.
    pub fn mint(&self) -> &Mint {
        &self.mint
    }
    /// The disk of the data folder.
    pub fn disk(&self) -> &DiskGuard {
        &self.disk
    }

    /// Changes what the installation knows; returns when this node knows it too.
    pub async fn propose_meta(
        &self,
        command: MetaCommand,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Accepted> {
        let group = &self.groups[0];
        let accepted = self.propose(group, Command::Meta(command), purpose, deadline).await?;
        group.wait_applied(accepted.task_id.log_index(), deadline).await?;
        Ok(accepted)
    }
    /// Puts a command on an index into its group's log; returns when it is on disk on a majority.
    pub async fn propose_index(
        &self,
        group: GroupId,
        command: IndexCommand,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Accepted> {
        let group = self.group(group).ok_or_else(|| Error::internal(format!("there is no group {group}")))?;
        self.propose(group, Command::Index(command), purpose, deadline).await
    }

    async fn propose(
        &self,
        group: &Group,
        command: Command,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Accepted> {
        self.disk.admit(purpose)?;
        if group.status().unapplied_bytes > limits::UNAPPLIED_BYTES_MAX as u64 {
            metrics::refused("backlog");
            return Err(Error::unavailable("too many writes wait to be applied; try again later"));
        }
        let time_ms = self.mint.time_ms();
        let entries = command::entries(time_ms, command);
        if let Some(large) = entries.iter().map(Vec::len).find(|&bytes| bytes > limits::ENTRY_BYTES_MAX) {
            return Err(Error::new(
                quorate_model::ErrorKind::TooLarge,
                format!("an operation takes {large} bytes, at most {} are allowed", limits::ENTRY_BYTES_MAX),
            ));
        }
        let entries = entries.into_iter().map(Bytes::from).collect();
        let committed = group.raft.propose(entries, within(deadline)).await.map_err(refusal)?;
        Ok(Accepted { task_id: TaskId::new(group.id, committed.last), time_ms })
    }
}

impl Group {
    /// The group's positions.
    pub fn status(&self) -> Status {
        self.raft.status()
    }
    /// Waits until this node has applied the group's log through `log_index`. Errors: `Unavailable` at the deadline.
    pub async fn wait_applied(&self, log_index: u64, deadline: Instant) -> Result<()> {
        let mut applied = self.applied.clone();
        let reached = applied.wait_for(|&applied| applied >= log_index);
        match tokio::time::timeout_at(deadline.into(), reached).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(Error::unavailable("the node is stopping")),
            Err(_) => Err(Error::unavailable(format!("group {} is behind with its log", self.id))),
        }
    }
}

/// What a caller hears about a proposal that was not, or not surely, committed: all of it is 503 (C§1.4).
fn refusal(error: ProposeError) -> Error {
    let reason = match &error {
        ProposeError::NotLeader { .. } => "not_leader",
        ProposeError::Full => "full",
        ProposeError::Dropped => "dropped",
        ProposeError::Timeout => "timeout",
        ProposeError::Unavailable { .. } => "unavailable",
        ProposeError::Stopped => "stopped",
    };
    metrics::refused(reason);
    Error::unavailable(format!("the write was not accepted: {error}"))
}
