//! Do the files of a group's events still read as they were written?

use crate::error::{Error, Result};
use crate::node::Node;
use quorate_insights::store::{EventStore, files_of};
use quorate_model::{Event, GroupId};
use quorate_store::files::Files;
use quorate_store::layout::Layout;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A file of events that does not read as it was written.
#[derive(Debug)]
pub struct UnreadableEvents {
    /// Why, with its path.
    pub error: Error,
    /// Rows that it had; `None`: nobody knows.
    pub rows: Option<u64>,
}

/// Each file of a group's events that a data folder should have, with its bytes and their CRC-32. Errors: their manifest is damaged.
pub fn event_files(data: &Layout, group: GroupId) -> Result<Vec<(PathBuf, u64, u32)>> {
    let folder = data.events_of(group);
    let files = files_of(&folder)?.into_iter();
    Ok(files.map(|(path, bytes, crc)| (folder.join(path), bytes, crc)).collect())
}

/// Lets a stopped node go on without what its files of events have lost, if `is_accepted`. Returns what is lost, or was until now. Errors:
/// the disk refuses.
pub fn accept_lost_events(
    files: Arc<dyn Files>,
    data: &Layout,
    is_accepted: bool,
) -> Result<Vec<UnreadableEvents>> {
    let io = |source| Error::Io { what: format!("listing {}", data.events().display()), source };
    let folders: Vec<PathBuf> = match std::fs::read_dir(data.events()) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>().map_err(io)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => vec![],
        Err(error) => return Err(io(error)),
    };
    let mut all = vec![];
    for folder in folders {
        let mut store = EventStore::open(files.clone(), &folder)?;
        store.look_at_all(&|| true)?;
        let lost = if is_accepted { store.accept_loss()? } else { store.lost() };
        all.extend(lost.iter().map(|lost| UnreadableEvents { error: lost.error().into(), rows: lost.rows }));
    }
    Ok(all)
}

/// Adds events to an earlier copy of a folder of events as of the last entry that the folder has, as a defect would: nothing but their
/// contents tells the two apart then. For tests of what finds that.
#[doc(hidden)]
pub fn plant_events(files: Arc<dyn Files>, folder: &Path, earlier: &Path, events: &[Event]) -> Result<()> {
    let through = EventStore::open(files.clone(), folder)?.kept().through;
    let mut store = EventStore::open(files, earlier)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    store.append(through, now, events);
    Ok(store.seal()?)
}

impl Node {
    /// Files of a group's events that could not be opened when the group was, and those that were not as they were written when somebody
    /// read them. Cost: a lock.
    pub fn lost_events(&self, group: GroupId) -> Vec<UnreadableEvents> {
        let Some(store) = self.shared().events().store(group) else { return vec![] };
        let store = store.lock();
        let lost = store.lost().into_iter();
        lost.map(|lost| UnreadableEvents { error: lost.error().into(), rows: lost.rows }).collect()
    }
    /// Compares every byte of what is derived of a group's events with what was written, as long as `goes_on`. A damaged file goes, and
    /// is derived anew. `pace` is called with the bytes that were read and may take its time. Returns how many were damaged.
    pub fn verify_rollups(
        &self,
        group: GroupId,
        pace: &mut dyn FnMut(u64),
        goes_on: &dyn Fn() -> bool,
    ) -> usize {
        let Some(store) = self.shared().events().store(group) else { return 0 };
        let rollups = store.lock().rollups();
        match rollups.verify(pace, goes_on) {
            Ok(damaged) => {
                for error in &damaged {
                    tracing::error!(group = group.0, %error, "figures of a day are damaged: they are derived anew");
                }
                damaged.len()
            }
            Err(error) => {
                tracing::warn!(group = group.0, %error, "figures of days cannot be checked");
                0
            }
        }
    }
    /// Compares every byte of the files that a group's events have now with what was written, as long as `goes_on`. `pace` is called
    /// with the bytes that were read and may take its time. Those of [`Self::lost_events`] are among what it finds. Cost: one pass
    /// over the files.
    pub fn verify_events(
        &self,
        group: GroupId,
        pace: &mut dyn FnMut(u64),
        goes_on: &dyn Fn() -> bool,
    ) -> Vec<UnreadableEvents> {
        let Some(store) = self.shared().events().store(group) else { return vec![] };
        let segments = store.lock().segments();
        let mut unreadable = vec![];
        for segment in &*segments {
            match segment.verify(pace, goes_on) {
                // it is among what is lost from here on
                Err(error) if segment.unreadable().is_empty() => {
                    let rows = Some(segment.facts().rows);
                    unreadable.push(UnreadableEvents { error: error.into(), rows });
                }
                Ok(()) | Err(_) => {}
            }
        }
        let mut all = self.lost_events(group);
        all.append(&mut unreadable);
        all
    }
}
