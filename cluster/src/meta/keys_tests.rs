//! What do commands do to keys?

use super::*;
use crate::command::MetaCommand;
use crate::meta::log_of_tests::Log;
use quorate_model::Acl;

/// A state whose entries are of a time that the test sets.
struct Keys {
    log: Log,
    now_s: u64,
}
impl Keys {
    fn at_level(level: u16) -> Keys {
        let mut log = Log::default();
        log.join(1, "main", level);
        Keys { log, now_s: 1_000 }
    }
    fn step(&mut self, command: MetaCommand) {
        self.log.step(self.now_s * 1_000 + 999, command);
    }
    fn create(&mut self, value: &str, change: impl FnOnce(&mut ApiKey)) {
        let mut key = ApiKey::new(value, 0, vec![Acl::Search]);
        change(&mut key);
        self.step(MetaCommand::CreateKey { key: document(&key) });
    }
    fn update(&mut self, value: &str, change: impl FnOnce(&mut ApiKey)) {
        let mut key = ApiKey::new(value, 0, vec![Acl::Browse]);
        change(&mut key);
        self.step(MetaCommand::UpdateKey { key: document(&key) });
    }
    fn delete(&mut self, value: &str) {
        self.step(MetaCommand::DeleteKey { value: value.into() });
    }
    fn restore(&mut self, value: &str) {
        self.step(MetaCommand::RestoreKey { value: value.into() });
    }
    fn key(&self, value: &str) -> Option<&ApiKey> {
        let by_value = self.log.state.keys.living().get(value);
        assert_eq!(by_value, self.log.state.keys.get(value.into()));
        by_value.map(|key| &**key)
    }
}

#[test]
fn a_key_is_created_changed_deleted_and_restored() {
    let mut log = Keys::at_level(level::NEWEST);
    log.create("a", |key| key.validity = 100);
    assert_eq!(log.key("a").map(|key| (key.created_at, key.left_s(1_000))), Some((1_000, Some(100))));
    log.create("a", |key| key.acl = vec![]);
    assert_eq!(log.key("a").map(|key| key.acl.len()), Some(1), "there is one with its value");
    log.now_s = 1_040;
    log.update("a", |key| key.validity = 70);
    let changed = log.key("a").expect("it is there");
    assert_eq!((changed.created_at, changed.left_s(1_040)), (1_000, Some(70)), "counted from the change");
    assert_eq!(changed.acl, [Acl::Browse]);
    log.now_s = 1_050;
    log.delete("a");
    assert_eq!(log.key("a"), None);
    log.update("a", |_| {});
    assert_eq!(log.key("a"), None, "a change that comes late brings none back");
    log.create("a", |_| {});
    assert_eq!(log.key("a"), None, "nor does one that is made with its value");
    log.now_s = 1_060;
    log.restore("a");
    let restored = log.key("a").expect("it is there again");
    assert_eq!((restored.created_at, restored.validity), (1_060, 0));
    log.restore("a");
    log.delete("b");
    log.restore("b");
    log.update("b", |_| {});
    assert_eq!((log.log.state.keys.living().len(), log.log.state.keys.deleted().len()), (1, 0));
    log.step(MetaCommand::CreateKey { key: b"{".to_vec() });
    log.step(MetaCommand::UpdateKey { key: vec![] });
    assert_eq!(log.log.state.keys.living().len(), 1);
}

#[test]
fn what_has_ended_is_removed_for_good() {
    let mut log = Keys::at_level(level::NEWEST);
    log.create("short", |key| key.validity = 10);
    log.create("long", |key| key.validity = 100);
    log.create("ever", |_| {});
    log.now_s = 1_010;
    log.update("short", |key| key.validity = 50);
    assert!(log.key("short").is_some_and(|key| !key.is_valid_at(1_010)), "its time was up");
    log.now_s = 1_010 + ENDED_S - 1;
    log.step(MetaCommand::RemoveEndedKeys);
    assert!(log.key("short").is_some());
    log.now_s += 1;
    assert_eq!(log.log.state.ended_keys(log.now_s), ["short"]);
    log.step(MetaCommand::RemoveEndedKeys);
    assert!(log.key("short").is_none() && log.key("long").is_some() && log.key("ever").is_some());
    log.restore("short");
    assert_eq!(log.key("short"), None);
    log.now_s = 1_101;
    log.delete("long");
    log.restore("long");
    assert_eq!(log.key("long"), None, "deleted after its end, before it was removed");
}

#[test]
fn an_index_takes_its_keys_along() {
    let mut log = Keys::at_level(level::NEWEST);
    let name = |text: &str| IndexName::new(text).expect("a name");
    log.step(MetaCommand::CreateIndex { name: name("i"), group: quorate_model::GroupId(1) });
    let life = log.log.state.catalogue.get(&name("i")).expect("made").incarnation;
    log.create("of-i", |key| key.index = Some(name("i")));
    log.create("of-j", |key| key.index = Some(name("j")));
    log.create("of-all", |key| key.indexes = vec!["i".into()]);
    log.update("of-i", |key| key.index = Some(name("j")));
    assert_eq!(log.key("of-i").and_then(|key| key.index.clone()), Some(name("i")), "it stays with its index");
    log.step(MetaCommand::DeleteIndex { name: name("i"), incarnation: life });
    assert!(log.key("of-i").is_none() && log.key("of-j").is_some() && log.key("of-all").is_some());
    log.restore("of-i");
    assert!(log.key("of-i").is_some());
}

#[test]
fn a_copy_takes_the_keys_of_its_source_along() {
    let mut log = Keys::at_level(level::NEWEST);
    let name = |text: &str| IndexName::new(text).expect("a name");
    let of = |log: &Keys, value: &str| -> Vec<String> {
        log.key(value).iter().flat_map(|key| key.own_indices()).map(ToString::to_string).collect()
    };
    for index in ["i", "j", "tmp"] {
        log.step(MetaCommand::CreateIndex { name: name(index), group: quorate_model::GroupId(1) });
    }
    log.create("of-i", |key| key.index = Some(name("i")));
    log.create("of-j", |key| key.index = Some(name("j")));
    log.create("of-tmp", |key| key.index = Some(name("tmp")));
    log.create("of-all", |key| key.indexes = vec!["i".into()]);
    for to in ["j", "tmp", "j"] {
        log.step(MetaCommand::CopyKeys { from: name("i"), to: name(to) });
    }
    assert!(
        of(&log, "of-i") == ["i", "j", "tmp"] && of(&log, "of-j") == ["j"] && of(&log, "of-all").is_empty()
    );
    log.update("of-i", |_| {});
    assert_eq!(of(&log, "of-i"), ["i", "j", "tmp"], "a change leaves it where it is");
    log.step(MetaCommand::MoveIndex { from: name("tmp"), to: name("j"), replicas: vec![] });
    assert_eq!(of(&log, "of-i"), ["i", "j"], "it had come along, and is there already");
    assert_eq!(of(&log, "of-tmp"), ["tmp"], "it was made for the name");
    log.step(MetaCommand::DeleteKeyOf { value: "of-i".into(), index: name("k") });
    log.step(MetaCommand::DeleteKeyOf { value: "of-all".into(), index: name("i") });
    let life = log.log.state.catalogue.get(&name("i")).expect("made").incarnation;
    log.step(MetaCommand::DeleteIndex { name: name("i"), incarnation: life });
    assert_eq!(of(&log, "of-i"), ["j"], "it outlives its first index");
    log.step(MetaCommand::DeleteKeyOf { value: "of-i".into(), index: name("j") });
    assert!(log.key("of-i").is_none() && log.key("of-all").is_some());
    log.restore("of-i");
    assert_eq!(of(&log, "of-i"), ["j"]);
}

#[test]
fn both_lists_are_bounded() {
    let mut log = Keys::at_level(level::NEWEST);
    // straight into the state: each step of a log compares all rows
    for number in 0..KEYS_MAX {
        log.log.state.keys.load(ApiKey::new(format!("k{number}"), 0, vec![]));
    }
    let at = |log_index| At { log_index, time_ms: 0 };
    let create = |value: &str| document(&ApiKey::new(value, 0, vec![]));
    assert_eq!(log.log.state.create_key(at(1), &create("more")), []);
    for number in 0..RESTORABLE_KEYS_MAX {
        let changes = log.log.state.delete_key(at(number as u64 + 10), &format!("k{number}"));
        assert_eq!(changes.len(), 2);
    }
    let changes = log.log.state.delete_key(at(9_000), &format!("k{RESTORABLE_KEYS_MAX}"));
    assert_eq!(changes.last(), Some(&no_deleted_row("k0")), "the first one cannot be restored");
    assert_eq!(log.log.state.keys.deleted().len(), RESTORABLE_KEYS_MAX);
    for number in 0..=RESTORABLE_KEYS_MAX {
        assert_eq!(log.log.state.create_key(at(9_001), &create(&format!("n{number}"))).len(), 1);
    }
    assert_eq!(log.log.state.restore_key(at(9_002), "k5"), [], "there are as many as there may be");
    log.log.state.delete_key(at(9_003), "n0");
    assert_eq!(log.log.state.restore_key(at(9_004), "k5").len(), 2);
}

#[test]
fn before_their_level_deleted_keys_are_not_kept() {
    let mut log = Keys::at_level(level::MANAGED_KEYS - 1);
    log.step(MetaCommand::PutKey { key: document(&ApiKey::new("a", 0, vec![])) });
    log.delete("a");
    assert!(log.log.state.keys.deleted().is_empty() && log.key("a").is_none());
}
