//! Can every row of a metadata store be read whose disk becomes full at any moment?

use quorate_store::files::RealFiles;
use quorate_store::kv::{Batch, Kv, Tree};
use quorate_tests::chance::{self, Chance};
use quorate_tests::disk::SmallDisk;
use std::collections::BTreeMap;
use std::time::Duration;

const MOUNT_MB: u64 = 24;
const ROUNDS: usize = 6;
const KEYS: usize = 3_000;
const BATCHES: u64 = 3_000;
/// Before the first moment, so that there is something to read.
const BATCHES_BEFORE: usize = 1_000;
/// Longer than the store keeps anything from its disk.
const FLUSHED: Duration = Duration::from_millis(650);

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Puts and removes a few rows, one of some hundred larger than a page.
fn change(tree: &Tree, model: &mut Model, at: u64, chance: &mut Chance) {
    let mut batch = Batch::new(at);
    for _ in 0..=chance.index(3) {
        let key = format!("k{}", chance.index(KEYS)).into_bytes();
        if chance.once_in(4) {
            model.remove(&key);
            batch.delete(key);
        } else {
            let length = if chance.once_in(200) { 20_000 } else { 10 + chance.index(300) };
            let value = vec![at as u8; length];
            model.insert(key.clone(), value.clone());
            batch.put(key, value);
        }
    }
    tree.apply(&batch).unwrap();
}
fn check(tree: &Tree, model: &Model) {
    for number in 0..KEYS {
        let key = format!("k{number}").into_bytes();
        assert_eq!(tree.get(&key).unwrap().as_ref(), model.get(&key), "k{number}");
    }
    assert_eq!(&tree.scan(b"").unwrap().into_iter().collect::<Model>(), model);
}

#[test]
fn every_row_of_a_store_can_be_read_whenever_its_disk_becomes_full() {
    let mut chance = chance::from_environment("rows of a full store");
    for round in 0..ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), MOUNT_MB).unwrap() else { return };
        let (kv, _) = Kv::open(&disk.path().join("state"), RealFiles::shared(), 64 << 20).unwrap();
        let (tree, mut model) = (kv.tree("group-1").unwrap(), Model::new());
        let full_at = (BATCHES_BEFORE + chance.index(1_000)) as u64;
        for at in 1..=BATCHES {
            if at == full_at {
                disk.fill(0).unwrap();
            }
            change(&tree, &mut model, at, &mut chance);
            if at >= full_at && at.is_multiple_of(500) {
                std::thread::sleep(FLUSHED);
                check(&tree, &model);
            }
        }
        assert!(kv.has_failed(), "{round}: the disk has room");
        // what has no room waits for ever to be written when it is dropped
        std::mem::forget((kv, tree));
    }
}
