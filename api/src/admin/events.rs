//! What do operators ask of events, take with them and bring from elsewhere?

use super::told;
use crate::call::Call;
use crate::parse;
use crate::reply::Reply;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use quorate_cluster::{AfterRow, EventReplica, EventsFound, EventsOfGroup, unix_ms};
use quorate_model::analytics::Day;
use quorate_model::event::{Refused, parse_history};
use quorate_model::limits::{QUERY_BYTES_MAX, USER_TOKEN_BYTES_MAX};
use quorate_model::{Error, ErrorKind, GroupId, IndexName, Result};
use quorate_wire::schema::{EventsTaken, bytes};
use serde::Deserialize;
use serde_json::{Value, json};

/// `GET /admin/events`: what there is of events, by group and node.
pub async fn show(call: &Call<'_>) -> Result<Reply> {
    let EventsFound { groups, unheard } = call.service().events_found().await?;
    let whole = |of: &dyn Fn(&EventReplica) -> u64| -> u64 {
        let most = groups.iter().map(|group| group.replicas.iter().map(of).max().unwrap_or_default());
        most.sum()
    };
    let mut shown = json!({
        "rows": whole(&|replica| replica.rows + replica.waiting_rows),
        "bytes": whole(&|replica| replica.bytes),
    });
    let days = || groups.iter().flat_map(|group| group.days.keys());
    if let (Some(oldest), Some(newest)) = (days().min(), days().max()) {
        shown["oldestDay"] = json!(oldest.to_string());
        shown["newestDay"] = json!(newest.to_string());
    }
    shown["groups"] = groups.iter().map(of_group).collect();
    let unheard = unheard.into_iter().map(|it| json!({"node": it.node, "reason": it.reason}));
    shown["unreachable"] = unheard.collect();
    written(&shown)
}

fn of_group(found: &EventsOfGroup) -> Value {
    let days = found.days.iter().map(|(day, rows)| json!({"day": day.to_string(), "rows": rows}));
    let replicas = found.replicas.iter().map(|replica| {
        let EventReplica { node, lag_entries, oldest, newest, rows, bytes, .. } = replica;
        let mut shown = json!({"node": node, "rows": rows, "bytes": bytes, "rollupBytes": replica.rollup_bytes,
            "waitingRows": replica.waiting_rows, "waitingBytes": replica.waiting_bytes, "lagEntries": lag_entries,
            "lostFiles": replica.lost_files, "lostRows": replica.lost_rows});
        if let (Some(oldest), Some(newest)) = (oldest, newest) {
            shown["oldestDay"] = json!(oldest.to_string());
            shown["newestDay"] = json!(newest.to_string());
        }
        shown
    });
    json!({"group": found.group.0, "days": days.collect::<Vec<_>>(), "nodes": replicas.collect::<Vec<_>>()})
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Forgotten {
    user_token: Option<String>,
}

/// `POST /admin/events/forget`, `{"userToken": TOKEN}`: forgets what a user did, also of a token that searches alone may have (C§18.4).
pub async fn forget(call: &Call<'_>) -> Result<Reply> {
    let body: Forgotten = call.typed().await?;
    let token = body.user_token.filter(|token| (1..=QUERY_BYTES_MAX).contains(&token.len()));
    let expected = format!("text of 1 to {QUERY_BYTES_MAX} bytes");
    let token = token.ok_or_else(|| Error::parameter("userToken", &expected))?;
    // searches keep no more of a token
    let kept = &token[..token.floor_char_boundary(USER_TOKEN_BYTES_MAX)];
    call.service().forget_user(kept).await?;
    Ok(told("what the user did until now counts for nothing; files and logs lose it within five minutes"))
}

/// `GET /admin/events/rows`: rows of a day in a group, as a Parquet file, and where the next ones begin.
pub async fn rows(call: &Call<'_>) -> Result<Reply> {
    let given = |name| call.query.get(name).filter(|text| !text.is_empty());
    let group = given("group").and_then(|text| text.parse().ok());
    let group = group.ok_or_else(|| Error::parameter("group", "number of a group that has indices"))?;
    let day = given("day").and_then(|text| Day::parse(&text));
    let day = day.ok_or_else(|| Error::parameter("day", "a day as YYYY-MM-DD"))?;
    let index = given("index").map(|name| IndexName::new(&name)).transpose()?;
    let after = given("after").map(|text| {
        let read = URL_SAFE_NO_PAD.decode(text.as_bytes()).ok();
        let read = read.and_then(|bytes| serde_json::from_slice::<AfterRow>(&bytes).ok());
        read.ok_or_else(|| Error::parameter("after", "what an answer had as next"))
    });
    let (after, index) = (after.transpose()?, index.map(|name| name.as_str().to_owned()));
    let page = call.service().event_rows(GroupId(group), day, index, after).await?;
    let mut shown = json!({"rows": page.rows, "parquet": page.parquet});
    if let Some(next) = page.next {
        let next = serde_json::to_vec(&next).map_err(|error| Error::internal(error.to_string()))?;
        shown["next"] = json!(URL_SAFE_NO_PAD.encode(next));
    }
    written(&shown)
}

/// `POST /admin/events`: events and searches of the past, all of the body or none when one is not as it has to be.
pub async fn bring(call: &Call<'_>) -> Result<Reply> {
    let (now_ms, past_ms) = (unix_ms(), call.service().events_kept_ms());
    let read = move |body: &[u8]| {
        parse_history(body, now_ms, past_ms).map_err(|refused| match refused {
            Refused::Unreadable(why) => Error::invalid(format!("Invalid JSON: {why}")),
            Refused::Invalid(message) => Error::new(ErrorKind::Unprocessable, message),
        })
    };
    let history = parse::away(&call.body, read).await?;
    call.service().keep_history(history).await?;
    Ok(Reply::ok(bytes(&EventsTaken { status: 200, message: "OK".to_owned() })))
}

fn written(shown: &Value) -> Result<Reply> {
    Ok(Reply::ok(serde_json::to_vec(shown).map_err(|error| Error::internal(error.to_string()))?))
}
