//! Does everything written through the file layer survive a power cut at any point?

use quorate_store::dump::{self, Head};
use quorate_store::files::{FileWriter, Files, RealFiles};
use quorate_store::full_disk::FullDisk;
use quorate_store::kv::{Batch, Kv, Start};
use quorate_store::layout::Layout;
use quorate_store::recorder::{CrashMode, RecordingFiles};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Builds the image of every point in every mode and hands it to `look`.
fn every_cut(recorder: &RecordingFiles, mut look: impl FnMut(usize, CrashMode, &Path)) -> usize {
    let mut images = 0;
    for point in 0..=recorder.points() {
        let torn = (1..=6).map(CrashMode::Torn);
        for mode in [CrashMode::Dropped, CrashMode::Prefix].into_iter().chain(torn) {
            let into = tempfile::tempdir().unwrap();
            recorder.crash_image(point, mode, into.path()).unwrap();
            look(point, mode, into.path());
            images += 1;
        }
    }
    images
}

fn head(applied_index: u64) -> Head {
    Head { group: 3, applied_index, term: 2 }
}

fn rows_of(applied_index: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    (0..20).map(|n| (vec![n], vec![applied_index as u8 ^ n; 700 * usize::from(n)])).collect()
}

fn write(files: &dyn Files, path: &Path, applied_index: u64) -> quorate_store::Result<()> {
    dump::write_dump(files, path, head(applied_index), &mut |out| {
        for (key, value) in rows_of(applied_index) {
            out.row(&key, &value).map_err(|e| quorate_store::StoreError::io("write", path, e))?;
        }
        Ok(())
    })
}

#[test]
fn a_dump_is_the_old_one_or_the_new_one_at_every_point() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = RecordingFiles::new(dir.path()).unwrap();
    let path = dir.path().join("3.dump");
    let mut durable_from = vec![];
    for applied_index in 1..=3 {
        write(&recorder, &path, applied_index).unwrap();
        durable_from.push(recorder.points());
    }
    let images = every_cut(&recorder, |point, mode, image| {
        let at_least = durable_from.iter().filter(|from| **from <= point).count() as u64;
        let found =
            dump::read_dump(&image.join("3.dump")).unwrap_or_else(|e| panic!("{point} {mode:?}: {e}"));
        let found_index = found.as_ref().map_or(0, |d| d.head.applied_index);
        assert!(found_index == at_least || found_index == at_least + 1, "{point} {mode:?}: {found_index}");
        if let Some(found) = found {
            let rows: Vec<_> = found.rows().unwrap().map(Result::unwrap).collect();
            assert_eq!(rows, rows_of(found_index));
        }
    });
    assert!(images >= 100, "{images}");
    assert!(recorder.sync_points().len() >= 6);
}

#[test]
fn a_damaged_dump_is_an_error_and_a_missing_one_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("3.dump");
    assert!(dump::read_dump(&path).unwrap().is_none());
    write(&RealFiles, &path, 9).unwrap();
    let good = std::fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(1_999).chain(good.len() - 16..good.len()).chain(0..48) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x40;
        std::fs::write(&path, &bytes).unwrap();
        assert!(dump::read_dump(&path).is_err(), "flip at {at}");
        std::fs::write(&path, &good[..at]).unwrap();
        assert!(dump::read_dump(&path).is_err(), "cut at {at}");
    }
    std::fs::write(&path, [&good[..], b"x"].concat()).unwrap();
    assert!(dump::read_dump(&path).is_err(), "a rest");
}

#[test]
fn a_full_disk_keeps_the_old_dump_and_the_next_one_succeeds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("3.dump");
    let disk = FullDisk::new(RealFiles::shared(), u64::MAX);
    write(&disk, &path, 1).unwrap();
    for free in [0, 1, 100, 50_000] {
        disk.set_free_bytes(free);
        let error = write(&disk, &path, 2).unwrap_err();
        assert_eq!(error.kind(), quorate_model::ErrorKind::Unavailable, "{error}");
        assert_eq!(dump::read_dump(&path).unwrap().unwrap().head, head(1));
    }
    disk.set_free_bytes(u64::MAX);
    write(&disk, &path, 2).unwrap();
    assert_eq!(dump::read_dump(&path).unwrap().unwrap().head, head(2));
}

#[test]
fn a_tree_goes_into_its_dump_and_out_again() {
    let dir = tempfile::tempdir().unwrap();
    let (kv, _) = Kv::open(&dir.path().join("state"), RealFiles::shared(), 4 << 20).unwrap();
    let tree = kv.tree("group-3").unwrap();
    let mut batch = Batch::new(77);
    for (key, value) in rows_of(1) {
        batch.put(key, value);
    }
    tree.apply(&batch).unwrap();
    let path = dir.path().join("3.dump");
    let written = dump::write_tree(&RealFiles, &path, 3, &tree, &mut |index| index / 11).unwrap();
    assert_eq!(written, Head { group: 3, applied_index: 77, term: 7 });
    let other = kv.tree("other").unwrap();
    dump::read_dump(&path).unwrap().unwrap().restore_into(&other).unwrap();
    assert_eq!(other.scan(b"").unwrap(), rows_of(1));
    assert_eq!(other.applied(), 77);
}

/// The power goes while a store is opened, used, closed and opened again: what is trusted is right.
#[test]
fn the_session_never_vouches_for_a_store_that_was_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = RecordingFiles::new(dir.path()).unwrap();
    let state = dir.path().join("state");
    let (kv, _) = Kv::open(&state, Arc::new(recorder.clone()), 4 << 20).unwrap();
    let tree = kv.tree("group-0").unwrap();
    let mut batch = Batch::new(5);
    batch.put("k", "v");
    tree.apply(&batch).unwrap();
    let in_use = recorder.points();
    kv.close().unwrap();
    drop(tree);
    let closed = recorder.points();
    let (kv, start) = Kv::open(&state, Arc::new(recorder.clone()), 4 << 20).unwrap();
    assert_eq!(start, Start::Verified);
    let reopened = recorder.points();
    drop(kv);
    for (point, is_trusted) in [(in_use, false), (closed, true), (reopened, false)] {
        for mode in [CrashMode::Dropped, CrashMode::Prefix, CrashMode::Torn(3)] {
            let into = tempfile::tempdir().unwrap();
            recorder.crash_image(point, mode, into.path()).unwrap();
            let session = into.path().join("state/session");
            let mut bytes = std::fs::read(&session).unwrap();
            // The machine has been started anew since: the id it had is no longer the present one.
            if let Ok(id) = std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
                let id = id.trim().as_bytes();
                if let Some(at) = bytes.windows(id.len()).position(|w| w == id) {
                    bytes[at] ^= 1;
                    let payload = &bytes[quorate_store::codec::FRAME_HEADER_BYTES..];
                    let mark = quorate_store::codec::Mark { magic: *b"QSES", version: 1 };
                    std::fs::write(&session, quorate_store::codec::frame(mark, payload)).unwrap();
                }
            }
            let (kv, start) = Kv::open(&into.path().join("state"), RealFiles::shared(), 4 << 20).unwrap();
            assert_eq!(start == Start::Verified, is_trusted, "{point} {mode:?} {start:?}");
            let tree = kv.tree("group-0").unwrap();
            assert_eq!(tree.applied(), if is_trusted { 5 } else { 0 });
        }
    }
}

#[test]
fn a_new_data_folder_opens_after_a_cut_at_any_point() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = RecordingFiles::new(dir.path()).unwrap();
    Layout::new(dir.path()).prepare(&recorder).unwrap();
    let images = every_cut(&recorder, |point, mode, image| {
        let layout = Layout::new(image);
        layout.prepare(&RealFiles).unwrap_or_else(|e| panic!("{point} {mode:?}: {e}"));
        assert!(layout.raft().is_dir() && layout.format().is_file());
    });
    assert!(images > 40, "{images}");
}

/// The recorder itself: what each rule of the model keeps and loses.
#[test]
fn the_recorder_keeps_what_was_synced_and_loses_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("old"), "old").unwrap();
    let recorder = RecordingFiles::new(dir.path()).unwrap();
    let at = |name: &str| dir.path().join(name);
    let listing = |point| {
        let into = tempfile::tempdir().unwrap();
        recorder.crash_image(point, CrashMode::Dropped, into.path()).unwrap();
        let mut found: Vec<(PathBuf, String)> = Vec::new();
        for entry in std::fs::read_dir(into.path()).unwrap() {
            let path = entry.unwrap().path();
            let text = if path.is_dir() { "dir".into() } else { std::fs::read_to_string(&path).unwrap() };
            found.push((path.file_name().unwrap().into(), text));
        }
        found.sort();
        found.iter().map(|(name, text)| format!("{}={text}", name.display())).collect::<Vec<_>>().join(" ")
    };
    let mut file: Box<dyn FileWriter> = recorder.create(&at("new")).unwrap();
    file.write_all(b"one").unwrap();
    file.sync().unwrap();
    assert_eq!(listing(recorder.points()), "old=old", "synced bytes without a name");
    recorder.sync_dir(dir.path()).unwrap();
    file.write_all(b"two").unwrap();
    assert_eq!(listing(recorder.points()), "new=one old=old", "the second write was not synced");
    recorder.rename(&at("new"), &at("old")).unwrap();
    recorder.hard_link(&at("old"), &at("link")).unwrap();
    recorder.create_dir_all(&at("dir")).unwrap();
    assert_eq!(listing(recorder.points()), "new=one old=old", "names were not synced");
    recorder.sync_dir(dir.path()).unwrap();
    assert_eq!(listing(recorder.points()), "dir=dir link=one old=one");
    recorder.sync_file(&at("link")).unwrap();
    assert_eq!(listing(recorder.points()), "dir=dir link=onetwo old=onetwo");
    recorder.remove(&at("old")).unwrap();
    recorder.remove_dir_all(&at("dir")).unwrap();
    assert_eq!(listing(recorder.points()), "dir=dir link=onetwo old=onetwo");
    recorder.sync_dir(dir.path()).unwrap();
    assert_eq!(listing(recorder.points()), "link=onetwo");
    assert_eq!(listing(0), "old=old");
}
