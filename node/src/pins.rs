//! What did a group hold at one log index? Noted in passing by apply, hashed later and elsewhere.
//!
//! Noting it costs apply a look at each index and its shards one publication. Of an index that is being written to, the
//! segments of that moment are held; of one that is not, only that it is not, and its files are opened when its turn to be
//! hashed comes. One that was written to meanwhile is left out, and so is one whose files are ahead of a log that is being
//! replayed: it is not known what it held.

use crate::digest::{IndexDigest, PinnedIndex};
use crate::error::Result;
use crate::event_digest::EventsPin;
use crate::index::IndexState;
use crate::log_place::LogPlace;
use crate::ops::Incarnation;
use crate::resources::Resources;
use crate::shared::Shared;
use crossbeam_channel::Receiver;
use quorate_engine::index::ShardView;
use quorate_model::{GroupId, Settings};
use std::sync::Arc;
use std::time::Duration;

/// How long a shard may take to show what it was handed before: its queue has 64 MB at most.
const SHOWN: Duration = Duration::from_secs(120);

/// What a group held at a log index.
#[derive(Debug)]
pub struct GroupPin {
    /// The group.
    pub group: GroupId,
    /// The log index.
    pub through: u64,
    indices: Vec<IndexPin>,
    events: Option<EventsPin>,
}

/// What an index held.
#[derive(Debug)]
struct IndexPin {
    state: Arc<IndexState>,
    settings: Arc<Settings>,
    resources: Arc<Resources>,
    records: Records,
}

#[derive(Debug)]
enum Records {
    /// Its shard says so when it is there.
    Asked(Receiver<Result<Arc<ShardView>>>),
    /// Those of its files, as long as this stays the newest ticket.
    Resting(u64),
    /// Its writer is being opened, closed, or fails.
    Unknown,
}

/// What is known of an index of a pinned group.
#[derive(Debug)]
pub enum Held {
    /// The hashes of what it held.
    Known(IndexDigest),
    /// Written to before its turn came, or its shard fails: nobody can say.
    Unknown,
}

impl GroupPin {
    /// Notes what the indices of a group hold now, on the thread that applies its log. Never waits.
    pub(crate) fn take(
        group: GroupId,
        through: u64,
        states: Vec<Arc<IndexState>>,
        events: Option<EventsPin>,
    ) -> GroupPin {
        let mut indices: Vec<IndexPin> =
            states.into_iter().map(|state| IndexPin::take(state, through)).collect();
        indices.sort_by_key(|index| index.state.incarnation);
        GroupPin { group, through, indices, events }
    }
    /// What it held beside indices, once; `None` when nobody can say, or it was taken.
    pub fn take_events(&mut self) -> Option<EventsPin> {
        self.events.take()
    }
    /// Checks and hashes index by index. `pace` as in [`PinnedIndex::digest`]. Cost: two passes over the records.
    pub(crate) fn looks<'p>(
        self,
        node: &'p Shared,
        pace: &'p mut impl FnMut(u64),
    ) -> impl Iterator<Item = (Incarnation, Result<Held>)> + 'p {
        let through = self.through;
        self.indices.into_iter().map(move |index| (index.state.incarnation, index.look(node, through, pace)))
    }
}

impl IndexPin {
    fn take(state: Arc<IndexState>, through: u64) -> IndexPin {
        let records = match state.writer.try_lock().as_deref() {
            Some(Some(writer)) => writer.pin(through).map_or(Records::Unknown, Records::Asked),
            Some(None) => Records::Resting(state.progress.last_ticket()),
            None => Records::Unknown,
        };
        let (settings, resources) = (state.settings.load_full(), state.resources.load_full());
        IndexPin { state, settings, resources, records }
    }
    fn look(self, node: &Shared, through: u64, pace: &mut impl FnMut(u64)) -> Result<Held> {
        let Some(shard) = self.shard(node, through)? else { return Ok(Held::Unknown) };
        let pinned = PinnedIndex::new(&self.state, shard, &self.settings, &self.resources);
        pinned.verify(pace)?;
        Ok(Held::Known(pinned.digest(pace)))
    }
    fn shard(&self, node: &Shared, through: u64) -> Result<Option<Arc<ShardView>>> {
        match &self.records {
            // a shard that fails, or that has ended
            Records::Asked(answer) => Ok(answer.recv_timeout(SHOWN).ok().and_then(Result::ok)),
            Records::Unknown => Ok(None),
            &Records::Resting(ticket) => {
                let is_same = || {
                    self.state.progress.last_ticket() == ticket
                        && node.index(self.state.incarnation).is_some_and(|it| Arc::ptr_eq(&it, &self.state))
                };
                // the log may be replayed to files that are ahead of it
                let is_ahead = self
                    .state
                    .durable_in_files(&*node.files)
                    .is_ok_and(|files| files > LogPlace::whole(through));
                match self.state.shard_view() {
                    _ if is_ahead || !is_same() => Ok(None),
                    shard => shard.map(Some),
                }
            }
        }
    }
}
