//! With which exponents are items compared?

use super::exact::spread;
use serde::{Deserialize, Serialize};

/// Exponents of the length of a history, in the order of [`super::exact::falling`].
const ALPHAS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// Exponents of the users of a neighbour, in the order of [`super::exact::penalties`].
const BETAS: [f64; 3] = [0.2, 0.4, 0.6];
/// Users in common at which half of a score is believed.
const LAMBDAS: [u32; 2] = [0, 5];
/// How many choices there are.
pub(super) const CHOICES: usize = ALPHAS.len() * BETAS.len() * LAMBDAS.len();

/// One choice, by the places of its three values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub alpha: usize,
    pub beta: usize,
    pub lambda: usize,
}

impl Choice {
    /// What is taken without enough interactions to choose: ½, 0.4 and 5.
    pub const DEFAULT: Choice = Choice { alpha: 1, beta: 1, lambda: 1 };

    /// All there are, each at the place of its number.
    pub fn all() -> [Choice; CHOICES] {
        std::array::from_fn(|number| Choice {
            alpha: number % ALPHAS.len(),
            beta: number / ALPHAS.len() % BETAS.len(),
            lambda: number / (ALPHAS.len() * BETAS.len()),
        })
    }
    pub fn number(self) -> usize {
        self.alpha + ALPHAS.len() * (self.beta + BETAS.len() * self.lambda)
    }
    pub fn lambda(self) -> u32 {
        LAMBDAS[self.lambda]
    }
    pub fn parameters(self) -> Parameters {
        Parameters { alpha: ALPHAS[self.alpha], beta: BETAS[self.beta], lambda: self.lambda() }
    }
}

/// The exponents of `s(i→j) = c/(c+λ) · Σ x_ui·x_uj·|h_u|^-α / n_j^β`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// How much less long histories say.
    pub alpha: f64,
    /// How far what everybody has is held back.
    pub beta: f64,
    /// How far few users in common are believed.
    pub lambda: u32,
}

/// The better of the choices, by the recall of each: among those within a hundredth of the best the larger β, which shows more of
/// the catalogue, then the higher recall.
pub(super) fn chosen(recalls: &[f64; CHOICES]) -> Choice {
    let best = recalls.iter().copied().fold(0.0, f64::max);
    let near =
        Choice::all().into_iter().zip(recalls.iter().copied()).filter(|(_, recall)| *recall >= 0.99 * best);
    near.reduce(|kept, next| {
        let is_better = (next.0.beta, next.1) > (kept.0.beta, kept.1);
        if is_better { next } else { kept }
    })
    .map_or(Choice::DEFAULT, |(choice, _)| choice)
}

/// Whether an interaction is held out of those that exponents are tried with: a tenth of them.
pub(super) fn is_held_out(key: u64, id: &[u8]) -> bool {
    // FNV-1a, and spread: a tenth of what remains has to be as if by chance
    let hash = id.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    spread(hash ^ spread(key)).is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(recalls: &[(usize, f64)], wanted: (f64, f64, u32), recall: f64) {
        let mut all = [0.1; CHOICES];
        recalls.iter().for_each(|(number, recall)| all[*number] = *recall);
        let choice = chosen(&all);
        assert_eq!(Choice::all()[choice.number()], choice);
        let found = all[choice.number()];
        let Parameters { alpha, beta, lambda } = choice.parameters();
        assert_eq!(((alpha, beta, lambda), found), (wanted, recall), "{recalls:?}");
    }

    #[test]
    fn the_larger_beta_wins_within_a_hundredth() {
        check(&[(2, 0.5)], (0.75, 0.2, 0), 0.5);
        check(&[(2, 0.5), (5, 0.4949)], (0.75, 0.2, 0), 0.5);
        check(&[(2, 0.5), (5, 0.4951)], (0.5, 0.4, 0), 0.4951);
        check(&[(2, 0.5), (5, 0.4951), (7, 0.4952), (16, 0.4951)], (1.0, 0.4, 0), 0.4952);
        check(&[(23, 0.5)], (1.0, 0.6, 5), 0.5);
    }
    #[test]
    fn the_default_is_a_half_point_four_and_five() {
        assert_eq!(Choice::DEFAULT.parameters(), Parameters { alpha: 0.5, beta: 0.4, lambda: 5 });
        assert!(Choice::all().contains(&Choice::DEFAULT));
    }
    #[test]
    fn a_tenth_is_held_out() {
        let held = (0..100_000u64).filter(|n| is_held_out(n % 100, &(n / 100).to_le_bytes())).count();
        assert!((9_700..10_300).contains(&held), "{held}");
    }
}
