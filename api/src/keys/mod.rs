//! How are API keys made, read, changed, deleted and restored (C§13)?
//!
//! All of it needs the admin key, but that a key reads itself. Whoever has no admin key hears nothing of other keys, not even
//! whether they are there.

use crate::auth::pattern::matches;
use crate::auth::{Caller, Restrictions};
use crate::call::Call;
use crate::reply::Reply;
use quorate_model::{Acl, ApiKey, Error, ErrorKind, IndexName, Result};
use quorate_wire::clusters::stamp_body;
use quorate_wire::keys::{Shown, key_body, keys_body};
use quorate_wire::schema::{KeyCreated, KeyUpdated, bytes};
use subtle::ConstantTimeEq;

/// `POST /1/keys`.
pub async fn create(call: &Call<'_>) -> Result<Reply> {
    create_for(call, None).await
}
/// `POST /1/indexes/{indexName}/keys`.
pub async fn create_of_index(call: &Call<'_>) -> Result<Reply> {
    create_for(call, Some(call.index_name()?)).await
}
async fn create_for(call: &Call<'_>, index: Option<IndexName>) -> Result<Reply> {
    let (value, at) = call.service().create_key(wanted(call, index.as_ref()).await?).await?;
    Ok(Reply::ok(bytes(&KeyCreated { key: value, created_at: at })))
}

/// `PUT /1/keys/{key}`: what is not given gets its default.
pub async fn update(call: &Call<'_>) -> Result<Reply> {
    let value = &call.names[0];
    let key = wanted(call, None).await?;
    if let Some(index) = call.service().key(value.as_ref()).and_then(|key| key.index.clone()) {
        return Err(Error::invalid(format!(
            "The key is for the index {index}: change it at /1/indexes/{{indexName}}/keys/{{key}}"
        )));
    }
    let at = call.service().update_key(value, key).await?;
    Ok(Reply::ok(bytes(&KeyUpdated { key: value.to_string(), updated_at: at })))
}
/// `PUT /1/indexes/{indexName}/keys/{key}`: a key that the index does not have is no error, and is not made (C§13.1).
pub async fn update_of_index(call: &Call<'_>) -> Result<Reply> {
    let (index, value) = (call.index_name()?, &call.names[1]);
    let key = wanted(call, Some(&index)).await?;
    let is_of_index = call.service().key(value.as_ref()).is_some_and(|key| key.is_of(index.as_str()));
    let updated = match is_of_index {
        true => call.service().update_key(value, key).await,
        false => Err(Error::not_found("")),
    };
    let at = match updated {
        Err(Error { kind: ErrorKind::NotFound, .. }) => call.service().now_text(),
        updated => updated?,
    };
    Ok(Reply::ok(bytes(&KeyUpdated { key: value.to_string(), updated_at: at })))
}

/// `DELETE /1/keys/{key}`, also of a key for one index.
pub async fn delete(call: &Call<'_>) -> Result<Reply> {
    let at = call.service().delete_key(&call.names[0], None).await?;
    Ok(Reply::ok(stamp_body("deletedAt", &at)))
}
/// `DELETE /1/indexes/{indexName}/keys/{key}`.
pub async fn delete_of_index(call: &Call<'_>) -> Result<Reply> {
    let at = call.service().delete_key(&call.names[1], Some(&call.index_name()?)).await?;
    Ok(Reply::ok(stamp_body("deletedAt", &at)))
}

/// `POST /1/keys/{key}/restore`.
pub async fn restore(call: &Call<'_>) -> Result<Reply> {
    let value = &call.names[0];
    let at = call.service().restore_key(value).await?;
    Ok(Reply::ok(bytes(&KeyCreated { key: value.to_string(), created_at: at })))
}

/// `GET /1/keys/{key}`: any key for the holder of the admin key, the own one for others.
pub async fn get(call: &Call<'_>) -> Result<Reply> {
    let value: &str = &call.names[0];
    let now_s = call.service().now_s();
    match &call.caller {
        Caller::Admin if call.service().is_admin_key(value) => {
            // it is kept as a digest, without a time
            Ok(Reply::ok(key_body(&ApiKey::new(value, 0, Acl::ALL.to_vec()), None, Shown::All, now_s)))
        }
        Caller::Admin => {
            let key = call.service().key(value).ok_or_else(no_key)?;
            Ok(Reply::ok(key_body(&key, key.index.as_ref(), Shown::All, now_s)))
        }
        Caller::Key { key, is_secured: false, .. } if key.value.as_bytes().ct_eq(value.as_bytes()).into() => {
            Ok(Reply::ok(key_body(key, key.index.as_ref(), Shown::ToHolder, now_s)))
        }
        Caller::Key { .. } | Caller::Nobody => Err(Error::forbidden("Method not allowed with this API key")),
    }
}
/// `GET /1/indexes/{indexName}/keys/{key}`.
pub async fn get_of_index(call: &Call<'_>) -> Result<Reply> {
    let index = call.index_name()?;
    let found = call.service().key(call.names[1].as_ref()).filter(|key| key.is_of(index.as_str()));
    let key = found.ok_or_else(no_key)?;
    Ok(Reply::ok(key_body(&key, Some(&index), Shown::All, call.service().now_s())))
}

/// `GET /1/keys`: those for more than one index.
pub async fn list(call: &Call<'_>) -> Result<Reply> {
    Ok(listed(call, |key| if key.index.is_none() { vec![None] } else { vec![] }))
}
/// `GET /1/indexes/{indexName}/keys`. Errors: `NotFound` when there is neither the index nor a key for it.
pub async fn list_of_index(call: &Call<'_>) -> Result<Reply> {
    let index = call.index_name()?;
    let has_key = call.service().keys().values().any(|key| key.is_of(index.as_str()));
    if !has_key && !call.service().has_index(&index)? {
        return Err(Error::no_index(index.as_str()));
    }
    Ok(listed(call, |key| key.own_indices().filter(|own| **own == index).map(Some).collect()))
}
/// `GET /1/indexes/*/keys`: the keys of every index, each with its index.
pub async fn list_of_indices(call: &Call<'_>) -> Result<Reply> {
    Ok(listed(call, |key| key.own_indices().map(Some).collect()))
}

/// The keys that count, the oldest first, each as often as `shown_of` names an index, or none, that it is to be shown of.
fn listed(call: &Call<'_>, shown_of: impl for<'a> Fn(&'a ApiKey) -> Vec<Option<&'a IndexName>>) -> Reply {
    let (now_s, keys) = (call.service().now_s(), call.service().keys());
    let mut keys: Vec<&ApiKey> =
        keys.values().map(|key| &**key).filter(|key| key.is_valid_at(now_s)).collect();
    keys.sort_by(|a, b| (a.created_at, &a.value).cmp(&(b.created_at, &b.value)));
    let shown = keys.into_iter().flat_map(|key| shown_of(key).into_iter().map(move |index| (key, index)));
    Reply::ok(keys_body(shown, now_s))
}

/// The key that the body describes. Errors: `Invalid`, naming the member.
async fn wanted(call: &Call<'_>, index: Option<&IndexName>) -> Result<ApiKey> {
    let key = ApiKey::from_members(&call.object().await?, index)?;
    check_parameters(&key, call)?;
    Ok(key)
}

/// Refuses `queryParameters` that would refuse every call: better said now than to whoever uses the key.
fn check_parameters(key: &ApiKey, call: &Call<'_>) -> Result<()> {
    let named = |error: Error| Error { message: format!("queryParameters: {}", error.message), ..error };
    let forced = Restrictions::parse(&key.query_parameters);
    if let Some(error) = forced.refuses_all(call.service().now_s()) {
        return Err(named(error));
    }
    let is_from_here = forced.allows_source(call.caller_address);
    if forced.indices.is_some_and(|names| !names.iter().any(|name| may_name_one_of(name, key))) {
        return Err(named(Error::parameter("restrictIndices", "indices that the key is for")));
    }
    match is_from_here {
        true => Ok(()),
        false => {
            Err(named(Error::parameter("restrictSources", "networks that hold the address of this call")))
        }
    }
}

/// Whether a name or pattern may mean an index that a key is for: two patterns may always have a name in common.
fn may_name_one_of(name: &str, key: &ApiKey) -> bool {
    let is_one =
        |own: &str| (own.contains('*') && name.contains('*')) || matches(own, name) || matches(name, own);
    match &key.index {
        Some(own) => is_one(own.as_str()),
        None => key.indexes.is_empty() || key.indexes.iter().any(|own| is_one(own)),
    }
}

fn no_key() -> Error {
    Error::not_found("Key does not exist")
}
