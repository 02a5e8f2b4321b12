//! Bodies of synonyms and rules.

use super::parameters::AnyJson;
use super::search::AnyObject;
use utoipa::ToSchema;

/// A synonym (C§11); which members there are depends on its type.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct SynonymDocument {
    #[schema(rename = "objectID")]
    pub object_id: String,
    /// `synonym`, `onewaysynonym`, `altcorrection1`, `altcorrection2` or `placeholder`, in any case.
    #[schema(rename = "type")]
    pub kind: String,
    pub synonyms: Option<Vec<String>>,
    pub input: Option<String>,
    pub word: Option<String>,
    pub corrections: Option<Vec<String>>,
    pub placeholder: Option<String>,
    pub replacements: Option<Vec<String>>,
    #[schema(rename = "_highlightResult")]
    pub highlight_result: Option<AnyObject>,
}
/// Synonyms.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct SynonymDocuments(pub Vec<SynonymDocument>);
/// A synonym that was saved.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct SavedSynonym {
    pub updated_at: String,
    #[schema(rename = "taskID")]
    pub task_id: u64,
    /// Its objectID.
    pub id: String,
}
/// A page of synonyms.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct SynonymsFound {
    pub hits: Vec<SynonymDocument>,
    pub nb_hits: u64,
    pub page: u64,
    pub nb_pages: u64,
}
/// A search of synonyms.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct SynonymSearch {
    #[schema(max_length = 512)]
    pub query: Option<String>,
    /// One type, or several with commas or as a list.
    #[schema(rename = "type")]
    pub kind: Option<AnyJson>,
    pub page: Option<u64>,
    #[schema(maximum = 1000)]
    pub hits_per_page: Option<u64>,
}

/// A rule (C§10.1).
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct RuleDocument {
    #[schema(rename = "objectID")]
    pub object_id: String,
    #[schema(max_items = 25)]
    pub conditions: Option<Vec<RuleCondition>>,
    /// The only condition, as earlier clients write it.
    pub condition: Option<RuleCondition>,
    pub consequence: RuleConsequence,
    pub description: Option<String>,
    pub enabled: Option<bool>,
    pub validity: Option<Vec<RulePeriod>>,
    pub tags: Option<Vec<String>>,
    pub scope: Option<String>,
    #[schema(rename = "_highlightResult")]
    pub highlight_result: Option<AnyObject>,
}
/// Rules.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct RuleDocuments(pub Vec<RuleDocument>);
/// When a rule acts.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct RuleCondition {
    pub pattern: Option<String>,
    /// `is`, `startsWith`, `endsWith` or `contains`.
    pub anchoring: Option<String>,
    /// Whether plural forms, typing errors and synonyms of the pattern count.
    pub alternatives: Option<AnyJson>,
    pub context: Option<String>,
    pub filters: Option<String>,
}
/// What a rule does.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct RuleConsequence {
    /// Search parameters; `query` replaces or edits the query.
    pub params: Option<AnyObject>,
    pub promote: Option<Vec<RulePromotion>>,
    pub hide: Option<Vec<RuleHidden>>,
    pub filter_promotes: Option<bool>,
    pub user_data: Option<AnyJson>,
    pub redirect: Option<AnyObject>,
}
/// Records that a rule puts at a position.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct RulePromotion {
    #[schema(rename = "objectID")]
    pub object_id: Option<String>,
    #[schema(rename = "objectIDs")]
    pub object_ids: Option<Vec<String>>,
    pub position: AnyJson,
}
/// A record that a rule hides.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct RuleHidden {
    #[schema(rename = "objectID")]
    pub object_id: String,
}
/// Unix seconds between which a rule acts.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct RulePeriod {
    pub from: u64,
    pub until: u64,
}
/// A page of rules.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct RulesFound {
    pub hits: Vec<RuleDocument>,
    pub nb_hits: u64,
    pub page: u64,
    pub nb_pages: u64,
}
/// A search of rules.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct RuleSearch {
    #[schema(max_length = 512)]
    pub query: Option<String>,
    pub anchoring: Option<String>,
    pub context: Option<String>,
    pub enabled: Option<bool>,
    pub page: Option<u64>,
    #[schema(minimum = 1, maximum = 1000)]
    pub hits_per_page: Option<u64>,
}
