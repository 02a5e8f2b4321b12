//! The search library: analysis, index files, matching, ranking, filters, facets, rendering. Synchronous and pure.
pub mod analysis;
pub mod browse;
pub mod clock;
pub mod configuration;
pub mod documents;
pub mod facet;
pub mod filter;
pub mod index;
pub mod language;
pub mod matching;
pub mod owners;
pub mod page;
mod prefetch;
pub mod query;
pub mod ranking;
pub mod response;
pub mod rules;
pub mod search;

pub use analysis::Schema;
pub use browse::{browse, matching_ids, search_facet};
pub use configuration::Configuration;
pub use matching::scratch::Scratch;
pub use query::synonyms::SynonymSet;
pub use response::render_record;
pub use rules::RuleSet;
pub use search::{SearchLimits, search};
