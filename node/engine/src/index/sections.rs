//! Which number each section of a segment file has. The numbers are part of the format: append, never reuse.

/// Six u64: documents, terms, tokens, listed postings, wide ranges, words of a bitmap.
pub const COUNTS: u32 = 1;
/// u32 × (documents + 1): where the tokens of a document start.
pub const DOC_OFF: u32 = 2;
/// u32 × tokens: term ordinals, ascending in each document.
pub const ORDS: u32 = 3;
/// u16 × tokens: packed positions.
pub const POS: u32 = 4;
/// u32 × (terms + 1): where the listed postings of a term start.
pub const CSR_OFF: u32 = 5;
/// u32 × listed postings: documents.
pub const CSR: u32 = 6;
/// u16 × listed postings: best position of the term in the document.
pub const IMP: u32 = 7;
/// u16 × terms: least place of the term's best positions.
pub const BEST: u32 = 8;
/// u32: terms that have a bitmap instead of a list, ascending.
pub const DENSE: u32 = 9;
/// u32: their document counts.
pub const DENSE_DF: u32 = 10;
/// u32 × 3 per wide range, then per further top list: lo, hi, length of the top list with its kind. A range has up to two. Files
/// of the first layout have no kinds: their lists are good for words that are terms.
pub const WIDE: u32 = 11;
/// Kind of a top list for a word that is the first term of the range.
pub const TOP_EXACT: u32 = 1 << 31;
/// Kind of a top list for a word that is no term.
pub const TOP_INEXACT: u32 = 1 << 30;
/// u32: the top lists of these ranges, one after another.
pub const TOPS: u32 = 12;
/// u64: the bitmaps of the wide ranges, one after another.
pub const BITMAPS: u32 = 13;
/// u32 × (nodes + 1): where the children of a node of the term trie start; the nodes are numbered breadth first.
pub const TERM_CHILDREN: u32 = 14;
/// u32 × nodes: the character that leads to the node; the highest bit is set where a term ends.
pub const TERM_LABELS: u32 = 15;
/// u32 × nodes: ordinal of the first term below the node.
pub const TERM_LOWS: u32 = 16;
/// u32 × (terms + 1): where the tail of a term starts.
pub const TAIL_OFF: u32 = 17;
/// UTF-8: what follows in a term after its last node.
pub const TAILS: u32 = 18;
/// u64 × nodes: a bit (character modulo 64) for each child of the node, or for the first character of its tail.
pub const TERM_LETTERS: u32 = 19;

/// u64 × (documents + 1): where a record starts.
pub const REC_OFF: u32 = 20;
/// Raw JSON records.
pub const REC: u32 = 21;
/// u32 × (documents + 1): where an objectID starts.
pub const ID_OFF: u32 = 22;
/// objectIDs.
pub const IDS: u32 = 23;
/// u32 × (documents + 1): where a rank key starts.
pub const RANK_OFF: u32 = 24;
/// Rank keys.
pub const RANKS: u32 = 25;
/// u32 × (buckets + 1): where a bucket of the objectID table starts.
pub const ID_BUCKETS: u32 = 26;
/// u32 × 2 per document: fingerprint, document; grouped by bucket.
pub const ID_SLOTS: u32 = 27;

/// JSON: which columns there are.
pub const COLUMNS: u32 = 30;
/// u32 × (documents + 1): where the points of a document start.
pub const GEO_OFF: u32 = 31;
/// f64 × 2 per point: latitude, longitude.
pub const GEO: u32 = 32;
/// f32 × 3 per point: the points on the unit sphere.
pub const GEO_ON_SPHERE: u32 = 38;
/// u32 per document with a point: the documents along a curve through the globe.
pub const GEO_NEIGHBOURS: u32 = 39;
/// f32 × 6 per 64 of those: the least and the greatest coordinates of their points on the sphere.
pub const GEO_BOXES: u32 = 40;
/// UTF-8: paths of the attributes in the table of numbers, ascending.
pub const SPARSE_PATHS: u32 = 33;
/// u32 × (paths + 1): where a path starts.
pub const SPARSE_PATH_OFF: u32 = 34;
/// u32 × (paths + 1): where the numbers of a path start.
pub const SPARSE_OFF: u32 = 35;
/// u32 per number: its document, ascending for each path.
pub const SPARSE_DOCS: u32 = 36;
/// f64 per number.
pub const SPARSE_VALUES: u32 = 37;

/// Column `i` has its sections at `COLUMN_BASE + i * COLUMN_STEP + part`.
pub const COLUMN_BASE: u32 = 1_000;
/// Section numbers set aside for each column.
pub const COLUMN_STEP: u32 = 16;
/// Parts of a facet column.
pub mod facet {
    /// Values, one after another, in (case-folded, original) order.
    pub const VALUES: u32 = 0;
    /// u32 × (values + 1).
    pub const VALUE_OFF: u32 = 1;
    /// u8, u16 or u32: ordinals of the documents; the largest number stands for none.
    pub const ORDS: u32 = 2;
    /// u32 × (documents + 1): only when a document has several values.
    pub const DOC_OFF: u32 = 3;
    /// u32 × (values + 1): where the documents of a value start.
    pub const INV_OFF: u32 = 4;
    /// u32: documents of the values without bitmap.
    pub const INV: u32 = 5;
    /// u32: values with a bitmap, ascending.
    pub const DENSE: u32 = 6;
    /// u32: their document counts.
    pub const DENSE_DF: u32 = 7;
    /// u64: their bitmaps.
    pub const BITMAPS: u32 = 8;
}
/// Parts of a numeric column.
pub mod numeric {
    /// f64; not a number = none, when every document has at most one.
    pub const VALUES: u32 = 0;
    /// u32 × (documents + 1): only when a document has several values.
    pub const DOC_OFF: u32 = 1;
    /// f64 × 2 for each 1,024 documents, when every document has at most one value: the least and the greatest.
    pub const EXTENTS: u32 = 2;
}
