//! Which stretch of the hits is a page? (C§8.5)

use crate::limits::SearchLimits;
use quorate_model::limits::HITS_PER_PAGE_MAX;
use quorate_model::settings::Effective;
use quorate_model::{SearchResults, Settings};

/// The stretch of hits that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// First hit.
    pub first: u64,
    /// One past the last hit.
    pub end: u64,
    /// Page number, for the answer.
    number: u64,
    /// Hits per page.
    pub length: u64,
    /// Whether the request used offset and length.
    is_window: bool,
    /// Hits that pages may reach.
    limit: u64,
    /// Hits that one page may show, whatever its length: groups of `distinct` have several.
    pub shown_max: u64,
}
impl Page {
    /// Reads the parameters.
    pub fn new(settings: &Settings, params: &Effective, limits: &SearchLimits) -> Page {
        let cap = match limits.max_hits_per_query {
            0 => HITS_PER_PAGE_MAX,
            cap => cap.min(HITS_PER_PAGE_MAX),
        };
        let per_page = params.hits_per_page;
        let is_window = params.offset.is_some() || params.length.is_some();
        let number = params.page;
        let length = if is_window { params.length.unwrap_or(per_page) } else { per_page }.min(cap);
        let first = if is_window { params.offset.unwrap_or(0) } else { number.saturating_mul(length) };
        let limit = settings.index.pagination_limited_to;
        let end = first.saturating_add(length).min(limit);
        let shown_max = if limits.max_hits_per_query == 0 { u64::MAX } else { limits.max_hits_per_query };
        Page { first, end, number, length, is_window, limit, shown_max }
    }
    /// Whether the first hit lies beyond what pages may reach; every one does when they may reach none.
    pub fn is_out_of_reach(&self) -> bool {
        self.first >= self.limit
    }
    /// Fills the members that describe the page.
    pub fn describe(&self, nb_hits: u64, results: &mut SearchResults) {
        results.nb_hits = nb_hits;
        results.page = self.number;
        results.hits_per_page = self.length;
        results.nb_pages = match self.length {
            0 => 0,
            length => nb_hits.min(self.limit).div_ceil(length),
        };
        results.window = self.is_window.then_some((self.first, self.length));
        if self.is_out_of_reach() {
            results.nb_pages = 0;
            results.message = Some(format!(
                "you can only fetch the {} hits for this query. You can extend the number of hits returned via the \
                 paginationLimitedTo index parameter or use the browse method. You can read our FAQ for more details \
                 about browsing: {BROWSE_URL}",
                self.limit
            ));
        }
    }
}
/// Where browsing is explained.
const BROWSE_URL: &str = "the user guide, chapter browse";
