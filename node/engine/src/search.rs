//! What does a query on one shard answer?
//!
//! Hot path: the budget is 100 µs of processor time at the median for a whole search with 20 rendered and highlighted hits
//! on 64,000 long records. Of it, showing long attributes costs more than finding the hits.

use crate::analysis::as_written;
use crate::bits;
use crate::clock::Clock;
use crate::configuration::Configuration;
use crate::facet::matched::Matched;
use crate::facet::selection::{Others, Selection};
use crate::facet::{self, Bytes, Listing};
use crate::index::ShardView;
use crate::limits::SearchLimits;
use crate::matching::find::{Prepared, QueryMatches, sets_of};
use crate::matching::growth::Growth;
use crate::matching::paths;
use crate::page::Page;
use crate::query::plan::plan;
use crate::query::words::words_of;
use crate::query::{Plan, Word, explain, strategy};
use crate::ranking::distinct;
use crate::ranking::top::Entry;
use crate::response::hits::{Rendered, Shown, render};
use crate::response::record;
use crate::rules;
use crate::rules::promote::{Promotion, located};
use crate::scratch::Scratch;
use quorate_model::limits::PAGINATION_LIMIT_MAX;
use quorate_model::params::{RemoveWords, TypoTolerance};
use quorate_model::results::FacetCounts;
use quorate_model::settings::Effective;
use quorate_model::{Error, Result, SearchParams, SearchResults, Settings};

/// Documents whose values of a facet are counted in the time of ranking one.
const COUNTED_PER_UNIT: u32 = 16;
/// Words that removeWordsIfNoResults makes optional at most (C§4.6).
const REMOVED_WORDS_MAX: usize = 5;

/// Runs one query on a shard.
///
/// Errors: `Invalid` when restrictSearchableAttributes names an attribute that is not searchable.
/// Source: C§4–C§9; the order of the steps is C§8.6.
pub fn search(
    view: &ShardView,
    configuration: &Configuration,
    request: &SearchParams,
    limits: &SearchLimits,
    scratch: &mut Scratch,
) -> Result<SearchResults> {
    let settings: &Settings = configuration.settings();
    let rules::Ruled { params: request_after_rules, effects } =
        rules::act(view, &configuration.rules, settings, request, limits);
    let mut params = settings.effective(&request_after_rules);
    strategy::apply(&mut params);
    let words = words_of(&configuration.schema, &configuration.synonyms, &params, &params.query);
    let mut plan = plan(view, settings, &params, words, limits.deadline.clone())?;
    let page = Page::new(settings, &params, limits);
    let mut results = SearchResults { exhaustive_nb_hits: true, ..SearchResults::default() };
    results.query = request.query.clone().unwrap_or_default();
    results.rules = effects.results;
    if page.is_out_of_reach() {
        page.describe(0, &mut results);
        results.exhaustive_typo = (params.typo_tolerance != TypoTolerance::Off).then_some(true);
        return Ok(results);
    }
    let visible = record::Selection::visible(settings, &request_after_rules, limits.sees_unretrievable);
    let mut facets = facet::requested(&settings.index, &params.facets);
    facets.retain(|path| visible.shows(path));
    let grouping = grouping(settings, &params);
    plan.wants_set = !facets.is_empty();
    let second_order = configuration.relevant_sort.as_deref();
    plan.limit = needed(&page, &params, grouping.is_some() || second_order.is_some());
    plan.budget = (plan.budget / view.segments().len().max(1) as u64).max(1);
    plan.hidden = located(view, &effects.hidden);
    let geo = plan.geo.clone();
    paths::lay(view, &mut plan);
    let mut prepared = Prepared::new(view, settings, &params, (&plan, &geo), scratch);
    let forced = request_after_rules.forced.as_deref();
    let promotion = Promotion::new(view, settings, &effects.promoted, prepared.allows(), forced);
    plan.wants_set |= !promotion.is_empty();
    plan.limit = plan.limit.saturating_add(promotion.len());
    let (mut found, removed) = find(&mut plan, &params, |plan| run(&mut prepared, plan, &params, scratch));
    let matched = std::mem::take(&mut found.matched);
    let mut grouping_clock = Clock::new(&limits.deadline);
    let all_hits = second_order.map(|order| {
        let all = count(view, &found, &matched, grouping, &promotion, &mut grouping_clock);
        order.apply(view, &plan.layout, &params, &mut found.entries, &limits.deadline);
        found.count = found.entries.len() as u64;
        all
    });
    // what a second order has cut away counts again when it is promoted
    let sorted = (all_hits.is_some() && !promotion.is_empty()).then(|| sets_of(view, &found.entries));
    let counted = sorted.as_deref().unwrap_or(&matched);
    let Listed { shown, nb_hits, groups } =
        listed(view, &found, counted, &page, grouping, &promotion, &mut grouping_clock);
    found.count_cut |= grouping_clock.rang();
    let late = groups.filter(|_| faceting_after_distinct(settings, &params, &facets));
    let after_distinct = late.map(|groups| members_of(view, &groups, &matched));
    let mut clock = Clock::new(&limits.deadline);
    let after = after_distinct.as_deref();
    let selection = Selection::new(&settings.index, &params.filter, others_of(&plan, &found));
    results.facets = (!params.facets.is_empty())
        .then(|| {
            let bytes = Bytes::new(limits.bytes_max);
            count_facets(view, settings, &params, &facets, &matched, &selection, after, bytes, &mut clock)
        })
        .transpose()?;
    results.facets_cut = clock.rang();
    matched.into_iter().for_each(|set| scratch.give(set));
    page.describe(nb_hits, &mut results);
    if let Some(all) = all_hits {
        results.nb_hits = all;
        results.relevant_sort = Some((nb_hits, params.relevancy_strictness));
    }
    results.exhaustive_nb_hits = !found.count_cut;
    let skipped = !plan.deep && plan.words.iter().any(|word| word.edits > 1);
    results.exhaustive_typo = (params.typo_tolerance != TypoTolerance::Off)
        .then_some(!skipped && !found.order_cut && !found.count_cut);
    results.automatic_radius = prepared.automatic_radius;
    results.around_lat_lng = plan.geo.centre.map(|centre| format!("{},{}", centre.lat, centre.lng));
    results.query_after_removal = removed;
    let words = plan.words.iter().chain(plan.beyond.iter().flatten());
    results.parsed_query = params.get_ranking_info.then(|| explain::texts(words).join(" "));
    results.alternatives = explain::is_asked_for(&params.explain).then(|| {
        explain::alternatives(view, &plan, &found.query_terms, visible.shows_searched(&settings.index))
    });
    let rendered = render(
        view,
        settings,
        &params,
        limits,
        &visible,
        configuration.schema.analyzer(),
        &plan,
        &prepared,
        &found.query_terms,
        &shown,
        scratch,
    );
    prepared.end(scratch);
    match rendered {
        Rendered::All(hits) => Ok(SearchResults { hits, ..results }),
        Rendered::Cut(_) => Err(too_big(limits.bytes_max)),
    }
}
/// What a caller is told whose hits take more bytes than an answer may.
pub(crate) fn too_big(bytes_max: usize) -> Error {
    Error::invalid(format!(
        "The answer is too big: its hits may take {bytes_max} bytes. Ask for fewer of them with hitsPerPage, for fewer attributes with \
         attributesToRetrieve, attributesToHighlight and attributesToSnippet, or for shorter tags"
    ))
}
/// The attribute whose values may appear only so often, and how often.
pub(crate) fn grouping<'a>(settings: &'a Settings, params: &Effective) -> Option<(&'a str, usize)> {
    let attribute = settings.index.attribute_for_distinct.as_deref()?;
    let most = params.distinct;
    (most > 0).then_some((attribute, usize::from(most)))
}
/// How many hits there are with those that are promoted, with distinct how many groups.
fn count(
    view: &ShardView,
    found: &QueryMatches,
    matched: &[Vec<u64>],
    grouping: Option<(&str, usize)>,
    promotion: &Promotion,
    clock: &mut Clock,
) -> u64 {
    match grouping {
        Some((attribute, most)) => {
            let entries = promotion.before(&found.entries);
            distinct::groups(view, &entries, attribute, most, clock).len() as u64
        }
        None if promotion.is_empty() => found.count,
        None => found.count + promotion.beside(matched),
    }
}
/// Whether hits with more typos than the best are left out (C§4.5).
pub(crate) fn is_cut_by_typos(params: &Effective) -> bool {
    matches!(params.typo_tolerance, TypoTolerance::Min | TypoTolerance::Strict)
}
/// How many of the best documents each segment must name.
fn needed(page: &Page, params: &Effective, grouped: bool) -> usize {
    if grouped || is_cut_by_typos(params) { usize::MAX } else { page.end.min(PAGINATION_LIMIT_MAX) as usize }
}
/// Runs the plan until it finds something or no more words can be given up (C§4.6 removeWordsIfNoResults).
pub(crate) fn find(
    plan: &mut Plan,
    params: &Effective,
    mut run: impl FnMut(&mut Plan) -> QueryMatches,
) -> (QueryMatches, Option<String>) {
    let mut found = run(plan);
    let words = plan.words.len();
    let mode = params.remove_words_if_no_results;
    let order: Vec<usize> = match mode {
        RemoveWords::None => vec![],
        RemoveWords::LastWords => (1..words).rev().collect(),
        RemoveWords::FirstWords => (0..words.saturating_sub(1)).collect(),
        RemoveWords::AllOptional if words > 1 && found.count == 0 => {
            plan.words.iter_mut().for_each(|word| word.optional = true);
            plan.beyond.clear();
            return (run(plan), None);
        }
        RemoveWords::AllOptional => vec![],
    };
    let mut last = vec![];
    while mode == RemoveWords::LastWords && last.len() < REMOVED_WORDS_MAX {
        if found.count > 0 || found.count_cut {
            break;
        }
        let Some(word) = plan.beyond.last_mut().and_then(Vec::pop) else { break };
        plan.beyond.retain(|phrase| !phrase.is_empty());
        last.push(word.text);
        found = run(plan);
    }
    let mut removed = vec![];
    for word in order.into_iter().take(REMOVED_WORDS_MAX - last.len()) {
        if found.count > 0 || found.count_cut {
            break;
        }
        plan.words[word].optional = true;
        removed.push(word);
        found = run(plan);
    }
    let marked = |(i, word): (usize, &Word)| match removed.contains(&i) {
        true => format!("<em>{}</em>", as_written(&word.text)),
        false => as_written(&word.text).into_owned(),
    };
    let text = (removed.len() + last.len() > 0 && found.count > 0).then(|| {
        let beyond = plan.beyond.iter().flatten().map(|word| as_written(&word.text).into_owned());
        let last = last.iter().rev().map(|text| format!("<em>{}</em>", as_written(text)));
        let words = plan.words.iter().enumerate().map(marked).chain(beyond).chain(last);
        words.collect::<Vec<_>>().join(" ")
    });
    (found, text)
}
/// With fewer hits than these the wider walk for typos is worth it: a usual page would stay short. The page that is asked for does not
/// matter, or counts would change from page to page.
const FEW: u64 = 20;
/// Runs the plan, and when it finds few once more with a wider walk for typos.
pub(crate) fn run(
    prepared: &mut Prepared<'_>,
    plan: &mut Plan,
    params: &Effective,
    scratch: &mut Scratch,
) -> QueryMatches {
    plan.deep = false;
    let found = prepared.run(plan, params.typo_tolerance, scratch);
    if found.count_cut {
        return found;
    }
    match prepared.require_more_words(plan, &found, scratch) {
        Growth::None => {}
        Growth::Some => return prepared.run(plan, params.typo_tolerance, scratch),
        Growth::Late => return QueryMatches { count_cut: true, ..found },
    }
    if found.count >= FEW || plan.words.iter().all(|word| word.edits < 2) {
        return found;
    }
    plan.deep = true;
    if prepared.has_the_terms_of(plan, &found) {
        return found;
    }
    prepared.run(plan, params.typo_tolerance, scratch)
}
fn page_of<'a, T>(all: &'a [T], page: &Page) -> &'a [T] {
    let end = (page.end as usize).min(all.len());
    all.get(page.first as usize..end).unwrap_or_default()
}
/// The hits of a page.
struct Listed {
    shown: Vec<Shown>,
    nb_hits: u64,
    /// All groups, with distinct.
    groups: Option<Vec<distinct::Group>>,
}
/// Groups what was found, puts promoted records at their places and cuts the page out.
fn listed(
    view: &ShardView,
    found: &QueryMatches,
    matched: &[Vec<u64>],
    page: &Page,
    grouping: Option<(&str, usize)>,
    promotion: &Promotion,
    clock: &mut Clock,
) -> Listed {
    let entries = promotion.before(&found.entries);
    let Some((attribute, most)) = grouping else {
        if promotion.is_empty() {
            let shown = shown(page_of(&entries, page), promotion);
            return Listed { shown, nb_hits: found.count, groups: None };
        }
        let entries = promotion.arrange(entries.into_owned(), |entry| *entry);
        let nb_hits = found.count + promotion.beside(matched);
        return Listed { shown: shown(page_of(&entries, page), promotion), nb_hits, groups: None };
    };
    let groups = distinct::groups(view, &entries, attribute, most, clock);
    let groups = promotion.arrange(groups, |group| group.members[0]);
    let (shown, nb_hits) = (grouped_page(&groups, page, promotion), groups.len() as u64);
    Listed { shown, nb_hits, groups: Some(groups) }
}
/// The matching documents that distinct leaves, one set for each segment.
pub(crate) fn members_of(
    view: &ShardView,
    groups: &[distinct::Group],
    matched: &[Vec<u64>],
) -> Vec<Vec<u64>> {
    let kept: Vec<Entry> = groups.iter().flat_map(|group| group.members.clone()).collect();
    let mut sets = sets_of(view, &kept);
    // promoted records may be members without matching
    sets.iter_mut().zip(matched).for_each(|(set, matched)| bits::and(set, matched));
    sets
}
fn shown(entries: &[Entry], promotion: &Promotion) -> Vec<Shown> {
    let shown = |&entry: &Entry| Shown { promoted: promotion.contains(&entry), ..Shown::found(entry) };
    entries.iter().map(shown).collect()
}
fn grouped_page(groups: &[distinct::Group], page: &Page, promotion: &Promotion) -> Vec<Shown> {
    let (mut shown, groups) = (vec![], page_of(groups, page));
    // every group of the page shows its best, or none would be on any page
    let mut others = usize::try_from(page.shown_max).unwrap_or(usize::MAX).saturating_sub(groups.len());
    for group in groups {
        let most = 1 + others.min(group.members.len().saturating_sub(1));
        others -= most - 1;
        for (number, &entry) in group.members.iter().take(most).enumerate() {
            let promoted = promotion.contains(&entry);
            shown.push(Shown { sequence: Some(number as u32), promoted, ..Shown::found(entry) });
        }
    }
    shown
}
/// Whether some facet is counted over what distinct leaves (C§8.1).
pub(crate) fn faceting_after_distinct(settings: &Settings, params: &Effective, facets: &[String]) -> bool {
    all_after_distinct(params) || facets.iter().any(|path| is_after_distinct(settings, path))
}
fn is_after_distinct(settings: &Settings, path: &str) -> bool {
    settings.index.attributes_for_faceting.get(path).is_some_and(|facet| facet.after_distinct)
}
/// `facetingAfterDistinct`, which `min` and `strict` switch off (C§4.3).
fn all_after_distinct(params: &Effective) -> bool {
    params.faceting_after_distinct && !is_cut_by_typos(params)
}
/// Whether anything but the filter selects what matches.
fn others_of(plan: &Plan, found: &QueryMatches) -> Others {
    let geo = &plan.geo;
    let no_places = geo.centre.is_none() && geo.boxes.is_empty() && geo.polygons.is_empty();
    let no_words = plan.words.is_empty() && plan.beyond.is_empty() && plan.excluded.is_empty();
    let nothing = no_words && plan.hidden.is_empty() && no_places;
    if nothing && !found.count_cut { Others::None } else { Others::Some }
}
#[allow(clippy::too_many_arguments)]
fn count_facets(
    view: &ShardView,
    settings: &Settings,
    params: &Effective,
    facets: &[String],
    matched: &[Vec<u64>],
    selection: &Selection<'_>,
    after_distinct: Option<&[Vec<u64>]>,
    mut bytes: Bytes,
    clock: &mut Clock,
) -> Result<Vec<FacetCounts>> {
    let listing = Listing::of(params);
    let pair = |sets| pairs(view, sets);
    let (before, after) = (pair(matched), after_distinct.map(pair));
    let all_after = all_after_distinct(params);
    let documents: u32 = view.segments().iter().map(|segment| segment.doc_count()).sum();
    let mut counted = vec![];
    for path in facets {
        if clock.spend(documents / COUNTED_PER_UNIT + 1) {
            break;
        }
        let late = all_after || is_after_distinct(settings, path);
        counted.extend(match &after {
            Some(after) if late => {
                facet::count(after, &Selection::unknown(), path, listing, &mut bytes, clock)?
            }
            Some(_) | None => facet::count(&before, selection, path, listing, &mut bytes, clock)?,
        });
    }
    Ok(counted)
}
/// Every segment with its set.
pub(crate) fn pairs<'a>(view: &'a ShardView, sets: &'a [Vec<u64>]) -> Vec<Matched<'a>> {
    view.segments().iter().zip(sets).map(|(segment, set)| Matched::new(segment, set)).collect()
}
