//! How a snapshot gets onto this node: piece by piece, checked, going on where an earlier attempt ended.
//!
//! A fetch ends when everything is there and durable, or when it is stopped. Until then it asks: first the node that
//! the consensus named, for the snapshot it named; when that is gone, or nobody answers for a while, all that have a
//! replica of the group, for one that is at least as new.

use super::ahead;
use super::manifest::{FileRow, MANIFEST_FILE, Manifest, ManifestAnswer};
use super::pieces::{Gap, Listed, Piece, questions};
use super::source::SnapshotSource;
use super::throttle::{Stop, Throttle, Turn, Turns};
use super::{CHUNK_BYTES, Description, ManifestId, WantedManifest};
use crate::metrics;
use arc_swap::ArcSwap;
use bytes::Bytes;
use quorate_model::{Error, ErrorKind, GroupId, level};
use quorate_store::StoreError;
use quorate_store::files::{Files, folder_of};
use quorate_store::incoming::Incoming;
use quorate_store::layout::Layout;
use quorate_store::space;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// How files are fetched.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Bytes per second, of all groups together.
    pub bytes_per_s: u64,
    /// Bytes that are asked for at once; at most [`CHUNK_BYTES`].
    pub chunk_bytes: usize,
    /// Bytes of the disk that a snapshot must leave free.
    pub reserve_bytes: u64,
    /// The pause after a first failure; it doubles with each one that follows.
    pub retry_first: Duration,
    /// The longest pause.
    pub retry_max: Duration,
    /// How long one node may go without giving anything before another one is asked.
    pub patience: Duration,
    /// The newest commands that this node knows: a state that depends on newer ones is of no use here.
    pub level: u16,
}

/// The usual rate: below what a disk and a network of ten gigabits give, so that the work of the nodes goes on beside it.
pub const BYTES_PER_S: u64 = 100_000_000;

impl Default for FetchOptions {
    fn default() -> Self {
        FetchOptions {
            bytes_per_s: BYTES_PER_S,
            chunk_bytes: CHUNK_BYTES,
            reserve_bytes: 256 << 20,
            retry_first: Duration::from_millis(100),
            retry_max: Duration::from_secs(5),
            patience: Duration::from_secs(15),
            level: level::NEWEST,
        }
    }
}

/// Groups whose files are fetched at once; the meta group does not wait for a turn.
pub const FETCHES_AT_ONCE: usize = 2;
/// How often a file is fetched anew whose checksum is wrong, before the attempt counts as failed.
const FILE_ATTEMPTS: usize = 3;
/// Pieces that are asked for at once: while one is written others are read, sent and checked.
const PIECES_AHEAD: usize = 6;
/// Files that are looked at, asked for and made durable together: what is known of them is held in memory.
const FILES_TOGETHER: usize = 4_096;
/// Files that are made durable at a time: a disk takes many at once about as fast as one.
const SYNCS_AT_ONCE: usize = 8;
/// Of those in one step, which whoever stops the fetch waits for.
const SYNCS_A_STEP: usize = 64;
/// Bytes of a file after which the disk is told to write: at its end there is little left to wait for.
const SYNC_BYTES: u64 = 32 << 20;
/// How often it is looked whether it is this group's turn.
const TURN_LOOK: Duration = Duration::from_millis(50);

/// Why an attempt ended early.
#[derive(Debug)]
enum FetchError {
    /// Somebody stopped it.
    Stopped,
    /// The node does not have it, or has something that is of no use here: another one may.
    Useless(String),
    /// It may go on after a while.
    Passing(String),
}

impl From<Error> for FetchError {
    fn from(error: Error) -> Self {
        match error.kind {
            ErrorKind::NotFound => FetchError::Useless(error.message),
            _ => FetchError::Passing(error.message),
        }
    }
}
impl From<StoreError> for FetchError {
    fn from(error: StoreError) -> Self {
        FetchError::Passing(error.to_string())
    }
}

/// Where to ask, exchangeable.
pub type SharedSource = Arc<ArcSwap<Arc<dyn SnapshotSource>>>;

/// What a fetch is made of.
pub struct Fetcher {
    /// The data folder.
    pub data: Layout,
    /// The file layer.
    pub files: Arc<dyn Files>,
    /// Where to ask.
    pub source: SharedSource,
    /// This node.
    pub node: u64,
    /// How.
    pub options: FetchOptions,
    /// Shared by all fetches of the node.
    pub throttle: Arc<Throttle>,
    /// Shared by all fetches of the node.
    pub turns: Arc<Turns>,
    /// Ends the fetch.
    pub stop: Arc<Stop>,
    /// The group.
    pub group: GroupId,
    /// The log index that the state has to reflect at least.
    pub index: u64,
    /// What the consensus named; `None` when that cannot be read.
    pub named: Option<Description>,
    /// Who may be asked.
    pub holders: Holders,
}

/// Whose state is of use.
#[derive(Clone, Debug)]
pub enum Holders {
    /// That of everybody who has a replica.
    All,
    /// That of these nodes alone.
    These(Vec<u64>),
}

/// Lets the disk write files while more of them arrives.
struct EarlySync {
    paths: mpsc::SyncSender<PathBuf>,
}

impl EarlySync {
    /// On a thread of its own, which ends by itself when this is dropped.
    fn start(files: Arc<dyn Files>) -> Self {
        let (paths, receiver) = mpsc::sync_channel::<PathBuf>(1);
        // an error is found when the file is made durable: it is told once to everyone who has it open
        let sync = move || receiver.iter().for_each(|path| drop(files.sync_file(&path)));
        let begun = std::thread::Builder::new().name("snapshot-sync".into()).spawn(sync);
        if let Err(error) = begun {
            tracing::debug!(%error, "files of a snapshot are made durable at their ends only");
        }
        EarlySync { paths }
    }
    /// Soon, unless it is busy with what came before.
    fn sync(&self, path: &Path) {
        let _it_is_busy = self.paths.try_send(path.into());
    }
}

/// Who is asked for what.
type Question = (u64, WantedManifest);

impl Fetcher {
    /// Returns what has arrived, complete and durable; `None` when it was stopped.
    pub fn run(&self) -> Option<Incoming> {
        let mut questions = self.first_question();
        let mut pause = self.options.retry_first;
        let mut since = Instant::now();
        loop {
            let Some(question) = questions.pop() else {
                self.stop.wait(pause)?;
                pause = (pause * 2).min(self.options.retry_max);
                questions = self.further_questions();
                continue;
            };
            let mut got = 0;
            match self.attempt(&question, &mut got) {
                Ok(incoming) => return Some(incoming),
                Err(FetchError::Stopped) => return None,
                Err(FetchError::Useless(reason)) => {
                    self.note(&question, &reason);
                    since = Instant::now();
                }
                Err(FetchError::Passing(reason)) => {
                    self.note(&question, &reason);
                    if got > 0 {
                        (since, pause) = (Instant::now(), self.options.retry_first);
                    }
                    self.stop.wait(pause)?;
                    pause = (pause * 2).min(self.options.retry_max);
                    match since.elapsed() < self.options.patience {
                        true => questions.push(question),
                        false => since = Instant::now(),
                    }
                }
            }
        }
    }
    fn note(&self, (from, _): &Question, reason: &str) {
        let group = self.group.0;
        tracing::info!(group, index = self.index, from, reason, "a snapshot has not arrived yet");
    }
    fn first_question(&self) -> Vec<Question> {
        let named =
            self.named.filter(|named| named.id.group == self.group && named.level <= self.options.level);
        named.map(|named| (named.node, WantedManifest::This(named.id))).into_iter().collect()
    }
    /// All that may have it, the best one last.
    fn further_questions(&self) -> Vec<Question> {
        let wanted = WantedManifest::AtLeast { group: self.group, index: self.index };
        let mut nodes = match &self.holders {
            Holders::All => self.source.load().holders(self.group),
            Holders::These(nodes) => nodes.clone(),
        };
        if let Some(named) = self.named
            && !nodes.contains(&named.node)
        {
            nodes.push(named.node);
        }
        nodes.retain(|node| *node != self.node);
        nodes.into_iter().rev().map(|node| (node, wanted)).collect()
    }

    /// Asks one node; `got` counts the bytes that came.
    fn attempt(&self, (from, wanted): &Question, got: &mut u64) -> Result<Incoming, FetchError> {
        let _turn = self.turn()?;
        let manifest = self.manifest(*from, wanted)?;
        let ManifestId { group, index, .. } = manifest.id;
        let is_wanted = match wanted {
            WantedManifest::This(id) => manifest.id == *id,
            WantedManifest::AtLeast { .. } => group == self.group && index >= self.index,
        };
        if !is_wanted || manifest.level > self.options.level {
            return Err(FetchError::Useless("it is not one that can be used here".into()));
        }
        let incoming = Incoming::new(&self.data, self.group, index);
        self.tidy(&incoming, &manifest)?;
        self.check_space(&incoming, &manifest)?;
        let mut folders =
            BTreeSet::from([self.data.root().into(), self.data.snapshots(), self.data.snapshots_in()]);
        for row in &manifest.files {
            let path = incoming.folder().join(&row.path);
            let folder = folder_of(&path);
            if !folders.contains(folder) {
                self.step(|| {
                    self.files.create_dir_all(folder).map_err(|e| StoreError::io("create", folder, e))
                })?;
                let below = folder.ancestors().take_while(|above| *above != self.data.snapshots_in());
                folders.extend(below.map(Path::to_path_buf));
            }
        }
        self.complete(*from, &manifest, incoming.folder(), got)?;
        let folders: Vec<PathBuf> = folders.into_iter().collect();
        self.at_once(&folders, |folder| {
            self.files.sync_dir(folder).map_err(|e| StoreError::io("sync", folder, e))
        })?;
        Ok(incoming)
    }
    fn manifest(&self, from: u64, wanted: &WantedManifest) -> Result<Manifest, FetchError> {
        let source = self.source.load_full();
        let bytes = source.manifest(from, wanted)?;
        let useless = |e: Error| FetchError::Useless(e.message);
        match ManifestAnswer::decode(&bytes).map_err(useless)? {
            ManifestAnswer::Whole(manifest) => Ok(manifest),
            ManifestAnswer::InPieces(head) => head.fetch(|offset, bytes| {
                self.wait_for_rate(bytes.into())?;
                Ok(source.chunk(from, &head.id, MANIFEST_FILE, offset, bytes)?)
            }),
        }
    }
    fn wait_for_rate(&self, bytes: u64) -> Result<(), FetchError> {
        // nothing more is asked for once it is stopped
        self.stop.wait(self.throttle.take(bytes)).ok_or(FetchError::Stopped)
    }
    /// Does the same to many paths, some at a time. Errors: the first one, when the others of its step are done.
    fn at_once(
        &self,
        paths: &[PathBuf],
        act: impl Fn(&Path) -> Result<(), StoreError> + Sync,
    ) -> Result<(), FetchError> {
        for paths in paths.chunks(SYNCS_A_STEP) {
            let mut outcome = Ok(());
            self.step(|| {
                ahead::in_order(
                    paths,
                    SYNCS_AT_ONCE,
                    |path| act(path),
                    |_, done| {
                        let so_far = std::mem::replace(&mut outcome, Ok(()));
                        outcome = so_far.and(done);
                        Ok::<_, StoreError>(())
                    },
                )
            })?;
            outcome?;
        }
        Ok(())
    }
    fn turn(&self) -> Result<Option<Turn<'_>>, FetchError> {
        if self.group == GroupId::META {
            return Ok(None);
        }
        loop {
            if let Some(turn) = self.turns.take() {
                return Ok(Some(turn));
            }
            self.stop.wait(TURN_LOOK).ok_or(FetchError::Stopped)?;
        }
    }
    /// Carries out a step on files, unless the fetch was stopped.
    fn step<T>(&self, act: impl FnOnce() -> Result<T, StoreError>) -> Result<T, FetchError> {
        Ok(self.stop.step(act).ok_or(FetchError::Stopped)??)
    }

    /// Removes files that the snapshot does not have: what is left of another one.
    fn tidy(&self, incoming: &Incoming, manifest: &Manifest) -> Result<(), FetchError> {
        let names: BTreeSet<PathBuf> =
            manifest.files.iter().map(|row| incoming.folder().join(&row.path)).collect();
        for path in files_below(incoming.folder())? {
            if !names.contains(&path) {
                self.remove(&path)?;
            }
        }
        Ok(())
    }
    fn check_space(&self, incoming: &Incoming, manifest: &Manifest) -> Result<(), FetchError> {
        let have = |row: &FileRow| length(&incoming.folder().join(&row.path)).unwrap_or(0).min(row.bytes);
        let missing: u64 = manifest.files.iter().map(|row| row.bytes - have(row)).sum();
        let free = space::of(self.data.root())?.free_bytes;
        match missing.saturating_add(self.options.reserve_bytes) > free && missing > 0 {
            true => Err(FetchError::Passing(format!(
                "{} MB are free, a snapshot needs {} MB and leaves {} MB free",
                free / 1_000_000,
                missing.div_ceil(1_000_000),
                self.options.reserve_bytes / 1_000_000
            ))),
            false => Ok(()),
        }
    }

    /// Brings files to the state of their rows, durably.
    fn complete(
        &self,
        from: u64,
        manifest: &Manifest,
        folder: &Path,
        got: &mut u64,
    ) -> Result<(), FetchError> {
        let listed = |(place, row)| Listed { place: place as u32, row };
        let all: Vec<Listed> = manifest.files.iter().enumerate().map(listed).collect();
        for some in all.chunks(FILES_TOGETHER) {
            let mut left = some.to_vec();
            for _ in 0..FILE_ATTEMPTS {
                left = self.fill(from, &manifest.id, &left, folder, got)?;
                if left.is_empty() {
                    break;
                }
            }
            if let Some(damaged) = left.first() {
                return Err(FetchError::Useless(format!("{} arrives damaged", damaged.row.path)));
            }
            let paths: Vec<PathBuf> = some.iter().map(|it| folder.join(&it.row.path)).collect();
            self.at_once(&paths, |path| self.sync(path))?;
        }
        Ok(())
    }
    /// Makes a whole file durable. One that cannot be made durable is removed: what the system still shows of it may never
    /// have reached the disk, and no later attempt would tell.
    fn sync(&self, path: &Path) -> Result<(), StoreError> {
        self.files.sync_file(path).map_err(|e| {
            let error = StoreError::io("sync", path, e);
            let _what_is_left_is_overwritten = self.files.remove(path);
            error
        })
    }
    /// Links a file that this node has under the same name and length, in the index itself or in an earlier snapshot.
    fn adopt(&self, row: &FileRow, path: &Path, earlier: &[Incoming]) -> Result<(), FetchError> {
        if length(path).is_some_and(|length| length == row.bytes) {
            return Ok(());
        }
        let mut places = vec![self.data.root().join(&row.path)];
        places.extend(earlier.iter().map(|incoming| incoming.folder().join(&row.path)));
        places.retain(|place| place != path && length(place) == Some(row.bytes));
        let Some(place) = places.into_iter().find(|place| checksum(place).is_ok_and(|crc| crc == row.crc))
        else {
            return Ok(());
        };
        self.remove(path)?;
        self.step(|| match self.files.hard_link(&place, path) {
            // its owner has removed it meanwhile
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            linked => linked.map_err(|e| StoreError::io("link", &place, e)),
        })
    }
    /// What a file lacks; `None` when it is whole. One that has all its bytes, but others, begins anew.
    fn gap<'r>(
        &self,
        listed: Listed<'r>,
        path: PathBuf,
        earlier: &[Incoming],
    ) -> Result<Option<Gap<'r>>, FetchError> {
        let row = listed.row;
        self.adopt(row, &path, earlier)?;
        if length(&path).is_some_and(|length| length > row.bytes) {
            self.remove(&path)?;
        }
        let mut crc = crc32fast::Hasher::new();
        let mut have = hash_into(&mut crc, &path)?;
        if have == row.bytes && length(&path).is_some() {
            if crc.clone().finalize() == row.crc {
                return Ok(None);
            }
            self.note_damage(row);
            self.remove(&path)?;
            (have, crc) = (0, crc32fast::Hasher::new());
        }
        Ok(Some(Gap { listed, path, synced: have, have, crc, file: None }))
    }
    /// Fetches what files lack, some pieces ahead of what is written; returns those that have arrived damaged.
    fn fill<'r>(
        &self,
        from: u64,
        id: &ManifestId,
        some: &[Listed<'r>],
        folder: &Path,
        got: &mut u64,
    ) -> Result<Vec<Listed<'r>>, FetchError> {
        let earlier = Incoming::of_group(&self.data, self.group)?;
        let gaps = some.iter().map(|it| self.gap(*it, folder.join(&it.row.path), &earlier));
        let mut gaps: Vec<Gap> = gaps.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let most = self.options.chunk_bytes.min(CHUNK_BYTES) as u32;
        let source = self.source.load_full();
        let asked = questions(&gaps, most, source.pieces_at_once());
        let rows: Vec<&FileRow> = gaps.iter().map(|gap| gap.listed.row).collect();
        let ask = |pieces: &Vec<Piece>| -> Result<Bytes, FetchError> {
            self.wait_for_rate(pieces.iter().map(|piece| u64::from(piece.name.bytes)).sum())?;
            let source = self.source.load_full();
            Ok(match pieces[..] {
                [Piece { gap, name }] => source.chunk(from, id, &rows[gap].path, name.offset, name.bytes)?,
                _ => source.pieces(from, id, &pieces.iter().map(|piece| piece.name).collect::<Vec<_>>())?,
            })
        };
        let mut damaged = vec![];
        let early = EarlySync::start(self.files.clone());
        ahead::in_order(&asked, PIECES_AHEAD, ask, |pieces, arrived| {
            let mut arrived = arrived?;
            for piece in pieces {
                let (gap, bytes) = (&mut gaps[piece.gap], piece.name.bytes as usize);
                if arrived.len() < bytes {
                    let path = &gap.listed.row.path;
                    return Err(FetchError::Useless(format!("{path} ends early at its source")));
                }
                self.write(gap, &arrived.split_to(bytes))?;
                if gap.have - gap.synced >= SYNC_BYTES {
                    gap.synced = gap.have;
                    early.sync(&gap.path);
                }
                *got += bytes as u64;
                metrics::snapshot_bytes(bytes);
                if gap.have == gap.listed.row.bytes && !self.is_whole(gap)? {
                    damaged.push(gap.listed);
                }
            }
            match arrived.is_empty() {
                true => Ok(()),
                false => Err(FetchError::Useless("more arrives than was asked for".into())),
            }
        })?;
        Ok(damaged)
    }
    fn write(&self, gap: &mut Gap, arrived: &[u8]) -> Result<(), FetchError> {
        let path = &gap.path;
        let error = |e| StoreError::io("write", path, e);
        let file = match &mut gap.file {
            Some(file) => file,
            None => {
                let opened = self.step(|| match length(path) {
                    Some(_) => self.files.append(path).map_err(error),
                    None => self.files.create(path).map_err(error),
                })?;
                gap.file.insert(opened)
            }
        };
        self.step(|| file.write_all(arrived).map_err(error))?;
        gap.crc.update(arrived);
        gap.have += arrived.len() as u64;
        Ok(())
    }
    /// Whether a file that has all its bytes has those of its row.
    fn is_whole(&self, gap: &mut Gap) -> Result<bool, FetchError> {
        gap.file = None;
        if gap.crc.clone().finalize() == gap.listed.row.crc {
            return Ok(true);
        }
        self.note_damage(gap.listed.row);
        self.remove(&gap.path)?;
        Ok(false)
    }
    fn note_damage(&self, row: &FileRow) {
        let (group, file) = (self.group.0, &row.path);
        tracing::warn!(group, file, "a file of a snapshot is damaged; it is fetched again");
    }
    fn remove(&self, path: &Path) -> Result<(), FetchError> {
        self.step(|| match self.files.remove(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", path, e)),
            _ => Ok(()),
        })
    }
}

fn length(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(|found| found.is_file()).map(|found| found.len())
}

fn checksum(path: &Path) -> Result<u32, StoreError> {
    let mut crc = crc32fast::Hasher::new();
    hash_into(&mut crc, path)?;
    Ok(crc.finalize())
}

/// Adds what a file holds; a missing one holds nothing. Returns its length.
fn hash_into(crc: &mut crc32fast::Hasher, path: &Path) -> Result<u64, StoreError> {
    let error = |e| StoreError::io("read", path, e);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(error(e)),
    };
    let (mut piece, mut total) = (vec![0; 256 << 10], 0);
    loop {
        match file.read(&mut piece).map_err(error)? {
            0 => return Ok(total),
            read => {
                crc.update(&piece[..read]);
                total += read as u64;
            }
        }
    }
}

fn files_below(root: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let (mut found, mut folders) = (vec![], vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(StoreError::io("list", &folder, e)),
        };
        for entry in entries {
            let path = entry.map_err(|e| StoreError::io("list", &folder, e))?.path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    Ok(found)
}
