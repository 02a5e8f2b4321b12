//! Which schemas have the search parameters and settings with a form of their own?
//!
//! They say what clients are to send. The program also reads what they mean from texts, as query strings have them.

use quorate_model::languages;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

use super::whole_number;

/// The schema of a parameter or setting; anything when it has none here.
pub(super) fn of(name: &str, meaning: String) -> RefOr<Schema> {
    let schema = match name {
        "filters" | "aroundLatLng" | "cursor" | "attributeForDistinct" => text(),
        "facetFilters" | "numericFilters" | "tagFilters" | "optionalFilters" => {
            either([text(), list(either([text(), list(text())]))])
        }
        "minProximity" => whole(1, 8),
        "maxValuesPerFacet" => whole(0, u64::MAX),
        "sortFacetValuesBy" => choice(&["count", "alpha"]),
        "distinct" => either([flag(), whole(0, 4)]),
        "typoTolerance" => either([flag(), choice(&["min", "strict", "true", "false"])]),
        "ignorePlurals" => either([flag(), languages(), choice(&["true", "false"])]),
        "removeStopWords" => either([flag(), languages()]),
        "queryType" => choice(&["prefixLast", "prefixAll", "prefixNone"]),
        "removeWordsIfNoResults" => choice(&["none", "lastWords", "firstWords", "allOptional"]),
        "exactOnSingleWordQuery" => choice(&["attribute", "none", "word"]),
        // its earlier names
        "enableExactOnSingleWordQuery" | "useQueryEqualsOneAttributeInRanking" => {
            either([flag(), choice(&["attribute", "none", "word"])])
        }
        "advancedSyntaxFeatures" => list(choice(&["exactPhrase", "excludeWords"])),
        "alternativesAsExact" => {
            list(choice(&["ignorePlurals", "singleWordSynonym", "multiWordsSynonym", "ignoreConjugations"]))
        }
        "ruleContexts" => ArrayBuilder::new().items(text()).max_items(Some(10)).into(),
        "analyticsTags" => list(ObjectBuilder::new().schema_type(Type::String).max_length(Some(100))),
        "aroundRadius" => either([whole(1, u64::MAX), choice(&["all"])]),
        "aroundPrecision" => {
            let step = ObjectBuilder::new()
                .property("from", whole(0, u64::MAX))
                .property("value", whole(0, u64::MAX))
                .required("from")
                .required("value");
            either([whole(0, u64::MAX), list(step)])
        }
        "insideBoundingBox" => either([list(list(number())), text()]),
        "insidePolygon" => list(list(number())),
        "renderingContent" => object(AdditionalProperties::FreeForm(true)),
        "customNormalization" => {
            object(AdditionalProperties::RefOr(object(AdditionalProperties::RefOr(text()))))
        }
        "decompoundedAttributes" => object(AdditionalProperties::RefOr(list(text()))),
        _ => ObjectBuilder::new().schema_type(SchemaType::AnyValue).into(),
    };
    described(schema, meaning)
}

/// A list of codes of languages (C§12.2).
pub(super) fn languages() -> RefOr<Schema> {
    list(choice(&languages::CODES))
}

/// The same with what it means.
pub(super) fn described(mut schema: RefOr<Schema>, meaning: String) -> RefOr<Schema> {
    match &mut schema {
        RefOr::T(Schema::Object(it)) => it.description = Some(meaning),
        RefOr::T(Schema::Array(it)) => it.description = Some(meaning),
        RefOr::T(Schema::OneOf(it)) => it.description = Some(meaning),
        RefOr::T(_) | RefOr::Ref(_) => {}
    }
    schema
}

fn text() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).into()
}
fn choice(names: &[&str]) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names.to_vec())).into()
}
fn flag() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Boolean).into()
}
fn whole(from: u64, to: u64) -> RefOr<Schema> {
    whole_number(from, to).into()
}
fn number() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Number).into()
}
fn list(of: impl Into<RefOr<Schema>>) -> RefOr<Schema> {
    ArrayBuilder::new().items(of.into()).into()
}
fn object(of: AdditionalProperties<Schema>) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Object).additional_properties(Some(of)).into()
}
fn either<const N: usize>(kinds: [RefOr<Schema>; N]) -> RefOr<Schema> {
    kinds.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item).into()
}
