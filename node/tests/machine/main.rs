//! Whether commands change a node as they say, and whether a restart at any point ends in the same state.

mod compared;
mod cut_off;
mod dead;
mod dictionaries;
mod events;
mod failing_disk;
mod following;
mod models;
mod places;
mod planted;
mod reading;
mod rebuilds;
mod replay;
mod replicas;
mod scripts;
mod snapshots;

use quorate_model::{GroupId, RecommendModel, RecordOp, ResourceKind, SearchParams, SynonymKind};
use quorate_node::{
    IndexCommand, LevelInForce, LogPosition, Node, NodeOptions, Pace, PlacementMachine, RawResource,
    ReadRights, SharedDictionaries,
};
use quorate_store::files::{Files, RealFiles};
use quorate_store::full_disk::FullDisk;
use quorate_store::kv::{Kv, Tree};
use quorate_store::layout::Layout;
use quorate_store::space::Room;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const GROUP: GroupId = GroupId(3);

/// What a writer may keep in memory.
#[derive(Clone, Copy, Debug)]
struct Memory {
    writer_bytes: usize,
    spill_bytes: usize,
}
const MEMORY: Memory = Memory { writer_bytes: 16 << 20, spill_bytes: 4 << 20 };

/// Through which file layers a rig works.
struct Disk {
    shards: Arc<dyn Files>,
    store: Arc<dyn Files>,
    room: Room,
}
impl Disk {
    /// Shards go through `files`; the store has a disk that is well, and there is room without an end.
    fn of(files: Arc<dyn Files>) -> Disk {
        Disk { shards: files, store: RealFiles::shared(), room: Room::boundless() }
    }
}

struct Rig {
    node: Node,
    machine: PlacementMachine,
    tree: Tree,
    log: Vec<IndexCommand>,
}

impl Rig {
    /// Opens the folder and replays what the log holds and the node has not kept.
    fn open(folder: &Path, log: Vec<IndexCommand>) -> Rig {
        Rig::open_on(folder, log, RealFiles::shared())
    }
    /// As [`Rig::open`], with shards on `files`.
    fn open_on(folder: &Path, log: Vec<IndexCommand>, files: Arc<dyn Files>) -> Rig {
        let mut rig = Rig::found(folder, log, files, MEMORY, Pace::default());
        rig.replay().unwrap();
        rig
    }
    /// Opens the folder and leaves the replay to the test.
    fn open_without_replay(folder: &Path, log: Vec<IndexCommand>) -> Rig {
        Rig::found(folder, log, RealFiles::shared(), MEMORY, Pace::default())
    }
    /// Opens the folder and replays nothing yet.
    fn found(
        folder: &Path,
        log: Vec<IndexCommand>,
        files: Arc<dyn Files>,
        memory: Memory,
        pace: Pace,
    ) -> Rig {
        Rig::on(folder, log, Disk::of(files), memory, pace).unwrap()
    }
    /// Opens the folder through other file layers and replays nothing yet. Errors: they refuse it.
    fn on(
        folder: &Path,
        log: Vec<IndexCommand>,
        disk: Disk,
        memory: Memory,
        pace: Pace,
    ) -> quorate_node::Result<Rig> {
        let layout = Layout::new(folder);
        layout.prepare(&RealFiles).unwrap();
        let (kv, _) = Kv::open(&layout.state(), disk.store, 16 << 20)?;
        let tree = kv.tree(&quorate_store::layout::tree(GROUP))?;
        let options = NodeOptions {
            layout,
            files: disk.shards,
            kv,
            search_threads: 1,
            writer_threads: 1,
            writer_memory_bytes: memory.writer_bytes,
            writer_spill_bytes: memory.spill_bytes,
            room: disk.room,
            pace,
            level: LevelInForce::default(),
            dictionaries: SharedDictionaries::default(),
            events_kept: std::time::Duration::from_secs(90 * 24 * 3_600),
        };
        let node = Node::open(options)?;
        let machine = node.machine(GROUP)?;
        Ok(Rig { node, machine, tree, log })
    }
    /// Hands over what the log holds and the node has not kept.
    fn replay(&mut self) -> quorate_node::Result<()> {
        let from = self.machine.replay_from()? as usize;
        let mut rest = self.log.iter().enumerate().skip(from);
        rest.try_for_each(|(at, command)| self.machine.apply(position(at as u64 + 1), command.clone()))
    }
    fn apply(&mut self, command: IndexCommand) -> u64 {
        self.log.push(command.clone());
        let at = self.log.len() as u64;
        self.machine.apply(position(at), command).unwrap();
        at
    }
    /// Ends without closing anything, as a killed process does; what the store buffers is kept or lost by chance.
    fn kill(self) -> Vec<IndexCommand> {
        for index in self.machine.incarnations() {
            self.node.index(index).unwrap().abandon_writer();
        }
        self.log
    }
    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let last = self.log.len() as u64;
        while self.node.records_visible_through(GROUP) < last || !self.node.is_visible(GROUP, last) {
            assert!(
                Instant::now() < deadline,
                "not visible: {} of {last}",
                self.node.records_visible_through(GROUP)
            );
            std::thread::yield_now();
        }
        assert!(!self.node.is_visible(GROUP, last + 1));
    }
    fn records(&self, index: u64) -> Vec<String> {
        self.wait();
        let Ok(view) = self.node.view(index) else {
            return vec!["gone".into()];
        };
        let pool = self.node.pool().clone();
        let page = wait_for(pool.browse(view, SearchParams::default(), None, ReadRights::default())).unwrap();
        let mut found: Vec<String> =
            page.hits.iter().map(|hit| String::from_utf8(hit.to_vec()).unwrap()).collect();
        found.sort();
        found
    }
    /// `id:word` of each synonym and `id:hidden record` of each rule.
    fn resources(&self, index: u64) -> String {
        let Some(state) = self.node.index(index) else {
            return "gone".into();
        };
        let resources = state.resources.load();
        let synonyms = resources.synonyms.iter().map(|(id, synonym)| match &synonym.kind {
            SynonymKind::Synonym { synonyms } => format!("{id}:{}", synonyms[1]),
            other => panic!("{other:?}"),
        });
        let rules = resources.rules.iter().map(|(id, rule)| format!("{id}:{}", rule.consequence.hide[0]));
        let of_models = resources.recommend.iter().flat_map(|(model, rules)| {
            rules.iter().map(move |(id, rule)| format!("{model}/{id}:{}", rule.consequence.hide[0]))
        });
        synonyms.chain(rules).chain(of_models).collect::<Vec<_>>().join(" ")
    }
}

/// Waits for an answer on a thread of its own: the test's thread drives an actix system.
fn wait_for<T: Send>(future: impl Future<Output = T> + Send) -> T {
    let wait = || tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future);
    std::thread::scope(|scope| scope.spawn(wait).join().unwrap())
}
fn position(index: u64) -> LogPosition {
    LogPosition { index, term: 1, time_ms: 1_700_000_000_000 + index }
}
fn put(id: &str, n: u32) -> RecordOp {
    let record = format!("{{\"n\":{n},\"objectID\":\"{id}\"}}").into_bytes();
    RecordOp::Put { object_id: id.into(), record }
}
fn records(index: u64, ops: Vec<RecordOp>) -> IndexCommand {
    IndexCommand::Records { index, ops }
}
fn settings(index: u64, changes: &str) -> IndexCommand {
    IndexCommand::Settings { index, changes: changes.into(), replace: false }
}
fn partial(id: &str, changes: &str) -> RecordOp {
    RecordOp::Partial { object_id: id.into(), changes: changes.into(), create: true }
}

/// The same of a record that may take so many bytes.
fn bounded(id: &str, changes: &str, bytes_max: u64) -> RecordOp {
    RecordOp::PartialUpTo { object_id: id.into(), changes: changes.into(), create: true, bytes_max }
}

/// Synonyms with these ids, each of the id and a word.
fn synonyms(index: u64, ids: &[&str], word: &str, replace: bool) -> IndexCommand {
    let raw = |id: &&str| {
        let document = format!(r#"{{"objectID":"{id}","synonyms":["{id}","{word}"],"type":"synonym"}}"#);
        RawResource { object_id: id.to_string(), document: document.into_bytes() }
    };
    let resources = ids.iter().map(raw).collect();
    IndexCommand::SaveResources { index, kind: ResourceKind::Synonyms, resources, replace }
}
/// A rule that always hides a record.
fn rule(index: u64, id: &str, hidden: &str) -> IndexCommand {
    rule_of(ResourceKind::Rules, index, id, hidden)
}
/// The same of another kind.
fn rule_of(kind: ResourceKind, index: u64, id: &str, hidden: &str) -> IndexCommand {
    let document = format!(r#"{{"consequence":{{"hide":[{{"objectID":"{hidden}"}}]}},"objectID":"{id}"}}"#);
    let resources = vec![RawResource { object_id: id.into(), document: document.into_bytes() }];
    IndexCommand::SaveResources { index, kind, resources, replace: false }
}
fn forget(index: u64, kind: ResourceKind, id: &str) -> IndexCommand {
    IndexCommand::DeleteResource { index, kind, object_id: id.into() }
}

const MANY: u32 = 3_000;

fn many(range: std::ops::Range<u32>, n: u32) -> IndexCommand {
    records(1, range.map(|i| put(&format!("r{i}"), n)).collect())
}
fn facet_settings() -> IndexCommand {
    settings(1, r#"{"attributesForFaceting":["n"],"customRanking":["desc(n)"]}"#)
}
impl Rig {
    fn wait_until(&self, what: &str, is_true: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_true() {
            assert!(Instant::now() < deadline, "{what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    fn wait_visible(&self, log_index: u64) {
        self.wait_until("not visible", || self.node.is_visible(GROUP, log_index));
    }
    fn count(&self, index: u64) -> u32 {
        self.wait();
        self.node.view(index).unwrap().shard.record_count() as u32
    }
    fn shown(&self, name: &str) -> Option<serde_json::Value> {
        self.node.view(1).unwrap().configuration.settings().document.get(name).cloned()
    }
}

/// The longest time that a test may take, on a machine with much else to do.
const BODY: Duration = Duration::from_secs(240);

/// Runs the test body on a thread that has an actix system, as apply threads have.
fn in_system(body: impl FnOnce() + Send + 'static) {
    in_system_for(BODY, body);
}
/// As [`in_system`], for at most so long.
fn in_system_for(longest: Duration, body: impl FnOnce() + Send + 'static) {
    actix_rt::System::new().block_on(async move {
        let arbiter = actix_rt::Arbiter::new();
        let (done, ended) = tokio::sync::oneshot::channel();
        arbiter.spawn_fn(move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            let _ = done.send(result);
        });
        let ended =
            tokio::time::timeout(longest, ended).await.expect("the test hangs: its thread waits for a shard");
        // a test may have thousands of systems
        arbiter.stop();
        arbiter.join().unwrap();
        if let Err(panic) = ended.unwrap() {
            std::panic::resume_unwind(panic);
        }
    });
}

fn script() -> Vec<IndexCommand> {
    vec![
        records(1, vec![put("a", 1), put("b", 2)]),
        settings(1, r#"{"attributesForFaceting":["n"],"customRanking":["desc(n)"]}"#),
        records(1, vec![put("c", 3), partial("a", r#"{"n":{"_operation":"Increment","value":10}}"#)]),
        records(2, vec![put("x", 1)]),
        IndexCommand::Copy { from: 1, to: 4 },
        records(1, vec![RecordOp::Delete { object_id: "b".into() }]),
        records(1, vec![RecordOp::DeleteBy { params: br#"{"filters":"n:3"}"#.to_vec() }]),
        IndexCommand::Drop { index: 2 },
        settings(1, r#"{"hitsPerPage":7}"#),
        IndexCommand::Sequence {
            commands: vec![
                IndexCommand::Settings { index: 4, changes: b"{}".to_vec(), replace: true },
                records(4, vec![RecordOp::Clear, put("z", 9)]),
            ],
        },
        records(1, vec![partial("a", r#"{"n":{"_operation":"Increment","value":1}}"#)]),
    ]
}
fn assert_end(rig: &Rig) {
    assert_eq!(rig.records(1), [r#"{"n":12,"objectID":"a"}"#]);
    assert_eq!(rig.records(2), ["gone"]);
    assert_eq!(rig.records(4), [r#"{"n":9,"objectID":"z"}"#]);
    assert_eq!(rig.node.index(1).unwrap().settings.load().document["hitsPerPage"], 7);
    assert!(rig.node.index(4).unwrap().settings.load().document.is_empty());
}

/// The rules of a model.
const ALIKE: ResourceKind = ResourceKind::Recommend(RecommendModel::LookingSimilar);

fn documents_script() -> Vec<IndexCommand> {
    vec![
        synonyms(1, &["s", "t", "u"], "first", false),
        IndexCommand::Sequence { commands: vec![rule(1, "r", "x"), synonyms(2, &["s"], "other", false)] },
        synonyms(1, &["s"], "second", false),
        rule_of(ALIKE, 1, "a", "x"),
        rule_of(ALIKE, 1, "b", "x"),
        IndexCommand::Copy { from: 1, to: 4 },
        forget(1, ALIKE, "a"),
        rule_of(ResourceKind::Recommend(RecommendModel::TrendingItems), 4, "a", "z"),
        IndexCommand::SaveResources { index: 4, kind: ALIKE, resources: vec![], replace: true },
        forget(1, ResourceKind::Synonyms, "t"),
        records(1, vec![RecordOp::Clear]),
        IndexCommand::Drop { index: 2 },
        forget(4, ResourceKind::Rules, "missing"),
        synonyms(4, &["u", "v", "v"], "third", true),
        rule(1, "r", "y"),
        // none of its kind: changes nothing, not even what the list drops
        IndexCommand::SaveResources {
            index: 1,
            kind: ResourceKind::Rules,
            resources: vec![RawResource { object_id: "w".into(), document: b"{}".to_vec() }],
            replace: true,
        },
    ]
}
fn assert_documents(rig: &Rig) {
    assert_eq!(rig.resources(1), "s:second u:first r:y looking-similar/b:x");
    assert_eq!(rig.resources(2), "gone");
    assert_eq!(rig.resources(4), "u:third v:third r:x trending-items/a:z");
    assert!(rig.records(1).is_empty());
}

#[test]
fn a_script_of_commands_ends_as_it_says() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        for command in script() {
            rig.apply(command);
        }
        assert_end(&rig);
        rig.machine.close().unwrap();
        assert_eq!(rig.machine.durable_through(), rig.log.len() as u64);
    });
}

#[test]
fn killed_after_any_command_with_any_checkpoint_the_rest_gives_the_same_end() {
    in_system(|| kill_after_each(&script(), assert_end));
}

#[test]
fn synonyms_and_rules_end_as_the_log_says_wherever_it_was_killed() {
    in_system(|| kill_after_each(&documents_script(), assert_documents));
}

#[test]
fn the_store_alone_knows_every_index_that_has_files() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        for command in [records(1, vec![put("a", 1)]), IndexCommand::Copy { from: 1, to: 2 }] {
            rig.apply(command);
            rig.machine.checkpoint().unwrap();
        }
        rig.wait();
        drop(rig.kill());
        let mut known = Rig::open(dir.path(), vec![]).machine.incarnations();
        known.sort_unstable();
        assert_eq!(known, [1, 2]);
    });
}

fn kill_after_each(script: &[IndexCommand], assert_end: fn(&Rig)) {
    for killed_after in 0..=script.len() {
        for checkpoint_at in [0, killed_after / 2, killed_after] {
            let dir = tempfile::tempdir().unwrap();
            let mut rig = Rig::open(dir.path(), vec![]);
            for (n, command) in script[..killed_after].iter().enumerate() {
                if n == checkpoint_at {
                    rig.machine.checkpoint().unwrap();
                }
                rig.apply(command.clone());
                if n % 3 == 1 {
                    rig.wait();
                }
            }
            if checkpoint_at == killed_after {
                rig.machine.checkpoint().unwrap();
            }
            let log = rig.kill();
            let mut rig = Rig::open(dir.path(), log);
            for command in &script[killed_after..] {
                rig.apply(command.clone());
            }
            assert_end(&rig);
        }
    }
}

#[test]
fn more_indices_than_open_writers_all_keep_their_records() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        let count = quorate_model::limits::OPEN_WRITERS_MAX as u64 + 20;
        for round in 0..2 {
            for index in 0..count {
                rig.apply(records(index, vec![put(&format!("r{round}"), round)]));
                assert!(rig.node.open_counts().0 <= 2 * quorate_model::limits::OPEN_WRITERS_MAX);
            }
        }
        rig.wait();
        let few = || rig.node.open_counts().0 <= quorate_model::limits::OPEN_WRITERS_MAX;
        rig.wait_until("those that are too many are closed", few);
        for index in 0..count {
            assert_eq!(rig.records(index).len(), 2, "index {index}");
        }
    });
}
