//! A disk that remembers what was synced, and shows what a power cut at this moment would leave.

use parking_lot::Mutex;
use quorate_raft::{LogFile, LogFiles, RealLogFiles};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which of the unsynced changes a power cut keeps.
#[derive(Clone, Copy, Debug)]
pub enum Kept {
    /// None of them.
    Nothing,
    /// This many per thousand, from the beginning; the last one is torn.
    Prefix(u64),
    /// Single pages, chosen by this seed.
    Pages(u64),
}

#[derive(Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Len(usize),
}

#[derive(Clone, Default)]
struct Content {
    synced: Vec<u8>,
    unsynced: Vec<Change>,
}

/// The files and what of them is safe.
#[derive(Clone, Default)]
pub struct PowerDisk(Arc<Mutex<BTreeMap<PathBuf, Content>>>);

const PAGE: usize = 4 << 10;

fn carry_out(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Len(len) => bytes.resize(*len, 0),
        Change::Write(offset, data) => {
            let end = offset + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*offset..end].copy_from_slice(data);
        }
    }
}

impl Content {
    fn after_cut(&self, kept: Kept) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        match kept {
            Kept::Nothing => {}
            Kept::Prefix(per_mille) => {
                let count = self.unsynced.len() * per_mille as usize / 1_000;
                self.unsynced[..count].iter().for_each(|change| carry_out(&mut bytes, change));
                if let Some(Change::Write(offset, data)) = self.unsynced.get(count) {
                    carry_out(&mut bytes, &Change::Write(*offset, data[..data.len() / 2].to_vec()));
                }
            }
            Kept::Pages(seed) => {
                let mut all = bytes.clone();
                self.unsynced.iter().for_each(|change| carry_out(&mut all, change));
                bytes.resize(all.len(), 0);
                for (page, chunk) in all.chunks(PAGE).enumerate() {
                    let draw = (seed ^ page as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62;
                    if draw == 0 {
                        bytes[page * PAGE..][..chunk.len()].copy_from_slice(chunk);
                    }
                }
            }
        }
        bytes
    }
}

impl PowerDisk {
    /// Writes what a power cut would leave into another folder.
    pub fn cut(&self, to: &Path, kept: Kept) {
        std::fs::create_dir_all(to).unwrap();
        for (path, content) in self.0.lock().iter() {
            std::fs::write(to.join(path.file_name().unwrap()), content.after_cut(kept)).unwrap();
        }
    }
    fn wrap(&self, path: &Path, file: Arc<dyn LogFile>) -> Arc<dyn LogFile> {
        self.0.lock().entry(path.to_owned()).or_default();
        Arc::new(PowerFile { path: path.to_owned(), file, disk: self.clone() })
    }
    fn note(&self, path: &Path, change: Change) {
        if let Some(content) = self.0.lock().get_mut(path) {
            content.unsynced.push(change);
        }
    }
}

struct PowerFile {
    path: PathBuf,
    file: Arc<dyn LogFile>,
    disk: PowerDisk,
}

impl LogFile for PowerFile {
    fn read_at(&self, offset: usize, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, bytes)
    }
    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<usize> {
        self.disk.note(&self.path, Change::Write(offset, bytes.to_vec()));
        self.file.write_at(offset, bytes)
    }
    fn truncate(&self, len: usize) -> io::Result<()> {
        self.disk.note(&self.path, Change::Len(len));
        self.file.truncate(len)
    }
    fn allocate(&self, offset: usize, len: usize) -> io::Result<()> {
        self.disk.note(&self.path, Change::Len(offset + len));
        self.file.allocate(offset, len)
    }
    fn len(&self) -> io::Result<usize> {
        self.file.len()
    }
    fn sync(&self) -> io::Result<()> {
        if let Some(content) = self.disk.0.lock().get_mut(&self.path) {
            for change in std::mem::take(&mut content.unsynced) {
                carry_out(&mut content.synced, &change);
            }
        }
        self.file.sync()
    }
}

impl LogFiles for PowerDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        Ok(self.wrap(path, RealLogFiles.create(path)?))
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        Ok(self.wrap(path, RealLogFiles.open(path)?))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        // A removed name may come back after a power cut; here it is gone, which is the harder case for the log.
        self.0.lock().remove(path);
        RealLogFiles.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = self.0.lock();
        if let Some(content) = files.remove(from) {
            files.insert(to.to_owned(), content);
        }
        RealLogFiles.rename(from, to)
    }
}
