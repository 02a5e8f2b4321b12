//! Whether a group's state goes on in another node, and whether a crash while it takes the place of an old one leaves one of the two.

use crate::*;
use quorate_store::dump;
use quorate_store::files::FileWriter;
use quorate_store::incoming::{self, Incoming};
use quorate_store::recorder::{CrashMode, RecordingFiles};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

impl Rig {
    /// Links the state into `into` and returns the log index that it reflects.
    pub(crate) fn export(&mut self, into: &Layout) -> u64 {
        self.machine.export(into).unwrap();
        self.machine.checkpoint().unwrap();
        assert_eq!(self.machine.replay_from().unwrap(), self.machine.applied(), "everything is durable");
        self.dump(into)
    }
    fn apply_all(&mut self, commands: Vec<IndexCommand>) {
        for command in commands {
            self.apply(command);
        }
    }
    fn dump(&self, into: &Layout) -> u64 {
        std::fs::create_dir_all(into.dumps()).unwrap();
        let head = dump::write_tree(&RealFiles, &into.dump(GROUP), GROUP.0, &self.tree, &mut |_| 1).unwrap();
        head.applied_index
    }
    /// Puts what has arrived in the place of this state; the rest of the log is `log`.
    fn replace(
        &mut self,
        files: &dyn Files,
        incoming: Incoming,
        log: Vec<IndexCommand>,
    ) -> Result<(), String> {
        let layout = self.node.layout().clone();
        let old = self.machine.incarnations();
        let replacement = incoming.commit(files, &old).map_err(|e| e.to_string())?;
        self.machine.replace(&replacement).map_err(|e| e.to_string())?;
        replacement.finish(files, &layout).map_err(|e| e.to_string())?;
        self.log = log;
        Ok(())
    }
}

/// Copies a folder, as it arrives from another node.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// What another state of the group may hold: some of the same indices, and others.
fn old_script() -> Vec<IndexCommand> {
    vec![
        records(1, vec![put("old", 1)]),
        settings(1, r#"{"hitsPerPage":3,"attributesForFaceting":["m"]}"#),
        records(2, vec![put("x", 1)]),
        records(6, vec![put("was", 1)]),
        synonyms(1, &["s"], "old", false),
    ]
}
fn assert_old(rig: &Rig, index: u64) -> bool {
    let expected: &[&str] = match index {
        1 => &[r#"{"n":1,"objectID":"old"}"#],
        2 => &[r#"{"n":1,"objectID":"x"}"#],
        6 => &[r#"{"n":1,"objectID":"was"}"#],
        _ => &["gone"],
    };
    rig.records(index) == expected
}

/// A node with the state of a script, and the folder of its snapshot.
fn exported(script: Vec<IndexCommand>) -> (tempfile::TempDir, Layout, u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(&dir.path().join("a"), vec![]);
    for command in script {
        rig.apply(command);
    }
    let out = Layout::new(dir.path().join("out"));
    let index = rig.export(&out);
    assert_eq!(index, rig.log.len() as u64);
    rig.kill();
    (dir, out, index)
}

#[test]
fn another_node_goes_on_where_a_snapshot_was_made() {
    in_system(|| {
        for (script, assert_end) in [
            (replicas::script(), replicas::assert_end as fn(&Rig)),
            (crate::script(), crate::assert_end),
            (documents_script(), assert_documents),
        ] {
            for made_after in [0, script.len() / 2, script.len()] {
                let (_dir, out, index) = exported(script[..made_after].to_vec());
                for old in [vec![], old_script()] {
                    let dir = tempfile::tempdir().unwrap();
                    let mut rig = Rig::open(dir.path(), vec![]);
                    rig.apply_all(old);
                    let incoming = Incoming::new(rig.node.layout(), GROUP, index);
                    copy(out.root(), incoming.folder());
                    rig.replace(&RealFiles, incoming, script[..made_after].to_vec()).unwrap();
                    for command in &script[made_after..] {
                        rig.apply(command.clone());
                    }
                    assert_end(&rig);
                    assert_eq!(std::fs::read_dir(dir.path().join("snapshots/in")).unwrap().count(), 0);
                    // and after a crash
                    rig.machine.checkpoint().unwrap();
                    assert_end(&Rig::open(dir.path(), rig.kill()));
                }
            }
        }
    });
}

#[test]
fn a_snapshot_is_not_changed_by_later_writes_or_merges() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(&dir.path().join("a"), vec![]);
        rig.apply(many(0..200, 1));
        let out = Layout::new(dir.path().join("out"));
        let index = rig.export(&out);
        rig.apply(many(100..400, 2));
        rig.apply(facet_settings());
        rig.apply(records(1, vec![RecordOp::Clear, put("last", 1)]));
        rig.wait();
        rig.machine.close().unwrap();
        let mut other = Rig::open(&dir.path().join("b"), vec![]);
        let incoming = Incoming::new(other.node.layout(), GROUP, index);
        copy(out.root(), incoming.folder());
        other.replace(&RealFiles, incoming, vec![many(0..200, 1)]).unwrap();
        assert_eq!(other.count(1), 200);
        assert!(other.records(1).iter().all(|record| record.starts_with(r#"{"n":1,"#)));
        other.kill();
    });
}

#[test]
fn settings_that_wait_for_a_rebuild_wait_on_the_other_node_too() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(&dir.path().join("a"), vec![]);
        rig.apply(many(0..MANY, 1));
        rig.wait();
        let changed = rig.apply(facet_settings());
        let out = Layout::new(dir.path().join("out"));
        let index = rig.export(&out);
        let mut other = Rig::open(&dir.path().join("b"), vec![]);
        let incoming = Incoming::new(other.node.layout(), GROUP, index);
        copy(out.root(), incoming.folder());
        other.replace(&RealFiles, incoming, rig.log.clone()).unwrap();
        rig.kill();
        if !other.node.is_visible(GROUP, changed) {
            assert_eq!(other.shown("attributesForFaceting"), None);
        }
        other.machine.resume_work().unwrap();
        other.wait_visible(changed);
        assert_eq!(other.shown("attributesForFaceting"), Some(serde_json::json!(["n"])));
        assert_eq!(other.count(1), MANY);
        other.kill();
    });
}

#[test]
fn reads_that_hold_an_old_index_see_it_or_the_new_one() {
    in_system(|| {
        let (_dir, out, index) = exported(vec![many(0..50, 1)]);
        for is_open in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let mut rig = Rig::open(dir.path(), vec![]);
            rig.apply_all(old_script());
            rig.wait();
            if !is_open {
                rig.machine.close().unwrap();
                rig = Rig::open(dir.path(), rig.kill());
            }
            let [one, six] = [1, 6].map(|index| rig.node.index(index).unwrap());
            assert_eq!(one.is_open(), is_open);
            let held = is_open.then(|| one.view().unwrap());
            let incoming = Incoming::new(rig.node.layout(), GROUP, index);
            copy(out.root(), incoming.folder());
            rig.replace(&RealFiles, incoming, vec![many(0..50, 1)]).unwrap();
            let count = |state: &quorate_node::IndexState| state.view().unwrap().shard.record_count();
            assert_eq!(count(&one), if is_open { 1 } else { 50 });
            assert!(held.is_none_or(|view| view.shard.get("old").is_some()));
            if is_open {
                assert_eq!(count(&six), 1, "it is gone, but was open");
            }
            assert_eq!((rig.count(1), rig.records(6)), (50, vec!["gone".to_owned()]));
            rig.kill();
        }
    });
}

/// Opens what a crash left, as a start does: with the working store when it survived, else from the dump.
fn open_after_crash(folder: &Path) -> Rig {
    let layout = Layout::new(folder);
    layout.prepare(&RealFiles).unwrap();
    {
        let (kv, _) = Kv::open(&layout.state(), RealFiles::shared(), 16 << 20).unwrap();
        let tree = kv.tree(&quorate_store::layout::tree(GROUP)).unwrap();
        incoming::resume(&RealFiles, &layout, GROUP, &tree).unwrap();
        if let Some(dump) = dump::read_dump(&layout.dump(GROUP)).unwrap()
            && dump.head.applied_index > tree.applied()
        {
            dump.restore_into(&tree).unwrap();
        }
        incoming::forget(&RealFiles, &layout, GROUP, tree.applied()).unwrap();
    }
    Rig::open(folder, vec![])
}

/// A folder with the old state, all of it durable, and with what has arrived of the new one.
fn before(folder: &Path, out: &Layout, index: u64) {
    let mut rig = Rig::open(folder, vec![]);
    rig.apply_all(old_script());
    rig.machine.close().unwrap();
    rig.dump(&Layout::new(folder));
    copy(out.root(), Incoming::new(&Layout::new(folder), GROUP, index).folder());
    rig.kill();
}

/// The state is wholly the old one, and then the replacement can be made again; or it is wholly the new one.
fn assert_one_of_the_two(folder: &Path, index: u64, new: &[IndexCommand], what: &str) -> bool {
    let mut rig = open_after_crash(folder);
    let is_new = rig.machine.applied() == index;
    if !is_new {
        rig.log = old_script();
        assert_eq!(rig.machine.applied(), rig.log.len() as u64, "{what}");
        for index in [1, 2, 6, 9] {
            assert!(assert_old(&rig, index), "{what}: index {index} is {:?}", rig.records(index));
        }
        let incoming = Incoming::new(rig.node.layout(), GROUP, index);
        rig.replace(&RealFiles, incoming, new.to_vec()).unwrap_or_else(|e| panic!("{what}: {e}"));
    }
    rig.log = new.to_vec();
    replicas::assert_end(&rig);
    assert_eq!(std::fs::read_dir(folder.join("snapshots/in")).unwrap().count(), 0, "{what}");
    rig.kill();
    is_new
}

#[test]
fn a_power_cut_while_a_state_is_replaced_leaves_the_old_one_or_the_new_one() {
    in_system(|| {
        let script = replicas::script();
        let (_dir, out, index) = exported(script.clone());
        let dir = tempfile::tempdir().unwrap();
        before(dir.path(), &out, index);
        let recorder = RecordingFiles::new(dir.path()).unwrap();
        let mut rig = Rig::open_on(dir.path(), vec![], Arc::new(recorder.clone()));
        let incoming = Incoming::new(rig.node.layout(), GROUP, index);
        let first = recorder.points();
        rig.replace(&recorder, incoming, script.clone()).unwrap();
        let last = recorder.points();
        rig.kill();
        let (mut images, mut new) = (0, 0);
        for point in first..=last {
            let torn = (1..=5).map(CrashMode::Torn);
            for mode in [CrashMode::Dropped, CrashMode::Prefix].into_iter().chain(torn) {
                let image = tempfile::tempdir().unwrap();
                recorder.crash_image(point, mode, image.path()).unwrap();
                // a working store is never trusted after a power cut
                let _there_may_be_none = std::fs::remove_dir_all(image.path().join("state"));
                let what = format!("{point} of {first}..={last}, {mode:?}");
                new += usize::from(assert_one_of_the_two(image.path(), index, &script, &what));
                images += 1;
            }
        }
        assert!(images >= 130 && new > 10 && new < images, "{images} images, {new} new");
    });
}

/// A file layer that ends at its n-th change, as a process that is killed there does.
#[derive(Debug)]
struct Killed {
    left: AtomicUsize,
}
impl Killed {
    fn change<T>(&self, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map_err(|_| io::Error::other("killed"))?;
        act()
    }
}
impl Files for Killed {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.change(|| RealFiles.create(path))
    }
    fn create_private(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.change(|| RealFiles.create_private(path))
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.change(|| RealFiles.append(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|| RealFiles.rename(from, to))
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|| RealFiles.hard_link(from, to))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(|| RealFiles.remove(path))
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.change(|| RealFiles.create_dir_all(path))
    }
    /// Removes one file a step, so that it can be cut off in the middle.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(path)? {
            let entry: PathBuf = entry?.path();
            match entry.is_dir() {
                true => self.remove_dir_all(&entry)?,
                false => self.remove(&entry)?,
            }
        }
        self.change(|| RealFiles.remove_dir_all(path))
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.change(|| RealFiles.sync_dir(path))
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.change(|| RealFiles.sync_file(path))
    }
}

#[test]
fn a_process_that_is_killed_while_a_state_is_replaced_goes_on_with_the_old_one_or_the_new_one() {
    in_system(|| {
        let script = replicas::script();
        let (_dir, out, index) = exported(script.clone());
        let mut seen = [0, 0];
        for left in 0.. {
            let dir = tempfile::tempdir().unwrap();
            before(dir.path(), &out, index);
            let killed = Arc::new(Killed { left: AtomicUsize::new(usize::MAX) });
            let mut rig = Rig::open_on(dir.path(), vec![], killed.clone());
            killed.left.store(left, Ordering::SeqCst);
            let incoming = Incoming::new(rig.node.layout(), GROUP, index);
            let ended = rig.replace(&*killed, incoming, script.clone());
            rig.kill();
            let is_new = assert_one_of_the_two(dir.path(), index, &script, &format!("killed after {left}"));
            seen[usize::from(is_new)] += 1;
            if ended.is_ok() {
                break;
            }
        }
        assert!(seen[0] > 2 && seen[1] > 20, "{seen:?}");
    });
}
