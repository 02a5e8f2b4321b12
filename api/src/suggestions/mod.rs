//! How are suggestions of queries made (C§16)?

use crate::auth::INVALID_CREDENTIALS;
use crate::call::Call;
use crate::parse;
use crate::reply::{Content, Reply};
use crate::settings::check_replicas_of;
use actix_web::http::header;
use quorate_cluster::meta::SuggestionsRow;
use quorate_cluster::rfc3339;
use quorate_model::{Acl, Error, ErrorKind, IndexName, Result, SuggestionConfig};
use quorate_wire::schema::{SuggestionsChanged, SuggestionsStatus, bytes};
use quorate_wire::suggestions::{asked_body, config_body, configs_body, log_array};

const CREATED: &str = "Configuration was created, and a new indexing job has been scheduled.";
const UPDATED: &str = "Configuration was updated, and a new indexing job has been scheduled.";
const DELETED: &str = "Configuration was deleted with success.";

/// `POST /1/configs`: a configuration for an index that has none.
pub async fn create(call: &Call<'_>) -> Result<Reply> {
    let config = read(call, None).await?;
    call.service().create_suggestions(config).await?;
    Ok(done(CREATED))
}

/// `PUT /1/configs/{indexName}`: another configuration for an index, or its first one.
pub async fn set(call: &Call<'_>) -> Result<Reply> {
    let index = named(call)?;
    let config = read(call, Some(index)).await?;
    let is_new = call.service().set_suggestions(config).await?;
    Ok(done(if is_new { CREATED } else { UPDATED }))
}

/// `DELETE /1/configs/{indexName}`: the index stays as it is.
pub async fn delete(call: &Call<'_>) -> Result<Reply> {
    call.service().delete_suggestions(&named(call)?).await?;
    Ok(done(DELETED))
}

/// `GET /1/configs/{indexName}`.
pub async fn get(call: &Call<'_>) -> Result<Reply> {
    let row = call.service().suggestions_of(&named(call)?).await?;
    Ok(Reply::ok(config_body(call.service().app_id(), &row.config.to_json())))
}

/// `GET /1/configs`: those of indices that the key may use.
pub async fn list(call: &Call<'_>) -> Result<Reply> {
    let rows = call.service().all_suggestions().await?;
    let shown = rows.iter().filter(|row| call.caller.may_use(row.config.index_name.as_str()));
    Ok(Reply::ok(configs_body(call.service().app_id(), shown.map(|row| row.config.to_json()))))
}

/// `GET /1/configs/{indexName}/status`.
pub async fn status(call: &Call<'_>) -> Result<Reply> {
    let row = call.service().suggestions_of(&named(call)?).await?;
    Ok(Reply::ok(bytes(&shown(&row))))
}

fn done(message: &str) -> Reply {
    Reply::ok(bytes(&SuggestionsChanged { status: 200, message: message.to_owned() }))
}

fn shown(row: &SuggestionsRow) -> SuggestionsStatus {
    let built = row.built.as_ref();
    let success = built.and_then(|built| built.last_success);
    SuggestionsStatus {
        index_name: row.config.index_name.as_str().to_owned(),
        is_running: row.is_running(),
        last_built_at: built.map(|built| rfc3339(built.ended_ms)),
        last_successful_built_at: success.map(|(ended_ms, _)| rfc3339(ended_ms)),
        last_successful_build_duration: success
            .map(|(_, took_ms)| format!("{}.{:03}s", took_ms / 1_000, took_ms % 1_000)),
    }
}

/// `GET /1/logs/{indexName}`: the log of the last build, as lines of JSON. Official clients, and whoever wants JSON, get a list of the
/// same: they read an answer as one value.
pub async fn log(call: &Call<'_>) -> Result<Reply> {
    let lines = call.service().suggestions_log(&named(call)?).await?;
    let text_of = |name| call.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    const AGENT: &str = "x-algolia-agent";
    let is_client = call.headers.contains_key(AGENT)
        || call.query.get_any_case(AGENT).is_some()
        // the Python client names itself there alone
        || text_of(header::USER_AGENT).starts_with("Algolia for ");
    Ok(match is_client || text_of(header::ACCEPT).contains("application/json") {
        true => Reply::ok(log_array(&lines)),
        false => Reply { content: Content::JsonLines, ..Reply::ok(lines) },
    })
}

/// `POST /admin/suggestions/{indexName}/build`.
pub async fn build(call: &Call<'_>) -> Result<Reply> {
    let index = named(call)?;
    call.service().build_suggestions(&index).await?;
    Ok(Reply::ok(asked_body(index.as_str())))
}

/// The suggestions index that the path names, if the key may use it.
fn named(call: &Call<'_>) -> Result<IndexName> {
    let index = call.index_name()?;
    check_index(call, &index)?;
    Ok(index)
}

/// The configuration of the body, if the key may use every index that it names, and every replica whose searches it counts.
async fn read(call: &Call<'_>, named: Option<IndexName>) -> Result<SuggestionConfig> {
    let read = move |body: &[u8]| SuggestionConfig::read(&parse::object(body)?, named.as_ref());
    let config = parse::away(&call.body, read).await?;
    check_index(call, &config.index_name)?;
    config.reads().try_for_each(|index| check_index(call, index))?;
    if call.caller.forces_parameters() {
        let text = "This API key forces parameters: suggestions would be made of what it does not show";
        return Err(not_allowed(Error::forbidden(text), ""));
    }
    for source in config.source_indices.iter().filter(|source| source.replicas) {
        // who gives it others later needs a key for them
        check_replicas_of(call, &source.index_name).await.map_err(|error| not_allowed(error, ""))?;
    }
    check_records(call, &config.index_name).await?;
    Ok(config)
}

/// A build replaces all records: of an index that is no index of suggestions, only for who may do that.
async fn check_records(call: &Call<'_>, index: &IndexName) -> Result<()> {
    // asked first: then this node knows of the index what others do
    match call.service().suggestions_of(index).await {
        Ok(_) => return Ok(()),
        Err(error) if error.kind == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if !call.service().has_index(index)? {
        return Ok(());
    }
    for right in [Acl::AddObject, Acl::DeleteIndex] {
        if !call.caller.has(right) {
            let error = Error::forbidden("Method not allowed with this API key");
            return Err(not_allowed(error, right.name()));
        }
    }
    Ok(())
}

fn check_index(call: &Call<'_>, index: &IndexName) -> Result<()> {
    call.caller.check_index(index.as_str()).map_err(|error| not_allowed(error, ""))
}

/// How this part of the interface says that a caller may not do something (C§19, C§16.4); `right` is the one that it needs.
pub fn not_allowed(error: Error, right: &str) -> Error {
    if error.kind != ErrorKind::Forbidden {
        return error;
    }
    let message = match error.message.as_str() {
        INVALID_CREDENTIALS => "Invalid credentials".to_owned(),
        "Method not allowed with this API key" => {
            format!("The provided API key is missing the \"{right}\" ACL.")
        }
        _ => error.message,
    };
    Error { kind: ErrorKind::Unauthorized, message, ..error }
}
