//! What one machine knows: the living indices of a node, how commands change them, how reads see them.
//!
//! It has never heard of Raft or of HTTP. `cluster` hands every placement group's commands to a [`PlacementMachine`]
//! in log order; reads load an immutable [`IndexView`] and run on the [`SearchPool`].

mod dead;
pub mod dictionaries;
pub mod digest;
pub mod error;
mod event_checks;
mod event_digest;
mod events;
mod gone_files;
pub mod halt;
pub mod index;
mod indices;
pub mod log_place;
pub mod machine;
pub mod models;
pub mod node;
pub mod objects;
pub mod ops;
pub mod payer;
pub mod pins;
pub mod progress;
mod recommend;
pub mod resources;
pub mod search;
mod set_digest;
pub mod shard;
mod shared;
mod sharing;
mod sink;
mod turns;
mod user_records;
mod virtual_configuration;
mod virtual_replica;
mod writers;

pub use dictionaries::{SharedDictionaries, Told};
pub use digest::{IndexDigest, PinnedIndex, verify_file};
pub use error::{Error, Error as NodeError, Result};
pub use event_checks::{UnreadableEvents, accept_lost_events, event_files, plant_events};
pub use event_digest::{EventsDigest, EventsPin, RowsDigest};
pub use events::{Arrived, EventFigures, Forgets, ForgottenUsers, GroupEvents, NamedSearch};
pub use halt::{Halt, Left};
pub use index::{IndexState, IndexStats, IndexView};
pub use machine::{Fences, LogPosition, PlacementMachine};
pub use models::{Installed, Made, Making, ModelKey, ModelState};
pub use node::{Node, NodeOptions, RebuildFigures};
pub use ops::{Follower, Incarnation, IndexCommand, RawResource, ReplicaKind};
pub use payer::Payer;
pub use pins::{GroupPin, Held};
pub use quorate_engine::index::{LevelInForce, let_short_work_go_first, lower_priority};
pub use quorate_engine::language::{CustomEntries, Dictionaries, EntryChange, Language};
pub use quorate_insights::neighbours::{
    HeldOut, Interactions, NeighboursError, Parameters, Report, uploaded,
};
pub use quorate_insights::store::{Batch, EventView};
pub use quorate_insights::{analytics, chains, page, rows, segment, suggestions};
pub use resources::Resources;
pub use search::{ReadRights, SearchPool, Turn};
pub use set_digest::Digest;
pub use shard::{Pace, ShardStatus};
pub use sink::SinkStanding;
