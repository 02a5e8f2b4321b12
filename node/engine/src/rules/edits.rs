//! What is the query after the rules have changed it (C§10.4)?

use super::compile::{RuleSet, Slot};
use super::matching::Match;
use super::request::RuleRequest;
use super::words::texts;
use crate::analysis::Analyzer;
use quorate_model::rule::{PatternPart, QueryChange};

/// What becomes of the words of one query.
#[derive(Debug, Default)]
pub(super) struct Rewrite {
    cuts: Vec<Cut>,
    replaced: Option<String>,
}
/// Words that go.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cut {
    first: usize,
    /// One past the last word.
    end: usize,
    /// What comes in their place.
    insert: Option<String>,
}
impl Cut {
    fn overlaps(&self, other: &Cut) -> bool {
        self.first < other.end && other.first < self.end
    }
}
/// Another rule of higher precedence changes the same words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conflict;

impl Rewrite {
    /// Adds what a rule does. Nothing is changed when it would touch words that a rule before it has changed.
    pub fn add(
        &mut self,
        asked: &RuleRequest<'_>,
        analyzer: &Analyzer,
        found: &Match,
        change: &QueryChange,
    ) -> Result<(), Conflict> {
        match change {
            QueryChange::Replace(text) => {
                if self.replaced.is_some() || !self.cuts.is_empty() {
                    return Err(Conflict);
                }
                self.replaced = Some(text.clone());
            }
            QueryChange::Edit(edits) => {
                let mut cuts: Vec<Cut> = vec![];
                for edit in edits {
                    for (first, end) in stretches(asked, analyzer, found, &edit.delete) {
                        let cut = Cut { first, end, insert: edit.insert.clone() };
                        if !cuts.iter().any(|earlier| earlier.overlaps(&cut)) {
                            cuts.push(cut);
                        }
                    }
                }
                let taken = |cut: &Cut| self.cuts.iter().any(|earlier| earlier.overlaps(cut));
                if cuts.iter().any(|cut| self.replaced.is_some() || taken(cut)) {
                    return Err(Conflict);
                }
                self.cuts.append(&mut cuts);
            }
        }
        Ok(())
    }
    /// The new query; `None` when no rule changed it.
    pub fn text(mut self, asked: &RuleRequest<'_>) -> Option<String> {
        if self.replaced.is_some() || self.cuts.is_empty() {
            return self.replaced;
        }
        self.cuts.sort_by_key(|cut| cut.first);
        let mut pieces: Vec<String> = vec![];
        let mut from = 0;
        for cut in &self.cuts {
            let (before, is_excluded) = without_minus(&asked.query[from..asked.words[cut.first].start]);
            pieces.push(before.to_owned());
            pieces.extend(cut.insert.as_deref().map(str::trim).filter(|insert| !insert.is_empty()).map(
                |insert| match (is_excluded, insert.contains(char::is_whitespace)) {
                    (false, _) => insert.to_owned(),
                    (true, false) => format!("-{insert}"),
                    (true, true) => format!("-\"{insert}\""),
                },
            ));
            from = asked.words[cut.end - 1].end;
        }
        pieces.push(asked.query[from..].to_owned());
        let pieces = pieces.iter().map(|piece| piece.trim()).filter(|piece| !piece.is_empty());
        Some(pieces.collect::<Vec<_>>().join(" "))
    }
}
/// What stands before a word, without the minus that excludes it, and whether there was one (C§4.6).
fn without_minus(before: &str) -> (&str, bool) {
    match before.strip_suffix('-') {
        Some(rest) if rest.is_empty() || rest.ends_with(char::is_whitespace) => (rest, true),
        Some(_) | None => (before, false),
    }
}
/// Where the query has what an edit deletes.
fn stretches(
    asked: &RuleRequest<'_>,
    analyzer: &Analyzer,
    found: &Match,
    delete: &PatternPart,
) -> Vec<(usize, usize)> {
    match delete {
        PatternPart::Facet(attribute) => {
            let is_it = |facet: u16| *asked.set.facets[usize::from(facet)] == **attribute;
            let captured = found.captured.iter().filter(|(facet, _)| is_it(*facet));
            captured.map(|(_, find)| (find.first, find.first + find.words)).collect()
        }
        PatternPart::Literal(text) => {
            let deleted = texts(analyzer, text);
            let mut all = vec![];
            let mut first = 0;
            while !deleted.is_empty() && first + deleted.len() <= asked.words.len() {
                let is = |(place, word): (usize, &String)| is_word(asked, found, first + place, word);
                if deleted.iter().enumerate().all(is) {
                    all.push((first, first + deleted.len()));
                    first += deleted.len();
                } else {
                    first += 1;
                }
            }
            all
        }
    }
}
/// Whether a word of the query is the word, or what the pattern took for it.
fn is_word(asked: &RuleRequest<'_>, found: &Match, place: usize, word: &str) -> bool {
    if asked.words[place].text == word {
        return true;
    }
    let RuleSet { words, triggers, .. } = asked.set;
    let (Some(id), Some(shape)) = (words.get(word), &triggers[found.trigger as usize].shape) else {
        return false;
    };
    shape.slots.iter().any(|slot| match slot {
        Slot::Like(likes) if likes.words[0] == *id => asked.is_like(place, likes),
        Slot::Like(_) | Slot::Word(_) | Slot::Facet(_) => false,
    })
}
