//! Which words a text consists of: normalisation and tokens (C§6.1–6.3), the same for records and queries.

mod attributes;
mod schema;
mod segment;
mod tokenise;
mod walk;
mod words;

pub use attributes::AttributeOptions;
pub use schema::Schema;
pub use tokenise::{Analyzer, TOKEN_CHARS_MAX, Token, TokenKind, TokenOptions};
pub use walk::{PLACEHOLDER_START, as_written, placeholder_end};
pub use words::{normalised, push_words};
