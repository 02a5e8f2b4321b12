//! Which searches counted, in a form that reports read quickly?
//!
//! A rollup is derived from the rows of an hour or of a day: searches that count in columns, texts as numbers, and sums of each query
//! and of each record shown (`block.rs`). Reports read rollups only; rows become rollups (`derive.rs`). That is possible since searches of two hours never belong
//! together, so that the rows of an hour, and those of two minutes before it that they may repeat, decide everything.
//!
//! A rollup is used as long as the files and the rows in memory that it was made of are the same. Otherwise it is derived anew. Of users
//! who are to be forgotten nothing is read (`without.rs`): they are left out, and what there is of them since is derived beside. Those of
//! days that are over are files (`file.rs`), which a thread beside writes (`rolling.rs`), and which forgotten users leave before they
//! leave rows (`forgetting.rs`, `strip.rs`); others are in memory, a bounded number of bytes of them (`held.rs`).

mod block;
mod build;
mod bytes;
mod check;
mod derive;
mod events;
mod file;
mod forgetting;
mod held;
mod rolling;
mod searches;
mod strip;
mod sums;
mod view;
mod without;

pub(crate) use self::block::{Block, EachRecord, Part, Record, SHARDS, Texts};
pub(crate) use self::events::{NamingEvent, each_event};
pub(crate) use self::forgetting::Forgetting;
pub use self::held::Rollups;
pub use self::rolling::Rolling;
pub(crate) use self::searches::{Columns, Labels, Search, Searches};
pub(crate) use self::sums::Sums;
pub(crate) use self::view::Source;

/// Of the text of a query, the same everywhere: nobody makes two queries that have the same one.
pub(crate) fn fingerprint(query: &str) -> u64 {
    crate::rows::user_hash(query)
}

#[cfg(test)]
mod tests;
