//! Who had what: the matrix of users, or baskets, and items, by either of them.

use super::error::{Result, go_on};
use super::interactions::Kind;
use std::sync::atomic::AtomicBool;

/// One side of a matrix: for each row the numbers of its columns, each with the kind below it in three bits.
#[derive(Default)]
pub(super) struct Sparse {
    starts: Vec<u32>,
    cells: Vec<u32>,
}

impl Sparse {
    pub fn row(&self, row: u32) -> &[u32] {
        let row = row as usize;
        &self.cells[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
    pub fn rows(&self) -> u32 {
        self.starts.len() as u32 - 1
    }
    pub fn cells(&self) -> usize {
        self.cells.len()
    }
    /// The same by columns. Within a column the rows ascend, which is the order in which floats are added.
    fn transposed(&self, columns: usize, stop: &AtomicBool) -> Result<Sparse> {
        let mut starts = vec![0; columns + 1];
        for row in 0..self.rows() {
            go_on(stop)?;
            for cell in self.row(row) {
                starts[(cell >> 3) as usize + 1] += 1;
            }
        }
        for column in 0..columns {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut cells = vec![0; self.cells.len()];
        for row in 0..self.rows() {
            go_on(stop)?;
            for cell in self.row(row) {
                let place = &mut next[(cell >> 3) as usize];
                cells[*place as usize] = row << 3 | cell & 7;
                *place += 1;
            }
        }
        Ok(Sparse { starts, cells })
    }
}

/// Histories of users, or baskets, and the same by item. 8 bytes an interaction.
pub(super) struct Matrix {
    /// Which of all items each column is. Ascends, as ids do.
    pub items: Vec<u32>,
    /// What each row is known by from build to build.
    pub keys: Vec<u64>,
    pub histories: Sparse,
    pub users_of: Sparse,
}

impl Matrix {
    /// How many rows have an item.
    pub fn users(&self, item: u32) -> u32 {
        self.users_of.row(item).len() as u32
    }
    /// The matrix without some items of some rows: those at `row`, `item` that `is_held` tells.
    pub fn without(&self, is_held: impl Fn(u32, u32) -> bool, stop: &AtomicBool) -> Result<Matrix> {
        let mut histories = Sparse { starts: vec![0], cells: Vec::with_capacity(self.histories.cells()) };
        for row in 0..self.histories.rows() {
            go_on(stop)?;
            let kept = self.histories.row(row).iter().filter(|cell| !is_held(row, **cell >> 3));
            histories.cells.extend(kept);
            histories.starts.push(histories.cells.len() as u32);
        }
        let users_of = histories.transposed(self.items.len(), stop)?;
        Ok(Matrix { items: self.items.clone(), keys: self.keys.clone(), histories, users_of })
    }
}

/// Takes rows one after another.
pub(super) struct MatrixBuilder {
    keys: Vec<u64>,
    histories: Sparse,
    used: Vec<bool>,
}

impl MatrixBuilder {
    /// Begins without rows, with items below `items`.
    pub fn new(items: usize) -> Self {
        let histories = Sparse { starts: vec![0], cells: Vec::new() };
        MatrixBuilder { keys: Vec::new(), histories, used: vec![false; items] }
    }
    /// Adds a row of different items.
    pub fn push(&mut self, key: u64, items: impl Iterator<Item = (u32, Kind)>) {
        for (item, kind) in items {
            self.used[item as usize] = true;
            self.histories.cells.push(item << 3 | kind as u32);
        }
        self.keys.push(key);
        self.histories.starts.push(self.histories.cells.len() as u32);
    }
    /// Numbers the items that are there, and turns the rows into columns.
    pub fn finish(self, stop: &AtomicBool) -> Result<Matrix> {
        let MatrixBuilder { keys, mut histories, used } = self;
        let mut items = Vec::new();
        let mut columns = vec![0; used.len()];
        for (item, _) in used.iter().enumerate().filter(|(_, is_used)| **is_used) {
            columns[item] = items.len() as u32;
            items.push(item as u32);
        }
        for piece in histories.cells.chunks_mut(1 << 16) {
            go_on(stop)?;
            piece.iter_mut().for_each(|cell| *cell = columns[(*cell >> 3) as usize] << 3 | *cell & 7);
        }
        let users_of = histories.transposed(items.len(), stop)?;
        Ok(Matrix { items, keys, histories, users_of })
    }
}
