//! Can every row of a metadata store be read whose disk becomes full at any moment?

use quorate_store::files::RealFiles;
use quorate_store::kv::{Batch, Kv, Start, Tree};
use quorate_store::space;
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

/// Somebody else takes the room and gives it back.
#[test]
fn a_store_waits_for_room_and_is_whole_once_there_is_some() {
    let mut chance = chance::from_environment("rows that wait for room");
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), MOUNT_MB).unwrap() else { return };
    let state = disk.path().join("state");
    let (kv, _) = Kv::open(&state, RealFiles::shared(), 64 << 20).unwrap();
    let (tree, mut model) = (kv.tree("group-1").unwrap(), Model::new());
    let mut at = 0;
    for room in [u64::MAX, 3 << 20, u64::MAX, 3 << 20, u64::MAX] {
        match room {
            u64::MAX if at == 0 => {}
            u64::MAX => disk.empty().unwrap(),
            room => {
                // what the store has is on its disk first
                std::thread::sleep(FLUSHED);
                disk.fill(room).unwrap();
            }
        }
        let before = kv.disk_bytes();
        for _ in 0..600 {
            at += 1;
            change(&tree, &mut model, at, &mut chance);
        }
        std::thread::sleep(FLUSHED);
        check(&tree, &model);
        assert!(!kv.has_failed(), "it could have waited");
        assert_eq!(kv.disk_bytes() == before, room != u64::MAX, "it has taken what there is no room for");
    }
    drop(tree);
    kv.close().unwrap();
    let (kv, start) = Kv::open(&state, RealFiles::shared(), 64 << 20).unwrap();
    assert_eq!(start, Start::Verified);
    let tree = kv.tree("group-1").unwrap();
    assert_eq!(tree.applied(), at);
    check(&tree, &model);
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
        assert_eq!(space::of(disk.path()).unwrap().free_bytes, 0, "{round}: the disk has room");
        if kv.has_failed() {
            // what has no room waits for ever to be written when it is dropped
            std::mem::forget((kv, tree));
            continue;
        }
        disk.empty().unwrap();
        (1..500).for_each(|more| change(&tree, &mut model, BATCHES + more, &mut chance));
        check(&tree, &model);
        kv.close().unwrap();
    }
}
