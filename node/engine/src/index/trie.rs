//! Which terms does a segment have, and which ordinals? A trie of characters that searches walk in place.
//!
//! Hot path: a look at a child costs one number of a sequential scan, a visit two more; whether any of some characters goes
//! on after a node is told by one number.
//!
//! Nodes are numbered breadth first, so the children of a node are neighbours in ascending order of their characters
//! and the terms below a node are an interval of ordinals. A node with a single term below it has no children: the rest
//! of the term is its tail. There are about 1.5 nodes for each term.

use super::container::{Container, ContainerWriter};
use super::form::{SegmentForm, letters_of};
use super::sections as s;
use std::io::{self, Write};
use std::ops::Range;

/// Set in the label of a node where a term ends.
const ENDS: u32 = 1 << 31;
/// The bits of a label that are the character.
pub(crate) const CHARACTER: u32 = (1 << 21) - 1;

/// A node with the ordinals of the terms below it; a term that ends at the node is the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermNode {
    number: u32,
    /// First ordinal.
    pub low: u32,
    /// One past the last ordinal.
    pub high: u32,
}
/// The terms of a segment in byte order; a term's ordinal is its place.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    children: &'a [u32],
    labels: &'a [u32],
    lows: &'a [u32],
    tail_off: &'a [u32],
    tails: &'a [u8],
    letters: &'a [u64],
}
/// The bit of a character among [`Terms::letters`]; several characters share one.
#[inline]
pub fn letter_bit(c: u32) -> u64 {
    1 << (c & 63)
}
/// The children of a node, in ascending order of their characters.
#[derive(Clone, Copy, Debug)]
pub struct Children<'a> {
    labels: &'a [u32],
    letters: &'a [u64],
    first: u32,
    high: u32,
}
impl<'a> Terms<'a> {
    /// How many terms there are.
    pub fn count(&self) -> u32 {
        self.tail_off.len() as u32 - 1
    }
    /// The node above all terms.
    pub fn root(&self) -> TermNode {
        TermNode { number: 0, low: 0, high: self.count() }
    }
    /// The children of a node; none when a single term is below it.
    #[inline]
    pub fn children(&self, node: TermNode) -> Children<'a> {
        let number = node.number as usize;
        let (first, end) = (self.children[number], self.children[number + 1]);
        let range = first as usize..end as usize;
        Children {
            labels: &self.labels[range.clone()],
            letters: &self.letters[range],
            first,
            high: node.high,
        }
    }
    /// The child at a place of [`Self::children`].
    #[inline]
    pub fn child(&self, children: &Children<'_>, place: usize) -> TermNode {
        let number = children.first + place as u32;
        let next = number as usize + 1;
        let high = if place + 1 < children.labels.len() { self.lows[next] } else { children.high };
        TermNode { number, low: self.lows[number as usize], high }
    }
    /// Whether a term ends at the node, with no tail.
    #[inline]
    pub fn ends_at(&self, node: TermNode) -> bool {
        self.labels[node.number as usize] & ENDS != 0
    }
    /// The bits of the characters with which terms go on after the node; 0 when none does.
    #[inline]
    pub fn letters(&self, node: TermNode) -> u64 {
        self.letters[node.number as usize]
    }
    /// The characters between the node without children and the end of its term.
    #[inline]
    pub fn tail(&self, ordinal: u32) -> Characters<'a> {
        let ordinal = ordinal as usize;
        Characters(&self.tails[self.tail_off[ordinal] as usize..self.tail_off[ordinal + 1] as usize])
    }
    /// The ordinals of the terms that start with `key`, and whether `key` is itself one (then it is the first).
    pub fn starting_with(&self, key: &str) -> Option<(u32, u32, bool)> {
        let mut node = self.root();
        let mut rest = key.chars();
        while let Some(c) = rest.next() {
            let children = self.children(node);
            if children.is_empty() {
                return self.tail_starting_with(node, std::iter::once(c).chain(rest));
            }
            node = self.child(&children, children.find(c)?);
        }
        let is_term = match self.children(node).is_empty() {
            true => node.low < node.high && self.tail(node.low).0.is_empty(),
            false => self.ends_at(node),
        };
        Some((node.low, node.high, is_term))
    }
    fn tail_starting_with(
        &self,
        node: TermNode,
        rest: impl Iterator<Item = char>,
    ) -> Option<(u32, u32, bool)> {
        if node.low == node.high {
            return None;
        }
        let mut tail = self.tail(node.low);
        for c in rest {
            if tail.next() != Some(u32::from(c)) {
                return None;
            }
        }
        Some((node.low, node.high, tail.0.is_empty()))
    }
    /// The term with an ordinal below [`Self::count`]. Cost: a look at every child on the way.
    pub fn text(&self, ordinal: u32) -> String {
        let mut text = String::new();
        let mut node = self.root();
        loop {
            let children = self.children(node);
            if children.is_empty() {
                text.extend(self.tail(node.low).filter_map(char::from_u32));
                return text;
            }
            if ordinal == node.low && self.ends_at(node) {
                return text;
            }
            let places = children.characters().enumerate();
            let mut below = places.map(|(place, c)| (self.child(&children, place), c));
            let Some((child, c)) = below.find(|(child, _)| ordinal < child.high) else { return text };
            text.extend(char::from_u32(c));
            node = child;
        }
    }
    /// The ordinal of a term.
    pub fn ordinal(&self, term: &str) -> Option<u32> {
        self.starting_with(term).and_then(|(low, _, is_term)| is_term.then_some(low))
    }
}
impl Children<'_> {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
    /// Their characters.
    #[inline]
    pub fn characters(&self) -> impl Iterator<Item = u32> {
        self.labels.iter().map(|label| label & CHARACTER)
    }
    /// [`Terms::letters`] of the child at a place.
    #[inline]
    pub fn letters(&self, place: usize) -> u64 {
        self.letters[place]
    }
    /// Whether a term ends at the child at a place, with no tail.
    #[inline]
    pub fn ends_at(&self, place: usize) -> bool {
        self.labels[place] & ENDS != 0
    }
    /// The place of the child with this character.
    pub fn find(&self, c: char) -> Option<usize> {
        self.labels.binary_search_by_key(&u32::from(c), |label| label & CHARACTER).ok()
    }
}
/// Characters of a UTF-8 text, as numbers.
#[derive(Clone, Copy, Debug)]
pub struct Characters<'a>(&'a [u8]);
impl Iterator for Characters<'_> {
    type Item = u32;
    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (&first, rest) = self.0.split_first()?;
        let first = u32::from(first);
        let (mut c, more) = match first {
            0..0x80 => (first, 0),
            0x80..0xe0 => (first & 0x1f, 1),
            0xe0..0xf0 => (first & 0x0f, 2),
            _ => (first & 0x07, 3),
        };
        let (following, rest) = rest.split_at(rest.len().min(more));
        for byte in following {
            c = c << 6 | u32::from(byte & 0x3f);
        }
        self.0 = rest;
        Some(c)
    }
}

/// Collects terms and lays out their trie.
#[derive(Debug, Default)]
pub(crate) struct TrieBuilder {
    text: Vec<u8>,
    ends: Vec<usize>,
}
/// A finished trie in memory.
#[derive(Debug, Default)]
pub(crate) struct Trie {
    children: Vec<u32>,
    labels: Vec<u32>,
    lows: Vec<u32>,
    tail_off: Vec<u32>,
    tails: Vec<u8>,
    letters: Vec<u64>,
}
/// A node whose children are still to be made: its terms and how many of their bytes lead to it.
struct Open {
    terms: Range<u32>,
    depth: u32,
}
impl TrieBuilder {
    /// Adds the next term in byte order.
    pub fn push(&mut self, term: &[u8]) {
        self.text.extend_from_slice(term);
        self.ends.push(self.text.len());
    }
    fn term(&self, ordinal: u32) -> &[u8] {
        let ordinal = ordinal as usize;
        let start = if ordinal == 0 { 0 } else { self.ends[ordinal - 1] };
        &self.text[start..self.ends[ordinal]]
    }
    /// Cost: each term is looked at once for each of its characters that other terms share.
    pub fn finish(self) -> Trie {
        let terms = self.ends.len() as u32;
        let mut trie = Trie { labels: vec![0], lows: vec![0], ..Trie::default() };
        // bytes of each term that the nodes above its tail hold
        let mut held = vec![0u32; self.ends.len()];
        let mut queue = std::collections::VecDeque::from([Open { terms: 0..terms, depth: 0 }]);
        let mut number = 0;
        while let Some(Open { mut terms, depth }) = queue.pop_front() {
            trie.children.push(trie.labels.len() as u32);
            let mut letters = 0;
            if !terms.is_empty() && self.term(terms.start).len() == depth as usize {
                trie.labels[number] |= ENDS;
                held[terms.start as usize] = depth;
                terms.start += 1;
            } else if number > 0 && terms.len() == 1 {
                held[terms.start as usize] = depth;
                letters = letter_bit(character_at(self.term(terms.start), depth as usize).0);
                terms.start = terms.end;
            }
            while !terms.is_empty() {
                let (label, bytes) = character_at(self.term(terms.start), depth as usize);
                let shared = &self.term(terms.start)[depth as usize..depth as usize + bytes];
                let same = |&t: &u32| self.term(t)[depth as usize..].starts_with(shared);
                let end = terms.clone().skip(1).find(|t| !same(t)).unwrap_or(terms.end);
                trie.labels.push(label);
                letters |= letter_bit(label);
                trie.lows.push(terms.start);
                queue.push_back(Open { terms: terms.start..end, depth: depth + bytes as u32 });
                terms.start = end;
            }
            trie.letters.push(letters);
            number += 1;
        }
        trie.children.push(trie.labels.len() as u32);
        trie.tail_off.push(0);
        for ordinal in 0..self.ends.len() as u32 {
            trie.tails.extend_from_slice(&self.term(ordinal)[held[ordinal as usize] as usize..]);
            trie.tail_off.push(trie.tails.len() as u32);
        }
        trie
    }
}
/// The character that starts at a byte of valid UTF-8, and its length.
fn character_at(term: &[u8], at: usize) -> (u32, usize) {
    let mut rest = Characters(&term[at..]);
    let c = rest.next().expect("a term of this group goes on");
    (c & CHARACTER, term.len() - at - rest.0.len())
}
impl Trie {
    /// The trie as searches see it.
    #[cfg(test)]
    pub fn terms(&self) -> Terms<'_> {
        Terms {
            children: &self.children,
            labels: &self.labels,
            lows: &self.lows,
            tail_off: &self.tail_off,
            tails: &self.tails,
            letters: &self.letters,
        }
    }
    /// Writes the sections. Errors: more bytes than an offset can name.
    pub fn write<W: Write>(&self, out: &mut ContainerWriter<W>, form: SegmentForm) -> io::Result<()> {
        super::records::offset(self.tails.len())?;
        out.section(s::TERM_CHILDREN, bytemuck::cast_slice(&self.children))?;
        out.section(s::TERM_LABELS, bytemuck::cast_slice(&self.labels))?;
        out.section(s::TERM_LOWS, bytemuck::cast_slice(&self.lows))?;
        out.section(s::TAIL_OFF, bytemuck::cast_slice(&self.tail_off))?;
        out.section(s::TAILS, &self.tails)?;
        match form {
            SegmentForm::First => Ok(()),
            SegmentForm::Lettered => out.section(s::TERM_LETTERS, bytemuck::cast_slice(&self.letters)),
        }
    }
}

/// Where a file keeps its trie.
pub(crate) struct StoredTerms {
    children: Range<usize>,
    labels: Range<usize>,
    lows: Range<usize>,
    tail_off: Range<usize>,
    tails: Range<usize>,
    letters: Letters,
}
/// Where the letters after each node are.
enum Letters {
    Stored(Range<usize>),
    /// Made for a file of the first form.
    Made(Vec<u64>),
}
impl StoredTerms {
    /// Finds the sections; `None` when their lengths disagree.
    pub fn open(container: &Container, terms: usize) -> Option<StoredTerms> {
        let stored = StoredTerms {
            children: container.range(s::TERM_CHILDREN),
            labels: container.range(s::TERM_LABELS),
            lows: container.range(s::TERM_LOWS),
            tail_off: container.range(s::TAIL_OFF),
            tails: container.range(s::TAILS),
            letters: match SegmentForm::of(container) {
                SegmentForm::First => Letters::Made(letters_of(container)),
                SegmentForm::Lettered => Letters::Stored(container.range(s::TERM_LETTERS)),
            },
        };
        let letters = match &stored.letters {
            Letters::Stored(range) => range.len() / size_of::<u64>(),
            Letters::Made(made) => made.len(),
        };
        let sound = stored.tail_off.len() == (terms + 1) * 4
            && !stored.labels.is_empty()
            && stored.labels.len().is_multiple_of(4)
            && stored.lows.len() == stored.labels.len()
            && stored.children.len() == stored.labels.len() + 4
            && letters == stored.labels.len() / size_of::<u32>()
            && container.numbers::<u32>(&stored.tail_off)[terms] as usize == stored.tails.len();
        sound.then_some(stored)
    }
    /// The trie as searches see it.
    pub fn terms<'a>(&'a self, container: &'a Container) -> Terms<'a> {
        Terms {
            children: container.numbers(&self.children),
            labels: container.numbers(&self.labels),
            lows: container.numbers(&self.lows),
            tail_off: container.numbers(&self.tail_off),
            tails: container.slice(&self.tails),
            letters: match &self.letters {
                Letters::Stored(range) => container.numbers(range),
                Letters::Made(made) => made,
            },
        }
    }
}

#[cfg(test)]
pub(crate) fn trie_of<'a>(terms: impl IntoIterator<Item = &'a str>) -> Trie {
    let mut builder = TrieBuilder::default();
    terms.into_iter().for_each(|term| builder.push(term.as_bytes()));
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_layout_is_frozen() {
        let trie = trie_of(["a", "abc", "abd", "b", "été"]);
        let label = |c: char, ends: bool| u32::from(c) | if ends { ENDS } else { 0 };
        assert_eq!(
            trie.labels,
            [
                0,
                label('a', true),
                label('b', true),
                label('é', false),
                label('b', false),
                label('c', true),
                label('d', true)
            ]
        );
        assert_eq!(trie.children, [1, 4, 5, 5, 5, 7, 7, 7]);
        assert_eq!(trie.lows, [0, 0, 3, 4, 1, 1, 2]);
        assert_eq!(trie.tail_off, [0, 0, 0, 0, 0, 3]);
        assert_eq!(trie.tails, "té".as_bytes());
        let letters = |chars: &str| chars.chars().fold(0, |all, c| all | letter_bit(c.into()));
        assert_eq!(trie.letters, ["abé", "b", "", "t", "cd", "", ""].map(letters));
        let none = trie_of([]);
        assert_eq!((none.children, none.labels, none.tail_off), (vec![1, 1], vec![0], vec![0]));
    }
    /// What is made of a file of the first form.
    fn made_letters(trie: &Trie) -> Vec<u64> {
        let mut out = ContainerWriter::new(Vec::new()).unwrap();
        trie.write(&mut out, SegmentForm::First).unwrap();
        let bytes = crate::index::container::aligned(&out.finish().unwrap());
        let container = Container::open(std::path::Path::new("first"), bytes).unwrap();
        assert_eq!(SegmentForm::of(&container), SegmentForm::First);
        letters_of(&container)
    }
    proptest! {
        #[test]
        fn letters_are_made_as_they_are_written(
            terms in proptest::collection::btree_set("[abé東]{1,6}", 0..60),
        ) {
            let trie = trie_of(terms.iter().map(String::as_str));
            prop_assert_eq!(made_letters(&trie), trie.letters);
        }
        #[test]
        fn prefixes_are_found_as_in_a_sorted_list(
            terms in proptest::collection::btree_set("[abé東]{1,6}", 0..60),
            key in "[abé東]{0,7}",
        ) {
            check(&terms, &key);
            for term in &terms {
                check(&terms, term);
            }
        }
    }
    fn check(terms: &BTreeSet<String>, key: &str) {
        let trie = trie_of(terms.iter().map(String::as_str));
        let low = terms.iter().position(|term| term.starts_with(key));
        let count = terms.iter().filter(|term| term.starts_with(key)).count();
        let expected = low.map(|low| (low as u32, (low + count) as u32, terms.contains(key)));
        let found = trie.terms().starting_with(key).filter(|found| found.0 < found.1);
        assert_eq!(found, expected, "{key} in {terms:?}");
        let ordinal = terms.iter().position(|term| term == key).map(|at| at as u32);
        assert_eq!(trie.terms().ordinal(key), ordinal);
    }
}
