//! How alike are an item and each other item, by those who had both?
//!
//! Hot path: some 5 ns for each pair of items in a history, which is nearly all that a build costs.

use super::error::{Result, go_on};
use super::exact::{beyond_chance, falling};
use super::histories::HISTORY_ITEMS_MAX;
use super::matrix::Matrix;
use std::sync::atomic::AtomicBool;

/// What a kind of interaction weighs, by its number; as many as three bits can name.
const WEIGHTS: [f32; 8] = [0.25, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0];
/// G² from which on two items come together more often than by chance, with p < 0.001 (one degree of freedom).
const CHANCE: f64 = 10.83;

/// Which pairs are let in.
#[derive(Clone, Copy)]
pub(super) enum Admission {
    /// Every pair; those of one common user only fill up short lists.
    Related,
    /// Pairs of two baskets that come together more often than by chance.
    Together,
}

/// Two items that some users had both. One sum for each exponent: Σ x·x·|h|^-α.
#[derive(Clone, Copy)]
pub(super) struct Pair<const N: usize> {
    pub item: u32,
    pub common: u32,
    pub sums: [f32; N],
}

#[derive(Clone, Copy)]
struct Cell<const N: usize> {
    common: u32,
    sums: [f32; N],
}

/// Computes one row after another, for `N` exponents at once.
///
/// Memory: 4·(N + 2) bytes an item.
pub(super) struct Similarities<'a, const N: usize> {
    matrix: &'a Matrix,
    admission: Admission,
    falling: Vec<[f32; N]>,
    cells: Vec<Cell<N>>,
    touched: Vec<u32>,
    /// How often two items of one user each come together by chance.
    by_chance: f64,
    /// The pairs of the row.
    pub pairs: Vec<Pair<N>>,
    /// Pairs of one common user, which fill up what has few others.
    pub fillers: Vec<Pair<N>>,
}

impl<'a, const N: usize> Similarities<'a, N> {
    /// Begins for some of the exponents of [`falling`], by their places.
    pub fn new(matrix: &'a Matrix, admission: Admission, alphas: [usize; N]) -> Self {
        let of_length = |length| alphas.map(|alpha| falling(length)[alpha]);
        Similarities {
            matrix,
            admission,
            falling: (0..=HISTORY_ITEMS_MAX as u32).map(of_length).collect(),
            cells: vec![Cell { common: 0, sums: [0.0; N] }; matrix.items.len()],
            touched: Vec::new(),
            by_chance: by_chance(matrix),
            pairs: Vec::new(),
            fillers: Vec::new(),
        }
    }
    /// Computes the row of an item into `pairs` and `fillers`.
    pub fn compute(&mut self, item: u32, stop: &AtomicBool) -> Result<()> {
        for user in self.matrix.users_of.row(item) {
            go_on(stop)?;
            let history = self.matrix.histories.row(user >> 3);
            let weight = WEIGHTS[(user & 7) as usize];
            let weights = self.falling[history.len()].map(|falling| falling * weight);
            for other in history {
                let cell = &mut self.cells[(other >> 3) as usize];
                if cell.common == 0 {
                    self.touched.push(other >> 3);
                }
                cell.common += 1;
                let weight = WEIGHTS[(other & 7) as usize];
                for (sum, own) in cell.sums.iter_mut().zip(weights) {
                    *sum += own * weight;
                }
            }
        }
        self.admit(item);
        Ok(())
    }
    /// Moves what was summed into the lists, and leaves the cells empty.
    fn admit(&mut self, item: u32) {
        self.pairs.clear();
        self.fillers.clear();
        let expected = f64::from(self.matrix.users(item)) * self.by_chance;
        for other in self.touched.drain(..) {
            let empty = Cell { common: 0, sums: [0.0; N] };
            let Cell { common, sums } = std::mem::replace(&mut self.cells[other as usize], empty);
            if other == item {
                continue;
            }
            let pair = Pair { item: other, common, sums };
            match self.admission {
                Admission::Related if common > 1 => self.pairs.push(pair),
                Admission::Related => self.fillers.push(pair),
                Admission::Together => {
                    let expected = expected * f64::from(self.matrix.users(other));
                    if common > 1 && beyond_chance(common, expected) >= CHANCE {
                        self.pairs.push(pair);
                    }
                }
            }
        }
    }
}

/// How often two items come together by chance, for each user of the one and each of the other.
///
/// Were all items dealt anew to rows of the lengths that they have, a place had one of (Σ|h|)² pairs of users, and Σ|h|·(|h|-1) pairs
/// of places lie in one row. Where lengths differ that is more than one in as many as there are rows: two best sellers are together in
/// long baskets time and again, and mean nothing by it.
fn by_chance(matrix: &Matrix) -> f64 {
    let lengths = (0..matrix.histories.rows()).map(|row| matrix.histories.row(row).len() as u64);
    let (mut places, mut pairs) = (0, 0);
    for length in lengths {
        places += length;
        pairs += length * length.saturating_sub(1);
    }
    pairs as f64 / (places as f64 * places as f64).max(1.0)
}
