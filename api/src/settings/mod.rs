//! What are the settings of an index, and how do they change (C§4.9)?

use crate::auth::Caller;
use crate::call::Call;
use crate::parse;
use crate::reply::Reply;
use quorate_model::{Error, ErrorKind, IndexName, Result, Settings};
use quorate_wire::writes::{Stamps, receipt_body};
use serde_json::Value;
use std::sync::Arc;

/// `GET /1/indexes/{indexName}/settings`.
pub async fn get(call: &Call<'_>) -> Result<Reply> {
    let version = call.query.integer("getVersion")?.unwrap_or(1);
    let version = u8::try_from(version).map_err(|_| Error::parameter("getVersion", "1 or 2"))?;
    let settings = call.service().settings(&call.index_name()?).await?;
    let answer = Value::Object(settings.answer(version));
    Ok(Reply::ok(answer.to_string()))
}

/// `PUT /1/indexes/{indexName}/settings`: named members change, `null` resets, the rest stays.
pub async fn set(call: &Call<'_>) -> Result<Reply> {
    let index = call.index_name()?;
    let forward = match call.query.get("forwardToReplicas") {
        Some(_) => call.query.flag("forwardToReplicas", false)?,
        None => call.query.flag("forwardToSlaves", false)?,
    };
    let changes = parse::away(&call.body, Settings::parse_body).await?;
    let current = match call.service().settings(&index).await {
        Ok(settings) => settings,
        Err(Error { kind: ErrorKind::NotFound, .. }) => Arc::new(Settings::default()),
        Err(error) => return Err(error),
    };
    let merged = current.merge(&changes)?;
    check_replicas(&call.caller, &current.index.replicas, &merged.index.replicas)?;
    if forward {
        check_forwarding(&call.caller, &merged.index.replicas)?;
    }
    let receipt = call.service().set_settings(&index, changes, forward).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, None)))
}

/// Whoever lets an index follow another one, or ends that, changes that index: the key has to be good for it, too.
fn check_replicas(caller: &Caller, before: &[String], after: &[String]) -> Result<()> {
    let (added, dropped) = (
        after.iter().filter(|entry| !before.contains(entry)),
        before.iter().filter(|entry| !after.contains(entry)),
    );
    // indices were called so when this was not looked at
    if added.clone().any(|entry| entry.starts_with("virtual(") && !entry.ends_with(')')) {
        let expected = "array of index names or virtual(name), with its closing parenthesis";
        return Err(Error::parameter("replicas", expected));
    }
    added.chain(dropped).try_for_each(|entry| check_replica(caller, entry))
}

/// Whoever asks for something of the replicas of an index with it needs a key that is good for all that there are.
pub async fn check_replicas_of(call: &Call<'_>, index: &IndexName) -> Result<()> {
    if call.caller.may_use_all() {
        return Ok(());
    }
    match call.service().settings(index).await {
        Ok(settings) => check_forwarding(&call.caller, &settings.index.replicas),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
fn check_forwarding(caller: &Caller, replicas: &[String]) -> Result<()> {
    replicas.iter().try_for_each(|entry| check_replica(caller, entry))
}

fn check_replica(caller: &Caller, entry: &str) -> Result<()> {
    let inside = entry.strip_prefix("virtual(").and_then(|rest| rest.strip_suffix(')'));
    caller.check_index(inside.unwrap_or(entry))
}
