//! Is the log of a stopped node whole? What does it hold, where is it damaged, and what did the damage take?
//!
//! A power cut may leave a record at the end half written: nobody was told that it is durable, and it is cut off at the
//! start. Anything else is damage: a record with whole ones behind it, an end before what is known to have been durable
//! ([`crate::log_mark`]), an end that no power cut leaves. What a disk has not written reads as zeros there, sector by sector,
//! because files are reserved empty and never used again.

use crate::error::RaftError;
use crate::log_mark::{self, LogPosition, Mark};
use crate::log_record::{self, Broken, FileHeader, Item, Record};
use protobuf::Message;
use quorate_model::GroupId;
use raft::eraftpb::{HardState, SnapshotMetadata};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes that a disk writes together or not at all.
const SECTOR: usize = 512;
/// Zeros at the end of a record that its own checksum may have.
const ZEROS: usize = 4;

/// What the files of a log hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    /// The files, those of kept-over entries first, each kind from the oldest to the newest.
    pub files: Vec<FileReport>,
    /// The groups.
    pub groups: BTreeMap<GroupId, GroupReport>,
    /// Where it is not as it was written.
    pub damage: Vec<Damage>,
    /// Where a write was cut off by a power cut or a kill before anybody was told of it.
    pub torn: Vec<Torn>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// Its path.
    pub path: PathBuf,
    /// Its whole records.
    pub records: u64,
    /// The end of the last of them.
    pub used: u64,
}

/// What the whole records say of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupReport {
    /// The first and the last entry; none: all were cut off.
    pub entries: Option<(u64, u64)>,
    /// The term.
    pub term: u64,
    /// Everything up to here is known to be committed, at least.
    pub committed: u64,
    /// The members that vote, both halves of a change.
    pub voters: Vec<u64>,
    /// The members that only follow.
    pub learners: Vec<u64>,
    /// The member that the log belongs to.
    pub member: Option<u64>,
}

/// A place where a file is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// From where to where.
    pub at: Range<u64>,
    /// What is wrong.
    pub what: &'static str,
    /// Which entries are gone, by group, as far as what stands before and behind can tell.
    pub lost: BTreeMap<GroupId, Range<u64>>,
    /// Whether more may be gone than `lost` says: entries behind the last whole one, or a vote.
    pub is_open: bool,
}

/// A write that was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The file.
    pub path: PathBuf,
    /// From where on it is cut off.
    pub at: u64,
}

/// A file as it is read: what is whole, and where it breaks.
pub(crate) struct Scanned {
    pub path: PathBuf,
    pub seq: u64,
    pub kind: Kind,
    pub bytes: Vec<u8>,
    pub header: Option<FileHeader>,
    pub parts: Vec<Part>,
}
pub(crate) enum Part {
    Whole(Record),
    Broken { at: Range<usize>, why: Broken },
}

/// Which of the two sequences of files one belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Entries that were kept over when older files were removed.
    Kept,
    /// What was written last.
    Appended,
}

/// The kind and the number that the name of a file says.
pub(crate) fn named(path: &Path) -> Option<(Kind, u64)> {
    let name = path.file_name()?.to_str()?;
    let (digits, kind) = match name.strip_suffix(".raftlog") {
        Some(digits) => (digits, Kind::Appended),
        None => (name.strip_suffix(".rewrite")?, Kind::Kept),
    };
    (digits.len() == 16).then_some((kind, digits.parse().ok()?))
}

/// Reads all files of a log. Changes nothing. Cost: one pass over them.
///
/// Errors: `Log`: a file cannot be read.
pub fn inspect(dir: &Path) -> Result<LogReport, RaftError> {
    let mark = log_mark::read(dir).map_err(|error| unreadable(dir, &error))?;
    let mut inspection = Inspection::default();
    let files = files_of(dir)?;
    for (at, (path, kind, seq)) in files.iter().enumerate() {
        let scanned = scan(path, *kind, *seq)?;
        let is_last = files.get(at + 1).is_none_or(|(_, next, _)| next != kind);
        inspection.add(&scanned, is_last, mark);
    }
    Ok(inspection.finish())
}

/// The files of a log in the order in which they count.
pub(crate) fn files_of(dir: &Path) -> Result<Vec<(PathBuf, Kind, u64)>, RaftError> {
    let listed = match std::fs::read_dir(dir) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(unreadable(dir, &error)),
    };
    let mut files = vec![];
    for entry in listed {
        let path = entry.map_err(|error| unreadable(dir, &error))?.path();
        files.extend(named(&path).map(|(kind, seq)| (path, kind, seq)));
    }
    files.sort_by_key(|(_, kind, seq)| (*kind, *seq));
    Ok(files)
}

fn unreadable(path: &Path, error: &std::io::Error) -> RaftError {
    RaftError::Log(format!("cannot read {}: {error}", path.display()))
}

/// Reads a file and finds every whole record of it.
pub(crate) fn scan(path: &Path, kind: Kind, seq: u64) -> Result<Scanned, RaftError> {
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let header = FileHeader::read(&bytes, seq);
    let mut parts = vec![];
    // behind a header that is damaged the records still tell where they are
    let signature = header.map_or(seq as u32, |header| header.signature);
    let mut at = header.map_or(FileHeader::BYTES, |header| header.bytes);
    let used = log_record::used(&bytes);
    while at < bytes.len() {
        match log_record::record_at(&bytes, at, signature) {
            Ok(record) => {
                at = record.at.end;
                parts.push(Part::Whole(record));
            }
            Err(_) if used <= at => break,
            Err(why) => {
                let next = match &why {
                    Broken::Entries(record) => Some(record.at.end),
                    Broken::Frame => log_record::next_record(&bytes, at + 1, signature),
                };
                let end = next.unwrap_or(used);
                parts.push(Part::Broken { at: at..end, why });
                at = end;
            }
        }
    }
    Ok(Scanned { path: path.to_owned(), seq, kind, bytes, header, parts })
}

/// What is known of a group while the files are gone through.
#[derive(Default)]
struct GroupScan {
    report: GroupReport,
    /// Breaks that were met when its last entry was.
    breaks_seen: usize,
}

#[derive(Default)]
struct Inspection {
    report: LogReport,
    groups: BTreeMap<u64, GroupScan>,
    /// Breaks among what was appended, so far.
    breaks: usize,
}

impl Inspection {
    fn add(&mut self, file: &Scanned, is_last: bool, mark: Option<Mark>) {
        let durable = mark.map(|mark| mark.of(file.kind)).filter(|place| place.seq == file.seq);
        let mut header = file.header.map_or(0, |header| header.bytes);
        if file.header.is_none() && !(is_last && file.is_begun_only(durable)) {
            self.damaged(file, 0..FileHeader::BYTES as u64, "its header is damaged");
            header = FileHeader::BYTES;
        }
        let (mut used, mut records) = (header, 0);
        let count = file.parts.len();
        for (number, part) in file.parts.iter().enumerate() {
            match part {
                Part::Whole(record) => {
                    self.replay(file.kind, record);
                    (used, records) = (record.at.end, records + 1);
                }
                Part::Broken { at, why } => {
                    let is_end = is_last && number + 1 == count;
                    match file.judge(at.clone(), why, is_last, is_end, durable) {
                        None => {
                            self.report.torn.push(Torn { path: file.path.clone(), at: at.start as u64 });
                            // the rest goes with it
                            break;
                        }
                        Some(what) => {
                            self.damaged(file, at.start as u64..at.end as u64, what);
                            self.broken(file.kind, why);
                            used = at.end;
                        }
                    }
                }
            }
        }
        if let Some(place) = durable
            && (used as u64) < place.offset
            && file.header.is_some()
        {
            let what = "it ends before what was durable in it";
            self.damaged(file, used as u64..place.offset, what);
            self.broken(file.kind, &Broken::Frame);
        }
        let used = used as u64;
        self.report.files.push(FileReport { path: file.path.clone(), records, used });
    }

    fn damaged(&mut self, file: &Scanned, at: Range<u64>, what: &'static str) {
        let path = file.path.clone();
        self.report.damage.push(Damage { path, at, what, lost: [].into(), is_open: true });
    }

    /// Notes what a break takes that was just found to be damage.
    fn broken(&mut self, kind: Kind, why: &Broken) {
        self.breaks += 1;
        let Broken::Entries(record) = why else { return };
        for item in &record.items {
            if let Item::Entries { region, indices } = item {
                self.lose(*region, indices.clone());
            }
        }
        // the values beside the entries are whole
        self.replay(kind, record);
        if let Some(damage) = self.report.damage.last_mut() {
            damage.is_open = false;
        }
    }

    fn lose(&mut self, region: u64, indices: Range<u64>) {
        if let (Some(group), Some(damage)) = (group_of(region), self.report.damage.last_mut())
            && !indices.is_empty()
        {
            damage.lost.insert(group, indices);
        }
    }

    fn replay(&mut self, kind: Kind, record: &Record) {
        for item in &record.items {
            match item {
                Item::Entries { region, indices } => self.entries(kind, *region, indices.clone()),
                Item::Compact { region, index } => {
                    let report = &mut self.groups.entry(*region).or_default().report;
                    report.entries = report
                        .entries
                        .and_then(|(first, last)| (*index <= last).then_some((first.max(*index), last)));
                }
                Item::Clean { region } => drop(self.groups.remove(region)),
                Item::Value { region, key, value } => {
                    let report = &mut self.groups.entry(*region).or_default().report;
                    report.note(key, value.as_deref());
                }
            }
        }
    }

    fn entries(&mut self, kind: Kind, region: u64, indices: Range<u64>) {
        let breaks = self.breaks;
        let group = self.groups.entry(region).or_default();
        let is_first_behind = std::mem::replace(&mut group.breaks_seen, breaks) < breaks;
        let known = group.report.entries;
        let first = known.map_or(indices.start, |(first, _)| first.min(indices.start));
        if !indices.is_empty() {
            group.report.entries = Some((first, indices.end - 1));
        }
        if let (Some((_, last)), true, Kind::Appended) = (known, is_first_behind, kind)
            && indices.start > last + 1
        {
            self.lose(region, last + 1..indices.start);
        }
    }

    fn finish(mut self) -> LogReport {
        let groups = std::mem::take(&mut self.groups);
        let known = groups.into_iter().filter_map(|(region, scan)| Some((group_of(region)?, scan.report)));
        self.report.groups = known.collect();
        self.report
    }
}

/// The group that the engine knows as this region.
pub(crate) fn group_of(region: u64) -> Option<GroupId> {
    u16::try_from(region.checked_sub(1)?).ok().map(GroupId)
}

impl GroupReport {
    fn note(&mut self, key: &[u8], value: Option<&[u8]>) {
        match (key, value) {
            (b"hard_state", Some(value)) => {
                if let Ok(state) = parsed::<HardState>(value) {
                    (self.term, self.committed) = (state.term, state.commit);
                }
            }
            (b"conf", Some(value)) => {
                if let Ok(mut at) = parsed::<SnapshotMetadata>(value) {
                    let conf = at.take_conf_state();
                    self.voters = conf.voters.into_iter().chain(conf.voters_outgoing).collect();
                    self.voters.sort_unstable();
                    self.voters.dedup();
                    self.learners = conf.learners.into_iter().chain(conf.learners_next).collect();
                }
            }
            (b"conf", None) => (self.voters, self.learners) = (vec![], vec![]),
            (b"identity", Some(value)) => self.member = value.try_into().ok().map(u64::from_le_bytes),
            _ => {}
        }
    }
}

fn parsed<M: Message>(bytes: &[u8]) -> Result<M, protobuf::ProtobufError> {
    let mut message = M::new();
    message.merge_from_bytes(bytes)?;
    Ok(message)
}

impl Scanned {
    /// Whether it is a newest file whose header had not reached the disk, and that nothing was written to.
    fn is_begun_only(&self, durable: Option<LogPosition>) -> bool {
        let is_empty = log_record::used(&self.bytes) <= FileHeader::BYTES;
        is_empty && durable.is_none_or(|place| place.offset <= FileHeader::BYTES as u64)
    }

    /// What is wrong where it breaks; `None`: a write was cut off there that nobody was told of.
    fn judge(
        &self,
        at: Range<usize>,
        why: &Broken,
        is_last: bool,
        is_end: bool,
        durable: Option<LogPosition>,
    ) -> Option<&'static str> {
        if !is_last {
            return Some("a file that newer ones follow is damaged");
        }
        if durable.is_some_and(|place| (at.start as u64) < place.offset) {
            return Some("what was durable is damaged");
        }
        match self.kind {
            // several records of these become durable together; what they hold is elsewhere until then
            Kind::Kept => None,
            Kind::Appended if !is_end => Some("whole records follow"),
            Kind::Appended => self.is_rotten(at.start, why).then_some("no power cut leaves this"),
        }
    }

    /// Whether the last record was written to the end and changed afterwards. A write that was cut off lacks whole sectors.
    fn is_rotten(&self, at: usize, why: &Broken) -> bool {
        let (bytes, used) = (&self.bytes, log_record::used(&self.bytes));
        let signature = self.header.map_or(self.seq as u32, |header| header.signature);
        let end = match why {
            Broken::Entries(record) => record.at.end,
            Broken::Frame => log_record::said_end(bytes, at).unwrap_or(used),
        };
        let is_written = end < used + ZEROS && used <= end && used >= at + log_record::HEADER;
        let lacks_sector = || {
            let borders = (at / SECTOR + 1..).map(|sector| sector * SECTOR);
            let ends = borders.take_while(|&border| border < end).chain([end]);
            let mut start = at;
            ends.into_iter().any(|end| {
                let piece = &bytes[start..end.min(bytes.len())];
                start = end;
                piece.len() >= ZEROS && piece.iter().all(|&byte| byte == 0)
            })
        };
        is_written && !lacks_sector() || log_record::is_one_byte_off(bytes, at, signature)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { path, at, what, lost, is_open } = self;
        write!(f, "{} from byte {} to {}: {what}", path.display(), at.start, at.end)?;
        for (group, indices) in lost {
            write!(f, "; group {group} lacks entries {} to {}", indices.start, indices.end - 1)?;
        }
        match (is_open, lost.is_empty()) {
            (true, true) => write!(f, "; what was there cannot be told from what is whole"),
            (true, false) => write!(f, "; votes and commit positions that stood there are gone, too"),
            (false, _) => Ok(()),
        }
    }
}

impl fmt::Display for LogReport {
    /// Where it is damaged, in one line for each place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, damage) in self.damage.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{damage}")?;
        }
        Ok(())
    }
}
