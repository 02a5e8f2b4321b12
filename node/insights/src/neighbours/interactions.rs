//! Which interactions does a model learn from, in an order that the files they came from have no part in?

use super::error::{NeighboursError, Result, go_on};
use super::exact::spread;
use super::names::Names;
use super::sort::sort;
use hashbrown::HashTable;
use std::sync::atomic::AtomicBool;

/// Rows that a build keeps. With them, a million items and half a million users it stays below 512 MB.
pub const ROWS_MAX: usize = 10_000_000;
/// Rows of one user beyond which it is taken for a robot and left out.
pub const USER_ROWS_MAX: u32 = 10_000;
/// Rows that are allocated at once: what grows by doubling would need three times the memory for a moment.
const PIECE: usize = 1 << 16;

/// What a user did with an item, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It was shown.
    View,
    /// It was clicked.
    Click,
    /// It was put into a cart.
    Cart,
    /// It was converted in another way.
    Conversion,
    /// It was bought.
    Purchase,
}

impl Kind {
    /// All of them, each at the place of its number.
    pub const ALL: [Kind; 5] = [Kind::View, Kind::Click, Kind::Cart, Kind::Conversion, Kind::Purchase];
}

/// One row: a user did something with an item.
#[derive(Debug, Clone, Copy)]
pub struct Interaction<'a> {
    /// The hash of the user token.
    pub user: u64,
    /// The objectID.
    pub item: &'a str,
    /// What happened.
    pub kind: Kind,
    /// When, in Unix milliseconds. Whole seconds are kept, from 1970 to 2106.
    pub time_ms: i64,
}

/// A row as it is collected: 12 bytes.
struct Collected {
    user: u32,
    what: u32,
    second: u32,
}

/// A row of a known user: the item and the kind in one number, and when it was.
#[derive(Clone, Copy, Default)]
pub(super) struct Row {
    what: u32,
    pub second: u32,
}

impl Row {
    /// The ordinal of the item.
    pub fn item(self) -> u32 {
        self.what >> 3
    }
    pub fn kind(self) -> Kind {
        Kind::ALL[(self.what & 7) as usize]
    }
}

/// Takes rows one after another, in any order.
///
/// Memory: 12 bytes a row of [`ROWS_MAX`] at most, some 25 a user, some 20 and the id an item.
#[derive(Default)]
pub struct Collector {
    names: Names,
    users: HashTable<u32>,
    hashes: Vec<u64>,
    /// Rows of each user, also those beyond [`USER_ROWS_MAX`], which are not kept.
    rows_of: Vec<u32>,
    pieces: Vec<Vec<Collected>>,
    kept: usize,
    seen: u64,
    /// The user of the row before: files have the rows of a user together.
    latest: Option<u32>,
}

impl Collector {
    /// Begins without rows.
    pub fn new() -> Self {
        Collector::default()
    }
    /// Adds a row.
    ///
    /// Errors: `TooMany` when rows or ids do not fit into the memory of a build; the row is not taken, and those before it may be
    /// enough.
    pub fn add(&mut self, interaction: Interaction<'_>) -> Result<()> {
        let user = self.user(interaction.user);
        let rows = self.rows_of[user as usize].saturating_add(1);
        if rows > USER_ROWS_MAX {
            (self.seen, self.rows_of[user as usize]) = (self.seen + 1, rows);
            return Ok(());
        }
        if self.kept == ROWS_MAX {
            return Err(NeighboursError::TooMany { what: "rows", most: ROWS_MAX });
        }
        let item = self.names.place(interaction.item)?;
        (self.seen, self.rows_of[user as usize]) = (self.seen + 1, rows);
        let second = interaction.time_ms.div_euclid(1_000).clamp(0, i64::from(u32::MAX)) as u32;
        if self.kept.is_multiple_of(PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        let piece = self.pieces.last_mut().expect("one was pushed before the first row");
        piece.push(Collected { user, what: item << 3 | interaction.kind as u32, second });
        self.kept += 1;
        Ok(())
    }
    fn user(&mut self, hash: u64) -> u32 {
        if let Some(latest) = self.latest.filter(|latest| self.hashes[*latest as usize] == hash) {
            return latest;
        }
        let hashes = &mut self.hashes;
        let found = self.users.entry(
            spread(hash),
            |place| hashes[*place as usize] == hash,
            |place| spread(hashes[*place as usize]),
        );
        let place = *found.or_insert(hashes.len() as u32).get();
        if place as usize == hashes.len() {
            hashes.push(hash);
            self.rows_of.push(0);
        }
        self.latest = Some(place);
        place
    }
    /// Brings the rows into their order: users by hash, items by id. Leaves out users with too many.
    ///
    /// Errors: `Stopped`.
    pub fn finish(self, stop: &AtomicBool) -> Result<Interactions> {
        let Collector { names, users, hashes, rows_of, pieces, seen, .. } = self;
        drop(users);
        let is_kept = |user: &u32| rows_of[*user as usize] <= USER_ROWS_MAX;
        let kept: Vec<u32> = (0..hashes.len() as u32).filter(is_kept).collect();
        let left_out = (hashes.len() - kept.len()) as u32;
        let kept = sort(kept, |a, b| hashes[*a as usize].cmp(&hashes[*b as usize]), stop)?;
        let (names, item_of) = names.sorted(stop)?;

        let mut starts = Vec::with_capacity(kept.len() + 1);
        let mut next = vec![u32::MAX; hashes.len()];
        let mut total = 0;
        for user in &kept {
            starts.push(total);
            next[*user as usize] = total;
            total += rows_of[*user as usize];
        }
        starts.push(total);
        let mut rows = vec![Row::default(); total as usize];
        for piece in pieces {
            go_on(stop)?;
            for Collected { user, what, second } in piece {
                if rows_of[user as usize] > USER_ROWS_MAX {
                    continue;
                }
                let place = &mut next[user as usize];
                rows[*place as usize] = Row { what: item_of[(what >> 3) as usize] << 3 | what & 7, second };
                *place += 1;
            }
        }
        let users = kept.iter().map(|user| hashes[*user as usize]).collect();
        Ok(Interactions { names, users, starts, rows, seen, left_out })
    }
}

/// Rows by user. Users are in the order of their hashes; items are numbered in the order of their ids.
///
/// Memory: 8 bytes a row, 12 a user, 8 and the id an item.
pub struct Interactions {
    pub(super) names: Names,
    users: Vec<u64>,
    starts: Vec<u32>,
    rows: Vec<Row>,
    pub(super) seen: u64,
    pub(super) left_out: u32,
}

impl Interactions {
    /// The hash and the rows of each user. Rows of one user have no order.
    pub(super) fn by_user(&self) -> impl Iterator<Item = (u64, &[Row])> {
        let ranges = self.starts.windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
        self.users.iter().copied().zip(ranges.map(|range| &self.rows[range]))
    }
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }
}
