//! How does a batch become operations (C§3.5, C§13.2)?
//!
//! Hot path: imports pass here. The list is read in place: each `body` stays a slice of the request until its
//! record is minified, and no tree of values is built. Large batches are read off the arbiter.

use crate::auth::Caller;
use crate::away::ON_ARBITER_BYTES_MAX;
use crate::call::Call;
use crate::parse::{Object, TextPosition, check_object, shaped};
use crate::reply::Reply;
use actix_web::web::{self, Bytes};
use quorate_cluster::CallerOp;
use quorate_model::record::{BatchAction, at_position, parse_partial, parse_record};
use quorate_model::{Acl, Error, IndexName, RecordOp, Result, limits};
use quorate_wire::writes::{batch_body, multi_batch_body};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// `POST /1/indexes/{indexName}/batch`.
pub async fn one_index(call: &Call<'_>) -> Result<Reply> {
    let index = call.index_name()?;
    let ops = read(call, Scope::PathIndex(index.clone())).await?;
    let ops = ops.into_iter().map(|(_, op)| op).collect();
    let receipt = call.write(&index, ops).await.map_err(in_batch)?;
    Ok(Reply::ok(batch_body(receipt.task_id, &receipt.object_ids)))
}

/// `POST /1/indexes/*/batch`: one task for each index.
pub async fn many_indices(call: &Call<'_>) -> Result<Reply> {
    let ops = read(call, Scope::EachNamesIndex).await?;
    ops.iter().filter_map(|(index, _)| index.as_ref()).for_each(|index| call.note.about(index));
    let named = ops.into_iter().map(|(index, op)| (index.expect("each operation names its index"), op));
    let (tasks, object_ids, at) = match call.user()? {
        Some(user) => call.service().write_many_for(&user, named.collect()).await,
        None => call.service().write_many(named.collect()).await,
    }
    .map_err(in_batch)?;
    Ok(Reply::ok(multi_batch_body(&tasks, &object_ids, &at)))
}

/// As errors of batches are worded, when it is of one operation.
fn in_batch(error: Error) -> Error {
    match error.position {
        Some(position) => at_position(error, position),
        None => error,
    }
}

/// Where the index of an operation is named.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Scope {
    /// In the path, for all of them.
    PathIndex(IndexName),
    EachNamesIndex,
}

type Ops = Vec<(Option<IndexName>, CallerOp)>;

async fn read(call: &Call<'_>, scope: Scope) -> Result<Ops> {
    let (caller, body) = (call.caller.clone(), call.body.clone());
    let record_bytes_max = call.state.limits().record_bytes_max;
    let reader = Reader { caller, body, scope, record_bytes_max };
    if reader.body.len() <= ON_ARBITER_BYTES_MAX {
        return reader.ops();
    }
    let read = web::block(move || reader.ops()).await;
    read.unwrap_or_else(|_| Err(Error::unavailable("the node is stopping")))
}

struct Reader {
    caller: Caller,
    body: Bytes,
    scope: Scope,
    record_bytes_max: usize,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'a> {
    #[serde(borrow)]
    requests: Option<Requests<'a>>,
    #[serde(rename = "apiKey")]
    _api_key: Option<de::IgnoredAny>,
}
struct Requests<'a>(Vec<Item<'a>>);

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Item<'a> {
    #[serde(borrow)]
    action: Option<Text<'a>>,
    #[serde(borrow, rename = "indexName")]
    index_name: Option<Text<'a>>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    /// Earlier clients say it twice: the one in the body counts.
    #[serde(rename = "objectID")]
    _object_id: Option<de::IgnoredAny>,
}

/// A text that stays a slice of the request unless it has escapes; a bare `Option<Cow<str>>` would always be copied.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Requests<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded;
        impl<'de> Visitor<'de> for Bounded {
            type Value = Requests<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of operations")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(Object(item)) = seq.next_element()? {
                    if items.len() == limits::BATCH_OPS_MAX {
                        let text = format!("a batch has at most {} operations", limits::BATCH_OPS_MAX);
                        return Err(de::Error::custom(text));
                    }
                    items.push(item);
                }
                Ok(Requests(items))
            }
        }
        deserializer.deserialize_seq(Bounded)
    }
}

impl Reader {
    fn ops(&self) -> Result<Ops> {
        check_object(&self.body)?;
        let body: Body<'_> = shaped(&self.body)?;
        let items =
            body.requests.ok_or_else(|| Error::invalid("requests is required: a list of operations"))?.0;
        if items.is_empty() {
            self.check_may_write()?;
        }
        let mut ops = Vec::with_capacity(items.len());
        let mut last: Option<IndexName> = None;
        for (position, item) in items.iter().enumerate() {
            let position = position as u64;
            let index = self.index(item, position, &mut last)?;
            ops.push((index, self.op(item, position)?));
        }
        Ok(ops)
    }

    /// A batch of nothing is a write too.
    fn check_may_write(&self) -> Result<()> {
        let rights = [Acl::AddObject, Acl::DeleteObject, Acl::DeleteIndex];
        if rights.iter().any(|&right| self.caller.has(right)) {
            return Ok(());
        }
        Err(Error::forbidden("Method not allowed with this API key"))
    }

    fn index(
        &self,
        item: &Item<'_>,
        position: u64,
        last: &mut Option<IndexName>,
    ) -> Result<Option<IndexName>> {
        let name = item.index_name.as_ref().map(|name| name.0.as_ref());
        if let Scope::PathIndex(index) = &self.scope {
            return match name.filter(|name| *name != index.as_str()) {
                Some(other) => {
                    let text = format!(
                        "indexName is {} and not {index} in the operation at the position {position}: /1/indexes/*/batch takes operations on several indices",
                        quorate_model::error::shortened(other)
                    );
                    Err(Error { position: Some(position), ..Error::invalid(text) })
                }
                None => Ok(None),
            };
        }
        let name = name.ok_or_else(|| missing("indexName", position))?;
        if last.as_ref().is_none_or(|last| last.as_str() != name) {
            let index = IndexName::new(name)?;
            self.caller.check_index(index.as_str())?;
            *last = Some(index);
        }
        Ok(last.clone())
    }

    fn op(&self, item: &Item<'_>, position: u64) -> Result<CallerOp> {
        let action = item.action.as_ref().map(|action| action.0.as_ref());
        let action = action.ok_or_else(|| missing("action", position))?;
        let action =
            BatchAction::parse(action).map_err(|error| Error { position: Some(position), ..error })?;
        self.check_right(action, item)?;
        let body = || item.body.map_or(&b"{}"[..], |body| body.get().as_bytes());
        let at = |error| at_position(error, position);
        match action {
            BatchAction::Delete => Ok(CallerOp::DeleteIndex),
            BatchAction::Clear => Ok(CallerOp::Ready(RecordOp::Clear)),
            BatchAction::DeleteObject => {
                let (object_id, _) = parse_partial(body(), None, self.record_bytes_max).map_err(at)?;
                let object_id = object_id.ok_or_else(|| missing_id(position))?;
                Ok(CallerOp::Ready(RecordOp::Delete { object_id }))
            }
            BatchAction::PartialUpdateObject | BatchAction::PartialUpdateObjectNoCreate => {
                let (object_id, changes) = parse_partial(body(), None, self.record_bytes_max).map_err(at)?;
                let object_id = object_id.ok_or_else(|| missing_id(position))?;
                let create = action == BatchAction::PartialUpdateObject;
                let bytes_max = self.record_bytes_max as u64;
                Ok(CallerOp::Ready(RecordOp::PartialUpTo { object_id, changes, create, bytes_max }))
            }
            BatchAction::AddObject | BatchAction::UpdateObject => {
                if item.body.is_none() {
                    return Err(missing("body", position));
                }
                let (object_id, record) = parse_record(body(), None, self.record_bytes_max).map_err(at)?;
                if action == BatchAction::UpdateObject && object_id.is_none() {
                    return Err(missing_id(position));
                }
                Ok(CallerOp::Put { object_id, record })
            }
        }
    }

    fn check_right(&self, action: BatchAction, item: &Item<'_>) -> Result<()> {
        let right = action.acl();
        if self.caller.has(right) {
            return Ok(());
        }
        let what = if right == Acl::AddObject { "update" } else { "delete" };
        let place = TextPosition::of(&self.body, self.end(item));
        Err(Error::invalid(format!("Not enough rights to {what} an object near {place}")))
    }

    /// Offset just behind what is known of an operation.
    fn end(&self, item: &Item<'_>) -> usize {
        let slice = match (item.body, item.action.as_ref()) {
            (Some(body), _) => body.get(),
            (None, Some(Text(Cow::Borrowed(action)))) => action,
            (None, Some(Text(Cow::Owned(_))) | None) => return 0,
        };
        (slice.as_ptr() as usize + slice.len()).saturating_sub(self.body.as_ptr() as usize)
    }
}

fn missing_id(position: u64) -> Error {
    missing("objectID", position)
}
fn missing(member: &str, position: u64) -> Error {
    let error = Error::invalid(format!("{member} is required in the operation at the position {position}"));
    Error { position: Some(position), ..error }
}

#[cfg(test)]
mod tests;
