//! What every part of Quorate means by its words: names, limits, documents, parameters and plain results.
//!
//! No input or output happens here, what tests use ([`seeds`]) apart. Everything is a value or a function from values to values.
#![warn(missing_docs)]

pub mod analytics;
pub mod chance;
pub mod dictionary;
pub mod error;
pub mod event;
pub mod filter;
pub mod give_way;
pub mod ids;
pub mod json;
pub mod key;
pub mod languages;
pub mod level;
pub mod limits;
pub mod params;
pub mod recommend;
pub mod record;
pub mod resource;
pub mod results;
pub mod rule;
pub mod seeds;
pub mod settings;
pub mod shared_map;
pub mod source;
pub mod suggestions;
pub mod synonym;
pub mod user;
pub mod wire;

pub use dictionary::{DictionaryEntry, DictionaryKind, DictionaryOp};
pub use error::{Error, ErrorKind, Result};
pub use event::Event;
pub use filter::{Atom, Filter, FilterAtom};
pub use ids::{GroupId, IndexName, NodeId, ObjectId, TaskId};
pub use key::{Acl, ApiKey};
pub use params::SearchParams;
pub use recommend::{Candidates, RecommendModel, Recommendation};
pub use record::{BatchAction, BuiltIn, PartialOutcome, RecordOp};
pub use resource::ResourceKind;
pub use results::{FacetHits, Hits, ResourceHits, SearchResults};
pub use rule::{RecommendRule, Rule};
pub use settings::{Effective, Settings};
pub use shared_map::SharedMap;
pub use source::{AllowedSource, AllowedSources};
pub use suggestions::SuggestionConfig;
pub use synonym::{Synonym, SynonymKind};
pub use user::UserId;
