//! Which queries become suggestions (C§16.1)? The steps that need no index: texts, exclusions, what folds into what, records.
//!
//! Whoever builds asks the source indices what each candidate finds, and puts the answers in between ([`fold`]).

pub mod candidates;
pub mod counted;
pub mod exclude;
pub mod filtered;
pub mod fold;
pub mod normalise;
pub mod popular;
pub mod record;

pub use candidates::{Candidate, Candidates};
pub use counted::CountedSearches;
pub use exclude::Exclusions;
pub use filtered::{FilteredBy, filtered};
pub use fold::{Finds, Folded, Judged, fold, fold_plurals};
pub use normalise::{normalised, words};
pub use popular::popular;
pub use record::{FacetCounts, Suggestion, of_source};
