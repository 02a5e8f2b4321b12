//! words: how many words of the query have no match? (C§7.4)

use super::row::{Better, CriterionRow, never};

/// Its row.
pub const ROW: CriterionRow = CriterionRow {
    bits: 4,
    better: Better::Less,
    best: |_| 0,
    varies: never,
    explain: |missing, hit, member| member("words", hit.words - missing.min(hit.words)),
};
pub use super::row::as_matched as of_document;
