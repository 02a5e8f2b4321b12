//! How does the list of allowed sources change?

use super::MetaState;
use super::rows::{Row, RowChange, StateTable};
use quorate_model::{AllowedSource, AllowedSources, limits};
use std::sync::Arc;

/// The list, as one row.
const SOURCES: u8 = b'a';

impl StateTable for Arc<AllowedSources> {
    fn kinds(&self) -> &'static [u8] {
        &[SOURCES]
    }
    fn hashed_as(&self) -> &'static str {
        "admin key"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new((!self.list().is_empty()).then(|| row(self)).into_iter())
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        *self = Arc::new(AllowedSources::new(row.decoded()?));
        Some(())
    }
}

fn row(sources: &AllowedSources) -> RowChange {
    match sources.list() {
        [] => RowChange::delete(SOURCES, b""),
        list => RowChange::encoded(SOURCES, b"", list),
    }
}

impl MetaState {
    pub(super) fn set_sources(&mut self, sources: Vec<AllowedSource>) -> Vec<RowChange> {
        self.sources = Arc::new(AllowedSources::new(sources));
        vec![row(&self.sources)]
    }

    pub(super) fn append_source(&mut self, source: AllowedSource) -> Vec<RowChange> {
        let mut list = self.sources.list().to_vec();
        match list.iter().position(|it| it.source() == source.source()) {
            Some(at) => list[at] = source,
            None if list.len() < limits::SOURCES_MAX => list.push(source),
            None => return vec![],
        }
        self.set_sources(list)
    }

    pub(super) fn remove_source(&mut self, source: &str) -> Vec<RowChange> {
        if !self.sources.contains(source) {
            return vec![];
        }
        let kept = self.sources.list().iter().filter(|it| it.source() != source);
        let kept = kept.cloned().collect();
        self.set_sources(kept)
    }
}
