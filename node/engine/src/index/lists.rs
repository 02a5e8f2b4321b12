//! How tantivy's postings of a finished segment become the lists that searches read.
//!
//! Hot path of indexing: two passes over the postings, about 0.7 s per million short records.

use super::container::ContainerWriter;
use super::error::{IndexError, Result};
use super::extract::Extractor;
use super::form::SegmentForm;
use super::position::{AttributeNumbers, place};
use super::sections as s;
use super::trie::TrieBuilder;
use super::wire::TEXT_FIELD;
use rustc_hash::FxHashSet;
use std::io::{self, Write};
use std::path::Path;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, InvertedIndexReader, Segment, SegmentReader, TERMINATED};

/// Which terms and prefixes have what makes queries for them quick, and how much. Answers do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadySizes {
    /// Postings below which nothing is wide and nothing has a top list.
    pub postings_min: u64,
    /// A term or prefix is wide when more than 1 / this of the documents have it: then a bitmap is smaller than a list.
    pub wide_fraction: u64,
    /// It has a top list when more than 1 / this have it: too many to go through for the best of them.
    pub ranked_fraction: u64,
    /// Length of the top list of a wide range.
    pub wide_top: usize,
    /// Length of the others.
    pub ranked_top: usize,
}

impl ReadySizes {
    /// Those of a node.
    pub const USUAL: ReadySizes = ReadySizes {
        postings_min: 1_024,
        wide_fraction: 32,
        ranked_fraction: 256,
        // the default of paginationLimitedTo
        wide_top: 1_000,
        // several pages, or one of which a filter leaves out most
        ranked_top: 256,
    };
}
impl Default for ReadySizes {
    fn default() -> Self {
        ReadySizes::USUAL
    }
}

/// Bytes of the longest prefix that can have a bitmap of its own.
const WIDE_PREFIX_BYTES: usize = 12;

/// An ordinal interval with a bitmap and a top list, or with a top list alone, as the interval of one prefix; `exact` when its
/// first term is the whole prefix. A term and a beginning of it may have the same interval, and each has its own top list: only
/// for the term itself counts what is exact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wide {
    lo: u32,
    hi: u32,
    exact: bool,
}

/// Everything about the words of a segment, before it is written.
#[derive(Default)]
struct Inverted {
    ready: ReadySizes,
    docs: usize,
    doc_off: Vec<u32>,
    ords: Vec<u32>,
    pos: Vec<u16>,
    csr_off: Vec<u32>,
    csr: Vec<u32>,
    imp: Vec<u16>,
    best: Vec<u16>,
    dense: Vec<u32>,
    dense_df: Vec<u32>,
    wide: Vec<Wide>,
    /// Those that are too narrow for a bitmap.
    ranked: Vec<Wide>,
    terms: TrieBuilder,
}

/// Writes the word sections of a segment of `docs` documents that tantivy has just finished, in the form of the extractor.
pub(crate) fn write_lists<W: Write>(
    out: &mut ContainerWriter<W>,
    segment: &Segment,
    docs: u32,
    extractor: &Extractor,
    ready: ReadySizes,
) -> Result<()> {
    let reader = SegmentReader::open(segment)?;
    let words = reader.inverted_index(TEXT_FIELD)?;
    let mut lists = Inverted { ready, docs: docs as usize, ..Inverted::default() };
    lists.postings(&words)?;
    lists.positions(&words, extractor.attributes())?;
    let terms = std::mem::take(&mut lists.terms).finish();
    let form = extractor.form();
    terms
        .write(out, form)
        .and_then(|()| lists.write(out, form))
        .map_err(|e| IndexError::io(Path::new("segment"), e))
}

impl Inverted {
    /// First pass: documents of each term, tokens of each document.
    fn postings(&mut self, words: &InvertedIndexReader) -> Result<()> {
        self.doc_off = vec![0; self.docs + 1];
        self.csr_off.push(0);
        let mut terms = words.terms().stream().map_err(stream_error)?;
        while let Some((_, info)) = terms.next() {
            let mut postings = words
                .read_postings_from_terminfo(info, IndexRecordOption::WithFreqs)
                .map_err(stream_error)?;
            let mut doc = postings.doc();
            while doc != TERMINATED {
                self.csr.push(doc);
                self.doc_off[doc as usize + 1] += postings.term_freq();
                doc = postings.advance();
            }
            self.csr_off.push(offset(self.csr.len())?);
        }
        let mut sum = 0u64;
        for count in &mut self.doc_off {
            sum += u64::from(*count);
            *count = offset(sum as usize)?;
        }
        Ok(())
    }

    /// Second pass: terms come in ordinal order, so the tokens of each document end up sorted by ordinal.
    fn positions(&mut self, words: &InvertedIndexReader, attributes: &AttributeNumbers) -> Result<()> {
        let tokens = self.doc_off[self.docs] as usize;
        self.ords = vec![0; tokens];
        self.pos = vec![0; tokens];
        self.imp = Vec::with_capacity(self.csr.len());
        let mut next = self.doc_off.clone();
        let mut open = OpenPrefixes::default();
        let mut found = Vec::new();
        let mut terms = words.terms().stream().map_err(stream_error)?;
        let mut ord = 0u32;
        while let Some((term, info)) = terms.next() {
            open.advance(term, ord, self);
            self.terms.push(term);
            let mut postings = words
                .read_postings_from_terminfo(info, IndexRecordOption::WithFreqsAndPositions)
                .map_err(stream_error)?;
            let mut best = u16::MAX;
            let mut doc = postings.doc();
            while doc != TERMINATED {
                found.clear();
                postings.append_positions_with_offset(0, &mut found);
                let at = &mut next[doc as usize];
                for &position in &found {
                    self.ords[*at as usize] = ord;
                    self.pos[*at as usize] = position as u16;
                    *at += 1;
                }
                let imp = best_position(&found, attributes);
                best = best.min(imp & !1);
                self.imp.push(imp);
                doc = postings.advance();
            }
            self.best.push(best);
            ord += 1;
        }
        open.close(0, ord, self);
        for t in 0..ord {
            self.add_range(Wide { lo: t, hi: t + 1, exact: true });
            let df = self.csr_off[t as usize + 1] - self.csr_off[t as usize];
            if u64::from(df) > self.limit_of(self.ready.wide_fraction) {
                self.dense.push(t);
                self.dense_df.push(df);
            }
        }
        for ranges in [&mut self.wide, &mut self.ranked] {
            ranges.sort_unstable_by_key(|w| (w.lo, w.hi, !w.exact));
            ranges.dedup();
        }
        Ok(())
    }
    fn limit_of(&self, fraction: u64) -> u64 {
        (self.docs as u64 / fraction).max(self.ready.postings_min)
    }
    /// Remembers a range when it has enough postings.
    fn add_range(&mut self, range: Wide) {
        let postings = self.range(range.lo, range.hi).len() as u64;
        if postings > self.limit_of(self.ready.wide_fraction) {
            self.wide.push(range);
        } else if postings > self.limit_of(self.ready.ranked_fraction) {
            self.ranked.push(range);
        }
    }

    fn write<W: Write>(&mut self, out: &mut ContainerWriter<W>, form: SegmentForm) -> io::Result<()> {
        let words = self.docs.div_ceil(64);
        let terms = self.csr_off.len() - 1;
        let bitmaps = self.write_wide(out, words, form)?;
        self.drop_dense_lists();
        let counts = [
            self.docs as u64,
            terms as u64,
            self.ords.len() as u64,
            self.csr.len() as u64,
            bitmaps as u64,
            words as u64,
        ];
        out.section(s::COUNTS, bytemuck::cast_slice(&counts))?;
        out.section(s::DOC_OFF, bytemuck::cast_slice(&self.doc_off))?;
        out.section(s::ORDS, bytemuck::cast_slice(&self.ords))?;
        out.section(s::POS, bytemuck::cast_slice(&self.pos))?;
        out.section(s::CSR_OFF, bytemuck::cast_slice(&self.csr_off))?;
        out.section(s::CSR, bytemuck::cast_slice(&self.csr))?;
        out.section(s::IMP, bytemuck::cast_slice(&self.imp))?;
        out.section(s::BEST, bytemuck::cast_slice(&self.best))?;
        out.section(s::DENSE, bytemuck::cast_slice(&self.dense))?;
        out.section(s::DENSE_DF, bytemuck::cast_slice(&self.dense_df))
    }

    /// Returns how many bitmaps there are: one for each interval, whose first top list stands at the same place.
    fn write_wide<W: Write>(
        &self,
        out: &mut ContainerWriter<W>,
        words: usize,
        form: SegmentForm,
    ) -> io::Result<usize> {
        let (mut table, mut tops) = (Vec::new(), Vec::new());
        let (firsts, seconds) = by_interval(&self.wide);
        out.begin(s::BITMAPS);
        let mut bitmap = vec![0u64; words];
        for wide in &firsts {
            bitmap.fill(0);
            for &doc in &self.csr[self.range(wide.lo, wide.hi)] {
                bitmap[doc as usize >> 6] |= 1 << (doc & 63);
            }
            out.append(bytemuck::cast_slice(&bitmap))?;
        }
        out.end()?;
        let (wide_top, ranked_top) = (self.ready.wide_top, self.ready.ranked_top);
        let all = [(&firsts, wide_top), (&seconds, wide_top), (&self.ranked, ranked_top)];
        let written = match form {
            SegmentForm::First => &all[..1],
            SegmentForm::Lettered => &all,
        };
        for (ranges, length) in written {
            for range in *ranges {
                let top = self.top(*range, *length);
                let kind = match form {
                    SegmentForm::First => 0,
                    SegmentForm::Lettered if range.exact => s::TOP_EXACT,
                    SegmentForm::Lettered => s::TOP_INEXACT,
                };
                table.extend_from_slice(&[range.lo, range.hi, kind | top.len() as u32]);
                tops.extend(top);
            }
        }
        out.section(s::WIDE, bytemuck::cast_slice(&table))?;
        out.section(s::TOPS, bytemuck::cast_slice(&tops))?;
        Ok(firsts.len())
    }
    fn range(&self, lo: u32, hi: u32) -> std::ops::Range<usize> {
        self.csr_off[lo as usize] as usize..self.csr_off[hi as usize] as usize
    }

    /// The first documents of the one-word query in final order: place, exactness, document.
    fn top(&self, wide: Wide, length: usize) -> Vec<u32> {
        let exact_end = if wide.exact { self.csr_off[wide.lo as usize + 1] as usize } else { 0 };
        let mut keys: Vec<u64> = Vec::with_capacity(4 * length);
        let mut worst = u64::MAX;
        // the exact word may be a whole value elsewhere than at the best place
        let mut exact = vec![0u64; if wide.exact { self.docs.div_ceil(64) } else { 0 }];
        for i in self.csr_off[wide.lo as usize] as usize..exact_end {
            exact[self.csr[i] as usize >> 6] |= u64::from(self.imp[i] & 1) << (self.csr[i] & 63);
        }
        for i in self.range(wide.lo, wide.hi) {
            let (doc, imp) = (self.csr[i], self.imp[i]);
            let inexact =
                u64::from(exact.get(doc as usize >> 6).is_none_or(|word| word >> (doc & 63) & 1 == 0));
            let key = u64::from(place(imp)) << 40 | inexact << 36 | u64::from(self.csr[i]);
            if key < worst {
                keys.push(key);
                if keys.len() == 4 * length {
                    keep_best(&mut keys, length);
                    if keys.len() == length {
                        worst = keys[length - 1];
                    }
                }
            }
        }
        keep_best(&mut keys, length);
        keys.into_iter().map(|key| key as u32).collect()
    }

    /// Terms with a bitmap keep no list.
    fn drop_dense_lists(&mut self) {
        let (mut kept, mut from, mut dense) = (0, 0, self.dense.iter().peekable());
        for term in 0..self.csr_off.len() - 1 {
            let end = self.csr_off[term + 1] as usize;
            if dense.next_if(|&&d| d as usize == term).is_none() {
                self.csr.copy_within(from..end, kept);
                self.imp.copy_within(from..end, kept);
                kept += end - from;
            }
            from = end;
            self.csr_off[term + 1] = kept as u32;
        }
        self.csr.truncate(kept);
        self.imp.truncate(kept);
    }
}

/// One range of each interval, and the others.
fn by_interval(ranges: &[Wide]) -> (Vec<Wide>, Vec<Wide>) {
    let mut before = None;
    ranges.iter().partition(|range| before.replace((range.lo, range.hi)) != Some((range.lo, range.hi)))
}

/// Sorts, keeps the best entry of each document, cuts to the length of a top list.
fn keep_best(keys: &mut Vec<u64>, length: usize) {
    keys.sort_unstable();
    let mut seen = FxHashSet::default();
    keys.retain(|&key| seen.len() < length && seen.insert(key as u32));
}
/// The least place as the attribute criterion counts it; the flag of any occurrence.
fn best_position(positions: &[u32], attributes: &AttributeNumbers) -> u16 {
    let best = positions.iter().map(|&position| attributes.rank(position as u16)).min();
    let flag = positions.iter().fold(0, |flag, &position| flag | position as u16 & 1);
    best.unwrap_or(u16::MAX >> 1) << 1 | flag
}
fn stream_error(e: io::Error) -> IndexError {
    IndexError::io(Path::new("segment"), e)
}
fn offset(len: usize) -> Result<u32> {
    super::records::offset(len).map_err(stream_error)
}

/// The prefixes of the current term; each becomes a wide range when it ends with enough postings.
#[derive(Default)]
struct OpenPrefixes {
    term: Vec<u8>,
    starts: Vec<(u32, bool)>,
}
impl OpenPrefixes {
    fn advance(&mut self, term: &[u8], ord: u32, lists: &mut Inverted) {
        let common = self.term.iter().zip(term).take_while(|(a, b)| a == b).count().min(self.starts.len());
        self.close(common, ord, lists);
        for length in self.starts.len() + 1..=term.len().min(WIDE_PREFIX_BYTES) {
            self.starts.push((ord, length == term.len()));
        }
        self.term.clear();
        self.term.extend_from_slice(term);
    }
    fn close(&mut self, keep: usize, hi: u32, lists: &mut Inverted) {
        while self.starts.len() > keep {
            let Some((lo, exact)) = self.starts.pop() else { return };
            lists.add_range(Wide { lo, hi, exact });
        }
    }
}
