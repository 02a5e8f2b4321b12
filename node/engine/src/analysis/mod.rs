//! Which words a text consists of: normalisation and tokens (C§6.1–6.3), the same for records and queries.

mod normalise;
mod tokenise;

pub use normalise::{fold_text, fold_word, is_ideographic};
pub use tokenise::{Analyzer, TOKEN_CHARS_MAX, Token, TokenKind, TokenOptions};
