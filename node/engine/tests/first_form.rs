//! Are segments that programs of command level 1 wrote searched as those of today, and is what is written while that level is in
//! force what those programs write?
//!
//! `first_form/` is the folder of a shard as the last program of level 1 left it.

use quorate_engine::index::{
    LevelInForce, MergeGoal, MergeState, Payload, ReadySizes, RebuildState, SegmentForm, ShardView,
    ShardWriter, WriterOptions,
};
use quorate_engine::{Configuration, Schema, Scratch, SearchLimits, search};
use quorate_model::{SearchParams, Settings};
use quorate_store::files::RealFiles;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

const RECORDS: usize = 24;
/// With bitmaps and top lists for these few records.
const READY: ReadySizes = ReadySizes { postings_min: 4, ..ReadySizes::USUAL };

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/first_form")
}
fn copied() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(golden()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}
fn schema(searchable: Value) -> Schema {
    let document = json!({
        "searchableAttributes": searchable, "attributesForFaceting": ["brand"], "customRanking": ["desc(stars)"]
    });
    Schema::from(Arc::new(Settings::from_document(document.as_object().unwrap()).unwrap()))
}
/// Those of the folder: attributes that share a priority have numbers of their own today.
fn shared() -> Schema {
    schema(json!(["title", "maker,brand", "unordered(text)"]))
}
fn apart() -> Schema {
    schema(json!(["title", "maker", "brand", "unordered(text)"]))
}
fn record(i: usize) -> Value {
    let colour = ["red", "blue", "Éclat"][i % 3];
    let (maker, brand) = [("north", "south"), ("south", "west")][i % 2];
    let mut record = json!({
        "objectID": format!("{i:02}"),
        "title": format!("{colour} lamp"),
        "maker": maker,
        "brand": brand,
        "text": format!("lamps of room {i}"),
        "stars": i * 7 % 24,
    });
    match i % 4 {
        0 => {}
        1 => {
            record["_geoloc"] = json!([{"lat": i as f64, "lng": 10.0}, {"lat": 50.0, "lng": i as f64}]);
        }
        _ => record["_geoloc"] = json!({"lat": 40.0 + i as f64, "lng": -5.0}),
    }
    record
}
fn writer(folder: &Path, schema: &Schema, level: &Arc<AtomicU16>) -> ShardWriter {
    writer_with(folder, schema, level, READY)
}
fn writer_with(folder: &Path, schema: &Schema, level: &Arc<AtomicU16>, ready: ReadySizes) -> ShardWriter {
    let level = level.clone();
    let level = LevelInForce::new(move || level.load(Ordering::Relaxed));
    let options = WriterOptions { threads: 1, ready, level, ..WriterOptions::default() };
    ShardWriter::open(folder, schema, RealFiles::shared(), options).unwrap()
}
fn level(level: u16) -> Arc<AtomicU16> {
    Arc::new(AtomicU16::new(level))
}
fn put(writer: &mut ShardWriter, numbers: impl Iterator<Item = usize>) {
    for i in numbers {
        let record = record(i);
        writer.put(record["objectID"].as_str().unwrap(), record.to_string().into_bytes().into()).unwrap();
    }
}
/// A view of the records as today's programs index them.
fn of_today(schema: &Schema, records: usize) -> (tempfile::TempDir, Arc<ShardView>) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path(), schema, &level(4));
    put(&mut writer, 0..records);
    let view = writer.publish().unwrap();
    assert_eq!(view.form(), SegmentForm::Lettered);
    (folder, view)
}
fn found(view: &ShardView, schema: &Schema, request: &Value) -> (u64, Vec<String>) {
    let limits = SearchLimits {
        deadline: (Instant::now() + Duration::from_secs(60)).into(),
        now_s: 0,
        sees_unretrievable: false,
        max_hits_per_query: 0,
        bytes_max: usize::MAX,
    };
    let params = SearchParams::from_json(request.as_object().unwrap()).unwrap();
    let configuration = Configuration { schema: schema.clone(), ..Configuration::default() };
    let results = search(view, &configuration, &params, &limits, &mut Scratch::new()).unwrap();
    let hits = results.hits.iter().map(|raw| serde_json::from_slice::<Value>(raw).unwrap());
    let ids = hits.map(|hit| hit["objectID"].as_str().unwrap().to_owned());
    (results.nb_hits, ids.collect())
}
/// What attributes of one priority have to be told apart for.
fn of_one_brand() -> Value {
    json!({"query": "south", "restrictSearchableAttributes": ["brand"], "hitsPerPage": 50})
}
fn requests() -> Vec<Value> {
    let around = |radius: u32| json!({"aroundLatLng": "45.5,1.5", "aroundRadius": radius, "hitsPerPage": 50});
    vec![
        json!({"query": "", "hitsPerPage": 50}),
        json!({"query": "lamp", "hitsPerPage": 50}),
        json!({"query": "l", "hitsPerPage": 50}),
        json!({"query": "lmap", "hitsPerPage": 50}),
        json!({"query": "eclta roo", "hitsPerPage": 50}),
        json!({"query": "south lamp", "hitsPerPage": 50}),
        json!({"query": "room 1", "restrictSearchableAttributes": ["text"], "hitsPerPage": 50}),
        json!({"query": "room", "restrictSearchableAttributes": ["brand"]}),
        json!({"query": "wset", "disableTypoToleranceOnAttributes": ["text"], "hitsPerPage": 50}),
        json!({"query": "\"lamps of\"", "facetFilters": "brand:west", "hitsPerPage": 50}),
        around(300_000),
        around(1_000_000),
        around(4_000_000),
        json!({"insideBoundingBox": [[60.0, -10.0, 44.0, 0.0]], "hitsPerPage": 50}),
    ]
}
fn agree(what: &str, found_in: &ShardView, schema: &Schema, records: usize) {
    let (_folder, expected) = of_today(schema, records);
    for request in requests() {
        let (found, expected) = (found(found_in, schema, &request), found(&expected, schema, &request));
        assert_eq!(found, expected, "{what}: {request}");
    }
}
fn merge(writer: &mut ShardWriter) -> Arc<ShardView> {
    writer.publish().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while writer.merge_step(MergeGoal::One).unwrap() != MergeState::Idle {
        assert!(Instant::now() < end, "merging does not end");
        std::thread::yield_now();
    }
    writer.publish().unwrap()
}
fn rebuild(writer: &mut ShardWriter, schema: &Schema) -> Arc<ShardView> {
    writer.start_rebuild(schema).unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while writer.rebuild_step().unwrap() != RebuildState::Ready {
        assert!(Instant::now() < end, "rebuilding does not end");
        std::thread::yield_now();
    }
    writer.finish_rebuild().unwrap();
    writer.flush(Payload::default()).unwrap();
    writer.view()
}
fn forms(view: &ShardView) -> Vec<SegmentForm> {
    view.segments().iter().map(|segment| segment.form()).collect()
}
/// The one segment file of a folder.
fn segment_file(folder: &Path) -> Vec<u8> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found = paths.filter(|path| path.extension().is_some_and(|it| it == "seg"));
    let file = std::fs::read(found.next().unwrap()).unwrap();
    assert!(found.next().is_none());
    file
}

#[test]
fn segments_of_level_1_are_searched_as_those_of_today() {
    let folder = copied();
    let view = ShardView::open(folder.path()).unwrap();
    view.verify().unwrap();
    assert_eq!((view.form(), view.record_count()), (SegmentForm::First, RECORDS as u64));
    agree("as it was left", &view, &shared(), RECORDS);
    // attributes of one priority are not told apart in it: "south" is the maker of the others
    assert_eq!(found(&view, &shared(), &of_one_brand()).0, RECORDS as u64);
}

#[test]
fn what_is_written_at_level_1_is_what_programs_of_level_1_write() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer_with(folder.path(), &shared(), &level(1), ReadySizes::USUAL);
    put(&mut writer, 0..RECORDS);
    writer.flush(Payload::default()).unwrap();
    assert!(segment_file(folder.path()) == segment_file(&golden()), "not byte for byte");
    // and so are merged ones
    let merged = tempfile::tempdir().unwrap();
    let mut writer = writer_with(merged.path(), &shared(), &level(1), ReadySizes::USUAL);
    for half in [0..RECORDS / 2, RECORDS / 2..RECORDS] {
        put(&mut writer, half);
        writer.publish().unwrap();
    }
    assert_eq!(merge(&mut writer).segments().len(), 1);
    writer.flush(Payload::default()).unwrap();
    assert!(segment_file(merged.path()) == segment_file(&golden()), "merged: not byte for byte");
}

#[test]
fn a_shard_of_level_1_goes_on_in_its_form_until_it_is_rebuilt() {
    let folder = copied();
    let in_force = level(1);
    let mut writer = writer(folder.path(), &shared(), &in_force);
    assert!(writer.fits(&shared()));
    put(&mut writer, RECORDS..RECORDS + 6);
    let view = writer.publish().unwrap();
    assert_eq!(forms(&view), [SegmentForm::First; 2]);
    agree("two segments", &view, &shared(), RECORDS + 6);
    // the level rises while the shard is open: its attributes have the numbers of before
    in_force.store(2, Ordering::Relaxed);
    put(&mut writer, RECORDS + 6..RECORDS + 8);
    let view = merge(&mut writer);
    assert_eq!(forms(&view), [SegmentForm::First]);
    agree("after the rise", &view, &shared(), RECORDS + 8);
    writer.flush(Payload::default()).unwrap();
    drop(writer);
    // opened again it has to be indexed again, and says so
    let mut writer = self::writer(folder.path(), &shared(), &in_force);
    assert!(!writer.fits(&shared()));
    put(&mut writer, RECORDS + 8..RECORDS + 10);
    agree("before the rebuild", &writer.publish().unwrap(), &shared(), RECORDS + 10);
    let view = rebuild(&mut writer, &shared());
    assert!(writer.fits(&shared()));
    assert_eq!(view.form(), SegmentForm::Lettered);
    agree("rebuilt", &view, &shared(), RECORDS + 10);
    assert_eq!(found(&view, &shared(), &of_one_brand()).0, (RECORDS as u64 + 10) / 2);
}

#[test]
fn both_forms_stand_side_by_side_where_numbers_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let in_force = level(1);
    let mut writer = writer(folder.path(), &apart(), &in_force);
    put(&mut writer, 0..RECORDS);
    writer.flush(Payload::default()).unwrap();
    in_force.store(2, Ordering::Relaxed);
    assert!(writer.fits(&apart()));
    put(&mut writer, RECORDS..RECORDS + 6);
    let view = writer.publish().unwrap();
    assert_eq!(forms(&view), [SegmentForm::First, SegmentForm::Lettered]);
    agree("side by side", &view, &apart(), RECORDS + 6);
    let view = merge(&mut writer);
    assert_eq!(forms(&view), [SegmentForm::Lettered]);
    agree("merged", &view, &apart(), RECORDS + 6);
    let merged = ShardView::open(folder.path()).unwrap();
    assert_eq!(merged.record_count(), RECORDS as u64, "not durable yet");
    writer.flush(Payload::default()).unwrap();
    drop(writer);
    assert!(self::writer(folder.path(), &apart(), &in_force).fits(&apart()));
}
