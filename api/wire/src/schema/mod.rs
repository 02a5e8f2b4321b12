//! Which shape has each body, for the document of the interface (OpenAPI 3.1)?
//!
//! Small answers are written from the types here ([`bytes`]). The other types are never built: what is asked is read, and what is long
//! is written, elsewhere. Tests hold every answer against its type. A type that is named by a row of the route table becomes a
//! component of the document.

mod access;
mod analytics;
mod clusters;
mod dictionaries;
mod events;
mod forms;
mod indices;
mod insights;
mod installation;
mod logs;
mod objects;
mod operation;
mod parameters;
mod recommend;
mod recommend_rules;
mod resources;
mod search;
mod suggestions;

pub use access::*;
pub use analytics::*;
pub use clusters::*;
pub use dictionaries::*;
pub use events::*;
pub use indices::*;
pub use insights::*;
pub use installation::*;
pub use logs::*;
pub use objects::*;
pub use operation::*;
pub use parameters::{RecordsSelected, SearchParameters, SettingsChange, query_parameters, whole_number};
pub use recommend::*;
pub use recommend_rules::*;
pub use resources::*;
pub use search::*;
pub use suggestions::*;

use serde::Serialize;
use std::borrow::Cow;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

/// The bytes of an answer whose type describes it, too.
pub fn bytes(answer: &(impl Serialize + ToSchema)) -> Vec<u8> {
    serde_json::to_vec(answer).expect("members have names, and writing to memory cannot fail")
}

/// A named schema with those that it refers to, as a row of the route table can hold it.
#[derive(Clone, Copy)]
pub struct SchemaOf {
    /// Its name among the components.
    pub name: fn() -> Cow<'static, str>,
    /// The schema itself.
    pub schema: fn() -> RefOr<Schema>,
    /// Adds those that it refers to.
    pub referred: fn(&mut Vec<(String, RefOr<Schema>)>),
}
impl SchemaOf {
    /// The schema of a type.
    pub const fn of<T: ToSchema>() -> SchemaOf {
        SchemaOf { name: T::name, schema: T::schema, referred: T::schemas }
    }
}
impl std::fmt::Debug for SchemaOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&(self.name)())
    }
}
