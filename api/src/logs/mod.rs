//! Which calls were answered lately (C§14)?

mod mask;
mod note;
mod noted;
mod own_key;
mod packed;

pub use note::CallNote;

use crate::auth::Caller;
use crate::call::Call;
use crate::reply::Reply;
use crate::routes::{BodyKind, Need, Route, Work};
use crate::state::ApiState;
use actix_web::HttpRequest;
use quorate_cluster::request_log::{CallFilter, CallKind, CallsAsked, InnerCall, LoggedCall, Secret};
use quorate_cluster::rfc3339;
use quorate_model::{Acl, Error, Result};
use quorate_wire::logs::{LogEntry, LoggedQuery, logs_body};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::time::Duration;

/// Entries of an answer (C§14).
const LENGTH: u64 = 10;
const LENGTH_MAX: u64 = 1_000;
/// Entries that are asked of the nodes at most, however far an answer begins.
const ASKED_MAX: u64 = 1_000_000;

/// What else is known of a call that was answered.
pub struct Answered<'a> {
    /// The number of its row in the table.
    pub number: usize,
    /// Its row.
    pub route: &'a Route<crate::table::Handler>,
    /// Whose it was, as far as limits by address go.
    pub address: Option<IpAddr>,
    /// What the answer is called.
    pub id: &'a str,
    /// From its head to its answer.
    pub took: Duration,
}

/// Notes a call in the log of this node, unless it is none that is logged. Cost: a copy of what is kept of it.
pub fn note(
    state: &ApiState,
    request: &HttpRequest,
    note: &CallNote,
    reply: &Reply,
    answered: &Answered<'_>,
) {
    let Some(log) = state.service().request_log() else { return };
    let Some(rights) = note.caller.get().filter(|_| is_logged(answered.route)) else { return };
    let answered_ms = note.began_ms + answered.took.as_millis() as u64;
    let write = |out: &mut Vec<u8>| noted::write(out, request, (note, rights), reply, answered, answered_ms);
    log.note(answered_ms, write, noted::read);
}

/// Whether calls of a row are logged: those of the interface, but not the one that reads the log (C§14).
fn is_logged<H>(route: &Route<H>) -> bool {
    !matches!(route.work, Work::Watch | Work::Operate) && route.path != "/1/logs"
}
fn kind<H>(route: &Route<H>) -> CallKind {
    match route.work {
        Work::Write => CallKind::Build,
        _ if route.is_query || route.need == Need::Right(Acl::Browse) => CallKind::Query,
        Work::Read | Work::Either | Work::Operate | Work::Watch => CallKind::Other,
    }
}

/// Where unretrievable attributes may stand in a call by somebody who sees them, or not.
fn secret<H>(route: &Route<H>, sees_unretrievable: bool) -> Secret {
    match (route.work, route.need) {
        (Work::Write, Need::Right(Acl::EditSettings)) => Secret::Nowhere,
        (Work::Write, _) if route.body == BodyKind::Records => Secret::Body,
        (Work::Read, Need::Right(Acl::Search | Acl::Browse)) if sees_unretrievable => Secret::Answer,
        _ => Secret::Nowhere,
    }
}

/// `GET /1/logs`: the newest calls of all nodes of the cluster.
pub async fn list(call: &Call<'_>) -> Result<Reply> {
    let offset = call.query.integer("offset")?.unwrap_or(0);
    let length = call.query.integer("length")?.unwrap_or(LENGTH);
    if length > LENGTH_MAX {
        return Err(Error::parameter("length", &format!("integer between 0 and {LENGTH_MAX}")));
    }
    let filter = match call.query.get("type").as_deref() {
        // the earlier form (C§4.8)
        None if call.query.flag("onlyErrors", false)? => CallFilter::Error,
        None | Some("" | "all") => CallFilter::All,
        Some("query") => CallFilter::Query,
        Some("build") => CallFilter::Build,
        Some("error") => CallFilter::Error,
        Some(_) => return Err(Error::parameter("type", "all, query, build or error")),
    };
    let index = call.query.get("indexName").filter(|name| !name.is_empty()).map(|name| name.into_owned());
    // who may not see all of them gets as many of the others
    let sees_all = call.caller.may_use_all();
    let most = if sees_all { offset.saturating_add(length).min(ASKED_MAX) } else { ASKED_MAX };
    let asked = CallsAsked { filter, index, most: most as usize };
    let calls = call.service().latest_calls(&asked).await?;
    let seen = calls.iter().filter(|logged| sees_all || is_of(&call.caller, logged));
    let page = seen.skip(offset.min(ASKED_MAX) as usize).take(length as usize);
    Ok(Reply::ok(logs_body(page.map(|logged| entry(logged, &call.caller)), rfc3339)))
}

/// Whether the key of a caller is for all indices that a call was about. What was about none is for keys without restriction.
fn is_of(caller: &Caller, logged: &LoggedCall) -> bool {
    let mut indices = logged.indices().peekable();
    !logged.has_more && indices.peek().is_some() && indices.all(|index| caller.may_use(index))
}

/// How a call is shown to somebody.
fn entry<'a>(logged: &'a LoggedCall, caller: &Caller) -> LogEntry<'a> {
    let queries = if logged.kind == CallKind::Query { &logged.inner[..] } else { &[] };
    // filters that a key forces keep records from its holder
    let (may_see_records, sees_all) =
        (caller.restrictions().is_empty(), caller.read_rights().sees_unretrievable);
    let shows = |place| may_see_records && (sees_all || logged.secret != place);
    LogEntry {
        time_ms: logged.time_ms,
        method: &logged.method,
        status: logged.status,
        url: &logged.url,
        address: logged.address,
        headers: logged.headers.show(),
        body: if logged.kind != CallKind::Build || shows(Secret::Body) {
            logged.body.show()
        } else {
            "".into()
        },
        answer: if shows(Secret::Answer) { logged.answer.show() } else { "".into() },
        sha1: digest(logged),
        took_ms: logged.took_us / 1_000,
        index: logged.index.as_deref(),
        hits: logged.hits,
        is_exhaustive: logged.is_exhaustive,
        queries: queries.iter().map(query).collect(),
    }
}
fn query(inner: &InnerCall) -> LoggedQuery<'_> {
    LoggedQuery {
        index: &inner.index,
        user_token: inner.user_token.as_deref(),
        query_id: inner.query_id.as_deref(),
    }
}

/// Forty hexadecimal digits that tell an entry from every other.
fn digest(logged: &LoggedCall) -> String {
    const BYTES: usize = 20;
    let mut hash = Sha256::new_with_prefix(logged.time_ms.to_be_bytes());
    for part in [&*logged.id, &*logged.method, &*logged.url, &*logged.body.show()] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect()
}
