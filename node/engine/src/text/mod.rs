//! What does a character become before words are made of it? Classes, folding, traditional to simplified (C§6.1).
mod chars;
mod normalise;
mod simplified;

pub use chars::is_ideographic;
pub(crate) use chars::{Class, after_marks, class, continues, is_han, picture_end, push_picture};
pub use normalise::{fold_text, fold_word, letters};
pub(crate) use normalise::{push_folded, push_fraction, push_kept};
