//! Which number has an id?

use super::error::{NeighboursError, Result, go_on};
use super::sort::sort;
use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicBool;

/// Bytes that all ids may have together.
pub const ID_BYTES_MAX: usize = 128 << 20;

/// Ids one after another, numbered as they came or, when they are sorted, in their order.
#[derive(Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    /// Where each id ends.
    ends: Vec<u32>,
    /// The places of the ids in their order, once they are sorted.
    order: Vec<u32>,
    table: HashTable<Named>,
    /// Callers choose ids; by chance none can choose those that fall together. No order follows from it.
    hasher: RandomState,
}

/// An id in the table, with its hash, so that growing does not look at the bytes of all ids.
struct Named {
    hash: u32,
    place: u32,
}

impl Named {
    fn spread(hash: u32) -> u64 {
        u64::from(hash) << 32 | u64::from(hash)
    }
}

impl Names {
    /// The place of an id, which is added if it is not there.
    pub fn place(&mut self, id: &str) -> Result<u32> {
        let hash = self.hasher.hash_one(id) as u32;
        let equal =
            |named: &Named| named.hash == hash && at(&self.bytes, &self.ends, named.place) == id.as_bytes();
        if let Some(named) = self.table.find(Named::spread(hash), equal) {
            return Ok(named.place);
        }
        if self.bytes.len() + id.len() > ID_BYTES_MAX {
            return Err(NeighboursError::TooMany { what: "bytes of item ids", most: ID_BYTES_MAX });
        }
        let place = self.ends.len() as u32;
        self.bytes.extend_from_slice(id.as_bytes());
        self.ends.push(self.bytes.len() as u32);
        let rehash = |named: &Named| Named::spread(named.hash);
        self.table.insert_unique(Named::spread(hash), Named { hash, place }, rehash);
        Ok(place)
    }
    /// Numbers the ids in their order. Also returns which number each place got.
    pub fn sorted(mut self, stop: &AtomicBool) -> Result<(Names, Vec<u32>)> {
        self.table = HashTable::new();
        let places: Vec<u32> = (0..self.ends.len() as u32).collect();
        let id = |place: &u32| at(&self.bytes, &self.ends, *place);
        let order = sort(places, |a, b| id(a).cmp(id(b)), stop)?;
        let mut numbers = vec![0; order.len()];
        for (number, place) in order.iter().enumerate() {
            numbers[*place as usize] = number as u32;
        }
        self.order = order;
        go_on(stop)?;
        Ok((self, numbers))
    }
    /// The bytes of the id that has a number.
    pub fn id(&self, number: u32) -> &[u8] {
        at(&self.bytes, &self.ends, self.order[number as usize])
    }
    /// How many ids there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
}

fn at<'a>(bytes: &'a [u8], ends: &[u32], place: u32) -> &'a [u8] {
    let start = place.checked_sub(1).map_or(0, |before| ends[before as usize]);
    &bytes[start as usize..ends[place as usize] as usize]
}
