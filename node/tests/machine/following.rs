//! When writes are shown on a node that does not lead their group.

use super::*;

/// Looks through where reads see everything, which nobody is told of: asking for one write would publish_now it.
fn sees(rig: &Rig, log_index: u64) -> bool {
    rig.node.records_visible_through(GROUP) >= log_index
}

#[test]
fn a_stream_of_writes_is_shown_in_groups_unless_somebody_waits() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.node.set_leads(GROUP, false);
        let (mut deferred, mut hurried) = (0, 0);
        for round in 0..20 {
            let first = rig.apply(records(1, vec![put("first", round)]));
            rig.wait_visible(first);
            let second = rig.apply(records(1, vec![put("second", round)]));
            std::thread::sleep(Duration::from_millis(40));
            if sees(&rig, second) {
                // the machine was busy for so long that it was time
                continue;
            }
            deferred += 1;
            let asked = Instant::now();
            match round % 4 {
                0 => rig.wait_visible(second),
                1 => {
                    // a read hurries what the next one sees
                    let _view = rig.node.view(1).unwrap();
                    rig.wait_until("not shown after a read", || sees(&rig, second));
                }
                2 => {
                    rig.node.publish_now(GROUP, second);
                    let is_shown = || rig.node.records_visible_through(GROUP) >= second;
                    rig.wait_until("still deferred", is_shown);
                }
                _ => {
                    rig.wait_until("not shown by itself", || sees(&rig, second));
                    continue;
                }
            }
            hurried += u32::from(asked.elapsed() < Duration::from_millis(60));
        }
        assert!(deferred >= 8 && hurried >= 3, "{deferred} deferred, {hurried} shown when asked for");
        assert_eq!(rig.records(1).len(), 2);
    });
}

#[test]
fn who_begins_to_lead_shows_at_once() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        let mut at_once = 0;
        for round in 0..20 {
            rig.node.set_leads(GROUP, false);
            let first = rig.apply(records(1, vec![put("first", round)]));
            rig.wait_visible(first);
            let second = rig.apply(records(1, vec![put("second", round)]));
            rig.node.set_leads(GROUP, true);
            let since = Instant::now();
            rig.wait_until("not shown", || sees(&rig, second));
            at_once += u32::from(since.elapsed() < Duration::from_millis(100));
        }
        assert!(at_once >= 5, "{at_once} of 20");
    });
}
