//! What do the logs of the placement groups hold, and what does each replica make of them?
//!
//! Consensus is simulated elsewhere: here a log is one list that nobody loses, which replicas apply late.

use super::mutant::Mutant;
use super::settings::changed;
use super::truth::{PLACE, RECORDS};
use quorate_model::user::{OWNER, owned_id, owner_of};
use quorate_model::{RecordOp, UserId};
use quorate_node::Fences;
use quorate_node::ops::{Incarnation, IndexCommand};
use quorate_store::kv::Batch;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};

/// The records of a replica by their stored ids.
pub type Records = BTreeMap<(Incarnation, String), Vec<u8>>;

/// One node's replica of a group.
#[derive(Default)]
pub struct Replica {
    pub applied: u64,
    /// When each further entry is applied.
    pub due: VecDeque<u64>,
    pub records: Records,
    /// The settings of each index.
    pub settings: BTreeMap<Incarnation, Map<String, Value>>,
    fences: Fences,
    /// What follows an index, and the revision of that.
    followers: BTreeMap<Incarnation, (u64, Vec<Incarnation>)>,
}

impl Replica {
    /// What a log makes that is applied to its end.
    pub fn of_log(log: &[IndexCommand], mutant: Option<Mutant>) -> Replica {
        let mut replica = Replica { due: log.iter().map(|_| 0).collect(), ..Replica::default() };
        replica.go_on(log, 0, mutant);
        replica
    }
    /// Applies what is due.
    pub fn go_on(&mut self, log: &[IndexCommand], now_ms: u64, mutant: Option<Mutant>) {
        while self.due.front().is_some_and(|due| *due <= now_ms) {
            self.due.pop_front();
            self.applied += 1;
            self.apply(log[self.applied as usize - 1].clone(), mutant);
        }
    }
    fn apply(&mut self, command: IndexCommand, mutant: Option<Mutant>) {
        match command {
            IndexCommand::Records { index, ops } => ops.into_iter().for_each(|op| self.write(index, op)),
            IndexCommand::ForUser { user, epoch, command } => {
                if !self.fences.let_pass(&user, epoch, self.applied) && mutant != Some(Mutant::IgnoresFences)
                {
                    return;
                }
                // nothing is ever replayed here
                let at = self.applied;
                self.fences.raise(user, epoch, at, at, &mut Batch::default());
                self.apply(*command, mutant);
            }
            IndexCommand::Sequence { commands } => {
                commands.into_iter().for_each(|command| self.apply(command, mutant));
            }
            IndexCommand::Settings { index, changes, replace } => {
                let document = self.settings.entry(index).or_default();
                *document = changed(document, &changes, replace);
            }
            IndexCommand::SaveResources { .. } => {}
            IndexCommand::Copy { from, to } => self.copy(from, to),
            IndexCommand::Drop { index } => {
                self.records.retain(|(of, _), _| *of != index);
                self.followers.remove(&index);
                self.settings.remove(&index);
            }
            IndexCommand::Replicas { primary, revision, followers } => {
                let known = self.followers.get(&primary).cloned().unwrap_or_default();
                if revision > known.0 {
                    let followers: Vec<Incarnation> = followers.iter().map(|it| it.incarnation).collect();
                    followers
                        .iter()
                        .filter(|it| !known.1.contains(it))
                        .for_each(|it| self.copy(primary, *it));
                    self.followers.insert(primary, (revision, followers));
                }
            }
            other => panic!("nobody does that: {other:?}"),
        }
    }
    fn copy(&mut self, from: Incarnation, to: Incarnation) {
        self.records.retain(|(of, _), _| *of != to);
        let copied = self.records.iter().filter(|((of, _), _)| *of == from);
        let copied: Vec<_> = copied.map(|((_, id), record)| ((to, id.clone()), record.clone())).collect();
        self.records.extend(copied);
        let settings = self.settings.get(&from).cloned().unwrap_or_default();
        self.settings.insert(to, settings);
    }
    fn write(&mut self, index: Incarnation, op: RecordOp) {
        let followers = self.followers.get(&index).map_or(vec![], |(_, followers)| followers.clone());
        for index in followers.into_iter().chain([index]) {
            self.write_one(index, op.clone());
        }
    }
    fn write_one(&mut self, index: Incarnation, op: RecordOp) {
        match op {
            RecordOp::Put { object_id, record } => drop(self.records.insert((index, object_id), record)),
            RecordOp::Delete { object_id } => drop(self.records.remove(&(index, object_id))),
            RecordOp::DeleteBy { params } => {
                let params: Value = serde_json::from_slice(&params).expect("own parameters");
                let owner = params[OWNER].as_str().expect("an owner").to_owned();
                let place = params[PLACE].as_u64();
                let is_meant = |id: &str| {
                    let (of, number) = owner_of(id);
                    let is_there = |place: u64| number.parse().is_ok_and(|it: u64| it % RECORDS == place);
                    of == Some(owner.as_str()) && place.is_none_or(is_there)
                };
                self.records.retain(|(of, id), _| *of != index || !is_meant(id));
            }
            other @ (RecordOp::Partial { .. } | RecordOp::PartialUpTo { .. } | RecordOp::Clear) => {
                panic!("nobody does that: {other:?}")
            }
        }
    }
    /// The records of an owner by their stored ids.
    pub fn of(&self, index: Incarnation, user: &UserId) -> BTreeMap<String, Vec<u8>> {
        let begin = owned_id(user, "");
        let own = self.records.range((index, begin.clone())..);
        let own = own.take_while(|((of, id), _)| *of == index && id.starts_with(&begin));
        own.map(|((_, id), record)| (id.clone(), record.clone())).collect()
    }
}
