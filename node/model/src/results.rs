//! What a search found, before it becomes a response body (C§8.7).

use crate::ids::ObjectId;
use crate::params::SearchParams;
use crate::settings::Settings;
use crate::wire;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Rendered hits: JSON objects one after another in one buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hits {
    /// Bytes of all hits, without separators.
    #[serde(with = "wire::text")]
    pub json: Vec<u8>,
    /// End offset of each hit in `json`.
    pub ends: Vec<u32>,
}
impl Hits {
    /// The hits, each a raw JSON object.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let hit = &self.json[start as usize..end as usize];
            start = end;
            hit
        })
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// Takes the last one away, unless it is the only one.
    pub fn pop_beside_first(&mut self) {
        if self.len() > 1 {
            self.ends.pop();
            self.json.truncate(self.ends.last().map_or(0, |end| *end as usize));
        }
    }
}

/// Counts of one facet, in the order they are to be shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FacetCounts {
    /// The attribute.
    pub attribute: String,
    /// (value, records), sorted as asked.
    pub values: Vec<(String, u64)>,
    /// Whether `values` is all there is.
    pub complete: bool,
    /// min, max, avg, sum over the numeric values of the matching records.
    pub stats: Option<FacetStats>,
}
/// Statistics of a numeric facet (C§8.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct FacetStats {
    #[serde(with = "wire::exact")]
    pub min: f64,
    #[serde(with = "wire::exact")]
    pub max: f64,
    #[serde(with = "wire::exact")]
    pub avg: f64,
    #[serde(with = "wire::exact")]
    pub sum: f64,
}

/// What rules add to an answer (C§8.7).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleResults {
    /// Ids of the rules that applied, best first, when the request wants to see them.
    pub applied: Vec<ObjectId>,
    /// What they give as userData, best first.
    pub user_data: Vec<Value>,
    /// `renderingContent` of settings, request and rules together; `None` when no rule has any.
    pub rendering_content: Option<Arc<Value>>,
    /// `responseFields`, when a rule gives them.
    pub response_fields: Option<Vec<String>>,
    /// `clickAnalytics`, when a rule gives it.
    pub click_analytics: Option<bool>,
    /// Whether every rule was looked at; `None` when the index has no rules or they are off.
    pub complete: Option<bool>,
    /// The parameters that rules gave, when `explain` asks for anything.
    pub params: Option<Map<String, Value>>,
    /// The query that they left, when `explain` asks for anything.
    pub query: Option<String>,
}

/// Why something is looked for in the place of words of the query.
pub const ALTERNATIVE_TYPES: [&str; 11] = [
    "original",
    "optional",
    "typo",
    "plural",
    "synonym",
    "altCorrection",
    "concat",
    "split",
    "compound",
    "stopWord",
    "excluded",
];

/// Those of [`ALTERNATIVE_TYPES`]; what another version of the program has is left out.
fn alternative_types<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<&'static str>, D::Error> {
    let given = Vec::<String>::deserialize(from)?;
    let known = |given: &String| ALTERNATIVE_TYPES.into_iter().find(|known| known == given);
    Ok(given.iter().filter_map(known).collect())
}

/// Something that was looked for in the place of words of the query (C§8.9).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExplainedAlternative {
    /// Why: some of [`ALTERNATIVE_TYPES`].
    #[serde(deserialize_with = "alternative_types")]
    pub types: Vec<&'static str>,
    /// Normalised words, in order.
    pub words: Vec<String>,
    /// Typos it counts as.
    pub typos: u32,
    /// First typed word it stands for.
    pub offset: usize,
    /// Typed words it stands for.
    pub length: usize,
}
/// The result of one query on one index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchResults {
    /// The page's hits, rendered.
    pub hits: Hits,
    /// Records (or groups, with distinct) that match.
    pub nb_hits: u64,
    /// Zero-based page that was answered.
    pub page: u64,
    /// Pages that can be fetched.
    pub nb_pages: u64,
    /// Effective page length.
    pub hits_per_page: u64,
    /// Present when the request used offset or length: (offset, length), then page, nbPages and hitsPerPage are left out.
    pub window: Option<(u64, u64)>,
    /// The query text that was searched.
    pub query: String,
    /// The query after normalisation (`getRankingInfo`).
    pub parsed_query: Option<String>,
    /// What removeWordsIfNoResults left, removed words in `<em>`.
    pub query_after_removal: Option<String>,
    /// Facets in request order; `None` when none were asked for.
    pub facets: Option<Vec<FacetCounts>>,
    /// Whether time ran out before every facet was counted.
    pub facets_cut: bool,
    /// Whether nbHits counts everything.
    pub exhaustive_nb_hits: bool,
    /// Whether every typo candidate was looked at; `None` when typo tolerance is off.
    pub exhaustive_typo: Option<bool>,
    /// `lat,lng` of the centre used.
    pub around_lat_lng: Option<String>,
    /// Metres, when it was chosen automatically.
    pub automatic_radius: Option<u64>,
    /// What rules add.
    pub rules: RuleResults,
    /// On a virtual replica: how many hits were relevant enough to be sorted, and the relevancyStrictness (C§7.11).
    pub relevant_sort: Option<(u64, u64)>,
    /// What was looked for, when `explain` asks for it.
    pub alternatives: Option<Vec<ExplainedAlternative>>,
    /// Warning text.
    pub message: Option<String>,
    /// Position after the last hit of a browse; `None` at the end. Opaque bytes, made and read by the engine.
    pub cursor: Option<Vec<u8>>,
    /// Stands for the order that a browse goes through the records in: positions mean nothing in another one. `None` from a program
    /// that does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
    /// What the settings in force say about the body of the answer; `None` from a program that does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<AnswerSettings>,
}

/// What the settings of an index say about the body of an answer, where the request says nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerSettings {
    /// The members that it has.
    pub response_fields: Option<Vec<String>>,
    /// What is passed on to who shows it.
    pub rendering_content: Option<Arc<Value>>,
}

impl SearchResults {
    /// The results with what the settings of their index say about the body.
    pub fn with_settings(mut self, settings: &Settings) -> SearchResults {
        let SearchParams { response_fields, rendering_content, .. } = &settings.params;
        let (response_fields, rendering_content) = (response_fields.clone(), rendering_content.clone());
        self.settings = Some(AnswerSettings { response_fields, rendering_content });
        self
    }
}

/// The result of a facet value search (C§8.3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FacetHits {
    /// (value, highlighted, count) in order.
    pub hits: Vec<(String, String, u64)>,
    /// Whether counts are over everything.
    pub exhaustive: bool,
}

/// The result of a search for synonyms or rules (C§10.6, C§11).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceHits {
    /// Documents of the page with their `_highlightResult`, raw JSON objects.
    #[serde(with = "wire::texts")]
    pub hits: Vec<Vec<u8>>,
    /// Documents that match.
    pub nb_hits: u64,
    /// Zero-based page that was answered.
    pub page: u64,
    /// Pages there are.
    pub nb_pages: u64,
}
