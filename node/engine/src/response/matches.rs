//! Which words of the query, or what stands for them, match a token of a shown text?
//!
//! Hot path: most tokens are passed over by their first letter or by which letters they have; no allocation for each token.

use super::marks::Marks;
use super::sieve::Sieve;
use crate::analysis::Analyzer;
use crate::matching::typo::{Tolerance, typos_of};
use crate::query::alternatives::Reason;
use crate::query::words::{Other, OtherReason};
use crate::query::{Alternative, Word};
use crate::ranking::criteria::typo::NO_MATCH;

/// First letters that words are found by; more are not worth it.
const FIRST_LETTERS_MAX: u32 = 4;

/// The words of one query and what stands for them.
pub struct QueryMatcher<'a> {
    analyzer: &'a Analyzer,
    words: &'a [Word],
    alternatives: &'a [Alternative],
    deep: bool,
    /// Whether synonyms of several words are marked as one stretch, to be replaced.
    pub synonyms: Synonyms,
    /// First letters of ASCII words that can match: one bit for each character.
    letters: u128,
    /// The same, as long as they are few.
    first_letters: Vec<u8>,
    /// What tokens have to be like.
    sieve: Sieve,
    /// The typos that both are for; at first those of no word.
    prepared_for: Vec<u8>,
    /// Words of alternatives that were found in the current text.
    pieces: Vec<Piece>,
    /// Places of `pieces`, by what they are and where.
    sorted: Vec<usize>,
    chars: Vec<char>,
}
/// How synonyms are shown (C§9.5 replaceSynonymsInHighlight).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synonyms {
    /// As the record has them.
    Kept,
    /// As the word of the query that they stand for.
    Replaced,
}
/// What matches a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenMatch {
    /// Bits of the query words.
    pub words: u16,
    /// Where the matched part of the token ends.
    pub end: usize,
    /// Bits of the query words that the token is a synonym of, when nobody typed it.
    pub synonym_of: u16,
}
/// A word of an alternative of several words in a text.
#[derive(Clone, Copy)]
struct Piece {
    alternative: usize,
    word: usize,
    position: u32,
    stretch: (usize, usize),
}
/// How much of a token a word matches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    Whole,
    /// The characters of the query word.
    Beginning,
}
impl<'a> QueryMatcher<'a> {
    /// `deep` says whether the query looked for wrong first letters with a second edit.
    pub fn new(
        analyzer: &'a Analyzer,
        words: &'a [Word],
        alternatives: &'a [Alternative],
        deep: bool,
    ) -> QueryMatcher<'a> {
        QueryMatcher {
            analyzer,
            words,
            alternatives,
            deep,
            letters: 0,
            first_letters: vec![],
            sieve: Sieve::default(),
            prepared_for: vec![],
            pieces: vec![],
            sorted: vec![],
            chars: vec![],
            synonyms: Synonyms::Kept,
        }
    }
    /// Prepares for a text of a record that each word, and then each alternative, matched with so many typos.
    pub fn start(&mut self, typos: &[u8]) {
        self.pieces.clear();
        if self.prepared_for == typos {
            return;
        }
        self.prepared_for.clear();
        self.prepared_for.extend_from_slice(typos);
        self.sieve.clear();
        let letter = |text: &str| match text.bytes().next() {
            None | Some(128..) => 0,
            Some(first) => 1 << first,
        };
        let mut letters = 0u128;
        for (word, &allowed) in self.words.iter().zip(typos).filter(|&(_, &allowed)| allowed != NO_MATCH) {
            // a typo may be in the first letter
            letters |= if allowed == 0 { letter(&word.text) } else { u128::MAX };
            self.sieve.admit(word.chars.iter().copied(), word.prefix, word.edits.min(allowed));
            for other in word.others.iter().filter(|other| other.typos <= allowed) {
                letters |= letter(&other.text);
                self.sieve.admit(other.text.chars(), other.prefix, 0);
            }
        }
        for (_, alternative) in matched(self.alternatives, self.words.len(), typos) {
            for word in &alternative.words {
                letters |= letter(&word.text);
                self.sieve.admit(word.chars.iter().copied(), word.prefix, 0);
            }
        }
        self.letters = letters;
        self.first_letters.clear();
        if (1..=FIRST_LETTERS_MAX).contains(&letters.count_ones()) {
            self.first_letters.extend((0..128_u8).filter(|letter| letters >> letter & 1 == 1));
        }
    }
    /// The letters that a plain ASCII word, in small letters, begins with when it matches; none when there are many, or none at all.
    pub fn first_letters(&self) -> &[u8] {
        &self.first_letters
    }
    /// Whether a plain ASCII word, in capitals or not, may match.
    #[inline]
    pub fn may_be(&self, word: &[u8]) -> bool {
        let first = word.first().map_or(0, |byte| byte.to_ascii_lowercase() & 0x7f);
        self.letters >> first & 1 == 1 && self.sieve.passes_ascii(word)
    }
    /// Whether a normalised token may match.
    #[inline]
    pub fn may_be_token(&self, token: &str) -> bool {
        self.sieve.passes_token(token)
    }
    /// What matches a token of `text`.
    pub fn in_token(
        &mut self,
        text: &str,
        (start, token_end): (usize, usize),
        token: &str,
        position: u32,
        typos: &[u8],
    ) -> TokenMatch {
        let mut found = TokenMatch { words: 0, end: start, synonym_of: 0 };
        let mut is_typed = false;
        let analyzer = self.analyzer;
        let end_of = |word: &Word, matched: Match| match matched {
            Match::Whole => token_end,
            Match::Beginning => analyzer.beginning_end(text, start, token_end, word.chars.len()),
        };
        for (i, word) in self.words.iter().enumerate() {
            let allowed = typos.get(i).copied().unwrap_or(NO_MATCH);
            if allowed == NO_MATCH {
                continue;
            }
            if let Some(matched) = match_word(word, token, allowed, self.deep, &mut self.chars) {
                is_typed = true;
                found.words |= 1 << i;
                found.end = found.end.max(end_of(word, matched));
            }
            for other in word.others.iter().filter(|other| other.typos <= allowed) {
                let Some(matched) = match_other(other, token) else { continue };
                if other.reason == OtherReason::Synonym && matched == Match::Whole {
                    found.synonym_of |= 1 << i;
                }
                found.words |= 1 << i;
                found.end = found.end.max(match matched {
                    Match::Whole => token_end,
                    Match::Beginning => {
                        analyzer.beginning_end(text, start, token_end, other.text.chars().count())
                    }
                });
            }
        }
        if is_typed {
            found.synonym_of = 0;
        }
        if typos.len() <= self.words.len() {
            return found;
        }
        for (number, alternative) in matched(self.alternatives, self.words.len(), typos) {
            for (i, word) in alternative.words.iter().enumerate() {
                let Some(matched) = match_word(word, token, 0, false, &mut self.chars) else { continue };
                let end = end_of(word, matched);
                if alternative.words.len() == 1 || alternative.reason == Reason::Compound {
                    found.words |= bits_of(alternative);
                    found.end = found.end.max(end);
                } else {
                    self.pieces.push(Piece { alternative: number, word: i, position, stretch: (start, end) });
                }
            }
        }
        found
    }
    /// Marks the alternatives whose words were all found one after another.
    pub fn whole_sequences(&mut self, marks: &mut Marks) {
        let pieces = &self.pieces;
        let key = |&place: &usize| (pieces[place].alternative, pieces[place].word, pieces[place].position);
        self.sorted.clear();
        self.sorted.extend(0..pieces.len());
        // stable: of several in one place the one that was found first counts
        self.sorted.sort_by_key(key);
        for first in pieces.iter().filter(|piece| piece.word == 0) {
            let alternative = &self.alternatives[first.alternative];
            let at = |i: usize| {
                let wanted = (first.alternative, i, first.position + i as u32);
                let place = self.sorted.partition_point(|place| key(place) < wanted);
                self.sorted.get(place).filter(|place| key(place) == wanted).map(|&place| &pieces[place])
            };
            let whole: Option<Vec<&Piece>> = (0..alternative.words.len()).map(at).collect();
            let is_one_word = alternative.reason == Reason::Synonym && bits_of(alternative).count_ones() == 1;
            if let Some(whole) = &whole
                && let (Some(first), Some(last)) = (whole.first(), whole.last())
                && is_one_word
                && self.synonyms == Synonyms::Replaced
            {
                let stretch = (first.stretch.0, last.stretch.1);
                marks.marked.push(stretch);
                marks.synonyms.push((stretch, bits_of(alternative)));
            }
            for piece in whole.into_iter().flatten() {
                let bits = bits_of(alternative);
                marks.marked.push(piece.stretch);
                marks.words |= bits;
                marks.add_within(piece.stretch, bits);
            }
        }
    }
}
/// The alternatives that matched the record, with their numbers.
fn matched<'a>(
    alternatives: &'a [Alternative],
    words: usize,
    typos: &[u8],
) -> impl Iterator<Item = (usize, &'a Alternative)> + use<'a> {
    let matched = typos.iter().skip(words).enumerate();
    let bits = matched.fold(0u32, |bits, (i, &typos)| bits | u32::from(typos != NO_MATCH) << i);
    alternatives.iter().enumerate().filter(move |(i, _)| bits >> i & 1 == 1)
}
/// Bits of the query words that an alternative stands for.
fn bits_of(alternative: &Alternative) -> u16 {
    (alternative.from..alternative.to).fold(0, |bits, word| bits | 1 << word)
}
fn match_other(other: &Other, token: &str) -> Option<Match> {
    match token.strip_prefix(other.text.as_str()) {
        Some("") => Some(Match::Whole),
        Some(_) if other.prefix => Some(Match::Beginning),
        Some(_) | None => None,
    }
}
fn match_word(word: &Word, token: &str, allowed: u8, deep: bool, chars: &mut Vec<char>) -> Option<Match> {
    if token.starts_with(word.text.as_str()) {
        if token.len() == word.text.len() {
            return Some(Match::Whole);
        }
        if word.prefix {
            return Some(Match::Beginning);
        }
    }
    if allowed == 0 {
        return None;
    }
    chars.clear();
    chars.extend(token.chars());
    let tolerance = Tolerance { edits: word.edits, prefix: word.prefix, deep };
    let typos = typos_of(&word.chars, chars, tolerance)?;
    if typos == 0 || typos > allowed {
        return None;
    }
    // a word that is as near as its beginning is meant as a whole: lantrn marks all of lantern
    let as_whole = Tolerance { prefix: false, ..tolerance };
    let is_begun = word.prefix
        && chars.len() > word.chars.len()
        && typos_of(&word.chars, chars, as_whole) != Some(typos);
    Some(if is_begun { Match::Beginning } else { Match::Whole })
}
