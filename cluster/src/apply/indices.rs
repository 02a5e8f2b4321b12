//! The state machine of a placement group: its commands go to the node.

use super::{Failure, Halt, Machine};
use crate::command::Command;
use quorate_node::ops::Incarnation;
use quorate_node::{LogPosition, PlacementMachine};
use quorate_store::dump::Head;
use quorate_store::incoming::Replacement;
use quorate_store::layout::Layout;

impl Machine for PlacementMachine {
    fn replay_from(&self) -> Result<u64, Failure> {
        Ok(PlacementMachine::replay_from(self)?)
    }
    fn applied(&self) -> u64 {
        PlacementMachine::applied(self)
    }
    fn apply(&mut self, at: LogPosition, command: Command) -> Result<(), Failure> {
        match command {
            Command::Index(command) => Ok(PlacementMachine::apply(self, at, command)?),
            Command::Meta(_) => Err(Failure::Foreign { log_index: at.index }),
        }
    }
    fn pass(&mut self, log_index: u64) {
        PlacementMachine::pass(self, log_index);
    }
    fn checkpoint(&mut self) -> Result<(), Failure> {
        Ok(PlacementMachine::checkpoint(self)?)
    }
    fn durable_through(&self) -> u64 {
        PlacementMachine::durable_through(self)
    }
    fn forgets_through(&self) -> u64 {
        PlacementMachine::forgets_through(self)
    }
    fn incarnations(&self) -> Vec<Incarnation> {
        PlacementMachine::incarnations(self)
    }
    fn has_changes(&self) -> bool {
        PlacementMachine::has_changes(self)
    }
    fn replayed(&mut self) {
        PlacementMachine::replayed(self);
    }
    fn upkeep(&mut self) -> Result<(), Failure> {
        Ok(PlacementMachine::resume_work(self)?)
    }
    fn export(&mut self, into: &Layout) -> Result<(), Failure> {
        Ok(PlacementMachine::export(self, into)?)
    }
    fn replace(&mut self, with: &Replacement) -> Result<Head, Failure> {
        Ok(PlacementMachine::replace(self, with)?)
    }
    fn leave(&mut self) -> Result<(), Failure> {
        Ok(PlacementMachine::leave(self)?)
    }
    fn close(&mut self) -> Result<(), Failure> {
        Ok(PlacementMachine::close(self)?)
    }
    fn halt(&self) -> Halt {
        PlacementMachine::halt(self).clone()
    }
    fn abandon(&mut self) {
        PlacementMachine::abandon(self);
    }
}
