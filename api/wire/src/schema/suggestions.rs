//! Bodies of query suggestions (C§16).

use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// How a suggestions index is made.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct SuggestionsWanted {
    /// Passed over, so that a configuration that was read can be sent back.
    #[schema(rename = "appID")]
    pub app_id: Option<String>,
    /// The suggestions index. It is required unless the path names it.
    pub index_name: Option<String>,
    /// The indices whose popular queries become suggestions.
    #[schema(min_items = 1)]
    pub source_indices: Vec<SuggestionSource>,
    /// For which languages plural forms of a word are one suggestion.
    pub languages: Option<PluralLanguages>,
    /// Words and patterns that no suggestion has.
    pub exclude: Option<Vec<String>>,
    /// Kept and shown, without effect.
    pub enable_personalization: Option<bool>,
    /// Whether suggestions may have special characters.
    pub allow_special_characters: Option<bool>,
}
/// An index whose queries become suggestions.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct SuggestionSource {
    pub index_name: String,
    /// Whether queries of its replicas count, too.
    pub replicas: Option<bool>,
    /// Only queries with one of these tags count.
    pub analytics_tags: Option<Vec<String>>,
    /// Facets whose most frequent values are said of each suggestion.
    pub facets: Option<Vec<SuggestionFacet>>,
    /// Hits that a query has to have at least; 5 when absent.
    #[schema(minimum = 1)]
    pub min_hits: Option<u32>,
    /// Letters that a query has to have at least.
    #[schema(minimum = 1)]
    pub min_letters: Option<u32>,
    /// Attributes whose values are put together as suggestions, each list as a unit.
    pub generate: Option<Vec<Vec<String>>>,
    /// Indices with records of a `query` and a `count`.
    pub external: Option<Vec<String>>,
}
/// A facet whose most frequent values are said of each suggestion.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct SuggestionFacet {
    pub attribute: String,
    #[schema(minimum = 1, maximum = 1000)]
    pub amount: u32,
}
/// Codes of languages, or all of them.
pub struct PluralLanguages;
impl PartialSchema for PluralLanguages {
    fn schema() -> RefOr<Schema> {
        let codes = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String));
        OneOfBuilder::new().item(ObjectBuilder::new().schema_type(Type::Boolean)).item(codes).into()
    }
}
impl ToSchema for PluralLanguages {}

/// How a suggestions index is made, with all defaults.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct SuggestionsConfig {
    #[schema(rename = "appID")]
    pub app_id: String,
    pub index_name: String,
    pub source_indices: Vec<SuggestionSource>,
    pub languages: PluralLanguages,
    pub exclude: Vec<String>,
    pub enable_personalization: bool,
    pub allow_special_characters: bool,
}
/// Configurations, by the names of their indices.
#[derive(ToSchema)]
pub struct SuggestionsConfigs(#[allow(missing_docs)] pub Vec<SuggestionsConfig>);

/// How the builds of a suggestions index are.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct SuggestionsStatus {
    pub index_name: String,
    /// Whether a build is under way or waits.
    pub is_running: bool,
    /// When the last build ended; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_built_at: Option<String>,
    /// When the last build ended that was a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_successful_built_at: Option<String>,
    /// How long that took, such as `1.250s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_successful_build_duration: Option<String>,
}
/// That a change of a configuration is made.
#[derive(ToSchema, Serialize)]
#[allow(missing_docs)]
pub struct SuggestionsChanged {
    pub status: u16,
    pub message: String,
}
/// Lines of the log of a build.
#[derive(ToSchema)]
pub struct SuggestionsLog(#[allow(missing_docs)] pub Vec<SuggestionsLogLine>);
/// A line of the log of a build.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct SuggestionsLogLine {
    pub timestamp: String,
    /// `INFO`, `SKIP` or `ERROR`.
    pub level: String,
    pub message: String,
    /// A line of level n+1 belongs to the line of level n before it.
    pub context_level: u32,
}
