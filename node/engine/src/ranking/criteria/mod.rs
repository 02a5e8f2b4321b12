//! Which criteria have a place in a key? The table that keys, bounds, `_rankingInfo` and the evaluation go over.
//!
//! A criterion is a file beside this one with a `ROW`, a `Tally` and `of_document`, and four lines here. One pass over the matches of
//! a document ([`super::evaluate`]) is for all of them.

pub mod attribute;
pub mod exact;
pub mod filters;
pub mod geo;
pub mod later_sort_keys;
pub mod matched;
pub mod proximity;
pub mod row;
pub mod sort_keys;
pub mod typo;
pub mod words;

use crate::ranking::context::SegmentContext;
use crate::ranking::rules::Frame;
use matched::{Found, MatchTally, Nearest};
use quorate_model::settings::Criterion;
use row::{Better, CriterionRow, Explained, Reach};
use std::ops::{Index, IndexMut};

macro_rules! criteria {
    ($($(#[$about:meta])* $field:ident = $file:ident,)*) => {
        /// What has a place in a key; its number is the index into [`ROWS`] and [`CriterionScores`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field {
            $($(#[$about])* $field,)*
        }
        /// All of them, in the order of `_rankingInfo`.
        pub const FIELDS: [Field; ROWS.len()] = [$(Field::$field,)*];
        /// What is said of each.
        pub const ROWS: [CriterionRow; [$(stringify!($field),)*].len()] = [$($file::ROW,)*];

        /// Of which of them matches tell.
        const OF_MATCHES: [bool; ROWS.len()] = [$(<$file::Tally as MatchTally>::TELLS,)*];

        /// The tallies of all of them.
        pub struct Tallies {
            $($file: $file::Tally,)*
        }
        impl Tallies {
            /// Before the first word of the query.
            #[inline(always)]
            pub fn begin(frame: &Frame) -> Tallies {
                Tallies { $($file: MatchTally::begin(frame),)* }
            }
            /// Tells each of what was looked for.
            #[inline(always)]
            pub fn count(&mut self, found: &Found<'_>) {
                $(self.$file.count(found);)*
            }
            /// What the matches of the document score.
            #[inline(always)]
            pub fn scores(self, nearest: &Nearest<'_>) -> CriterionScores {
                CriterionScores([$(self.$file.value(nearest),)*])
            }
        }

        impl SegmentContext<'_> {
            /// Adds to what the matches of a document gave what is read from the document itself.
            #[inline]
            pub fn complete(&self, doc: u32, matched: CriterionScores) -> CriterionScores {
                let mut scores = matched;
                $(scores[Field::$field] = $file::of_document(self, doc, matched[Field::$field]);)*
                scores
            }
        }
    };
}
criteria! {
    /// Typos over all matched words.
    Typo = typo,
    /// Attribute and word position of the best match.
    Attribute = attribute,
    /// Sum of the distances of neighbouring words.
    Proximity = proximity,
    /// Number of the group of documents with equal leading sort keys.
    SortKeys = sort_keys,
    /// Distance bucket.
    Geo = geo,
    /// Query words without an exact match.
    Exact = exact,
    /// Query words without a match.
    Words = words,
    /// Score of the satisfied filters.
    Filters = filters,
    /// The same as [`Field::SortKeys`] of further ones behind other criteria.
    LaterSortKeys = later_sort_keys,
}
/// Fields of a key.
pub const COUNT: usize = ROWS.len();
/// A key that ranks by all criteria has to hold them; later sort keys find place when all of them have numbers that are small enough.
const _: () = assert!(bits() - later_sort_keys::ROW.bits <= u128::BITS);
const fn bits() -> u32 {
    let (mut bits, mut at) = (0, 0);
    while at < COUNT {
        bits += ROWS[at].bits;
        at += 1;
    }
    bits
}
impl Field {
    /// The field of a criterion of `ranking`; those of sort keys act through the order of documents, and through
    /// [`Field::SortKeys`] and [`Field::LaterSortKeys`] where others follow them.
    pub fn of(criterion: &Criterion) -> Option<Field> {
        match criterion {
            Criterion::Typo => Some(Field::Typo),
            Criterion::Geo => Some(Field::Geo),
            Criterion::Words => Some(Field::Words),
            Criterion::Filters => Some(Field::Filters),
            Criterion::Proximity => Some(Field::Proximity),
            Criterion::Attribute => Some(Field::Attribute),
            Criterion::Exact => Some(Field::Exact),
            Criterion::Custom | Criterion::Sort(_) => None,
        }
    }
    /// What is said of it.
    pub const fn row(self) -> &'static CriterionRow {
        const TABLE: &[CriterionRow; COUNT] = &ROWS;
        &TABLE[self as usize]
    }
    /// Whether documents differ in it, beside what lists of single words say, for a query that has words or has none.
    pub fn varies(self, context: &SegmentContext<'_>, has_words: bool) -> bool {
        (has_words || !OF_MATCHES[self as usize]) && (self.row().varies)(context)
    }
    /// The highest value that it can show.
    pub const fn limit(self) -> u32 {
        u32::MAX >> (32 - ROWS[self as usize].bits)
    }
    /// Bits that turn a value around, so that a smaller one in the key is always better.
    pub const fn flip(self) -> u32 {
        match ROWS[self as usize].better {
            Better::Less => 0,
            Better::More => self.limit(),
        }
    }
}
/// What the criteria say about one document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CriterionScores([u32; COUNT]);
impl CriterionScores {
    /// The best that a document within reach can have.
    pub fn best(reach: &Reach<'_>) -> CriterionScores {
        CriterionScores(ROWS.map(|row| (row.best)(reach)))
    }
    /// The same with another value of one criterion.
    pub fn with(mut self, field: Field, value: u32) -> CriterionScores {
        self[field] = value;
        self
    }
    /// Calls `member` with the members of `_rankingInfo`, in their order.
    pub fn explain(&self, hit: &Explained, member: &mut dyn FnMut(&'static str, u32)) {
        for (row, &value) in ROWS.iter().zip(&self.0) {
            (row.explain)(value, hit, member);
        }
    }
}
impl Index<Field> for CriterionScores {
    type Output = u32;
    #[inline(always)]
    fn index(&self, field: Field) -> &u32 {
        &self.0[field as usize]
    }
}
impl IndexMut<Field> for CriterionScores {
    #[inline(always)]
    fn index_mut(&mut self, field: Field) -> &mut u32 {
        &mut self.0[field as usize]
    }
}
