//! What is served and kept while settings need other files, and when such a rebuild is cut off, killed or has no room?

use super::*;

/// More records than are rebuilt at once.
#[test]
fn a_rebuild_keeps_serving_and_later_writes_are_published_before_it() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(many(0..MANY, 1));
        rig.apply(settings(1, r#"{"hitsPerPage":9}"#));
        rig.wait();
        let changed = rig.apply(facet_settings());
        let mut late = Vec::new();
        let mut n = 0;
        while !rig.node.is_visible(GROUP, changed) {
            n += 1;
            let written = rig.apply(records(1, vec![put("r5", n + 10), put(&format!("new{n}"), n)]));
            rig.wait_visible(written);
            assert_eq!(rig.node.view(1).unwrap().shard.record_count(), u64::from(MANY + n));
            late.push(rig.node.is_visible(GROUP, changed));
            if !late[late.len() - 1] {
                assert_eq!(rig.shown("hitsPerPage"), Some(9.into()));
                assert_eq!(rig.shown("attributesForFaceting"), None);
                assert_eq!(rig.node.rebuilds().indices, 1);
                assert!(!rig.node.records_are_visible(GROUP, written + 1));
            }
        }
        assert!(!late[0], "the rebuild ended before the first write was seen");
        assert_eq!(rig.shown("attributesForFaceting"), Some(serde_json::json!(["n"])));
        assert_eq!(rig.shown("hitsPerPage"), Some(9.into()));
        let view = rig.node.view(1).unwrap();
        assert_eq!(view.shard.record_count(), u64::from(MANY + n));
        assert!(view.shard.segments().iter().all(|segment| segment.facet("n").is_some()));
        for i in 1..=n {
            assert!(view.shard.get(&format!("new{i}")).is_some(), "new{i}");
        }
        let last = format!("{{\"n\":{},\"objectID\":\"r5\"}}", n + 10);
        assert_eq!(view.shard.get("r5"), Some(last.as_bytes()));
        assert_eq!(rig.node.rebuilds().indices, 0);
        assert!(rig.node.stats(1).unwrap().build_ms > 0);
    });
}

#[test]
fn of_several_changes_the_newest_wins_and_all_are_published_together() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(many(0..MANY, 1));
        rig.wait();
        let first = rig.apply(facet_settings());
        let second = rig.apply(settings(1, r#"{"attributesForFaceting":["m"]}"#));
        let third = rig.apply(settings(1, r#"{"hitsPerPage":3}"#));
        let write = rig.apply(records(1, vec![put("r0", 7)]));
        rig.wait_visible(write);
        for settings in [first, second, third] {
            assert!(!rig.node.is_visible(GROUP, settings), "{settings}");
        }
        rig.wait_visible(third);
        assert!(rig.node.is_visible(GROUP, first) && rig.node.is_visible(GROUP, second));
        assert_eq!(rig.shown("attributesForFaceting"), Some(serde_json::json!(["m"])));
        assert_eq!(rig.shown("hitsPerPage"), Some(3.into()));
        // there and back again: nothing has to be rebuilt
        let there = rig.apply(facet_settings());
        let back = rig.apply(settings(1, r#"{"attributesForFaceting":["m"]}"#));
        rig.wait_visible(back);
        // what it replaced is let go right after it
        rig.wait_visible(there);
        // what deletes by query sees the settings before it
        rig.apply(facet_settings());
        let deleted =
            rig.apply(records(1, vec![RecordOp::DeleteBy { params: br#"{"filters":"n:1"}"#.to_vec() }]));
        rig.wait_visible(deleted);
        assert_eq!(rig.records(1), [r#"{"n":7,"objectID":"r0"}"#]);
    });
}

#[test]
fn a_killed_rebuild_is_taken_up_again_without_any_write() {
    in_system(|| {
        for checkpointed in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let mut rig = Rig::open(dir.path(), vec![]);
            rig.apply(many(0..MANY, 1));
            rig.apply(settings(1, r#"{"hitsPerPage":9}"#));
            rig.wait();
            rig.machine.checkpoint().unwrap();
            let changed = rig.apply(facet_settings());
            let write = rig.apply(records(1, vec![put("r1", 8), put("x", 1)]));
            rig.wait_visible(write);
            rig.wait_until("the rebuild has begun", || rig.node.rebuilds().records.total > 0);
            assert!(!rig.node.is_visible(GROUP, changed));
            if checkpointed {
                rig.machine.checkpoint().unwrap();
            }
            let mut rig = Rig::open(dir.path(), rig.kill());
            if checkpointed {
                assert!(!rig.node.is_visible(GROUP, changed), "held across the restart");
                assert_eq!(rig.shown("attributesForFaceting"), None);
                assert_eq!(rig.shown("hitsPerPage"), Some(9.into()));
                rig.machine.resume_work().unwrap();
            }
            rig.wait_visible(changed);
            rig.wait();
            assert_eq!(rig.shown("attributesForFaceting"), Some(serde_json::json!(["n"])));
            assert_eq!(rig.count(1), MANY + 1);
            rig.machine.close().unwrap();
            // as closing the store does
            rig.tree.write_out().unwrap();
            let log = rig.log.clone();
            drop(rig);
            let rig = Rig::open(dir.path(), log);
            assert!(rig.node.is_visible(GROUP, changed));
            assert_eq!(rig.node.rebuilds().indices, 0);
            assert!(rig.node.stats(1).unwrap().build_ms > 0);
            assert_eq!(rig.count(1), MANY + 1);
        }
    });
}

#[test]
fn what_is_searched_is_merged_after_a_restart_without_any_write() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        for batch in 0..6 {
            let ops = (0..50).map(|number| put(&format!("{batch}-{number}"), number)).collect();
            let last = rig.apply(records(1, ops));
            rig.wait_visible(last);
        }
        assert!(rig.node.view(1).unwrap().shard.segments().len() > 2);
        rig.machine.close().unwrap();
        // the last one of a group that ends
        rig.machine.checkpoint().unwrap();
        assert_eq!(rig.node.open_counts().0, 0, "a closed group opens nothing");
        rig.tree.write_out().unwrap();
        let log = rig.log.clone();
        drop(rig);
        let mut rig = Rig::open(dir.path(), log);
        let segments = |rig: &Rig| rig.node.view(1).unwrap().shard.segments().len();
        rig.machine.resume_work().unwrap();
        assert_eq!(rig.node.open_counts().0, 0, "nobody reads it");
        assert!(segments(&rig) > 2, "{}", segments(&rig));
        rig.machine.resume_work().unwrap();
        rig.wait_until("merged", || segments(&rig) <= 2);
        assert_eq!(rig.count(1), 300);
    });
}

#[test]
fn an_index_may_be_copied_and_dropped_while_it_is_rebuilt() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(many(0..MANY, 1));
        rig.wait();
        rig.apply(facet_settings());
        let copied = rig.apply(IndexCommand::Copy { from: 1, to: 2 });
        rig.wait_until("the copy's records", || rig.node.records_are_visible(GROUP, copied));
        assert_eq!(rig.node.view(2).unwrap().shard.record_count(), u64::from(MANY));
        rig.apply(IndexCommand::Drop { index: 1 });
        assert_eq!(rig.records(1), ["gone"]);
        rig.wait_visible(copied);
        let view = rig.node.view(2).unwrap();
        assert_eq!(view.configuration.settings().document["attributesForFaceting"], serde_json::json!(["n"]));
        assert!(view.shard.segments()[0].facet("n").is_some());
        assert_eq!(rig.count(2), MANY);
    });
}

#[test]
fn a_rebuild_without_room_is_tried_again_while_the_old_view_serves() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let disk = FullDisk::new(RealFiles::shared(), u64::MAX);
        let mut rig = Rig::open_on(dir.path(), vec![], Arc::new(disk.clone()));
        rig.apply(many(0..MANY, 1));
        rig.wait();
        rig.wait_until("durable", || rig.machine.durable_through() == 1);
        // enough for a manifest, not for the segments
        disk.set_free_bytes(40_000);
        let changed = rig.apply(facet_settings());
        rig.wait_until("a failure", || rig.node.rebuilds().failures[0] > ("disk_full", 0));
        assert!(!rig.node.is_visible(GROUP, changed));
        assert_eq!(rig.node.view(1).unwrap().shard.record_count(), u64::from(MANY));
        assert_eq!(rig.shown("attributesForFaceting"), None);
        disk.set_free_bytes(u64::MAX);
        rig.apply(records(1, vec![put("x", 1)]));
        rig.wait_visible(changed);
        assert_eq!(rig.count(1), MANY + 1);
        assert_eq!(rig.shown("attributesForFaceting"), Some(serde_json::json!(["n"])));
    });
}
