//! Bodies of searches: of one index, several, facets, and of browsing.

use super::parameters::{AnyJson, parameters_schema};
use std::borrow::Cow;
use std::collections::BTreeMap;
use utoipa::openapi::schema::{AdditionalProperties, AnyOfBuilder, ArrayBuilder, Schema, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// What a search found. `responseFields` leaves members out, so none is always there.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct SearchAnswer {
    /// Records, with what was asked for of how they were found.
    pub hits: Option<Vec<Hit>>,
    pub nb_hits: Option<u64>,
    /// Hits of a virtual replica that are close enough to the best.
    pub nb_sorted_hits: Option<u64>,
    pub applied_relevancy_strictness: Option<u64>,
    pub page: Option<u64>,
    pub nb_pages: Option<u64>,
    pub hits_per_page: Option<u64>,
    pub offset: Option<u64>,
    pub length: Option<u64>,
    /// How many hits each value of each facet has.
    pub facets: Option<BTreeMap<String, BTreeMap<String, u64>>>,
    #[schema(rename = "facets_stats")]
    pub facets_stats: Option<BTreeMap<String, FacetStatistics>>,
    pub exhaustive_nb_hits: Option<bool>,
    pub exhaustive_typo: Option<bool>,
    pub exhaustive_facets_count: Option<bool>,
    pub exhaustive: Option<Exhaustive>,
    pub query: Option<String>,
    pub query_after_removal: Option<String>,
    pub parsed_query: Option<String>,
    pub server_used: Option<String>,
    pub timeout_counts: Option<bool>,
    pub timeout_hits: Option<bool>,
    /// The parameters of the call, URL-encoded.
    pub params: Option<String>,
    /// In answers to several queries.
    pub index: Option<String>,
    pub processed: Option<bool>,
    pub around_lat_lng: Option<String>,
    pub automatic_radius: Option<String>,
    /// With `clickAnalytics`.
    #[schema(rename = "queryID")]
    pub query_id: Option<String>,
    pub user_data: Option<Vec<AnyJson>>,
    pub applied_rules: Option<Vec<AppliedRule>>,
    pub explain: Option<Explained>,
    /// What the caller should know.
    pub message: Option<String>,
    /// Position for the next call of a browse; absent at its end.
    pub cursor: Option<String>,
    pub rendering_content: Option<AnyObject>,
    #[schema(rename = "processingTimeMS")]
    pub processing_time_ms: Option<u64>,
}
/// A record that was found, with what is said of it where that is asked for.
pub struct Hit;
impl PartialSchema for Hit {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(
                "A record that was found: its attributes, and what was asked for of how it was found.",
            ))
            .property("objectID", String::schema())
            .required("objectID")
            .property("_highlightResult", AnyObject::schema())
            .property("_snippetResult", AnyObject::schema())
            .property("_rankingInfo", AnyObject::schema())
            .property("_distinctSeqID", u64::schema())
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .into()
    }
}
impl ToSchema for Hit {}

/// A JSON object of any shape.
pub struct AnyObject;
impl PartialSchema for AnyObject {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().additional_properties(Some(AdditionalProperties::FreeForm(true))).into()
    }
}
impl ToSchema for AnyObject {}

/// The numbers of a facet.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct FacetStatistics {
    pub min: f64,
    pub max: f64,
    pub avg: f64,
    pub sum: f64,
}
/// What was looked at completely.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Exhaustive {
    pub nb_hits: Option<bool>,
    pub typo: Option<bool>,
    pub rules_match: Option<bool>,
    pub facets_count: Option<bool>,
    pub facet_values: Option<bool>,
}
/// A rule that acted.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct AppliedRule {
    #[schema(rename = "objectID")]
    pub object_id: String,
}
/// What `explain` asked for.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Explained {
    #[schema(rename = "match")]
    pub matched: Option<AnyObject>,
    pub params: Option<AnyObject>,
}

/// A search of the values of a facet; the other members select the records that count.
pub struct FacetSearch;
impl PartialSchema for FacetSearch {
    fn schema() -> RefOr<Schema> {
        parameters_schema(&[("params", String::schema())], "A search of the values of a facet.").into()
    }
}
impl ToSchema for FacetSearch {}

/// The values of a facet that a text finds.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct FacetValues {
    pub facet_hits: Vec<FacetValue>,
    pub exhaustive_facets_count: bool,
    pub exhaustive: Exhaustive,
    pub index: Option<String>,
    pub processed: Option<bool>,
    pub message: Option<String>,
    #[schema(rename = "processingTimeMS")]
    pub processing_time_ms: u64,
}
/// One value.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct FacetValue {
    pub value: String,
    pub highlighted: String,
    pub count: u64,
}

/// Several queries.
pub struct MultiSearch;
impl PartialSchema for MultiSearch {
    fn schema() -> RefOr<Schema> {
        let query = parameters_schema(
            &[("params", String::schema()), ("indexName", String::schema())],
            "One query of the index it names.",
        );
        let query = ObjectBuilder::from(query).required("indexName").build();
        let strategy =
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["none", "stopIfEnoughMatches"]));
        ObjectBuilder::new()
            .property("requests", ArrayBuilder::new().items(query).max_items(Some(1_000)))
            .property("strategy", strategy)
            .required("requests")
            .into()
    }
}
impl ToSchema for MultiSearch {}

/// The answers to several queries, in order.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct MultiSearchAnswer {
    pub results: Vec<MultiResult>,
}
/// The answer to one query: of hits, or of facet values.
pub struct MultiResult;
impl PartialSchema for MultiResult {
    fn schema() -> RefOr<Schema> {
        let one = |name: Cow<'_, str>| Ref::from_schema_name(name);
        AnyOfBuilder::new().item(one(FacetValues::name())).item(one(SearchAnswer::name())).into()
    }
}
impl ToSchema for MultiResult {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((FacetValues::name().into(), FacetValues::schema()));
        schemas.push((SearchAnswer::name().into(), SearchAnswer::schema()));
        FacetValues::schemas(schemas);
        SearchAnswer::schemas(schemas);
    }
}
