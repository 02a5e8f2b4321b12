//! What a placement group's log says about indices: the commands that node machines apply, and a row of facts for each.
//!
//! A new command is a variant behind the last one, which says why a replay ends the same, its row in [`IndexCommand::row`], and an arm of
//! `PlacementMachine::carry_out`, which applies it. Everybody else asks the row.

mod content;

pub use content::operation_bytes;

use crate::models::key::ModelKey;
use quorate_model::event::{CountedSearch, Event};
use quorate_model::level::{self, FIRST};
use quorate_model::settings::replica;
use quorate_model::{RecordOp, ResourceKind, UserId};
use serde::{Deserialize, Serialize};

/// Identifies one life of an index: a name that is deleted and made again, or moved over, has another one.
///
/// It is `log_index << 12 | group` of the meta command that made it: unique for ever.
pub type Incarnation = u64;

/// A synonym or a rule as it is saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawResource {
    /// Its id.
    pub object_id: String,
    /// A raw JSON object with that id.
    #[serde(with = "serde_bytes")]
    pub document: Vec<u8>,
}

/// How a replica follows its primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplicaKind {
    /// It holds the primary's records, indexed with its own settings.
    Standard,
    /// It holds settings only; searches run on the primary's records.
    Virtual,
}

/// An index that follows another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follower {
    /// The replica.
    pub incarnation: Incarnation,
    /// How it follows.
    pub kind: ReplicaKind,
}

/// A command on one index. Variants are numbered by their order: append, never reorder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum IndexCommand {
    /// Applies record operations in order, atomically. Makes the shard when the incarnation is new.
    ///
    /// Replay: the shard's files name the place they hold and are never ahead of it, steps of a command included; what is behind is handed
    /// over again, in order. What partial updates read is the record as the shard has it then. `DeleteBy` reads records and settings
    /// of its moment: it is durable, here and in all that the index feeds, before a later command is carried out.
    Records {
        /// The index.
        index: Incarnation,
        /// The operations.
        ops: Vec<RecordOp>,
    },
    /// Changes settings: members replace, `null` resets.
    ///
    /// Replay: a function of the metadata store, which stands exactly before the command. Whether files have to be rebuilt is
    /// asked of the files, and what follows from it is work, not state.
    Settings {
        /// The index.
        index: Incarnation,
        /// A raw JSON object.
        #[serde(with = "serde_bytes")]
        changes: Vec<u8>,
        /// Drops every earlier setting first.
        replace: bool,
    },
    /// Makes `to` a copy of `from` (records, settings, synonyms, rules) as of this point of the log. A missing `from` gives an empty index.
    ///
    /// Replay: the records are durable in the copy, which names the place, before a later command is carried out; files of this place
    /// or a later one are taken. With none, or older ones, nothing later was carried out, or a later command removes them again.
    Copy {
        /// Source.
        from: Incarnation,
        /// Destination: a new incarnation in the same group.
        to: Incarnation,
    },
    /// Removes the index with its files.
    ///
    /// Replay: final, an incarnation never comes back. The manifest goes before the files, so none is left that lacks some.
    Drop {
        /// The index.
        index: Incarnation,
    },
    /// Several commands on one index, in order, as one.
    ///
    /// Replay: steps are counted. One that failed keeps those behind it from being carried out.
    Sequence {
        /// The commands.
        commands: Vec<IndexCommand>,
    },
    /// Saves synonyms or rules. One with the id of another one replaces it, the last of a list wins.
    ///
    /// A change that would leave more of them than an index may have is none.
    ///
    /// Replay: a function of the metadata store.
    SaveResources {
        /// The index.
        index: Incarnation,
        /// Which.
        kind: ResourceKind,
        /// What to save.
        resources: Vec<RawResource>,
        /// Drops all earlier ones of the kind first.
        replace: bool,
    },
    /// Removes a synonym or a rule; a missing one is no error.
    ///
    /// Replay: a function of the metadata store.
    DeleteResource {
        /// The index.
        index: Incarnation,
        /// Which.
        kind: ResourceKind,
        /// Its id.
        object_id: String,
    },
    /// Lets exactly these indices follow `primary`: new ones are filled with its records as of this point of the log,
    /// and every later record operation on it is carried out on them, too. Those left out go their own way.
    ///
    /// Replay: the list is a function of the metadata store. One that is filled is as a copy; the files of one that becomes virtual go
    /// unless they name a later place; one that is released is durable, naming this place, before a later command is carried out.
    Replicas {
        /// The index that is followed.
        primary: Incarnation,
        /// Which list it is; one that is not newer than the list in force changes nothing.
        revision: u64,
        /// All that follow.
        followers: Vec<Follower>,
    },
    /// Carries out a change of settings, synonyms or rules of an index also on all that follow it; virtual replicas take
    /// the settings that they may have.
    ///
    /// Replay: as the commands it stands for on the list of replicas (metadata store); none of them is on records.
    Forward {
        /// What is done to the index.
        command: Box<IndexCommand>,
    },
    /// Carries a command out for whoever moves or removes a user, and refuses all later ones of an earlier epoch: what
    /// somebody decided who has been overtaken since has no effect. It may name several indices of the group.
    ///
    /// Replay: fences are rows with their log index; those that a replay may ask for are kept.
    ForUser {
        /// The user.
        user: UserId,
        /// The epoch of the user that it was decided on.
        epoch: u64,
        /// What is done.
        command: Box<IndexCommand>,
    },
    /// Lets every replica hash, later and elsewhere, what it holds at this place of the log. It changes nothing.
    ///
    /// Replay: nothing is noted for what the metadata store knows, nor for any that the log held at the start.
    Compare,
    /// From here on all indices of the group go by the dictionaries of this revision, or by later ones.
    ///
    /// Replay: the higher revision stays, with its place. Whether files have to be rebuilt is asked of them and of the node.
    Dictionaries {
        /// The log index of the change in the meta group's log; one that is not newer than what is in force changes nothing.
        revision: u64,
    },
    /// Keeps events, whose indices need not exist. They are received at the time of the entry.
    ///
    /// Replay: rows carry their log index, and files say through which entry they are whole; what stands in files and memory counts
    /// once. Until rows are files the log is kept.
    Events {
        /// All that the group is to keep, in their order.
        #[serde(with = "quorate_model::give_way::sequence")]
        events: Vec<Event>,
    },
    /// Forgets what a user did through here, in every index of the group.
    ///
    /// Replay: as events.
    ForgetUser {
        /// Either kind of token.
        token: String,
    },
    /// Keeps searches that count, of indices that need not exist any more.
    ///
    /// Replay: as events.
    Searches {
        /// All that the group is to keep.
        searches: Vec<CountedSearch>,
    },
    /// Puts a model of recommendations in force whose file is made, unless a later one is. The file comes beside.
    ///
    /// Replay: a row of the metadata store. The file is no part of the state: whoever lacks it fetches it or makes another one.
    InstallModel {
        /// Which.
        key: ModelKey,
        /// Its number; of two the higher is the later.
        seq: u64,
        /// Bytes of its file; without any the index has no such model any more.
        length: u64,
        /// CRC-32 of its file.
        crc: u32,
    },
    /// Says that the sink of events has been given all that the group has of them through a place of its log.
    ///
    /// Replay: a function of the metadata store.
    EventsSent {
        /// The log index; one that is not later than what is known changes nothing.
        through: u64,
    },
}

/// What has to be known of a command beside what applying it does.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its place among the variants: the byte that stands for it in a log.
    pub number: u8,
    /// The programs that know it are those of this level and above.
    pub level: u16,
    /// Whether it may come to nothing for a reason that lies in the state of its moment.
    pub may_fail: bool,
    /// Whether it is carried out again after a crash although the metadata store knows it: shards may not have it.
    pub is_replayed: bool,
    /// What it holds beside names and numbers.
    pub content: Content<'a>,
}

/// What a command holds: it says how many bytes it takes, and which programs know all of it.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Names and numbers, and of names so many bytes.
    Names(usize),
    /// Record operations.
    Operations(&'a [RecordOp]),
    /// A settings document.
    Settings(&'a [u8]),
    /// Synonyms or rules.
    Resources(ResourceKind, &'a [RawResource]),
    /// What follows an index.
    Followers(&'a [Follower]),
    /// Events.
    Events(&'a [Event]),
    /// Searches that count.
    Searches(&'a [CountedSearch]),
    /// Other commands.
    Commands(&'a [IndexCommand]),
}

/// A row from which others differ.
const PLAIN: Row<'static> =
    Row { number: 0, level: FIRST, may_fail: false, is_replayed: false, content: Content::Names(0) };

/// The same of what the files of events have. They are behind the metadata store.
const OF_EVENTS: Row<'static> = Row { level: level::EVENTS, is_replayed: true, ..PLAIN };

impl IndexCommand {
    /// The index whose earlier writes this command comes behind as a task, although it does not wait for them: it is in force as soon as
    /// it is applied, or acts on another index.
    pub fn comes_behind(&self) -> Option<Incarnation> {
        match self {
            IndexCommand::Settings { index, .. }
            | IndexCommand::SaveResources { index, .. }
            | IndexCommand::DeleteResource { index, .. }
            | IndexCommand::Copy { from: index, .. }
            | IndexCommand::Replicas { primary: index, .. } => Some(*index),
            IndexCommand::Forward { command } => command.comes_behind(),
            _ => None,
        }
    }
    /// Its row. Cost: none.
    pub fn row(&self) -> Row<'_> {
        let holding = |number, content| Row { number, content, ..PLAIN };
        let of_events = |number, content| Row { number, content, ..OF_EVENTS };
        match self {
            IndexCommand::Records { index: _, ops } => {
                Row { is_replayed: true, ..holding(0, Content::Operations(ops)) }
            }
            IndexCommand::Settings { index: _, changes, replace: _ } => {
                Row { may_fail: true, ..holding(1, Content::Settings(changes)) }
            }
            IndexCommand::Copy { .. } => Row { number: 2, ..PLAIN },
            IndexCommand::Drop { .. } => Row { number: 3, ..PLAIN },
            IndexCommand::Sequence { commands } => Row {
                may_fail: commands.iter().any(|command| command.row().may_fail),
                is_replayed: true,
                ..holding(4, Content::Commands(commands))
            },
            IndexCommand::SaveResources { index: _, kind, resources, replace: _ } => Row {
                level: level::of_kind(*kind),
                may_fail: true,
                ..holding(5, Content::Resources(*kind, resources))
            },
            IndexCommand::DeleteResource { index: _, kind, object_id } => {
                Row { level: level::of_kind(*kind), ..holding(6, Content::Names(object_id.len())) }
            }
            IndexCommand::Replicas { followers, .. } => {
                Row { may_fail: true, ..holding(7, Content::Followers(followers)) }
            }
            IndexCommand::Forward { command } => {
                Row { may_fail: true, ..holding(8, Content::Commands(only(command))) }
            }
            IndexCommand::ForUser { command, .. } => Row {
                level: level::OF_USERS,
                may_fail: command.row().may_fail,
                is_replayed: true,
                ..holding(9, Content::Commands(only(command)))
            },
            IndexCommand::Compare => Row { number: 10, level: level::COMPARE, ..PLAIN },
            IndexCommand::Dictionaries { .. } => Row { number: 11, level: level::DICTIONARIES_ACT, ..PLAIN },
            IndexCommand::Events { events } => of_events(12, Content::Events(events)),
            IndexCommand::ForgetUser { token } => of_events(13, Content::Names(token.len())),
            IndexCommand::Searches { searches } => {
                Row { level: level::RECOMMEND, ..of_events(14, Content::Searches(searches)) }
            }
            IndexCommand::InstallModel { key, .. } => {
                Row { level: level::RECOMMEND, ..holding(15, Content::Names(key.index.as_str().len())) }
            }
            IndexCommand::EventsSent { .. } => Row { number: 16, level: level::SINK, ..PLAIN },
        }
    }

    /// The index whose replicas are given the command, too, when it is forwarded; `None` of what nobody forwards.
    pub fn forwarded_index(&mut self) -> Option<&mut Incarnation> {
        match self {
            IndexCommand::Settings { index, .. }
            | IndexCommand::SaveResources { index, .. }
            | IndexCommand::DeleteResource { index, .. } => Some(index),
            IndexCommand::Records { .. }
            | IndexCommand::Copy { .. }
            | IndexCommand::Drop { .. }
            | IndexCommand::Sequence { .. }
            | IndexCommand::Replicas { .. }
            | IndexCommand::Forward { .. }
            | IndexCommand::ForUser { .. }
            | IndexCommand::Compare
            | IndexCommand::Dictionaries { .. }
            | IndexCommand::Events { .. }
            | IndexCommand::ForgetUser { .. }
            | IndexCommand::Searches { .. }
            | IndexCommand::InstallModel { .. }
            | IndexCommand::EventsSent { .. } => None,
        }
    }

    /// What an index that follows [`Self::forwarded_index`] is given when the command is forwarded: the same, of settings what a
    /// replica of its kind may have. `None` of what nobody forwards.
    pub fn forwarded(&self, to: Incarnation, kind: ReplicaKind) -> Option<IndexCommand> {
        let mut command = self.clone();
        *command.forwarded_index()? = to;
        if let (IndexCommand::Settings { changes, .. }, ReplicaKind::Virtual) = (&mut command, kind)
            && let Ok(document) = serde_json::from_slice(changes)
        {
            let taken = replica::for_virtual(&document);
            *changes = serde_json::to_vec(&taken).expect("a JSON object always serialises");
        }
        Some(command)
    }
}

fn only(command: &IndexCommand) -> &[IndexCommand] {
    std::slice::from_ref(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forwarded_is_for_the_replica_and_nothing_else_is() {
        const TO: Incarnation = 2;
        let settings =
            |changes: &str| IndexCommand::Settings { index: 1, changes: changes.into(), replace: false };
        let changes = r#"{"hitsPerPage":7,"searchableAttributes":["a"]}"#;
        let of_virtual = settings(changes).forwarded(TO, ReplicaKind::Virtual);
        let expected =
            IndexCommand::Settings { index: TO, changes: r#"{"hitsPerPage":7}"#.into(), replace: false };
        assert_eq!(of_virtual, Some(expected));
        let kind = ResourceKind::Synonyms;
        let mut forwarded = [
            settings(changes),
            IndexCommand::SaveResources { index: 1, kind, resources: vec![], replace: true },
            IndexCommand::DeleteResource { index: 1, kind, object_id: "s".into() },
        ];
        for command in &mut forwarded {
            let given = command.forwarded(TO, ReplicaKind::Standard).expect("it is forwarded");
            assert_eq!(command.forwarded_index().copied(), Some(1));
            *command.forwarded_index().unwrap() = TO;
            assert_eq!(given, *command);
        }
        let own = IndexCommand::Records { index: 1, ops: vec![] };
        assert_eq!(own.forwarded(TO, ReplicaKind::Standard), None);
        let twice = IndexCommand::Forward { command: Box::new(own) };
        assert_eq!(twice.forwarded(TO, ReplicaKind::Standard), None);
    }
}
