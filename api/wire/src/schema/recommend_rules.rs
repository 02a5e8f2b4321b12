//! Which shape have the bodies of rules of recommendations (C§17)?

use super::parameters::AnyJson;
use super::{AnyObject, RuleHidden, RulePeriod, RulePromotion};
use utoipa::ToSchema;

/// A rule of a model of recommendations (C§17.4).
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct RecommendRuleDocument {
    #[schema(rename = "objectID")]
    pub object_id: String,
    /// Any of them suffices; none = always.
    #[schema(max_items = 10)]
    pub conditions: Option<Vec<RecommendRuleCondition>>,
    /// The only condition.
    pub condition: Option<RecommendRuleCondition>,
    pub consequence: RecommendRuleConsequence,
    pub description: Option<String>,
    pub enabled: Option<bool>,
    /// At least one, when it is given.
    pub validity: Option<Vec<RulePeriod>>,
    /// In answers of searches.
    #[schema(rename = "_metadata")]
    pub metadata: Option<RecommendRuleMetadata>,
    /// In answers of searches.
    #[schema(rename = "_highlightResult")]
    pub highlight_result: Option<AnyObject>,
}
/// Rules of a model of recommendations.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct RecommendRuleDocuments(pub Vec<RecommendRuleDocument>);
/// When a rule of recommendations acts.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct RecommendRuleCondition {
    /// One of the request's ruleContexts.
    pub context: Option<String>,
    /// What the source item matches.
    pub filters: Option<String>,
}
/// What a rule of recommendations does.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct RecommendRuleConsequence {
    pub params: Option<RecommendRuleParams>,
    #[schema(max_items = 30)]
    pub promote: Option<Vec<RulePromotion>>,
    #[schema(max_items = 50)]
    pub hide: Option<Vec<RuleHidden>>,
    pub user_data: Option<AnyObject>,
}
/// Filters that a rule of recommendations adds.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct RecommendRuleParams {
    /// Facets, as names or as objects with `facet`, `score`, `disjunctive` and `negative`: what the source item has there
    /// is filtered for.
    #[schema(max_items = 100)]
    pub automatic_facet_filters: Option<Vec<AnyJson>>,
    /// The same, only for the order.
    #[schema(max_items = 100)]
    pub automatic_optional_facet_filters: Option<Vec<AnyJson>>,
    pub filters: Option<String>,
    pub facet_filters: Option<AnyJson>,
    pub numeric_filters: Option<AnyJson>,
    pub tag_filters: Option<AnyJson>,
    pub optional_filters: Option<AnyJson>,
}
/// When a rule was saved.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct RecommendRuleMetadata {
    pub last_update: String,
}
/// A page of rules of recommendations.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct RecommendRulesFound {
    pub hits: Vec<RecommendRuleDocument>,
    pub nb_hits: u64,
    pub page: u64,
    pub nb_pages: u64,
}
/// A search of rules of recommendations.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct RecommendRuleSearch {
    #[schema(max_length = 512)]
    pub query: Option<String>,
    /// Only rules with a condition of this context.
    #[schema(max_length = 512)]
    pub context: Option<String>,
    pub enabled: Option<bool>,
    pub page: Option<u64>,
    #[schema(minimum = 1, maximum = 1000)]
    pub hits_per_page: Option<u64>,
    /// Taken, and without effect.
    pub request_options: Option<AnyJson>,
    /// Only rules whose members pass, as `objectID:a OR enabled:false`.
    pub filters: Option<String>,
    /// Taken, and without effect.
    pub facets: Option<Vec<String>>,
    /// Taken, and without effect.
    pub max_values_per_facet: Option<u64>,
}
