//! Are models of recommendations those that the log says, and do their files come, go and travel as they should?

use super::*;
use crate::events::{forget_user, today};
use quorate_model::event::{Event, EventKind, EventObject, EventTarget};
use quorate_model::{IndexName, RecommendModel};
use quorate_node::models::path_of;
use quorate_node::{Made, ModelKey, NeighboursError, NodeError};
use quorate_store::incoming::Incoming;
use quorate_store::recorder::{CrashMode, RecordingFiles};
use std::sync::atomic::AtomicBool;

fn key(index: &str, model: RecommendModel) -> ModelKey {
    ModelKey { index: IndexName::new(index).unwrap(), model }
}
fn related() -> ModelKey {
    key("products", RecommendModel::RelatedProducts)
}
pub fn install(index: &str, seq: u64, length: u64) -> IndexCommand {
    IndexCommand::InstallModel { key: key(index, RecommendModel::BoughtTogether), seq, length, crc: 5 }
}
/// Models with their numbers, as the log says.
pub fn installed(node: &Node) -> String {
    let models = node.models(GROUP).into_iter();
    models.map(|state| format!("{}:{} ", state.key.index, state.installed.seq)).collect()
}
/// Clicks: what a user has to do with.
fn clicks(of: &[(&str, &str)]) -> IndexCommand {
    let event = |(user, object): &(&str, &str)| Event {
        kind: EventKind::Click,
        name: "clicked".into(),
        index: IndexName::new("products").unwrap(),
        user: (*user).into(),
        authenticated: None,
        time_ms: Some(today()),
        query_id: None,
        target: EventTarget::Objects(vec![EventObject {
            object_id: (*object).into(),
            ..EventObject::default()
        }]),
        value: None,
        currency: None,
    };
    IndexCommand::Events { events: of.iter().map(event).collect() }
}
/// Two that go together, twice, and one that goes with one of them.
const SHOP: &[(&str, &str)] =
    &[("ann", "a"), ("ann", "b"), ("bob", "a"), ("bob", "b"), ("bob", "c"), ("cid", "c")];

impl Rig {
    fn build(&self, key: &ModelKey, seq: u64) -> quorate_node::Result<Made> {
        let stop = AtomicBool::new(false);
        let interactions = self.node.interactions(GROUP, key.index.as_str(), today(), &stop)?;
        let place = self.node.begin_model(GROUP, key, seq);
        self.node.build_model(key, &interactions, &place, &stop)
    }
    /// Builds a model and puts it in force.
    fn build_and_install(&mut self, seq: u64) -> Made {
        let key = related();
        let place = self.node.begin_model(GROUP, &key, seq);
        let made = self.build(&key, seq).unwrap();
        let Made { length, crc, .. } = made;
        self.apply(IndexCommand::InstallModel { key, seq, length, crc });
        drop(place);
        made
    }
    fn missing(&self) -> Vec<u64> {
        let missing = self.node.look_at_models(GROUP, &AtomicBool::new(false)).unwrap();
        missing.into_iter().map(|(_, installed)| installed.seq).collect()
    }
    /// What goes with a record; `None` without a model.
    fn with(&self, object: &str) -> Option<Vec<String>> {
        let found = self.node.candidates(GROUP, &related(), object)?;
        Some(found.list.into_iter().map(|(id, _)| id).collect())
    }
    fn file(&self, seq: u64) -> std::path::PathBuf {
        path_of(self.node.layout(), GROUP, &related(), seq)
    }
}
/// The models below a folder that are open, and those of them that are removed.
fn open_models(folder: &std::path::Path) -> (usize, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let folder = folder.to_str().unwrap();
    let models = || maps.lines().filter(|line| line.contains(folder) && line.contains(".mdl"));
    (models().count(), models().filter(|line| line.ends_with("(deleted)")).count())
}
fn some(ids: &[&str]) -> Option<Vec<String>> {
    Some(ids.iter().map(|id| (*id).to_owned()).collect())
}

#[test]
fn a_model_answers_through_restarts_damage_and_successors() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(clicks(SHOP));
        let made = rig.build_and_install(7);
        assert_eq!((made.report.rows, made.report.users, made.report.items), (6, 3, 3));
        assert_eq!(rig.with("a"), None, "nobody has looked at the file yet");
        assert_eq!(rig.missing(), [0; 0]);
        assert_eq!((rig.with("a"), rig.with("x")), (some(&["b", "c"]), some(&[])));
        assert_eq!(rig.node.model_report(GROUP, &related()), Some(made.report.clone()));
        rig.machine.close().unwrap();
        let mut rig = Rig::open(dir.path(), rig.kill());
        assert_eq!((rig.missing(), rig.with("a")), (vec![], some(&["b", "c"])), "after a restart");
        // the same events, the same bytes, whoever makes them
        let again = rig.build(&related(), 8).unwrap();
        assert_eq!((again.length, again.crc), (made.length, made.crc));
        // a later one is on its way: the one before answers, and stays
        let IndexCommand::InstallModel { key, .. } = install("products", 0, 0) else { unreachable!() };
        let key = ModelKey { model: RecommendModel::RelatedProducts, ..key };
        rig.apply(IndexCommand::InstallModel { key: key.clone(), seq: 9, length: 100, crc: 1 });
        assert_eq!((rig.missing(), rig.with("a")), (vec![9], some(&["b", "c"])));
        assert!(rig.file(7).exists() && !rig.file(8).exists(), "what nobody needs is removed");
        // an earlier one comes too late
        rig.apply(IndexCommand::InstallModel { key: key.clone(), seq: 8, length: 1, crc: 1 });
        assert_eq!(rig.missing(), [9]);
        rig.build_and_install(10);
        assert_eq!((rig.missing(), rig.with("b")), (vec![], some(&["a", "c"])));
        assert!(!rig.file(7).exists() && rig.file(10).exists());
        if cfg!(target_os = "linux") {
            assert_eq!(open_models(dir.path()), (1, 0), "the one that answers, and none that is gone");
        }
        // damage: of what is looked at, and found by a look at all of it after a restart
        let mut bytes = std::fs::read(rig.file(10)).unwrap();
        bytes[20] ^= 1;
        std::fs::write(rig.file(10), &bytes).unwrap();
        rig.machine.close().unwrap();
        let mut rig = Rig::open(dir.path(), rig.kill());
        assert_eq!((rig.missing(), rig.with("a")), (vec![10], None));
        assert!(!rig.file(10).exists());
        // nothing goes together any more
        rig.apply(IndexCommand::InstallModel { key, seq: 11, length: 0, crc: 0 });
        assert_eq!((rig.missing(), rig.node.models(GROUP)), (vec![], vec![]));
        assert_eq!(open_models(dir.path()), (0, 0));
        rig.build_and_install(12);
        assert_eq!((rig.missing(), rig.with("a")), (vec![], some(&["b", "c"])));
        rig.machine.leave().unwrap();
        assert_eq!(open_models(dir.path()), (0, 0));
        assert!(!dir.path().join("events").join(GROUP.to_string()).exists());
        assert!(matches!(rig.build(&related(), 13), Err(NodeError::Stopped)), "nothing comes back");
    });
}

#[test]
fn a_check_finds_a_model_that_the_disk_has_changed_and_it_is_missing_then() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(clicks(SHOP));
        let made = rig.build_and_install(7);
        assert_eq!(rig.missing(), [0; 0]);
        let check = |rig: &Rig, goes_on: bool| {
            let mut read = 0;
            let found = rig.node.verify_models(GROUP, &mut |bytes| read += bytes, &|| goes_on);
            (found, read)
        };
        assert_eq!(check(&rig, true), (vec![], made.length));
        let whole = std::fs::read(rig.file(7)).unwrap();
        for at in (0..whole.len()).step_by(37) {
            let mut bytes = whole.clone();
            bytes[at] ^= 8;
            std::fs::write(rig.file(7), &bytes).unwrap();
            assert_eq!(check(&rig, false), (vec![], 0));
            assert_eq!(check(&rig, true), (vec![rig.file(7)], made.length), "byte {at}");
            assert_eq!((rig.with("a"), rig.missing()), (None, vec![7]));
            assert!(!rig.file(7).exists());
            std::fs::write(rig.file(7), &whole).unwrap();
            assert_eq!((rig.missing(), rig.with("a")), (vec![], some(&["b", "c"])));
        }
        // cut while it is in use: it is damaged, and no look at what is gone ends the process
        for length in [0, 20, whole.len() / 2] {
            assert_eq!(rig.with("a"), some(&["b", "c"]));
            std::fs::OpenOptions::new()
                .write(true)
                .open(rig.file(7))
                .unwrap()
                .set_len(length as u64)
                .unwrap();
            assert_eq!((rig.with("a"), rig.missing()), (None, vec![7]), "{length}");
            std::fs::write(rig.file(7), &whole).unwrap();
            assert_eq!((rig.missing(), rig.with("a")), (vec![], some(&["b", "c"])));
        }
        std::fs::remove_file(rig.file(7)).unwrap();
        assert_eq!((check(&rig, true).0, rig.missing()), (vec![rig.file(7)], vec![7]));
    });
}

#[test]
fn a_power_cut_leaves_the_model_before_or_the_new_one_or_one_to_be_fetched() {
    in_system(|| {
        let root = tempfile::tempdir().unwrap();
        let live = root.path().join("live");
        std::fs::create_dir(&live).unwrap();
        Rig::open(&live, vec![]).kill();
        let files = RecordingFiles::new(&live).unwrap();
        let mut rig = Rig::open_on(&live, vec![], Arc::new(files.clone()));
        rig.apply(clicks(SHOP));
        let first = rig.build_and_install(7);
        assert_eq!(rig.missing(), [0; 0]);
        let begun = files.points();
        rig.apply(clicks(&[("cid", "a"), ("dan", "c"), ("dan", "b")]));
        let second = rig.build_and_install(8);
        assert_eq!(rig.missing(), [0; 0]);
        let answer = rig.with("a");
        assert_ne!((first.crc, answer.clone()), (second.crc, None));
        let log = rig.kill();
        let is_all = std::env::var_os("QUORATE_POWER_CUTS").is_some();
        for point in (begun..=files.points()).step_by(if is_all { 1 } else { 3 }) {
            let modes = [CrashMode::Dropped, CrashMode::Prefix, CrashMode::Torn(point as u64)];
            let modes = if is_all { modes.to_vec() } else { vec![modes[point % 3]] };
            for mode in modes {
                let image = root.path().join("image");
                files.crash_image(point, mode, &image).unwrap();
                // a working store is never trusted after a power cut
                let _there_may_be_none = std::fs::remove_dir_all(image.join("state"));
                // the log survives, also what installs a model whose file does not
                let mut rig = Rig::open(&image, log.clone());
                match rig.missing()[..] {
                    [] => assert_eq!(rig.with("a"), answer, "{point} {mode:?}"),
                    [8] => {
                        assert!(rig.with("a").is_none() && !rig.file(8).exists(), "{point} {mode:?}");
                        let again = rig.build_and_install(9);
                        assert_eq!(
                            (again.length, again.crc),
                            (second.length, second.crc),
                            "{point} {mode:?}"
                        );
                        assert_eq!((rig.missing(), rig.with("a")), (vec![], answer.clone()));
                    }
                    ref other => panic!("{point} {mode:?}: {other:?}"),
                }
                let folder = rig.file(9).parent().unwrap().to_owned();
                assert_eq!(
                    std::fs::read_dir(folder).unwrap().count(),
                    1,
                    "{point} {mode:?}: nothing else is left"
                );
                drop(rig);
                std::fs::remove_dir_all(&image).unwrap();
            }
        }
    });
}

#[test]
fn forgotten_users_and_stopped_builds_leave_nothing() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(clicks(SHOP));
        let stop = AtomicBool::new(true);
        let stopped = rig.node.interactions(GROUP, "products", today(), &stop).map(drop);
        assert!(matches!(stopped, Err(NodeError::Neighbours(NeighboursError::Stopped))), "{stopped:?}");
        let interactions =
            rig.node.interactions(GROUP, "products", today(), &AtomicBool::new(false)).unwrap();
        let place = rig.node.begin_model(GROUP, &related(), 5);
        let stopped = rig.node.build_model(&related(), &interactions, &place, &stop);
        assert!(matches!(stopped, Err(NodeError::Neighbours(NeighboursError::Stopped))), "{stopped:?}");
        assert!(!rig.file(5).exists() && !place.temporary().exists());
        rig.apply(forget_user("bob"));
        let made = rig.build(&related(), 6).unwrap();
        assert_eq!((made.report.rows, made.report.users), (3, 2));
        rig.apply(forget_user("ann"));
        assert_eq!(rig.build(&related(), 7).unwrap().length, 0, "one record alone goes with nothing");
        assert!(!rig.file(7).exists());
    });
}

#[test]
fn a_snapshot_brings_models() {
    in_system(|| {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut source = Rig::open(from.path(), vec![]);
        source.apply(clicks(SHOP));
        source.build_and_install(7);
        assert_eq!(source.missing(), [0; 0]);
        // its file is nowhere: nothing waits for it
        source.apply(install("other", 3, 30));
        let layout = Layout::new(to.path());
        let mut target = Rig::open(to.path(), vec![]);
        target.apply(install("old", 3, 30));
        target.apply(install("old", 4, 30));
        let incoming = Incoming::new(&layout, GROUP, 3);
        assert_eq!(source.export(incoming.layout()), 3);
        let replacement = incoming.commit(&RealFiles, &[]).unwrap();
        target.machine.replace(&replacement).unwrap();
        assert_eq!((target.missing(), target.with("a")), (vec![3], some(&["b", "c"])));
        let names: Vec<String> =
            target.node.models(GROUP).iter().map(|state| state.key.index.to_string()).collect();
        assert_eq!(names, ["other", "products"]);
    });
}
