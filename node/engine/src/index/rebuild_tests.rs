//! Rebuilds beside writes: nothing is lost, nothing comes back, and the outcome is that of an index built at once.

use super::super::writer::tests::{Model, check, options, other_schema, put, record, schema};
use super::*;
use crate::index::{MergeGoal, MergeState, Payload, ShardView, WriterOptions};
use crate::language::{CustomEntries, Dictionaries, Languages};
use bytes::Bytes;
use quorate_model::dictionary::DictionaryWords;
use quorate_model::{DictionaryEntry, Settings};
use quorate_store::files::{Files, RealFiles};
use quorate_store::full_disk::FullDisk;
use serde_json::json;
use std::path::Path;

fn open(dir: &Path, files: Arc<dyn Files>) -> ShardWriter {
    ShardWriter::open(dir, &schema(), files, options()).unwrap()
}
fn set(writer: &mut ShardWriter, model: &mut Model, ids: impl Iterator<Item = i64>, plus: i64) {
    for i in ids {
        let id = format!("r{i}");
        put(writer, &id, i + plus);
        model.insert(id.clone(), record(&id, i + plus));
    }
}
fn delete(writer: &mut ShardWriter, model: &mut Model, ids: impl Iterator<Item = i64>) {
    for i in ids {
        writer.delete(&format!("r{i}"));
        model.remove(&format!("r{i}"));
    }
}
fn until_ready(writer: &mut ShardWriter) {
    while writer.rebuild_step().unwrap() != RebuildState::Ready {
        std::thread::yield_now();
    }
}
/// What a view of one segment holds.
#[derive(Debug, PartialEq)]
struct Content {
    /// Rank key, id and record in rank order.
    rows: Vec<(Vec<u8>, String, Vec<u8>)>,
    words: (Vec<u32>, Vec<u16>),
    postings: (Vec<u32>, Vec<u16>),
}
fn content(view: &ShardView) -> Content {
    let segment = &view.segments()[0];
    assert_eq!(view.segments().len(), 1);
    let docs = (0..segment.doc_count()).filter(|&doc| segment.is_alive(doc));
    let rows = docs.map(|doc| {
        (segment.rank(doc).to_vec(), segment.object_id(doc).to_string(), segment.record(doc).to_vec())
    });
    let lists = segment.lists();
    Content {
        rows: rows.collect(),
        words: (lists.ords.into(), lists.pos.into()),
        postings: (lists.csr.into(), lists.imp.into()),
    }
}
fn merge_all(writer: &mut ShardWriter) -> Arc<ShardView> {
    writer.publish().unwrap();
    while writer.merge_step(MergeGoal::One).unwrap() != MergeState::Idle {
        writer.wait_for_merge().unwrap();
    }
    writer.publish().unwrap()
}

#[test]
fn writes_during_a_rebuild_are_in_what_it_makes() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path(), RealFiles::shared());
    let mut model = Model::new();
    set(&mut writer, &mut model, 0..1_500, 0);
    writer.flush(Payload::default()).unwrap();
    writer.start_rebuild(&other_schema()).unwrap();
    assert_eq!(writer.rebuild_step().unwrap(), RebuildState::Running);
    assert_eq!(writer.rebuild_counts().map(|counts| counts.total), Some(1_500));
    set(&mut writer, &mut model, 100..300, 7);
    delete(&mut writer, &mut model, 250..400);
    check(&writer.publish().unwrap(), &model);
    // more than fits the end: another round
    set(&mut writer, &mut model, 2_000..3_200, 0);
    check(&writer.publish().unwrap(), &model);
    writer.flush(Payload { applied: 3, term: 1, step: None }).unwrap();
    assert_eq!(ShardView::built(dir.path()).unwrap().unwrap().fingerprint, schema().fingerprint());
    until_ready(&mut writer);
    delete(&mut writer, &mut model, 2_500..2_600);
    set(&mut writer, &mut model, 2_550..2_560, 9);
    assert!(writer.rebuild_counts().is_some_and(|counts| counts.done > 2_000));
    writer.finish_rebuild().unwrap();
    check(&writer.publish().unwrap(), &model);
    writer.flush(Payload { applied: 4, term: 1, step: None }).unwrap();
    let built = ShardView::built(dir.path()).unwrap().unwrap();
    assert_eq!(built.fingerprint, other_schema().fingerprint());
    assert!(built.build_ms > 0);
    check(&ShardView::open(dir.path()).unwrap(), &model);

    let fresh = tempfile::tempdir().unwrap();
    let mut at_once =
        ShardWriter::open(fresh.path(), &other_schema(), RealFiles::shared(), options()).unwrap();
    for (id, record) in &model {
        at_once.put(id, record.to_string().into()).unwrap();
    }
    at_once.publish().unwrap();
    let (rebuilt, expected) = (merge_all(&mut writer), merge_all(&mut at_once));
    assert_eq!(content(&rebuilt), content(&expected));
}

#[test]
fn the_newest_of_two_rebuilds_wins_and_nothing_of_the_other_stays() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path(), RealFiles::shared());
    let mut model = Model::new();
    set(&mut writer, &mut model, 0..300, 0);
    writer.flush(Payload::default()).unwrap();
    let files = || std::fs::read_dir(dir.path()).unwrap().count();
    let before = files();
    writer.start_rebuild(&other_schema()).unwrap();
    until_ready(&mut writer);
    assert!(files() > before);
    writer.cancel_rebuild();
    assert_eq!((files(), writer.rebuild_step().unwrap()), (before, RebuildState::Idle));
    writer.start_rebuild(&other_schema()).unwrap();
    writer.rebuild_step().unwrap();
    writer.start_rebuild(&schema()).unwrap();
    assert_eq!(writer.rebuild_schema().unwrap().fingerprint(), schema().fingerprint());
    until_ready(&mut writer);
    writer.finish_rebuild().unwrap();
    writer.clear();
    writer.flush(Payload::default()).unwrap();
    assert_eq!(files(), 1, "the manifest");
    check(&writer.view(), &Model::new());
}

#[test]
fn a_full_disk_ends_a_rebuild_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FullDisk::new(RealFiles::shared(), u64::MAX);
    let mut writer = open(dir.path(), Arc::new(disk.clone()));
    let mut model = Model::new();
    set(&mut writer, &mut model, 0..1_200, 0);
    writer.flush(Payload::default()).unwrap();
    let files = || std::fs::read_dir(dir.path()).unwrap().count();
    let before = files();
    for room in [0, 3_000, 30_000] {
        disk.set_free_bytes(room);
        writer.start_rebuild(&other_schema()).unwrap();
        let error = loop {
            match writer.rebuild_step() {
                Ok(RebuildState::Running) => std::thread::yield_now(),
                Ok(other) => panic!("room {room}: {other:?}"),
                Err(error) => break error,
            }
        };
        assert!(error.is_disk_full(), "room {room}: {error:?}");
        assert_eq!((files(), writer.rebuild_counts()), (before, None), "room {room}");
        check(&writer.publish().unwrap(), &model);
    }
    disk.set_free_bytes(u64::MAX);
    set(&mut writer, &mut model, 0..20, 4);
    writer.start_rebuild(&other_schema()).unwrap();
    until_ready(&mut writer);
    writer.finish_rebuild().unwrap();
    writer.flush(Payload::default()).unwrap();
    check(&writer.view(), &model);
}

#[test]
fn files_of_another_schema_are_served_and_written_as_they_were_built() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path(), RealFiles::shared());
    let mut model = Model::new();
    set(&mut writer, &mut model, 0..5, 0);
    writer.flush(Payload::default()).unwrap();
    drop(writer);
    let open_other =
        || ShardWriter::open(dir.path(), &other_schema(), RealFiles::shared(), options()).unwrap();
    let mut writer = open_other();
    assert_eq!(writer.built().fingerprint, schema().fingerprint());
    set(&mut writer, &mut model, 5..9, 0);
    let view = merge_all(&mut writer);
    let order: Vec<&str> = (0..9).map(|doc| view.segments()[0].object_id(doc)).collect();
    assert_eq!(order, ["r8", "r7", "r6", "r5", "r4", "r3", "r2", "r1", "r0"], "by desc(n)");
    writer.rebuild(&other_schema()).unwrap();
    writer.flush(Payload::default()).unwrap();
    drop(writer);
    assert_eq!(open_other().built().fingerprint, other_schema().fingerprint());
    check(&ShardView::open(dir.path()).unwrap(), &model);
}

#[test]
fn big_work_waits_for_its_turn_and_segments_being_merged_for_the_merge() {
    let dir = tempfile::tempdir().unwrap();
    let options = WriterOptions { threads: 1, ..options() };
    let turn = options.background_turn.clone();
    let mut writer = ShardWriter::open(dir.path(), &schema(), RealFiles::shared(), options).unwrap();
    let mut model = Model::new();
    for part in 0..3 {
        set(&mut writer, &mut model, part * 10..part * 10 + 10, 0);
        writer.publish().unwrap();
    }
    let other = turn.take_for(u64::MAX);
    assert_eq!(writer.merge_step(MergeGoal::One).unwrap(), MergeState::Running);
    writer.start_rebuild(&other_schema()).unwrap();
    assert_eq!(writer.rebuild_step().unwrap(), RebuildState::Running);
    assert_eq!(writer.rebuild_counts(), Some(RebuildCounts::default()), "waits for the merge");
    writer.wait_for_merge().unwrap();
    drop(other);
    until_ready(&mut writer);
    assert_eq!(writer.merge_step(MergeGoal::One).unwrap(), MergeState::Idle, "all is covered");
    writer.finish_rebuild().unwrap();
    check(&writer.publish().unwrap(), &model);
}

/// Dictionaries in which somebody says of what this German word consists.
fn with_compound(word: &str, parts: [&str; 2]) -> Arc<Dictionaries> {
    let words = DictionaryWords::Compound { word: word.into(), parts: parts.map(str::to_owned).to_vec() };
    let mut entries = CustomEntries::default();
    entries.insert(DictionaryEntry { object_id: "1".into(), language: "de", words });
    Arc::new(Dictionaries::new(entries))
}

#[test]
fn custom_compounds_lie_in_segments_until_a_rebuild_takes_them_out() {
    let dir = tempfile::tempdir().unwrap();
    let document = json!({"searchableAttributes": ["name"], "decompoundedAttributes": {"de": ["name"]}});
    let settings = Arc::new(Settings::from_document(document.as_object().unwrap()).unwrap());
    let custom = Schema::new(settings.clone(), with_compound("Xyloturm", ["xyl", "oturm"]));
    let open =
        |schema: &Schema| ShardWriter::open(dir.path(), schema, RealFiles::shared(), options()).unwrap();
    let add = |writer: &mut ShardWriter, id: &str| {
        let record = json!({"objectID": id, "name": "Xyloturm"}).to_string();
        writer.put(id, Bytes::from(record)).unwrap();
        writer.flush(Payload::default()).unwrap();
    };
    let with_entry = |view: &ShardView| {
        let has = |segment: &&Segment| segment.terms().ordinal("oturm").is_some();
        view.segments().iter().filter(has).map(|segment| segment.doc_count()).sum::<u32>()
    };
    let mut writer = open(&custom);
    add(&mut writer, "a");
    drop(writer);
    // the entry is gone: what was written with it stays until the rebuild
    let plain = Schema::from(settings);
    let mut writer = open(&plain);
    assert!(
        !writer.fits(&plain) && !writer.fits(&custom),
        "some of the words are taken apart, others are not"
    );
    add(&mut writer, "b");
    assert_eq!((with_entry(&writer.view()), writer.view().record_count()), (1, 2));
    writer.flush(Payload::default()).unwrap();
    assert!(!writer.fits(&plain) && !writer.fits(&custom), "also after another durable commit");
    drop(writer);
    let mut writer = open(&custom);
    assert!(!writer.fits(&plain) && !writer.fits(&custom), "also when the entry comes back");
    writer.rebuild(&plain).unwrap();
    writer.flush(Payload::default()).unwrap();
    assert!(writer.fits(&plain));
    assert_eq!((with_entry(&writer.view()), writer.view().record_count()), (0, 2));
    assert_eq!(ShardView::built(dir.path()).unwrap().unwrap().fingerprint, plain.fingerprint());
}

#[test]
fn a_rebuild_takes_words_apart_as_changed_entries_say_beside_writes() {
    let document = json!({"searchableAttributes": ["name"], "decompoundedAttributes": {"de": ["name"]}});
    let settings = Arc::new(Settings::from_document(document.as_object().unwrap()).unwrap());
    let entry = |parts: [&str; 2]| Schema::new(settings.clone(), with_compound("Xyloturm", parts));
    let (before, after) = (entry(["xyl", "oturm"]), entry(["xylot", "urm"]));
    assert_ne!(before.fingerprint(), after.fingerprint());
    // neither entry says what the standard lists say anyway
    let standard = Dictionaries::default().compound_parts("xyloturm", Languages::listed(&["de".to_owned()]));
    assert!(standard != ["xyl", "oturm"] && standard != ["xylot", "urm"], "{standard:?}");
    let add = |writer: &mut ShardWriter, ids: std::ops::Range<u32>| {
        for id in ids.map(|i| format!("r{i:05}")) {
            let record = json!({"objectID": id, "name": format!("Xyloturm {id}")}).to_string();
            writer.put(&id, Bytes::from(record)).unwrap();
        }
    };
    let delete = |writer: &mut ShardWriter, ids: std::ops::Range<u32>| {
        ids.for_each(|i| writer.delete(&format!("r{i:05}")));
    };
    // in how many segments each of the four parts is a word
    let parts = |view: &ShardView| {
        ["xyl", "oturm", "xylot", "urm"].map(|part| {
            view.segments().iter().filter(|segment| segment.terms().ordinal(part).is_some()).count()
        })
    };
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ShardWriter::open(dir.path(), &before, RealFiles::shared(), options()).unwrap();
    add(&mut writer, 0..1_500);
    writer.flush(Payload::default()).unwrap();
    assert!(writer.fits(&before) && !writer.fits(&after));

    writer.start_rebuild(&after).unwrap();
    assert_eq!(writer.rebuild_step().unwrap(), RebuildState::Running);
    add(&mut writer, 1_500..1_600);
    delete(&mut writer, 100..300);
    let serving = writer.publish().unwrap();
    let all = serving.segments().len();
    assert_eq!((serving.record_count(), parts(&serving)), (1_400, [all, all, 0, 0]), "the old entry serves");
    until_ready(&mut writer);
    add(&mut writer, 1_600..1_650);
    delete(&mut writer, 1_550..1_560);
    writer.finish_rebuild().unwrap();
    let rebuilt = writer.publish().unwrap();
    let all = rebuilt.segments().len();
    assert_eq!((rebuilt.record_count(), parts(&rebuilt)), (1_440, [0, 0, all, all]));
    writer.flush(Payload { applied: 1, term: 1, step: None }).unwrap();
    drop(writer);

    let built = ShardView::built(dir.path()).unwrap().unwrap();
    assert_eq!(built.fingerprint, after.fingerprint(), "the files say which entries shaped them");
    let mut writer = ShardWriter::open(dir.path(), &after, RealFiles::shared(), options()).unwrap();
    assert!(writer.fits(&after) && !writer.fits(&before));
    let fresh = tempfile::tempdir().unwrap();
    let mut at_once = ShardWriter::open(fresh.path(), &after, RealFiles::shared(), options()).unwrap();
    for ids in [0..100, 300..1_550, 1_560..1_650] {
        add(&mut at_once, ids);
    }
    let (rebuilt, expected) = (merge_all(&mut writer), merge_all(&mut at_once));
    assert_eq!(parts(&rebuilt), [0, 0, 1, 1]);
    assert_eq!(content(&rebuilt), content(&expected));
}
