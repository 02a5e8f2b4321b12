//! Which words a text consists of: normalisation and tokens (C§6.1–6.3), the same for records and queries.

mod attributes;
mod chars;
mod normalise;
mod schema;
mod segment;
mod simplified;
mod tokenise;
mod walk;

pub use attributes::AttributeOptions;
pub use chars::is_ideographic;
pub use normalise::{fold_text, fold_word, letters};
pub use schema::Schema;
pub use tokenise::{Analyzer, TOKEN_CHARS_MAX, Token, TokenKind, TokenOptions};
pub use walk::{PLACEHOLDER_START, placeholder_end};
