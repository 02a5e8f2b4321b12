//! Which events are in the files of a node?

use anyhow::Result;
use quorate_insights::rows::EventRow;
use quorate_insights::segment::RowFilter;
use quorate_insights::store::EventStore;
use quorate_store::files::RealFiles;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// How often each event, by user and record, is in the files of a node that has stopped, all groups together.
///
/// Errors: a file cannot be read.
pub fn kept(data: &Path) -> Result<BTreeMap<(String, String), usize>> {
    let mut kept = BTreeMap::new();
    for group in std::fs::read_dir(data.join("events"))? {
        let store = EventStore::open(Arc::new(RealFiles), &group?.path())?;
        let view = store.view();
        for row in view.rows(RowFilter::ALL, 0..u64::MAX)? {
            // searches are about no record
            if let EventRow { user, object: Some(object), .. } = row? {
                *kept.entry((user.to_string(), object.to_string())).or_default() += 1;
            }
        }
    }
    Ok(kept)
}
