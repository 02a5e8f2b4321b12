//! How do the last calls get over a restart?
//!
//! Two files, each for as many calls as are kept: when one is full the other is begun anew, so both together hold at least the
//! calls that are kept and never more than twice as many. They are written without being synced: a file may end within a call, which is
//! passed over, and so is a damaged one, with a word. Nothing rests on them: what cannot be written is missing after a restart.

use super::ring::Kept;
use super::{CALL_BYTES_MAX, CALLS_MAX};
use quorate_store::codec::{self, FRAME_HEADER_BYTES, Mark};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MARK: Mark = Mark { magic: *b"qRqL", version: 1 };
/// Bytes of a write, about.
const WRITE_BYTES: usize = 64 << 10;
/// Bytes of a file that is read at most: more than one of ours ever has.
const FILE_BYTES_MAX: usize = CALLS_MAX * (CALL_BYTES_MAX + FRAME_HEADER_BYTES);

/// The files of a node.
#[derive(Debug)]
pub struct LogFiles {
    paths: [PathBuf; 2],
    /// Which of them is written to.
    turn: usize,
    file: Option<File>,
    /// Calls in it.
    calls: usize,
    /// Bytes of it that are good.
    bytes: u64,
    /// When the first call of each was answered, Unix milliseconds.
    oldest_ms: [Option<u64>; 2],
}

/// What one of them holds.
struct Found {
    calls: Vec<Kept>,
    bytes: u64,
}

impl LogFiles {
    /// Reads the files. Gives what is in them, each file in the order it was written.
    pub(super) fn open(paths: [PathBuf; 2]) -> (LogFiles, Vec<Kept>) {
        let [first, second] = paths.each_ref().map(|path| read(path));
        let newest_ms = |found: &Found| found.calls.last().map(|call| call.time_ms);
        let turn = usize::from(newest_ms(&second) > newest_ms(&first));
        let now = if turn == 1 { &second } else { &first };
        let (calls, bytes) = (now.calls.len(), now.bytes);
        let oldest_ms = [&first, &second].map(|found| found.calls.first().map(|call| call.time_ms));
        let files = LogFiles { paths, turn, file: None, calls, bytes, oldest_ms };
        let (older, newer) = if turn == 1 { (first, second) } else { (second, first) };
        (files, older.calls.into_iter().chain(newer.calls).collect())
    }
    /// Removes files that nobody is to read any more.
    pub fn remove(paths: &[PathBuf; 2]) {
        for path in paths {
            // best effort: it may not be there
            let _missing = std::fs::remove_file(path);
        }
    }

    /// When about the oldest call in them was answered, Unix milliseconds.
    pub fn oldest_ms(&self) -> Option<u64> {
        self.oldest_ms.iter().flatten().min().copied()
    }
    /// Writes calls behind those that are there, and gives how many: those that have a place in the same file. Errors: none of them is
    /// read again.
    pub(super) fn append(&mut self, calls: &[Kept]) -> io::Result<usize> {
        if self.calls >= CALLS_MAX {
            self.begin(1 - self.turn)?;
        }
        let calls = &calls[..calls.len().min(CALLS_MAX - self.calls)];
        self.write(calls)?;
        Ok(calls.len())
    }
    /// Lets the files hold these calls, no more than are kept, and nothing else; gives how many.
    pub(super) fn rewrite(&mut self, calls: &[Kept]) -> io::Result<usize> {
        self.begin(1 - self.turn)?;
        self.begin(1 - self.turn)?;
        self.append(calls)
    }

    fn begin(&mut self, turn: usize) -> io::Result<()> {
        (self.turn, self.file, self.calls, self.bytes) = (turn, None, 0, 0);
        self.oldest_ms[turn] = None;
        let file = self.opened()?;
        file.set_len(0)
    }
    fn opened(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&self.paths[self.turn])?;
            // what is behind the last good call is no call
            file.set_len(self.bytes)?;
            file.seek(SeekFrom::End(0))?;
            self.file = Some(file);
        }
        Ok(self.file.as_mut().expect("it was opened above"))
    }
    fn write(&mut self, calls: &[Kept]) -> io::Result<()> {
        match self.opened().and_then(|file| write_frames(file, calls)) {
            Ok(bytes) => {
                self.calls += calls.len();
                self.bytes += bytes;
                let oldest_ms = &mut self.oldest_ms[self.turn];
                *oldest_ms = oldest_ms.or(calls.first().map(|call| call.time_ms));
                Ok(())
            }
            Err(error) => {
                // a full disk gets back what was begun, and the next call begins there
                if let Some(file) = self.file.take() {
                    let _also_failing = file.set_len(self.bytes);
                }
                Err(error)
            }
        }
    }
}

/// Gives how many bytes that were.
fn write_frames(file: &mut File, calls: &[Kept]) -> io::Result<u64> {
    let (mut bytes, mut frames) = (0, Vec::with_capacity(WRITE_BYTES + CALL_BYTES_MAX));
    for (number, call) in calls.iter().enumerate() {
        codec::frame_into(&mut frames, MARK, &call.bytes);
        if frames.len() >= WRITE_BYTES || number + 1 == calls.len() {
            file.write_all(&frames)?;
            bytes += frames.len() as u64;
            frames.clear();
        }
    }
    Ok(bytes)
}

fn read(path: &Path) -> Found {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX as u64).read_to_end(&mut bytes));
    if read.is_err() {
        bytes.clear();
    }
    let (mut calls, mut good, mut rest) = (Vec::new(), 0, &bytes[..]);
    let mut damage = None;
    while !rest.is_empty() {
        match codec::unframe(MARK, rest) {
            Ok(framed) => {
                // one of another program is passed over
                calls.extend(Kept::from_file(framed.payload.to_vec()));
                rest = framed.rest;
                good = bytes.len() - rest.len();
            }
            Err(why) => {
                damage.get_or_insert((bytes.len() - rest.len(), why));
                let Some(behind) = codec::behind_claimed(MARK, rest) else { break };
                rest = behind;
            }
        }
    }
    if let Some((at, why)) = damage {
        let (file, found, behind) = (path.display(), calls.len(), rest.len());
        tracing::warn!(%file, at, %why, found, behind, "calls are missing in the request log: its file is torn or damaged");
    }
    Found { calls, bytes: good as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_log::LoggedCall;

    fn paths(folder: &Path) -> [PathBuf; 2] {
        [folder.join("log.0"), folder.join("log.1")]
    }
    fn open(folder: &Path) -> (LogFiles, Vec<u64>) {
        let (files, calls) = LogFiles::open(paths(folder));
        (files, calls.iter().map(|call| call.time_ms).collect())
    }
    /// Calls of one size, known by their times.
    fn calls(times: std::ops::Range<u64>) -> Vec<Kept> {
        let call = |time_ms| Kept::written(&LoggedCall { time_ms, ..LoggedCall::default() });
        times.map(call).collect()
    }
    fn call_bytes() -> usize {
        FRAME_HEADER_BYTES + calls(1_000..1_001)[0].bytes.len()
    }
    fn append(files: &mut LogFiles, calls: &[Kept]) {
        let mut rest = calls;
        while !rest.is_empty() {
            rest = &rest[files.append(rest).unwrap()..];
        }
    }
    fn size(folder: &Path) -> usize {
        paths(folder).iter().map(|path| path.metadata().map_or(0, |it| it.len() as usize)).sum()
    }

    #[test]
    fn two_files_take_turns_and_stay_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let (mut files, found) = open(folder.path());
        assert!(found.is_empty() && files.oldest_ms().is_none());
        let most = CALLS_MAX as u64;
        let (begin, mut end) = (1_000, 1_000);
        for step in [1, 10, most - 11, 1, 3 * most, 700, 700, 700] {
            append(&mut files, &calls(end..end + step));
            end += step;
            let (reopened, found) = open(folder.path());
            assert_eq!(files.oldest_ms(), reopened.oldest_ms());
            files = reopened;
            let kept = (end - begin).min(most);
            assert!(found.len() <= 2 * CALLS_MAX && found.len() as u64 >= kept, "{}", found.len());
            let expected: Vec<u64> = (end - found.len() as u64..end).collect();
            assert_eq!(found, expected, "in order, up to the last one");
            assert_eq!(files.oldest_ms(), found.first().copied());
            assert!(size(folder.path()) <= 2 * CALLS_MAX * call_bytes());
        }
        assert_eq!(files.rewrite(&calls(1_003..1_005)).unwrap(), 2);
        assert_eq!(open(folder.path()).1, [1_003, 1_004]);
        assert_eq!(files.rewrite(&[]).unwrap(), 0);
        assert!(files.oldest_ms().is_none() && size(folder.path()) == 0);
    }

    #[test]
    fn what_is_torn_or_damaged_is_passed_over_and_at_the_end_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let (mut files, _) = open(folder.path());
        append(&mut files, &calls(1_000..1_003));
        drop(files);
        let whole = std::fs::read(&paths(folder.path())[0]).unwrap();
        for at in 0..whole.len() {
            let hit = 1_000 + (at / call_bytes()) as u64;
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            // where the next call begins is known by the letters and the length that this one starts with
            let is_passed_over = !matches!(at % call_bytes(), 0..4 | 8..16);
            let behind = if is_passed_over { hit + 1 } else { 1_003 }..1_003;
            for (bytes, behind) in [(&whole[..at], 0..0), (&damaged, behind)] {
                std::fs::write(&paths(folder.path())[0], bytes).unwrap();
                let expected: Vec<u64> = (1_000..hit).chain(behind).collect();
                let (mut files, found) = open(folder.path());
                assert_eq!(found, expected, "{at}");
                append(&mut files, &calls(1_007..1_008));
                let expected: Vec<u64> = expected.into_iter().chain([1_007]).collect();
                assert_eq!(open(folder.path()).1, expected, "{at}");
            }
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_and_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone");
        let (mut files, found) = open(&gone);
        assert!(found.is_empty());
        assert!(files.append(&calls(0..2)).is_err());
        std::fs::create_dir(&gone).unwrap();
        append(&mut files, &calls(2..4));
        assert_eq!(open(&gone).1, [2, 3]);
    }
}
