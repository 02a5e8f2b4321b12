//! Does the store go on when it fails?

use super::*;
use crate::files::RealFiles;
use crate::session::{self, Ended, Session};

/// Rows as a plain map, to compare with.
type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn change(tree: &Tree, model: &mut Model, applied: u64, changes: &[(&str, Option<usize>)]) {
    let mut batch = Batch::new(applied);
    for (key, length) in changes {
        match length {
            Some(length) => {
                batch.put(*key, vec![applied as u8; *length]);
                model.insert(key.as_bytes().to_vec(), vec![applied as u8; *length]);
            }
            None => {
                batch.delete(*key);
                model.remove(key.as_bytes());
            }
        }
    }
    tree.apply(&batch).unwrap();
    let rows: Model = tree.scan(b"").unwrap().into_iter().collect();
    assert_eq!(&rows, model);
    assert_eq!(tree.applied(), applied);
    for (key, _) in changes {
        assert_eq!(tree.get(key.as_bytes()).unwrap().as_ref(), model.get(key.as_bytes()));
    }
    let some: Vec<Row> = tree.scan(b"b").unwrap();
    assert!(some.iter().map(|(k, v)| (k, v)).eq(model.iter().filter(|(k, _)| k.starts_with(b"b"))));
}

/// A full disk: the store takes nothing more, the state goes on in memory, and its dump is whole.
#[test]
fn a_failed_store_goes_on_in_memory_and_is_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    let (kv, _) = Kv::open(&dir.path().join("state"), RealFiles::shared(), 4 << 20).unwrap();
    let tree = kv.tree("group-1").unwrap();
    let mut model = Model::new();
    change(&tree, &mut model, 1, &[("a", Some(3)), ("b1", Some(40_000)), ("b2", Some(5)), ("c", Some(1))]);
    tree.fail(&"a test");
    change(&tree, &mut model, 2, &[("a", None), ("b1", Some(7)), ("b15", Some(20_000)), ("zz", None)]);
    change(&tree, &mut model, 3, &[("a", Some(2)), ("b2", None), ("d", Some(0))]);
    change(&tree, &mut model, 4, &[("b2", Some(9)), ("b15", None), ("0", Some(1))]);
    assert!(kv.has_failed());
    let path = dir.path().join("1.dump");
    crate::dump::write_tree(&RealFiles, &path, 1, &tree, &mut |_| 1).unwrap();
    kv.close().unwrap();
    drop(tree);
    // The store's lock goes with the process; here the failed one is still in it.
    let copy = dir.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(dir.path().join("state/session"), copy.join("session")).unwrap();
    let (kv, start) = Kv::open(&copy, RealFiles::shared(), 4 << 20).unwrap();
    assert_eq!(start, Start::Rebuild { reason: "it failed while it was in use".into() });
    let tree = kv.tree("group-1").unwrap();
    crate::dump::read_dump(&path).unwrap().unwrap().restore_into(&tree).unwrap();
    assert_eq!(tree.scan(b"").unwrap().into_iter().collect::<Model>(), model);
    assert_eq!(tree.applied(), 4);
}

/// What is made or replaced after the failure is in memory, and the next start asks for all of it again.
#[test]
fn a_failed_store_takes_new_trees_and_snapshots_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let (kv, _) = Kv::open(&state, RealFiles::shared(), 4 << 20).unwrap();
    let (old, left) = (kv.tree("group-1").unwrap(), kv.tree("group-2").unwrap());
    let mut model = Model::new();
    change(&old, &mut model, 1, &[("a", Some(3)), ("b1", Some(40_000)), ("c", Some(1))]);
    change(&left, &mut Model::new(), 1, &[("b", Some(3))]);
    old.write_out().unwrap();
    left.write_out().unwrap();
    old.fail(&"a test");
    // a new group
    let mut rows = Model::new();
    let made = kv.tree("group-3").unwrap();
    assert!(made.applied() == 0 && made.scan(b"").unwrap().is_empty());
    change(&made, &mut rows, 5, &[("b", Some(7)), ("d", Some(20_000))]);
    assert_eq!(kv.tree("group-3").unwrap().applied(), 5, "the same tree");
    // one that continues from a snapshot, and one that has left
    let snapshot: Model = [(b"b2".to_vec(), vec![1; 10]), (b"c".to_vec(), vec![2; 30_000])].into();
    let mut rows_of_snapshot = snapshot.clone().into_iter().map(Ok);
    old.restore(9, &mut rows_of_snapshot).unwrap();
    assert_eq!((old.applied(), old.get(b"a").unwrap()), (9, None));
    let mut model = snapshot;
    change(&old, &mut model, 10, &[("b2", None), ("a", Some(2)), ("b1", Some(1))]);
    left.restore(0, &mut std::iter::empty()).unwrap();
    assert!(left.applied() == 0 && left.scan(b"").unwrap().is_empty());
    // what is gone takes no memory, and half of a snapshot neither
    for number in 0..100 {
        let key = format!("k{number}");
        change(&made, &mut rows, 6 + 2 * number, &[(&key, Some(1_000))]);
        change(&made, &mut rows, 7 + 2 * number, &[(&key, None)]);
    }
    assert!(made.read().overlay.len() == rows.len() && made.read().overlay_bytes < 30_000);
    let mut broken_off =
        [Ok((b"x".to_vec(), vec![0; 2 << 20])), Err(StoreError::Broken("a test".into()))].into_iter();
    made.restore(300, &mut broken_off).unwrap_err();
    assert!(made.applied() == 0 && made.read().overlay.is_empty() && made.read().overlay_bytes == 0);
    // a process that dies now has said so
    let session = Session::read(&session::path(&state)).unwrap().unwrap();
    assert_eq!(session.ended, Ended::Failed);
    kv.close().unwrap();
}
