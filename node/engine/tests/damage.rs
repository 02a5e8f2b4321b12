//! Is a changed byte of a shard's files found by the check, whichever it is, and never a panic or a wrong answer after it?
//!
//! Every test run changes some bytes of each file; `QUORATE_DAMAGE=all` changes every bit.

use bytes::Bytes;
use quorate_engine::Schema;
use quorate_engine::index::{IndexError, Payload, ShardView, ShardWriter, WriterOptions, verify_file};
use quorate_model::Settings;
use quorate_store::files::RealFiles;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes between two that are changed in a short run; odd, so that all places of a word get their turn.
const STRIDE: usize = 149;

/// Two segments, one of which lacks documents, with every kind of section.
fn make(dir: &Path) {
    let settings = json!({
        "searchableAttributes": ["title", "unordered(text)"],
        "attributesForFaceting": ["colour", "searchable(brand)"],
        "customRanking": ["desc(rank)"],
    });
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    let schema = Schema::from(Arc::new(settings));
    let options = WriterOptions { threads: 1, ..WriterOptions::default() };
    let mut writer = ShardWriter::open(dir, &schema, RealFiles::shared(), options).unwrap();
    for part in 0..2u64 {
        for n in part * 40..part * 40 + 40 {
            let record = json!({
                "objectID": n.to_string(), "title": format!("lamp {n}"), "text": "a thing of beauty", "rank": n,
                "colour": if n % 2 == 0 { "red" } else { "green" }, "brand": format!("b{}", n % 7), "price": n as f64 / 3.0,
                "_geoloc": {"lat": n as f64 / 2.0, "lng": 10.0}, "_tags": ["x"],
            });
            writer.put(&n.to_string(), Bytes::from(record.to_string())).unwrap();
        }
        writer.flush(Payload { applied: part + 1, term: 1, step: None }).unwrap();
    }
    for n in [3, 50] {
        writer.delete(&n.to_string());
    }
    writer.flush(Payload { applied: 3, term: 1, step: None }).unwrap();
}

fn contents(view: &ShardView) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for segment in view.segments() {
        for doc in (0..segment.doc_count()).filter(|&doc| segment.is_alive(doc)) {
            found.insert(segment.object_id(doc).to_owned(), segment.record(doc).to_vec());
        }
    }
    found
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|item| item.unwrap().path()).collect();
    found.retain(|path| path.is_file());
    found.sort();
    found
}

/// What opening a shard and checking it comes to.
fn checked(dir: &Path) -> Result<BTreeMap<String, Vec<u8>>, IndexError> {
    let view = ShardView::open(dir)?;
    view.verify()?;
    Ok(contents(&view))
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_is_found_and_ends_no_process() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let view = ShardView::open(dir.path()).unwrap();
    let path =
        files(dir.path()).into_iter().find(|path| path.extension().is_some_and(|it| it == "seg")).unwrap();
    // what is mapped behind the new end cannot be looked at any more, as a bad sector cannot
    std::fs::File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let error = view.verify().unwrap_err();
    assert!(
        matches!(error, IndexError::Damaged { .. }) && error.to_string().contains("cannot be read"),
        "{error}"
    );
}

#[test]
fn a_changed_byte_of_any_file_is_found_or_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let expected = checked(dir.path()).unwrap();
    assert_eq!(expected.len(), 78);
    let is_long = std::env::var("QUORATE_DAMAGE").is_ok_and(|it| it == "all");
    for path in files(dir.path()) {
        let whole = std::fs::read(&path).unwrap();
        let is_segment = path.extension().is_some_and(|it| it == "seg");
        let ends = whole.len().saturating_sub(64);
        let places = (0..whole.len()).filter(|at| is_long || at % STRIDE == 0 || *at < 16 || *at >= ends);
        let (mut found, mut tried) = (0, 0);
        for at in places {
            for bit in (0..8).filter(|bit| is_long || *bit == (at / 3) % 8) {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                std::fs::write(&path, &bytes).unwrap();
                let place = format!("byte {at}, bit {bit} of {}", path.display());
                tried += 1;
                match checked(dir.path()) {
                    Ok(contents) => assert_eq!(contents, expected, "{place} gives another answer"),
                    Err(error) => {
                        let is_told = matches!(error, IndexError::Damaged { .. });
                        assert!(is_told, "{place} is taken for something else: {error}");
                        found += 1;
                        if is_segment {
                            // before a snapshot spreads it
                            assert!(verify_file(&path).is_err(), "{place} would be sent elsewhere");
                        }
                    }
                }
            }
        }
        std::fs::write(&path, &whole).unwrap();
        assert!(!is_segment || found * 10 > tried * 8, "{found} of {tried} of {}", path.display());
        for length in [0, 1, whole.len() / 2, whole.len().saturating_sub(1)] {
            std::fs::write(&path, &whole[..length]).unwrap();
            if let Ok(contents) = checked(dir.path()) {
                assert_eq!(contents, expected, "{} cut to {length}", path.display());
            }
        }
        std::fs::write(&path, &whole).unwrap();
    }
    assert_eq!(checked(dir.path()).unwrap(), expected);
}
