//! What does the document say of one row?

use super::{CREDENTIALS, right};
use crate::routes::{AnswerContent, Argument, ArgumentKind, BodyKind, Need, Route, Verb, Work};
use quorate_wire::schema::{Failure, SchemaOf, query_parameters, whole_number};
use utoipa::openapi::path::{Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{Schema, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content, ObjectBuilder, Ref, RefOr, Required};
use utoipa::{PartialSchema, ToSchema};

const JSON: &str = "application/json";
const JSON_LINES: &str = "application/x-ndjson";

/// The row as an operation of the document.
pub fn operation<H>(route: &Route<H>) -> Operation {
    let doc = &route.doc;
    let mut operation = OperationBuilder::new()
        .operation_id(Some(id(route)))
        .tag(tag(route.path))
        .summary(Some(doc.summary))
        .description(Some(right(route.need)))
        .request_body(doc.body.map(|of| body(of, route.body)));
    operation = operation.response(doc.answer.status.to_string(), answer(doc.answer.content, "Done."));
    if let Some(status) = doc.answer.or {
        operation = operation.response(status.to_string(), answer(doc.answer.content, "Not well."));
    }
    for (status, meaning) in failures(route) {
        operation = operation.response(status.to_string(), failure(meaning));
    }
    for parameter in parameters(route) {
        operation = operation.parameter(parameter);
    }
    if route.need != Need::Nothing {
        for family in CREDENTIALS.chunks(2) {
            let mut both = SecurityRequirement::default();
            for (name, _) in family {
                both = both.add(*name, [] as [&str; 0]);
            }
            operation = operation.security(both);
        }
    }
    operation.build()
}

/// Its verb and the words of its path: no two rows have the same.
fn id<H>(route: &Route<H>) -> String {
    let words =
        route.path.split(|c: char| !c.is_ascii_alphanumeric() && c != '*').filter(|word| !word.is_empty());
    let mut id = route.verb.as_str().to_ascii_lowercase();
    for word in words {
        id.push('_');
        id.push_str(if word == "*" { "all" } else { word });
    }
    id
}

/// What the document gathers it with: the first word of its path.
fn tag(path: &str) -> &str {
    path.split('/').find(|part| !matches!(*part, "" | "1")).unwrap_or("")
}

fn body(of: SchemaOf, kind: BodyKind) -> RequestBody {
    let is_needed = match (of.schema)() {
        RefOr::T(Schema::Object(object)) => !object.required.is_empty(),
        RefOr::T(Schema::Array(_)) => true,
        _ => matches!(kind, BodyKind::Records | BodyKind::Events | BodyKind::Lines),
    };
    let required = if is_needed { Required::True } else { Required::False };
    let format = if kind == BodyKind::Lines { JSON_LINES } else { JSON };
    RequestBodyBuilder::new().content(format, Content::new(Some(named(of)))).required(Some(required)).build()
}

fn answer(content: AnswerContent, meaning: &str) -> Response {
    let response = ResponseBuilder::new().description(meaning);
    let response = match content {
        AnswerContent::None => response,
        AnswerContent::Json(of) => response.content(JSON, Content::new(Some(named(of)))),
        AnswerContent::Lines(of, format) => response
            .content(JSON, Content::new(Some(named(of))))
            .content(format, Content::new(Some(String::schema()))),
        AnswerContent::Text(format) => response.content(format, Content::new(Some(String::schema()))),
    };
    response.build()
}

/// How a call of the row can fail, beside defects.
fn failures<H>(route: &Route<H>) -> Vec<(u16, &'static str)> {
    let mut failures = match (route.need, route.work) {
        // on any address, from anywhere
        (Need::Nothing, Work::Watch) if route.doc.query.is_empty() => vec![],
        (Need::Nothing, Work::Watch) => vec![(400, WRONG)],
        (Need::Nothing, _) => vec![(403, "This address does not take it, or not from there."), (503, BUSY)],
        _ => failures_of_callers(route),
    };
    failures.retain(|(status, _)| route.doc.answer.or != Some(*status));
    failures
}

/// How a call fails that needs a key.
fn failures_of_callers<H>(route: &Route<H>) -> Vec<(u16, &'static str)> {
    let mut failures =
        vec![(400, WRONG), (403, "The credentials do not allow it."), (404, "It does not exist.")];
    if tag(route.path) == "clusters" {
        failures.push((402, "The installation does not place records by user."));
    }
    if route.says_unauthorized() {
        failures.push((401, "The credentials do not allow it."));
    }
    if route.body == BodyKind::Lines {
        failures.push((422, "A line is not as it has to be."));
    }
    if matches!(tag(route.path), "events" | "usertokens") || route.body == BodyKind::Events {
        failures.push((422, "Events, or the token of a user, are not as they have to be."));
    }
    if route.is_of_suggestions() {
        failures.push((402, "The installation places records by user."));
        failures.push((422, "There is one for this index."));
    }
    let too_big = match route.body {
        BodyKind::Object => "The body is too big.",
        BodyKind::Search => "The body is too big: see the option search-body-bytes-max.",
        BodyKind::Several => "The body is too big: see the option multi-body-bytes-max.",
        BodyKind::Records | BodyKind::Lines => "The body is too big: see the option body-bytes-max.",
        BodyKind::Entries => "The body is too big: it may have 10 MB.",
        BodyKind::Events => "The body is too big: it may have less than 2 MB.",
    };
    failures.extend([
        (413, too_big),
        (429, "The key allows no further call in this hour, or the address has tried too many wrong ones."),
        (503, BUSY),
    ]);
    failures
}
const WRONG: &str = "The call is wrong; the message says what was expected.";
const BUSY: &str = "This node cannot do it now; another one may.";

fn failure(meaning: &str) -> Response {
    let content = Content::new(Some(Ref::from_schema_name(Failure::name())));
    ResponseBuilder::new().description(meaning).content(JSON, content).build()
}

fn named(of: SchemaOf) -> RefOr<Schema> {
    Ref::from_schema_name((of.name)()).into()
}

fn parameters<H>(route: &Route<H>) -> Vec<Parameter> {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Parameter> = names
        .map(|name| {
            let of_path = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path);
            of_path.required(Required::True).schema(Some(of_path_part(name))).build()
        })
        .collect();
    if let Some(meaning) = user(route) {
        parameters.push(parameter(USER, ParameterIn::Header, meaning, String::schema()));
    }
    parameters.extend(route.doc.query.iter().map(argument));
    if route.doc.takes_search_parameters {
        parameters.extend(query_parameters());
    }
    parameters
}

fn of_path_part(name: &str) -> RefOr<Schema> {
    match name {
        "taskID" => whole_number(1, u64::MAX).into(),
        "group" => whole_number(0, u16::MAX.into()).into(),
        _ => String::schema(),
    }
}

fn argument(argument: &Argument) -> Parameter {
    let schema: RefOr<Schema> = match argument.kind {
        ArgumentKind::Flag => bool::schema(),
        ArgumentKind::Text => String::schema(),
        ArgumentKind::Count(from, to) => whole_number(from, to).into(),
        ArgumentKind::Choice(words) => {
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.iter().copied())).into()
        }
    };
    parameter(argument.name, ParameterIn::Query, argument.summary, schema)
}

fn parameter(name: &str, place: ParameterIn, meaning: &str, schema: RefOr<Schema>) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(Required::False)
        .description(Some(meaning))
        .schema(Some(schema))
        .build()
}

const USER: &str = "X-Service-User-ID";

/// What the header with a user means to a row, if anything.
fn user<H>(route: &Route<H>) -> Option<&'static str> {
    match (route.verb, route.path) {
        (Verb::Post | Verb::Delete, "/1/clusters/mapping") => Some("The user that it is about."),
        (_, path) if path.starts_with("/1/indexes/") => {
            Some("Whose records it is about, where the installation places records by user.")
        }
        _ => None,
    }
}
