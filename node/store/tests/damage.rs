//! Does a damaged working store lead to a rebuild, and never to a wrong answer?

use quorate_store::files::RealFiles;
use quorate_store::kv::{Batch, Kv, Start};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn open(dir: &Path) -> (Kv, Start) {
    Kv::open(dir, RealFiles::shared(), 4 << 20).unwrap()
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A store with two trees, with overwritten, removed and chunked rows; how it looked at each log index.
fn make(dir: &Path, is_closed: End) -> Vec<Rows> {
    let (kv, _) = open(dir);
    let trees = [kv.tree("group-0").unwrap(), kv.tree("group-1").unwrap()];
    let mut rows = Rows::new();
    let mut history = vec![rows.clone()];
    for applied in 1..=40u64 {
        let mut batch = Batch::new(applied);
        for n in 0..8 {
            let key = format!("k{:03}", (applied * 7 + n * 13) % 150).into_bytes();
            let value = vec![(applied ^ n) as u8; if n == 3 { 40_000 } else { 60 }];
            batch.put(key.clone(), value.clone());
            rows.insert(key, value);
        }
        let gone = format!("k{:03}", applied * 3 % 150).into_bytes();
        batch.delete(gone.clone());
        rows.remove(&gone);
        for tree in &trees {
            tree.apply(&batch).unwrap();
        }
        history.push(rows.clone());
    }
    match is_closed {
        End::Closed => kv.close().unwrap(),
        End::Killed => {}
    }
    history
}

#[derive(Clone, Copy)]
enum End {
    Closed,
    Killed,
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Opens what `damage` left of a copy. Whatever is used must be some state that was once applied; `Rebuild` must be empty.
fn check(made: &Path, history: &[Rows], damage: impl FnOnce(&Path)) -> Start {
    let dir = tempfile::tempdir().unwrap();
    copy(made, dir.path());
    damage(dir.path());
    let (kv, start) = open(dir.path());
    for name in ["group-0", "group-1"] {
        let tree = kv.tree(name).unwrap();
        let found: Rows = tree.scan(b"").unwrap().into_iter().collect();
        match &start {
            Start::Verified => assert_eq!(found, history[tree.applied() as usize], "a wrong answer"),
            Start::Rebuild { .. } => assert_eq!((found.len(), tree.applied()), (0, 0)),
        }
    }
    // It works on after a rebuild and is trusted the next time.
    let tree = kv.tree("group-0").unwrap();
    let mut batch = Batch::new(50);
    batch.put("new", "row");
    tree.apply(&batch).unwrap();
    tree.write_out().unwrap();
    drop((kv, tree));
    let (kv, again) = open(dir.path());
    assert_eq!(again, Start::Verified);
    assert_eq!(kv.tree("group-0").unwrap().get(b"new").unwrap().as_deref(), Some(&b"row"[..]));
    start
}

fn assert_rebuild(start: Start, what: &str) {
    assert!(matches!(start, Start::Rebuild { .. }), "{what} was not noticed");
}

#[test]
fn deleted_truncated_and_foreign_files_are_noticed() {
    let made = tempfile::tempdir().unwrap();
    let history = make(made.path(), End::Closed);
    assert_eq!(check(made.path(), &history, |_| {}), Start::Verified);
    assert_rebuild(
        check(made.path(), &history, |d| std::fs::remove_dir_all(d.join("db")).unwrap()),
        "no folder",
    );
    assert_rebuild(
        check(made.path(), &history, |d| std::fs::remove_file(d.join("session")).unwrap()),
        "no session",
    );
    assert_rebuild(
        check(made.path(), &history, |d| std::fs::write(d.join("session"), "x").unwrap()),
        "bad session",
    );
    for file in files(&made.path().join("db")) {
        let name = file.strip_prefix(made.path()).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        if name != Path::new("db/db") {
            // The engine can do without its snapshot and its settings; what counts is that the answers are right.
            check(made.path(), &history, |d| std::fs::remove_file(d.join(name)).unwrap());
            check(made.path(), &history, |d| {
                std::fs::write(d.join(name), &bytes[..bytes.len() / 2]).unwrap()
            });
            continue;
        }
        let what = name.display().to_string();
        assert_rebuild(check(made.path(), &history, |d| std::fs::remove_file(d.join(name)).unwrap()), &what);
        for length in [0, bytes.len() / 3, bytes.len() / 2] {
            let start =
                check(made.path(), &history, |d| std::fs::write(d.join(name), &bytes[..length]).unwrap());
            // An engine file ends with a free rest: to lose only that is no damage.
            if length == 0 {
                assert_rebuild(start, &format!("{what} cut to {length}"));
            }
        }
    }
}

#[test]
fn flipped_bytes_never_give_a_wrong_answer() {
    for end in [End::Closed, End::Killed] {
        let made = tempfile::tempdir().unwrap();
        let history = make(made.path(), end);
        let mut noticed = 0;
        let mut seed = 7u64;
        for round in 0..24 {
            let start = check(made.path(), &history, |d| {
                let all = files(&d.join("db"));
                let file = &all[round % all.len()];
                let mut bytes = std::fs::read(file).unwrap();
                let used = bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
                for _ in 0..1 + round / 6 {
                    seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    if used > 0 {
                        bytes[(seed >> 20) as usize % used] ^= 1 << (seed >> 60 & 7);
                    }
                }
                std::fs::write(file, bytes).unwrap();
            });
            noticed += usize::from(start != Start::Verified);
        }
        assert!(noticed > 4, "{noticed} of 24: the damage does not reach what is read");
    }
}

#[test]
fn another_start_of_the_machine_means_rebuild_unless_it_was_closed() {
    let made = tempfile::tempdir().unwrap();
    let history = make(made.path(), End::Killed);
    assert_eq!(check(made.path(), &history, |_| {}), Start::Verified);
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let Ok(boot_id) = boot_id else { return };
    let start = check(made.path(), &history, |d| {
        // The session as another start of the machine would have left it: same frame, another id.
        let path = d.join("session");
        let mut bytes = std::fs::read(&path).unwrap();
        let id = boot_id.trim().as_bytes();
        let at = bytes.windows(id.len()).position(|w| w == id).unwrap();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        let framed = quorate_store::codec::frame(
            quorate_store::codec::Mark { magic: *b"QSES", version: 1 },
            &bytes[quorate_store::codec::FRAME_HEADER_BYTES..],
        );
        std::fs::write(path, framed).unwrap();
    });
    assert_eq!(start, Start::Rebuild { reason: "the machine stopped before it was closed".into() });
}
