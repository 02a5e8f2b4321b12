//! Where all chance of a test comes from: one seed, one sequence.
//!
//! It stands in the lowest crate, so that tests, simulations and benchmarks of all of them have the same one. The program uses it nowhere.

/// A small generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5851_f42d_4c95_7f2d)
    }
    /// Another sequence, for somebody else.
    pub fn split(&mut self) -> Self {
        Chance(self.number())
    }
    /// The next 64 bits.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }
    /// A number below `end`; 0 when there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }
    /// The same of positions.
    pub fn index(&mut self, end: usize) -> usize {
        self.below(end as u64) as usize
    }
    /// A number of `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
    /// A number from 0 on, below 1.
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// True `count` times of a thousand.
    pub fn per_mille(&mut self, count: u64) -> bool {
        self.below(1_000) < count
    }
    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    /// One of the values.
    pub fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.index(values.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_again_and_all_values_come() {
        let mut first: Vec<u64> = vec![];
        for seed in [7, 7, 8] {
            let mut chance = Chance::new(seed);
            let numbers: Vec<u64> = (0..100).map(|_| chance.below(5)).collect();
            assert!((0..5).all(|wanted| numbers.contains(&wanted)), "{numbers:?}");
            if seed == 7 && !first.is_empty() {
                assert_eq!(numbers, first);
            } else {
                assert_ne!(numbers, first);
            }
            first = numbers;
            assert!((3..=4).contains(&chance.between(3, 4)) && (0.0..1.0).contains(&chance.unit()));
            assert_eq!((chance.below(0), chance.below(1), *chance.pick(&[9])), (0, 0, 9));
            assert!(chance.once_in(1) && chance.per_mille(1_000) && !chance.per_mille(0));
        }
    }
}
