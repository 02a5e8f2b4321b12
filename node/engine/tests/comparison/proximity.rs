//! proximity: how near do the words stand to each other? (C§7.6)

use super::attribute::Place;
use super::ranker::{Found, Ranker};
use super::tokens::is_next;
use super::typo::Match;
use serde_json::Value;

/// Where a word stands, seen from the word before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Join {
    /// Anywhere.
    Apart,
    /// Directly after it, as in a phrase.
    Phrase,
    /// Directly after it, both standing for the same words of the query: the distance does not count.
    Inside,
    /// Anywhere, likewise.
    Scattered,
}

impl Ranker<'_> {
    /// Every way to choose one match a word: the least sum of distances, then the best attribute on the way.
    pub fn best_chain(&self, lists: &[(Join, Vec<Match>)]) -> Option<(u32, Place)> {
        let mut best = None;
        let mut choice = vec![0; lists.len()];
        'choices: loop {
            let chosen: Vec<(Join, &Match)> =
                lists.iter().zip(&choice).map(|((join, list), &i)| (*join, &list[i])).collect();
            let fits = chosen.windows(2).all(|pair| match pair[1].0 {
                Join::Phrase | Join::Inside => is_next(pair[0].1.token.place(), pair[1].1.token.place()),
                Join::Apart | Join::Scattered => true,
            });
            if fits {
                let counted =
                    chosen.windows(2).filter(|pair| matches!(pair[1].0, Join::Apart | Join::Phrase));
                let sum: u32 = counted.map(|pair| self.distance(pair[0].1, pair[1].1)).sum();
                let place = chosen.iter().map(|(_, m)| self.place(&m.token)).min()?;
                best = best.into_iter().chain([(sum, place)]).min();
            }
            for (i, (_, list)) in lists.iter().enumerate() {
                choice[i] += 1;
                if choice[i] < list.len() {
                    continue 'choices;
                }
                choice[i] = 0;
            }
            return best;
        }
    }
    /// The distances of what was found. What stands for several words has those between them.
    pub fn distances(&self, found: &Found) -> i64 {
        let between = found.steps.iter().map(|(step, _)| (step.to - step.from - 1) as u32);
        i64::from(found.nearest.0 + between.sum::<u32>() * self.min_proximity().min(8))
    }
    /// Steps from one match to the other; one more backwards, 8 at most and between attributes.
    fn distance(&self, a: &Match, b: &Match) -> u32 {
        let (a, b) = (&a.token, &b.token);
        if a.attribute != b.attribute {
            return 8;
        }
        let steps = if b.word > a.word { b.word - a.word } else { a.word - b.word + 1 };
        steps.max(self.min_proximity()).min(8)
    }
    /// What neighbours count.
    fn min_proximity(&self) -> u32 {
        self.query.params.get("minProximity").and_then(Value::as_u64).unwrap_or(1) as u32
    }
}
