//! How far is what was read from the word? The band of the Damerau-Levenshtein table around the diagonal, as the states
//! of an automaton that is the same for all words.
//!
//! A step depends only on which characters of the word near the diagonal equal the one read. All rows that any word can
//! lead to are numbered once, so that a step is one look-up in a table that stays in the cache.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Number of a state.
pub type State = u16;

/// The rows for words with one edit.
pub static ONE: LazyLock<Automaton<3>> = LazyLock::new(Automaton::new);
/// The rows for words with two edits.
pub static TWO: LazyLock<Automaton<5>> = LazyLock::new(Automaton::new);

/// The steps between rows of `W` cells: the diagonal and as many cells on each side as there are edits.
#[derive(Debug)]
pub struct Automaton<const W: usize> {
    next: Vec<State>,
    rows: Vec<Row<W>>,
    /// For each state the places of the window whose character alone leads on.
    leading: Vec<u8>,
}
/// Cell `b` of the row of depth `d` belongs to the word's first `d - edits + b` characters. More edits than allowed are all
/// the same: `edits + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Row<const W: usize> {
    cells: [u8; W],
    /// What each cell of the next row is at most when its character completes a transposition.
    swaps: [u8; W],
    /// The least cell.
    least: u8,
}
impl<const W: usize> Automaton<W> {
    /// The state in which no cell is within the edits.
    pub const DEAD: State = 0;
    const EDITS: usize = W / 2;
    /// A cell that no alignment reaches.
    const OUT: u8 = W as u8 / 2 + 1;
    const STEPS: usize = 1 << W;

    fn new() -> Self {
        let dead = Row { cells: [Self::OUT; W], swaps: [Self::OUT; W], least: Self::OUT };
        let cells = std::array::from_fn(|b| b.checked_sub(Self::EDITS).map_or(Self::OUT, |j| j as u8));
        let start = Row { cells, least: 0, ..dead };
        let mut numbers = FxHashMap::from_iter([(dead, 0), (start, 1)]);
        let mut automaton = Automaton { next: vec![], rows: vec![dead, start], leading: vec![] };
        let mut state = 0;
        while let Some(&row) = automaton.rows.get(state) {
            for matches in 0..Self::STEPS {
                let next = row.next(matches);
                let number = *numbers.entry(next).or_insert_with(|| {
                    automaton.rows.push(next);
                    automaton.rows.len() as State - 1
                });
                automaton.next.push(number);
            }
            state += 1;
        }
        let leads = |state, b: usize| automaton.next(state, 1 << b) != Self::DEAD;
        let leading = |state| (0..W).filter(|&b| leads(state, b)).fold(0, |all, b| all | 1 << b);
        automaton.leading = (0..automaton.rows.len() as State).map(leading).collect();
        automaton
    }
    /// Bits of the places of the window whose characters lead on where a stranger does not: cells are the least of what
    /// single characters allow, so no two characters lead on together unless one does alone.
    #[inline]
    pub fn leading(&self, state: State) -> u8 {
        self.leading[usize::from(state)]
    }
    /// The state before the first character.
    pub fn start(&self) -> State {
        1
    }
    /// The state after a character; bit `b` of `matches` says whether it is the last one of the characters that cell `b`
    /// of the new row belongs to.
    #[inline]
    pub fn next(&self, state: State, matches: usize) -> State {
        self.next[usize::from(state) * Self::STEPS + matches]
    }
    /// The cells of a state's row.
    #[inline]
    pub fn cells(&self, state: State) -> &[u8; W] {
        &self.rows[usize::from(state)].cells
    }
    /// The least of them.
    #[inline]
    pub fn least(&self, state: State) -> u8 {
        self.rows[usize::from(state)].least
    }
}
impl<const W: usize> Row<W> {
    fn next(&self, matches: usize) -> Row<W> {
        let out = Automaton::<W>::OUT;
        let equal = |b: usize| matches >> b & 1 == 1;
        let mut next = Row { cells: [out; W], swaps: [out; W], least: out };
        for b in 0..W {
            let mut value = self.cells[b] + u8::from(!equal(b));
            if b + 1 < W {
                value = value.min(self.cells[b + 1] + 1);
            }
            if b > 0 {
                value = value.min(next.cells[b - 1] + 1);
                if equal(b - 1) {
                    value = value.min(self.swaps[b]);
                }
            }
            next.cells[b] = value.min(out);
            // the character read is the later one of the pair in the word; at the band's rim no swap is within the edits
            if b > 0 && b + 1 < W && equal(b + 1) {
                next.swaps[b] = (self.cells[b] + 1).min(out);
            }
        }
        next.least = next.cells.iter().copied().min().unwrap_or(out);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_small_and_dead_states_stay_dead() {
        assert!(ONE.rows.len() < 64, "{}", ONE.rows.len());
        assert!(TWO.rows.len() < 2_048, "{}", TWO.rows.len());
        for matches in 0..32 {
            assert_eq!(TWO.next(Automaton::<5>::DEAD, matches), Automaton::<5>::DEAD);
        }
        for state in 1..TWO.rows.len() as State {
            assert!(TWO.least(state) <= 2 || TWO.rows[usize::from(state)].swaps.iter().any(|&s| s <= 2));
        }
        for state in 0..TWO.rows.len() as State {
            for matches in 0..32 {
                let leads = TWO.next(state, matches) != Automaton::<5>::DEAD;
                let alone = TWO.next(state, 0) != Automaton::<5>::DEAD;
                assert_eq!(leads, alone || matches & usize::from(TWO.leading(state)) != 0);
            }
        }
        println!("{} and {} states", ONE.rows.len(), TWO.rows.len());
    }
}
