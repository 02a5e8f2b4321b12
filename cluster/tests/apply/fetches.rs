//! Whether the files of a snapshot arrive whole, whatever happens on the way, and no byte more than needed is asked for.

use crate::planted::{Accident, Operation, Planted};
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_cluster::snapshot::room::Fetch;
use quorate_cluster::snapshot::{
    Description, FetchOptions, InProcess, Making, ManifestId, ModelPiece, OfferOptions, PIECES_MAX,
    PieceName, RoomOptions, SnapshotRoom, SnapshotSource, WantedManifest,
};
use quorate_model::{Error, GroupId, Result};
use quorate_raft::SnapshotImage;
use quorate_store::files::{Files, RealFiles};
use quorate_store::full_disk::FullDisk;
use quorate_store::incoming::Incoming;
use quorate_store::layout::Layout;
use quorate_store::recorder::{CrashMode, RecordingFiles};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const GROUP: GroupId = GroupId(3);
const DUMP: &str = "dumps/3.dump";
const SEGMENT: &str = "indices/0000000000000a/0/0123456789abcdef0123456789abcdef.idx";
const MANIFEST: &str = "indices/0000000000000a/0/shard.manifest";
const OTHER: &str = "indices/0000000000000b/0/00000000000000000000000000000000.idx";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of one piece.
const PIECE: usize = 1_000;
/// Bytes that may come twice when a fetch is cut off: two for each of the six that are asked for at once, and the one that was
/// about to be written.
const LOST: u64 = 13 * PIECE as u64;

/// The text of a file of the snapshot at `index`.
fn text(path: &str, index: u64) -> Vec<u8> {
    let bytes = match path {
        SEGMENT => 9_500,
        OTHER => 3_000,
        MANIFEST => 10,
        _ => 2_345 + index as usize,
    };
    // segments are written once
    let seed = if path.ends_with(".idx") { 1 } else { index };
    (0..bytes).map(|n| (n as u64 * 31 + seed * 7 + path.len() as u64) as u8).collect()
}
const PATHS: [&str; 4] = [DUMP, SEGMENT, MANIFEST, OTHER];
fn total(index: u64) -> u64 {
    PATHS.iter().map(|path| text(path, index).len() as u64).sum()
}

/// What goes wrong on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Nothing.
    None,
    /// So many bytes come, then nobody answers any more.
    CutOff(u64),
    /// The piece at this byte of everything arrives with a wrong bit, once.
    WrongBit(u64),
    /// Every piece of segments of this node arrives with a wrong bit.
    Rotten(u64),
    /// This node's segments end early.
    Short(u64),
    /// So many answers panic where they arrive.
    Panics(u64),
}

struct Way {
    nodes: InProcess,
    fault: Mutex<Fault>,
    /// Bytes that were asked for and came.
    got: Mutex<u64>,
    asked: Mutex<Vec<(u64, String)>>,
    /// Pieces that one question may name.
    at_once: usize,
}

impl Way {
    /// What happens to an answer on its way.
    fn pass(&self, from: u64, is_segment: bool, is_first: bool, answer: Bytes) -> Result<Bytes> {
        let mut answer = answer.to_vec();
        let mut got = self.got.lock();
        let mut fault = self.fault.lock();
        match *fault {
            Fault::CutOff(after) if *got >= after => return Err(Error::unavailable("cut off")),
            Fault::WrongBit(at) if *got >= at => {
                answer[0] ^= 1;
                *fault = Fault::None;
            }
            Fault::Panics(left) if left > 0 => {
                *fault = Fault::Panics(left - 1);
                panic!("planted");
            }
            Fault::Rotten(node) if node == from && is_segment => answer[0] ^= 1,
            Fault::Short(node) if node == from && is_segment && !is_first => answer.clear(),
            Fault::None
            | Fault::CutOff(_)
            | Fault::WrongBit(_)
            | Fault::Rotten(_)
            | Fault::Short(_)
            | Fault::Panics(_) => {}
        }
        *got += answer.len() as u64;
        Ok(answer.into())
    }
}

impl SnapshotSource for Way {
    fn manifest(&self, from: u64, wanted: &WantedManifest) -> Result<Bytes> {
        self.asked.lock().push((from, "manifest".into()));
        self.nodes.manifest(from, wanted)
    }
    fn chunk(&self, from: u64, id: &ManifestId, file: &str, offset: u64, bytes: u32) -> Result<Bytes> {
        self.asked.lock().push((from, file.into()));
        let piece = self.nodes.chunk(from, id, file, offset, bytes)?;
        self.pass(from, file.ends_with(".idx"), offset == 0, piece)
    }
    fn pieces(&self, from: u64, id: &ManifestId, pieces: &[PieceName]) -> Result<Bytes> {
        self.asked.lock().push((from, format!("{} pieces", pieces.len())));
        let answer = self.nodes.pieces(from, id, pieces)?;
        self.pass(from, true, pieces.iter().all(|piece| piece.offset == 0), answer)
    }
    fn model(&self, from: u64, piece: &ModelPiece) -> Result<Bytes> {
        self.nodes.model(from, piece)
    }
    fn pieces_at_once(&self) -> usize {
        self.at_once
    }
    fn holders(&self, group: GroupId) -> Vec<u64> {
        self.nodes.holders(group)
    }
}

/// Nodes 1 and 2 have the group; the one in `here` needs it.
struct Rig {
    folder: tempfile::TempDir,
    way: Arc<Way>,
    rooms: Vec<Arc<SnapshotRoom>>,
    named: Description,
}

fn write_files(root: &Path, index: u64) {
    for path in PATHS {
        let at = root.join(path);
        std::fs::create_dir_all(at.parent().expect("a folder")).expect("made");
        std::fs::write(at, text(path, index)).expect("written");
    }
}
fn offer(room: &SnapshotRoom, index: u64) -> Description {
    let draft = room.store().begin(GROUP).expect("no other is being made");
    write_files(draft.layout().root(), index);
    room.store().finish(draft, index, 1).expect("offered")
}

impl Rig {
    fn new() -> Rig {
        Rig::asking(1, OfferOptions::default())
    }
    /// One whose questions name so many pieces at most.
    fn asking(at_once: usize, offer_options: OfferOptions) -> Rig {
        let folder = tempfile::tempdir().expect("a folder");
        let way = Way {
            nodes: InProcess::default(),
            fault: Mutex::new(Fault::None),
            got: Mutex::new(0),
            asked: Mutex::default(),
            at_once,
        };
        let mut rooms = vec![];
        for node in [1, 2] {
            let data = Layout::new(folder.path().join(node.to_string()));
            let options =
                RoomOptions { offer: offer_options, ..RoomOptions::new(&data, RealFiles::shared(), node) };
            let room = SnapshotRoom::open(options).expect("a room");
            way.nodes.join(node, room.store().clone());
            rooms.push(room);
        }
        let named = offer(&rooms[0], 7);
        Rig { folder, way: Arc::new(way), rooms, named }
    }
    fn here(&self) -> Layout {
        Layout::new(self.folder.path().join("here"))
    }
    fn fetch(&self) -> (Fetch, Receiver<Incoming>) {
        self.fetch_with(&self.here(), RealFiles::shared(), |_| {})
    }
    fn fetch_with(
        &self,
        data: &Layout,
        files: Arc<dyn Files>,
        change: impl FnOnce(&mut FetchOptions),
    ) -> (Fetch, Receiver<Incoming>) {
        let mut options = RoomOptions::new(data, files, 9);
        options.fetch = FetchOptions {
            chunk_bytes: PIECE,
            reserve_bytes: 0,
            retry_first: Duration::from_millis(1),
            retry_max: Duration::from_millis(20),
            patience: Duration::from_millis(300),
            ..FetchOptions::default()
        };
        change(&mut options.fetch);
        let room = SnapshotRoom::open(options).expect("a room");
        room.connect(self.way.clone());
        let image = SnapshotImage { index: self.named.id.index, data: self.named.encode() };
        let (sender, receiver) = channel();
        let fetch = room.fetch(GROUP, &image, move |incoming| drop(sender.send(incoming)));
        (fetch.expect("a thread"), receiver)
    }
    /// The same nodes, reached another way than before: who goes on asking there gets and counts nothing here.
    fn with_a_new_way(self) -> Rig {
        let nodes = InProcess::default();
        self.rooms.iter().zip([1, 2]).for_each(|(room, node)| nodes.join(node, room.store().clone()));
        let (fault, got, asked) = (Mutex::new(Fault::None), Mutex::new(0), Mutex::default());
        let way = Way { nodes, fault, got, asked, at_once: self.way.at_once };
        Rig { way: Arc::new(way), ..self }
    }
    fn fault(&self, fault: Fault) {
        *self.way.fault.lock() = fault;
    }
    fn got(&self) -> u64 {
        std::mem::take(&mut *self.way.got.lock())
    }
    fn wait_for_bytes(&self, bytes: u64) {
        let end = Instant::now() + PATIENCE;
        while *self.way.got.lock() < bytes {
            assert!(Instant::now() < end, "{bytes} bytes did not come");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn arrived(receiver: &Receiver<Incoming>) -> Incoming {
    receiver.recv_timeout(PATIENCE).expect("a snapshot that arrives")
}
fn assert_whole(incoming: &Incoming) {
    for path in PATHS {
        let found = std::fs::read(incoming.folder().join(path)).expect(path);
        assert!(found == text(path, incoming.index), "{path}: {} bytes", found.len());
    }
    assert_eq!(count_files(incoming.folder()), PATHS.len());
}
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .map(|path| if path.is_dir() { bytes_below(&path) } else { path.metadata().expect("a file").len() })
        .sum()
}
fn count_files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { count_files(&path) } else { 1 }).sum()
}

#[test]
fn what_is_named_arrives_once() {
    let rig = Rig::new();
    let (_fetch, receiver) = rig.fetch();
    let incoming = arrived(&receiver);
    assert_eq!((incoming.index, rig.got()), (7, total(7)));
    assert_whole(&incoming);
    let (_fetch, receiver) = rig.fetch();
    assert_whole(&arrived(&receiver));
    assert_eq!(rig.got(), 0, "everything is there already");
}

#[test]
fn a_fetch_goes_on_where_it_was_cut_off() {
    for at_once in [1, PIECES_MAX] {
        for cut_off in (0..total(7)).step_by(PIECE) {
            let rig = Rig::asking(at_once, OfferOptions::default());
            rig.fault(Fault::CutOff(cut_off));
            {
                let (_stopped, _) = rig.fetch();
                rig.wait_for_bytes(cut_off);
            }
            // it changes no file any more; what it still asks for goes a way of its own, and is cut off
            let there = bytes_below(&rig.here().snapshots_in());
            let lost = rig.got().saturating_sub(there);
            assert!(lost <= LOST, "{lost} of {cut_off} bytes were lost");
            let rig = rig.with_a_new_way();
            let (_fetch, receiver) = rig.fetch();
            assert_whole(&arrived(&receiver));
            assert_eq!(rig.got(), total(7) - there, "cut off after {cut_off}");
        }
    }
}

#[test]
fn a_fetch_that_panics_is_begun_again_and_ends_whole() {
    let rig = Rig::new();
    // more often than fetches run at once: each has to give its turn back
    rig.fault(Fault::Panics(12));
    let (_fetch, receiver) = rig.fetch();
    assert_whole(&arrived(&receiver));
    assert_eq!(*rig.way.fault.lock(), Fault::Panics(0));
}

#[test]
fn a_snapshot_whose_making_panicked_is_made_again() {
    let (folder, files) = (tempfile::tempdir().expect("a folder"), Planted::default());
    let data = Layout::new(folder.path());
    let room = SnapshotRoom::open(RoomOptions::new(&data, Arc::new(files.clone()), 1)).expect("a room");
    files.plant(Operation::Rename, "/snapshots/out/", Accident::Panic);
    let maker = room.clone();
    let made = std::thread::spawn(move || offer(&maker, 7)).join();
    assert!(made.is_err() && files.met() == 1, "a panic was planted");
    assert_eq!(room.store().newest(GROUP, 0), None);
    files.clear();
    let described = offer(&room, 8);
    assert_eq!(room.store().newest(GROUP, 0), Some(described));
    let left = std::fs::read_dir(data.snapshots_out()).expect("a folder").count();
    assert_eq!(left, 1, "what was begun is removed");
}

#[test]
fn a_connection_that_comes_back_is_used_again() {
    let rig = Rig::new();
    rig.fault(Fault::CutOff(5_000));
    let (_fetch, receiver) = rig.fetch();
    rig.wait_for_bytes(5_000);
    std::thread::sleep(Duration::from_millis(400));
    rig.fault(Fault::None);
    assert_whole(&arrived(&receiver));
    let got = rig.got();
    assert!((total(7)..=total(7) + LOST).contains(&got), "{got}");
}

#[test]
fn a_damaged_piece_is_fetched_again() {
    for at_once in [1, PIECES_MAX] {
        for at in (0..total(7)).step_by(2_500) {
            let rig = Rig::asking(at_once, OfferOptions::default());
            rig.fault(Fault::WrongBit(at));
            let (_fetch, receiver) = rig.fetch();
            assert_whole(&arrived(&receiver));
            assert!(rig.got() > total(7), "{at}");
        }
    }
}

/// Files of an index of few records, and bytes of each.
const FILES: usize = 8;
const SMALL: usize = 700;

/// Offers a dump and so many small indices.
fn offer_small(room: &SnapshotRoom, index: u64, indices: usize) -> Description {
    let draft = room.store().begin(GROUP).expect("no other is being made");
    let root = draft.layout().root();
    let write = |path: &str, bytes: &[u8]| {
        let at = root.join(path);
        std::fs::create_dir_all(at.parent().expect("a folder")).expect("made");
        std::fs::write(at, bytes).expect("written");
    };
    write(DUMP, b"a dump");
    for n in 0..indices * FILES {
        let bytes = vec![n as u8; if n % 5 == 0 { 0 } else { SMALL + n % 7 }];
        write(&format!("indices/{:014x}/0/{n:032x}.idx", n / FILES), &bytes);
    }
    room.store().finish(draft, index, 1).expect("offered")
}

/// `QUORATE_SMALL_INDICES=20000` is a group of 20,000 indices (some 160,000 files).
#[test]
fn many_small_indices_come_in_few_answers_though_their_list_is_long() {
    let given = std::env::var("QUORATE_SMALL_INDICES").ok();
    let indices: usize = given.map_or(300, |text| text.parse().expect("a number of indices"));
    let rig = Rig::asking(PIECES_MAX, OfferOptions { manifest_bytes: 10_000, ..OfferOptions::default() });
    let begun = Instant::now();
    let named = offer_small(&rig.rooms[0], 9, indices);
    let offered = begun.elapsed();
    let rig = Rig { named, ..rig };
    let begun = Instant::now();
    let change = |options: &mut FetchOptions| options.chunk_bytes = 1 << 20;
    let (_fetch, receiver) = rig.fetch_with(&rig.here(), RealFiles::shared(), change);
    let incoming = receiver.recv_timeout(10 * PATIENCE).expect("a snapshot that arrives");
    let fetched = begun.elapsed();
    assert_eq!((incoming.index, count_files(incoming.folder())), (9, 1 + indices * FILES));
    for n in (0..indices * FILES).step_by(97) {
        let path = format!("indices/{:014x}/0/{n:032x}.idx", n / FILES);
        let found = std::fs::read(incoming.folder().join(path)).expect("a file");
        let expected = if n % 5 == 0 { 0 } else { SMALL + n % 7 };
        assert!(found.len() == expected && found.iter().all(|byte| *byte == n as u8), "{n}");
    }
    let asked = rig.way.asked.lock().len();
    println!("{indices} indices: offered in {offered:?}, fetched in {fetched:?} with {asked} questions");
    // the list and the files in pieces of a MiB or 1,024 files, and some more where files are looked at together
    assert!(asked < 10 + indices * FILES / 250, "{asked} questions");
    assert!(!incoming.folder().join("manifest").exists(), "the list is no file of the state");
}

#[test]
fn a_source_that_is_damaged_cut_short_or_gone_gives_way_to_another() {
    for (fault, is_gone) in [(Fault::Rotten(1), false), (Fault::Short(1), false), (Fault::None, true)] {
        for newer in [7, 11] {
            let rig = Rig::new();
            rig.fault(fault);
            offer(&rig.rooms[1], newer);
            if is_gone {
                rig.rooms[0].store().forget(GROUP);
            }
            let (_fetch, receiver) = rig.fetch();
            let incoming = arrived(&receiver);
            assert_eq!(incoming.index, newer, "{fault:?}");
            assert_whole(&incoming);
        }
    }
}

#[test]
fn a_node_that_does_not_answer_is_not_waited_for() {
    let rig = Rig::new();
    rig.way.nodes.leave(1);
    offer(&rig.rooms[1], 9);
    let (_fetch, receiver) = rig.fetch();
    assert_eq!(arrived(&receiver).index, 9);
}

#[test]
fn a_node_that_waits_for_the_state_itself_is_not_waited_for() {
    let rig = Rig::new();
    rig.rooms[0].store().forget(GROUP);
    rig.rooms[0].store().serve(GROUP, |_| Making::Not);
    offer(&rig.rooms[1], 9);
    let for_ever = |options: &mut FetchOptions| options.patience = 10 * PATIENCE;
    let (_fetch, receiver) = rig.fetch_with(&rig.here(), RealFiles::shared(), for_ever);
    assert_eq!(arrived(&receiver).index, 9);
}

#[test]
fn one_that_is_gone_is_asked_for_anew_and_an_older_one_is_not_taken() {
    let rig = Rig::new();
    rig.way.nodes.leave(2);
    rig.rooms[0].store().forget(GROUP);
    offer(&rig.rooms[0], 5);
    let (asks, asked) = channel();
    rig.rooms[0].store().serve(GROUP, move |_| {
        let _asked_often_enough = asks.send(());
        Making::Begun
    });
    let (_fetch, receiver) = rig.fetch();
    asked.recv_timeout(PATIENCE).expect("the group is asked for a new one");
    assert!(receiver.try_recv().is_err());
    offer(&rig.rooms[0], 8);
    assert_eq!(arrived(&receiver).index, 8);
}

#[test]
fn files_that_are_there_are_linked_and_others_are_not_trusted() {
    let rig = Rig::new();
    let here = rig.here();
    write_files(here.root(), 3);
    let mut damaged = text(OTHER, 3);
    damaged[1_234] ^= 1;
    std::fs::write(here.root().join(OTHER), &damaged).expect("written");
    let (_fetch, receiver) = rig.fetch();
    assert_whole(&arrived(&receiver));
    assert_eq!(rig.got(), total(7) - text(SEGMENT, 7).len() as u64);
    assert_eq!(std::fs::read(here.root().join(OTHER)).expect("a file"), damaged, "it is another file");

    // what an earlier snapshot left counts too
    let named = offer(&rig.rooms[0], 12);
    let rig = Rig { named, ..rig };
    let (_fetch, receiver) = rig.fetch();
    assert_whole(&arrived(&receiver));
    assert_eq!(rig.got(), (text(DUMP, 12).len() + text(MANIFEST, 12).len()) as u64);
}

#[test]
fn a_full_disk_is_waited_for() {
    for free in [0, 1, 5_000, 14_000] {
        let rig = Rig::new();
        let disk = FullDisk::new(RealFiles::shared(), free);
        let (_fetch, receiver) = rig.fetch_with(&rig.here(), Arc::new(disk.clone()), |_| {});
        let waits = receiver.recv_timeout(Duration::from_millis(50));
        assert_eq!(waits, Err(RecvTimeoutError::Timeout), "{free}");
        disk.set_free_bytes(u64::MAX);
        assert_whole(&arrived(&receiver));
    }
}

#[test]
fn nothing_is_fetched_that_the_disk_has_no_room_for() {
    let rig = Rig::new();
    let (_fetch, receiver) =
        rig.fetch_with(&rig.here(), RealFiles::shared(), |options| options.reserve_bytes = u64::MAX / 2);
    std::thread::sleep(Duration::from_millis(50));
    assert!(receiver.try_recv().is_err());
    let asked = rig.way.asked.lock().clone();
    assert!(!asked.is_empty() && asked.iter().all(|(_, what)| what == "manifest"), "{asked:?}");
}

#[test]
fn a_fetch_that_is_slowed_down_keeps_its_rate_and_stops_at_once() {
    let rig = Rig::new();
    let begun = Instant::now();
    let (_fetch, receiver) =
        rig.fetch_with(&rig.here(), RealFiles::shared(), |options| options.bytes_per_s = 50_000);
    arrived(&receiver);
    let (took, least) = (begun.elapsed(), (total(7) - PIECE as u64) as f64 / 50_000.0);
    assert!(took.as_secs_f64() > 0.9 * least, "{took:?}");

    let rig = Rig::new();
    let (fetch, receiver) =
        rig.fetch_with(&rig.here(), RealFiles::shared(), |options| options.bytes_per_s = 1);
    rig.wait_for_bytes(1);
    let begun = Instant::now();
    drop(fetch);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let ended = receiver.recv_timeout(PATIENCE);
    assert_eq!(ended, Err(RecvTimeoutError::Disconnected), "it ends without a result");
}

#[test]
fn a_power_cut_while_files_arrive_costs_only_time() {
    let rig = Rig::new();
    let here = rig.here();
    std::fs::create_dir_all(here.root()).expect("made");
    let recorder = RecordingFiles::new(here.root()).expect("a recorder");
    let (_fetch, receiver) = rig.fetch_with(&here, Arc::new(recorder.clone()), |_| {});
    assert_whole(&arrived(&receiver));
    let modes = [CrashMode::Dropped, CrashMode::Prefix, CrashMode::Torn(1), CrashMode::Torn(2)];
    let last = recorder.points();
    // one mode at each point (`QUORATE_POWER_CUTS=all`: every mode), all of them at the end
    let every = std::env::var_os("QUORATE_POWER_CUTS").is_some();
    let at = |point: usize| modes.into_iter().filter(move |mode| every || *mode == modes[point % 4]);
    let cuts = (0..last).flat_map(|point| at(point).map(move |mode| (point, mode)));
    let cuts = cuts.chain(modes.map(|mode| (last, mode)));
    let mut images = 0;
    for (point, mode) in cuts {
        let image = tempfile::tempdir().expect("a folder");
        recorder.crash_image(point, mode, image.path()).expect("an image");
        let data = Layout::new(image.path());
        rig.got();
        let (_fetch, receiver) = rig.fetch_with(&data, RealFiles::shared(), |_| {});
        assert_whole(&arrived(&receiver));
        images += 1;
        if point == last {
            assert_eq!(rig.got(), 0, "what was reported is durable ({mode:?})");
        }
    }
    assert!(images > 40, "{images}");
    eprintln!("{images} cuts");
}
