//! What the accessors of a segment say.

use super::super::{FacetDocs, Payload, ShardWriter, WriterOptions};
use super::*;
use crate::analysis::Schema;
use bytes::Bytes;
use quorate_model::Settings;
use quorate_store::files::RealFiles;
use serde_json::{Value, json};

fn segment(settings: Value, records: &[Value]) -> Segment {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    let schema = Schema::from(Arc::new(settings));
    let options = WriterOptions { threads: 1, ..WriterOptions::default() };
    let mut writer = ShardWriter::open(dir.path(), &schema, RealFiles::shared(), options).unwrap();
    for (i, record) in records.iter().enumerate() {
        let mut record = record.clone();
        let id = format!("{:05}", records.len() - i);
        record["objectID"] = json!(id);
        writer.put(&id, Bytes::from(record.to_string())).unwrap();
    }
    writer.flush(Payload::default()).unwrap();
    let view = writer.view();
    view.segments()[0].clone()
}

#[test]
fn facet_values_are_sorted_by_folded_text_and_found_without_case() {
    let values = json!({"attributesForFaceting": ["f"]});
    let s = segment(
        values,
        &[json!({"f": "b"}), json!({"f": ["B", "a", "a"]}), json!({}), json!({"f": ["Éa", "b", 10]})],
    );
    let f = s.facet("f").unwrap();
    let all: Vec<&str> = (0..f.value_count()).map(|v| f.value(v)).collect();
    assert_eq!(all, ["10", "a", "B", "b", "Éa"]);
    assert_eq!(f.fold_range("b"), 2..4);
    assert_eq!(f.fold_range("éa"), 4..5);
    assert_eq!((f.fold_range("zz"), f.fold_range("ü")), (4..4, 5..5));
    assert_eq!(f.fold_prefix_range("1"), 0..1);
    assert_eq!((f.find("B"), f.find("b"), f.find("A")), (Some(2), Some(3), None));
    let ords: Vec<Vec<u32>> = (0..4).map(|doc| f.ords_of(doc).collect()).collect();
    assert_eq!(ords, [vec![3], vec![1, 2], vec![], vec![0, 3, 4]]);
    let FacetDocs::List(docs) = f.docs_of(3) else { panic!("few documents") };
    assert_eq!(docs, [0, 3]);
    assert!(s.facet("g").is_none() && s.facet("_tags").is_none());
}

#[test]
fn widths_and_bitmaps_of_facet_columns() {
    for (distinct, records) in [(2usize, 300usize), (300, 900), (70_000, 70_000)] {
        let rows: Vec<Value> = (0..records).map(|i| json!({"f": format!("v{}", i % distinct)})).collect();
        let s = segment(json!({"attributesForFaceting": ["f"], "searchableAttributes": ["x"]}), &rows);
        let f = s.facet("f").unwrap();
        assert_eq!(f.value_count() as usize, distinct);
        for doc in [0, records / 2, records - 1] {
            let ord = f.ords_of(doc as u32).next().unwrap();
            assert_eq!(f.value(ord), format!("v{}", doc % distinct));
            let has = match f.docs_of(ord) {
                FacetDocs::List(docs) => docs.contains(&(doc as u32)),
                FacetDocs::Bitmap(bits, count) => {
                    assert_eq!(bits.iter().map(|w| w.count_ones()).sum::<u32>(), count);
                    bits[doc >> 6] >> (doc & 63) & 1 == 1
                }
            };
            assert!(has);
            assert_eq!(f.doc_count_of(ord) as usize, records / distinct);
        }
        assert_eq!(!f.dense_values().is_empty(), distinct == 2);
        assert!(f.offsets().is_none());
        if distinct == 70_000 {
            assert_eq!(s.term_count(), 0);
            assert!(s.terms().ordinal("v1").is_none());
        }
    }
}

#[test]
fn a_document_has_a_value_once_and_facets_that_few_have_stay_in_their_places() {
    let mut rows = vec![json!({}); 9];
    rows[2] = json!({"f": ["b", "a", "b", "c", "a"], "rare": "x"});
    rows[3] = json!({"f": ["a"]});
    rows[7] = json!({"f": ["c", "c"], "rare": ["y", "x", "y"]});
    // in the order of the records
    rows.iter_mut().enumerate().for_each(|(n, row)| row["n"] = json!(n));
    let settings = json!({"attributesForFaceting": ["f", "rare", "none"], "customRanking": ["asc(n)"]});
    let s = segment(settings, &rows);
    let values = |facet: &str, doc: u32| -> Vec<String> {
        let column = s.facet(facet).unwrap();
        column.ords_of(doc).map(|ord| column.value(ord).to_owned()).collect()
    };
    for doc in 0..9 {
        let (f, rare): (&[&str], &[&str]) = match doc {
            2 => (&["a", "b", "c"], &["x"]),
            3 => (&["a"], &[]),
            7 => (&["c"], &["x", "y"]),
            _ => (&[], &[]),
        };
        assert_eq!(
            (values("f", doc), values("rare", doc)),
            (f.iter().map(ToString::to_string).collect(), rare.iter().map(ToString::to_string).collect()),
            "{doc}"
        );
    }
    assert!(s.facet("none").is_none());
}

#[test]
fn best_positions_follow_the_attribute_modifiers() {
    use super::super::position::{attribute, whole_value, word};
    let settings = json!({"searchableAttributes": ["title", "unordered(body)", "tags"]});
    let s = segment(
        settings,
        &[
            json!({"title": "red car", "body": "x y car", "tags": ["car", "old car"]}),
            json!({"body": "a b c car"}),
            json!({"title": "new", "tags": ["car"]}),
        ],
    );
    let car = s.terms().ordinal("car").unwrap() as usize;
    let lists = s.lists();
    let range = lists.csr_off[car] as usize..lists.csr_off[car + 1] as usize;
    assert_eq!(&lists.csr[range.clone()], [0, 1, 2]);
    let best: Vec<(u16, u16, bool)> =
        lists.imp[range].iter().map(|&p| (attribute(p), word(p), whole_value(p))).collect();
    assert_eq!(best, [(0, 1, true), (1, 0, false), (2, 0, true)]);
    assert_eq!((attribute(lists.best[car]), word(lists.best[car])), (0, 1));
    let tokens = lists.doc_off[1] as usize..lists.doc_off[2] as usize;
    let at = lists.ords[tokens.clone()].iter().position(|&o| o as usize == car).unwrap();
    assert_eq!(word(lists.pos[tokens][at]), 3, "true positions stay");
}

#[test]
fn prefixes_with_many_postings_have_bitmaps_and_top_lists() {
    let rows: Vec<Value> = (0..3_000)
        .map(|i| json!({"t": if i == 2_900 { "star".into() } else { format!("x star{}", i % 30) }}))
        .collect();
    let s = segment(json!({"searchableAttributes": ["t"]}), &rows);
    let lo = s.terms().ordinal("star").unwrap();
    let hi = lo + 31;
    let bits = s.bitmap(lo, hi).unwrap();
    assert_eq!(bits.iter().map(|w| w.count_ones()).sum::<u32>(), 3_000);
    let top = s.top(lo, hi, true).unwrap();
    assert_eq!(
        (top.len(), top[0], top[1]),
        (1_000, 2_900, 0),
        "the exact whole value first, then rank order"
    );
    assert_eq!(s.top(lo, hi, false).unwrap()[..2], [2_900, 0], "by place for a beginning of it");
    assert!(s.bitmap(lo, lo + 3).is_none());
    let x = s.terms().ordinal("x").unwrap();
    assert_eq!(s.lists().dense, [x]);
    assert_eq!(s.lists().dense_df, [2_999]);
}

#[test]
fn a_term_and_a_beginning_of_it_have_lists_of_their_own() {
    let rows: Vec<Value> =
        (0..2_000).map(|i| json!({"t": if i == 1_900 { "planet" } else { "planet x" }})).collect();
    let s = segment(json!({"searchableAttributes": ["t"]}), &rows);
    let planet = s.terms().ordinal("planet").unwrap();
    let first = |exact| s.top(planet, planet + 1, exact).unwrap()[0];
    assert_eq!(first(true), 1_900, "the whole value");
    assert_eq!(first(false), 0, "nothing is exact for plane");
    let bits = s.bitmap(planet, planet + 1).unwrap();
    assert_eq!(bits.iter().map(|w| w.count_ones()).sum::<u32>(), 2_000);
}

#[test]
fn numbers_with_and_without_repetition() {
    let s = segment(json!({}), &[json!({"a": 1, "b": [1, 2]}), json!({"b": true}), json!({"a": -2.5})]);
    let (a, b) = (s.numeric("a").unwrap(), s.numeric("b").unwrap());
    assert_eq!([a.values_of(0), a.values_of(1), a.values_of(2)], [&[1.0][..], &[], &[-2.5]]);
    assert!(a.singles().is_some_and(|v| v[1].is_nan()));
    assert_eq!([b.values_of(0), b.values_of(1), b.values_of(2)], [&[1.0, 2.0][..], &[1.0], &[]]);
    assert!(b.singles().is_none());
    let mut paths: Vec<&str> = s.numeric_paths().collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a", "b"]);
}

#[test]
fn numbers_of_rare_attributes_are_found_and_cost_no_column() {
    let paths = crate::index::column_build::NUMERIC_COLUMNS_MAX + 200;
    let wide: serde_json::Map<String, Value> =
        (0..paths).map(|i| (format!("p{i:04}"), json!([i, -(i as i64)]))).collect();
    let mut rows = vec![Value::Object(wide)];
    let alone = segment(json!({}), &rows);
    assert!((0..paths).all(|i| alone.numeric(&format!("p{i:04}")).unwrap().values_of(0)[0] == i as f64));
    let listed = alone.numeric_paths().filter(|path| alone.numeric(path).unwrap().documents().is_some());
    assert_eq!(listed.count(), 200, "the columns of a segment are bounded");
    rows.extend(
        (1..100).map(|i| json!({"often": i, "twice": if i % 50 == 0 { json!([i, 1]) } else { Value::Null }})),
    );
    let s = segment(json!({}), &rows);
    assert_eq!(s.numeric_paths().count(), paths + 2);
    for (i, path) in (0..paths).map(|i| (i, format!("p{i:04}"))) {
        let column = s.numeric(&path).unwrap();
        assert_eq!(column.values_of(0), [i as f64, -(i as f64)], "{path}");
        assert!(column.values_of(1).is_empty() && column.values_of(99).is_empty(), "{path}");
        assert!(column.singles().is_none() && column.documents().unwrap().eq([0]), "{path}");
    }
    let twice = s.numeric("twice").unwrap();
    assert_eq!(twice.values_of(50), [50.0, 1.0]);
    assert!(twice.documents().unwrap().eq([50]));
    assert!(s.numeric("often").unwrap().documents().is_none());
    assert!(s.numeric("p").is_none() && s.numeric("p9999").is_none() && s.numeric("").is_none());
}
