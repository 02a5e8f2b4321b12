//! A disk that fills up, slows down, and holds or refuses syncs.

use parking_lot::{Condvar, Mutex};
use quorate_raft::{LogFile, LogFiles, RealLogFiles};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[derive(Default)]
struct State {
    is_full: bool,
    failed_writes: u64,
    syncs_fail: bool,
    syncs_held: bool,
    sync_time: Duration,
}

/// The faults in force, shared by all files.
#[derive(Clone, Default)]
pub struct Faults(Arc<(Mutex<State>, Condvar)>);

impl Faults {
    pub fn fill_disk(&self) {
        self.0.0.lock().is_full = true;
    }
    pub fn free_disk(&self) {
        self.0.0.lock().is_full = false;
    }
    pub fn failed_writes(&self) -> u64 {
        self.0.0.lock().failed_writes
    }
    pub fn fail_syncs(&self) {
        self.0.0.lock().syncs_fail = true;
    }
    pub fn heal_syncs(&self) {
        self.0.0.lock().syncs_fail = false;
    }
    pub fn hold_syncs(&self) {
        self.0.0.lock().syncs_held = true;
    }
    pub fn release_syncs(&self) {
        self.0.0.lock().syncs_held = false;
        self.0.1.notify_all();
    }
    pub fn set_sync_time(&self, time: Duration) {
        self.0.0.lock().sync_time = time;
    }
    fn check_space(&self) -> io::Result<()> {
        let mut state = self.0.0.lock();
        if state.is_full {
            state.failed_writes += 1;
            return Err(io::Error::new(io::ErrorKind::StorageFull, "nospace"));
        }
        Ok(())
    }
}

struct FaultyFile {
    file: Arc<dyn LogFile>,
    faults: Faults,
}

impl LogFile for FaultyFile {
    fn read_at(&self, offset: usize, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, bytes)
    }
    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.faults.check_space() {
            // What fits is written, as a real disk does it.
            self.file.write_at(offset, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.file.write_at(offset, bytes)
    }
    fn truncate(&self, len: usize) -> io::Result<()> {
        self.file.truncate(len)
    }
    fn allocate(&self, offset: usize, len: usize) -> io::Result<()> {
        self.faults.check_space()?;
        self.file.allocate(offset, len)
    }
    fn len(&self) -> io::Result<usize> {
        self.file.len()
    }
    fn sync(&self) -> io::Result<()> {
        let (state, wake) = &*self.faults.0;
        let mut state = state.lock();
        while state.syncs_held {
            wake.wait(&mut state);
        }
        let (fails, time) = (state.syncs_fail, state.sync_time);
        drop(state);
        if fails {
            return Err(io::Error::other("the disk is gone"));
        }
        std::thread::sleep(time);
        self.file.sync()
    }
}

impl LogFiles for Faults {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        Ok(Arc::new(FaultyFile { file: RealLogFiles.create(path)?, faults: self.clone() }))
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        Ok(Arc::new(FaultyFile { file: RealLogFiles.open(path)?, faults: self.clone() }))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        RealLogFiles.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealLogFiles.rename(from, to)
    }
}
