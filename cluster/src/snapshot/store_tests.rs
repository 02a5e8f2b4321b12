//! What a node offers, for how long, and what it refuses.

use super::super::manifest::Manifest;
use super::*;
use quorate_store::files::RealFiles;
use std::sync::atomic::{AtomicUsize, Ordering};

const GROUP: GroupId = GroupId(3);
const SEGMENT: &str = "indices/00000000000001/0/0123456789abcdef0123456789abcdef.idx";

struct Rig {
    folder: tempfile::TempDir,
    store: Arc<SnapshotStore>,
}

fn open(lifetime: Duration) -> Rig {
    let folder = tempfile::tempdir().expect("a folder");
    let data = Layout::new(folder.path());
    let options = OfferOptions { lifetime, manifest_bytes: 1_000 };
    let store = SnapshotStore::open(&data, RealFiles::shared(), 5, options).expect("a store");
    Rig { folder, store }
}

impl Rig {
    /// Offers a snapshot with a dump of this text and one segment.
    fn offer(&self, index: u64, dump: &str) -> Description {
        let draft = self.store.begin(GROUP).expect("no other is being made");
        assert!(self.store.begin(GROUP).is_none(), "one at a time");
        for (path, text) in [("dumps/3.dump", dump), (SEGMENT, "segment")] {
            let path = draft.layout().root().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        self.store.finish(draft, index, 1).expect("offered")
    }
    fn manifest(&self, wanted: WantedManifest) -> Result<Manifest> {
        self.store
            .answer(&SnapshotRequest::Manifest(wanted))
            .map(|bytes| Manifest::decode(&bytes).expect("own bytes"))
    }
    fn chunk(&self, id: ManifestId, file: &str, offset: u64, bytes: u32) -> Result<String> {
        let found = self.store.answer(&SnapshotRequest::Chunk { id, file: file.into(), offset, bytes });
        found.map(|bytes| String::from_utf8(bytes.to_vec()).expect("text"))
    }
    fn folders(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path().join("snapshots/out")).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }
}

#[test]
fn pieces_come_from_the_files_that_are_listed_and_no_others() {
    let rig = open(LIFETIME);
    let offered = rig.offer(7, "0123456789");
    let manifest = rig.manifest(WantedManifest::This(offered.id)).expect("a manifest");
    let listed: Vec<_> =
        manifest.files.iter().map(|file| (file.path.as_str(), file.bytes, file.crc)).collect();
    let (dump, segment) = (crc32fast::hash(b"0123456789"), crc32fast::hash(b"segment"));
    assert_eq!(listed, [("dumps/3.dump", 10, dump), (SEGMENT, 7, segment)]);
    for (offset, bytes, expected) in [
        (0, 4, "0123"),
        (8, 4, "89"),
        (10, 4, ""),
        (1 << 40, 4, ""),
        (u64::MAX, 4, ""),
        (0, u32::MAX, "0123456789"),
        (3, 0, ""),
    ] {
        assert_eq!(
            rig.chunk(offered.id, "dumps/3.dump", offset, bytes),
            Ok(expected.into()),
            "{offset} {bytes}"
        );
    }
    std::fs::write(rig.folder.path().join("secret"), "x").expect("written");
    for file in ["../../../secret", "secret", "", "/etc/passwd", "dumps", "dumps/../dumps/3.dump"] {
        let refused = rig.chunk(offered.id, file, 0, 9).expect_err(file);
        assert_eq!(refused.kind, quorate_model::ErrorKind::NotFound, "{file}");
    }
    let other_life = ManifestId { life: offered.id.life ^ 1, ..offered.id };
    assert!(rig.chunk(other_life, "dumps/3.dump", 0, 9).is_err());
    assert!(rig.manifest(WantedManifest::This(other_life)).is_err());
}

#[test]
fn a_snapshot_whose_files_of_events_are_damaged_is_not_offered() {
    let rig = open(LIFETIME);
    let draft = rig.store.begin(GROUP).expect("no other is being made");
    let manifest = draft.layout().events_of(GROUP).join("manifest");
    std::fs::create_dir_all(manifest.parent().expect("a folder")).expect("made");
    std::fs::write(manifest, "no manifest").expect("written");
    let refused = rig.store.finish(draft, 7, 1).expect_err("damage must not spread");
    assert!(refused.message.contains("damaged"), "{refused}");
}

#[test]
fn the_newest_two_are_kept_until_nobody_reads_them() {
    let rig = open(LIFETIME);
    let ids: Vec<ManifestId> =
        [3, 5, 9].map(|index| rig.offer(index, &"x".repeat(index as usize)).id).to_vec();
    assert_eq!(rig.folders(), ["3-5", "3-9"]);
    assert!(rig.manifest(WantedManifest::This(ids[0])).is_err());
    assert!(rig.manifest(WantedManifest::This(ids[1])).is_ok());
    assert_eq!(rig.offer(9, "again").id, ids[2], "one of the same index is the same");
    rig.store.expire();
    assert_eq!(rig.folders(), ["3-5", "3-9"]);
    let data = Layout::new(rig.folder.path());
    let _next_start =
        SnapshotStore::open(&data, RealFiles::shared(), 5, OfferOptions::default()).expect("a store");
    assert!(rig.folders().is_empty());

    let rig = open(Duration::ZERO);
    let id = rig.offer(3, "x").id;
    rig.store.expire();
    assert!(rig.folders().is_empty() && rig.manifest(WantedManifest::This(id)).is_err());
}

#[test]
fn one_that_is_asked_for_and_missing_is_made() {
    let rig = open(LIFETIME);
    let wanted = |index| WantedManifest::AtLeast { group: GROUP, index };
    let kind = |wanted| rig.manifest(wanted).expect_err("none").kind;
    assert_eq!(kind(wanted(0)), quorate_model::ErrorKind::NotFound, "this node does not have the group");
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    rig.store.serve(GROUP, move |at_least| {
        counter.fetch_add(1, Ordering::Relaxed);
        if at_least <= 6 { Making::Begun } else { Making::Not }
    });
    assert_eq!(kind(wanted(4)), quorate_model::ErrorKind::Unavailable);
    rig.offer(5, "x");
    assert_eq!(rig.manifest(wanted(4)).expect("one").id.index, 5);
    assert_eq!((kind(wanted(6)), asked.load(Ordering::Relaxed)), (quorate_model::ErrorKind::Unavailable, 2));
    assert_eq!(kind(wanted(7)), quorate_model::ErrorKind::NotFound, "who asks goes elsewhere");
    rig.store.forget(GROUP);
    assert_eq!(kind(wanted(4)), quorate_model::ErrorKind::NotFound);
    assert!(rig.folders().is_empty());
}

#[test]
fn a_segment_that_an_earlier_snapshot_has_is_not_read_again() {
    let rig = open(LIFETIME);
    rig.offer(3, "x");
    let draft = rig.store.begin(GROUP).expect("no other is being made");
    for (path, text) in [("dumps/3.dump", "y"), (SEGMENT, "SEGMENT")] {
        let path = draft.layout().root().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let id = rig.store.finish(draft, 4, 1).expect("offered").id;
    let manifest = rig.manifest(WantedManifest::This(id)).expect("a manifest");
    let crcs: Vec<u32> = manifest.files.iter().map(|file| file.crc).collect();
    assert_eq!(crcs, [crc32fast::hash(b"y"), crc32fast::hash(b"segment")]);
}

#[test]
fn pieces_of_several_files_come_together_and_no_more_than_there_is() {
    let rig = open(LIFETIME);
    let id = rig.offer(7, "0123456789").id;
    // `dumps/3.dump` is the first file, the segment the second one
    let piece = |file, offset, bytes| PieceName { file, offset, bytes };
    for (pieces, expected) in [
        (vec![], Ok("")),
        (vec![piece(0, 2, 3), piece(1, 0, 7), piece(0, 0, 1), piece(1, 3, 0)], Ok("234segment0")),
        (vec![piece(0, 8, 3)], Err("ends early")),
        (vec![piece(2, 0, 1)], Err("no such snapshot")),
        (vec![piece(0, u64::MAX, 1)], Err("")),
        (vec![piece(0, 0, 1); PIECES_MAX + 1], Err("too much")),
        (vec![piece(0, 0, CHUNK_BYTES as u32), piece(0, 0, 1)], Err("too much")),
        (vec![piece(0, 0, u32::MAX); 4], Err("too much")),
    ] {
        let found = rig.store.answer(&SnapshotRequest::Pieces { id, pieces: pieces.clone() });
        match (found, expected) {
            (Ok(bytes), Ok(text)) => assert_eq!(bytes, text),
            (Err(error), Err(part)) => assert!(error.message.contains(part), "{error}"),
            (found, expected) => panic!("{pieces:?}: {found:?}, expected {expected:?}"),
        }
    }
    let gone = SnapshotRequest::Pieces { id: ManifestId { index: 6, ..id }, pieces: vec![piece(0, 0, 1)] };
    assert!(rig.store.answer(&gone).is_err_and(|e| e.kind == quorate_model::ErrorKind::NotFound));
}

#[test]
fn a_list_that_is_too_long_for_an_answer_lies_beside_its_files() {
    let data = tempfile::tempdir().expect("a folder");
    let options = OfferOptions { manifest_bytes: 20, ..OfferOptions::default() };
    let store =
        SnapshotStore::open(&Layout::new(data.path()), RealFiles::shared(), 5, options).expect("a store");
    let rig = Rig { folder: data, store };
    let id = rig.offer(7, "0123456789").id;
    let answer = rig.store.answer(&SnapshotRequest::Manifest(WantedManifest::This(id))).expect("an answer");
    let Ok(ManifestAnswer::InPieces(head)) = ManifestAnswer::decode(&answer) else { panic!("{answer:?}") };
    let chunk = |offset, bytes| {
        let file = MANIFEST_FILE.into();
        rig.store.answer(&SnapshotRequest::Chunk { id, file, offset, bytes })
    };
    let fetched = head.fetch(chunk).expect("a manifest");
    assert_eq!((fetched.id, fetched.files.len()), (id, 2), "the list itself is not listed");
    // one that travels in one answer is no file
    let other = open(LIFETIME);
    let id = other.offer(7, "0123456789").id;
    assert!(
        other.chunk(id, MANIFEST_FILE, 0, 9).is_err_and(|e| e.kind == quorate_model::ErrorKind::NotFound)
    );
}

#[test]
fn a_segment_that_is_not_whole_is_in_no_snapshot() {
    let rig = open(Duration::from_secs(60));
    let draft = rig.store.begin(GROUP).expect("no other is being made");
    let path = draft.layout().root().join(SEGMENT).with_extension("seg");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(&path, "no segment").expect("written");
    let refused = rig.store.finish(draft, 4, 1).expect_err("damage must not spread");
    assert!(refused.message.contains("0123456789abcdef.seg"), "{refused}");
    assert_eq!(rig.store.newest(GROUP, 0), None);
}
