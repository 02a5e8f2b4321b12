//! What are the suggestions of a configuration, step by step?

use super::generate::{combined, has_no_values, values_of};
use super::log::{BuildLog, Level};
use super::pace::Pace;
use futures_util::StreamExt as _;
use quorate_model::suggestions::{PluralLanguages, SuggestionSource};
use quorate_model::{Error, ErrorKind, IndexName, Result, SuggestionConfig};
use quorate_node::SharedDictionaries;
use quorate_node::suggestions::candidates::CANDIDATES_MAX;
use quorate_node::suggestions::{
    Candidate, Candidates, Exclusions, FacetCounts, FilteredBy, Finds, Folded, Judged, Suggestion, fold,
    fold_plurals, normalised, of_source,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Searches of a build at a time.
const AT_ONCE: usize = 2;
/// Bytes of facet values that a build holds.
const FACET_BYTES_MAX: usize = 64 << 20;

/// How a query is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As it stands.
    Exact,
    /// With its last word as the beginning of one.
    AsPrefix,
    /// With typos.
    Corrected,
}

/// What a search finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundRecords {
    /// Records.
    pub hits: u64,
    /// The most frequent values of the facets that were asked for, and how many records have each.
    pub facets: Vec<FacetCounts>,
}

/// A record of an external index, or why it has no query.
pub type External = std::result::Result<(String, u64), String>;

/// Where a build reads. Errors: `NotFound` for an index that is not there, `Unavailable` when it is to be tried again.
pub trait Sources: Sync {
    /// The indices whose searches a source counts: its own, and the replicas of that if it says so.
    fn counted(&self, source: &SuggestionSource) -> Vec<IndexName>;
    /// The queries with one of the tags, if there are any, that most users asked of an index, and how many did.
    fn popular(
        &self,
        index: &IndexName,
        tags: &[String],
    ) -> impl Future<Output = Result<Vec<(String, u64)>>> + Send;
    /// The values of its facets that searches of an index filtered by.
    fn filtered(&self, source: &SuggestionSource) -> impl Future<Output = Result<Vec<FilteredBy>>> + Send;
    /// The records of an external index.
    fn external(&self, index: &IndexName) -> impl Future<Output = Result<Vec<External>>> + Send;
    /// What an index finds for a query, with at most so many values of each of the facets.
    fn find(
        &self,
        index: &IndexName,
        query: &str,
        how: How,
        facets: &[(String, u32)],
    ) -> impl Future<Output = Result<FoundRecords>> + Send;
}

/// All suggestions, the most popular first. Errors: what is no matter of a single source; `NotFound`, no source index is there.
pub async fn suggestions<S: Sources>(
    sources: &S,
    config: &Arc<SuggestionConfig>,
    dictionaries: SharedDictionaries,
    log: &mut BuildLog,
) -> Result<Vec<Suggestion>> {
    let exclusions = Exclusions::new(&config.exclude).map_err(|what| Error::parameter("exclude", &what))?;
    let mut merged = Merged { room: CANDIDATES_MAX, ..Merged::default() };
    let mut missing = 0;
    for source in &config.source_indices {
        log.add(Level::Info, 0, &format!("source index {}", source.index_name));
        match of_index(sources, config, source, &exclusions, &mut merged, log).await {
            Ok(()) => {}
            Err(error) if matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Internal) => {
                return Err(error);
            }
            Err(error) => {
                missing += usize::from(error.kind == ErrorKind::NotFound);
                log.add(Level::Error, 1, &format!("{}: {error}", source.index_name));
            }
        }
    }
    if missing == config.source_indices.len() {
        return Err(Error::not_found("none of the source indices exists: the suggestions stay as they are"));
    }
    let mut all: Vec<Suggestion> = merged.by_text.into_values().collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.popularity));
    if ![PluralLanguages::All(false), PluralLanguages::Listed(vec![])].contains(&config.languages) {
        all = without_plurals(all, config.clone(), dictionaries, log).await?;
    }
    log.add(Level::Info, 0, &format!("{} suggestions", all.len()));
    Ok(all)
}

/// The suggestions of the sources so far.
#[derive(Default)]
struct Merged {
    /// Candidates that may still be looked at.
    room: usize,
    facet_bytes: usize,
    by_text: BTreeMap<String, Suggestion>,
    /// Whose users are counted, with which tags, in order.
    users: BTreeSet<(IndexName, BTreeSet<String>)>,
    /// The external indices that are counted, by their source index.
    external: BTreeSet<(IndexName, IndexName)>,
}

impl Merged {
    fn add(
        &mut self,
        index: &IndexName,
        candidate: Candidate,
        hits: u64,
        facets: Vec<FacetCounts>,
        filtered: &[FacetCounts],
    ) {
        let suggestion = self
            .by_text
            .entry(candidate.text.clone())
            .or_insert_with(|| Suggestion { text: candidate.text, ..Suggestion::default() });
        suggestion.popularity = suggestion.popularity.saturating_add(candidate.popularity);
        let said = of_source(hits, &facets, filtered);
        match suggestion.sources.iter_mut().find(|(known, _)| known == index.as_str()) {
            Some((_, known)) => add_facets(known, said),
            None => suggestion.sources.push((index.as_str().to_owned(), said)),
        }
        for (attribute, values) in facets {
            let values = values.into_iter().map(|(value, _)| value);
            match suggestion.facets.iter_mut().find(|(known, _)| *known == attribute) {
                Some((_, known)) => {
                    let new: Vec<String> = values.filter(|value| !known.contains(value)).collect();
                    known.extend(new);
                }
                None => suggestion.facets.push((attribute, values.collect())),
            }
        }
    }
}

/// Adds what a second source of the same index says of facets of its own.
fn add_facets(known: &mut Value, said: Value) {
    for kind in ["exact_matches", "analytics"] {
        if let (Some(Value::Object(known)), Some(Value::Object(more))) =
            (known.pointer_mut(&format!("/facets/{kind}")), said.pointer(&format!("/facets/{kind}")))
        {
            for (attribute, values) in more {
                known.entry(attribute.clone()).or_insert_with(|| values.clone());
            }
        }
    }
}

async fn of_index<S: Sources>(
    sources: &S,
    config: &SuggestionConfig,
    source: &SuggestionSource,
    exclusions: &Exclusions,
    merged: &mut Merged,
    log: &mut BuildLog,
) -> Result<()> {
    let index = &source.index_name;
    let mut candidates = Candidates::new(config.allow_special_characters, source.min_letters, exclusions);
    // whether it is there is known before anything is counted
    let wanted: Vec<(String, u32)> = source.facets.iter().map(|facet| (facet.attribute.clone(), 1)).collect();
    let found = sources.find(index, "", How::Exact, &wanted).await?;
    for (attribute, _) in &wanted {
        if values_of(&found.facets, attribute).is_empty() {
            has_no_values(attribute, index, log);
        }
    }
    let tags: BTreeSet<String> = source.analytics_tags.iter().cloned().collect();
    for counted in sources.counted(source) {
        if !merged.users.insert((counted.clone(), tags.clone())) {
            let told = format!("the users of {counted} with these tags are counted already: they count once");
            log.add(Level::Skip, 1, &told);
            continue;
        }
        for (query, users) in sources.popular(&counted, &source.analytics_tags).await? {
            add(&mut candidates, &query, users, log);
        }
    }
    for external in &source.external {
        if !merged.external.insert((index.clone(), external.clone())) {
            let told = format!("the external index {external} is counted already: it counts once");
            log.add(Level::Skip, 1, &told);
            continue;
        }
        from_external(sources, external, &mut candidates, log).await?;
    }
    for attributes in &source.generate {
        for query in combined(sources, index, attributes, log).await? {
            add(&mut candidates, &query, 0, log);
        }
    }
    let (candidates, left_out) = candidates.most_popular(merged.room);
    merged.room -= candidates.len();
    if left_out > 0 {
        log.add(Level::Info, 1, &format!("{left_out} less popular queries are left out"));
    }
    let (judged, mut facets) = judge(sources, source, candidates, merged, log).await?;
    let (judged, folded) = folded(judged, source.min_hits).await?;
    for (query, why) in &folded.skipped {
        log.add(Level::Skip, 1, &format!("skipping query \"{query}\": {why}"));
    }
    log.add(Level::Info, 1, &format!("{} queries of {index} are suggestions", folded.kept.len()));
    let filtered = filtered(sources, source, config.allow_special_characters, log).await;
    for (place, candidate) in folded.kept {
        if let Finds::Enough(hits) = judged[place].finds {
            let facets = std::mem::take(&mut facets[place]);
            let filtered = filtered.get(&candidate.text).map_or(&[][..], |filtered| filtered);
            merged.add(index, candidate, hits, facets, filtered);
        }
    }
    Ok(())
}

fn add(candidates: &mut Candidates<'_>, query: &str, count: u64, log: &mut BuildLog) {
    if let Err(why) = candidates.add(query, count) {
        log.add(Level::Skip, 1, &format!("skipping query \"{query}\": {why}"));
    }
}

async fn from_external<S: Sources>(
    sources: &S,
    index: &IndexName,
    candidates: &mut Candidates<'_>,
    log: &mut BuildLog,
) -> Result<()> {
    let records = match sources.external(index).await {
        Ok(records) => records,
        Err(error) if error.kind == ErrorKind::NotFound => {
            log.add(Level::Error, 1, &format!("external index {index}: {error}"));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    log.add(Level::Info, 1, &format!("{} records of the external index {index}", records.len()));
    let (counted, wrong): (Vec<External>, Vec<External>) = records.into_iter().partition(External::is_ok);
    // what is deeper belongs to the line before it
    for why in wrong.into_iter().filter_map(External::err) {
        log.add(Level::Skip, 2, &format!("skipping a record of {index}: {why}"));
    }
    for (query, count) in counted.into_iter().flatten() {
        add(candidates, &query, count, log);
    }
    Ok(())
}

/// For each query, as a suggestion has it, the values that its searches filtered by most, of each facet as many as the source has.
async fn filtered<S: Sources>(
    sources: &S,
    source: &SuggestionSource,
    allows_special: bool,
    log: &mut BuildLog,
) -> BTreeMap<String, Vec<FacetCounts>> {
    let found = match &source.facets[..] {
        [] => Ok(vec![]),
        _ => sources.filtered(source).await,
    };
    let found = found.unwrap_or_else(|error| {
        // an older node may be asked, or none be there for the moment: suggestions are whole without them
        log.add(Level::Info, 1, &format!("no values that searches filtered by: {error}"));
        vec![]
    });
    let mut counts: BTreeMap<(String, String), BTreeMap<String, u64>> = BTreeMap::new();
    for FilteredBy { query, attribute, value, count } in found {
        if let Ok(text) = normalised(&query, allows_special) {
            *counts.entry((text, attribute)).or_default().entry(value).or_default() += count;
        }
    }
    let mut all: BTreeMap<String, Vec<FacetCounts>> = BTreeMap::new();
    for ((text, attribute), values) in counts {
        let mut values: Vec<(String, u64)> = values.into_iter().collect();
        values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let amount = source.facets.iter().find(|facet| facet.attribute == attribute);
        values.truncate(amount.map_or(0, |facet| facet.amount as usize));
        all.entry(text).or_default().push((attribute, values));
    }
    all
}

/// Asks the source what it finds for each candidate; facets of those that are enough.
async fn judge<S: Sources>(
    sources: &S,
    source: &SuggestionSource,
    candidates: Vec<Candidate>,
    merged: &mut Merged,
    log: &mut BuildLog,
) -> Result<(Vec<Judged>, Vec<Vec<FacetCounts>>)> {
    let wanted: Vec<(String, u32)> =
        source.facets.iter().map(|facet| (facet.attribute.clone(), facet.amount)).collect();
    let asked = candidates.into_iter().map(|candidate| {
        let wanted = &wanted;
        async move {
            let found = finds(sources, source, &candidate.text, wanted).await;
            (candidate, found)
        }
    });
    let mut asked = futures_util::stream::iter(asked).buffered(AT_ONCE);
    let (mut judged, mut facets, mut pace) = (Vec::new(), Vec::new(), Pace::begin());
    while let Some((candidate, found)) = asked.next().await {
        match found {
            Ok((finds, values)) => {
                let bytes = |(_, values): &(String, Vec<(String, u64)>)| {
                    values.iter().map(|(value, _)| 64 + 2 * value.len()).sum::<usize>()
                };
                merged.facet_bytes += values.iter().map(bytes).sum::<usize>();
                let has_room = merged.facet_bytes <= FACET_BYTES_MAX;
                facets.push(if has_room { values } else { vec![] });
                judged.push(Judged { candidate, finds });
            }
            Err(error) if error.kind == ErrorKind::Invalid => {
                log.add(Level::Skip, 1, &format!("skipping query \"{}\": {error}", candidate.text));
            }
            Err(error) => return Err(error),
        }
        pace.keep().await;
    }
    if merged.facet_bytes > FACET_BYTES_MAX {
        log.add(Level::Info, 1, "some suggestions have no facets: there are too many values");
    }
    Ok((judged, facets))
}

async fn finds<S: Sources>(
    sources: &S,
    source: &SuggestionSource,
    query: &str,
    facets: &[(String, u32)],
) -> Result<(Finds, Vec<FacetCounts>)> {
    let (index, enough) = (&source.index_name, u64::from(source.min_hits));
    let exact = sources.find(index, query, How::Exact, facets).await?;
    if exact.hits >= enough {
        return Ok((Finds::Enough(exact.hits), exact.facets));
    }
    let finds = if sources.find(index, query, How::AsPrefix, &[]).await?.hits >= enough {
        Finds::AsPrefix(exact.hits)
    } else if sources.find(index, query, How::Corrected, &[]).await?.hits >= enough {
        Finds::Corrected(exact.hits)
    } else {
        Finds::TooFew(exact.hits)
    };
    Ok((finds, vec![]))
}

/// Says to work elsewhere that nobody waits for it.
struct GivenUp(Arc<AtomicBool>);
impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn folded(judged: Vec<Judged>, min_hits: u32) -> Result<(Vec<Judged>, Folded)> {
    let flag = Arc::new(AtomicBool::new(false));
    let _given_up = GivenUp(flag.clone());
    let work = tokio::task::spawn_blocking(move || {
        fold(&judged, min_hits, || flag.load(Ordering::Relaxed)).map(|folded| (judged, folded))
    });
    work.await.ok().flatten().ok_or_else(|| Error::internal("putting queries together broke off"))
}

async fn without_plurals(
    all: Vec<Suggestion>,
    config: Arc<SuggestionConfig>,
    dictionaries: SharedDictionaries,
    log: &mut BuildLog,
) -> Result<Vec<Suggestion>> {
    let work = tokio::task::spawn_blocking(move || {
        let candidate = |it: &Suggestion| Candidate { text: it.text.clone(), popularity: it.popularity };
        let candidates: Vec<Candidate> = all.iter().map(candidate).collect();
        let codes = match &config.languages {
            PluralLanguages::All(_) => &[][..],
            PluralLanguages::Listed(codes) => codes,
        };
        let folded = fold_plurals(&candidates, |word| dictionaries.forms(word, codes));
        (all, folded)
    });
    let (mut all, folded) = work.await.map_err(|_| Error::internal("looking for plural forms broke off"))?;
    for (query, why) in &folded.skipped {
        log.add(Level::Skip, 0, &format!("skipping query \"{query}\": {why}"));
    }
    let kept = folded.kept.into_iter().map(|(place, candidate)| Suggestion {
        popularity: candidate.popularity,
        ..std::mem::take(&mut all[place])
    });
    Ok(kept.collect())
}
