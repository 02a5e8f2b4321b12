//! How far one group has come: which commands are applied, when its metadata store is dumped, what the log must keep.

use super::cut::CutBatches;
use super::left;
use super::staging::Staging;
use super::{Failure, Halt, Machine};
use quorate_model::GroupId;
use quorate_node::ops::Incarnation;
use quorate_node::{Left, LogPosition};
use quorate_raft::CommittedEntry;
use quorate_store::dump::{self, Head};
use quorate_store::files::Files;
use quorate_store::incoming::{self, Incoming};
use quorate_store::kv::Tree;
use quorate_store::layout::Layout;
use std::sync::Arc;

/// Entries since the last dump that ask for the next one: replaying them takes about a second.
const DUMP_ENTRIES: u64 = 20_000;
/// Bytes of log since the last dump that ask for the next one.
const DUMP_BYTES: u64 = 64 << 20;

/// Bytes of log that an idle group gives back.
const IDLE_BYTES: u64 = 1 << 20;

/// Where a group keeps its metadata store.
#[derive(Clone, Debug)]
pub struct DumpPlace {
    /// The group.
    pub group: GroupId,
    /// Its tree.
    pub tree: Tree,
    /// The data folder.
    pub data: Layout,
    /// The file layer.
    pub files: Arc<dyn Files>,
    /// Whether there is a dump already.
    pub found: DumpFound,
}

/// What a start found of a group's dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpFound {
    /// A whole one, or the group is new.
    Whole,
    /// None that can be read, although the log may be cut: until there is one, the metadata store has no second home.
    Lost,
}

/// One group's state machine with its place in the log.
pub struct GroupApply<M> {
    machine: M,
    place: DumpPlace,
    staging: Staging,
    halt: Halt,
    /// The last entry that was taken.
    taken: u64,
    /// The entry that is being taken, or was when that broke off.
    taking: u64,
    /// The metadata store reflected everything through here when the group was opened.
    known: u64,
    /// Entries through here may have been applied before this start.
    seen: u64,
    /// Log index and term of the last entry that the machine reflects.
    last: (u64, u64),
    /// Applied batches of several chunks that the machine may need again after a crash.
    cut: CutBatches,
    /// Log gathered since the last dump.
    gathered: Gathered,
    /// The log may be cut through here.
    compactable: u64,
    /// What was to be forgotten through here has left the log in an earlier life.
    erased: u64,
    /// The newest dump reflects everything through here, and shards were not durable that far: the log was cut less.
    held_back: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gathered {
    commands: u64,
    entries: u64,
    bytes: u64,
}

/// Whether a dump is written only when enough log has gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpWhen {
    /// When it saves a long replay.
    Due,
    /// When it gives back a noticeable part of the log: nothing is written at present.
    Idle,
    /// In any case, if there is anything new.
    Now,
}

/// How an attempt to link the state of a group into a folder ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exported {
    /// The folder holds the state that this describes.
    Whole(Head),
    /// Not this time, for this reason; what is in the folder is of no use.
    Not(String),
}

/// How an attempt to put another state in the place of a group's ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The group continues behind this log index.
    At(u64),
    /// Nothing has changed, for this reason.
    Not(String),
}

impl<M: Machine> GroupApply<M> {
    /// A group as its tree and its machine left it; [`Self::taken`] says after which entry the log has to go on.
    pub fn open(machine: M, place: DumpPlace) -> Result<Self, Failure> {
        let cut = CutBatches::load(&place.tree)?;
        let replay_from = cut.whole(machine.replay_from()?);
        let gathered = match place.found {
            DumpFound::Whole => Gathered::default(),
            DumpFound::Lost => Gathered { commands: 1, entries: DUMP_ENTRIES, bytes: 0 },
        };
        let halt = machine.halt();
        Ok(GroupApply {
            known: machine.applied(),
            seen: 0,
            machine,
            place,
            staging: Staging::default(),
            halt,
            taken: replay_from,
            taking: replay_from,
            last: (replay_from, 0),
            cut,
            gathered,
            compactable: 0,
            erased: 0,
            held_back: None,
        })
    }
    /// The same on a node that knows commands up to a level only.
    pub fn knowing(mut self, level: u16) -> Self {
        self.staging = Staging::knowing(level);
        self
    }
    /// The same where the log went through here at the start.
    ///
    /// What is replayed passes through states that it did not pass through before: files are ahead, and a copy that was dropped is
    /// made anew from what its source has by now. So nothing is noted there to be compared with others.
    pub fn continuing(mut self, log_index: u64) -> Self {
        self.seen = log_index;
        self.note_replayed();
        self
    }
    /// Whether it stands still, for those who ask from other threads.
    pub fn halt(&self) -> Halt {
        self.halt.clone()
    }
    /// The state machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }
    /// The group.
    pub fn group(&self) -> GroupId {
        self.place.group
    }
    /// The last entry that was taken, chunks of a batch under way included.
    pub fn taken(&self) -> u64 {
        self.taken
    }
    /// The entry that was looked at last: where the group stands when it breaks off.
    pub fn taking(&self) -> u64 {
        self.taking
    }
    /// Lets the state go, which may be half.
    pub fn abandon(&mut self) {
        self.machine.abandon();
    }
    /// The incarnations that hold files in this group.
    pub fn incarnations(&self) -> Vec<Incarnation> {
        self.machine.incarnations()
    }

    /// Takes committed entries until one cannot be read because it is of a newer program. Returns whether all were taken:
    /// from that entry on the group stands still, as of the last whole command before it.
    pub fn take_all(&mut self, entries: &[CommittedEntry]) -> Result<bool, Failure> {
        for entry in entries {
            match self.take(entry) {
                Ok(()) => {}
                Err(failure) if failure.is_of_newer_program() => {
                    self.halt.set(failure.to_string(), Left::Whole);
                    return Ok(false);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(true)
    }

    /// Takes the next committed entry. An entry that was taken before changes nothing.
    pub fn take(&mut self, entry: &CommittedEntry) -> Result<(), Failure> {
        let CommittedEntry { index: log_index, term, ref data } = *entry;
        if log_index <= self.taken {
            return Ok(());
        }
        self.taking = log_index;
        let whole =
            self.staging.take(log_index, data).map_err(|source| Failure::Entry { log_index, source })?;
        match whole {
            Some(whole) => {
                let at = LogPosition { index: log_index, term, time_ms: whole.time_ms };
                match log_index <= self.seen && whole.command.is_comparison() {
                    true => self.machine.pass(log_index),
                    false => self.machine.apply(at, whole.command)?,
                }
                self.last = (log_index, term);
                self.cut.note(whole.first, log_index);
                self.gathered.commands += 1;
            }
            None if self.staging.first().is_none() => {
                self.machine.pass(log_index);
                self.last = (log_index, term);
            }
            // a chunk that waits: a restart must see it again
            None => {}
        }
        self.taken = log_index;
        self.note_replayed();
        self.gathered.entries += 1;
        self.gathered.bytes += data.len() as u64;
        Ok(())
    }

    /// Puts the state as of the last whole command into the working store.
    ///
    /// Not while known commands are replayed: nothing is new to the store then, and the machine cannot tell yet which of
    /// the commands to come are not durable.
    pub fn checkpoint(&mut self) -> Result<(), Failure> {
        if self.taken < self.known {
            return Ok(());
        }
        // first what the position written next depends on
        self.cut.keep(self.machine.durable_through(), &self.place.tree)?;
        self.machine.checkpoint()
    }

    /// Goes on with what waits for nothing but time, once known commands have been replayed.
    pub fn upkeep(&mut self) -> Result<(), Failure> {
        if self.taken < self.known {
            return Ok(());
        }
        self.note_replayed();
        self.machine.upkeep()?;
        match self.machine.has_changes() {
            true => self.checkpoint(),
            false => Ok(()),
        }
    }
    fn note_replayed(&mut self) {
        if self.taken >= self.seen {
            self.machine.replayed();
        }
    }

    /// Dumps the metadata store and returns through where the log may be cut, if that has moved.
    ///
    /// A dump that cannot be written is no failure: the old one is there and so is the log.
    pub fn dump(&mut self, when: DumpWhen) -> Result<Option<u64>, Failure> {
        let due = match when {
            DumpWhen::Due => self.gathered.entries >= DUMP_ENTRIES || self.gathered.bytes >= DUMP_BYTES,
            DumpWhen::Idle => {
                self.gathered.commands > 0 && self.gathered.bytes >= IDLE_BYTES
                    // a dump says from where to replay, so that cutting further takes another one
                    || self.held_back.is_some_and(|dumped| self.machine.durable_through() >= dumped)
            }
            DumpWhen::Now => self.gathered.commands > 0,
        };
        if !(due || self.is_to_forget()) || self.taken < self.known {
            return Ok(None);
        }
        // before the checkpoint, so that what the dump says about replay is at least this
        let durable = self.cut.whole(self.machine.durable_through());
        self.checkpoint()?;
        let (last_index, last_term) = self.last;
        let mut term_of = |log_index| if log_index == last_index { last_term } else { 0 };
        let DumpPlace { group, tree, data, files, found: _ } = &self.place;
        match dump::write_tree(&**files, &data.dump(*group), group.0, tree, &mut term_of) {
            Ok(head) => {
                self.gathered = Gathered::default();
                let staged = self.staging.first().map_or(u64::MAX, |first| first - 1);
                let bound = head.applied_index.min(durable).min(staged);
                self.held_back = (bound < head.applied_index).then_some(head.applied_index);
                let moved = bound > self.compactable;
                self.compactable = self.compactable.max(bound);
                Ok(moved.then_some(bound))
            }
            Err(error) => {
                tracing::warn!(group = group.0, %error, "cannot dump the metadata store; the log is kept");
                Ok(None)
            }
        }
    }

    /// The log has lost what was to be forgotten through here: it is not cut for that again.
    pub fn note_erased(&mut self, through: u64) {
        self.erased = through;
    }
    /// Whether the log still has entries that hold what is to be forgotten, and everything in them is durable elsewhere.
    fn is_to_forget(&self) -> bool {
        let through = self.machine.forgets_through();
        through > self.compactable.max(self.erased) && self.machine.durable_through() >= through
    }
    /// Through where entries are to leave the disk once the log is cut there, if any are.
    pub fn forgets_through(&self) -> Option<u64> {
        Some(self.machine.forgets_through())
            .filter(|through| *through > self.erased && *through <= self.compactable)
    }

    /// Links the state as of the last whole command into `into`, laid out as a data folder. Only failures of the working
    /// store are errors.
    pub fn export(&mut self, into: &Layout) -> Result<Exported, Failure> {
        if self.taken < self.known {
            return Ok(Exported::Not("known commands are being replayed".into()));
        }
        if let Err(failure) = self.machine.export(into) {
            return Ok(Exported::Not(failure.to_string()));
        }
        self.checkpoint()?;
        let (last_index, last_term) = self.last;
        if self.cut.whole(self.machine.replay_from()?) < self.machine.applied() {
            return Ok(Exported::Not("not everything is durable".into()));
        }
        let mut term_of = |log_index| if log_index == last_index { last_term } else { 0 };
        let DumpPlace { group, tree, files, .. } = &self.place;
        let folder = files.create_dir_durable(&into.dumps());
        let written = folder.map_err(|e| e.to_string()).and_then(|()| {
            let path = into.dump(*group);
            dump::write_tree(&**files, &path, group.0, tree, &mut term_of).map_err(|e| e.to_string())
        });
        Ok(written.map_or_else(Exported::Not, Exported::Whole))
    }

    /// Puts a state that has arrived in the place of this one. All of it must be durable.
    ///
    /// Errors: the state is half the old one and half the new one; the next start goes on with it.
    pub fn replace(&mut self, with: Incoming) -> Result<Replaced, Failure> {
        let DumpPlace { group, tree, data, files, .. } = &self.place;
        let replacement = match with.commit(&**files, &self.machine.incarnations()) {
            Ok(replacement) => replacement,
            Err(error) => return Ok(Replaced::Not(error.to_string())),
        };
        let head = self.machine.replace(&replacement)?;
        replacement.finish(&**files, data)?;
        incoming::forget(&**files, data, *group, head.applied_index)?;
        self.cut = CutBatches::load(tree)?;
        self.staging = Staging::knowing(self.staging.known());
        (self.taken, self.known) = (head.applied_index, head.applied_index);
        self.last = (head.applied_index, head.term);
        self.gathered = Gathered::default();
        self.held_back = None;
        Ok(Replaced::At(head.applied_index))
    }

    /// Removes what this node has of the group, which it has left.
    pub fn leave(&mut self) -> Result<(), Failure> {
        left::remove(&mut self.machine, &self.place)
    }

    /// Makes everything durable, closes the machine and dumps a last time; returns through where the log may be cut.
    pub fn close(&mut self) -> Result<Option<u64>, Failure> {
        if self.taken < self.known {
            return Ok(None);
        }
        self.machine.close()?;
        self.dump(DumpWhen::Now)
    }
}

#[cfg(test)]
mod tests;
