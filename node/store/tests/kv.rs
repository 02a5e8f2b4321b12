//! Does the working store hold what a plain map holds, over restarts of every kind?

use proptest::prelude::*;
use quorate_store::files::RealFiles;
use quorate_store::kv::{Batch, Kv, Start, Tree};
use std::collections::BTreeMap;
use std::path::Path;

const CACHE_BYTES: u64 = 4 << 20;

fn open(dir: &Path) -> (Kv, Start) {
    Kv::open(dir, RealFiles::shared(), CACHE_BYTES).unwrap()
}

/// One step of a test: what a node does to its store.
#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<(u8, Option<usize>)>),
    Restore(Vec<(u8, usize)>),
    Close,
    /// The process ends without closing: the store is as some batch left it.
    Drop,
}

fn step() -> impl Strategy<Value = Step> {
    // Lengths around the limit of a stored value, and several chunks.
    let length = prop_oneof![4 => 0usize..40, 1 => 16_380usize..16_390, 1 => 32_760usize..32_776, 1 => 50_000usize..50_010];
    let change = (0u8..12, proptest::option::weighted(0.7, length.clone()));
    prop_oneof![
        8 => proptest::collection::vec(change, 0..6).prop_map(Step::Apply),
        1 => proptest::collection::vec((0u8..12, length), 0..6).prop_map(Step::Restore),
        1 => Just(Step::Close),
        1 => Just(Step::Drop),
    ]
}

/// Keys where one is the start of another, and some that look like the store's own.
fn key(number: u8) -> Vec<u8> {
    let names: [&[u8]; 12] = [
        b"",
        b"a",
        b"ab",
        b"a\0\0\0\0",
        b"a\0\0\0\x01",
        b"seal",
        b"c",
        b"r",
        b"\xff",
        b"\xff\xff",
        b"b",
        "名".as_bytes(),
    ];
    names[number as usize].to_vec()
}

fn value(length: usize, salt: u64) -> Vec<u8> {
    (0..length as u64).map(|at| (at.wrapping_mul(31) ^ (at >> 8) ^ salt) as u8).collect()
}

fn check(tree: &Tree, model: &BTreeMap<Vec<u8>, Vec<u8>>, applied: u64) {
    assert_eq!(tree.applied(), applied);
    for number in 0..12 {
        assert_eq!(tree.get(&key(number)).unwrap().as_ref(), model.get(&key(number)), "{:?}", key(number));
    }
    for prefix in [&b""[..], b"a", b"\xff", b"zzz"] {
        let expected: Vec<_> = model.iter().filter(|(k, _)| k.starts_with(prefix)).collect();
        let found = tree.scan(prefix).unwrap();
        assert!(found.iter().map(|(k, v)| (k, v)).eq(expected), "prefix {prefix:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn it_is_a_map_that_survives_restarts(steps in proptest::collection::vec(step(), 1..14)) {
        let dir = tempfile::tempdir().unwrap();
        let (mut kv, start) = open(dir.path());
        let is_rebuild = matches!(start, Start::Rebuild { .. });
        prop_assert!(is_rebuild);
        let mut tree = kv.tree("group-1").unwrap();
        let mut model = BTreeMap::new();
        let mut applied = 0;
        let mut history = BTreeMap::from([(0, model.clone())]);
        for (number, step) in steps.into_iter().enumerate() {
            let salt = number as u64;
            match step {
                Step::Apply(changes) => {
                    applied += 1;
                    let mut batch = Batch::new(applied);
                    for (k, length) in changes {
                        match length {
                            Some(length) => {
                                batch.put(key(k), value(length, salt));
                                model.insert(key(k), value(length, salt));
                            }
                            None => {
                                batch.delete(key(k));
                                model.remove(&key(k));
                            }
                        }
                    }
                    tree.apply(&batch).unwrap();
                }
                Step::Restore(rows) => {
                    applied += 10;
                    model = rows.into_iter().map(|(k, length)| (key(k), value(length, salt))).collect();
                    tree.restore(applied, &mut model.clone().into_iter().map(Ok)).unwrap();
                }
                Step::Close | Step::Drop => {
                    let is_closed = matches!(step, Step::Close);
                    if is_closed {
                        kv.close().unwrap();
                    } else {
                        drop(kv);
                    }
                    drop(tree);
                    let (again, start) = open(dir.path());
                    prop_assert_eq!(start, Start::Verified);
                    kv = again;
                    tree = kv.tree("group-1").unwrap();
                    let found = tree.applied();
                    prop_assert!(found == applied || !is_closed && found < applied, "{} of {}", found, applied);
                    applied = tree.applied();
                    model = history[&applied].clone();
                }
            }
            history.insert(applied, model.clone());
            check(&tree, &model, applied);
        }
    }
}

#[test]
fn trees_do_not_see_each_other_and_readers_see_whole_batches() {
    let dir = tempfile::tempdir().unwrap();
    let (kv, _) = open(dir.path());
    let (one, two) = (kv.tree("group-1").unwrap(), kv.tree("group-2").unwrap());
    std::thread::scope(|threads| {
        let writer = one.clone();
        let writing = threads.spawn(move || {
            for applied in 1..=100u64 {
                let mut batch = Batch::new(applied);
                for k in ["x", "y"] {
                    batch.put(k, value(20_000, applied));
                }
                writer.apply(&batch).unwrap();
            }
        });
        while !writing.is_finished() {
            let rows = one.scan(b"").unwrap();
            assert!(rows.is_empty() || rows[0].1 == rows[1].1, "a batch is seen in part");
        }
    });
    assert_eq!((one.applied(), two.applied(), two.scan(b"").unwrap().len()), (100, 0, 0));
    assert_eq!(kv.tree_names(), ["group-1", "group-2"]);
}

#[test]
fn a_distrusted_store_is_rebuilt_and_one_old_copy_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let (kv, _) = open(dir.path());
        let tree = kv.tree("group-0").unwrap();
        assert_eq!(tree.applied(), 0);
        let mut batch = Batch::new(9);
        batch.put("k", "v");
        tree.apply(&batch).unwrap();
        kv.distrust().unwrap();
    }
    let mut names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["aside", "db", "session"]);
    let (_, start) = open(dir.path());
    assert_eq!(start, Start::Rebuild { reason: "it failed while it was in use".into() });
}
