//! Which knows more of a group's metadata store at a start: the working store, or the dump?
//!
//! The one that reaches further in the log. At the same log index they may differ in how far shards were durable: a checkpoint
//! without a new entry says so again, a process that ends by itself loses the newest batches of the store, and the log was
//! cut behind what the dump says.

use quorate_model::Result;
use quorate_store::codec;
use quorate_store::dump::Dump;
use quorate_store::kv::Tree;
use quorate_store::layout::rows;
use std::cmp::Ordering;

/// Bytes of the row that says where a replay begins, at most.
const REPLAY_BYTES_MAX: usize = 16;

/// Whether a store lacks something that the dump has.
///
/// Cost: reads the dump when both are of the same log index.
pub fn lacks(tree: &Tree, dump: &Dump) -> Result<bool> {
    Ok(match dump.head.applied_index.cmp(&tree.applied()) {
        Ordering::Greater => true,
        Ordering::Equal => replay_in(dump)? > replay_of(tree.get(&[rows::REPLAY])?)?,
        Ordering::Less => false,
    })
}

/// After which log index a replay begins, as its row says; the meta group has none.
fn replay_of(row: Option<Vec<u8>>) -> Result<u64> {
    Ok(row.map_or(Ok(0), |bytes| codec::decode(&bytes, REPLAY_BYTES_MAX))?)
}

fn replay_in(dump: &Dump) -> Result<u64> {
    for row in dump.rows()? {
        let (key, value) = row?;
        if key == [rows::REPLAY] {
            return replay_of(Some(value));
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_store::dump;
    use quorate_store::files::RealFiles;
    use quorate_store::kv::{Batch, Kv};

    #[test]
    fn a_store_that_lost_how_far_shards_were_durable_gives_way_to_the_dump() {
        // log index and where a replay begins, of the store and of the dump
        for (stored, dumped, expected) in [
            ((10, Some(5)), (10, Some(10)), true),
            ((10, None), (10, Some(10)), true),
            ((10, Some(10)), (10, Some(10)), false),
            ((10, Some(10)), (10, Some(5)), false),
            ((10, None), (10, None), false),
            ((11, Some(5)), (10, Some(10)), false),
            ((9, Some(9)), (10, Some(5)), true),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("3.dump");
            let (kv, _) = Kv::open(folder.path(), RealFiles::shared(), 16 << 20).expect("a store");
            let tree = |name: &str, (applied, replay): (u64, Option<u64>)| {
                let (tree, mut batch) = (kv.tree(name).expect("a tree"), Batch::new(applied));
                if let Some(replay) = replay {
                    batch.put([rows::REPLAY], codec::encode(&replay));
                }
                tree.apply(&batch).expect("written");
                tree
            };
            let of_dump = tree("dumped", dumped);
            dump::write_tree(&RealFiles, &path, 3, &of_dump, &mut |_| 1).expect("a dump");
            let dump = dump::read_dump(&path).expect("whole").expect("there");
            assert_eq!(lacks(&tree("stored", stored), &dump), Ok(expected), "{stored:?} {dumped:?}");
        }
    }
}
