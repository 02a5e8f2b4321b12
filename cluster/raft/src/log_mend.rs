//! How does a member that is alone go on when its log is damaged? With a copy of what is whole, and empty entries where others are
//! gone. By hand, on a stopped node, after the loss was accepted.
//!
//! It is no way for a member of several: the others have the entries that would be empty here.

use crate::error::RaftError;
use crate::log_inspect::{self, Part, Scanned};
use crate::log_record::{self, FileHeader, Item, Record};
use protobuf::Message;
use quorate_model::GroupId;
use raft::eraftpb::HardState;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

/// Writes a copy of the log in `from` to the new folder `to`: its whole records, and empty entries in the place of those that
/// damage has taken. What a power cut has cut off is left out. Durable when this returns; `from` stays as it is.
///
/// Errors: `Log`: a file cannot be read or written, or `to` exists.
pub fn copy_without_damage(from: &Path, to: &Path) -> Result<(), RaftError> {
    let report = log_inspect::inspect(from)?;
    let failed = |error: io::Error| RaftError::Log(format!("cannot write {}: {error}", to.display()));
    fs::create_dir(to).map_err(failed)?;
    let mut terms = Terms::default();
    for (path, kind, seq) in log_inspect::files_of(from)? {
        let scanned = log_inspect::scan(&path, kind, seq)?;
        let lost = |at: &Range<usize>| {
            let found = report.damage.iter().find(|it| it.path == path && it.at.start == at.start as u64);
            found.map(|damage| damage.lost.clone()).unwrap_or_default()
        };
        let bytes = mended(&scanned, lost, &mut terms);
        let name = path.file_name().expect("a file of the log has a name");
        let mut file = fs::File::create_new(to.join(name)).map_err(failed)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    }
    fs::File::open(to).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// The bytes of a file without its damage.
fn mended(
    file: &Scanned,
    lost: impl Fn(&Range<usize>) -> BTreeMap<GroupId, Range<u64>>,
    terms: &mut Terms,
) -> Vec<u8> {
    let (mut bytes, signature) = match file.header {
        Some(header) => (file.bytes[..header.bytes].to_vec(), header.signature),
        None => (FileHeader::new_file(), file.seq as u32),
    };
    for part in &file.parts {
        match part {
            Part::Whole(record) => {
                terms.note(record);
                bytes.extend(&file.bytes[record.at.clone()]);
            }
            Part::Broken { at, why } => {
                let items = match why {
                    log_record::Broken::Entries(record) => {
                        terms.note(record);
                        record.items.clone()
                    }
                    log_record::Broken::Frame => gaps(lost(at)),
                };
                if !items.is_empty() {
                    bytes.extend(log_record::without_data(&items, |region| terms.of(region), signature));
                }
            }
        }
    }
    bytes
}

fn gaps(lost: BTreeMap<GroupId, Range<u64>>) -> Vec<Item> {
    let gap = |(group, indices): (GroupId, _)| Item::Entries { region: u64::from(group.0) + 1, indices };
    lost.into_iter().map(gap).collect()
}

/// The terms of the groups where the log is being read. They are on disk with or before the first entry of the term.
#[derive(Default)]
struct Terms(BTreeMap<u64, u64>);

impl Terms {
    fn note(&mut self, record: &Record) {
        for item in &record.items {
            if let Item::Value { region, key, value: Some(value) } = item
                && key == b"hard_state"
            {
                let mut state = HardState::default();
                if state.merge_from_bytes(value).is_ok() {
                    self.0.insert(*region, state.term);
                }
            }
        }
    }
    fn of(&self, region: u64) -> u64 {
        self.0.get(&region).copied().unwrap_or(1)
    }
}
