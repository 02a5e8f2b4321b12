//! Is what was damaged told with its rows, is the rest as it was, and does everything go on?

use super::super::tests::{DAY_MS, Entry, NOW_MS, compact, event, expected, resumed, seen, take, token};
use super::*;
use crate::rows::EventRow;
use crate::segment::RowFilter;
use quorate_store::codec::Mark;
use quorate_store::files::RealFiles;

/// Entries of days of their own, each of which becomes a file.
fn log() -> Vec<Entry> {
    let of = |at: u8| vec![event(4, at, Some(NOW_MS - u64::from(at) * DAY_MS)); 1 + usize::from(at)];
    (0..4).map(|at| Entry::Events(of(at))).collect()
}
/// The log without what one entry brought.
fn without(log: &[Entry], lost: usize) -> Vec<Entry> {
    let mut log = log.to_vec();
    log[lost] = Entry::Events(vec![]);
    log
}
fn open(folder: &Path) -> Result<EventStore> {
    EventStore::open(Arc::new(RealFiles), folder)
}
fn filled(folder: &Path, log: &[Entry]) -> EventStore {
    let mut store = open(folder).expect("a new one");
    for (at, entry) in log.iter().enumerate() {
        take(&mut store, at, entry);
        store.seal().expect("sealed");
    }
    store
}
fn file_of(folder: &Path, store: &EventStore, at: usize) -> PathBuf {
    folder.join(store.manifest.metas[at].path())
}

#[test]
fn a_damaged_or_missing_file_is_told_with_its_rows_and_nothing_else_is_lost() {
    let flip = |path: &Path, behind: usize| {
        let mut bytes = std::fs::read(path).expect("there");
        let at = bytes.len() - behind;
        bytes[at] ^= 4;
        std::fs::write(path, bytes).expect("written");
    };
    let cut = |path: &Path, keep: u64| {
        let length = std::fs::metadata(path).expect("there").len();
        let file = std::fs::File::options().write(true).open(path).expect("there");
        file.set_len(keep.min(length - 1)).expect("cut");
    };
    let harms: [(&str, &dyn Fn(&Path)); 7] = [
        ("its last byte", &|path| flip(path, 1)),
        ("its footer", &|path| flip(path, 40)),
        ("cut by a byte", &|path| cut(path, u64::MAX)),
        ("cut in the middle", &|path| cut(path, 300)),
        ("empty", &|path| cut(path, 0)),
        ("gone", &|path| std::fs::remove_file(path).expect("removed")),
        ("gone with its day", &|path| {
            std::fs::remove_dir_all(path.parent().expect("a day")).expect("removed")
        }),
    ];
    for (what, harm) in harms {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("events");
        let (mut log, lost) = (log(), 2);
        let path = file_of(&folder, &filled(&folder, &log), lost);
        let copy = std::fs::read(&path).expect("there");
        harm(&path);
        for _ in 0..2 {
            let store = open(&folder).expect("opens all the same");
            let told: Vec<_> = store.lost().iter().map(|lost| (lost.rows, lost.error())).collect();
            let [(Some(3), error)] = &told[..] else { panic!("{what}: {told:?}") };
            assert!(error.is_damage() && error.to_string().contains(&path.display().to_string()), "{error}");
            assert_eq!((store.lost_rows(), store.durable_through()), (3, 4), "{what}");
            assert!(store.days().len() == 3 && store.rows() == 7, "{what}: {:?}", store.days());
            assert!(seen(&store) == expected(&without(&log, lost)), "{what}");
            assert!(store.export(&root.path().join("copy")).is_err(), "{what}: it is not to spread");
        }
        // everything goes on, and tells the same
        let mut store = open(&folder).expect("opens");
        log.push(Entry::Events((0..5).map(|user| event(user, 9, None)).collect()));
        log.push(Entry::Forget(token(4)));
        for at in [4, 5] {
            take(&mut store, at, &log[at]);
            store.seal().expect("sealed");
        }
        compact(&mut store, NOW_MS + 2 * DAY_MS).expect("compacted");
        assert!(seen(&store) == expected(&without(&log, lost)), "{what}");
        assert_eq!(store.lost_rows(), 3, "{what}");
        // a copy that is put back counts, but not whom it had
        std::fs::create_dir_all(path.parent().expect("a day")).expect("made");
        std::fs::write(&path, copy).expect("put back");
        let mut store = open(&folder).expect("opens");
        assert_eq!(store.lost(), [], "{what}");
        assert!(seen(&store) == expected(&log), "{what}");
        store.export(&root.path().join("copy")).expect("whole");
        compact(&mut store, NOW_MS + 2 * DAY_MS).expect("compacted");
        assert!(store.manifest.forgotten.is_empty(), "{what}");
        // what is lost goes with its time
        let harmed = file_of(&folder, &store, 0);
        harm(&harmed);
        let mut store = open(&folder).expect("opens");
        assert_eq!(store.lost().len(), 1, "{what}");
        store.remove_before(u64::MAX).expect("removed");
        assert_eq!((store.lost().len(), store.manifest.metas.len()), (0, 0), "{what}");
    }
}

#[test]
fn a_damaged_manifest_is_taken_from_its_copy_and_without_one_files_are_set_aside() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("events");
    let log = log();
    drop(filled(&folder, &log));
    let (manifest, copy) = (folder.join("manifest"), folder.join("manifest-copy"));
    let whole = std::fs::read(&manifest).expect("there");
    let models = folder.join(layout::MODELS).join("m");
    std::fs::create_dir_all(&models).expect("made");
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let harms = (0..whole.len()).step_by(29).map(|at| Some(flipped(at)));
    for harm in harms.chain([Some(vec![]), Some(whole[..whole.len() - 1].to_vec()), None]) {
        for harmed in [&manifest, &copy] {
            match &harm {
                Some(bytes) => std::fs::write(harmed, bytes).expect("written"),
                None => std::fs::remove_file(harmed).expect("removed"),
            }
            let store = open(&folder).expect("by the other one");
            assert!(store.lost().is_empty() && seen(&store) == expected(&log));
            assert!(std::fs::read(harmed).expect("there") == whole, "both are whole again");
        }
    }
    // of a newer program: nothing is touched
    let newer = quorate_store::codec::frame(Mark { magic: *b"QEVM", version: 9 }, b"something else");
    std::fs::write(&manifest, &newer).expect("written");
    assert!(open(&folder).map(drop).is_err_and(|error| !error.is_damage()));
    assert!(std::fs::read(&manifest).expect("there") == newer);
    // neither is whole
    for round in 1..3 {
        std::fs::write(&manifest, flipped(9)).expect("written");
        std::fs::write(&copy, flipped(9)).expect("written");
        for _ in 0..2 {
            let store = open(&folder).expect("opens all the same");
            let told: Vec<_> =
                store.lost().iter().map(|lost| (lost.rows, lost.error().to_string())).collect();
            assert!(told.len() == round && told.iter().all(|(rows, _)| rows.is_none()), "{told:?}");
            assert_eq!((store.durable_through(), seen(&store)), (0, vec![]));
        }
        let mut store = resumed(Arc::new(RealFiles), &folder, &log).expect("opens");
        store.seal().expect("sealed");
        assert!(seen(&store) == expected(&log), "what the log still has is there");
        drop(store);
        let store = open(&folder).expect("opens");
        assert!(seen(&store) == expected(&log) && store.lost().len() == round);
    }
    assert!(models.exists());
    let aside = folder.join(layout::DAMAGED);
    let path = file_of(&folder, &open(&folder).expect("opens"), 0);
    std::fs::write(&path, "something else").expect("written");
    assert_eq!(manifest::list(&aside.join("0")).expect("there").len(), 4 + 2, "four days, and the manifests");
    // whoever accepts that is told no more, and may export
    let mut store = open(&folder).expect("opens");
    let rows = store.rows();
    assert_eq!(store.accept_loss().expect("accepted").len(), 3);
    assert!(!aside.exists() && !path.exists());
    for store in [store, open(&folder).expect("opens")] {
        assert_eq!((store.lost().len(), store.rows()), (0, rows));
        store.export(&root.path().join("copy")).expect("whole");
        std::fs::remove_dir_all(root.path().join("copy")).expect("removed");
    }
}

#[test]
fn a_damaged_row_group_is_told_passed_over_and_given_up_and_others_are_swept() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("events");
    let (mut log, lost) = (log(), 2);
    let path = file_of(&folder, &filled(&folder, &log), lost);
    let mut bytes = std::fs::read(&path).expect("there");
    bytes[50] ^= 8;
    std::fs::write(&path, bytes).expect("written");
    let mut store = open(&folder).expect("its footer is whole");
    assert!(store.lost().is_empty());
    let left = |store: &EventStore| -> Result<Vec<EventRow>> {
        store.view().rows(RowFilter { passes_over_damage: true, ..RowFilter::ALL }, 0..u64::MAX)?.collect()
    };
    assert!(left(&store).expect("passed over") == expected(&without(&log, lost)));
    let view = store.view();
    let strict: Result<Vec<EventRow>> =
        view.rows(RowFilter::ALL, 0..u64::MAX).and_then(|rows| rows.collect::<Result<_>>());
    assert!(strict.is_err_and(|error| error.is_damage()), "nobody else goes on without it");
    let told = store.lost();
    assert!(told.len() == 1 && told[0].rows == Some(3) && told[0].error().is_damage(), "{told:?}");
    assert_eq!(store.lost_rows(), 3);
    assert!(store.export(&root.path().join("copy")).is_err(), "it is not to spread");
    // who is forgotten leaves the others, and stays passed over in it
    log.push(Entry::Forget(token(4)));
    take(&mut store, 4, &log[4]);
    store.seal().expect("sealed");
    compact(&mut store, NOW_MS + 2 * DAY_MS).expect("it is none of others' business");
    assert_eq!((store.rows(), store.manifest.metas.len()), (3, 1));
    assert!(!store.manifest.forgotten.is_empty());
    log.push(Entry::Events((0..5).map(|user| event(user, 9, None)).collect()));
    take(&mut store, 5, &log[5]);
    store.seal().expect("sealed");
    // a start does not know it before somebody reads it
    drop(store);
    let mut store = open(&folder).expect("opens");
    assert!(store.lost().is_empty());
    store.look_at_all(&|| true).expect("read");
    assert_eq!(store.lost().len(), 1);
    assert_eq!(store.accept_loss().expect("written").len(), 1);
    assert!(store.lost().is_empty() && !path.exists());
    let mut store = open(&folder).expect("opens");
    store.look_at_all(&|| true).expect("read");
    assert!(store.lost().is_empty());
    assert!(seen(&store) == expected(&without(&log, lost)));
    compact(&mut store, NOW_MS + 2 * DAY_MS).expect("compacted");
    assert!(store.manifest.forgotten.is_empty());
    store.export(&root.path().join("copy")).expect("whole");
}

#[test]
fn files_that_are_gone_as_a_whole_are_told_until_that_is_accepted() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("events");
    let (log, earlier) = (log(), root.path().join("earlier"));
    let store = filled(&folder, &log[..2]);
    store.export(&earlier).expect("whole");
    let mut store = open(&folder).expect("opens");
    for at in [2, 3] {
        take(&mut store, at, &log[at]);
        store.seal().expect("sealed");
    }
    let kept = store.kept();
    assert_eq!(kept, KeptRows { through: 4, rows: 10 });
    let looked = |kept: KeptRows| {
        let mut store = open(&folder).expect("opens");
        store.look_for(kept).expect("looked");
        store
    };
    // nothing is gone; nothing was ever there; the log has all of it
    assert_eq!(looked(kept).lost(), []);
    std::fs::remove_dir_all(&folder).expect("removed");
    for nothing in [KeptRows::default(), KeptRows { through: 4, rows: 0 }, KeptRows { through: 0, rows: 10 }]
    {
        assert_eq!(looked(nothing).lost(), [], "{nothing:?}");
    }
    assert!(!folder.exists());
    // all is gone, or what came since an earlier day: it is told at each start, whatever is written meanwhile
    let harms: [(u64, &dyn Fn()); 2] = [
        (10, &|| std::fs::remove_dir_all(&folder).unwrap_or_default()),
        (7, &|| {
            std::fs::remove_dir_all(&folder).expect("removed");
            std::fs::rename(&earlier, &folder).expect("moved");
        }),
    ];
    for (rows, harm) in harms {
        harm();
        let mut known = kept;
        for round in 0..3 {
            let mut store = looked(known);
            let told: Vec<_> = store.lost().iter().map(|lost| (lost.rows, lost.error())).collect();
            let [(told, error)] = &told[..] else { panic!("{told:?}") };
            assert!(*told == Some(rows) && error.is_damage(), "{told:?} {error}");
            assert!(error.to_string().contains(&folder.display().to_string()), "{error}");
            assert!(store.export(&root.path().join("copy")).is_err(), "it is not to spread");
            assert_eq!(store.durable_through(), kept.through + round, "nothing through there comes again");
            let event = Entry::Events(vec![event(2, 9, None)]);
            take(&mut store, (kept.through + round) as usize, &event);
            store.seal().expect("sealed");
            known = store.kept();
            assert_eq!((store.rows(), known.through), (11 - rows + round, kept.through + round + 1));
        }
        let mut store = looked(known);
        assert_eq!(store.accept_loss().expect("accepted").len(), 1);
        assert_eq!((store.lost(), looked(known).lost()), (vec![], vec![]));
    }
}

#[test]
fn a_loss_that_a_crash_left_half_told_is_told_once() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("events");
    let kept = filled(&folder, &log()).kept();
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::create_dir_all(folder.join(layout::DAMAGED).join(format!("{GONE}{}", kept.rows))).expect("made");
    for _ in 0..2 {
        let mut store = open(&folder).expect("opens");
        store.look_for(kept).expect("looked");
        assert_eq!(
            (store.lost().len(), store.lost_rows(), store.durable_through()),
            (1, kept.rows, kept.through)
        );
    }
}
