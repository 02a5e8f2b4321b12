//! Where are the numbers of attributes that few documents have? In one table for all of them, read in place.
//!
//! A column of its own costs an attribute 8 bytes for every document of the segment. In the table it costs its path and
//! 12 bytes a number, so that records whose attribute names are data (`{"2024-05-01": 7}`) stay affordable. A look-up of
//! an attribute is a binary search over the paths; one that has a column never comes here.

use super::column_build::NumericBuilder;
use super::columns::NumericColumn;
use super::container::{Container, ContainerWriter};
use super::error::{IndexError, Result};
use super::records::offset;
use super::sections as s;
use std::io::{self, Write};
use std::ops::Range;

/// Places of the table's sections; all empty when the segment has none.
pub(crate) struct SparseNumbers {
    paths: Range<usize>,
    path_off: Range<usize>,
    off: Range<usize>,
    docs: Range<usize>,
    values: Range<usize>,
}

impl SparseNumbers {
    /// Checks the lengths of the sections.
    pub fn open(c: &Container) -> Result<Self> {
        let table = SparseNumbers {
            paths: c.range(s::SPARSE_PATHS),
            path_off: c.range(s::SPARSE_PATH_OFF),
            off: c.range(s::SPARSE_OFF),
            docs: c.range(s::SPARSE_DOCS),
            values: c.range(s::SPARSE_VALUES),
        };
        let last = |range: &Range<usize>| c.numbers::<u32>(range).last().map_or(0, |&end| end as usize);
        let whole = table.path_off.len() == table.off.len()
            && last(&table.path_off) == table.paths.len()
            && last(&table.off) == table.docs.len() / 4
            && table.values.len() == table.docs.len() * 2;
        if whole {
            Ok(table)
        } else {
            Err(IndexError::damaged(c.path(), "the table of numbers does not fit together"))
        }
    }
    /// The numbers of a path.
    pub fn find<'a>(&self, c: &'a Container, path: &str) -> Option<NumericColumn<'a>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.path(c, middle).as_bytes().cmp(path.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let off: &[u32] = c.numbers(&self.off);
                    let rows = off[middle] as usize..off[middle + 1] as usize;
                    let (docs, values) = (c.numbers(&self.docs), c.numbers(&self.values));
                    return Some(NumericColumn::sparse(&docs[rows.clone()], &values[rows]));
                }
            }
        }
        None
    }
    /// The paths, ascending.
    pub fn paths<'a>(&'a self, c: &'a Container) -> impl Iterator<Item = &'a str> {
        (0..self.len()).map(|i| self.path(c, i))
    }
    fn len(&self) -> usize {
        (self.off.len() / 4).saturating_sub(1)
    }
    fn path<'a>(&self, c: &'a Container, i: usize) -> &'a str {
        let off: &[u32] = c.numbers(&self.path_off);
        let bytes = &c.slice(&self.paths)[off[i] as usize..off[i + 1] as usize];
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// Writes the table; nothing when it would be empty.
pub(crate) fn write<W: Write>(
    mut columns: Vec<NumericBuilder>,
    out: &mut ContainerWriter<W>,
) -> io::Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    columns.sort_unstable_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    let (mut path_off, mut off) = (vec![0u32], vec![0u32]);
    let (mut path_end, mut end) = (0, 0);
    for column in &columns {
        path_end += column.path.len();
        end += column.docs.len();
        path_off.push(offset(path_end)?);
        off.push(offset(end)?);
    }
    out.section(s::SPARSE_PATH_OFF, bytemuck::cast_slice(&path_off))?;
    out.section(s::SPARSE_OFF, bytemuck::cast_slice(&off))?;
    let mut part = |id: u32, bytes: fn(&NumericBuilder) -> &[u8]| {
        out.begin(id);
        columns.iter().try_for_each(|column| out.append(bytes(column)))?;
        out.end()
    };
    part(s::SPARSE_PATHS, |column| column.path.as_bytes())?;
    part(s::SPARSE_DOCS, |column| bytemuck::cast_slice(&column.docs))?;
    part(s::SPARSE_VALUES, |column| bytemuck::cast_slice(&column.values))
}
