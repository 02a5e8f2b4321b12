//! Through where is the log known to be durable? A small file beside it, so that a start can tell damage at its end from a write
//! that a power cut has cut off.
//!
//! It is written beside the log, at most once a second and when the log is closed: what it says is never too much, and an idle
//! node's is exact. Two slots take turns, so a power cut while one is written leaves the other.

use crate::log_files::{LogFile, LogFiles};
use crate::log_inspect::Kind;
use parking_lot::{Condvar, Mutex};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Its name in the folder of the log; no file of the engine is called like this.
pub(crate) const NAME: &str = "durable-through";
const MAGIC: &[u8; 8] = b"QLOGMRK1";
/// Bytes from the beginning of one slot to that of the other: a disk writes so many at once.
const SLOT: usize = 4096;
const BYTES: usize = 8 + 5 * 8 + 4;
/// Between two writes.
const EVERY: Duration = Duration::from_secs(1);

/// A place in one of the two sequences of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogPosition {
    /// The number of the file.
    pub seq: u64,
    /// Bytes of it.
    pub offset: u64,
}

/// What is known to be durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Of what was appended.
    pub appended: LogPosition,
    /// Of what was kept over.
    pub kept: LogPosition,
}

impl Mark {
    /// The place in one of the two sequences.
    pub(crate) fn of(&self, kind: Kind) -> LogPosition {
        match kind {
            Kind::Appended => self.appended,
            Kind::Kept => self.kept,
        }
    }
    /// Notes that a file is durable through a place.
    pub(crate) fn raise(&mut self, kind: Kind, place: LogPosition) {
        let known = match kind {
            Kind::Appended => &mut self.appended,
            Kind::Kept => &mut self.kept,
        };
        *known = place.max(*known);
    }
}

fn encode(mark: Mark, turn: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    let Mark { appended, kept } = mark;
    let numbers = [turn, appended.seq, appended.offset, kept.seq, kept.offset];
    for (place, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    let checksum = crc32fast::hash(&bytes[..BYTES - 4]);
    bytes[BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<(u64, Mark)> {
    let bytes = bytes.get(..BYTES)?;
    let checksum = u32::from_le_bytes(bytes[BYTES - 4..].try_into().ok()?);
    if &bytes[..8] != MAGIC || crc32fast::hash(&bytes[..BYTES - 4]) != checksum {
        return None;
    }
    let number = |at: usize| u64::from_le_bytes(bytes[8 + 8 * at..][..8].try_into().expect("eight bytes"));
    let place = |at: usize| LogPosition { seq: number(at), offset: number(at + 1) };
    Some((number(0), Mark { appended: place(1), kept: place(3) }))
}

/// What the file beside a log says; `None` when there is none, or when no slot of it is whole.
pub(crate) fn read(dir: &Path) -> io::Result<Option<Mark>> {
    let bytes = match std::fs::read(dir.join(NAME)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let slots = [0, SLOT].map(|at| bytes.get(at..).and_then(decode));
    let newest = slots.into_iter().flatten().max_by_key(|(turn, _)| *turn);
    if newest.is_none() && bytes.iter().any(|&byte| byte != 0) {
        tracing::warn!(dir = %dir.display(), "the note of what is durable of the raft log is damaged");
    }
    Ok(newest.map(|(_, mark)| mark))
}

/// What is durable now, and who writes it down.
#[derive(Default)]
pub(crate) struct Durable {
    state: Mutex<State>,
    wake: Condvar,
}
#[derive(Default)]
struct State {
    mark: Mark,
    is_stopping: bool,
}

impl Durable {
    /// Notes that a file has been synced through a place.
    pub(crate) fn raise(&self, kind: Kind, place: LogPosition) {
        self.state.lock().mark.raise(kind, place);
    }
    fn stop(&self) {
        self.state.lock().is_stopping = true;
        self.wake.notify_all();
    }
    /// Waits for the next time to write; the last one is when the log is closed.
    fn wait(&self) -> (Mark, bool) {
        let mut state = self.state.lock();
        if !state.is_stopping {
            self.wake.wait_for(&mut state, EVERY);
        }
        (state.mark, state.is_stopping)
    }
}

/// The thread that writes it down.
pub(crate) struct MarkWriter {
    durable: Arc<Durable>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl MarkWriter {
    /// Begins. What cannot be written is tried again with the next: the log itself does not depend on it.
    pub(crate) fn start(dir: &Path, files: &Arc<dyn LogFiles>, durable: Arc<Durable>) -> io::Result<Self> {
        let before = read(dir)?.unwrap_or_default();
        for kind in [Kind::Appended, Kind::Kept] {
            durable.raise(kind, before.of(kind));
        }
        let file = files.create(&dir.join(NAME))?;
        let newest = |at: usize| {
            let mut bytes = [0; BYTES];
            let read = file.read_at(at, &mut bytes).unwrap_or(0);
            decode(&bytes[..read]).map_or(0, |(turn, _)| turn)
        };
        let (first, second) = (newest(0), newest(SLOT));
        let (mut turn, mut written) = (first.max(second), before);
        // the older slot is the next to be written
        let mut at = if first <= second { 0 } else { SLOT };
        let for_thread = durable.clone();
        let thread = std::thread::Builder::new().name("raft-log-mark".into()).spawn(move || {
            loop {
                let (mark, is_last) = for_thread.wait();
                if mark != written {
                    turn += 1;
                    match write(&*file, at, mark, turn) {
                        Ok(()) => (written, at) = (mark, SLOT - at),
                        Err(error) => tracing::debug!(%error, "cannot note what is durable of the raft log"),
                    }
                }
                if is_last {
                    return;
                }
            }
        })?;
        Ok(MarkWriter { durable, thread: Some(thread) })
    }
}

fn write(file: &dyn LogFile, at: usize, mark: Mark, turn: u64) -> io::Result<()> {
    let bytes = encode(mark, turn);
    let mut written = 0;
    while written < bytes.len() {
        match file.write_at(at + written, &bytes[written..])? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => written += count,
        }
    }
    file.sync()
}

impl Drop for MarkWriter {
    /// Writes the last one.
    fn drop(&mut self) {
        self.durable.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that notes what is durable of the raft log panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_files::RealLogFiles;

    fn place(seq: u64, offset: u64) -> LogPosition {
        LogPosition { seq, offset }
    }

    #[test]
    fn a_damaged_slot_leaves_the_other_and_it_never_goes_back() {
        let dir = tempfile::tempdir().unwrap();
        let files: Arc<dyn LogFiles> = Arc::new(RealLogFiles);
        assert_eq!(read(dir.path()).unwrap(), None);
        let mut last = Mark::default();
        for round in 1..4 {
            let durable = Arc::new(Durable::default());
            let writer = MarkWriter::start(dir.path(), &files, durable.clone()).unwrap();
            durable.raise(Kind::Appended, place(round, 72));
            durable.raise(Kind::Appended, place(round - 1, 9_000));
            durable.raise(Kind::Kept, place(1, round));
            drop(writer);
            let mark = read(dir.path()).unwrap().unwrap();
            assert_eq!(mark, Mark { appended: place(round, 72), kept: place(1, round) });
            let path = dir.path().join(NAME);
            let bytes = std::fs::read(&path).unwrap();
            for at in (0..BYTES).chain(SLOT..SLOT + BYTES).filter(|&at| at < bytes.len()) {
                let mut broken = bytes.clone();
                broken[at] ^= 1;
                std::fs::write(&path, &broken).unwrap();
                let found = read(dir.path()).unwrap();
                assert!(found == Some(mark) || round == 1 || found == Some(last), "{round} {at} {found:?}");
            }
            std::fs::write(&path, &bytes).unwrap();
            last = mark;
        }
    }
}
