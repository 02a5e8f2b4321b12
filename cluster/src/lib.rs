//! Many machines agreeing: commands, placement, the paths of a write and of a read.
//!
//! The rooms, from the bottom up; each uses those before it only (`tests/tests/tidy/rooms.rs` has the table):
//!
//! | room | question |
//! |---|---|
//! | [`clock`], [`ids`], [`metrics`], [`panics`], [`mod@beside`] | what time it is, what is counted, how long work runs |
//! | [`command`] | what a log entry can say |
//! | [`meta`] | what the whole installation knows: the state machine of the meta group |
//! | [`disk`] | whether there is room for another write |
//! | [`peer`] | how nodes reach each other |
//! | [`snapshot`] | how the state of a group travels |
//! | [`request_log`] | which calls were answered lately |
//! | [`rate_limit`] | how many calls keys still allow |
//! | [`types`], [`options`] | what is handed to callers, what a node is started with |
//! | [`apply`] | how entries become state |
//! | [`rpc`] | what nodes ask each other |
//! | [`groups`] | the groups of this node: start, stop, leases to serve reads |
//! | [`context`] | what all work of a node rests on, and the way of a command into a log |
//! | [`read`] | the path of a read, here or on another node |
//! | [`write`] | the path of a write |
//! | [`suggestions`] | how suggestions of queries are made |
//! | [`users`] | which cluster has whose records, and their moves |
//! | [`membership`] | what operators see and change |
//! | [`controllers`] | what goes on in the background |
//! | [`lifecycle`] | start, join, recovery, and answers to other nodes |
//! | [`service`] | what the interface calls |

pub mod apply;
mod beside;
mod clock;
pub mod command;
mod context;
mod controllers;
pub mod disk;
mod groups;
pub mod ids;
mod lifecycle;
pub mod membership;
pub mod meta;
mod metrics;
mod options;
pub mod panics;
pub mod peer;
pub mod rate_limit;
mod read;
pub mod request_log;
mod rpc;
pub mod service;
pub mod snapshot;
mod suggestions;
mod types;
pub mod users;
mod write;

pub use clock::{rfc3339, unix_ms};
pub use context::searches::{Searcher, ServedSearch, ServedSearches};
pub use context::traffic::{QueryFigures, Traffic};
pub use groups::damage;
pub use lifecycle::recovery::{Loss, NodeSurvey, Recovery, RecoveryPlan};
pub use meta::{IndexLimits, KeyDigest, KeyMap};
pub use options::{CheckOptions, ClusterOptions, EventSink, Expected, ServiceOptions, Started};
pub use quorate_node::chains::normalized as counted_query;
pub use quorate_node::page::After as AfterRow;
pub use quorate_node::rows::EventRow;
pub use quorate_node::segment::{PlainWriter, foreign_rows, plain_rows};
pub use quorate_node::{Payer, RawResource, let_short_work_go_first};
pub use read::health::Health;
pub use service::Service;
pub use types::{
    BuildAttempt, CallerOp, DictionaryLanguage, EventReplica, EventsFound, EventsOfGroup, GroupDigest,
    IndexInfo, IndexOperation, ModelFigures, NamedDigest, NodeDigest, ObjectRequest, ReadRights, Receipt,
    RowsPage, UnheardNode,
};
pub use write::Reach;
pub use write::resource_changes::ResourceChange;
