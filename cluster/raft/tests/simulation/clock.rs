//! What time a node believes it is: every clock has its own beginning and its own rate.

use quorate_model::chance::Chance;

/// A clock that goes on while its node is stopped, up to 5 % too fast or too slow.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    ahead: u64,
    per_mille: u64,
}

impl Clock {
    pub fn new(chance: &mut Chance) -> Self {
        // The ends of what is allowed come up often: they are where a promise breaks first.
        let per_mille = match chance.below(4) {
            0 => 950,
            1 => 1_050,
            _ => chance.between(950, 1_050),
        };
        Clock { ahead: chance.below(1_000_000), per_mille }
    }
    /// What it shows at a moment of the world, in milliseconds.
    pub fn at(&self, now: u64) -> u64 {
        self.ahead + now * self.per_mille / 1_000
    }
}
