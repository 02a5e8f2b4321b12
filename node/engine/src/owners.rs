//! Which records of a shard belong to whom, and how many bytes are they? One look at every record that is asked about.

use crate::bits;
use crate::index::{FacetDocs, Segment, ShardView};
use quorate_model::user::{OWNER, owner_of};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

/// For each owner the live records and their bytes.
pub fn owners(view: &ShardView) -> BTreeMap<String, (u64, u64)> {
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for segment in view.segments() {
        let Some(column) = segment.facet(OWNER) else { continue };
        column.each_value(|ordinal, docs| {
            let (mut records, mut bytes) = (0, 0);
            each_live(segment, &docs, |doc| {
                records += 1;
                bytes += segment.record(doc).len() as u64;
            });
            if records > 0 {
                let sums = found.entry(column.value(ordinal).to_owned()).or_default();
                *sums = (sums.0 + records, sums.1 + bytes);
            }
            true
        });
    }
    found
}

/// A number that differs when records do.
fn number(record: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(record);
    hasher.finish()
}

/// The stored ids of an owner's records, of all or of `ids`, each with a number that differs when the records do.
pub fn owned(view: &ShardView, owner: &str, ids: Option<&[String]>) -> BTreeMap<String, u64> {
    if let Some(ids) = ids {
        let of_owner = ids.iter().filter(|id| owner_of(id).0 == Some(owner));
        return of_owner.filter_map(|id| Some((id.clone(), number(view.get(id)?)))).collect();
    }
    let mut found = BTreeMap::new();
    for segment in view.segments() {
        let Some(column) = segment.facet(OWNER) else { continue };
        let Some(ordinal) = column.find(owner) else { continue };
        each_live(segment, &column.docs_of(ordinal), |doc| {
            found.insert(segment.object_id(doc).to_owned(), number(segment.record(doc)));
        });
    }
    found
}

fn each_live(segment: &Segment, docs: &FacetDocs<'_>, mut visit: impl FnMut(u32)) {
    let mut visit = |doc: u32| {
        if segment.is_alive(doc) {
            visit(doc);
        }
    };
    match docs {
        FacetDocs::List(docs) => docs.iter().copied().for_each(visit),
        FacetDocs::Bitmap(set, _) => bits::each(set, |doc| {
            visit(doc);
            true
        }),
    }
}
