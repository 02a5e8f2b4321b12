//! Scripts of commands by chance, of all kinds, that keep to what callers keep to: a replica is written to through its
//! primary, and an incarnation that had records of its own never becomes one.

use crate::*;
use quorate_model::UserId;
use quorate_model::chance::Chance;
use quorate_model::user::OWNER;
use quorate_node::ops::{Content, Follower, ReplicaKind};
use quorate_store::codec;
use quorate_store::recorder::CrashMode;
use std::collections::{BTreeMap, BTreeSet};

/// The ids of single records.
pub const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Records that are rebuilt beside other work.
pub const MANY_RECORDS: usize = 1_100;

/// What a power cut leaves.
pub fn crash_mode(chance: &mut Chance) -> CrashMode {
    match chance.below(3) {
        0 => CrashMode::Dropped,
        1 => CrashMode::Prefix,
        _ => CrashMode::Torn(chance.below(1 << 20)),
    }
}

/// Writes a script.
struct Author {
    chance: Chance,
    /// Indices with records of their own.
    own: Vec<u64>,
    /// Those that follow, by primary.
    lists: BTreeMap<u64, Vec<(u64, ReplicaKind)>>,
    next: u64,
    revision: u64,
    epoch: u64,
}

impl Author {
    fn new(seed: u64) -> Author {
        Author {
            chance: Chance::new(seed),
            own: vec![1, 2],
            lists: BTreeMap::new(),
            next: 3,
            revision: 0,
            epoch: 1,
        }
    }
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
    fn an_own(&mut self) -> u64 {
        if self.own.is_empty() || self.chance.once_in(12) {
            let fresh = self.fresh();
            self.own.push(fresh);
        }
        *self.chance.pick(&self.own)
    }
    fn an_index(&mut self) -> u64 {
        let followers: Vec<u64> = self.lists.values().flatten().map(|(it, _)| *it).collect();
        match followers.is_empty() || self.chance.once_in(2) {
            true => self.an_own(),
            false => *self.chance.pick(&followers),
        }
    }
    fn op(&mut self) -> RecordOp {
        let id = *self.chance.pick(&IDS);
        let n = self.chance.index(4) as u32;
        match self.chance.index(12) {
            0..=3 => put(id, n),
            4..=6 => partial(id, r#"{"n":{"_operation":"Increment","value":1}}"#),
            7 => bounded(id, &format!(r#"{{"m":{n}}}"#), 24 + u64::from(n)),
            8 => RecordOp::Delete { object_id: id.into() },
            9..=10 => dictionaries::record(id, dictionaries::COMPOUND),
            _ if self.chance.once_in(3) => RecordOp::Clear,
            _ if self.chance.once_in(4) => {
                // those of a user, of which there are none here: what is public stays
                RecordOp::DeleteBy { params: format!(r#"{{"filters":"n:{n}","{OWNER}":"u"}}"#).into_bytes() }
            }
            _ => RecordOp::DeleteBy { params: format!(r#"{{"filters":"n:{n}"}}"#).into_bytes() },
        }
    }
    fn records(&mut self) -> IndexCommand {
        let index = self.an_own();
        let count = 1 + self.chance.index(3);
        records(index, (0..count).map(|_| self.op()).collect())
    }
    fn settings(&mut self, index: u64) -> IndexCommand {
        let changes = *self.chance.pick(&[
            r#"{"attributesForFaceting":["n"]}"#,
            r#"{"attributesForFaceting":["n","m"]}"#,
            r#"{"attributesForFaceting":null}"#,
            r#"{"customRanking":["desc(n)"]}"#,
            r#"{"customRanking":["asc(n)"]}"#,
            r#"{"hitsPerPage":7}"#,
            r#"{"hitsPerPage":3}"#,
            dictionaries::APART,
            r#"{"decompoundedAttributes":null}"#,
        ]);
        IndexCommand::Settings { index, changes: changes.into(), replace: self.chance.once_in(6) }
    }
    fn configuration(&mut self, index: u64) -> IndexCommand {
        let id = *self.chance.pick(&["s", "t", "u"]);
        match self.chance.index(6) {
            0..=2 => self.settings(index),
            3 => synonyms(index, &[id], id, self.chance.once_in(3)),
            4 => rule_of(*self.chance.pick(&ResourceKind::ALL[1..]), index, id, "x"),
            _ => forget(index, *self.chance.pick(&ResourceKind::ALL), id),
        }
    }
    fn forwarded(&mut self) -> IndexCommand {
        let primary = self.an_own();
        let command = match self.chance.index(3) {
            0 => self.settings(primary),
            1 => synonyms(primary, &["f"], "f", false),
            _ => forget(primary, ResourceKind::Synonyms, "f"),
        };
        IndexCommand::Forward { command: Box::new(command) }
    }
    fn copy(&mut self) -> IndexCommand {
        let from = if self.chance.once_in(6) { 999 } else { self.an_index() };
        let to = self.fresh();
        self.own.push(to);
        IndexCommand::Copy { from, to }
    }
    fn replicas(&mut self) -> IndexCommand {
        let primary = self.an_own();
        let mut list = self.lists.remove(&primary).unwrap_or_default();
        let mut released = vec![];
        list.retain(|follower| {
            let stays = !self.chance.once_in(4);
            if !stays {
                released.push(follower.0);
            }
            stays
        });
        for follower in &mut list {
            if self.chance.once_in(3) {
                follower.1 = *self.chance.pick(&[ReplicaKind::Standard, ReplicaKind::Virtual]);
            }
        }
        if list.len() < 3 && !self.chance.once_in(3) {
            let kind =
                *self.chance.pick(&[ReplicaKind::Standard, ReplicaKind::Standard, ReplicaKind::Virtual]);
            list.push((self.fresh(), kind));
        }
        self.own.extend(released);
        self.revision += 1;
        let followers = list.iter().map(|&(incarnation, kind)| Follower { incarnation, kind }).collect();
        self.lists.insert(primary, list);
        IndexCommand::Replicas { primary, revision: self.revision, followers }
    }
    fn drop_index(&mut self) -> IndexCommand {
        let index = self.an_index();
        self.own.retain(|it| *it != index);
        let left = self.lists.remove(&index).unwrap_or_default();
        self.own.extend(left.iter().map(|(it, _)| *it));
        self.lists.values_mut().for_each(|list| list.retain(|(it, _)| *it != index));
        IndexCommand::Drop { index }
    }
    fn for_user(&mut self) -> IndexCommand {
        let user = *self.chance.pick(&["u", "v"]);
        let user = UserId::new(user).unwrap();
        self.epoch += self.chance.index(2) as u64;
        let epoch = self.epoch.saturating_sub(self.chance.index(3) as u64);
        let command = match self.chance.index(3) {
            0 => IndexCommand::Sequence { commands: vec![] },
            _ => self.records(),
        };
        IndexCommand::ForUser { user, epoch, command: Box::new(command) }
    }
    /// Some that repeat others, and users who are forgotten.
    fn events(&mut self) -> IndexCommand {
        let user = *self.chance.pick(&["u", "v", "w"]);
        match self.chance.index(4) {
            0 => events::forget_user(user),
            1 => {
                let id = *self.chance.pick(&IDS);
                events::search(user, id)
            }
            _ => events::events(&[(user, *self.chance.pick(&IDS)), ("x", *self.chance.pick(&IDS))]),
        }
    }
    /// Settings may be wrong, and what is behind them then not carried out.
    fn sequence(&mut self) -> IndexCommand {
        let mut commands = vec![];
        if self.chance.once_in(3) {
            commands.push(self.copy());
        }
        if self.chance.once_in(4) {
            commands.push(self.replicas());
        }
        for _ in 0..1 + self.chance.index(3) {
            commands.push(match self.chance.index(5) {
                0 => {
                    let index = self.an_own();
                    self.configuration(index)
                }
                1 => settings(self.an_own(), r#"{"hitsPerPage":"wrong"}"#),
                2 => self.forwarded(),
                _ => self.records(),
            });
        }
        IndexCommand::Sequence { commands }
    }
    /// Later ones and earlier ones, of two indices, and some without bytes.
    fn model(&mut self) -> IndexCommand {
        let index = *self.chance.pick(&["p", "q"]);
        models::install(index, self.chance.index(9) as u64, self.chance.index(3) as u64)
    }
    /// Later revisions and earlier ones.
    fn dictionaries(&mut self) -> IndexCommand {
        IndexCommand::Dictionaries { revision: 1 + self.chance.below(20) }
    }
    fn command(&mut self) -> IndexCommand {
        match self.chance.index(27) {
            0..=6 => self.records(),
            7..=8 => {
                let index = self.an_index();
                self.configuration(index)
            }
            9 => self.forwarded(),
            10..=12 => self.copy(),
            13..=14 => self.replicas(),
            15 if self.chance.once_in(2) => self.drop_index(),
            16..=17 => self.sequence(),
            18 => self.events(),
            19 => self.model(),
            20..=21 => IndexCommand::Compare,
            22..=23 => self.dictionaries(),
            24 => IndexCommand::EventsSent { through: self.chance.index(40) as u64 },
            _ => self.for_user(),
        }
    }
}

fn many_records(index: u64) -> IndexCommand {
    records(index, (0..MANY_RECORDS).map(|n| put(&format!("r{n}"), n as u32 % 4)).collect())
}

/// A log, and after each command the indices that have no records of their own to show.
pub struct Script {
    pub log: Vec<IndexCommand>,
    pub hollow: Vec<BTreeSet<u64>>,
    /// No index has a larger number.
    pub end: u64,
}

impl Script {
    /// The script of a seed. Every fourth begins with an index that is rebuilt beside other work, and another one with one that
    /// takes words apart.
    pub fn new(seed: u64, commands: usize) -> Script {
        let mut author = Author::new(seed);
        let (mut log, mut hollow) = (vec![], vec![BTreeSet::new()]);
        for number in 0..commands {
            log.push(match (number, seed % 4) {
                (0, 3) => many_records(1),
                (0, 1) => settings(1, dictionaries::APART),
                _ => author.command(),
            });
            let followers = author.lists.values().flatten();
            let hollow_now = followers.filter(|(_, kind)| *kind == ReplicaKind::Virtual).map(|(it, _)| *it);
            hollow.push(hollow_now.collect());
        }
        Script { log, hollow, end: author.next }
    }
}

/// The number of each command that is in one, itself included.
fn add_numbers(command: &IndexCommand, numbers: &mut BTreeSet<u8>) {
    let row = command.row();
    numbers.insert(row.number);
    if let Content::Commands(inner) = row.content {
        inner.iter().for_each(|it| add_numbers(it, numbers));
    }
}

/// A new command needs its place in `Author::command`.
#[test]
fn scripts_have_every_command_that_there_is() {
    let mut written = BTreeSet::new();
    for seed in 0..40 {
        Script::new(seed, 28).log.iter().for_each(|command| add_numbers(command, &mut written));
    }
    // whoever reads one that there is not says how many there are
    let error = codec::decode::<IndexCommand>(&[250], 16).expect_err("no such command").to_string();
    let count = error.rsplit_once("< ").and_then(|(_, count)| count.parse().ok());
    let all: BTreeSet<u8> = (0..count.unwrap_or_else(|| panic!("{error}"))).collect();
    assert_eq!(written, all, "the numbers of commands in scripts, and of all commands");
}
