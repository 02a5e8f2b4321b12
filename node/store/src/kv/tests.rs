//! Does the store go on when it fails?

use super::*;
use crate::files::RealFiles;

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
