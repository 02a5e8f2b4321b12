//! Which queries are looked at, and how often was each asked for?

use super::normalise::letters;
use super::{Exclusions, normalised};
use rustc_hash::FxHashMap;

/// Queries that a build looks at, over all its sources.
pub const CANDIDATES_MAX: usize = 50_000;

/// A query that may become a suggestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The query, as a suggestion has it.
    pub text: String,
    /// How many users asked for it, and what external indices say.
    pub popularity: u64,
}

/// The queries of a source.
#[derive(Debug)]
pub struct Candidates<'c> {
    allows_special: bool,
    min_letters: usize,
    exclusions: &'c Exclusions,
    found: FxHashMap<String, u64>,
}

impl<'c> Candidates<'c> {
    /// None yet.
    pub fn new(allows_special: bool, min_letters: Option<u32>, exclusions: &'c Exclusions) -> Candidates<'c> {
        let min_letters = min_letters.unwrap_or_default() as usize;
        Candidates { allows_special, min_letters, exclusions, found: FxHashMap::default() }
    }
    /// Adds a query that so many asked for. `Err` says why it is no suggestion.
    pub fn add(&mut self, query: &str, count: u64) -> Result<(), String> {
        let text = normalised(query, self.allows_special)?;
        if let Some(known) = self.found.get_mut(&text) {
            *known = known.saturating_add(count);
            return Ok(());
        }
        let has = letters(&text);
        if has < self.min_letters {
            return Err(format!("not enough letters, got {has}, expected {}", self.min_letters));
        }
        if let Some(entry) = self.exclusions.excludes(&text) {
            return Err(format!("excluded by {entry}"));
        }
        self.found.insert(text, count);
        Ok(())
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.found.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
    /// The most popular ones, in the order of their popularity, and how many are left out.
    pub fn most_popular(self, most: usize) -> (Vec<Candidate>, usize) {
        let candidate = |(text, popularity)| Candidate { text, popularity };
        let mut all: Vec<Candidate> = self.found.into_iter().map(candidate).collect();
        all.sort_unstable_by(|a, b| b.popularity.cmp(&a.popularity).then_with(|| a.text.cmp(&b.text)));
        let left_out = all.len().saturating_sub(most);
        all.truncate(most);
        (all, left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_query_is_counted_once_and_what_cannot_be_says_why() {
        let exclusions = Exclusions::new(&["bad".to_owned()]).unwrap();
        let mut candidates = Candidates::new(false, Some(3), &exclusions);
        assert!(candidates.is_empty());
        for (query, count, expected) in [
            ("Red shoes", 3, Ok(())),
            ("red  SHOES", 4, Ok(())),
            ("lamp", 5, Ok(())),
            ("desk", 5, Ok(())),
            ("a-b", 9, Err("not enough letters, got 2, expected 3")),
            ("so bad", 9, Err("excluded by bad")),
            ("c++", 9, Err("it has special characters")),
        ] {
            assert_eq!(
                candidates.add(query, count).as_ref().map_err(|why| &**why),
                expected.as_ref().map_err(|why| &**why)
            );
        }
        candidates.add("lamp", u64::MAX).unwrap();
        assert_eq!(candidates.len(), 3);
        let one = |text: &str, popularity| Candidate { text: text.to_owned(), popularity };
        let (best, left_out) = candidates.most_popular(2);
        assert_eq!((best, left_out), (vec![one("lamp", u64::MAX), one("red shoes", 7)], 1));
    }
}
