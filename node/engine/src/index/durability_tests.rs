//! A shard whose power is cut at any operation, or whose disk fills up.
//!
//! `QUORATE_POWER_CUTS=all` cuts at every operation in every way instead of one way at each.

use super::tests::{Model, check, options, other_schema, put, record, schema};
use super::*;
use crate::index::{MergeGoal, MergeState, RebuildState};
use quorate_store::files::RealFiles;
use quorate_store::full_disk::FullDisk;
use quorate_store::recorder::{CrashMode, RecordingFiles};
use std::path::PathBuf;

fn payload(applied: u64) -> Payload {
    Payload { applied, term: 1, step: None }
}
fn open(dir: &Path, files: Arc<dyn Files>, spill_bytes: usize) -> Result<ShardWriter> {
    ShardWriter::open_with(dir, &schema(), files, options(), spill_bytes)
}

/// Commits 1 to 6, with deletes, a merge and rebuilds between them, one beside the writes; returns what each holds and
/// since when it is durable.
fn six_commits(writer: &mut ShardWriter, points: &dyn Fn() -> usize) -> Vec<(usize, Model)> {
    let mut model = Model::new();
    let mut commits = vec![(0, model.clone())];
    for commit in 1..=6u64 {
        for i in 0..8 {
            let id = format!("id{}", (commit * 5 + i) % 24);
            put(writer, &id, (commit * 10 + i) as i64);
            model.insert(id.clone(), record(&id, (commit * 10 + i) as i64));
            if i == 4 {
                writer.publish().unwrap();
            }
        }
        writer.delete(&format!("id{}", commit * 5 + 2));
        model.remove(&format!("id{}", commit * 5 + 2));
        if commit == 3 {
            writer.publish().unwrap();
            assert_eq!(writer.merge_step(MergeGoal::One).unwrap(), MergeState::Running);
            writer.wait_for_merge().unwrap();
        }
        if commit == 4 {
            writer.rebuild(&schema()).unwrap();
            writer.start_rebuild(&other_schema()).unwrap();
            writer.rebuild_step().unwrap();
        }
        if commit == 6 {
            while writer.rebuild_step().unwrap() != RebuildState::Ready {
                std::thread::yield_now();
            }
            writer.finish_rebuild().unwrap();
        }
        writer.flush(payload(commit)).unwrap();
        commits.push((points(), model.clone()));
    }
    commits
}

/// Where and how the power is cut, up to the operation `last`.
fn cuts(last: usize, spill_bytes: usize) -> Vec<(usize, CrashMode)> {
    let ways = |point: usize| [CrashMode::Dropped, CrashMode::Prefix, CrashMode::Torn(point as u64)];
    if std::env::var_os("QUORATE_POWER_CUTS").is_some() {
        return (0..=last).flat_map(|point| ways(point).map(|mode| (point, mode))).collect();
    }
    // with everything on disk at once there are many points that differ little
    let step = if spill_bytes == 0 { 3 } else { 1 };
    (0..=last).step_by(step).map(|point| (point, ways(point)[point / step % 3])).collect()
}

#[test]
fn a_power_cut_at_any_point_leaves_the_commit_before_or_after_it() {
    let mut made = 0;
    for spill_bytes in [0, SPILL_BYTES] {
        let root = tempfile::tempdir().unwrap();
        let recorder = RecordingFiles::new(root.path()).unwrap();
        let mut writer = open(&root.path().join("s"), Arc::new(recorder.clone()), spill_bytes).unwrap();
        let commits = six_commits(&mut writer, &|| recorder.points());
        drop(writer);
        for (point, mode) in cuts(recorder.points(), spill_bytes) {
            made += 1;
            let image = tempfile::tempdir().unwrap();
            recorder.crash_image(point, mode, image.path()).unwrap();
            let mut writer = open(&image.path().join("s"), RealFiles::shared(), spill_bytes)
                .unwrap_or_else(|e| panic!("point {point}, {mode:?}: {e}"));
            let done = commits.iter().rposition(|(durable_from, _)| *durable_from <= point).unwrap();
            let found = writer.durable().map_or(0, |p| p.applied) as usize;
            assert!(
                found == done || found == done + 1,
                "point {point}, {mode:?}: commit {found}, done {done}"
            );
            check(&writer.view(), &commits[found].1);
            let fits = if found == 6 { other_schema() } else { schema() };
            assert_eq!(writer.built().fingerprint, fits.fingerprint(), "point {point}, {mode:?}");
            if point % 15 == 0 {
                let mut model = commits[found].1.clone();
                put(&mut writer, "new", 1);
                model.insert("new".into(), record("new", 1));
                writer.flush(payload(9)).unwrap();
                check(&writer.view(), &model);
            }
        }
    }
    eprintln!("{made} cuts");
}

#[test]
fn a_full_disk_is_named_and_a_new_writer_goes_on_when_there_is_room() {
    let free =
        |dir: &Path| -> Vec<PathBuf> { std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect() };
    for spill_bytes in [0, 300, SPILL_BYTES] {
        let dir = tempfile::tempdir().unwrap();
        let disk = FullDisk::new(RealFiles::shared(), u64::MAX);
        let mut writer = open(dir.path(), Arc::new(disk.clone()), spill_bytes).unwrap();
        let mut model = Model::new();
        put(&mut writer, "a", 1);
        model.insert("a".into(), record("a", 1));
        writer.flush(payload(1)).unwrap();
        let files = free(dir.path()).len();
        for room in [0, 1, 200, 1_000, 2_000] {
            disk.set_free_bytes(room);
            put(&mut writer, "b", 2);
            let error = writer.flush(payload(2)).unwrap_err();
            assert!(error.is_disk_full(), "room {room}, spill {spill_bytes}: {error:?}");
            check(&writer.view(), &model);
            drop(writer);
            disk.set_free_bytes(u64::MAX);
            writer = open(dir.path(), Arc::new(disk.clone()), spill_bytes).unwrap();
            assert_eq!((writer.durable(), free(dir.path()).len()), (Some(payload(1)), files));
            check(&writer.view(), &model);
        }
        put(&mut writer, "b", 2);
        model.insert("b".into(), record("b", 2));
        writer.flush(payload(2)).unwrap();
        check(&writer.view(), &model);
    }
}

#[test]
fn a_failed_merge_leaves_the_segments_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FullDisk::new(RealFiles::shared(), u64::MAX);
    let mut writer = open(dir.path(), Arc::new(disk.clone()), 0).unwrap();
    let mut model = Model::new();
    for n in 0..4 {
        let id = format!("r{n}");
        put(&mut writer, &id, n);
        model.insert(id.clone(), record(&id, n));
        writer.publish().unwrap();
    }
    disk.set_free_bytes(100);
    assert_eq!(writer.merge_step(MergeGoal::One).unwrap(), MergeState::Running);
    assert!(writer.wait_for_merge().unwrap_err().is_disk_full());
    check(&writer.publish().unwrap(), &model);
    disk.set_free_bytes(u64::MAX);
    writer.merge_step(MergeGoal::One).unwrap();
    writer.wait_for_merge().unwrap();
    let view = writer.publish().unwrap();
    assert_eq!(view.segments().len(), 1);
    check(&view, &model);
}

/// A snapshot links thousands of shards between two commands: each would wait for the disk several times.
#[test]
fn what_is_lent_waits_for_no_disk_and_what_is_given_does() {
    let root = tempfile::tempdir().unwrap();
    let recorder = RecordingFiles::new(root.path()).unwrap();
    let mut writer = open(&root.path().join("s"), Arc::new(recorder.clone()), SPILL_BYTES).unwrap();
    put(&mut writer, "a", 1);
    writer.flush(payload(1)).unwrap();
    let synced = || recorder.sync_points().len();
    let before = synced();
    writer.lend_to(&root.path().join("lent")).unwrap();
    ShardView::lend_durable(&root.path().join("s"), &root.path().join("again"), &recorder).unwrap();
    assert_eq!(synced(), before);
    let again = writer.lend_to(&root.path().join("lent"));
    assert!(again.is_err(), "what was lent before is not taken for what is lent now");
    writer.link_as(payload(2), &root.path().join("given")).unwrap();
    assert!(synced() > before);
    for (folder, applied) in [("lent", 1), ("again", 1), ("given", 2)] {
        let shard = open(&root.path().join(folder), RealFiles::shared(), SPILL_BYTES).unwrap();
        assert_eq!(shard.durable(), Some(payload(applied)), "{folder}");
        check(&shard.view(), &Model::from([("a".into(), record("a", 1))]));
    }
}
