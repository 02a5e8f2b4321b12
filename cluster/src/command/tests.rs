//! Do the bytes of log entries stay what they are, and do chunks become the command that was cut?

use super::entry_chunks::cut;
use super::*;
use quorate_model::dictionary::{DictionaryEntry, DictionaryWords, StandardChange};
use quorate_model::event::{CountedSearch, Event, EventKind, EventObject, EventTarget, Money, QueryId};
use quorate_model::level;
use quorate_model::{
    AllowedSource, DictionaryKind, DictionaryOp, GroupId, IndexName, NodeId, RecommendModel, RecordOp,
    ResourceKind, UserId, limits,
};
use quorate_node::ModelKey;
use quorate_node::ops::{Follower, RawResource, ReplicaKind};
use std::collections::BTreeSet;

fn put(id: &str, bytes: usize) -> RecordOp {
    RecordOp::Put { object_id: id.into(), record: vec![b'x'; bytes] }
}
fn add_entry(words: DictionaryWords) -> DictionaryOp {
    DictionaryOp::Add(DictionaryEntry { object_id: "i".into(), language: "de", words })
}
fn joined(chunks: Vec<IndexCommand>) -> IndexCommand {
    match join(chunks.into_iter().map(Command::Index).collect()) {
        Some(Command::Index(command)) => command,
        other => panic!("{other:?}"),
    }
}
/// A search with something in every member.
fn search() -> CountedSearch {
    CountedSearch {
        index: IndexName::new("a").expect("a name"),
        user: "u".into(),
        time_ms: 5,
        query: "q".into(),
        hits: 7,
        shown: ["o"].iter().collect(),
        tags: ["t"].iter().collect(),
        filters: ["f:1"].iter().collect(),
        country: Some("DE".into()),
        query_ids: vec![QueryId(9)],
        stands: true,
    }
}
/// An event of every member, and one with as few as there can be.
fn events() -> Vec<Event> {
    let amount = |text| Money::parse(text);
    let object = EventObject {
        object_id: "o".into(),
        position: Some(3),
        query_id: Some(QueryId(2)),
        price: amount("9.5"),
        quantity: Some(4),
        discount: amount("-0.25"),
    };
    let full = Event {
        kind: EventKind::Purchase,
        name: "n".into(),
        index: IndexName::new("i").expect("a name"),
        user: "u".into(),
        authenticated: Some("a".into()),
        time_ms: Some(5),
        query_id: Some(QueryId(1)),
        target: EventTarget::Objects(vec![object]),
        value: amount("7"),
        currency: Some("EUR".into()),
    };
    let short = Event {
        kind: EventKind::View,
        authenticated: None,
        time_ms: None,
        query_id: None,
        target: EventTarget::Filters(vec!["f:1".into()]),
        value: None,
        currency: None,
        ..full.clone()
    };
    vec![full, short]
}
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn the_bytes_of_every_command_stay_what_they_are() {
    let name = || IndexName::new("a").expect("valid");
    let meta = Command::Meta;
    let index = Command::Index;
    let joining =
        Joining { name: "n".into(), cluster: "c".into(), peer: "p".into(), http: "h".into(), level: 1 };
    let user = || UserId::new("u").expect("valid");
    let source = |description: Option<&str>| {
        AllowedSource::new("10.0.0.0/8", description.map(str::to_owned)).expect("valid")
    };
    // first the number of the kind of command, then that of the command, then its fields
    let cases = [
        (
            meta(MetaCommand::SetUp { app_id: "A".into(), admin_key: [7; 32], search_key: vec![1] }),
            format!("00 00 0141 {} 0101", "07".repeat(32)),
        ),
        (meta(MetaCommand::StartNode), "00 01".into()),
        (meta(MetaCommand::SetAdminKey { admin_key: [9; 32] }), format!("00 02 {}", "09".repeat(32))),
        (meta(MetaCommand::CreateIndex { name: name(), group: GroupId(3) }), "00 03 0161 03".into()),
        (meta(MetaCommand::DeleteIndex { name: name(), incarnation: 4096 }), "00 04 0161 fb0010".into()),
        (
            meta(MetaCommand::MoveIndex {
                from: name(),
                to: name(),
                replicas: vec![Moved { name: name(), incarnation: 7 }],
            }),
            "00 05 0161 0161 01 0161 07".into(),
        ),
        (meta(MetaCommand::BeginCopy { group: GroupId(2) }), "00 06 02".into()),
        (
            meta(MetaCommand::PointIndex { name: name(), incarnation: 5, group: GroupId(2) }),
            "00 07 0161 05 02".into(),
        ),
        (meta(MetaCommand::AbandonCopy { incarnation: 5 }), "00 08 05".into()),
        (meta(MetaCommand::Dropped { incarnation: 5 }), "00 09 05".into()),
        (
            meta(MetaCommand::SetReplicas {
                name: name(),
                incarnation: 5,
                replicas: vec![
                    WantedReplica { name: name(), kind: ReplicaKind::Standard, prepared: None },
                    WantedReplica { name: name(), kind: ReplicaKind::Virtual, prepared: Some(9) },
                ],
            }),
            "00 0a 0161 05 02 0161 00 00 0161 01 0109".into(),
        ),
        (
            meta(MetaCommand::Announced { subject: Subject::Replicas(4096), revision: 7 }),
            "00 0b fb0010 07".into(),
        ),
        (meta(MetaCommand::PutKey { key: vec![1] }), "00 0c 0101".into()),
        (meta(MetaCommand::DeleteKey { value: "k".into() }), "00 0d 016b".into()),
        (
            index(IndexCommand::Records {
                index: 5,
                ops: vec![
                    RecordOp::Put { object_id: "i".into(), record: vec![2] },
                    RecordOp::Partial { object_id: "i".into(), changes: vec![3], create: true },
                    RecordOp::Delete { object_id: "i".into() },
                    RecordOp::DeleteBy { params: vec![4] },
                    RecordOp::Clear,
                ],
            }),
            "01 00 05 05  00 0169 0102  01 0169 0103 01  02 0169  03 0104  04".into(),
        ),
        (
            index(IndexCommand::Records {
                index: 5,
                ops: vec![RecordOp::PartialUpTo {
                    object_id: "i".into(),
                    changes: vec![3],
                    create: true,
                    bytes_max: 9,
                }],
            }),
            "01 00 05 01  05 0169 0103 01 09".into(),
        ),
        (
            index(IndexCommand::Settings { index: 5, changes: vec![1], replace: true }),
            "01 01 05 0101 01".into(),
        ),
        (index(IndexCommand::Copy { from: 5, to: 6 }), "01 02 05 06".into()),
        (index(IndexCommand::Drop { index: 5 }), "01 03 05".into()),
        (
            index(IndexCommand::Sequence { commands: vec![IndexCommand::Drop { index: 5 }] }),
            "01 04 01 03 05".into(),
        ),
        (
            index(IndexCommand::SaveResources {
                index: 5,
                kind: ResourceKind::Rules,
                resources: vec![RawResource { object_id: "i".into(), document: vec![2] }],
                replace: true,
            }),
            "01 05 05 01 01 0169 0102 01".into(),
        ),
        (
            index(IndexCommand::DeleteResource {
                index: 5,
                kind: ResourceKind::Synonyms,
                object_id: "i".into(),
            }),
            "01 06 05 00 0169".into(),
        ),
        (
            index(IndexCommand::SaveResources {
                index: 5,
                kind: ResourceKind::Recommend(RecommendModel::TrendingFacets),
                resources: vec![],
                replace: true,
            }),
            "01 05 05 02 03 00 01".into(),
        ),
        (
            index(IndexCommand::DeleteResource {
                index: 5,
                kind: ResourceKind::Recommend(RecommendModel::LookingSimilar),
                object_id: "i".into(),
            }),
            "01 06 05 02 04 0169".into(),
        ),
        (
            index(IndexCommand::Replicas {
                primary: 5,
                revision: 7,
                followers: vec![
                    Follower { incarnation: 6, kind: ReplicaKind::Standard },
                    Follower { incarnation: 8, kind: ReplicaKind::Virtual },
                ],
            }),
            "01 07 05 07 02  06 00  08 01".into(),
        ),
        (
            index(IndexCommand::Forward { command: Box::new(IndexCommand::Drop { index: 5 }) }),
            "01 08 03 05".into(),
        ),
        (
            index(IndexCommand::ForUser {
                user: user(),
                epoch: 3,
                command: Box::new(IndexCommand::Drop { index: 5 }),
            }),
            "01 09 0175 03 03 05".into(),
        ),
        (
            meta(MetaCommand::TakePlace { node: NodeId(9), joining: joining.clone() }),
            "00 1c 09 016e 0163 0170 0168 01".into(),
        ),
        (meta(MetaCommand::AddNode { node: NodeId(9), joining }), "00 0e 09 016e 0163 0170 0168 01".into()),
        (
            meta(MetaCommand::SetNodeState { node: NodeId(9), state: NodeState::Removed }),
            "00 0f 09 02".into(),
        ),
        (
            meta(MetaCommand::Place { group: GroupId(5), nodes: vec![NodeId(9), NodeId(1)] }),
            "00 10 05 02 09 01".into(),
        ),
        (meta(MetaCommand::EnableUsers), "00 11".into()),
        (meta(MetaCommand::AssignUsers { cluster: 1, users: vec![user()] }), "00 12 01 01 0175".into()),
        (meta(MetaCommand::MoveUser { user: user(), to: 2 }), "00 13 0175 02".into()),
        (meta(MetaCommand::RemoveUser { user: user() }), "00 14 0175".into()),
        (
            meta(MetaCommand::StepUser { user: user(), epoch: 3, step: UserStep::GiveUp }),
            "00 15 0175 03 03".into(),
        ),
        (
            meta(MetaCommand::StepUser { user: user(), epoch: 3, step: UserStep::Thaw }),
            "00 15 0175 03 06".into(),
        ),
        (meta(MetaCommand::MakePartitions { name: name() }), "00 16 0161".into()),
        (meta(MetaCommand::Reannounce { group: GroupId(5) }), "00 17 05".into()),
        (
            meta(MetaCommand::RotateAdminKey { admin_key: [9; 32], replaces: 5, overlap_ms: 7 }),
            format!("00 18 {} 05 07", "09".repeat(32)),
        ),
        (
            meta(MetaCommand::StepUserAfterLook {
                user: user(),
                epoch: 3,
                step: UserStep::Flip,
                looked: Looked { changed: 7, through: 8 },
            }),
            "00 19 0175 03 01 07 08".into(),
        ),
        (
            meta(MetaCommand::PointCopy {
                name: name(),
                sources: vec![Source { name: name(), incarnation: 5 }],
                copies: vec![Copied { name: name(), incarnation: 6, group: GroupId(2) }],
            }),
            "00 1a 0161  01 0161 05  01 0161 06 02".into(),
        ),
        (meta(MetaCommand::BeginCopies { groups: vec![GroupId(2), GroupId(3)] }), "00 1b 02 02 03".into()),
        (meta(MetaCommand::Compare), "00 1d".into()),
        (meta(MetaCommand::CreateKey { key: vec![1] }), "00 23 0101".into()),
        (meta(MetaCommand::UpdateKey { key: vec![1] }), "00 24 0101".into()),
        (meta(MetaCommand::RestoreKey { value: "k".into() }), "00 25 016b".into()),
        (meta(MetaCommand::RemoveEndedKeys), "00 26".into()),
        (meta(MetaCommand::PutSuggestions { config: vec![1], is_new: true }), "00 27 0101 01".into()),
        (meta(MetaCommand::DeleteSuggestions { index: name() }), "00 28 0161".into()),
        (meta(MetaCommand::AskForSuggestions { index: name() }), "00 29 0161".into()),
        (meta(MetaCommand::BeginSuggestions { index: name(), node: NodeId(9) }), "00 2a 0161 09".into()),
        (
            meta(MetaCommand::EndSuggestions {
                index: name(),
                begun_at: 7,
                is_success: true,
                log: vec![2],
            }),
            "00 2b 0161 07 01 0102".into(),
        ),
        (meta(MetaCommand::BeginReplica { name: name(), group: GroupId(2) }), "00 2c 0161 02".into()),
        (meta(MetaCommand::CopyKeys { from: name(), to: name() }), "00 2e 0161 0161".into()),
        (
            meta(MetaCommand::DeleteKeyOf { value: "k".into(), index: name() }),
            "00 2d 016b 0161".into(),
        ),
        (index(IndexCommand::Compare), "01 0a".into()),
        (index(IndexCommand::Dictionaries { revision: 7 }), "01 0b 07".into()),
        (index(IndexCommand::Events { events: events() }), "01 0c 02 04 01 6e 01 69 01 75 01 0161 01 05 01 01 00 01 01 6f 01 03 01 02 01 be 01 01 04 01 31 02 01 0e 00 01 03 455552\
             00 01 6e 01 69 01 75 00 00 00 01 01 03 663a31 00 00".into()),
        (index(IndexCommand::ForgetUser { token: "ab".into() }), "01 0d 02 6162".into()),
        (
            index(IndexCommand::Searches { searches: vec![search()] }),
            "01 0e 01 0161 0175 05 0171 07 01 016f 01 0174 01 03663a31 01 024445 01 09 01".into(),
        ),
        (
            index(IndexCommand::InstallModel {
                key: ModelKey { index: name(), model: RecommendModel::BoughtTogether },
                seq: 7,
                length: 8,
                crc: 9,
            }),
            "01 0f 0161 01 07 08 09".into(),
        ),
        (index(IndexCommand::EventsSent { through: 7 }), "01 10 07".into()),
        (
            meta(MetaCommand::Announced { subject: Subject::Dictionaries(GroupId(5)), revision: 7 }),
            "00 0b 05 07".into(),
        ),
        (
            meta(MetaCommand::SetSources { sources: vec![source(Some("d")), source(None)] }),
            "00 1e 02 0a31302e302e302e302f38 01 0164  0a31302e302e302e302f38 00".into(),
        ),
        (meta(MetaCommand::AppendSource { source: source(None) }), "00 1f 0a31302e302e302e302f38 00".into()),
        (meta(MetaCommand::RemoveSource { source: "s".into() }), "00 20 0173".into()),
        (
            meta(MetaCommand::ChangeDictionary {
                kind: DictionaryKind::Compounds,
                clear: true,
                ops: vec![
                    add_entry(DictionaryWords::StopWord { word: "w".into(), is_enabled: true }),
                    add_entry(DictionaryWords::Plurals { words: vec!["w".into(), "v".into()] }),
                    add_entry(DictionaryWords::Compound { word: "w".into(), parts: vec!["v".into()] }),
                    DictionaryOp::Delete { object_id: "i".into() },
                ],
            }),
            "00 21 02 01 04  00 0169 026465 00 0177 01  00 0169 026465 01 02 0177 0176  \
             00 0169 026465 02 0177 01 0176  01 0169"
                .into(),
        ),
        (
            meta(MetaCommand::SetStandardEntries {
                changes: [
                    StandardChange::Kept,
                    StandardChange::Reset,
                    StandardChange::Set([("de".to_owned(), true)].into_iter().collect()),
                ],
            }),
            "00 22 00 01 02 01 026465 01".into(),
        ),
    ];
    let mut numbers: [BTreeSet<u8>; 2] = Default::default();
    for (command, expected) in cases {
        let (kind, number) = match &command {
            Command::Meta(command) => (0, command.row().number),
            Command::Index(command) => (1, command.row().number),
        };
        numbers[kind].insert(number);
        let entry = Entry { time_ms: 0x0102_0304_0506, chunk: 1, chunks: 2, command };
        let bytes = entry.encode();
        let level = match &entry.command {
            Command::Meta(MetaCommand::Reannounce { .. }) => "0300",
            Command::Meta(
                MetaCommand::CreateKey { .. }
                | MetaCommand::UpdateKey { .. }
                | MetaCommand::RestoreKey { .. }
                | MetaCommand::RemoveEndedKeys,
            ) => "0500",
            Command::Meta(
                MetaCommand::RotateAdminKey { .. }
                | MetaCommand::StepUserAfterLook { .. }
                | MetaCommand::PointCopy { .. }
                | MetaCommand::BeginCopies { .. }
                | MetaCommand::TakePlace { .. }
                | MetaCommand::StepUser { step: UserStep::Thaw, .. }
                | MetaCommand::Compare,
            )
            | Command::Index(IndexCommand::Compare) => "0400",
            Command::Meta(
                MetaCommand::SetSources { .. }
                | MetaCommand::AppendSource { .. }
                | MetaCommand::RemoveSource { .. },
            ) => "0500",
            Command::Meta(MetaCommand::ChangeDictionary { .. } | MetaCommand::SetStandardEntries { .. }) => {
                "0500"
            }
            Command::Index(IndexCommand::Dictionaries { .. })
            | Command::Meta(MetaCommand::Announced { subject: Subject::Dictionaries(_), .. }) => "0600",
            Command::Index(IndexCommand::Events { .. } | IndexCommand::ForgetUser { .. }) => "0700",
            Command::Index(
                IndexCommand::SaveResources { kind: ResourceKind::Recommend(_), .. }
                | IndexCommand::DeleteResource { kind: ResourceKind::Recommend(_), .. }
                | IndexCommand::Searches { .. },
            )
            | Command::Meta(
                MetaCommand::PutSuggestions { .. }
                | MetaCommand::DeleteSuggestions { .. }
                | MetaCommand::AskForSuggestions { .. }
                | MetaCommand::BeginSuggestions { .. }
                | MetaCommand::EndSuggestions { .. },
            ) => "0800",
            Command::Index(IndexCommand::InstallModel { .. }) => "0800",
            Command::Index(IndexCommand::EventsSent { .. }) => "0900",
            Command::Index(IndexCommand::Records { ops, .. })
                if matches!(ops[..], [RecordOp::PartialUpTo { .. }]) =>
            {
                "0b00"
            }
            Command::Meta(
                MetaCommand::BeginReplica { .. }
                | MetaCommand::DeleteKeyOf { .. }
                | MetaCommand::CopyKeys { .. },
            ) => "0b00",
            command if is_of_users(command) => "0200",
            _ => "0100",
        };
        assert_eq!(bytes[HEADER_BYTES..HEADER_BYTES + 2], [kind as u8, number], "the row of {entry:?}");
        let envelope = format!("01 {level} 0605040302010000 01000000 02000000");
        assert_eq!(hex(&bytes), format!("{envelope}{expected}").replace(' ', ""), "{entry:?}");
        assert_eq!(Entry::decode(&bytes, level::NEWEST).expect("own bytes"), entry);
    }
    for (kind, numbers) in (0..).zip(numbers) {
        let all: BTreeSet<u8> = (0..count_of(kind)).collect();
        assert_eq!(numbers, all, "every command of kind {kind} has its bytes above");
    }
}

/// How many commands of a kind there are: whoever reads one that there is not says it.
fn count_of(kind: u8) -> u8 {
    let mut bytes =
        Entry { time_ms: 1, chunk: 0, chunks: 1, command: Command::Meta(MetaCommand::StartNode) }.encode();
    bytes.truncate(HEADER_BYTES);
    bytes.extend([kind, 250]);
    let error = Entry::decode(&bytes, level::NEWEST).expect_err("no such command").to_string();
    let count = error.rsplit_once("< ").and_then(|(_, count)| count.parse().ok());
    count.unwrap_or_else(|| panic!("{error}"))
}

/// Whether it came with the mapping of users, which is level 2.
fn is_of_users(command: &Command) -> bool {
    matches!(
        command,
        Command::Meta(
            MetaCommand::EnableUsers
                | MetaCommand::AssignUsers { .. }
                | MetaCommand::MoveUser { .. }
                | MetaCommand::RemoveUser { .. }
                | MetaCommand::StepUser { .. }
                | MetaCommand::MakePartitions { .. }
        ) | Command::Index(IndexCommand::ForUser { .. })
    )
}

#[test]
fn a_node_reads_what_its_level_knows_whoever_wrote_it() {
    let entry = |command| Entry { time_ms: 1, chunk: 0, chunks: 1, command }.encode();
    let (old, new) =
        (entry(Command::Meta(MetaCommand::StartNode)), entry(Command::Meta(MetaCommand::EnableUsers)));
    assert!(Entry::decode(&old, 1).is_ok() && Entry::decode(&old, 2).is_ok());
    assert!(Entry::decode(&new, 2).is_ok());
    let refused = Entry::decode(&new, 1).expect_err("a level that this node does not know");
    assert!(matches!(refused, EntryError::Newer { level: 2, known: 1 }), "{refused}");
    let inner = IndexCommand::Forward { command: Box::new(IndexCommand::Drop { index: 1 }) };
    assert_eq!(Command::Index(IndexCommand::Sequence { commands: vec![inner] }).level(), 1);
}

#[test]
fn entries_that_cannot_be_read_say_why() {
    let good =
        Entry { time_ms: 1, chunk: 0, chunks: 1, command: Command::Meta(MetaCommand::StartNode) }.encode();
    let changed = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        bytes
    };
    let cases = [
        (good[..5].to_vec(), "log entry of 5 bytes is shorter"),
        (changed(0, 2), "format 2"),
        (changed(1, 200), "a command of level 200"),
        (good[..good.len() - 1].to_vec(), "cannot be decoded"),
        (changed(HEADER_BYTES, 77), "cannot be decoded"),
    ];
    for (bytes, expected) in cases {
        let message = Entry::decode(&bytes, level::NEWEST).expect_err("unreadable").to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_batch_is_cut_between_records_and_joined_again() {
    let mib = limits::ENTRY_BYTES;
    let cases: [(&[usize], usize); 6] = [
        (&[], 1),
        (&[10, 10, 10], 1),
        (&[mib], 1),
        (&[mib, mib], 2),
        (&[mib / 2, mib / 2, 10], 2),
        (&[10, 2 * mib, 10], 3),
    ];
    for (sizes, expected) in cases {
        let ops: Vec<_> = sizes.iter().enumerate().map(|(i, &bytes)| put(&i.to_string(), bytes)).collect();
        let whole = IndexCommand::Records { index: 7, ops };
        let chunks = entries(3, Command::Index(whole.clone()));
        assert_eq!(chunks.len(), expected, "{sizes:?}");
        let opened: Vec<_> =
            chunks.iter().map(|bytes| Entry::decode(bytes, level::NEWEST).expect("own bytes")).collect();
        for (i, entry) in opened.iter().enumerate() {
            assert_eq!((entry.chunk as usize, entry.chunks as usize, entry.time_ms), (i, expected, 3));
        }
        let commands = opened.into_iter().map(|entry| entry.command).collect();
        assert_eq!(join(commands), Some(Command::Index(whole)));
    }
}

#[test]
fn c20_many_rules_are_cut_and_replace_the_earlier_ones_once() {
    let document = |i: usize| RawResource {
        object_id: i.to_string(),
        document: vec![b'x'; limits::RULE_CONSEQUENCE_BYTES_MAX],
    };
    let resources = |count: usize| (0..count).map(document).collect::<Vec<_>>();
    for (count, chunks, replace) in [(0, 1, true), (10, 1, false), (25, 3, true), (25, 3, false)] {
        let whole = IndexCommand::SaveResources {
            index: 7,
            kind: ResourceKind::Rules,
            resources: resources(count),
            replace,
        };
        let cut = cut(whole.clone());
        assert_eq!(cut.len(), chunks, "{count}");
        for (at, chunk) in cut.iter().enumerate() {
            let IndexCommand::SaveResources { replace: drops, .. } = chunk else { panic!("{chunk:?}") };
            assert_eq!(*drops, replace && at == 0);
        }
        assert_eq!(joined(cut), whole);
        let forwarded = IndexCommand::Forward { command: Box::new(whole) };
        assert_eq!(joined(entry_chunks::cut(forwarded.clone())), forwarded);
    }
}

#[test]
fn a_long_sequence_keeps_its_order() {
    let records = IndexCommand::Records {
        index: 7,
        ops: (0..3).map(|i| put(&i.to_string(), limits::ENTRY_BYTES / 2)).collect(),
    };
    let reset = IndexCommand::Settings { index: 7, changes: b"{}".to_vec(), replace: true };
    let whole = IndexCommand::Sequence { commands: vec![reset, records] };
    let chunks = cut(whole.clone());
    assert_eq!(chunks.len(), 4);
    assert_eq!(joined(chunks), whole);
}

#[test]
fn a_command_needs_what_the_highest_of_its_parts_needs() {
    let of_user = IndexCommand::Records {
        index: 1,
        ops: vec![
            RecordOp::Clear,
            RecordOp::DeleteBy { params: br#"{"filters":"a:b","__userID":"u"}"#.to_vec() },
        ],
    };
    let plain =
        IndexCommand::Settings { index: 1, changes: br#"{"hitsPerPage":3}"#.to_vec(), replace: false };
    let level = |command: IndexCommand| Command::Index(command).level();
    assert_eq!((level(plain.clone()), level(of_user.clone())), (1, 2));
    let commands = vec![plain, IndexCommand::Forward { command: Box::new(of_user) }];
    let sequence = Command::Index(IndexCommand::Sequence { commands });
    assert_eq!(sequence.needs(), Needs::level(2));
    // and every entry of it says so
    for entry in entries(7, sequence) {
        assert!(matches!(Entry::decode(&entry, 1), Err(EntryError::Newer { level: 2, known: 1 })));
    }
}
