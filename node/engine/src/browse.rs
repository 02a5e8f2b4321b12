//! How are all records of a shard read page by page, and which values or ids does a filter select?

use crate::bits;
use crate::clock::{Clock, Deadline};
use crate::configuration::Configuration;
use crate::facet::Listing;
use crate::facet::search::{Tags, matching_values};
use crate::index::{RankKeys, Segment, ShardView};
use crate::limits::SearchLimits;
use crate::matching::find::Prepared;
use crate::matching::paths;
use crate::query::plan::plan;
use crate::query::words::{Words, words_of};
use crate::query::{Plan, Word, strategy};
use crate::ranking::distinct;
use crate::ranking::relevant::RelevantSort;
use crate::ranking::top::Entry;
use crate::response::hits::{Rendered, Shown, render};
use crate::response::record::Selection;
use crate::rules;
use crate::rules::act::Promoted;
use crate::rules::promote::{Promotion, located};
use crate::scratch::Scratch;
use crate::search::{faceting_after_distinct, find, grouping, is_cut_by_typos, members_of, pairs, run};
use quorate_model::limits::HITS_PER_PAGE_MAX;
use quorate_model::params::{ForLanguages, Forced, QueryType, TypoTolerance};
use quorate_model::settings::Effective;
use quorate_model::{Error, FacetHits, Filter, Result, SearchParams, SearchResults, Settings};
use std::time::{Duration, Instant};

/// A deletion by filter looks at everything; it is bounded by the records, not by time.
const NO_DEADLINE: Duration = Duration::from_secs(24 * 3600);

/// One page of all matching records, in the order of the custom ranking.
///
/// `after` is the cursor of the page before: the rank bytes of its last record, which survive merges. Without one the
/// parameter `page` says where to start. A page has at most 1,000 hits. The last page has no cursor.
/// Source: C§8.8.
pub fn browse(
    view: &ShardView,
    configuration: &Configuration,
    request: &SearchParams,
    after: Option<&[u8]>,
    limits: &SearchLimits,
    scratch: &mut Scratch,
) -> Result<SearchResults> {
    let settings: &Settings = configuration.settings();
    let params = browsing(settings, request);
    let words = words_of(&configuration.schema, &configuration.synonyms, &params, &params.query);
    let mut plan = Plan {
        wants_set: true,
        limit: 0,
        deep: true,
        ..plan(view, settings, &params, words, limits.deadline.clone())?
    };
    paths::lay(view, &mut plan);
    let mut prepared = Prepared::new(view, settings, &params, (&plan, &plan.geo), scratch);
    let mut reading = plan.clone();
    let run = |plan: &mut Plan| prepared.run(plan, params.typo_tolerance, scratch);
    let (found, _) = find(&mut reading, &params, run);
    let (count, matched, is_cut) = (found.count, found.matched, found.count_cut);
    let length = page_length(&params, limits);
    let page = if after.is_some() { 0 } else { params.page };
    // nothing lies beyond the last record
    let skipped = page.saturating_mul(length).min(count);
    let (entries, more) = in_rank_order(view, &matched, after, skipped as usize, length as usize);
    let mut results = SearchResults {
        nb_hits: count,
        page,
        nb_pages: if length == 0 { 0 } else { count.div_ceil(length) },
        hits_per_page: length,
        query: request.query.clone().unwrap_or_default(),
        exhaustive_nb_hits: !is_cut,
        exhaustive_typo: (params.typo_tolerance != TypoTolerance::Off).then_some(!is_cut),
        order: Some(RankKeys::new(settings).order()),
        ..SearchResults::default()
    };
    let shown: Vec<Shown> = entries.into_iter().map(Shown::found).collect();
    let unranked = vec![vec![]; view.segments().len()];
    let visible = Selection::visible(settings, request, limits.sees_unretrievable);
    let rendered = render(
        view,
        settings,
        &params,
        limits,
        &visible,
        configuration.schema.analyzer(),
        &plan,
        &prepared,
        &unranked,
        &shown,
        scratch,
    );
    let (hits, more) = match rendered {
        Rendered::All(hits) => (hits, more),
        // the page ends early, and the next begins there
        Rendered::Cut(hits) => {
            let is_last = hits.len() == shown.len();
            (hits, more || !is_last)
        }
    };
    if more && let Some(last) = hits.len().checked_sub(1).map(|last| shown[last].entry) {
        results.cursor = Some(view.segments()[last.segment].rank(last.doc).to_vec());
    }
    results.hits = hits;
    Ok(results)
}
/// Records of a page.
fn page_length(params: &Effective, limits: &SearchLimits) -> u64 {
    let allowed = match limits.max_hits_per_query {
        0 => params.hits_per_page,
        cap => params.hits_per_page.min(cap),
    };
    allowed.min(HITS_PER_PAGE_MAX)
}
/// The parameters that a browse honours.
fn browsing(settings: &Settings, request: &SearchParams) -> Effective {
    let mut params = settings.effective(request);
    strategy::apply(&mut params);
    // the settings' page length is for searches
    params.hits_per_page = request.hits_per_page.unwrap_or(HITS_PER_PAGE_MAX);
    params.typo_tolerance = match params.typo_tolerance {
        TypoTolerance::Off => TypoTolerance::Off,
        TypoTolerance::On | TypoTolerance::Min | TypoTolerance::Strict => TypoTolerance::On,
    };
    params.advanced_syntax = false;
    params.attributes_to_highlight = Some(vec![]);
    params.attributes_to_snippet = vec![];
    params.distinct = 0;
    params.facets = vec![];
    params.get_ranking_info = false;
    params.ignore_plurals = ForLanguages::None;
    params.optional_filter = Filter::default();
    params
}
/// Of the documents of the sets that rank after the cursor, those behind the first `skipped`: `length` of them, and
/// whether more follow.
fn in_rank_order(
    view: &ShardView,
    matched: &[Vec<u64>],
    after: Option<&[u8]>,
    skipped: usize,
    length: usize,
) -> (Vec<Entry>, bool) {
    let end = skipped + length;
    let mut entries: Vec<Entry> = vec![];
    for (number, (segment, set)) in view.segments().iter().zip(matched).enumerate() {
        let start = after.map_or(0, |cursor| first_after(segment, cursor));
        let mut taken = 0;
        let from = start as usize >> 6;
        bits::each(&set[from.min(set.len())..], |doc| {
            let doc = doc + ((from as u32) << 6);
            if doc >= start {
                entries.push(Entry { segment: number, doc, key: 0 });
                taken += 1;
            }
            taken <= end
        });
    }
    let rank = |entry: &Entry| view.segments()[entry.segment].rank(entry.doc);
    entries.sort_by(|a, b| rank(a).cmp(rank(b)));
    let more = entries.len() > end;
    entries.truncate(end);
    entries.drain(..skipped.min(entries.len()));
    (entries, more)
}
/// The first document that ranks after the cursor.
fn first_after(segment: &Segment, cursor: &[u8]) -> u32 {
    let (mut low, mut high) = (0, segment.doc_count());
    while low < high {
        let middle = low + (high - low) / 2;
        if segment.rank(middle) <= cursor {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Values of a facet that contain what was typed, among the records that the parameters select.
///
/// Errors: `Invalid` when the attribute is not declared `searchable(…)`, or the values take more bytes than they may.
/// Source: C§8.3.
pub fn search_facet(
    view: &ShardView,
    configuration: &Configuration,
    facet: &str,
    facet_query: &str,
    request: &SearchParams,
    limits: &SearchLimits,
    scratch: &mut Scratch,
) -> Result<FacetHits> {
    let settings: &Settings = configuration.settings();
    let visible = Selection::visible(settings, request, limits.sees_unretrievable);
    let is_searchable = settings.index.attributes_for_faceting.get(facet).is_some_and(|a| a.searchable);
    // in the same words: whether there is what may not be seen is nobody's business
    if !is_searchable || !visible.shows(facet) {
        return Err(Error::invalid(format!(
            "Cannot search in `{facet}` attribute, you need to add `searchable({facet})` to attributesForFaceting."
        )));
    }
    let rules::Ruled { params: request, effects } =
        rules::act(view, &configuration.rules, settings, request, limits);
    let mut params = settings.effective(&request);
    strategy::apply(&mut params);
    let hidden = located(view, &effects.hidden);
    let words = words_of(&configuration.schema, &configuration.synonyms, &params, &params.query);
    // counts are those of the facets of a search
    let is_late = faceting_after_distinct(settings, &params, &[facet.to_owned()]);
    let kept = grouping(settings, &params).filter(|_| is_late).map(|grouping| Kept {
        grouping,
        promoted: &effects.promoted,
        forced: request.forced.as_deref(),
        order: configuration.relevant_sort.as_deref(),
    });
    let deadline = limits.deadline.clone();
    let (matched, cut) =
        matching_sets(view, settings, &params, words, hidden, kept.as_ref(), deadline, scratch)?;
    let typed = Effective {
        advanced_syntax: false,
        optional_words: vec![],
        similar_query: String::new(),
        query_type: QueryType::PrefixLast,
        ignore_plurals: ForLanguages::None,
        remove_stop_words: ForLanguages::None,
        synonyms: false,
        ..params.clone()
    };
    let words: Vec<Word> =
        words_of(&configuration.schema, &configuration.synonyms, &typed, facet_query).wanted;
    let tags = Tags { pre: &params.highlight_pre_tag, post: &params.highlight_post_tag };
    let listing = Listing { sort: params.sort_facet_values_by, limit: params.max_facet_hits as usize };
    let found = matching_values(
        settings,
        &pairs(view, &matched),
        facet,
        configuration.schema.analyzer(),
        &words,
        listing,
        &tags,
        limits,
    )?;
    Ok(FacetHits { exhaustive: found.exhaustive && !cut, ..found })
}
/// What decides which of the matching documents distinct keeps, beside the parameters.
struct Kept<'a> {
    /// The attribute of distinct, and how many it keeps.
    grouping: (&'a str, usize),
    promoted: &'a [Promoted],
    forced: Option<&'a Forced>,
    /// The second order of a virtual replica.
    order: Option<&'a RelevantSort>,
}
/// The documents of each segment that the parameters select, of which distinct has left those that are `kept`, and whether time
/// ran out.
#[allow(clippy::too_many_arguments)]
fn matching_sets(
    view: &ShardView,
    settings: &Settings,
    params: &Effective,
    words: Words,
    hidden: Vec<(usize, u32)>,
    kept: Option<&Kept<'_>>,
    deadline: Deadline,
    scratch: &mut Scratch,
) -> Result<(Vec<Vec<u64>>, bool)> {
    let plan = plan(view, settings, params, words, deadline.clone())?;
    // hits are counted as a search counts them, so that the values agree with its facets
    let limit = if is_cut_by_typos(params) || kept.is_some() { usize::MAX } else { 0 };
    let budget = (plan.budget / view.segments().len().max(1) as u64).max(1);
    let mut plan = Plan { wants_set: true, limit, budget, hidden, ..plan };
    paths::lay(view, &mut plan);
    let fixed = plan.clone();
    let mut prepared = Prepared::new(view, settings, params, (&fixed, &fixed.geo), scratch);
    let (mut found, _) = find(&mut plan, params, |plan| run(&mut prepared, plan, params, scratch));
    let Some(Kept { grouping: (attribute, most), promoted, forced, order }) = kept else {
        return Ok((found.matched, found.count_cut));
    };
    let promotion = Promotion::new(view, settings, promoted, prepared.allows(), *forced);
    if let Some(order) = order {
        order.apply(view, &plan.layout, params, &mut found.entries, &deadline);
    }
    let mut clock = Clock::new(&deadline);
    let groups = distinct::groups(view, &promotion.before(&found.entries), attribute, *most, &mut clock);
    Ok((members_of(view, &groups, &found.matched), found.count_cut || clock.rang()))
}
/// The ids of the records that filters and places select, in the order of the custom ranking of each segment.
///
/// Everything else in the parameters is ignored (C§3.5 deleteByQuery).
pub fn matching_ids(view: &ShardView, settings: &Settings, request: &SearchParams) -> Result<Vec<String>> {
    let selecting = SearchParams {
        filter: request.filter.clone(),
        around_lat_lng: request.around_lat_lng,
        around_radius: request.around_radius,
        minimum_around_radius: request.minimum_around_radius,
        inside_bounding_box: request.inside_bounding_box.clone(),
        inside_polygon: request.inside_polygon.clone(),
        query: Some(String::new()),
        ..SearchParams::default()
    };
    let params = settings.effective(&selecting);
    let deadline = Deadline::from(Instant::now() + NO_DEADLINE);
    let mut scratch = Scratch::new();
    let nothing = Words::default();
    let (matched, _) = matching_sets(view, settings, &params, nothing, vec![], None, deadline, &mut scratch)?;
    let mut ids = vec![];
    for (segment, set) in view.segments().iter().zip(&matched) {
        bits::each(set, |doc| {
            ids.push(segment.object_id(doc).to_string());
            true
        });
    }
    Ok(ids)
}
