//! How is one record added, replaced, changed or removed (C§3.5)?

use crate::call::Call;
use crate::parse;
use crate::reply::Reply;
use quorate_cluster::{CallerOp, Receipt};
use quorate_model::record::{check_object_id, parse_partial, parse_record};
use quorate_model::{Error, RecordOp, Result};
use quorate_wire::writes::{Stamps, receipt_body};

/// `POST /1/indexes/{indexName}`: adds, or replaces when the objectID exists.
pub async fn add(call: &Call<'_>) -> Result<Reply> {
    let bytes_max = call.state.limits().record_bytes_max;
    let read = move |body: &[u8]| parse_record(body, None, bytes_max);
    let (object_id, record) = parse::away(&call.body, read).await?;
    let receipt = write(call, CallerOp::Put { object_id: object_id.clone(), record }).await?;
    let object_id = object_id.as_deref().or(receipt.object_ids.first().map(String::as_str));
    Ok(Reply::created(receipt_body(
        receipt.task_id,
        &receipt.updated_at,
        Stamps::CreatedAndUpdated,
        object_id,
    )))
}

/// `PUT /1/indexes/{indexName}/{objectID}`: replaces the whole record; the path's id wins over the body's (C§2).
pub async fn put(call: &Call<'_>) -> Result<Reply> {
    let object_id = call.names[1].to_string();
    check_object_id(&object_id)?;
    let (bytes_max, id) = (call.state.limits().record_bytes_max, object_id.clone());
    let read = move |body: &[u8]| parse_record(body, Some(&id), bytes_max);
    let (_, record) = parse::away(&call.body, read).await?;
    let receipt = write(call, CallerOp::Put { object_id: Some(object_id.clone()), record }).await?;
    let body = receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, Some(&object_id));
    Ok(Reply::created(body))
}

/// `DELETE /1/indexes/{indexName}/{objectID}`: a missing record is no error (C§2).
pub async fn delete(call: &Call<'_>) -> Result<Reply> {
    let object_id = call.names[1].to_string();
    check_object_id(&object_id)?;
    let receipt = write(call, CallerOp::Ready(RecordOp::Delete { object_id })).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::DeletedAndUpdated, None)))
}

/// `POST /1/indexes/{indexName}/{objectID}/partial`: attributes and built-in operations.
pub async fn partial(call: &Call<'_>) -> Result<Reply> {
    let create = call.query.flag("createIfNotExists", true)?;
    let object_id = call.names[1].to_string();
    check_object_id(&object_id)?;
    let (bytes_max, id) = (call.state.limits().record_bytes_max, object_id.clone());
    let read = move |body: &[u8]| parse_partial(body, Some(&id), bytes_max);
    let (_, changes) = parse::away(&call.body, read).await?;
    let bytes_max = bytes_max as u64;
    let op = RecordOp::PartialUpTo { object_id: object_id.clone(), changes, create, bytes_max };
    let receipt = write(call, CallerOp::Ready(op)).await?;
    let body = receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, Some(&object_id));
    Ok(Reply::ok(body))
}

async fn write(call: &Call<'_>, op: CallerOp) -> Result<Receipt> {
    let written = call.write(&call.index_name()?, vec![op]).await;
    written.map_err(|error| Error { position: None, ..error })
}
