//! Is a changed byte of a dump found, whichever it is?
//!
//! Every test run changes one bit of each byte; `QUORATE_DAMAGE=all` changes all eight.

use quorate_store::dump;
use quorate_store::files::RealFiles;
use quorate_store::kv::{Batch, Kv, Row};
use std::path::Path;

fn read(path: &Path) -> Option<Vec<Row>> {
    let dump = dump::read_dump(path).ok()??;
    dump.rows().ok()?.collect::<Result<Vec<Row>, _>>().ok()
}

#[test]
fn a_changed_byte_of_a_dump_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (kv, _) = Kv::open(&folder.path().join("state"), RealFiles::shared(), 1 << 20).unwrap();
    let tree = kv.tree("group-1").unwrap();
    let mut batch = Batch::new(7);
    for n in 0..12 {
        batch.put(format!("key{n}"), vec![n; 20 * n as usize]);
    }
    tree.apply(&batch).unwrap();
    let path = folder.path().join("1.dump");
    dump::write_tree(&RealFiles, &path, 1, &tree, &mut |_| 3).unwrap();
    let (whole, expected) = (std::fs::read(&path).unwrap(), read(&path).unwrap());
    assert_eq!(expected.len(), 12);
    let is_long = std::env::var("QUORATE_DAMAGE").is_ok_and(|it| it == "all");
    for at in 0..whole.len() {
        for bit in (0..8).filter(|bit| is_long || *bit == at % 8) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(read(&path), None, "byte {at}, bit {bit}");
        }
    }
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(read(&path), None, "cut to {length}");
    }
}
