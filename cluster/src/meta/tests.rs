//! Scripts on the meta state: one command a line, then what it left. After each the rows give the same state back.

use super::*;
use quorate_node::ops::ReplicaKind;
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
fn group(text: &str) -> GroupId {
    GroupId(text.parse().expect("a group"))
}
/// `name`, `~name` for a virtual replica, `name:life` with a reserved incarnation.
fn wanted(text: &str) -> Wanted {
    let (text, prepared) = match text.split_once(':') {
        Some((text, life)) => (text, Some(incarnation(life))),
        None => (text, None),
    };
    let bare = text.trim_start_matches('~');
    let kind = if bare == text { ReplicaKind::Standard } else { ReplicaKind::Virtual };
    Wanted { name: name(bare), kind, prepared }
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
            ["start"] => MetaCommand::StartNode,
            ["create", index, to] => MetaCommand::CreateIndex { name: name(index), group: group(to) },
            ["delete", index, life] => {
                MetaCommand::DeleteIndex { name: name(index), incarnation: incarnation(life) }
            }
            ["move", from, to] => MetaCommand::MoveIndex { from: name(from), to: name(to), replicas: vec![] },
            ["move", from, to, replica, life] => MetaCommand::MoveIndex {
                from: name(from),
                to: name(to),
                replicas: vec![Moved { name: name(replica), incarnation: incarnation(life) }],
            },
            ["link", index, life, ref replicas @ ..] => MetaCommand::SetReplicas {
                name: name(index),
                incarnation: incarnation(life),
                replicas: replicas.iter().map(|text| wanted(text)).collect(),
            },
            ["settled", life, revision] => MetaCommand::Settled {
                incarnation: incarnation(life),
                revision: revision.parse().expect("a log index"),
            },
            ["begin", to] => MetaCommand::BeginCopy { group: group(to) },
            ["point", index, life, to] => MetaCommand::PointIndex {
                name: name(index),
                incarnation: incarnation(life),
                group: group(to),
            },
            ["abandon", life] => MetaCommand::AbandonCopy { incarnation: incarnation(life) },
            ["dropped", life] => MetaCommand::Dropped { incarnation: incarnation(life) },
            ["key", value] => MetaCommand::PutKey { key: key_document(value) },
            ["key-damaged"] => MetaCommand::PutKey { key: b"{".to_vec() },
            ["no-key", value] => MetaCommand::DeleteKey { value: value.into() },
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

    /// `name=life@group/created` of every index, then keys, `reserved` and `doomed` lives.
    fn show(&self) -> String {
        let life = |incarnation: &Incarnation| TaskId(*incarnation).log_index();
        let mark = |link: &Link| match link.kind {
            ReplicaKind::Standard => link.name.to_string(),
            ReplicaKind::Virtual => format!("~{}", link.name),
        };
        let mut shown: Vec<String> = self
            .state
            .catalogue
            .iter()
            .map(|(name, row)| {
                let links = match &row.role {
                    Role::Alone => String::new(),
                    Role::Primary(replicas) => format!("[{}]", replicas.iter().map(mark).collect::<String>()),
                    Role::Replica(primary) => format!("<{}", mark(primary)),
                };
                let ordinal = match row.incarnation & 0xfff {
                    0 => String::new(),
                    ordinal => format!("+{ordinal}"),
                };
                let (life, created) = (life(&row.incarnation), row.created_ms / 1_000);
                format!("{name}={life}{ordinal}@{}/{created}{links}", row.group)
            })
            .collect();
        shown.sort();
        if let Some(installation) = &self.state.installation {
            shown.insert(0, format!("{}:{}", installation.app_id, installation.admin_key[31]));
        }
        shown.extend(self.state.keys.keys().map(|value| format!("key:{value}")));
        shown.extend(self.state.reserved.iter().map(|(it, group)| format!("reserved:{}@{group}", life(it))));
        shown.extend(self.state.doomed.iter().map(|(it, group)| format!("doomed:{}@{group}", life(it))));
        shown.extend(
            self.state.unsettled.iter().map(|(it, revision)| format!("tell:{}/{revision}", life(it))),
        );
        shown.join(" ")
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
        ("create a 3, delete a 1", "doomed:1@3"),
        ("create a 3, delete a 9", "a=1@3/1"),
        ("delete a 1", ""),
        ("create a 3, delete a 1, create a 3", "a=3@3/3 doomed:1@3"),
        ("create a 3, delete a 1, create a 3, delete a 1", "a=3@3/3 doomed:1@3"),
        ("create a 3, delete a 1, dropped 1", ""),
        ("create a 3, dropped 1", "a=1@3/1"),
    ] {
        check(script, expected);
    }
}

#[test]
fn a_move_renames_over_the_destination() {
    for (script, expected) in [
        ("create a 3, move a b", "b=1@3/1"),
        ("create a 3, create b 4, move a b", "b=1@3/1 doomed:2@4"),
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
        ("create a 3, create b 4, begin 3, point b 3 3", "a=1@3/1 b=3@3/2 doomed:2@4"),
        ("create a 3, begin 3, abandon 2", "a=1@3/1 doomed:2@3"),
        ("create a 3, begin 3, abandon 2, point b 2 3", "a=1@3/1 doomed:2@3"),
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
        ("create a 3, link a 1 r, settled 1 2", "a=1@3/1[r] r=2@3/2<a"),
        ("create a 3, link a 1 r, settled 1 1", "a=1@3/1[r] r=2@3/2<a tell:1/2"),
        ("create a 3, link a 1 r, link a 1", "a=1@3/1 r=2@3/2 tell:1/3"),
        ("create a 3, link a 1 r, link a 1 ~r s", "a=1@3/1[~rs] r=2@3/2<~a s=3+1@3/3<a tell:1/3"),
        ("create a 3, link a 9 r", "a=1@3/1"),
        ("create a 3, link a 1 a", "a=1@3/1"),
        // a name that is taken needs a place in the group of the primary
        ("create a 3, create r 4, link a 1 r", "a=1@3/1 r=2@4/2"),
        ("create a 3, create r 4, link a 1 r:9", "a=1@3/1 r=2@4/2"),
        ("create a 3, create r 4, begin 3, link a 1 r:3", "a=1@3/1[r] r=3@3/2<a doomed:2@4 tell:1/4"),
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
        ("create a 3, link a 1 r ~v, delete a 1", "r=2@3/2 v=2+1@3/2 doomed:1@3"),
        ("create a 3, link a 1 r, move a b", "b=1@3/1[r] r=2@3/2<b tell:1/2"),
        ("create a 3, link a 1 r, move r b", "a=1@3/1[r] r=2@3/2<a tell:1/2"),
        ("create a 3, link a 1 r, create t 5, move t r", "a=1@3/1[r] r=2@3/2<a t=3@5/3 tell:1/2"),
        ("create a 3, link a 1 r, create t 5, move t a", "a=1@3/1[r] r=2@3/2<a t=3@5/3 tell:1/2"),
        (
            "create a 3, link a 1 r, create t 5, begin 5, move t a r 4",
            "a=3@5/3[r] r=4@5/2<a doomed:1@3 doomed:2@3 tell:3/5",
        ),
        (
            "create a 3, link a 1 r, create t 5, link t 3 s, begin 5, move t a r 5",
            "a=3@5/3[sr] r=5@5/2<a s=4@5/4<a doomed:1@3 doomed:2@3 tell:3/6",
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
