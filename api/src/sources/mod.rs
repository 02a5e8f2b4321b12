//! From where may the service be called, and how is that changed (C§13.5)?

pub mod gate;

use crate::call::Call;
use crate::parse;
use crate::reply::Reply;
use quorate_model::error::shortened;
use quorate_model::source::canonical;
use quorate_model::{AllowedSource, Error, Result, limits};
use quorate_wire::clusters::stamp_body;
use quorate_wire::schema::{Source, Sources, bytes};
use serde_json::Value;

/// `GET /1/security/sources`.
pub async fn list(call: &Call<'_>) -> Result<Reply> {
    let sources = call.service().sources();
    let shown = |it: &AllowedSource| Source {
        source: it.source().to_owned(),
        description: it.description().map(str::to_owned),
    };
    Ok(Reply::ok(bytes(&Sources(sources.list().iter().map(shown).collect()))))
}

/// `PUT /1/security/sources`: replaces the list.
pub async fn set(call: &Call<'_>) -> Result<Reply> {
    let Value::Array(items) = read(call).await? else {
        return Err(Error::invalid("The body must be an array of allowed sources"));
    };
    if items.len() > limits::SOURCES_MAX {
        return Err(Error::invalid(format!("There may be at most {} allowed sources", limits::SOURCES_MAX)));
    }
    let at =
        |(position, item)| source(item).map_err(|error| Error { position: Some(position as u64), ..error });
    let sources = items.iter().enumerate().map(at).collect::<Result<_>>()?;
    let updated_at = call.service().set_sources(sources).await?;
    Ok(Reply::ok(stamp_body("updatedAt", &updated_at)))
}

/// `POST /1/security/sources/append`: one more, or a new description of one that is there.
pub async fn append(call: &Call<'_>) -> Result<Reply> {
    let source = source(&read(call).await?)?;
    let created_at = call.service().append_source(source).await?;
    Ok(Reply::ok(stamp_body("createdAt", &created_at)))
}

/// `DELETE /1/security/sources/{source}`.
pub async fn delete(call: &Call<'_>) -> Result<Reply> {
    let source = canonical(&call.names[0])?;
    let deleted_at = call.service().remove_source(&source).await?;
    Ok(Reply::ok(stamp_body("deletedAt", &deleted_at)))
}

async fn read(call: &Call<'_>) -> Result<Value> {
    let read = |body: &[u8]| {
        parse::check_depth(body)?;
        parse::shaped(body)
    };
    parse::away(&call.body, read).await
}

fn source(item: &Value) -> Result<AllowedSource> {
    let Value::Object(members) = item else {
        return Err(Error::invalid("An allowed source must be an object with the member source"));
    };
    if let Some(name) = members.keys().find(|name| !["source", "description"].contains(&name.as_str())) {
        return Err(Error::invalid(format!("Unknown parameter: {}", shortened(name))));
    }
    let text = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(Error::parameter(name, "string"))
        }
    };
    let source =
        text("source")?.ok_or_else(|| Error::invalid("source is required: a network in CIDR form"))?;
    AllowedSource::new(source, text("description")?.map(str::to_owned))
}
