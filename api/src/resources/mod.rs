//! How are the synonyms and rules of an index saved, read and searched (C§11, C§10)?

pub mod recommend;

use crate::away::ON_ARBITER_BYTES_MAX;
use crate::call::Call;
use crate::parse;
use crate::reply::Reply;
use crate::settings::check_replicas_of;
use actix_web::web::{self, Bytes};
use quorate_cluster::{RawResource, Reach, Receipt, ResourceChange};
use quorate_model::record::check_object_id;
use quorate_model::resource::ResourceQuery;
use quorate_model::{Error, ObjectId, RecommendRule, ResourceKind, Result, Rule, Synonym};
use quorate_wire::resources::{resource_hits_body, saved_synonym_body};
use quorate_wire::writes::{Stamps, receipt_body};
use serde_json::{Map, Value};

/// `PUT /1/indexes/{indexName}/synonyms/{objectID}`: the path's id wins over the body's.
pub async fn save_synonym(call: &Call<'_>) -> Result<Reply> {
    let object_id = object_id(call)?;
    let id = object_id.to_owned();
    let synonym = parse::away(&call.body, move |body| Synonym::parse_body(body, &id)).await?;
    let saved = ResourceChange::Save(vec![raw(synonym.object_id, synonym.document)]);
    let receipt = change(call, ResourceKind::Synonyms, saved).await?;
    Ok(Reply::ok(saved_synonym_body(receipt.task_id, &receipt.updated_at, object_id)))
}

/// `PUT /1/indexes/{indexName}/rules/{objectID}`: the path's id wins over the body's.
pub async fn save_rule(call: &Call<'_>) -> Result<Reply> {
    let object_id = object_id(call)?;
    let id = object_id.to_owned();
    let rule = parse::away(&call.body, move |body| Rule::parse_body(body, &id)).await?;
    let saved = ResourceChange::Save(vec![raw(rule.object_id, rule.document)]);
    let receipt = change(call, ResourceKind::Rules, saved).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, Some(object_id))))
}

/// `POST …/synonyms/batch` and `…/rules/batch`: all or none; earlier ones stay unless the query string drops them.
pub async fn save_many(call: &Call<'_>, kind: ResourceKind) -> Result<Reply> {
    let replaces = match kind {
        ResourceKind::Synonyms => call.query.flag("replaceExistingSynonyms", false)?,
        ResourceKind::Rules | ResourceKind::Recommend(_) => call.query.flag("clearExistingRules", false)?,
    };
    let resources = read(call.body.clone(), kind).await?;
    let saved = if replaces { ResourceChange::Replace(resources) } else { ResourceChange::Save(resources) };
    let receipt = change(call, kind, saved).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, None)))
}

/// `GET …/synonyms/{objectID}` and `…/rules/{objectID}`: as it was saved.
pub async fn get(call: &Call<'_>, kind: ResourceKind) -> Result<Reply> {
    Ok(Reply::ok(call.service().document(&call.index_name()?, kind, object_id(call)?).await?))
}

/// `DELETE …/synonyms/{objectID}` and `…/rules/{objectID}`: a missing one is no error (C§2).
pub async fn delete(call: &Call<'_>, kind: ResourceKind) -> Result<Reply> {
    let object_id = object_id(call)?.to_owned();
    let receipt = change(call, kind, ResourceChange::Delete(object_id)).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::DeletedAndUpdated, None)))
}

/// `POST …/synonyms/clear` and `…/rules/clear`.
pub async fn clear(call: &Call<'_>, kind: ResourceKind) -> Result<Reply> {
    let receipt = change(call, kind, ResourceChange::Replace(Vec::new())).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, None)))
}

/// `POST …/synonyms/search` and `…/rules/search`. Members of the body win over the query string, where earlier clients
/// put all but the query.
pub async fn search(call: &Call<'_>, kind: ResourceKind) -> Result<Reply> {
    let mut members = Map::new();
    for name in ResourceQuery::names(kind) {
        if let Some(value) = call.query.get(name) {
            members.insert((*name).to_owned(), Value::from(value));
        }
    }
    members.extend(call.object().await?);
    let bytes_max = call.state.limits().documents_bytes_max();
    let asked = ResourceQuery { bytes_max, ..ResourceQuery::parse(kind, &members)? };
    let found = call.service().search_resources(&call.index_name()?, kind, asked).await?;
    Ok(Reply::ok(resource_hits_body(&found)))
}

fn object_id<'c>(call: &'c Call<'_>) -> Result<&'c str> {
    // the last that the path names
    let object_id = call.names.last().map_or("", |name| name.as_ref());
    check_object_id(object_id)?;
    Ok(object_id)
}

async fn change(call: &Call<'_>, kind: ResourceKind, change: ResourceChange) -> Result<Receipt> {
    let forward = match call.query.get("forwardToReplicas") {
        Some(_) => call.query.flag("forwardToReplicas", false)?,
        None => call.query.flag("forwardToSlaves", false)?,
    };
    let index = call.index_name()?;
    if forward {
        check_replicas_of(call, &index).await?;
    }
    let reach = Reach::forwarded(forward);
    call.service().change_resources(&index, kind, change, reach).await
}

/// Reads the body of a batch; a large one off the arbiter.
async fn read(body: Bytes, kind: ResourceKind) -> Result<Vec<RawResource>> {
    if body.len() <= ON_ARBITER_BYTES_MAX {
        return raw_documents(&body, kind);
    }
    let read = web::block(move || raw_documents(&body, kind)).await;
    read.unwrap_or_else(|_| Err(Error::unavailable("the node is stopping")))
}

fn raw_documents(body: &[u8], kind: ResourceKind) -> Result<Vec<RawResource>> {
    Ok(match kind {
        ResourceKind::Synonyms => {
            Synonym::parse_batch(body)?.into_iter().map(|it| raw(it.object_id, it.document)).collect()
        }
        ResourceKind::Rules => {
            Rule::parse_batch(body)?.into_iter().map(|it| raw(it.object_id, it.document)).collect()
        }
        ResourceKind::Recommend(_) => {
            RecommendRule::parse_batch(body)?.into_iter().map(|it| raw(it.object_id, it.document)).collect()
        }
    })
}

fn raw(object_id: ObjectId, document: Box<str>) -> RawResource {
    RawResource { object_id, document: document.into_string().into_bytes() }
}
