//! The index of one shard on disk and in memory: the only place that names tantivy.

mod columns;
mod container;
mod error;
pub mod position;
mod records;
mod sections;
mod segment;
mod view;

pub use columns::{FacetColumn, FacetDocs, FacetOrdinals, GeoColumn, NumericColumn, fold};
pub use error::{IndexError, Result};
pub use segment::{Lists, Segment, TermFst};
pub use view::ShardView;
