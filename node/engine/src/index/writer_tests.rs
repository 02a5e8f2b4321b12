//! A shard against a plain map, under any order of operations, commits, merges and restarts.

use super::*;
use crate::index::{MergeGoal, MergeState, RebuildState};
use proptest::prelude::*;
use quorate_model::Settings;
use quorate_store::files::RealFiles;
use serde_json::json;
use std::collections::BTreeMap;

pub(in crate::index) type Model = BTreeMap<String, serde_json::Value>;

pub(in crate::index) fn schema() -> Schema {
    let document = json!({"searchableAttributes": ["name", "unordered(tags)"], "customRanking": ["desc(n)"],
        "attributesForFaceting": ["kind"]});
    of(document)
}
/// One that asks for other files, with the same columns.
pub(in crate::index) fn other_schema() -> Schema {
    let document = json!({"searchableAttributes": ["name"], "customRanking": ["asc(n)"],
        "attributesForFaceting": ["kind"]});
    of(document)
}
fn of(document: serde_json::Value) -> Schema {
    Schema::from(Arc::new(Settings::from_document(document.as_object().unwrap()).unwrap()))
}
pub(in crate::index) fn options() -> WriterOptions {
    WriterOptions { memory_bytes: 8 << 20, ..WriterOptions::default() }
}
fn open(dir: &Path) -> ShardWriter {
    ShardWriter::open(dir, &schema(), RealFiles::shared(), options()).unwrap()
}
pub(in crate::index) fn record(id: &str, n: i64) -> serde_json::Value {
    let rare = serde_json::Map::from_iter([(rare_path(n), json!([n, 1]))]);
    json!({"objectID": id, "name": format!("name {} é{n}", n % 5), "n": n, "kind": format!("K{}", n % 3),
        "rare": rare, "_geoloc": {"lat": n % 90, "lng": n % 180}})
}
/// More attributes than a segment has numeric columns, each in few records.
fn rare_path(n: i64) -> String {
    format!("r{}", n % 700)
}
pub(in crate::index) fn put(writer: &mut ShardWriter, id: &str, n: i64) {
    writer.put(id, Bytes::from(record(id, n).to_string())).unwrap();
}

/// Everything a view says must fit the model.
pub(in crate::index) fn check(view: &ShardView, model: &Model) {
    assert_eq!(view.record_count(), model.len() as u64);
    let mut seen = BTreeMap::new();
    for segment in view.segments() {
        segment.verify().unwrap();
        let mut last: Option<&[u8]> = None;
        for doc in (0..segment.doc_count()).filter(|&doc| segment.is_alive(doc)) {
            assert!(last < Some(segment.rank(doc)), "rank order");
            last = Some(segment.rank(doc));
            let id = segment.object_id(doc);
            assert_eq!(segment.doc_of(id), Some(doc));
            let record: serde_json::Value = serde_json::from_slice(segment.record(doc)).unwrap();
            check_columns(segment, doc, &record);
            check_words(segment, doc, &record);
            assert!(seen.insert(id.to_string(), record).is_none(), "{id} twice");
        }
    }
    assert_eq!(&seen, model);
    for id in model.keys() {
        assert!(view.get(id).is_some());
    }
    assert!(view.get("nobody").is_none());
}
fn check_columns(segment: &Segment, doc: u32, record: &serde_json::Value) {
    let kinds = segment.facet("kind").unwrap();
    let found: Vec<&str> = kinds.ords_of(doc).map(|ord| kinds.value(ord)).collect();
    assert_eq!(found, [record["kind"].as_str().unwrap()]);
    assert_eq!(segment.numeric("n").unwrap().values_of(doc), [record["n"].as_f64().unwrap()]);
    let n = record["n"].as_i64().unwrap();
    let rare = segment.numeric(&format!("rare.{}", rare_path(n))).unwrap();
    assert_eq!(rare.values_of(doc), [n as f64, 1.0]);
    assert_eq!(segment.geo().unwrap().points_of(doc)[0][0], record["_geoloc"]["lat"].as_f64().unwrap());
}
fn check_words(segment: &Segment, doc: u32, record: &serde_json::Value) {
    let lists = segment.lists();
    let word = format!("e{}", record["n"].as_i64().unwrap());
    let ord = ordinal_of(segment, &word);
    let tokens = lists.doc_off[doc as usize] as usize..lists.doc_off[doc as usize + 1] as usize;
    assert!(lists.ords[tokens].contains(&ord), "{word} of document {doc}");
    let postings = &lists.csr[lists.csr_off[ord as usize] as usize..lists.csr_off[ord as usize + 1] as usize];
    assert!(postings.contains(&doc));
}
fn ordinal_of(segment: &Segment, word: &str) -> u32 {
    segment.terms().ordinal(word).unwrap_or_else(|| panic!("{word} is not a term"))
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, i64),
    Delete(u8),
    Clear,
    Publish,
    Flush,
    Reopen,
    Merge(MergeGoal),
    MergeAcross(u8),
    Rebuild,
    BeginRebuild,
    MoveRebuild,
    FinishRebuild,
    CancelRebuild,
}
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..20u8, 0..40i64).prop_map(|(id, n)| Step::Put(id, n)),
        4 => (0..20u8).prop_map(Step::Delete),
        1 => Just(Step::Clear),
        6 => Just(Step::Publish),
        2 => Just(Step::Flush),
        1 => Just(Step::Reopen),
        2 => prop_oneof![Just(MergeGoal::Few), Just(MergeGoal::One)].prop_map(Step::Merge),
        2 => (0..20u8).prop_map(Step::MergeAcross),
        1 => Just(Step::Rebuild),
        1 => Just(Step::BeginRebuild),
        4 => Just(Step::MoveRebuild),
        1 => Just(Step::FinishRebuild),
        1 => Just(Step::CancelRebuild),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]
    #[test]
    fn a_shard_is_a_map(steps in prop::collection::vec(step(), 1..50)) {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = open(dir.path());
        let (mut model, mut durable) = (Model::new(), Model::new());
        let mut flushes = 0;
        for step in steps {
            match step {
                Step::Put(id, n) => {
                    put(&mut writer, &format!("id{id}"), n);
                    model.insert(format!("id{id}"), record(&format!("id{id}"), n));
                }
                Step::Delete(id) => {
                    writer.delete(&format!("id{id}"));
                    model.remove(&format!("id{id}"));
                }
                Step::Clear => {
                    writer.clear();
                    model.clear();
                }
                Step::Publish => check(&writer.publish().unwrap(), &model),
                Step::Flush => {
                    flushes += 1;
                    let payload = Payload { applied: flushes, term: 1, step: None };
                    writer.flush(payload).unwrap();
                    assert_eq!(writer.durable(), Some(payload));
                    check(&writer.view(), &model);
                    check(&ShardView::open(dir.path()).unwrap(), &model);
                    assert_eq!(writer.unflushed_bytes(), 0);
                    durable = model.clone();
                }
                Step::Reopen => {
                    drop(writer);
                    writer = open(dir.path());
                    model = durable.clone();
                    check(&writer.view(), &model);
                }
                Step::Merge(goal) => {
                    if writer.merge_step(goal).unwrap() == MergeState::Running {
                        writer.wait_for_merge().unwrap();
                    }
                }
                Step::MergeAcross(id) => {
                    writer.publish().unwrap();
                    writer.merge_step(MergeGoal::One).unwrap();
                    writer.delete(&format!("id{id}"));
                    model.remove(&format!("id{id}"));
                    check(&writer.publish().unwrap(), &model);
                    writer.wait_for_merge().unwrap();
                }
                Step::Rebuild => writer.rebuild(&schema()).unwrap(),
                Step::BeginRebuild => {
                    let fits = writer.built().fingerprint == schema().fingerprint();
                    writer.start_rebuild(&if fits { other_schema() } else { schema() }).unwrap();
                }
                Step::MoveRebuild => {
                    if writer.rebuild_step().unwrap() == RebuildState::Ready {
                        writer.finish_rebuild().unwrap();
                    }
                }
                Step::FinishRebuild => writer.finish_rebuild().unwrap(),
                Step::CancelRebuild => writer.cancel_rebuild(),
            }
            for id in 0..20 {
                let id = format!("id{id}");
                let found = writer.get(&id).unwrap().map(|r| serde_json::from_slice(&r).unwrap());
                assert_eq!(found, model.get(&id).cloned());
            }
        }
        check(&writer.publish().unwrap(), &model);
    }
}

#[test]
fn the_last_of_two_puts_wins_and_order_is_by_custom_ranking_then_id() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    for (id, n) in [("a", 1), ("b", 9), ("a", 9), ("ü", 2), ("c", 9)] {
        put(&mut writer, id, n);
    }
    let view = writer.publish().unwrap();
    let segment = &view.segments()[0];
    let order: Vec<&str> = (0..segment.doc_count()).map(|doc| segment.object_id(doc)).collect();
    assert_eq!(order, ["c", "b", "a", "ü"]);
    assert_eq!(writer.pending_ops(), 0);
    assert!(writer.put("x", Bytes::from("[]")).is_err());
    assert!(writer.put("x", Bytes::from("{\"a\":")).is_err());
}

#[test]
fn views_keep_what_they_saw() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    put(&mut writer, "a", 1);
    put(&mut writer, "b", 2);
    let before = writer.publish().unwrap();
    put(&mut writer, "a", 3);
    writer.delete("b");
    assert_eq!(writer.view().generation(), before.generation(), "unpublished");
    let after = writer.publish().unwrap();
    writer.flush(Payload::default()).unwrap();
    writer.merge_step(MergeGoal::One).unwrap();
    writer.wait_for_merge().unwrap();
    writer.clear();
    writer.flush(Payload::default()).unwrap();
    drop(writer);
    check(&before, &Model::from([("a".into(), record("a", 1)), ("b".into(), record("b", 2))]));
    check(&after, &Model::from([("a".into(), record("a", 3))]));
    assert!(after.generation() > before.generation());
}

#[test]
fn large_batches_and_many_segments_merge_into_one_sorted_segment() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    let mut model = Model::new();
    for i in 0..6_000i64 {
        let (id, n) = (format!("r{}", i % 5_000), i * 7_919 % 10_007);
        put(&mut writer, &id, n);
        model.insert(id.clone(), record(&id, n));
        if i % 500 == 499 {
            writer.publish().unwrap();
        }
    }
    let view = writer.publish().unwrap();
    assert!(view.segments().len() > 8);
    check(&view, &model);
    while writer.merge_step(MergeGoal::Few).unwrap() != MergeState::Idle {
        writer.wait_for_merge().unwrap();
    }
    assert!(writer.publish().unwrap().segments().len() <= 9);
    writer.flush(Payload { applied: 1, term: 1, step: None }).unwrap();
    while writer.merge_step(MergeGoal::One).unwrap() != MergeState::Idle {
        writer.wait_for_merge().unwrap();
    }
    let view = writer.publish().unwrap();
    assert_eq!(view.segments().len(), 1);
    check(&view, &model);
    let segment = &view.segments()[0];
    let lists = segment.lists();
    let name = ordinal_of(segment, "name");
    assert!(lists.dense.contains(&name));
    let bits: u32 = segment.bitmap(name, name + 1).unwrap().iter().map(|w| w.count_ones()).sum();
    assert_eq!(bits, 5_000);
    let top = segment.top(name, name + 1, true).unwrap();
    assert_eq!(top, (0..1_000).collect::<Vec<u32>>());
    writer.flush(Payload { applied: 2, term: 1, step: None }).unwrap();
    let files = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files, 8, "one segment of seven files and the manifest");
    assert_eq!(view.file_bytes(), writer.view().file_bytes());
}

#[test]
fn leftovers_of_a_crash_are_removed_and_foreign_files_stay() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    put(&mut writer, "a", 1);
    writer.flush(Payload::default()).unwrap();
    drop(writer);
    let stem = "0123456789abcdef0123456789abcdef";
    for name in
        [format!("{stem}.seg"), format!("{stem}.3.alive"), format!("{MANIFEST}.tmp"), "notes.txt".into()]
    {
        std::fs::write(dir.path().join(name), "half").unwrap();
    }
    let writer = open(dir.path());
    assert_eq!(writer.view().record_count(), 1);
    let left: Vec<String> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains(stem) || name.ends_with(".tmp") || name.ends_with(".txt"))
        .collect();
    assert_eq!(left, ["notes.txt"]);
}

#[test]
fn damage_is_found_at_open() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    put(&mut writer, "a", 1);
    writer.flush(Payload::default()).unwrap();
    let segment = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == EXTENSION))
        .unwrap();
    drop(writer);
    let whole = std::fs::read(&segment).unwrap();
    for at in [0, 8, whole.len() - 1, whole.len() - 30] {
        let mut broken = whole.clone();
        broken[at] ^= 1;
        std::fs::write(&segment, &broken).unwrap();
        assert!(ShardView::open(dir.path()).is_err(), "byte {at}");
    }
    std::fs::write(&segment, &whole[..whole.len() - 1]).unwrap();
    assert!(matches!(ShardView::open(dir.path()), Err(IndexError::Damaged { .. })));
    let mut inside = whole.clone();
    inside[64] ^= 1;
    std::fs::write(&segment, &inside).unwrap();
    if let Ok(view) = ShardView::open(dir.path()) {
        assert!(view.verify().is_err());
    }
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(ShardView::open(empty.path()), Err(IndexError::Absent { .. })));
    assert_eq!(ShardView::durable(empty.path()).unwrap(), None);
}

#[test]
fn a_linked_folder_is_a_shard_of_its_own() {
    check_linked(|writer, to| writer.link_as(Payload { applied: 4, term: 2, step: None }, to).unwrap());
    check_linked(|writer, to| writer.lend_to(to).unwrap());
}

fn check_linked(link: fn(&ShardWriter, &Path)) {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let to = to.path().join("copy");
    let mut writer = open(from.path());
    put(&mut writer, "a", 1);
    put(&mut writer, "b", 2);
    let payload = Payload { applied: 4, term: 2, step: None };
    writer.flush(payload).unwrap();
    writer.delete("a");
    writer.flush(payload).unwrap();
    link(&writer, &to);
    writer.clear();
    writer.flush(payload).unwrap();
    let mut copy = open(&to);
    assert_eq!(copy.durable(), Some(payload));
    check(&copy.view(), &Model::from([("b".into(), record("b", 2))]));
    put(&mut copy, "b", 5);
    copy.flush(payload).unwrap();
    check(&copy.view(), &Model::from([("b".into(), record("b", 5))]));
}

#[test]
fn a_rebuild_uses_the_new_settings_and_survives_only_with_a_flush() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    for n in 0..5 {
        put(&mut writer, &format!("r{n}"), n);
    }
    writer.flush(Payload::default()).unwrap();
    let document = json!({"customRanking": ["asc(n)"], "attributesForFaceting": ["name"]});
    let other = of(document);
    writer.rebuild(&other).unwrap();
    let view = writer.publish().unwrap();
    let segment = &view.segments()[0];
    let order: Vec<&str> = (0..5).map(|doc| segment.object_id(doc)).collect();
    assert_eq!(order, ["r0", "r1", "r2", "r3", "r4"]);
    assert!(segment.facet("kind").is_none() && segment.facet("name").is_some());
    drop(writer);
    let mut writer = open(dir.path());
    assert!(writer.view().segments()[0].facet("kind").is_some());
    writer.rebuild(&other).unwrap();
    writer.flush(Payload { applied: 0, term: 0, step: None }).unwrap();
    let view = ShardView::open(dir.path()).unwrap();
    assert!(view.segments()[0].facet("name").is_some());
}

#[test]
fn a_folder_has_one_writer_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path());
    let again =
        || ShardWriter::open(dir.path(), &Schema::default(), RealFiles::shared(), WriterOptions::default());
    assert!(matches!(again().map(drop), Err(IndexError::InUse { .. })));
    drop(first);
    again().unwrap();
}
