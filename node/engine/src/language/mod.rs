//! What is known about languages: their codes, stop words, word forms and compounds (C§12).

pub mod codes;
mod compounds;
pub mod custom;
pub mod dictionaries;
mod entries;
mod heads;
mod plurals;
mod stop_words;

pub use codes::{Language, Languages};
pub use custom::{CustomEntries, EntryChange};
pub use dictionaries::Dictionaries;
