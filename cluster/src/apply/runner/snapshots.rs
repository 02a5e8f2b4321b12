//! What the apply loop of a group does about snapshots: one to offer to others, and the one that the group continues from.

use super::{Runner, State};
use crate::apply::group::{Exported, Replaced};
use crate::apply::snapshot_life::{Named, Source, Step};
use crate::apply::{Failure, Machine};
use crate::metrics;
use crate::snapshot::{Description, Making};
use quorate_model::Error;
use quorate_raft::{SnapshotImage, StateCopy};
use quorate_store::incoming::Incoming;
use std::sync::Arc;
use std::time::Instant;

/// Takes a snapshot that has come, with the number of its fetch.
pub(in crate::apply) type Arrived = Arc<dyn Fn(u64, Incoming) + Send + Sync>;

impl<M: Machine> Runner<M> {
    /// Lets other nodes ask for a snapshot of the group.
    pub(in crate::apply) fn serve_snapshots(&self) {
        let (inbox, raft) = (Arc::downgrade(&self.inbox), self.raft.clone());
        let (applied, halt) = (self.applied.subscribe(), self.apply.halt());
        self.room.store().serve(self.apply.group(), move |at_least| {
            let Some(inbox) = inbox.upgrade() else { return Making::Not };
            // who waits for a state itself has none to give, for hours perhaps
            let waits = raft.status().copy == StateCopy::Fetching || halt.reason().is_some();
            if waits || *applied.borrow() < at_least {
                return Making::Not;
            }
            inbox.want_snapshot();
            Making::Begun
        });
    }
    /// Does what is to be done about snapshots. `arrived` is called on any thread, with the number of the fetch.
    pub(in crate::apply) fn look_at_snapshots(&mut self, arrived: &Arrived) {
        if let Some(image) = self.inbox.take_restore() {
            self.restore(image);
        }
        if self.inbox.take_wanted() && !self.life.keeps_entries() {
            self.contained(Self::export);
        }
        while self.state == State::Open
            && self.life.keeps_entries()
            && let Some(step) = self.life.next(self.raft.status().durable, Instant::now())
        {
            self.carry_out(step, arrived);
        }
        self.sync_with_life();
    }
    fn restore(&mut self, image: SnapshotImage) {
        let (group, log_index) = (self.apply.group().0, image.index);
        match self.life.restore(image, self.apply.machine().applied(), Instant::now()) {
            Named::Known => self.report(),
            Named::Wanted => {
                tracing::info!(group, log_index, "the group continues from a snapshot");
            }
        }
        self.sync_with_life();
    }
    /// Ends a fetch that nobody waits for any more, and says whether the state that is here counts.
    fn sync_with_life(&mut self) {
        if self.fetch.as_ref().map(|(number, _)| *number) != self.life.fetch() {
            self.fetch = None;
        }
        if std::mem::replace(&mut self.is_distrusted, self.life.is_distrusted()) != self.is_distrusted {
            match self.is_distrusted {
                true => self.raft.distrust_state(),
                false => self.raft.trust_state(),
            }
        }
    }
    fn carry_out(&mut self, step: Step, arrived: &Arrived) {
        match step {
            Step::Fetch { number, source } => self.begin_fetch(number, &source, arrived),
            Step::Install(incoming) => match self.contained(|runner| runner.apply.replace(incoming)) {
                None => {}
                Some(Replaced::At(log_index)) => self.continued(log_index),
                Some(Replaced::Not(reason)) => {
                    tracing::debug!(group = self.apply.group().0, reason, "a snapshot has arrived and waits");
                    self.life.not_installed(reason, Instant::now());
                }
            },
            Step::GoOn => tracing::warn!(
                group = self.apply.group().0,
                "no other node has sent the group; it goes on with what it has, which is no full copy"
            ),
        }
    }
    fn begin_fetch(&mut self, number: u64, source: &Source, arrived: &Arrived) {
        // a fetch of an older one ends first: both would write to the same folder
        self.fetch = None;
        let (group, arrived) = (self.apply.group(), arrived.clone());
        let done = move |incoming| arrived(number, incoming);
        let begun = match source {
            Source::Named(image) => self.room.fetch(group, image, done),
            Source::Any { at_least, from } => {
                tracing::warn!(
                    group = group.0,
                    log_index = at_least,
                    "the group is taken anew from another node"
                );
                self.room.fetch_any(group, *at_least, from, done)
            }
        };
        match begun {
            Ok(fetch) => self.fetch = Some((number, fetch)),
            Err(error) => {
                tracing::warn!(group = group.0, %error, "cannot begin to fetch a snapshot");
                self.life.not_begun(format!("beginning to fetch a snapshot: {error}"), Instant::now());
            }
        }
    }
    /// The state is that of a snapshot now.
    fn continued(&mut self, log_index: u64) {
        tracing::info!(group = self.apply.group().0, log_index, "the group has continued from a snapshot");
        metrics::snapshot_continued();
        let waits = self.life.installed();
        self.fetch = None;
        self.report();
        self.sync_with_life();
        if let Some(done) = waits {
            let _nobody_waits = done.send(());
        }
    }

    /// Makes a snapshot of the group and offers it to lagging members. What it takes to read its files happens on another
    /// thread.
    fn export(&mut self) -> Result<(), Failure> {
        let (group, store) = (self.apply.group(), self.room.store().clone());
        let (raft, level) = (self.raft.clone(), (self.level)());
        let offer = move |described: Result<Description, Error>| match described {
            Ok(described) => {
                let image = SnapshotImage { index: described.id.index, data: described.encode() };
                // when it is lost it is asked for again
                let _full = raft.offer_snapshot(image);
            }
            Err(error) => tracing::warn!(group = group.0, %error, "cannot make a snapshot of the group"),
        };
        if let Some(known) = store.newest(group, self.apply.machine().applied()) {
            offer(Ok(known));
            return Ok(());
        }
        let Some(draft) = store.begin(group) else { return Ok(()) };
        match self.apply.export(draft.layout())? {
            Exported::Whole(head) => {
                let finish = move || offer(store.finish(draft, head.applied_index, level));
                let begun = std::thread::Builder::new().name(format!("snapshot-{group}")).spawn(finish);
                if let Err(error) = begun {
                    tracing::warn!(group = group.0, %error, "cannot make a snapshot of the group");
                }
            }
            Exported::Not(reason) => tracing::info!(group = group.0, reason, "no snapshot of the group yet"),
        }
        Ok(())
    }
}
