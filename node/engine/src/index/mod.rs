//! The index of one shard on disk and in memory: the only place that names tantivy.

mod alive;
mod background;
mod background_turn;
mod build;
mod bulk;
mod column_build;
mod columns;
mod common;
mod container;
mod error;
mod extract;
mod form;
mod geo_column;
mod lists;
mod manifest;
mod merge;
mod new_segment;
mod overlay;
pub mod paths;
mod phrases;
pub mod position;
mod rank;
mod rebuild;
mod records;
mod sections;
mod segment;
mod sparse_numbers;
mod trie;
mod view;
mod wire;
mod writer;

pub use background::{Waker, let_short_work_go_first, lower_priority};
pub use background_turn::BackgroundTurn;
#[cfg(test)]
pub(crate) use columns::extents_of;
pub use columns::{EXTENT_DOCS, FacetColumn, FacetDocs, FacetOrdinals, NumericColumn, fold};
pub use common::{CommonValues, Row as CommonRow};
pub use error::{IndexError, Result};
pub use form::{LevelInForce, SegmentForm};
#[cfg(test)]
pub(crate) use geo_column::GeoBuilder;
pub use geo_column::{GeoColumn, on_sphere, squared_chords};
pub use lists::ReadySizes;
pub use manifest::{Built, Payload, ShardFigures};
pub use merge::{MergeGoal, MergeState};
pub use phrases::{PHRASE_WORDS_MAX, Phrases};
pub(crate) use rank::RankKeys;
pub use rebuild::{RebuildCounts, RebuildState};
pub use segment::{Lists, Segment};
#[cfg(test)]
pub(crate) use trie::trie_of;
pub use trie::{TermNode, Terms, letter_bit};
pub use view::{ShardView, verify_file};
pub use writer::{ShardWriter, WriterOptions};
