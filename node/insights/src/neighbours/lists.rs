//! Which neighbours of an item are the best, and how good is each?

use super::exact::penalties;
use super::matrix::Matrix;
use super::similarities::{Pair, Similarities};

/// Neighbours of one item.
pub const NEIGHBOURS_MAX: usize = 100;
/// Neighbours up to which pairs of one common user fill up a list.
const FILLED: usize = 30;

/// `n^-β` of every item, for some of the exponents of [`penalties`].
pub(super) fn penalties_of<const M: usize>(matrix: &Matrix, betas: [usize; M]) -> Vec<[f32; M]> {
    let of_item = |item| {
        let penalties = penalties(matrix.users(item));
        betas.map(|beta| penalties[beta])
    };
    (0..matrix.items.len() as u32).map(of_item).collect()
}

/// `c / (c + λ)`: how far `common` users are to be believed.
pub(super) fn shrinkage(common: u32, lambda: u32) -> f32 {
    common as f32 / (common as f32 + lambda as f32)
}

/// The best of what is pushed, each with its score, which is positive. Of equal ones the smaller number is better.
///
/// A score and a number are one integer: positive floats are ordered as their bits are.
pub(super) struct Best {
    most: usize,
    keys: Vec<u64>,
    floor: u64,
}

impl Best {
    pub fn new() -> Self {
        Best { most: 0, keys: Vec::new(), floor: 0 }
    }
    /// Begins again, for `most` of them.
    pub fn begin(&mut self, most: usize) {
        self.most = most;
        self.keys.clear();
        self.floor = 0;
    }
    pub fn push(&mut self, score: f32, number: u32) {
        let key = u64::from(score.to_bits()) << 32 | u64::from(!number);
        if key <= self.floor {
            return;
        }
        self.keys.push(key);
        if self.keys.len() == 2 * self.most {
            self.prune();
        }
    }
    fn prune(&mut self) {
        let (_, worst, _) = self.keys.select_nth_unstable_by(self.most - 1, |a, b| b.cmp(a));
        self.floor = *worst;
        self.keys.truncate(self.most);
    }
    /// Scores and numbers, in no order.
    pub fn take(&mut self) -> impl Iterator<Item = (f32, u32)> {
        if self.keys.len() > self.most {
            self.prune();
        }
        self.keys.iter().map(|key| (f32::from_bits((key >> 32) as u32), !(*key as u32)))
    }
}

/// Puts the neighbours of an item together: the best pairs, and the best of the others where there are few.
pub(super) fn best_of<const N: usize>(
    similarities: &Similarities<'_, N>,
    best: &mut Best,
    score: impl Fn(&Pair<N>) -> f32,
    list: &mut Vec<(f32, u32)>,
) {
    list.clear();
    best.begin(NEIGHBOURS_MAX);
    similarities.pairs.iter().for_each(|pair| best.push(score(pair), pair.item));
    list.extend(best.take());
    if list.len() < FILLED && !similarities.fillers.is_empty() {
        best.begin(FILLED - list.len());
        similarities.fillers.iter().for_each(|pair| best.push(score(pair), pair.item));
        list.extend(best.take());
    }
}

#[cfg(test)]
mod tests {
    use super::super::exact::spread;
    use super::*;

    #[test]
    fn the_best_are_those_of_a_sorted_list() {
        for (length, most) in [(0, 3), (2, 3), (3, 3), (6, 3), (1_000, 1), (1_000, 100), (200, 100)] {
            // few different scores, so that numbers decide
            let scored: Vec<(f32, u32)> =
                (0..length).map(|number| (1.0 + (spread(number) % 17) as f32, number as u32)).collect();
            let mut best = Best::new();
            best.begin(most);
            scored.iter().for_each(|(score, number)| best.push(*score, *number));
            let mut found: Vec<(f32, u32)> = best.take().collect();
            let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            found.sort_by(order);
            let mut wanted = scored;
            wanted.sort_by(order);
            wanted.truncate(most);
            assert_eq!(found, wanted, "{most} of {length}");
        }
    }
}
