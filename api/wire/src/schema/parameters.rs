//! The schemas of search parameters and settings, which the one table of them gives.

use super::forms;
use quorate_model::params::DELETE_BY_NAMES;
use quorate_model::settings::table::{Form, ROWS, SettingRow, Target};
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Object, ObjectBuilder, RefOr, Required};
use utoipa::{PartialSchema, ToSchema};

/// Any JSON value.
pub struct AnyJson;
impl PartialSchema for AnyJson {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).into()
    }
}
impl ToSchema for AnyJson {}

/// The parameters of a search, as members or inside `params`, URL-encoded.
pub struct SearchParameters;
impl PartialSchema for SearchParameters {
    fn schema() -> RefOr<Schema> {
        parameters_schema(&[("params", String::schema())], "Search parameters.").into()
    }
}
impl ToSchema for SearchParameters {}

/// Which records a call is about: filters and places, as members or inside `params`.
pub struct RecordsSelected;
impl PartialSchema for RecordsSelected {
    fn schema() -> RefOr<Schema> {
        let rows = ROWS.iter().filter(|row| DELETE_BY_NAMES.contains(&row.name));
        object(rows, &[("params", String::schema())], "Filters and places.").into()
    }
}
impl ToSchema for RecordsSelected {}

/// Settings; as a change, `null` takes a setting back to its default.
pub struct SettingsChange;
impl PartialSchema for SettingsChange {
    fn schema() -> RefOr<Schema> {
        let rows = ROWS.iter().filter(|row| row.scope.in_settings());
        object(rows, &[], "Settings of an index.").into()
    }
}
impl ToSchema for SettingsChange {}

/// The schema of an object with all search parameters and some more members.
pub(super) fn parameters_schema(more: &[(&str, RefOr<Schema>)], description: &str) -> Object {
    object(ROWS.iter().filter(|row| row.scope.in_query()), more, description)
}

/// The search parameters as those of a query string.
pub fn query_parameters() -> Vec<Parameter> {
    let rows = ROWS.iter().filter(|row| row.scope.in_query());
    let named = rows.flat_map(|row| {
        let names = std::iter::once(&row.name).chain(row.legacy);
        names.map(|name| of_query_string(name, format!("{} {}.", row.doc, row.allowed()), as_text(row)))
    });
    let packed = "More parameters, URL-encoded.".to_owned();
    std::iter::once(of_query_string("params", packed, String::schema())).chain(named).collect()
}

/// What a row accepts in a query string: lists and objects are JSON there.
fn as_text(row: &SettingRow) -> RefOr<Schema> {
    match row.target {
        Target::Flag(_) | Target::Count(..) | Target::IndexCount(..) => of_row(row, row.name),
        Target::Kept(Form::Flag | Form::Count(..) | Form::Choice(_)) => of_row(row, row.name),
        Target::Text(..) | Target::List(_) | Target::Languages(_) | Target::Query(..) => String::schema(),
        Target::IndexText(_) | Target::IndexStrings(_) => String::schema(),
        Target::IndexList(..) | Target::Index(..) | Target::Dropped => String::schema(),
        Target::Kept(Form::Text | Form::List | Form::Object | Form::Any) => String::schema(),
    }
}

fn of_query_string(name: &str, meaning: String, schema: RefOr<Schema>) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(meaning))
        .schema(Some(schema))
        .build()
}

fn object(
    rows: impl Iterator<Item = &'static SettingRow>,
    more: &[(&str, RefOr<Schema>)],
    description: &str,
) -> Object {
    let mut object = ObjectBuilder::new().description(Some(description));
    for (name, schema) in more {
        object = object.property(*name, schema.clone());
    }
    for row in rows {
        for name in std::iter::once(&row.name).chain(row.legacy) {
            object = object.property(*name, of_row(row, name));
        }
    }
    object.build()
}

/// What a row accepts under one of its names, and in the description in words.
fn of_row(row: &SettingRow, name: &str) -> RefOr<Schema> {
    let meaning = || format!("{} {}.", row.doc, row.allowed());
    let described = |schema: ObjectBuilder| schema.description(Some(meaning()));
    let plain = |kind: Type| described(ObjectBuilder::new().schema_type(kind)).into();
    let any = || described(ObjectBuilder::new().schema_type(SchemaType::AnyValue)).into();
    match row.target {
        Target::Flag(_) | Target::Kept(Form::Flag) => plain(Type::Boolean),
        Target::Count(from, to, _)
        | Target::IndexCount(from, to, _)
        | Target::Kept(Form::Count(from, to)) => count(from, to, described),
        Target::Text(..) | Target::IndexText(_) | Target::Kept(Form::Text) => plain(Type::String),
        Target::Languages(_) => forms::described(forms::languages(), meaning()),
        Target::List(_) | Target::IndexStrings(_) | Target::IndexList(..) | Target::Kept(Form::List) => {
            list(row, described)
        }
        Target::Kept(Form::Choice(names)) => {
            described(ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names.iter().copied())))
                .into()
        }
        Target::Kept(Form::Object) => {
            let free = AdditionalProperties::FreeForm(true);
            described(ObjectBuilder::new().additional_properties(Some(free))).into()
        }
        Target::Query(..) | Target::Index(..) => forms::of(name, meaning()),
        Target::Kept(Form::Any) | Target::Dropped => any(),
    }
}

/// A whole number from one to another, at most what JSON numbers hold exactly everywhere.
pub fn whole_number(from: u64, to: u64) -> ObjectBuilder {
    const EXACT: u64 = (1 << 53) - 1;
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(from)).maximum(Some(to.min(EXACT)))
}

fn count(from: u64, to: u64, described: impl Fn(ObjectBuilder) -> ObjectBuilder) -> RefOr<Schema> {
    described(whole_number(from, to)).into()
}

fn list(row: &SettingRow, described: impl Fn(ObjectBuilder) -> ObjectBuilder) -> RefOr<Schema> {
    let many = ArrayBuilder::new().items(String::schema()).description(Some(row.doc));
    if !row.single {
        return many.into();
    }
    OneOfBuilder::new().item(many).item(described(ObjectBuilder::new().schema_type(Type::String))).into()
}
