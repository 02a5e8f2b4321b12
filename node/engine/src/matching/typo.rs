//! Which terms are within the allowed typos of a query word? A walk of the term trie that carries one state of a
//! table-driven Damerau-Levenshtein automaton and answers in ranges of term ordinals.
//!
//! Hot path: a few ns for each child looked at; one typo in 100,000 terms looks at some thousands of them.

use super::automaton::{Automaton, ONE, State, TWO};
use crate::index::{TermNode, Terms, letter_bit};
use crate::terms::Interval;

/// How a word may match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// Edits allowed, 0 to 2.
    pub edits: u8,
    /// Whether the word may be the beginning of a longer term.
    pub prefix: bool,
    /// Whether words with two edits may have one of them on the first letter (cost 3, a much wider walk).
    pub deep: bool,
}

/// More edits than any word is allowed.
const FAR: u8 = 99;
/// What no character equals: stands before and after the word.
const NOTHING: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstLetter {
    Same,
    Other,
}
/// Where a walk is.
#[derive(Clone, Copy)]
struct WalkPosition {
    state: State,
    /// Characters from the root.
    depth: usize,
    /// Fewest edits with which the whole word was matched on the way here (prefix words).
    best: u8,
}
/// What can come of a node where no edit is left.
#[derive(Clone, Copy)]
struct Exhausted {
    /// The bits of the characters that lead on.
    wanted: u64,
    /// Whether a term that ends at the node matches.
    ends: bool,
}
/// The characters of the word that matter at one depth.
#[derive(Clone, Copy)]
struct Window<const W: usize> {
    characters: [u32; W],
    /// Their bits; none for no character.
    bits: [u64; W],
    /// A bit for each of their last six bits: most characters of a dictionary match none of them.
    bloom: u64,
}
impl<const W: usize> Window<W> {
    /// Whether the character may be one of them; never `false` for one that is.
    #[inline]
    fn may_have(&self, c: u32) -> bool {
        self.bloom & letter_bit(c) != 0
    }
    /// The bits of the characters at some places.
    #[inline]
    fn letters(&self, places: u8) -> u64 {
        let at = |(b, &bit): (usize, &u64)| bit & 0u64.wrapping_sub(u64::from(places >> b & 1));
        self.bits.iter().enumerate().map(at).fold(0, |all, bit| all | bit)
    }
}
struct Walk<'a, const W: usize> {
    terms: &'a Terms<'a>,
    automaton: &'static Automaton<W>,
    windows: &'a [Window<W>],
    length: usize,
    penalty: u8,
    prefix: bool,
    out: &'a mut Vec<Interval>,
}

/// Appends the terms within `tolerance` of `word` that are not free of typos; disjoint ranges.
pub fn typo_intervals(terms: &Terms<'_>, word: &[char], tolerance: Tolerance, out: &mut Vec<Interval>) {
    if word.is_empty() {
        return;
    }
    match tolerance.edits {
        0 => return,
        1 => {
            let windows = windows::<3>(word);
            walk(terms, &ONE, &windows, word, tolerance.prefix, FirstLetter::Same, out);
            walk(terms, &ONE, &windows, word, tolerance.prefix, FirstLetter::Other, out);
        }
        _ => {
            let two = windows::<5>(word);
            walk(terms, &TWO, &two, word, tolerance.prefix, FirstLetter::Same, out);
            if tolerance.deep {
                walk(terms, &TWO, &two, word, tolerance.prefix, FirstLetter::Other, out);
            } else {
                walk(terms, &ONE, &windows::<3>(word), word, tolerance.prefix, FirstLetter::Other, out);
            }
        }
    }
    out.sort_unstable_by_key(|interval| interval.low);
}
/// The windows of the depths 1, 2, … that an alignment can reach.
fn windows<const W: usize>(word: &[char]) -> Vec<Window<W>> {
    let edits = W / 2;
    let at = |i: usize| match i.checked_sub(edits + 1).and_then(|i| word.get(i)) {
        Some(&c) => u32::from(c),
        None => NOTHING,
    };
    let window = |depth: usize| {
        let characters: [u32; W] = std::array::from_fn(|b| at(depth + b));
        let bits = characters.map(|c| if c == NOTHING { 0 } else { letter_bit(c) });
        Window { characters, bits, bloom: bits.into_iter().fold(0, |all, bit| all | bit) }
    };
    (1..=word.len() + edits + 1).map(window).collect()
}
fn walk<const W: usize>(
    terms: &Terms<'_>,
    automaton: &'static Automaton<W>,
    windows: &[Window<W>],
    word: &[char],
    prefix: bool,
    first: FirstLetter,
    out: &mut Vec<Interval>,
) {
    let penalty = match first {
        FirstLetter::Same => 0,
        FirstLetter::Other => 1,
    };
    let mut walk = Walk { terms, automaton, windows, length: word.len(), penalty, prefix, out };
    let root = terms.root();
    let children = terms.children(root);
    let same = children.find(word[0]);
    for (place, c) in children.characters().enumerate() {
        if (Some(place) == same) == (first == FirstLetter::Same) {
            let above = WalkPosition { state: automaton.start(), depth: 0, best: FAR };
            let state = walk.step(above, c);
            walk.enter(terms.child(&children, place), above, state);
        }
    }
}

impl<const W: usize> Walk<'_, W> {
    fn emit(&mut self, low: u32, high: u32, edits: u8) {
        let typos = edits.saturating_add(self.penalty);
        if usize::from(edits) > W / 2 || typos == 0 {
            return;
        }
        match self.out.last_mut() {
            Some(last) if last.high == low && last.typos == typos => last.high = high,
            _ => self.out.push(Interval { low, high, typos }),
        }
    }
    /// The state one character below `above`.
    #[inline]
    fn step(&self, above: WalkPosition, c: u32) -> State {
        self.windows
            .get(above.depth)
            .map_or(Automaton::<W>::DEAD, |window| self.follow(above.state, window, c))
    }
    #[inline]
    fn follow(&self, state: State, window: &Window<W>, c: u32) -> State {
        let mut matches = 0;
        for (b, &character) in window.characters.iter().enumerate() {
            matches |= usize::from(character == c) << b;
        }
        self.automaton.next(state, matches)
    }
    /// Edits when the term ends in this state.
    #[inline]
    fn at_end(&self, state: State, depth: usize) -> u8 {
        // a number below zero is larger than any place
        let place = (self.length + W / 2).wrapping_sub(depth);
        if place < W { self.automaton.cells(state)[place] } else { FAR }
    }
    /// The place one character below `above`; `Err` with the edits of everything below when nothing there can differ.
    #[inline]
    fn arrive(&self, above: WalkPosition, state: State) -> Result<WalkPosition, u8> {
        let depth = above.depth + 1;
        let best = if self.prefix { above.best.min(self.at_end(state, depth)) } else { FAR };
        if state == Automaton::<W>::DEAD || self.prefix && best <= self.automaton.least(state) {
            return Err(best);
        }
        Ok(WalkPosition { state, depth, best })
    }
    /// Edits of a term that ends here.
    fn edits_at(&self, place: WalkPosition) -> u8 {
        if self.prefix { place.best } else { self.at_end(place.state, place.depth) }
    }
    fn enter(&mut self, node: TermNode, above: WalkPosition, state: State) {
        match self.arrive(above, state) {
            Ok(place) => self.visit(node, place),
            Err(edits) => self.emit(node.low, node.high, edits),
        }
    }
    /// What can come of nodes at a place, when only few characters lead on there.
    #[inline]
    fn exhausted(&self, place: WalkPosition) -> Option<Exhausted> {
        let edits = (W / 2) as u8;
        if place.best <= edits || self.automaton.next(place.state, 0) != Automaton::<W>::DEAD {
            return None;
        }
        let window = self.windows.get(place.depth);
        let wanted = window.map_or(0, |window| window.letters(self.automaton.leading(place.state)));
        Some(Exhausted { wanted, ends: self.edits_at(place) <= edits })
    }
    fn visit(&mut self, node: TermNode, place: WalkPosition) {
        let terms = self.terms;
        if let Some(exhausted) = self.exhausted(place) {
            return self.visit_exhausted(node, place, exhausted);
        }
        let children = terms.children(node);
        if children.is_empty() {
            return self.tail(node, place);
        }
        if terms.ends_at(node) {
            self.emit(node.low, node.low + 1, self.edits_at(place));
        }
        // beyond the last window every state is dead, so nothing comes here
        let Some(window) = self.windows.get(place.depth) else { return };
        let stranger = self.automaton.next(place.state, 0);
        let strangers_count = stranger != Automaton::<W>::DEAD || usize::from(place.best) <= W / 2;
        // children that strangers lead to are many and alike: those of which nothing comes are passed over at once
        let after_stranger = match self.arrive(place, stranger) {
            Ok(after) => self.exhausted(after),
            Err(_) => None,
        };
        for (i, c) in children.characters().enumerate() {
            if !window.may_have(c) {
                let leads = |exhausted: Exhausted| {
                    exhausted.ends && children.ends_at(i) || children.letters(i) & exhausted.wanted != 0
                };
                if strangers_count && after_stranger.is_none_or(leads) {
                    self.enter(terms.child(&children, i), place, stranger);
                }
                continue;
            }
            let state = self.follow(place.state, window, c);
            if state != Automaton::<W>::DEAD || strangers_count {
                self.enter(terms.child(&children, i), place, state);
            }
        }
    }
    /// The same where no edit is left: few characters lead on, and most nodes have none of them.
    fn visit_exhausted(&mut self, node: TermNode, place: WalkPosition, exhausted: Exhausted) {
        let Exhausted { wanted, ends } = exhausted;
        let terms = self.terms;
        if terms.letters(node) & wanted == 0 {
            if ends && terms.ends_at(node) {
                self.emit(node.low, node.low + 1, self.edits_at(place));
            }
            return;
        }
        let children = terms.children(node);
        if children.is_empty() {
            return self.tail(node, place);
        }
        if terms.ends_at(node) {
            self.emit(node.low, node.low + 1, self.edits_at(place));
        }
        let Some(window) = self.windows.get(place.depth) else { return };
        for (i, c) in children.characters().enumerate() {
            if wanted & letter_bit(c) == 0 {
                continue;
            }
            let state = self.follow(place.state, window, c);
            if state != Automaton::<W>::DEAD {
                self.enter(terms.child(&children, i), place, state);
            }
        }
    }
    /// The rest of the only term below a node.
    fn tail(&mut self, node: TermNode, mut place: WalkPosition) {
        for c in self.terms.tail(node.low) {
            match self.arrive(place, self.step(place, c)) {
                Ok(next) => place = next,
                Err(edits) => return self.emit(node.low, node.high, edits),
            }
        }
        self.emit(node.low, node.high, self.edits_at(place));
    }
}

/// Edits between `word` and `term` by the full table: insertion, deletion, substitution, adjacent transposition.
///
/// With `prefix`, between `word` and the nearest beginning of `term`.
pub fn distance(word: &[char], term: &[char], prefix: bool) -> usize {
    let columns = term.len() + 1;
    let mut two_above = vec![0usize; columns];
    let mut above: Vec<usize> = (0..columns).collect();
    let mut row = vec![0usize; columns];
    for i in 1..=word.len() {
        row[0] = i;
        for j in 1..columns {
            let mut value = (above[j] + 1)
                .min(row[j - 1] + 1)
                .min(above[j - 1] + usize::from(word[i - 1] != term[j - 1]));
            if i > 1 && j > 1 && word[i - 1] == term[j - 2] && word[i - 2] == term[j - 1] {
                value = value.min(two_above[j - 2] + 1);
            }
            row[j] = value;
        }
        std::mem::swap(&mut two_above, &mut above);
        std::mem::swap(&mut above, &mut row);
    }
    if prefix { above.iter().copied().min().unwrap_or(0) } else { above[term.len()] }
}

/// Typos with which `term` matches `word`, or `None`; the rule the walk follows, for one term.
pub fn typos_of(word: &[char], term: &[char], tolerance: Tolerance) -> Option<u8> {
    let starts = term.len() >= word.len() && term[..word.len()] == *word;
    if starts && (tolerance.prefix || term.len() == word.len()) {
        return Some(0);
    }
    let (Some(a), Some(b)) = (word.first(), term.first()) else { return None };
    if tolerance.edits == 0 {
        return None;
    }
    let allowed = usize::from(tolerance.edits);
    if !tolerance.prefix && word.len().abs_diff(term.len()) > allowed || word.len() > term.len() + allowed {
        return None;
    }
    let (allowed, penalty) = match (a == b, tolerance.deep) {
        (true, _) => (allowed, 0),
        (false, true) => (allowed, 1),
        (false, false) => (1, 1),
    };
    let shown = &term[..term.len().min(word.len() + allowed)];
    if letters_missing(word, shown) > allowed as u32 {
        return None;
    }
    let edits = distance(word, if tolerance.prefix { shown } else { term }, tolerance.prefix);
    (edits <= allowed).then_some(edits as u8 + penalty)
}
/// At least so many letters of `word` occur nowhere in `term`; each costs an edit. Most words are told apart by it.
fn letters_missing(word: &[char], term: &[char]) -> u32 {
    let letters = |chars: &[char]| chars.iter().fold(0u64, |all, &c| all | 1 << (c as u32 & 63));
    (letters(word) & !letters(term)).count_ones()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::trie_of;

    fn chars(s: &str) -> Vec<char> {
        s.chars().collect()
    }
    /// Terms over a small alphabet, so that near misses are common.
    fn terms() -> Vec<String> {
        let mut seed = 7u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        let alphabet = ['a', 'b', 'c', 'é', '東'];
        let mut set = std::collections::BTreeSet::new();
        for _ in 0..1500 {
            let length = 1 + next(9);
            set.insert((0..length).map(|_| alphabet[next(5) as usize]).collect::<String>());
        }
        set.into_iter().collect()
    }
    #[test]
    fn the_walk_finds_what_the_full_table_finds() {
        let terms = terms();
        let trie = trie_of(terms.iter().map(String::as_str));
        for word in terms.iter().step_by(13) {
            let word = chars(word);
            for edits in 1..=2 {
                for (prefix, deep) in [(false, false), (false, true), (true, false), (true, true)] {
                    let tolerance = Tolerance { edits, prefix, deep };
                    let mut found = vec![];
                    typo_intervals(&trie.terms(), &word, tolerance, &mut found);
                    let mut by_walk = vec![0u8; terms.len()];
                    for interval in &found {
                        for ordinal in interval.low..interval.high {
                            assert_eq!(by_walk[ordinal as usize], 0, "ranges overlap");
                            by_walk[ordinal as usize] = interval.typos;
                        }
                    }
                    for (ordinal, term) in terms.iter().enumerate() {
                        let expected = typos_of(&word, &chars(term), tolerance).unwrap_or(0);
                        assert_eq!(by_walk[ordinal], expected, "{word:?} {term} {tolerance:?}");
                    }
                }
            }
        }
    }
    #[test]
    fn a_wrong_first_letter_counts_twice() {
        for (word, term, edits, deep, expected) in [
            ("michael", "michael", 1, false, Some(0)),
            ("michal", "michael", 1, false, Some(1)),
            ("mihcael", "michael", 1, false, Some(1)),
            ("tichael", "michael", 2, false, Some(2)),
            ("imchael", "michael", 1, false, Some(2)),
            ("tickael", "michael", 2, false, None),
            ("tickael", "michael", 2, true, Some(3)),
            ("mikael", "michael", 1, false, None),
            ("mikael", "michael", 2, false, Some(2)),
        ] {
            let tolerance = Tolerance { edits, prefix: false, deep };
            assert_eq!(typos_of(&chars(word), &chars(term), tolerance), expected, "{word} {term}");
        }
    }
}
