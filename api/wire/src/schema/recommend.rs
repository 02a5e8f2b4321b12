//! Bodies of recommendations.

use super::parameters::{AnyJson, parameters_schema};
use super::search::{AnyObject, AppliedRule, Exhaustive, Explained};
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// What is recommended for several requests, in their order.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct RecommendAnswer {
    pub results: Vec<Recommended>,
}
/// What is recommended for one request. `responseFields` leaves members out, so none is always there.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Recommended {
    pub hits: Option<Vec<RecommendedHit>>,
    pub nb_hits: Option<u64>,
    pub page: Option<u64>,
    pub nb_pages: Option<u64>,
    pub hits_per_page: Option<u64>,
    pub exhaustive_nb_hits: Option<bool>,
    pub exhaustive: Option<Exhaustive>,
    pub query: Option<String>,
    /// `queryParameters` of the request, URL-encoded.
    pub params: Option<String>,
    pub index: Option<String>,
    /// With `clickAnalytics`.
    #[schema(rename = "queryID")]
    pub query_id: Option<String>,
    pub user_data: Option<Vec<AnyJson>>,
    pub applied_rules: Option<Vec<AppliedRule>>,
    pub explain: Option<Explained>,
    /// What the caller should know.
    pub message: Option<String>,
    pub rendering_content: Option<AnyObject>,
    #[schema(rename = "processingTimeMS")]
    pub processing_time_ms: Option<u64>,
}
/// A record, or a value of a facet, with its score.
pub struct RecommendedHit;
impl PartialSchema for RecommendedHit {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .description(Some(
                "A record, as a search shows it, or with `facetName` and `facetValue` a value of a facet; with its score, 0 to 100.",
            ))
            .property("objectID", AnyJson::schema())
            .property("facetName", String::schema())
            .property("facetValue", String::schema())
            .property("_score", ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0)).maximum(Some(100)))
            .required("_score")
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .into()
    }
}
impl ToSchema for RecommendedHit {}

/// Several requests.
pub struct RecommendCall;
impl PartialSchema for RecommendCall {
    fn schema() -> RefOr<Schema> {
        let selecting = parameters_schema(
            &[("params", String::schema())],
            "What selects, boosts and shows records. Which hits make a page is passed over.",
        );
        let fallback = parameters_schema(
            &[("params", String::schema())],
            "What is searched for when nothing is left to recommend.",
        );
        let number =
            |most: u32, kind| ObjectBuilder::new().schema_type(kind).minimum(Some(0)).maximum(Some(most));
        let models = quorate_model::RecommendModel::ALL.map(quorate_model::RecommendModel::name);
        let request = ObjectBuilder::new()
            .description(Some("What is asked of the model of an index."))
            .property("indexName", String::schema())
            .property("model", ObjectBuilder::new().schema_type(Type::String).enum_values(Some(models)))
            .property("threshold", number(100, Type::Number))
            .property("maxRecommendations", number(100, Type::Integer))
            .property("objectID", String::schema())
            .property("facetName", String::schema())
            .property("facetValue", String::schema())
            .property("queryParameters", selecting)
            .property("fallbackParameters", fallback)
            .required("indexName")
            .required("model")
            .required("threshold");
        ObjectBuilder::new()
            .property("requests", ArrayBuilder::new().items(request).max_items(Some(1_000)))
            .required("requests")
            .into()
    }
}
impl ToSchema for RecommendCall {}
