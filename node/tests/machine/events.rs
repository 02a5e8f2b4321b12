//! Are events kept as the log tells them: once, through crashes, snapshots and forgetting?

use super::*;
use quorate_insights::segment::RowFilter;
use quorate_model::event::{CountedSearch, Event, EventKind, EventObject, EventTarget, TextList};
use quorate_node::{EventsDigest, event_files};
use quorate_store::incoming::Incoming;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// A moment that is not too old to be kept, the same for all of a test program.
pub fn today() -> u64 {
    static NOW: LazyLock<u64> =
        LazyLock::new(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64);
    *NOW
}
/// A view of a record by a user.
fn event(user: &str, object: &str) -> Event {
    let object = EventObject { object_id: object.into(), ..EventObject::default() };
    Event {
        kind: EventKind::View,
        name: "seen".into(),
        index: quorate_model::IndexName::new("products").unwrap(),
        user: user.into(),
        authenticated: None,
        time_ms: Some(today()),
        query_id: None,
        target: EventTarget::Objects(vec![object]),
        value: None,
        currency: None,
    }
}
pub fn events(of: &[(&str, &str)]) -> IndexCommand {
    IndexCommand::Events { events: of.iter().map(|(user, object)| event(user, object)).collect() }
}
pub fn search(user: &str, query: &str) -> IndexCommand {
    let search = CountedSearch {
        index: quorate_model::IndexName::new("products").unwrap(),
        user: user.into(),
        time_ms: today(),
        query: query.into(),
        hits: 1,
        shown: TextList::default(),
        tags: TextList::default(),
        filters: TextList::default(),
        country: None,
        query_ids: vec![],
        stands: false,
    };
    IndexCommand::Searches { searches: vec![search] }
}
pub fn forget_user(token: &str) -> IndexCommand {
    IndexCommand::ForgetUser { token: token.into() }
}

/// Users with what they saw and searched.
pub fn seen(node: &Node) -> Vec<String> {
    let view = node.events(GROUP).unwrap();
    let rows = view.rows(RowFilter::ALL, 0..u64::MAX).unwrap();
    let what = |row: &quorate_insights::rows::EventRow| match &row.search {
        Some(search) => format!("? {}", search.query),
        None => row.object.clone().unwrap().to_string(),
    };
    let text = |row: quorate_insights::rows::EventRow| format!("{} {}", row.user, what(&row));
    let mut seen: Vec<String> = rows.map(|row| text(row.unwrap())).collect();
    seen.sort();
    seen
}
impl Rig {
    fn seen(&self) -> Vec<String> {
        seen(&self.node)
    }
}

#[test]
fn events_outlive_crashes_and_count_once() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(events(&[("ann", "1"), ("bob", "2")]));
        // sent again: nobody knows whether the first call was answered
        rig.apply(events(&[("ann", "1"), ("bob", "2"), ("bob", "3")]));
        let seen = ["ann 1", "bob 2", "bob 3"];
        assert_eq!(rig.seen(), seen);
        assert_eq!(rig.machine.durable_through(), 0, "the log is needed");
        rig.machine.checkpoint().unwrap();
        let mut rig = Rig::open(dir.path(), rig.kill());
        assert_eq!(rig.seen(), seen, "from the log");
        rig.machine.close().unwrap();
        assert_eq!(rig.machine.durable_through(), 2);
        let log = rig.kill();
        let mut rig = Rig::open(dir.path(), log);
        assert_eq!((rig.machine.replay_from().unwrap(), rig.seen()), (2, seen.map(String::from).to_vec()));
        rig.apply(forget_user("bob"));
        assert_eq!(rig.seen(), ["ann 1"], "at once");
        rig.apply(events(&[("bob", "4")]));
        rig.apply(search("bob", "shoes"));
        let after = ["ann 1", "bob 4", "bob ? shoes"];
        assert_eq!(rig.seen(), after);
        let mut rig = Rig::open(dir.path(), rig.kill());
        assert_eq!(rig.seen(), after);
        rig.machine.close().unwrap();
        let rig = Rig::open(dir.path(), rig.kill());
        assert_eq!(rig.seen(), after);
        assert_eq!(rig.node.event_figures().waiting_bytes, 0);
    });
}

#[test]
fn forgotten_users_leave_the_files() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(events(&[("findme", "1"), ("other", "2")]));
        rig.machine.close().unwrap();
        let mut rig = Rig::open(dir.path(), rig.kill());
        assert!(holds(dir.path(), b"findme"));
        rig.apply(forget_user("findme"));
        // sealed with the mark
        rig.machine.close().unwrap();
        let log = rig.log.clone();
        drop(rig);
        let mut rig = Rig::open(dir.path(), log);
        let deadline = Instant::now() + Duration::from_secs(30);
        while holds(&dir.path().join("events"), b"findme") {
            assert!(Instant::now() < deadline, "it is still there");
            rig.machine.resume_work().unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(rig.seen(), ["other 2"]);
    });
}

/// Until the entries have left the disk of the log, which a process may not live to see.
#[test]
fn a_group_knows_after_each_end_through_where_its_log_names_forgotten_users() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(events(&[("findme", "1")]));
        assert_eq!(rig.machine.forgets_through(), 0);
        let first = rig.apply(forget_user("findme"));
        rig.machine.checkpoint().unwrap();
        let mut rig = Rig::open(dir.path(), rig.kill());
        assert_eq!(rig.machine.forgets_through(), first);
        let second = rig.apply(forget_user("other"));
        let mut rig = Rig::open(dir.path(), rig.kill());
        assert_eq!(rig.machine.forgets_through(), second, "from the log");
        let end = rig.apply(events(&[("ann", "1")]));
        // whoever takes a snapshot may have entries of before in its log
        let to = tempfile::tempdir().unwrap();
        let mut target = Rig::open(to.path(), vec![]);
        let incoming = Incoming::new(&Layout::new(to.path()), GROUP, end);
        assert_eq!(rig.export(incoming.layout()), end);
        target.machine.replace(&incoming.commit(&RealFiles, &[]).unwrap()).unwrap();
        assert_eq!(target.machine.forgets_through(), second);
    });
}

/// Whether a file below a folder has these bytes in it.
fn holds(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => holds(&path, bytes),
            // a file may have been removed meanwhile
            false => std::fs::read(&path).is_ok_and(|read| read.windows(bytes.len()).any(|it| it == bytes)),
        }
    })
}

#[test]
fn a_snapshot_brings_events_and_takes_those_that_were_there() {
    in_system(|| {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut source = Rig::open(from.path(), vec![]);
        let at = source.apply(events(&[("ann", "1"), ("bob", "2")]));
        let layout = Layout::new(to.path());
        let mut target = Rig::open(to.path(), vec![]);
        target.apply(events(&[("old", "9")]));
        target.machine.close().unwrap();
        let mut target = Rig::open(to.path(), target.kill());
        let incoming = Incoming::new(&layout, GROUP, at);
        assert_eq!(source.export(incoming.layout()), at);
        // whoever offers it knows what its files of events have to be
        let files = event_files(incoming.layout(), GROUP).unwrap();
        assert!(!files.is_empty());
        for (path, length, crc) in files {
            let bytes = std::fs::read(path).unwrap();
            assert_eq!((bytes.len() as u64, crc32fast::hash(&bytes)), (length, crc));
        }
        let replacement = incoming.commit(&RealFiles, &[]).unwrap();
        target.machine.replace(&replacement).unwrap();
        assert_eq!(target.seen(), ["ann 1", "bob 2"]);
        // a start that finds the replacement begun does it again
        drop(target);
        let (kv, _) = Kv::open(&layout.state(), RealFiles::shared(), 16 << 20).unwrap();
        let tree = kv.tree(&quorate_store::layout::tree(GROUP)).unwrap();
        let resumed = quorate_store::incoming::resume(&RealFiles, &layout, GROUP, &tree).unwrap();
        assert_eq!(resumed, Some(at));
        drop((kv, tree));
        let target = Rig::open(to.path(), source.log.clone());
        assert_eq!(target.seen(), ["ann 1", "bob 2"]);
        // one without events
        let mut target = target;
        let mut empty = Rig::open(tempfile::tempdir().unwrap().path(), vec![]);
        empty.apply(settings(1, "{}"));
        empty.apply(settings(1, "{}"));
        let incoming = Incoming::new(&layout, GROUP, 2);
        assert_eq!(empty.export(incoming.layout()), 2);
        let replacement = incoming.commit(&RealFiles, &[]).unwrap();
        target.machine.replace(&replacement).unwrap();
        assert_eq!(target.seen(), Vec::<String>::new());
        target.machine.leave().unwrap();
        assert!(!layout.events_of(GROUP).exists());
    });
}

impl Rig {
    /// What the group holds beside indices, as replicas compare it; `None` when it is not known.
    fn compared(&mut self) -> Option<EventsDigest> {
        self.apply(IndexCommand::Compare);
        let pin = self.node.take_pin().unwrap().take_events()?;
        assert_eq!(pin.digest(&mut |_| {}, &|| false).unwrap(), None, "it ends when it is to");
        let digest = pin.digest(&mut |_| {}, &|| true).unwrap();
        Some(digest.unwrap())
    }
}

#[test]
fn replicas_compare_what_readers_see_of_events_whatever_files_they_have() {
    in_system(|| {
        let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let mut rigs = folders.each_ref().map(|folder| Rig::open(folder.path(), vec![]));
        let log = [
            events(&[("ann", "1"), ("findme", "2"), ("cid", "3")]),
            search("findme", "shoes"),
            events(&[("ann", "1"), ("ann", "5")]),
            models::install("products", 3, 30),
            forget_user("findme"),
            IndexCommand::EventsSent { through: 2 },
            events(&[("cid", "6")]),
        ];
        for (at, command) in log.into_iter().enumerate() {
            rigs.iter_mut().for_each(|rig| assert!(rig.apply(command.clone()) > 0));
            // one has files of everything, one keeps it in memory, one is closed in the middle
            rigs[0].machine.seal_events().unwrap();
            if at == 5 {
                rigs[2].machine.close().unwrap();
                let [first, second, third] = rigs;
                rigs = [first, second, Rig::open(folders[2].path(), third.kill())];
            }
            let [one, other, third] = rigs.each_mut().map(|rig| rig.compared().unwrap());
            assert!(one == other && other == third, "after {at}: {one:?} {other:?} {third:?}");
        }
        let of_day = |digest: &EventsDigest| digest.days.values().map(|day| day.rows).collect::<Vec<_>>();
        let [mut one, mut other, mut third] = rigs;
        let before = one.compared().unwrap();
        assert_eq!((of_day(&before), before.sent), (vec![4], 2));
        // files without those who are forgotten
        let deadline = Instant::now() + Duration::from_secs(30);
        while holds(&folders[0].path().join("events"), b"findme") {
            assert!(Instant::now() < deadline);
            one.machine.resume_work().unwrap();
        }
        assert_eq!(one.compared().unwrap(), before);
        // every change is one
        let changes = [
            events(&[("ann", "1 ")]),
            search("ann", "boots"),
            forget_user("cid"),
            models::install("products", 4, 30),
            IndexCommand::EventsSent { through: 3 },
        ];
        let mut last = before;
        for change in changes {
            other.apply(change);
            let now = other.compared().unwrap();
            assert!(!last.differences(&now).is_empty(), "{last:?} {now:?}");
            last = now;
        }
        // files that are ahead of a log that is replayed hold what came later
        third.apply(events(&[("ann", "9")]));
        third.machine.close().unwrap();
        let log = third.kill();
        let mut again = Rig::open_without_replay(folders[2].path(), log);
        again.machine.apply(position(1), IndexCommand::Compare).unwrap();
        assert!(again.node.take_pin().is_none_or(|mut pin| pin.take_events().is_none()));
    });
}
