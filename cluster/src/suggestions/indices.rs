//! What do the source indices of a build have: queries, records, values of facets?

use super::build::{External, FoundRecords, How, Sources};
use crate::clock::unix_ms;
use crate::context::NodeContext;
use crate::read::call::{Location, ReadCall, ask};
use crate::read::filtered::FilteredQueries;
use crate::read::popular::PopularQueries;
use crate::read::remote;
use crate::read::search::{Browse, Search};
use crate::types::ReadRights;
use quorate_model::params::{FacetSort, QueryType, RemoveWords, TypoTolerance};
use quorate_model::suggestions::SuggestionSource;
use quorate_model::{ErrorKind, IndexName, Result, SearchParams, limits};
use quorate_node::suggestions::candidates::CANDIDATES_MAX;
use quorate_node::suggestions::{FacetCounts, FilteredBy};
use serde_json::Value;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Days whose searches count.
const DAYS: u64 = 30;
const DAY_MS: u64 = 24 * 3_600 * 1_000;
/// How long counting the queries of an index may take.
const COUNTING: Duration = Duration::from_secs(120);
/// Records of an external index that are read.
const EXTERNAL_MAX: usize = 200_000;
/// How often something is tried that others keep from being done.
const ATTEMPTS: u32 = 10;
/// The pause after that, longer each time.
const PAUSE: Duration = Duration::from_millis(100);

/// The indices of the installation.
pub struct Indices<'c> {
    context: &'c NodeContext,
}

impl<'c> Indices<'c> {
    /// As this node reads them, wherever they are.
    pub fn new(context: &'c NodeContext) -> Indices<'c> {
        Indices { context }
    }
    /// Reads, and tries again what fails for a moment: callers go first.
    async fn read<C: ReadCall + Clone>(&self, call: C) -> Result<C::Answer> {
        for attempt in 1..ATTEMPTS {
            match ask(self.context, call.clone()).await {
                Err(error) if error.kind == ErrorKind::Unavailable => {
                    tokio::time::sleep(PAUSE * attempt).await
                }
                outcome => return outcome,
            }
        }
        ask(self.context, call).await
    }
}

impl Indices<'_> {
    /// Counts searches where they are kept, however long that takes, within bounds.
    async fn count<C: ReadCall<Source = ()>>(&self, call: C) -> Result<C::Answer> {
        match call.locate(self.context).await? {
            Location::Local(()) => call.read(self.context, ()).await,
            Location::Remote(group) => {
                let deadline = Instant::now() + COUNTING;
                remote::ask_within(self.context, group, &call, deadline, COUNTING).await
            }
        }
    }
}

/// The days whose searches count.
fn lately() -> Range<u64> {
    let now_ms = unix_ms();
    now_ms.saturating_sub(DAYS * DAY_MS)..now_ms.saturating_add(DAY_MS)
}

impl Sources for Indices<'_> {
    fn counted(&self, source: &SuggestionSource) -> Vec<IndexName> {
        let row = self.context.meta().catalogue.get(&source.index_name).cloned();
        let replicas = row.iter().filter(|_| source.replicas).flat_map(|row| row.replicas());
        [source.index_name.clone()].into_iter().chain(replicas.map(|link| link.name.clone())).collect()
    }
    async fn popular(&self, index: &IndexName, tags: &[String]) -> Result<Vec<(String, u64)>> {
        let (group, index, tags) = (self.context.group_for(index)?, index.clone(), tags.to_vec());
        let call = PopularQueries { group, index, tags, times_ms: lately(), most: CANDIDATES_MAX };
        self.count(call).await
    }

    async fn filtered(&self, source: &SuggestionSource) -> Result<Vec<FilteredBy>> {
        let mut all = Vec::new();
        for index in self.counted(source) {
            let (group, tags) = (self.context.group_for(&index)?, source.analytics_tags.clone());
            let attributes = source.facets.iter().map(|facet| facet.attribute.clone()).collect();
            let call = FilteredQueries { group, index, tags, times_ms: lately(), attributes };
            all.extend(self.count(call).await?);
        }
        Ok(all)
    }

    async fn external(&self, index: &IndexName) -> Result<Vec<External>> {
        let (mut records, mut after) = (Vec::new(), None);
        loop {
            let params = SearchParams {
                hits_per_page: Some(limits::HITS_PER_PAGE_MAX),
                attributes_to_retrieve: Some(vec!["query".into(), "count".into()]),
                ..SearchParams::default()
            };
            let (params, rights) = (Box::new(params), ReadRights::default());
            let page = self.read(Browse { index: index.clone(), params, after, rights }).await?;
            records.extend(page.hits.iter().map(external));
            after = page.cursor;
            if after.is_none() || records.len() >= EXTERNAL_MAX {
                records.truncate(EXTERNAL_MAX);
                return Ok(records);
            }
        }
    }

    async fn find(
        &self,
        index: &IndexName,
        query: &str,
        how: How,
        facets: &[(String, u32)],
    ) -> Result<FoundRecords> {
        let params = Box::new(params(query, how, facets));
        let call = Search { index: index.clone(), params, rights: ReadRights::default(), at_once: false };
        let results = self.read(call).await?;
        let amount = |attribute: &str| {
            facets.iter().find(|(name, _)| name == attribute).map_or(0, |(_, amount)| *amount as usize)
        };
        let facets: Vec<FacetCounts> = results
            .facets
            .into_iter()
            .flatten()
            .map(|facet| {
                let mut values = facet.values;
                values.truncate(amount(&facet.attribute));
                (facet.attribute, values)
            })
            .collect();
        Ok(FoundRecords { hits: results.nb_hits, facets })
    }
}

fn params(query: &str, how: How, facets: &[(String, u32)]) -> SearchParams {
    let query_type = match how {
        How::Exact | How::Corrected => QueryType::PrefixNone,
        How::AsPrefix => QueryType::PrefixLast,
    };
    let typos = match how {
        How::Exact | How::AsPrefix => TypoTolerance::Off,
        How::Corrected => TypoTolerance::On,
    };
    let mut params = SearchParams {
        query: Some(query.to_owned()),
        query_type: Some(query_type),
        typo_tolerance: Some(typos),
        // as many words as are asked for
        remove_words_if_no_results: Some(RemoveWords::None),
        optional_words: Some(vec![]),
        advanced_syntax: Some(false),
        hits_per_page: Some(0),
        facets: Some(facets.iter().map(|(attribute, _)| attribute.clone()).collect()),
        max_values_per_facet: facets.iter().map(|(_, amount)| u64::from(*amount)).max(),
        sort_facet_values_by: Some(FacetSort::Count),
        ..SearchParams::default()
    };
    // nobody asked for it
    params.other.insert("analytics".to_owned(), Value::Bool(false));
    params
}

/// What a record counts for at most: the sums of all that are read stay whole numbers for callers whose numbers have 53 bits.
const COUNT_MAX: f64 = 1e9;

/// The query of a record and how often it was asked for, or why it has none.
fn external(record: &[u8]) -> External {
    let record: Value = serde_json::from_slice(record).map_err(|error| error.to_string())?;
    let id = record["objectID"].as_str().unwrap_or_default();
    let query = record["query"].as_str().ok_or_else(|| format!("{id}: query is not a string"))?;
    let count = record["count"].as_f64().filter(|count| count.is_finite() && *count >= 0.0);
    let count = count.ok_or_else(|| format!("{id}: count is not a number from 0 on"))?;
    Ok((query.to_owned(), count.min(COUNT_MAX) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_wrong_types_say_what_is_wrong() {
        for (record, expected) in [
            (r#"{"objectID":"a","query":"red","count":3}"#, Ok(("red".to_owned(), 3))),
            (r#"{"objectID":"a","query":"red","count":2.9}"#, Ok(("red".to_owned(), 2))),
            (r#"{"objectID":"a","query":"red","count":1e300}"#, Ok(("red".to_owned(), 1_000_000_000))),
            (r#"{"objectID":"a","query":["red"],"count":3}"#, Err("a: query is not a string".to_owned())),
            (r#"{"objectID":"a","count":3}"#, Err("a: query is not a string".to_owned())),
            (r#"{"objectID":"a","query":"x"}"#, Err("a: count is not a number from 0 on".to_owned())),
            (
                r#"{"objectID":"a","query":"x","count":"3"}"#,
                Err("a: count is not a number from 0 on".to_owned()),
            ),
            (
                r#"{"objectID":"a","query":"x","count":-1}"#,
                Err("a: count is not a number from 0 on".to_owned()),
            ),
        ] {
            assert_eq!(external(record.as_bytes()), expected, "{record}");
        }
    }
}
