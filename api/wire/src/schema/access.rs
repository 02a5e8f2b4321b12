//! Bodies about who may call: API keys, the networks that calls come from, the admin key.

use quorate_model::Acl;
use serde::Serialize;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A right of a key (C§13.1).
pub struct Right;
impl PartialSchema for Right {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(Acl::ALL.map(Acl::name))).into()
    }
}
impl ToSchema for Right {}

/// A key as it is wanted: what is not given has its default.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct KeyWanted {
    #[schema(max_items = 1000)]
    pub acl: Option<Vec<Right>>,
    pub description: Option<String>,
    /// Names of indices or patterns with `*` in front, behind or both; none for all.
    #[schema(max_items = 1000)]
    pub indexes: Option<Vec<String>>,
    /// Hits that a page may have; 0 for no limit.
    #[schema(maximum = 2147483647)]
    pub max_hits_per_query: Option<u64>,
    /// Calls an hour for each address or user token; 0 for no limit.
    #[schema(maximum = 2147483647)]
    #[schema(rename = "maxQueriesPerIPPerHour")]
    pub max_queries_per_ip_per_hour: Option<u64>,
    /// Parameters that every query has, URL-encoded.
    pub query_parameters: Option<String>,
    /// Pages that may call, as patterns; none for all.
    #[schema(max_items = 1000)]
    pub referers: Option<Vec<String>>,
    /// Seconds after which the key ends; 0 for never.
    #[schema(maximum = 2147483647)]
    pub validity: Option<u64>,
    /// Passed over, so that a key that was read can be sent back.
    pub value: Option<String>,
    /// Passed over.
    pub created_at: Option<u64>,
}
/// A key for one index as it is wanted: what is not given has its default.
pub struct IndexKeyWanted;
impl PartialSchema for IndexKeyWanted {
    fn schema() -> RefOr<Schema> {
        let mut schema = KeyWanted::schema();
        if let RefOr::T(Schema::Object(key)) = &mut schema {
            key.properties.remove("indexes");
        }
        schema
    }
}
impl ToSchema for IndexKeyWanted {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        KeyWanted::schemas(schemas);
    }
}
/// A key.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Key {
    pub value: String,
    /// Unix seconds.
    pub created_at: u64,
    pub acl: Vec<Right>,
    /// Seconds that are left of it; 0 for no end.
    pub validity: u64,
    pub description: String,
    /// Of a key for one index alone.
    pub index: Option<String>,
    /// Of any other key.
    pub indexes: Option<Vec<String>>,
    pub max_hits_per_query: u64,
    #[schema(rename = "maxQueriesPerIPPerHour")]
    pub max_queries_per_ip_per_hour: u64,
    pub query_parameters: String,
    pub referers: Vec<String>,
}
/// Keys, the oldest first.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Keys {
    pub keys: Vec<Key>,
}
/// A key that was made or restored.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct KeyCreated {
    pub key: String,
    pub created_at: String,
}
/// A key that was changed.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct KeyUpdated {
    pub key: String,
    pub updated_at: String,
}
/// The admin key that counts from now on.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct NewAdminKey {
    pub admin_key: String,
}

/// A network that calls may come from.
#[derive(ToSchema, Serialize)]
#[allow(missing_docs)]
pub struct Source {
    /// In CIDR form, or `SERVICE_SUPPORT`.
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
/// The networks that calls may come from; none for all.
#[derive(ToSchema, Serialize)]
#[allow(missing_docs)]
pub struct Sources(pub Vec<Source>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::bytes;

    #[test]
    fn a_source_without_a_description_has_no_such_member() {
        let source = |source: &str, description: Option<&str>| Source {
            source: source.to_owned(),
            description: description.map(str::to_owned),
        };
        let sources = Sources(vec![source("10.0.0.0/8", Some("the \"office\"")), source("::1/128", None)]);
        let expected = r#"[{"source":"10.0.0.0/8","description":"the \"office\""},{"source":"::1/128"}]"#;
        assert_eq!(String::from_utf8(bytes(&sources)).unwrap(), expected);
        assert_eq!(bytes(&Sources(vec![])), b"[]");
    }
}
