//! Does a file on disk say what the same bytes say in memory?

use super::*;
use std::path::Path;

fn written(folder: &Path, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.join("a.mdl");
    std::fs::write(&path, bytes).unwrap();
    path
}
fn some_bytes() -> Vec<u8> {
    let mut chance = Chance(5);
    let any = |chance: &mut Chance| Event {
        user: spread(chance.below(50)),
        item: chance.below(70) as u32,
        kind: Kind::Click,
        second: 0,
    };
    let events: Vec<Event> = (0..800).map(|_| any(&mut chance)).collect();
    bytes(&events, Build::Related)
}

#[test]
fn a_file_answers_as_memory_does() {
    let (folder, bytes, stop) = (tempfile::tempdir().unwrap(), some_bytes(), AtomicBool::new(false));
    let (file, model) =
        (ModelFile::open(&written(folder.path(), &bytes)).unwrap(), Model::open(&bytes).unwrap());
    assert_eq!(file.report().unwrap(), model.report().unwrap());
    let mut found = 0;
    for item in (0..75).map(name).chain(["".to_owned(), "z".to_owned()]) {
        let expected = model.lookup(&item).unwrap().map(|neighbours| quorate_model::Candidates {
            users: neighbours.users,
            list: neighbours.list.iter().map(|near| (near.item.to_owned(), near.hundredths)).collect(),
        });
        found += expected.iter().map(|found| found.list.len()).sum::<usize>();
        assert_eq!(file.lookup(&item).unwrap(), expected, "{item}");
    }
    assert!(found > 100, "{found}");
    let (length, crc) = (bytes.len() as u64, crc32fast::hash(&bytes));
    file.check(length, crc, &stop).unwrap();
    assert!(file.check(length, crc ^ 1, &stop).is_err() && file.check(length + 1, crc, &stop).is_err());
    assert!(matches!(file.check(length, crc, &AtomicBool::new(true)), Err(NeighboursError::Stopped)));
}
#[test]
fn damage_on_disk_is_found_and_does_no_harm() {
    let (folder, bytes, stop) = (tempfile::tempdir().unwrap(), some_bytes(), AtomicBool::new(false));
    let (length, crc) = (bytes.len() as u64, crc32fast::hash(&bytes));
    let mut chance = Chance(9);
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        let at = chance.below(length) as usize;
        damaged[at] ^= 1 + chance.below(255) as u8;
        let Ok(file) = ModelFile::open(&written(folder.path(), &damaged)) else { continue };
        (0..70).for_each(|item| drop(file.lookup(&name(item))));
        drop(file.report());
        assert!(file.check(length, crc, &stop).is_err(), "a flip at {at}");
    }
    for length in [0, 10, 47, 48, bytes.len() - 1] {
        assert!(ModelFile::open(&written(folder.path(), &bytes[..length])).is_err(), "{length} bytes");
    }
    assert!(matches!(ModelFile::open(&folder.path().join("none")), Err(NeighboursError::Io(_))));
}
#[test]
fn a_file_that_is_cut_while_it_is_open_is_damaged() {
    let (folder, bytes, stop) = (tempfile::tempdir().unwrap(), some_bytes(), AtomicBool::new(false));
    let path = written(folder.path(), &bytes);
    for length in [0, 1, bytes.len() / 2, bytes.len() - 1, bytes.len() + 1] {
        std::fs::write(&path, &bytes).unwrap();
        let file = ModelFile::open(&path).unwrap();
        assert!(file.lookup(&name(1)).unwrap().is_some());
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length as u64).unwrap();
        assert!(matches!(file.lookup(&name(1)), Err(NeighboursError::Damaged(_))), "{length}");
        assert!(matches!(file.report(), Err(NeighboursError::Damaged(_))), "{length}");
        assert!(file.check(length as u64, crc32fast::hash(&bytes), &stop).is_err(), "{length}");
    }
}
