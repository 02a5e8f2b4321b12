//! Operations on the records of one index, in the form the log carries (C§3.5).

mod action;
mod parse;
mod partial;
#[cfg(test)]
mod tests;

pub use action::BatchAction;
pub use parse::{
    at_position, check_object_id, object_id_from_json, parse_partial, parse_record, too_large, with_object_id,
};
pub use partial::{PartialOutcome, apply_partial};

use crate::ids::ObjectId;
use serde::{Deserialize, Serialize};

/// One operation of a batch. Records are raw minified JSON objects that contain their `objectID` as a string.
///
/// Variants are numbered by their order: append, never reorder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RecordOp {
    /// Adds the record or replaces the one with its id.
    Put {
        /// The record's id.
        object_id: String,
        /// The whole record as raw JSON text.
        #[serde(with = "serde_bytes")]
        record: Vec<u8>,
    },
    /// Changes some attributes (C§3.5).
    Partial {
        /// The record's id.
        object_id: String,
        /// Raw JSON object of attributes or built-in operations, without objectID.
        #[serde(with = "serde_bytes")]
        changes: Vec<u8>,
        /// Creates the record when it is missing.
        create: bool,
    },
    /// Removes a record; a missing one is no error.
    Delete {
        /// The record's id.
        object_id: String,
    },
    /// Removes every record that passes a filter; evaluated at apply.
    DeleteBy {
        /// The search parameters as a raw JSON object, already checked (filters and geo only).
        #[serde(with = "serde_bytes")]
        params: Vec<u8>,
    },
    /// Removes every record; settings stay.
    Clear,
    /// As `Partial`, unless the record would become larger than it may be: then nothing changes.
    PartialUpTo {
        /// The record's id.
        object_id: String,
        /// Raw JSON object of attributes or built-in operations, without objectID.
        #[serde(with = "serde_bytes")]
        changes: Vec<u8>,
        /// Creates the record when it is missing.
        create: bool,
        /// Bytes that the record may take. A record that is larger already may get smaller.
        bytes_max: u64,
    },
}

impl RecordOp {
    /// The id of the record that it is for; `None` when it is for several.
    pub fn object_id(&self) -> Option<&str> {
        match self {
            RecordOp::Put { object_id, .. }
            | RecordOp::Partial { object_id, .. }
            | RecordOp::PartialUpTo { object_id, .. }
            | RecordOp::Delete { object_id } => Some(object_id),
            RecordOp::DeleteBy { .. } | RecordOp::Clear => None,
        }
    }
}

/// A built-in operation of a partial update (C§3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// Numeric plus.
    Increment,
    /// Numeric minus.
    Decrement,
    /// Appends to an array.
    Add,
    /// Removes all equal elements.
    Remove,
    /// Appends when absent.
    AddUnique,
    /// Plus one step when the value equals the current one, else the whole update is ignored.
    IncrementFrom,
    /// Takes the value when it is greater than the current one, else the whole update is ignored.
    IncrementSet,
}
