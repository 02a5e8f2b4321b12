//! Folders that belong to no index: they go while other indices come, and when a process ends in between, later.

use super::*;
use quorate_store::failing::{FailingFiles, Fault};
use quorate_store::files::FileWriter;
use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What waits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Removal {
    File,
    Folder,
}

/// A disk on which to remove something takes until somebody says so, once.
#[derive(Debug)]
struct Slow {
    waits: Removal,
    begun: Mutex<Option<Sender<()>>>,
    go_on: Mutex<Receiver<()>>,
}
impl Slow {
    /// Also returns who hears that it waits, and who may let it go on.
    fn new(waits: Removal) -> (Slow, Receiver<()>, Sender<()>) {
        let ((begun, has_begun), (say, go_on)) = (channel(), channel());
        (Slow { waits, begun: Mutex::new(Some(begun)), go_on: Mutex::new(go_on) }, has_begun, say)
    }
    fn wait(&self, removal: Removal) -> io::Result<()> {
        let begun = if removal == self.waits { self.begun.lock().unwrap().take() } else { None };
        let Some(begun) = begun else { return Ok(()) };
        begun.send(()).unwrap();
        let wait = self.go_on.lock().unwrap().recv_timeout(Duration::from_secs(30));
        wait.map_err(|_| io::Error::other("nobody said to go on"))
    }
}
impl Files for Slow {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        RealFiles.create(path)
    }
    fn create_private(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        RealFiles.create_private(path)
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        RealFiles.append(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealFiles.rename(from, to)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealFiles.hard_link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.wait(Removal::File)?;
        RealFiles.remove(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        RealFiles.create_dir_all(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.wait(Removal::Folder)?;
        RealFiles.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealFiles.sync_dir(path)
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        RealFiles.sync_file(path)
    }
}

/// A folder with an index that nobody knows, as a power cut brings one back.
fn with_dead(folder: &Path, incarnation: u64) {
    let mut rig = Rig::open(folder, vec![]);
    rig.apply(records(incarnation, (0..20).map(|i| put(&format!("a{i}"), i)).collect()));
    rig.wait();
    rig.machine.close().unwrap();
    drop(rig);
    std::fs::remove_dir_all(folder.join("state")).unwrap();
}

#[test]
fn an_index_comes_while_the_folder_of_a_dead_one_of_the_same_number_is_removed() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        with_dead(dir.path(), 9);
        let (files, has_begun, say) = Slow::new(Removal::Folder);
        let Rig { node, mut machine, .. } = Rig::open_on(dir.path(), vec![], Arc::new(files));
        assert_eq!(node.layout().incarnations().unwrap(), [9]);
        std::thread::scope(|scope| {
            let removed = scope.spawn(|| node.remove_dead(9));
            has_begun.recv_timeout(Duration::from_secs(30)).unwrap();
            assert!(node.layout().incarnations().unwrap().is_empty());
            // neither waits for the removal
            machine.apply(position(1), records(7, vec![put("x", 1)])).unwrap();
            machine.apply(position(2), records(9, vec![put("y", 1)])).unwrap();
            say.send(()).unwrap();
            assert!(removed.join().unwrap().unwrap());
        });
        assert!(!node.remove_dead(9).unwrap(), "it is here");
        let deadline = Instant::now() + Duration::from_secs(30);
        while node.records_visible_through(GROUP) < 2 || !node.is_visible(GROUP, 2) {
            assert!(Instant::now() < deadline);
            std::thread::yield_now();
        }
        for (incarnation, record) in [(7, r#"{"n":1,"objectID":"x"}"#), (9, r#"{"n":1,"objectID":"y"}"#)] {
            let browse = node.pool().browse(
                node.view(incarnation).unwrap(),
                SearchParams::default(),
                None,
                ReadRights::default(),
            );
            let page = wait_for(browse).unwrap();
            assert_eq!(page.hits.iter().map(|hit| hit.to_vec()).collect::<Vec<_>>(), [record.as_bytes()]);
        }
    });
}

/// A node that is behind carries the end of an index out after the installation has forgotten it.
#[test]
fn a_folder_that_a_command_is_removing_is_left_to_it() {
    in_system(|| {
        for removal in [Removal::File, Removal::Folder] {
            let dir = tempfile::tempdir().unwrap();
            let (files, has_begun, say) = Slow::new(removal);
            let Rig { node, mut machine, .. } = Rig::open_on(dir.path(), vec![], Arc::new(files));
            machine.apply(position(1), records(9, vec![put("x", 1)])).unwrap();
            let deadline = Instant::now() + Duration::from_secs(30);
            while !node.is_visible(GROUP, 1) {
                assert!(Instant::now() < deadline);
                std::thread::yield_now();
            }
            std::thread::scope(|scope| {
                let node = &node;
                let janitor = scope.spawn(move || {
                    has_begun.recv_timeout(Duration::from_secs(30)).unwrap();
                    let removed = node.remove_dead(9);
                    say.send(()).unwrap();
                    removed
                });
                machine.apply(position(2), IndexCommand::Drop { index: 9 }).unwrap();
                assert!(!janitor.join().unwrap().unwrap(), "{removal:?}");
            });
            assert_eq!(std::fs::read_dir(node.layout().indices()).unwrap().count(), 0, "{removal:?}");
        }
    });
}

#[test]
fn what_is_left_of_a_removal_that_a_disk_refused_goes_later() {
    in_system(|| {
        let mut rests = 0;
        for after in 0.. {
            let dir = tempfile::tempdir().unwrap();
            with_dead(dir.path(), 9);
            let files = FailingFiles::new(RealFiles::shared());
            let rig = Rig::open_on(dir.path(), vec![], Arc::new(files.clone()));
            files.fail(after, 1, Fault::Device);
            let ended = rig.node.remove_dead(9);
            files.heal();
            drop(rig);
            let rig = Rig::open(dir.path(), vec![]);
            rests += rig.node.layout().dead().unwrap().len();
            rig.node.remove_rests().unwrap();
            let _what_was_not_renamed = rig.node.remove_dead(9).unwrap();
            assert_eq!(std::fs::read_dir(rig.node.layout().indices()).unwrap().count(), 0, "{after}");
            if ended.is_ok() {
                break;
            }
        }
        assert_eq!(rests, 1);
    });
}

#[test]
fn a_rest_that_cannot_go_keeps_no_other() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let files = FailingFiles::new(RealFiles::shared());
        let rig = Rig::open_on(dir.path(), vec![], Arc::new(files.clone()));
        for incarnation in [7, 9] {
            std::fs::create_dir_all(rig.node.layout().dead_index(incarnation).join("0")).unwrap();
        }
        files.fail(0, 1, Fault::Device);
        rig.node.remove_rests().unwrap_err();
        assert_eq!(rig.node.layout().dead().unwrap(), [7]);
        rig.node.remove_rests().unwrap();
        assert!(rig.node.layout().dead().unwrap().is_empty());
    });
}
