//! Where recommendations are made: on the threads of searches, as a search is.

use crate::index::IndexView;
use crate::search::{ReadRights, SearchPool};
use quorate_model::{Recommendation, Result, SearchResults};
use std::sync::Arc;

impl SearchPool {
    /// Recommends records of a view, or values of a facet. Errors: as of a search.
    pub async fn recommend(
        &self,
        view: Arc<IndexView>,
        asked: Recommendation,
        rights: ReadRights,
    ) -> Result<SearchResults> {
        self.run(move |turn| {
            let limits = turn.limits(rights);
            quorate_engine::recommend(&view.shard, &view.configuration, &asked, &limits, turn.scratch)
        })
        .await
    }
}
