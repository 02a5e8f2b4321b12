//! How does a write of a group look to the engine?

use crate::effects::{Persist, Position, SnapshotChange};
use crate::log_engine::RaftEngine;
use protobuf::Message;
use quorate_model::GroupId;
use raft::eraftpb::{ConfState, Entry, Snapshot, SnapshotMetadata};
use raft_engine::{Command, LogBatch, MessageExt};

/// The format of what is written; readers accept every version up to it.
pub(crate) const FORMAT: u8 = 1;

pub(crate) const KEY_FORMAT: &[u8] = b"format";
pub(crate) const KEY_IDENTITY: &[u8] = b"identity";
pub(crate) const KEY_HARD_STATE: &[u8] = b"hard_state";
pub(crate) const KEY_CONF: &[u8] = b"conf";
pub(crate) const KEY_TRUNCATED: &[u8] = b"truncated";
pub(crate) const KEY_SNAPSHOT: &[u8] = b"snapshot";
pub(crate) const KEY_LEFT: &[u8] = b"left";
/// The log index of the snapshot that was put into the state last.
pub(crate) const KEY_RESTORED: &[u8] = b"restored";
/// The log index through which entries have left the disk because they were to.
pub(crate) const KEY_ERASED: &[u8] = b"erased";

pub(crate) struct EntryExt;
impl MessageExt for EntryExt {
    type Entry = Entry;
    fn index(entry: &Entry) -> u64 {
        entry.index
    }
}

/// Adds a write to a batch of the engine. One that changes the snapshot goes by what the engine has: no other is in the batch.
pub(crate) fn add_to_batch(
    engine: &RaftEngine,
    batch: &mut LogBatch,
    persist: &Persist,
) -> Result<(), raft_engine::Error> {
    let Persist { group, seq: _, hard_state, entries, conf, truncated, snapshot, identity } = persist;
    let region = region(*group);
    match snapshot {
        SnapshotChange::Install(snapshot) => {
            begin_anew(engine, batch, region, &[KEY_LEFT])?;
            add_snapshot(batch, region, snapshot)?;
        }
        SnapshotChange::Done => {
            if let Some(snapshot) = engine.get_message::<Snapshot>(region, KEY_SNAPSHOT)? {
                let index = snapshot.get_metadata().index;
                batch.put(region, KEY_RESTORED.to_vec(), index.to_le_bytes().to_vec())?;
            }
            batch.delete(region, KEY_SNAPSHOT.to_vec());
        }
        SnapshotChange::Leave(left) => {
            begin_anew(engine, batch, region, &[])?;
            put_message(batch, region, KEY_LEFT, &metadata(*left, None))?;
        }
        SnapshotChange::Keep => {}
    }
    if let Some(identity) = identity {
        batch.put(region, KEY_FORMAT.to_vec(), vec![FORMAT])?;
        batch.put(region, KEY_IDENTITY.to_vec(), identity.to_le_bytes().to_vec())?;
    }
    if let Some(hard_state) = hard_state {
        put_message(batch, region, KEY_HARD_STATE, hard_state)?;
    }
    if let Some((index, conf)) = conf {
        put_message(batch, region, KEY_CONF, &metadata(Position { index: *index, term: 0 }, Some(conf)))?;
    }
    if !entries.is_empty() {
        batch.add_entries::<EntryExt>(region, entries)?;
    }
    if let Some(truncated) = truncated {
        put_message(batch, region, KEY_TRUNCATED, &metadata(*truncated, None))?;
        batch.add_command(region, Command::Compact { index: truncated.index + 1 });
    }
    Ok(())
}

/// Removes all there is of a group but who this member is, its term and vote, and these. Only that is a word which outlives the
/// file it stands in: words that entries are cut or a value is deleted go with it, and what older files have counts again.
fn begin_anew(
    engine: &RaftEngine,
    batch: &mut LogBatch,
    region: u64,
    kept: &[&[u8]],
) -> Result<(), raft_engine::Error> {
    batch.add_command(region, Command::Clean);
    for key in [KEY_FORMAT, KEY_IDENTITY, KEY_HARD_STATE].into_iter().chain(kept.iter().copied()) {
        if let Some(value) = engine.get(region, key) {
            batch.put(region, key.to_vec(), value)?;
        }
    }
    Ok(())
}

/// Says where the log begins behind a snapshot.
fn add_snapshot(batch: &mut LogBatch, region: u64, snapshot: &Snapshot) -> Result<(), raft_engine::Error> {
    let at = snapshot.get_metadata();
    let position = Position { index: at.index, term: at.term };
    put_message(batch, region, KEY_TRUNCATED, &metadata(position, None))?;
    put_message(batch, region, KEY_CONF, &metadata(position, Some(at.get_conf_state())))?;
    put_message(batch, region, KEY_SNAPSHOT, snapshot)
}

fn put_message<M: Message>(
    batch: &mut LogBatch,
    region: u64,
    key: &[u8],
    value: &M,
) -> Result<(), raft_engine::Error> {
    batch.put_message(region, key.to_vec(), value)
}

fn metadata(position: Position, conf: Option<&ConfState>) -> SnapshotMetadata {
    let mut metadata = SnapshotMetadata::default();
    metadata.index = position.index;
    metadata.term = position.term;
    if let Some(conf) = conf {
        metadata.set_conf_state(conf.clone());
    }
    metadata
}

pub(crate) fn region(group: GroupId) -> u64 {
    u64::from(group.0) + 1
}
