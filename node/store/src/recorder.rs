//! What a power cut could leave: a file layer that notes every operation, and builds the folder as of any point of them. For tests.
//!
//! The model is what POSIX promises and no more: bytes are durable after the sync of their file, names after the sync of
//! their folder. Everything else may be lost, may be there in part, or may be there wholly. Names of one folder are lost
//! from the newest back, as journals do; a rename is there or not, never half.

use crate::files::{FileWriter, Files, RealFiles, folder_of};
use quorate_model::chance::Chance;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PAGE_BYTES: usize = 4 << 10;

/// What happens to bytes and names that were not synced when the power went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashMode {
    /// None of them is there.
    Dropped,
    /// They are there in the order they were written, up to some moment; the last write is cut.
    Prefix,
    /// Each page of 4 KiB is there or not, by chance; a missing page reads as zeros.
    Torn(u64),
}

type FileId = usize;

#[derive(Clone, Debug)]
enum Step {
    Create {
        file: FileId,
        path: PathBuf,
    },
    /// Bytes that are there but were not written through the recorder, seen when they were synced.
    Seen {
        file: FileId,
        path: PathBuf,
        bytes: Vec<u8>,
    },
    Write {
        file: FileId,
        bytes: Vec<u8>,
    },
    Sync {
        file: FileId,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    MakeDir {
        path: PathBuf,
    },
    RemoveDir {
        path: PathBuf,
    },
    SyncDir {
        path: PathBuf,
    },
}

#[derive(Debug)]
struct Log {
    /// What the folder held at the start; durable.
    base: Disk,
    steps: Vec<Step>,
    /// Names as they are now, so that a write knows its file.
    names: BTreeMap<PathBuf, FileId>,
    dirs: BTreeSet<PathBuf>,
    files: usize,
}

impl Log {
    fn new_file(&mut self, path: &Path) -> FileId {
        let file = self.files;
        self.files += 1;
        self.names.insert(path.to_path_buf(), file);
        file
    }
}

/// The real file system, with a note of every operation under one folder.
#[derive(Clone, Debug)]
pub struct RecordingFiles {
    root: PathBuf,
    log: Arc<Mutex<Log>>,
}

impl RecordingFiles {
    /// Starts recording. What `root` holds now counts as durable.
    pub fn new(root: &Path) -> io::Result<RecordingFiles> {
        let mut base = Disk::default();
        base.load(root)?;
        let (names, dirs) = (base.names.clone(), base.dirs.clone());
        let files = base.contents.len();
        let log = Log { base, steps: Vec::new(), names, dirs, files };
        Ok(RecordingFiles { root: root.to_path_buf(), log: Arc::new(Mutex::new(log)) })
    }
    /// How many operations are noted. A point `p` is the moment after the first `p` of them.
    pub fn points(&self) -> usize {
        self.log().steps.len()
    }
    /// The points directly after a sync of a file or folder.
    pub fn sync_points(&self) -> Vec<usize> {
        let is_sync = |step: &Step| matches!(step, Step::Sync { .. } | Step::SyncDir { .. });
        self.log().steps.iter().enumerate().filter(|(_, step)| is_sync(step)).map(|(at, _)| at + 1).collect()
    }
    /// Builds in the empty or missing folder `into` what a power cut at `point` could leave of the recorded folder.
    pub fn crash_image(&self, point: usize, mode: CrashMode, into: &Path) -> io::Result<()> {
        let disk = {
            let log = self.log();
            let mut disk = log.base.clone();
            for step in &log.steps[..point.min(log.steps.len())] {
                disk.apply(step);
            }
            disk
        };
        let seed = match mode {
            CrashMode::Dropped => 0,
            CrashMode::Prefix => point as u64,
            CrashMode::Torn(seed) => seed ^ (point as u64) << 20,
        };
        disk.cut(mode, &mut Chance::new(seed), &self.root, into)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Runs the operation and notes it, in one step: the order of the notes is the order of the effects.
    fn noted<T>(
        &self,
        run: impl FnOnce() -> io::Result<T>,
        note: impl FnOnce(&mut Log) -> Vec<Step>,
    ) -> io::Result<T> {
        let mut log = self.log();
        let result = run()?;
        let steps = note(&mut log);
        log.steps.extend(steps);
        Ok(result)
    }
    fn create_with(
        &self,
        path: &Path,
        create: impl FnOnce() -> io::Result<Box<dyn FileWriter>>,
    ) -> io::Result<Box<dyn FileWriter>> {
        let mut id = 0;
        let inner = self.noted(create, |log| {
            id = log.new_file(path);
            vec![Step::Create { file: id, path: path.to_path_buf() }]
        })?;
        Ok(Box::new(RecordedFile { inner, file: id, recorder: self.clone() }))
    }
}

struct RecordedFile {
    inner: Box<dyn FileWriter>,
    file: FileId,
    recorder: RecordingFiles,
}
impl Write for RecordedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.recorder.log();
        let written = self.inner.write(bytes)?;
        log.steps.push(Step::Write { file: self.file, bytes: bytes[..written].to_vec() });
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
impl FileWriter for RecordedFile {
    fn sync(&mut self) -> io::Result<()> {
        let mut log = self.recorder.log();
        self.inner.flush()?;
        self.inner.sync()?;
        log.steps.push(Step::Sync { file: self.file });
        Ok(())
    }
}

impl Files for RecordingFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.create_with(path, || RealFiles.create(path))
    }
    fn create_private(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.create_with(path, || RealFiles.create_private(path))
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        let mut log = self.log();
        let inner = RealFiles.append(path)?;
        let file = match log.names.get(path).copied() {
            Some(file) => file,
            None => {
                let (file, bytes) = (log.new_file(path), std::fs::read(path)?);
                log.steps.push(Step::Seen { file, path: path.to_path_buf(), bytes });
                file
            }
        };
        Ok(Box::new(RecordedFile { inner, file, recorder: self.clone() }))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.noted(
            || RealFiles.rename(from, to),
            |log| {
                let naming = Naming::Moved { from: from.to_path_buf(), to: to.to_path_buf() };
                change_names(&mut log.names, &mut log.dirs, &naming);
                vec![Step::Rename { from: from.to_path_buf(), to: to.to_path_buf() }]
            },
        )
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.noted(
            || RealFiles.hard_link(from, to),
            |log| {
                if let Some(file) = log.names.get(from).copied() {
                    log.names.insert(to.to_path_buf(), file);
                }
                vec![Step::Link { from: from.to_path_buf(), to: to.to_path_buf() }]
            },
        )
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.noted(
            || RealFiles.remove(path),
            |log| {
                log.names.remove(path);
                vec![Step::Remove { path: path.to_path_buf() }]
            },
        )
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<PathBuf> =
            path.ancestors().take_while(|p| !p.is_dir()).map(Path::to_path_buf).collect();
        self.noted(
            || RealFiles.create_dir_all(path),
            |log| {
                log.dirs.extend(missing.iter().cloned());
                missing.into_iter().rev().map(|path| Step::MakeDir { path }).collect()
            },
        )
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.noted(
            || RealFiles.remove_dir_all(path),
            |log| {
                let naming = Naming::Gone { path: path.to_path_buf() };
                change_names(&mut log.names, &mut log.dirs, &naming);
                vec![Step::RemoveDir { path: path.to_path_buf() }]
            },
        )
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut log = self.log();
        // What others put into the folder, an engine for instance, becomes durable by this too.
        for entry in std::fs::read_dir(path)? {
            let entry = entry?.path();
            if entry.is_dir() {
                if log.dirs.insert(entry.clone()) {
                    log.steps.push(Step::MakeDir { path: entry });
                }
            } else if !log.names.contains_key(&entry) {
                let bytes = std::fs::read(&entry)?;
                let file = log.new_file(&entry);
                log.steps.push(Step::Seen { file, path: entry, bytes });
            }
        }
        RealFiles.sync_dir(path)?;
        log.steps.push(Step::SyncDir { path: path.to_path_buf() });
        Ok(())
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        let mut log = self.log();
        let bytes = std::fs::read(path)?;
        let known = log.names.get(path).copied();
        let file = known.unwrap_or_else(|| log.new_file(path));
        RealFiles.sync_file(path)?;
        log.steps.extend([Step::Seen { file, path: path.to_path_buf(), bytes }, Step::Sync { file }]);
        Ok(())
    }
}

/// Bytes of a file: what was written, how much of it was synced.
#[derive(Clone, Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    synced: usize,
}

/// A change of names in one or two folders, not yet durable.
#[derive(Clone, Debug)]
enum Naming {
    File { path: PathBuf, file: FileId },
    Dir { path: PathBuf },
    Gone { path: PathBuf },
    Moved { from: PathBuf, to: PathBuf },
}

/// A file system in memory that knows what is durable.
#[derive(Clone, Debug, Default)]
struct Disk {
    contents: Vec<Content>,
    /// Unsynced writes in order: file and length.
    writes: Vec<(FileId, usize)>,
    /// Names as the running process sees them.
    names: BTreeMap<PathBuf, FileId>,
    dirs: BTreeSet<PathBuf>,
    /// Names that a power cut leaves.
    durable_names: BTreeMap<PathBuf, FileId>,
    durable_dirs: BTreeSet<PathBuf>,
    /// What happened to names since, in order.
    pending: Vec<Naming>,
}

impl Naming {
    /// Whether the sync of `dir` makes it durable. A move between folders needs the one it goes to.
    fn is_in(&self, dir: &Path) -> bool {
        let path = match self {
            Naming::File { path, .. } | Naming::Dir { path } | Naming::Gone { path } => path,
            Naming::Moved { to, .. } => to,
        };
        folder_of(path) == dir
    }
}

impl Disk {
    fn load(&mut self, dir: &Path) -> io::Result<()> {
        self.dirs.insert(dir.to_path_buf());
        self.durable_dirs.insert(dir.to_path_buf());
        for entry in std::fs::read_dir(dir)? {
            let path = entry?.path();
            if path.is_dir() {
                self.load(&path)?;
            } else {
                let bytes = std::fs::read(&path)?;
                let file = self.contents.len();
                self.contents.push(Content { synced: bytes.len(), bytes });
                self.names.insert(path.clone(), file);
                self.durable_names.insert(path, file);
            }
        }
        Ok(())
    }

    fn content(&mut self, file: FileId) -> &mut Content {
        if self.contents.len() <= file {
            self.contents.resize_with(file + 1, Content::default);
        }
        &mut self.contents[file]
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Create { file, path } => {
                self.content(*file);
                self.name(Naming::File { path: path.clone(), file: *file });
            }
            Step::Seen { file, path, bytes } => {
                self.content(*file).bytes = bytes.clone();
                if self.names.get(path) != Some(file) {
                    self.name(Naming::File { path: path.clone(), file: *file });
                }
            }
            Step::Write { file, bytes } => {
                self.content(*file).bytes.extend_from_slice(bytes);
                self.writes.push((*file, bytes.len()));
            }
            Step::Sync { file } => {
                let content = self.content(*file);
                content.synced = content.bytes.len();
                self.writes.retain(|(written, _)| written != file);
            }
            Step::Rename { from, to } => self.name(Naming::Moved { from: from.clone(), to: to.clone() }),
            Step::Link { from, to } => {
                if let Some(file) = self.names.get(from).copied() {
                    self.name(Naming::File { path: to.clone(), file });
                }
            }
            Step::Remove { path } | Step::RemoveDir { path } => {
                self.name(Naming::Gone { path: path.clone() })
            }
            Step::MakeDir { path } => self.name(Naming::Dir { path: path.clone() }),
            Step::SyncDir { path } => {
                let (now, later) =
                    std::mem::take(&mut self.pending).into_iter().partition::<Vec<_>, _>(|n| n.is_in(path));
                self.pending = later;
                for naming in now {
                    change_names(&mut self.durable_names, &mut self.durable_dirs, &naming);
                }
            }
        }
    }

    fn name(&mut self, naming: Naming) {
        change_names(&mut self.names, &mut self.dirs, &naming);
        self.pending.push(naming);
    }

    /// Builds what is left after a power cut now.
    fn cut(mut self, mode: CrashMode, chance: &mut Chance, root: &Path, into: &Path) -> io::Result<()> {
        self.cut_names(mode, chance);
        let kept = self.cut_contents(mode, chance);
        std::fs::create_dir_all(into)?;
        let there = |path: &Path, dirs: &BTreeSet<PathBuf>| {
            path.starts_with(root)
                && path.ancestors().skip(1).take_while(|p| p.starts_with(root)).all(|p| dirs.contains(p))
        };
        for dir in self.durable_dirs.iter().filter(|d| there(d, &self.durable_dirs)) {
            std::fs::create_dir_all(into.join(dir.strip_prefix(root).expect("it is under root")))?;
        }
        for (path, file) in self.durable_names.iter().filter(|(p, _)| there(p, &self.durable_dirs)) {
            std::fs::write(into.join(path.strip_prefix(root).expect("it is under root")), &kept[*file])?;
        }
        Ok(())
    }

    /// Lets the first few pending names of each folder through, or none.
    fn cut_names(&mut self, mode: CrashMode, chance: &mut Chance) {
        match mode {
            CrashMode::Dropped => {}
            CrashMode::Prefix => {
                let lucky = chance.index(self.pending.len() + 1);
                for naming in &self.pending[..lucky] {
                    change_names(&mut self.durable_names, &mut self.durable_dirs, naming);
                }
            }
            CrashMode::Torn(_) => {
                let mut closed: Vec<PathBuf> = Vec::new();
                for naming in std::mem::take(&mut self.pending) {
                    if closed.iter().any(|dir| naming.is_in(dir)) {
                        continue;
                    }
                    if chance.index(3) == 0 {
                        closed.extend(naming_folder(&naming));
                        continue;
                    }
                    change_names(&mut self.durable_names, &mut self.durable_dirs, &naming);
                }
            }
        }
    }

    fn cut_contents(&self, mode: CrashMode, chance: &mut Chance) -> Vec<Vec<u8>> {
        let mut kept: Vec<usize> = self.contents.iter().map(|content| content.synced).collect();
        if mode == CrashMode::Prefix && !self.writes.is_empty() {
            let lucky = chance.index(self.writes.len());
            for (file, bytes) in &self.writes[..lucky] {
                kept[*file] += bytes;
            }
            let (file, bytes) = self.writes[lucky];
            kept[file] += chance.index(bytes + 1);
        }
        let mut out = Vec::with_capacity(kept.len());
        for (content, kept) in self.contents.iter().zip(kept) {
            let mut bytes = content.bytes[..kept].to_vec();
            if matches!(mode, CrashMode::Torn(_)) {
                bytes = torn(content, chance);
            }
            out.push(bytes);
        }
        out
    }
}

/// The synced bytes and, behind them, a length by chance whose pages are there or zero.
fn torn(content: &Content, chance: &mut Chance) -> Vec<u8> {
    let unsynced = content.bytes.len() - content.synced;
    let mut bytes = content.bytes[..content.synced + chance.index(unsynced + 1)].to_vec();
    let mut at = content.synced;
    while at < bytes.len() {
        let end = ((at / PAGE_BYTES + 1) * PAGE_BYTES).min(bytes.len());
        if chance.index(2) == 0 {
            bytes[at..end].fill(0);
        }
        at = end;
    }
    bytes
}

fn naming_folder(naming: &Naming) -> Option<PathBuf> {
    match naming {
        Naming::File { path, .. } | Naming::Dir { path } | Naming::Gone { path } => path.parent(),
        Naming::Moved { to, .. } => to.parent(),
    }
    .map(Path::to_path_buf)
}

fn change_names(names: &mut BTreeMap<PathBuf, FileId>, dirs: &mut BTreeSet<PathBuf>, naming: &Naming) {
    match naming {
        Naming::File { path, file } => {
            names.insert(path.clone(), *file);
        }
        Naming::Dir { path } => {
            dirs.insert(path.clone());
        }
        Naming::Gone { path } => {
            names.retain(|name, _| !name.starts_with(path));
            dirs.retain(|dir| !dir.starts_with(path));
        }
        Naming::Moved { from, to } => {
            move_names(names, from, to);
            for dir in dirs.iter().filter(|dir| dir.starts_with(from)).cloned().collect::<Vec<_>>() {
                dirs.remove(&dir);
                dirs.insert(moved(&dir, from, to));
            }
        }
    }
}

fn move_names(names: &mut BTreeMap<PathBuf, FileId>, from: &Path, to: &Path) {
    for (name, file) in names.clone().range(from.to_path_buf()..) {
        if name.starts_with(from) {
            names.remove(name);
            names.insert(moved(name, from, to), *file);
        }
    }
}

fn moved(path: &Path, from: &Path, to: &Path) -> PathBuf {
    match path.strip_prefix(from).expect("the caller checked it") {
        rest if rest.as_os_str().is_empty() => to.to_path_buf(),
        rest => to.join(rest),
    }
}
