//! How does the route table become the document of the interface (OpenAPI 3.1)?
//!
//! Each row says what it takes and gives; what all rows share (credentials, failures, limits of bodies) is added here.

mod operation;

use crate::call::Call;
use crate::reply::Reply;
use crate::routes::{AnswerContent, Need, Route, Verb};
use crate::table::ROUTES;
use quorate_model::Result;
use quorate_wire::schema::{Failure, SchemaOf};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use utoipa::openapi::path::{HttpMethod, PathItem};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::openapi::{
    Components, ComponentsBuilder, InfoBuilder, License, OpenApi, OpenApiBuilder, Paths, ServerBuilder,
};

/// Header names that carry the credentials, one family after the other (C§1.1).
const CREDENTIALS: [(&str, &str); 4] = [
    ("applicationId", "X-Service-Application-Id"),
    ("apiKey", "X-Service-API-Key"),
    ("algoliaApplicationId", "X-Algolia-Application-Id"),
    ("algoliaApiKey", "X-Algolia-API-Key"),
];

/// The document as JSON: made once, some hundred kilobytes.
static DOCUMENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let document = document();
    serde_json::to_vec(&document).expect("a document of names and schemas is always written")
});

/// `GET /openapi.json`.
pub async fn get(_: &Call<'_>) -> Result<Reply> {
    Ok(Reply::ok(DOCUMENT.as_slice()))
}

/// The document of every row that is built.
pub fn document() -> OpenApi {
    let mut paths = Paths::new();
    for route in ROUTES.iter().filter(|route| !route.doc.summary.is_empty()) {
        let (path, operation) = (route.path.to_owned(), operation::operation(route));
        let method = method(route.verb);
        match paths.paths.get_mut(&path) {
            Some(item) => {
                item.merge_operations(PathItem::new(method, operation));
            }
            None => {
                paths.paths.insert(path, PathItem::new(method, operation));
            }
        }
    }
    let info = InfoBuilder::new()
        .title("Quorate")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Search, indexing and administration of a Quorate installation."))
        .license(Some(License::new("Apache-2.0")));
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([ServerBuilder::new().url("/").build()]))
        .paths(paths)
        .components(Some(components()))
        .build()
}

fn method(verb: Verb) -> HttpMethod {
    match verb {
        Verb::Get => HttpMethod::Get,
        Verb::Post => HttpMethod::Post,
        Verb::Put => HttpMethod::Put,
        Verb::Delete => HttpMethod::Delete,
    }
}

fn components() -> Components {
    let mut schemas = BTreeMap::new();
    let mut add = |of: SchemaOf| {
        let mut referred = Vec::new();
        (of.referred)(&mut referred);
        schemas.extend(referred);
        schemas.insert((of.name)().into_owned(), (of.schema)());
    };
    add(SchemaOf::of::<Failure>());
    for Route { doc, .. } in ROUTES.iter() {
        if let Some(body) = doc.body {
            add(body);
        }
        if let AnswerContent::Json(answer) | AnswerContent::Lines(answer, _) = doc.answer.content {
            add(answer);
        }
    }
    let mut components = ComponentsBuilder::new().schemas_from_iter(schemas);
    for (name, header) in CREDENTIALS {
        let scheme = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new(header)));
        components = components.security_scheme(name, scheme);
    }
    components.build()
}

/// In which words the document says what a caller must have.
fn right(need: Need) -> String {
    match need {
        Need::Nothing => "No credentials.".to_owned(),
        Need::AnyKey => "Any key.".to_owned(),
        Need::Right(acl) => format!("A key with the right `{}`.", acl.name()),
        Need::PerOperation => "A key with the right of each operation.".to_owned(),
        Need::Admin => "The admin key.".to_owned(),
    }
}
