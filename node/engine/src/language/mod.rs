//! What is known about languages: their codes, stop words, word forms and compounds (C§12).

pub mod codes;
mod compounds;
pub mod dictionaries;
mod heads;
mod plurals;
mod stop_words;

pub use codes::{Language, Languages};
pub use dictionaries::Dictionaries;
