//! The index of one shard on disk and in memory: the only place that names tantivy.

mod alive;
mod build;
mod column_build;
mod columns;
mod container;
mod error;
mod extract;
mod lists;
mod manifest;
mod merge;
mod overlay;
pub mod paths;
pub mod position;
mod rank;
mod records;
mod sections;
mod segment;
mod sparse_numbers;
mod trie;
mod view;
mod wire;
mod writer;

pub use columns::{FacetColumn, FacetDocs, FacetOrdinals, GeoColumn, NumericColumn, fold, on_sphere};
pub use error::{IndexError, Result};
pub use manifest::{Payload, ShardFigures};
pub use merge::{MergeGoal, MergeState};
pub use segment::{Lists, Segment};
#[cfg(test)]
pub(crate) use trie::trie_of;
pub use trie::{TermNode, Terms};
pub use view::ShardView;
pub use writer::{ShardWriter, WriterOptions};
