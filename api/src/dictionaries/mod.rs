//! How are dictionaries changed, searched and set (C§12)?

use crate::call::Call;
use crate::parse;
use crate::reply::Reply;
use quorate_cluster::{DictionaryLanguage, Receipt};
use quorate_model::dictionary::{DictionaryChange, DictionaryQuery, DictionarySettings};
use quorate_model::{DictionaryKind, Result};
use quorate_wire::dictionaries::{dictionary_hits_body, dictionary_languages_body, dictionary_settings_body};
use quorate_wire::writes::{Stamps, receipt_body};
use serde_json::{Map, Value};

/// `POST /1/dictionaries/{dictionaryName}/batch`: all or none of it.
pub async fn batch(call: &Call<'_>) -> Result<Reply> {
    let kind = DictionaryKind::named(&call.names[0])?;
    let change = parse::away(&call.body, move |body| DictionaryChange::parse(kind, body)).await?;
    Ok(changed(&call.service().change_dictionary(kind, change).await?))
}

/// `GET /1/dictionaries/{dictionaryName}/search`.
pub async fn get(call: &Call<'_>) -> Result<Reply> {
    search(call, &in_query_string(call)).await
}

/// `POST /1/dictionaries/{dictionaryName}/search`. Members of the body win over the query string.
pub async fn post(call: &Call<'_>) -> Result<Reply> {
    let mut members = in_query_string(call);
    members.extend(call.object().await?);
    search(call, &members).await
}

fn in_query_string(call: &Call<'_>) -> Map<String, Value> {
    let given = |name: &str| Some((name.to_owned(), Value::from(call.query.get(name)?)));
    DictionaryQuery::NAMES.into_iter().filter_map(given).collect()
}

async fn search(call: &Call<'_>, members: &Map<String, Value>) -> Result<Reply> {
    let kind = DictionaryKind::named(&call.names[0])?;
    let asked = DictionaryQuery::parse(members)?;
    Ok(Reply::ok(dictionary_hits_body(&call.service().search_dictionary(kind, asked).await?)))
}

/// `PUT /1/dictionaries/*/settings`.
pub async fn set_settings(call: &Call<'_>) -> Result<Reply> {
    let changes = DictionarySettings::parse(&call.object().await?)?;
    Ok(changed(&call.service().set_standard_entries(changes).await?))
}

/// `GET /1/dictionaries/*/settings`.
pub async fn settings(call: &Call<'_>) -> Result<Reply> {
    Ok(Reply::ok(dictionary_settings_body(&call.service().dictionary_settings()?)))
}

/// `GET /1/dictionaries/*/languages`.
pub async fn languages(call: &Call<'_>) -> Result<Reply> {
    let languages = call.service().dictionary_languages()?;
    let by_code = languages.iter().map(|DictionaryLanguage { code, entries }| (*code, *entries));
    Ok(Reply::ok(dictionary_languages_body(by_code)))
}

fn changed(receipt: &Receipt) -> Reply {
    Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, None))
}
