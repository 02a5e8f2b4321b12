//! What the interface answers: bodies of responses, written straight to bytes, and the query strings it reads.
//!
//! Nothing here knows HTTP status codes or the network; `quorate-api` does.
#![warn(missing_docs)]

pub mod analytics;
pub mod clusters;
pub mod dictionaries;
pub mod error;
pub mod indices;
pub mod json;
pub mod keys;
pub mod logs;
pub mod query;
pub mod resources;
pub mod schema;
pub mod search;
pub mod suggestions;
pub mod writes;

pub use error::error_body;
pub use indices::{IndexPage, index_list_body};
pub use query::QueryString;
pub use search::{FacetBody, SearchBody};
