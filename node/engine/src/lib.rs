//! The search library: analysis, index files, matching, ranking, filters, facets, rendering. Synchronous and pure.
//!
//! Rooms from the bottom up; none uses one that comes later (`tests/tests/tidy/rooms.rs` has the table): `bits`, `clock`,
//! `prefetch`, `terms` (what words stand for), `text` (characters), `limits`, `page`, `scratch`; `language`; `analysis` (words of
//! a text, the schema); `resources`; `index` (files, segments); `owners`; `term_matches` (of a word in a segment), `filter`; `ranking`;
//! `query` (what is asked for); `matching` (which documents, the best of them); `response`, `rules`, `facet`; `configuration`;
//! `search`; `browse`; `recommend`.
pub mod analysis;
pub mod bits;
pub mod browse;
pub mod clock;
pub mod configuration;
pub mod facet;
pub mod filter;
pub mod index;
pub mod language;
pub mod limits;
pub mod matching;
pub mod owners;
pub mod page;
mod prefetch;
pub mod query;
pub mod ranking;
pub mod recommend;
pub mod resources;
pub mod response;
pub mod rules;
pub mod scratch;
pub mod search;
pub mod term_matches;
pub mod terms;
pub mod text;

pub use analysis::Schema;
pub use browse::{browse, matching_ids, search_facet};
pub use configuration::Configuration;
pub use limits::SearchLimits;
pub use query::synonyms::SynonymSet;
pub use recommend::recommend;
pub use response::record::Selection;
pub use rules::RuleSet;
pub use scratch::Scratch;
pub use search::search;
