//! How are many records removed at once (C§3.5)?

use crate::auth::Caller;
use crate::auth::restrictions::{CONJOINED, VIA_IP, has_place, takes_own_place};
use crate::call::Call;
use crate::reply::Reply;
use crate::search::forced_filter;
use quorate_cluster::CallerOp;
use quorate_model::params::{DELETE_BY_NAMES, given};
use quorate_model::settings::table::lookup;
use quorate_model::{Error, RecordOp, Result, SearchParams};
use quorate_wire::writes::{Stamps, receipt_body};
use serde_json::{Map, Value};

/// `POST /1/indexes/{indexName}/deleteByQuery`: every record that passes the filters.
pub async fn delete_by(call: &Call<'_>) -> Result<Reply> {
    let params = selection(call.object().await?, &call.caller)?;
    let op = CallerOp::Ready(RecordOp::DeleteBy { params });
    let receipt = call.write(&call.index_name()?, vec![op]).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::DeletedAndUpdated, None)))
}

/// The checked members as the log carries them, with the filters and places that the key forces; nothing of the call itself (a key in the
/// body) goes along.
fn selection(mut members: Map<String, Value>, caller: &Caller) -> Result<Vec<u8>> {
    let asked = SearchParams::from_delete_by(&members)?;
    if caller.forces_parameters() {
        members = under_key(given(members)?, asked, caller)?;
    }
    members.retain(|name, value| !value.is_null() && (name == "params" || lookup(name).is_some()));
    Ok(Value::Object(members).to_string().into_bytes())
}
/// What of `asked` the key shows; `members` are the same as they were given.
fn under_key(
    mut members: Map<String, Value>,
    asked: SearchParams,
    caller: &Caller,
) -> Result<Map<String, Value>> {
    let mut forced = caller.forced_parameters();
    forced.retain(|name, _| DELETE_BY_NAMES.contains(&name.as_str()) || name == VIA_IP);
    if asked.has_place() && (has_place(&forced) || forced.contains_key("aroundRadius")) {
        return Err(Error::invalid(
            "deleteBy takes no places with a key that forces one, or a radius: both would have to hold",
        ));
    }
    // a place that cannot be written into the deletion must not be none
    if takes_own_place(&forced) {
        return Err(Error::forbidden("deleteBy cannot be done with a key that forces aroundLatLngViaIP"));
    }
    forced.remove(VIA_IP);
    members.extend(forced);
    let filter = asked.filter.and(forced_filter(caller)?);
    for name in CONJOINED {
        members.remove(name);
    }
    if !filter.is_empty() {
        members.insert("filters".to_owned(), filter.to_string().into());
    }
    SearchParams::from_delete_by(&members)?;
    Ok(members)
}

/// `POST /1/indexes/{indexName}/clear`: every record; settings stay.
pub async fn clear(call: &Call<'_>) -> Result<Reply> {
    let op = CallerOp::Ready(RecordOp::Clear);
    let receipt = call.write(&call.index_name()?, vec![op]).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, None)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(body: Value, expected: Option<Value>) {
        let Value::Object(members) = body.clone() else { unreachable!("an object was written") };
        let found = selection(members, &Caller::Admin)
            .ok()
            .map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap());
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn only_filters_and_places_select() {
        check(json!({}), None);
        check(json!({"filters": ""}), None);
        check(json!({"query": "x", "filters": "a:b"}), None);
        check(json!({"hitsPerPage": 3, "filters": "a:b"}), None);
        check(json!({"params": "query=x&filters=a%3Ab"}), None);
        check(json!({"filters": "a:b", "apiKey": "k", "query": null}), Some(json!({"filters": "a:b"})));
        check(json!({"params": "tagFilters=x"}), Some(json!({"params": "tagFilters=x"})));
        check(json!({"aroundLatLng": "1,2"}), Some(json!({"aroundLatLng": "1,2"})));
    }
}
