//! The state machine of the meta group: its state is in memory, its rows in the metadata store.

use super::{Failure, Halt, Machine};
use crate::command::{Command, MetaCommand};
use crate::meta::SharedMeta;
use crate::meta::{At, MetaState, RowChange};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use quorate_node::ops::Incarnation;
use quorate_node::{LogPosition, SharedDictionaries};
use quorate_store::dump::Head;
use quorate_store::incoming::Replacement;
use quorate_store::kv::{Batch, Tree};
use quorate_store::layout::Layout;
use std::sync::Arc;

/// What the meta group held at a log index.
#[derive(Clone, Debug)]
pub struct MetaPin {
    /// The log index.
    pub through: u64,
    /// The state; it shares what has not changed since.
    pub state: MetaState,
}

/// Where apply leaves what the meta group held at the newest log index that its members are compared at.
#[derive(Clone, Debug, Default)]
pub struct MetaPins(Arc<Mutex<Option<MetaPin>>>);

impl MetaPins {
    fn put(&self, pin: Option<MetaPin>) {
        *self.0.lock() = pin;
    }
    /// What is there, if nobody has taken it yet.
    pub fn take(&self) -> Option<MetaPin> {
        self.0.lock().take()
    }
}

/// Applies meta commands and shows requests the result.
pub struct MetaMachine {
    tree: Tree,
    state: MetaState,
    shared: SharedMeta,
    applied: u64,
    changes: Batch,
    halt: Halt,
    pins: MetaPins,
    dictionaries: SharedDictionaries,
}

impl MetaMachine {
    /// Loads the state from its tree.
    pub fn open(tree: Tree) -> Result<Self, Failure> {
        let state = MetaState::from_rows(tree.scan(b"")?)?;
        let applied = tree.applied();
        let shared = Arc::new(ArcSwap::from_pointee(state.clone()));
        let (changes, halt, pins) = (Batch::new(applied), Halt::default(), MetaPins::default());
        let dictionaries = SharedDictionaries::default();
        let machine = MetaMachine { tree, state, shared, applied, changes, halt, pins, dictionaries };
        machine.show();
        Ok(machine)
    }
    /// Lets requests and indices see the state.
    fn show(&self) {
        if self.dictionaries.revision() != self.state.dictionaries.revision {
            self.dictionaries.set(self.state.dictionaries.revision, self.state.dictionaries.custom.clone());
        }
        self.shared.store(Arc::new(self.state.clone()));
    }
    /// The dictionaries that the indices of this node go by.
    pub fn dictionaries(&self) -> SharedDictionaries {
        self.dictionaries.clone()
    }
    /// Where it leaves what members are compared by.
    pub fn pins(&self) -> MetaPins {
        self.pins.clone()
    }
    /// What requests read.
    pub fn shared(&self) -> SharedMeta {
        self.shared.clone()
    }
}

impl Machine for MetaMachine {
    fn replay_from(&self) -> Result<u64, Failure> {
        Ok(self.applied)
    }
    fn applied(&self) -> u64 {
        self.applied
    }
    fn apply(&mut self, at: LogPosition, command: Command) -> Result<(), Failure> {
        let Command::Meta(command) = command else {
            return Err(Failure::Foreign { log_index: at.index });
        };
        if at.index <= self.applied {
            return Ok(());
        }
        if command == MetaCommand::Compare {
            self.pins.put(Some(MetaPin { through: at.index, state: self.state.clone() }));
        }
        let at = At { log_index: at.index, time_ms: at.time_ms };
        for RowChange { key, value } in self.state.apply(at, command) {
            match value {
                Some(value) => self.changes.put(key, value),
                None => self.changes.delete(key),
            }
        }
        self.show();
        self.pass(at.log_index);
        Ok(())
    }
    fn pass(&mut self, log_index: u64) {
        self.applied = self.applied.max(log_index);
    }
    fn checkpoint(&mut self) -> Result<(), Failure> {
        if self.changes.is_empty() && self.tree.applied() == self.applied {
            return Ok(());
        }
        let mut changes = std::mem::replace(&mut self.changes, Batch::new(self.applied));
        changes.set_applied_index(self.applied);
        self.tree.apply(&changes)?;
        // A node that starts, and a recovery, read the members from the store before any log. Changes are rare here.
        Ok(self.tree.write_out()?)
    }
    fn durable_through(&self) -> u64 {
        self.applied
    }
    fn incarnations(&self) -> Vec<Incarnation> {
        vec![]
    }
    fn export(&mut self, _: &Layout) -> Result<(), Failure> {
        Ok(())
    }
    fn replace(&mut self, with: &Replacement) -> Result<Head, Failure> {
        let head = with.restore(&self.tree)?;
        self.state = MetaState::from_rows(self.tree.scan(b"")?)?;
        self.applied = head.applied_index;
        self.changes = Batch::new(self.applied);
        self.show();
        self.pins.put(None);
        Ok(head)
    }
    fn leave(&mut self) -> Result<(), Failure> {
        // every node of the installation is a member of the meta group; one that was removed keeps what it knew
        Ok(())
    }
    fn close(&mut self) -> Result<(), Failure> {
        self.checkpoint()
    }
    fn halt(&self) -> Halt {
        self.halt.clone()
    }
    fn abandon(&mut self) {
        self.changes = Batch::new(self.applied);
    }
}
