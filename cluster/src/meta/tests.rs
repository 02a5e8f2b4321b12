//! Scripts on the meta state: one command a line, then what it left. After each the rows give the same state back.

use super::*;
use crate::command::Moved;
use crate::command::WantedReplica;
use crate::command::{Joining, Subject};
use quorate_model::{AllowedSource, TaskId, limits};
use quorate_node::ops::{Incarnation, ReplicaKind};
use std::collections::BTreeMap;

#[derive(Default)]
struct Machine {
    state: MetaState,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    log_index: u64,
}

fn name(text: &str) -> IndexName {
    IndexName::new(text).expect("valid name")
}
/// The incarnation made by entry `log_index` of the meta group.
fn incarnation(log_index: &str) -> Incarnation {
    TaskId::new(GroupId::META, log_index.parse().expect("a log index")).0
}
/// `name`, or `name|number` for the part that a cluster has.
fn part_or_name(text: &str) -> IndexName {
    match text.split_once('|') {
        Some((text, number)) => name(text).partition_in(number.parse().expect("a number")).expect("a part"),
        None => name(text),
    }
}
fn group(text: &str) -> GroupId {
    GroupId(text.parse().expect("a group"))
}
/// `name`, `~name` for a virtual replica, `name:life` with a reserved incarnation.
fn wanted(text: &str) -> WantedReplica {
    let (text, prepared) = match text.split_once(':') {
        Some((text, life)) => (text, Some(incarnation(life))),
        None => (text, None),
    };
    let bare = text.trim_start_matches('~');
    let kind = if bare == text { ReplicaKind::Standard } else { ReplicaKind::Virtual };
    WantedReplica { name: part_or_name(bare), kind, prepared }
}
/// `network`, or `network=description`.
fn source(text: &str) -> AllowedSource {
    let (network, description) = match text.split_once('=') {
        Some((network, description)) => (network, Some(description.to_owned())),
        None => (text, None),
    };
    AllowedSource::new(network, description).expect("a network")
}
fn key_document(value: &str) -> Vec<u8> {
    format!(r#"{{"value":"{value}","createdAt":1,"acl":["search"]}}"#).into_bytes()
}

impl Machine {
    fn step(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let command = match words[..] {
            ["set-up", app_id, admin, key] => MetaCommand::SetUp {
                app_id: app_id.into(),
                admin_key: [admin.parse().expect("a byte"); 32],
                search_key: key_document(key),
            },
            ["admin", admin] => MetaCommand::SetAdminKey { admin_key: [admin.parse().expect("a byte"); 32] },
            ["rotate", admin, replaces, overlap_s] => MetaCommand::RotateAdminKey {
                admin_key: [admin.parse().expect("a byte"); 32],
                replaces: replaces.parse().expect("a revision"),
                overlap_ms: overlap_s.parse::<u64>().expect("seconds") * 1_000,
            },
            ["start"] => MetaCommand::StartNode,
            ["create", index, to] => MetaCommand::CreateIndex { name: name(index), group: group(to) },
            ["delete", index, life] => {
                MetaCommand::DeleteIndex { name: name(index), incarnation: incarnation(life) }
            }
            ["move", from, to, ref ready @ ..] => {
                let ready = ready
                    .chunks(2)
                    .map(|ready| Moved { name: part_or_name(ready[0]), incarnation: incarnation(ready[1]) });
                MetaCommand::MoveIndex { from: name(from), to: name(to), replicas: ready.collect() }
            }
            ["link", index, life, ref replicas @ ..] => MetaCommand::SetReplicas {
                name: name(index),
                incarnation: incarnation(life),
                replicas: replicas.iter().map(|text| wanted(text)).collect(),
            },
            ["announced", life, revision] => MetaCommand::Announced {
                subject: Subject::Replicas(incarnation(life)),
                revision: revision.parse().expect("a log index"),
            },
            ["begin", to] => MetaCommand::BeginCopy { group: group(to) },
            ["begin", to, index] => MetaCommand::BeginReplica { name: name(index), group: group(to) },
            ["point", index, life, to] => MetaCommand::PointIndex {
                name: name(index),
                incarnation: incarnation(life),
                group: group(to),
            },
            ["abandon", life] => MetaCommand::AbandonCopy { incarnation: incarnation(life) },
            ["dropped", life] => MetaCommand::Dropped { incarnation: incarnation(life) },
            ["join", node, cluster, level] => {
                let (node, level) =
                    (NodeId(node.parse().expect("a number")), level.parse().expect("a level"));
                let (peer, http) = (format!("{}:1", node.0), format!("{}:2", node.0));
                let joining =
                    Joining { name: node.0.to_string(), cluster: cluster.into(), peer, http, level };
                MetaCommand::AddNode { node, joining }
            }
            ["users"] => MetaCommand::EnableUsers,
            ["reannounce", of] => MetaCommand::Reannounce { group: group(of) },
            ["parts", index] => MetaCommand::MakePartitions { name: name(index) },
            ["key", value] => MetaCommand::PutKey { key: key_document(value) },
            ["key-damaged"] => MetaCommand::PutKey { key: b"{".to_vec() },
            ["no-key", value] => MetaCommand::DeleteKey { value: value.into() },
            ["sources", ref sources @ ..] => {
                MetaCommand::SetSources { sources: sources.iter().map(|it| source(it)).collect() }
            }
            ["source", text] => MetaCommand::AppendSource { source: source(text) },
            ["no-source", text] => MetaCommand::RemoveSource { source: text.into() },
            _ => panic!("unknown line {line:?}"),
        };
        self.log_index += 1;
        let at = At { log_index: self.log_index, time_ms: self.log_index * 1_000 };
        for RowChange { key, value } in self.state.apply(at, command) {
            match value {
                Some(value) => drop(self.rows.insert(key, value)),
                None => drop(self.rows.remove(&key)),
            }
        }
        let restored = MetaState::from_rows(self.rows.clone()).expect("own rows");
        assert_eq!(restored, self.state, "after {line:?}");
    }

    /// `name=life@group/created` of every index, then keys, `reserved` and `tombstoned` lives.
    fn show(&self) -> String {
        let life = |incarnation: &Incarnation| {
            let life = TaskId(*incarnation).log_index();
            match incarnation & 0xfff {
                0 => life.to_string(),
                ordinal => format!("{life}+{ordinal}"),
            }
        };
        let shown = |name: &IndexName| match name.partition() {
            (name, Some(cluster)) => format!("{name}|{cluster}"),
            (name, None) => name.to_owned(),
        };
        let mark = |link: &Link| match link.kind {
            ReplicaKind::Standard => shown(&link.name),
            ReplicaKind::Virtual => format!("~{}", shown(&link.name)),
        };
        let mut lines: Vec<String> = self
            .state
            .catalogue
            .iter()
            .map(|(name, row)| {
                let links = match &row.role {
                    Role::Alone => String::new(),
                    Role::Primary(replicas) => format!("[{}]", replicas.iter().map(mark).collect::<String>()),
                    Role::Replica(primary) => format!("<{}", mark(primary)),
                };
                let (life, created) = (life(&row.incarnation), row.created_ms / 1_000);
                format!("{}={life}@{}/{created}{links}", shown(name), row.group)
            })
            .collect();
        lines.sort();
        if let Some(installation) = &self.state.installation {
            lines.insert(0, format!("{}:{}", installation.app_id, installation.admin_key[31]));
        }
        lines.extend(self.state.keys.living().keys().map(|value| format!("key:{value}")));
        lines.extend(self.state.reserved.iter().map(|(it, Reservation { group, replica })| {
            let of = replica.iter().map(|name| format!("={name}")).collect::<String>();
            format!("reserved:{}@{group}{of}", life(it))
        }));
        lines.extend(
            self.state.tombstoned.iter().map(|(it, group)| format!("tombstoned:{}@{group}", life(it))),
        );
        lines.extend(
            self.state
                .unannounced
                .iter()
                .map(|(it, revision)| format!("tell:{}/{revision}", life(&u64::from(*it)))),
        );
        lines.extend(self.state.sources.list().iter().map(|it| match it.description() {
            Some(description) => format!("from:{}={description}", it.source()),
            None => format!("from:{}", it.source()),
        }));
        lines.join(" ")
    }
}

fn check(script: &str, expected: &str) {
    let mut machine = Machine::default();
    for line in script.split(',') {
        machine.step(line.trim());
    }
    assert_eq!(machine.show(), expected, "{script}");
}

#[test]
fn names_stand_for_incarnations() {
    for (script, expected) in [
        ("create a 3", "a=1@3/1"),
        ("create a 3, create a 4", "a=1@3/1"),
        ("create a 3, start, create b 4", "a=1@3/1 b=3@4/3"),
        ("create a 3, delete a 1", "tombstoned:1@3"),
        ("create a 3, delete a 9", "a=1@3/1"),
        ("delete a 1", ""),
        ("create a 3, delete a 1, create a 3", "a=3@3/3 tombstoned:1@3"),
        ("create a 3, delete a 1, create a 3, delete a 1", "a=3@3/3 tombstoned:1@3"),
        ("create a 3, delete a 1, dropped 1", ""),
        ("create a 3, dropped 1", "a=1@3/1"),
    ] {
        check(script, expected);
    }
}

#[test]
fn the_list_of_sources_keeps_its_order() {
    for (script, expected) in [
        ("sources ::1/128 10.0.0.0/8=d", "from:::1/128 from:10.0.0.0/8=d"),
        ("sources 10.0.0.0/8, sources 11.0.0.0/8", "from:11.0.0.0/8"),
        ("sources 10.0.0.0/8, sources", ""),
        ("source 10.0.0.0/8, source 9.0.0.0/8", "from:10.0.0.0/8 from:9.0.0.0/8"),
        ("source 10.0.0.0/8, source 9.0.0.0/8, source 10.0.0.0/8=d", "from:10.0.0.0/8=d from:9.0.0.0/8"),
        ("sources 10.0.0.0/8 9.0.0.0/8, no-source 10.0.0.0/8", "from:9.0.0.0/8"),
        ("sources 10.0.0.0/8, no-source 9.0.0.0/8", "from:10.0.0.0/8"),
        ("sources 10.0.0.0/8, no-source 10.0.0.0/8", ""),
    ] {
        check(script, expected);
    }
}

#[test]
fn a_full_list_takes_no_further_source() {
    let mut machine = Machine::default();
    let all = (0..limits::SOURCES_MAX).map(|at| format!("10.0.{}.{}", at / 256, at % 256));
    machine.step(&format!("sources {}", all.collect::<Vec<_>>().join(" ")));
    machine.step("source 11.0.0.0/8");
    assert_eq!(machine.state.sources.list().len(), limits::SOURCES_MAX);
    machine.step("source 10.0.0.0/32=described");
    assert_eq!(machine.state.sources.list()[0].description(), Some("described"));
}

#[test]
fn a_move_renames_over_the_destination() {
    for (script, expected) in [
        ("create a 3, move a b", "b=1@3/1"),
        ("create a 3, create b 4, move a b", "b=1@3/1 tombstoned:2@4"),
        ("create b 4, move a b", "b=1@4/1"),
        ("create a 3, move a a", "a=1@3/1"),
        ("create a 3, move a b, create a 3", "a=3@3/3 b=1@3/1"),
    ] {
        check(script, expected);
    }
}

#[test]
fn a_copy_is_seen_when_it_is_complete() {
    for (script, expected) in [
        ("create a 3, begin 3", "a=1@3/1 reserved:2@3"),
        ("create a 3, begin 3, point b 2 3", "a=1@3/1 b=2@3/3"),
        ("create a 3, create b 4, begin 3, point b 3 3", "a=1@3/1 b=3@3/2 tombstoned:2@4"),
        ("create a 3, begin 3, abandon 2", "a=1@3/1 tombstoned:2@3"),
        ("create a 3, begin 3 a", "a=1@3/1 reserved:2@3=a"),
        ("create a 3, begin 3 a, abandon 2", "a=1@3/1 tombstoned:2@3"),
        // what the name stands for now may be configured otherwise
        ("create a 3, begin 3 a, delete a 1", "tombstoned:1@3 tombstoned:2@3"),
        ("begin 3 a, create a 3", "a=2@3/2 tombstoned:1@3"),
        ("create a 3, begin 3 a, begin 4, point a 3 4", "a=3@4/1 tombstoned:1@3 tombstoned:2@3"),
        ("create a 3, create b 4, begin 3 a, move b a", "a=2@4/2 tombstoned:1@3 tombstoned:3@3"),
        ("create a 3, create b 4, begin 3 a, move a b", "b=1@3/1 tombstoned:2@4 tombstoned:3@3"),
        ("create a 3, create b 4, begin 3 a, delete b 2", "a=1@3/1 reserved:3@3=a tombstoned:2@4"),
        ("create a 3, create b 3, begin 3 b, link a 1 b:3", "a=1@3/1[b] b=3@3/2<a tombstoned:2@3 tell:1/4"),
        ("create a 3, link a 1 ~r, begin 3 r, link a 1 r", "a=1@3/1[r] r=2@3/2<a tombstoned:3@3 tell:1/4"),
        ("create a 3, begin 3, abandon 2, point b 2 3", "a=1@3/1 tombstoned:2@3"),
        ("create a 3, begin 3, point b 2 3, abandon 2", "a=1@3/1 b=2@3/3"),
        ("begin 3, begin 3, point b 2 3, abandon 1, dropped 1", "b=2@3/3"),
    ] {
        check(script, expected);
    }
}

#[test]
fn keys_and_the_first_start() {
    for (script, expected) in [
        ("set-up APP 7 s", "APP:7 key:s"),
        ("set-up APP 7 s, set-up OTHER 8 t", "APP:7 key:s"),
        ("admin 7", ""),
        ("set-up APP 7 s, admin 9", "APP:9 key:s"),
        ("set-up APP 7 s, key k, key k, no-key s", "APP:7 key:k"),
        ("no-key s, key-damaged", ""),
    ] {
        check(script, expected);
    }
}

#[test]
fn rows_that_are_not_ours_are_refused() {
    for key in [&b""[..], b"zunknown", b"rshort", b"iname"] {
        let error = MetaState::from_rows([(key.to_vec(), b"x".to_vec())]).expect_err("not a row");
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }
}

#[test]
fn links_stand_in_both_rows_and_only_between_two() {
    for (script, expected) in [
        ("create a 3, link a 1 r ~v", "a=1@3/1[r~v] r=2@3/2<a v=2+1@3/2<~a tell:1/2"),
        ("create a 3, link a 1 r, announced 1 2", "a=1@3/1[r] r=2@3/2<a"),
        ("create a 3, link a 1 r, announced 1 1", "a=1@3/1[r] r=2@3/2<a tell:1/2"),
        ("create a 3, link a 1 r, link a 1", "a=1@3/1 r=2@3/2 tell:1/3"),
        ("create a 3, link a 1 r, link a 1 ~r s", "a=1@3/1[~rs] r=2@3/2<~a s=3+1@3/3<a tell:1/3"),
        ("create a 3, link a 9 r", "a=1@3/1"),
        ("create a 3, link a 1 a", "a=1@3/1"),
        // a name that is taken needs a place in the group of the primary
        ("create a 3, create r 4, link a 1 r", "a=1@3/1 r=2@4/2"),
        ("create a 3, create r 4, link a 1 r:9", "a=1@3/1 r=2@4/2"),
        ("create a 3, create r 4, begin 3, link a 1 r:3", "a=1@3/1[r] r=3@3/2<a tombstoned:2@4 tell:1/4"),
        // no chains, one primary
        (
            "create a 3, link a 1 r, create b 3, begin 3, link b 3 r:4",
            "a=1@3/1[r] b=3@3/3 r=2@3/2<a reserved:4@3 tell:1/2",
        ),
        (
            "create a 3, link a 1 r, create b 3, begin 3, link b 3 a:4",
            "a=1@3/1[r] b=3@3/3 r=2@3/2<a reserved:4@3 tell:1/2",
        ),
        ("create a 3, link a 1 r, link r 2 s", "a=1@3/1[r] r=2@3/2<a tell:1/2"),
    ] {
        check(script, expected);
    }
}

#[test]
fn links_outlive_moves_and_end_with_the_primary() {
    for (script, expected) in [
        ("create a 3, link a 1 r, delete r 2", "a=1@3/1[r] r=2@3/2<a tell:1/2"),
        ("create a 3, link a 1 r ~v, delete a 1", "r=2@3/2 v=2+1@3/2 tombstoned:1@3"),
        ("create a 3, link a 1 r, move a b", "b=1@3/1[r] r=2@3/2<b tell:1/2"),
        ("create a 3, link a 1 r, move r b", "a=1@3/1[r] r=2@3/2<a tell:1/2"),
        ("create a 3, link a 1 r, create t 5, move t r", "a=1@3/1[r] r=2@3/2<a t=3@5/3 tell:1/2"),
        ("create a 3, link a 1 r, create t 5, move t a", "a=1@3/1[r] r=2@3/2<a t=3@5/3 tell:1/2"),
        (
            "create a 3, link a 1 r, create t 5, begin 5, move t a r 4",
            "a=3@5/3[r] r=4@5/2<a tombstoned:1@3 tombstoned:2@3 tell:3/5",
        ),
        (
            "create a 3, link a 1 r, create t 5, link t 3 s, begin 5, move t a r 5",
            "a=3@5/3[sr] r=5@5/2<a s=4@5/4<a tombstoned:1@3 tombstoned:2@3 tell:3/6",
        ),
        ("create a 3, link a 1 r, begin 3, point r 3 3", "a=1@3/1[r] r=2@3/2<a reserved:3@3 tell:1/2"),
        ("create a 3, link a 1 r, begin 3, point a 3 3", "a=1@3/1[r] r=2@3/2<a reserved:3@3 tell:1/2"),
    ] {
        check(script, expected);
    }
}

#[test]
fn a_move_joins_no_more_replicas_than_an_index_may_have() {
    let names =
        |from: usize, count: usize| -> String { (from..from + count).map(|n| format!(" ~v{n}")).collect() };
    for (own, brought, is_moved) in [(1, 19, true), (1, 20, false), (20, 0, true)] {
        let mut machine = Machine::default();
        machine.step("create a 3");
        machine.step(&format!("link a 1{}", names(0, own)));
        machine.step("create t 5");
        machine.step(&format!("link t 3{}", names(50, brought)));
        for _ in 0..own {
            machine.step("begin 5");
        }
        let ready = (0..own)
            .map(|n| Moved { name: name(&format!("v{n}")), incarnation: incarnation(&(5 + n).to_string()) });
        let before = machine.state.clone();
        let command = MetaCommand::MoveIndex { from: name("t"), to: name("a"), replicas: ready.collect() };
        let changes = machine.state.apply(At { log_index: 90, time_ms: 0 }, command);
        assert_eq!(
            (machine.state != before, !changes.is_empty()),
            (is_moved, is_moved),
            "{own} and {brought}"
        );
        let replicas = machine.state.catalogue.get(&name("a")).map_or(0, |row| row.replicas().len());
        assert_eq!(replicas, if is_moved { own + brought } else { own });
    }
}

#[test]
fn what_is_made_ready_in_another_group_follows_nobody() {
    // what an incarnation is in one group must not be dropped for what it is in another one
    for (level, lies_in, follows) in [(11, 3, true), (11, 5, false), (10, 5, true)] {
        let mut machine = Machine::default();
        for line in [&format!("join 1 main {level}"), "create a 3", "create r 5", &format!("begin {lies_in}")]
        {
            machine.step(line);
        }
        let before = machine.state.clone();
        machine.step("link a 2 r:4");
        assert_eq!(machine.state != before, follows, "linked at {level}, made ready in {lies_in}");

        let mut machine = Machine::default();
        for line in [
            &format!("join 1 main {level}"),
            "create to 3",
            "link to 2 r",
            "create from 3",
            &format!("begin {lies_in}"),
        ] {
            machine.step(line);
        }
        let before = machine.state.clone();
        machine.step("move from to r 5");
        assert_eq!(machine.state != before, follows, "moved at {level}, made ready in {lies_in}");
    }
}

/// Two clusters of the numbers 0 and 1, whose groups begin at 1 and at 17.
const CLUSTERS: &str = "join 1 main 3, join 2 west 3, users, ";

#[test]
fn parts_are_linked_like_their_index() {
    for (script, expected) in [
        (
            "create a 3, link a 4 r ~v",
            "a=4@3/4[r~v] a|1=4+2@25/4[r|1~v|1] r=5@3/5<a r|1=5+2@25/5<a|1 v=5+1@3/5<~a v|1=5+3@25/5<~a|1 tell:4/5 tell:4+2/5",
        ),
        ("create a 3, link a 4 r, link a 4", "a=4@3/4 a|1=4+2@25/4 r=5@3/5 r|1=5+1@25/5 tell:4/6 tell:4+2/6"),
        (
            "create a 3, link a 4 r, link a 4 ~r s",
            "a=4@3/4[~rs] a|1=4+2@25/4[~r|1s|1] r=5@3/5<~a r|1=5+1@25/5<~a|1 s=6+1@3/6<a s|1=6+3@25/6<a|1 tell:4/6 tell:4+2/6",
        ),
        ("create a 3, link a 4 r, delete a 4", "r=5@3/5 r|1=5+1@25/5 tombstoned:4@3 tombstoned:4+2@25"),
        // a group that was made anew
        (
            "create a 3, link a 4 r, announced 4 5, reannounce 25",
            "a=4@3/4[r] a|1=4+2@25/4[r|1] r=5@3/5<a r|1=5+1@25/5<a|1 tell:4+2/7",
        ),
        (
            "create a 3, link a 4 r, delete r 5",
            "a=4@3/4[r] a|1=4+2@25/4[r|1] r=5@3/5<a r|1=5+1@25/5<a|1 tell:4/5 tell:4+2/5",
        ),
        // names that are taken, one of another cluster
        (
            "create a 3, create r 4, begin 3, begin 25, link a 4 r:6 r|1:7",
            "a=4@3/4[r] a|1=4+2@25/4[r|1] r=6@3/5<a r|1=7@25/5<a|1 tombstoned:5@4 tombstoned:5+2@26 tell:4/8 tell:4+2/8",
        ),
        (
            "create a 3, create r 20, begin 3, link a 4 r:6",
            "a=4@3/4[r] a|1=4+2@25/4[r|1] r=6@3/5<a r|1=7+1@25/7<a|1 tombstoned:5@20 tombstoned:5+1@2 tell:4/7 tell:4+2/7",
        ),
        // a cluster that comes later
        (
            "create a 3, link a 4 r ~v, join 3 east 3, parts a",
            "a=4@3/4[r~v] a|1=4+2@25/4[r|1~v|1] a|2=7+1@40/4[r|2~v|2] r=5@3/5<a r|1=5+2@25/5<a|1 r|2=7+4@40/7<a|2 v=5+1@3/5<~a v|1=5+3@25/5<~a|1 v|2=7+5@40/7<~a|2 tell:4/5 tell:4+2/5 tell:7+1/7",
        ),
        (
            "create a 3, link a 4 r ~v, join 3 east 3, parts a, parts a",
            "a=4@3/4[r~v] a|1=4+2@25/4[r|1~v|1] a|2=7+1@40/4[r|2~v|2] r=5@3/5<a r|1=5+2@25/5<a|1 r|2=7+4@40/7<a|2 v=5+1@3/5<~a v|1=5+3@25/5<~a|1 v|2=7+5@40/7<~a|2 tell:4/5 tell:4+2/5 tell:7+1/7",
        ),
    ] {
        check(&format!("{CLUSTERS}{script}"), expected);
    }
}

#[test]
fn links_of_parts_outlive_moves() {
    for (script, expected) in [
        (
            "create a 3, link a 4 r, move a b",
            "b=4@3/4[r] b|1=4+2@25/4[r|1] r=5@3/5<b r|1=5+1@25/5<b|1 tell:4/5 tell:4+2/5",
        ),
        (
            "create a 3, link a 4 r, create t 5, begin 5, begin 22, move t a r 7 r|1 8",
            "a=6@5/6[r] a|1=6+2@22/6[r|1] r=7@5/5<a r|1=8@22/9<a|1 tombstoned:4@3 tombstoned:4+2@25 tombstoned:5@3 tombstoned:5+1@25 tell:6/9 tell:6+2/9",
        ),
        (
            "create a 3, link a 4 r, create t 21, link t 6 s, begin 21, move t a r 8",
            "a=6@21/6[sr] a|0=6+1@13/6[s|0r|0] r=8@21/5<a r|0=9+4@13/9<a|0 s=7@21/7<a s|0=7+1@13/7<a|0 tombstoned:4@3 tombstoned:4+2@25 tombstoned:5@3 tombstoned:5+1@25 tell:6/9 tell:6+1/9",
        ),
    ] {
        check(&format!("{CLUSTERS}{script}"), expected);
    }
}

#[test]
fn parts_of_replicas_come_with_the_level_that_knows_them() {
    for (script, expected) in [
        (
            "join 1 main 2, join 2 west 3, users, create a 3, link a 4 r, parts a",
            "a=4@3/4[r] a|1=4+2@25/4 r=5@3/5<a tell:4/5",
        ),
        (
            "join 1 main 2, join 2 west 3, users, create a 3, link a 4 r, join 1 main 3, parts a",
            "a=4@3/4[r] a|1=4+2@25/4[r|1] r=5@3/5<a r|1=7+3@25/7<a|1 tell:4/5 tell:4+2/7",
        ),
    ] {
        check(script, expected);
    }
}

/// The first bytes of the admin keys that count at a second.
fn admin_keys(script: &str, at_s: u64) -> Vec<u8> {
    let mut machine = Machine::default();
    script.split(',').for_each(|line| machine.step(line.trim()));
    machine.state.admin_keys(at_s * 1_000).map(|digest| digest[0]).collect()
}

#[test]
fn an_admin_key_that_is_replaced_counts_for_a_time() {
    let joined = "set-up A 1 k, join 7 main 4";
    for (script, at_s, expected) in [
        ("rotate 2 0 10", 12, vec![2, 1]),
        ("rotate 2 0 10", 13, vec![2]),
        ("rotate 2 0 0", 3, vec![2]),
        // proposed twice, or by two nodes at once: the first wins
        ("rotate 2 0 10, rotate 2 0 10", 5, vec![2, 1]),
        ("rotate 2 0 10, rotate 9 0 10", 5, vec![2, 1]),
        ("rotate 2 0 10, rotate 9 3 10", 5, vec![9, 1, 2]),
        // a late copy of a proposal does not bring a key back that was replaced again
        ("rotate 2 0 10, rotate 1 3 10, rotate 2 0 10", 6, vec![1, 2]),
        ("rotate 1 0 10", 5, vec![1]),
        ("admin 2", 4, vec![2]),
        ("admin 2, rotate 3 0 10", 5, vec![2]),
        (
            "rotate 2 0 99, rotate 3 3 99, rotate 4 4 99, rotate 5 5 99, rotate 6 6 99, rotate 7 7 99, rotate 8 8 99, rotate 9 9 99, rotate 10 10 99",
            13,
            vec![10, 2, 3, 4, 5, 6, 7, 8, 9],
        ),
    ] {
        assert_eq!(admin_keys(&format!("{joined}, {script}"), at_s), expected, "{script}");
    }
    // a key that leaked may have been replaced before, with more patience
    for (level, expected) in [(9, vec![3, 1]), (10, vec![3])] {
        let script = format!("set-up A 1 k, join 7 main {level}, rotate 2 0 99, rotate 3 3 0");
        assert_eq!(admin_keys(&script, 6), expected, "{level}");
    }
    // programs from before read the rows that they know
    assert_eq!(admin_keys("set-up A 1 k, join 7 main 3, admin 2", 4), [2]);
    let mut machine = Machine::default();
    ["set-up A 1 k", "join 7 main 3", "admin 2"].iter().for_each(|line| machine.step(line));
    assert_eq!(machine.state.key_history, Arc::default());
}
