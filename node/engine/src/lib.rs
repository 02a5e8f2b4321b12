//! The search library: analysis, index files, matching, ranking, filters, facets, rendering. Synchronous and pure.
pub mod analysis;
pub mod index;
