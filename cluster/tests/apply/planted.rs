//! A file layer with accidents planted in it: a call that panics, or one that takes as long as a test wants.

use parking_lot::{Condvar, Mutex};
use quorate_store::files::{FileWriter, Files, RealFiles};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Link,
    RemoveFolder,
    Rename,
}

/// What happens instead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accident {
    Panic,
    Fail,
    Hold,
}

#[derive(Clone, Debug)]
struct Plan {
    operation: Operation,
    /// A part of the path.
    place: String,
    accident: Accident,
}

#[derive(Debug, Default)]
struct State {
    plans: Vec<Plan>,
    held: usize,
    met: usize,
}

/// The file system with accidents.
#[derive(Clone, Debug, Default)]
pub struct Planted(Arc<(Mutex<State>, Condvar)>);

impl Planted {
    pub fn plant(&self, operation: Operation, place: &str, accident: Accident) {
        self.0.0.lock().plans.push(Plan { operation, place: place.into(), accident });
    }
    /// From now on all is well; calls that are held go on.
    pub fn clear(&self) {
        self.0.0.lock().plans.clear();
        self.0.1.notify_all();
    }
    /// Calls that are held now.
    pub fn held(&self) -> usize {
        self.0.0.lock().held
    }
    /// Calls that have met an accident.
    pub fn met(&self) -> usize {
        self.0.0.lock().met
    }
    fn meets(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let (state, changed) = &*self.0;
        let mut state = state.lock();
        let path = path.to_string_lossy().into_owned();
        loop {
            let is_it = |plan: &&Plan| plan.operation == operation && path.contains(&plan.place);
            let accident = state.plans.iter().find(is_it).map(|plan| plan.accident);
            state.met += usize::from(accident.is_some());
            match accident {
                None => return Ok(()),
                Some(Accident::Fail) => return Err(io::Error::other("planted")),
                Some(Accident::Panic) => {
                    drop(state);
                    panic!("planted at {path}");
                }
                Some(Accident::Hold) => {
                    state.held += 1;
                    changed.wait_for(&mut state, Duration::from_secs(1));
                    state.held -= 1;
                }
            }
        }
    }
}

impl Files for Planted {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.meets(Operation::Create, path)?;
        RealFiles.create(path)
    }
    fn create_private(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        RealFiles.create_private(path)
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        RealFiles.append(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.meets(Operation::Rename, to)?;
        RealFiles.rename(from, to)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.meets(Operation::Link, to)?;
        RealFiles.hard_link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        RealFiles.remove(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        RealFiles.create_dir_all(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.meets(Operation::RemoveFolder, path)?;
        RealFiles.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealFiles.sync_dir(path)
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        RealFiles.sync_file(path)
    }
}
