//! How are the synonyms and rules of an index saved, read and searched (§4.6, §4.8)?

use crate::call::Call;
use crate::parse::{self, ON_ARBITER_BYTES_MAX};
use crate::reply::Reply;
use actix_web::web::{self, Bytes};
use quorate_cluster::{DocumentChange, RawDocument, Reach, Receipt};
use quorate_model::document::DocumentQuery;
use quorate_model::record::check_object_id;
use quorate_model::{DocumentKind, Error, Result, Rule, Synonym};
use quorate_wire::documents::{document_hits_body, saved_synonym_body};
use quorate_wire::writes::{Stamps, receipt_body};
use serde_json::{Map, Value};

/// `PUT /1/indexes/{indexName}/synonyms/{objectID}` and `…/rules/{objectID}`: the path's id wins over the body's.
pub async fn save_one(call: &Call<'_>, kind: DocumentKind) -> Result<Reply> {
    let object_id = object_id(call)?;
    let document = match kind {
        DocumentKind::Synonyms => {
            let id = object_id.to_owned();
            raw_synonym(parse::away(&call.body, move |body| Synonym::parse_body(body, &id)).await?)
        }
        DocumentKind::Rules => {
            let id = object_id.to_owned();
            raw_rule(parse::away(&call.body, move |body| Rule::parse_body(body, &id)).await?)
        }
    };
    let receipt = change(call, kind, DocumentChange::Save(vec![document])).await?;
    Ok(Reply::ok(match kind {
        DocumentKind::Synonyms => saved_synonym_body(receipt.task_id, &receipt.updated_at, object_id),
        DocumentKind::Rules => {
            receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, Some(object_id))
        }
    }))
}

/// `POST …/synonyms/batch` and `…/rules/batch`: all or none; earlier ones stay unless the query string drops them.
pub async fn save_many(call: &Call<'_>, kind: DocumentKind) -> Result<Reply> {
    let replaces = match kind {
        DocumentKind::Synonyms => call.query.flag("replaceExistingSynonyms", false)?,
        DocumentKind::Rules => call.query.flag("clearExistingRules", false)?,
    };
    let documents = read(call.body.clone(), kind).await?;
    let saved = if replaces { DocumentChange::Replace(documents) } else { DocumentChange::Save(documents) };
    let receipt = change(call, kind, saved).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, None)))
}

/// `GET …/synonyms/{objectID}` and `…/rules/{objectID}`: as it was saved.
pub async fn get(call: &Call<'_>, kind: DocumentKind) -> Result<Reply> {
    Ok(Reply::ok(call.service().document(&call.index_name()?, kind, object_id(call)?).await?))
}

/// `DELETE …/synonyms/{objectID}` and `…/rules/{objectID}`: a missing one is no error (C§2).
pub async fn delete(call: &Call<'_>, kind: DocumentKind) -> Result<Reply> {
    let object_id = object_id(call)?.to_owned();
    let receipt = change(call, kind, DocumentChange::Delete(object_id)).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::DeletedAndUpdated, None)))
}

/// `POST …/synonyms/clear` and `…/rules/clear`.
pub async fn clear(call: &Call<'_>, kind: DocumentKind) -> Result<Reply> {
    let receipt = change(call, kind, DocumentChange::Replace(Vec::new())).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, None)))
}

/// `POST …/synonyms/search` and `…/rules/search`. Members of the body win over the query string, where earlier clients
/// put all but the query.
pub async fn search(call: &Call<'_>, kind: DocumentKind) -> Result<Reply> {
    let mut members = Map::new();
    for name in DocumentQuery::names(kind) {
        if let Some(value) = call.query.get(name) {
            members.insert((*name).to_owned(), Value::from(value));
        }
    }
    members.extend(call.object().await?);
    let asked = DocumentQuery::parse(kind, &members)?;
    let found = call.service().search_documents(&call.index_name()?, kind, asked).await?;
    Ok(Reply::ok(document_hits_body(&found)))
}

fn object_id<'c>(call: &'c Call<'_>) -> Result<&'c str> {
    let object_id = call.names[1].as_ref();
    check_object_id(object_id)?;
    Ok(object_id)
}

async fn change(call: &Call<'_>, kind: DocumentKind, change: DocumentChange) -> Result<Receipt> {
    let forward = match call.query.get("forwardToReplicas") {
        Some(_) => call.query.flag("forwardToReplicas", false)?,
        None => call.query.flag("forwardToSlaves", false)?,
    };
    let reach = Reach::forwarded(forward);
    call.service().change_documents(&call.index_name()?, kind, change, reach).await
}

/// Reads the body of a batch; a large one off the arbiter.
async fn read(body: Bytes, kind: DocumentKind) -> Result<Vec<RawDocument>> {
    if body.len() <= ON_ARBITER_BYTES_MAX {
        return raw_documents(&body, kind);
    }
    let read = web::block(move || raw_documents(&body, kind)).await;
    read.unwrap_or_else(|_| Err(Error::unavailable("the node is stopping")))
}

fn raw_documents(body: &[u8], kind: DocumentKind) -> Result<Vec<RawDocument>> {
    Ok(match kind {
        DocumentKind::Synonyms => Synonym::parse_batch(body)?.into_iter().map(raw_synonym).collect(),
        DocumentKind::Rules => Rule::parse_batch(body)?.into_iter().map(raw_rule).collect(),
    })
}

fn raw_synonym(synonym: Synonym) -> RawDocument {
    RawDocument { object_id: synonym.object_id, document: synonym.document.into_string().into_bytes() }
}

fn raw_rule(rule: Rule) -> RawDocument {
    RawDocument { object_id: rule.object_id, document: rule.document.into_string().into_bytes() }
}
