//! What can go wrong, in the words the caller reads (C§19).

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The class of an error; the HTTP status follows from it in `api` and nowhere else. Nodes send it to each other: append,
/// never reorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ErrorKind {
    /// The caller sent something invalid (400).
    Invalid,
    /// Credentials are unknown or missing, or a right is lacking (403).
    Forbidden,
    /// The index, object or key is not there (404).
    NotFound,
    /// The route exists but not with this method (405).
    MethodNotAllowed,
    /// The body or a record is over its limit (413).
    TooLarge,
    /// A key used up its hourly allowance (429).
    RateLimited,
    /// This part of the interface is not built yet (404).
    NotImplemented,
    /// Another node, or the same one later, can serve this (503).
    Unavailable,
    /// A defect or a failing disk (500).
    Internal,
    /// The installation does not use this part of the interface (402).
    NotEnabled,
    /// The body can be read, and says what no event can (422).
    Unprocessable,
    /// As `Forbidden`, of parts of the interface that say so in their own way (401).
    Unauthorized,
}

/// An error with the text the caller sees and the members some answers carry beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// The class.
    pub kind: ErrorKind,
    /// The text of the `message` member.
    pub message: String,
    /// Position of the failing operation in a batch (C§19 "Record at the position …").
    pub position: Option<u64>,
    /// objectID of the failing record, where one is known.
    pub object_id: Option<String>,
}

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes an error of `kind` that says `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), position: None, object_id: None }
    }
    /// 400.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }
    /// 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }
    /// 403.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, message)
    }
    /// 503.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }
    /// 500.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }
    /// 404 with the catalogue's text for a missing index.
    pub fn no_index(name: &str) -> Self {
        Self::not_found(format!("Index {name} does not exist"))
    }
    /// 404 with the catalogue's text for a missing record.
    pub fn no_object() -> Self {
        Self::not_found("ObjectID does not exist")
    }
    /// 400 `Invalid value for "<name>" parameter, expected <what>` (C§19).
    pub fn parameter(name: &str, expected: &str) -> Self {
        Self::invalid(format!("Invalid value for \"{name}\" parameter, expected {expected}"))
    }
}

/// The start of a text of the caller, short enough for a message.
pub fn shortened(text: &str) -> Cow<'_, str> {
    const BYTES_MAX: usize = 128;
    if text.len() <= BYTES_MAX {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(BYTES_MAX)]))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Error {}
