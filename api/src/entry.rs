//! What happens to every request, in order: cross-origin answer, route, credentials, body, endpoint, log line, figures?
//!
//! Hot path: an as-you-type query costs at most 0.06 ms of CPU here.

use crate::auth::{Caller, Credentials, Forwarded, Origin, check_app_id, unauthorized};
use crate::call::Call;
use crate::connection::{self, Connection};
use crate::listener::Listener;
use crate::logs::{self, Answered, CallNote};
use crate::metrics::Transferred;
use crate::reply::{CORRELATION_ID, Delivery, Readers, Reply, correlation_id};
use crate::room::{Room, Taken};
use crate::routes::{BodyKind, Match, Need, Route, Verb, Work, is_of_insights};
use crate::state::ApiState;
use crate::table::{Handler, ROUTER};
use crate::{body, insights, parse, sources, suggestions};
use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::http::{Method, Version, header};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::FutureExt as _;
use quorate_cluster::panics::panic_text;
use quorate_cluster::{Payer, unix_ms};
use quorate_model::{Error, ErrorKind, Result, limits};
use quorate_wire::QueryString;
use std::cell::RefCell;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

/// Bytes of a body that is read before its caller is known, to look for `apiKey` in it.
const UNKNOWN_CALLER_BYTES_MAX: usize = 1 << 20;
/// How long such a body may take.
const UNKNOWN_CALLER_PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a body that becomes a tree of values; records and batches are scanned in place and may be larger.
const TREE_BYTES_MAX: usize = 16 << 20;

/// The key that a proxy passes a call on for.
const FORWARDED_API_KEY: header::HeaderName = header::HeaderName::from_static("x-forwarded-api-key");

/// Answers one request.
pub async fn answer(request: HttpRequest, payload: web::Payload, state: web::Data<ApiState>) -> HttpResponse {
    // the time of day first, so that this and what the call took give no moment behind its end, where the next call may have begun
    let note = CallNote::of(unix_ms());
    let started = Instant::now();
    let path = request.uri().path();
    let readers = readers(path);
    if request.method() == Method::OPTIONS {
        return preflight(readers);
    }
    let _in_flight = state.metrics().enter();
    let connection = Connection::of(&request);
    let listener = connection.as_ref().map_or(Listener::Everything, Connection::listener);
    let client = caller_address(&request, &state);
    let found = ROUTER.find(verb(request.method()), path).and_then(|found| {
        connection::check(&request, found.route, client, &state)?;
        listener.check(found.route, state.listeners())?;
        Ok(found)
    });
    let mut received = 0;
    let mut payer = Caller::Nobody.payer(client);
    let row = found.as_ref().ok().map(|found| (found.number, found.route));
    let mut payload = payload.into_inner();
    let reply = match found {
        Ok(found) => {
            let seen = Seen { received: &mut received, payer: &mut payer, note: &note, listener };
            let taken = take(&request, &mut payload, &state, found, started, seen);
            let outcome = contained(taken).await;
            outcome.unwrap_or_else(|error| failed(&error))
        }
        Err(error) if error.kind != ErrorKind::Forbidden && is_of_insights(path) => {
            failed(&insights::refused(error))
        }
        Err(error) => failed(&error),
    };
    if reply.status.is_client_error() {
        body::discard(&mut payload).await;
    }
    let mut held = enter(state.answers(), &request, payer);
    let reply = match held.grow(reply.body.len()) {
        Ok(()) => reply,
        Err(error) => failed(&error),
    };
    let served = note.take_served();
    if reply.status.is_success() && !served.is_empty() {
        state.service().note_searches(&served);
    }
    let sent = reply.body.len() as u64;
    let status = reply.status.as_u16();
    let (id, took) = (correlation_id(), started.elapsed());
    if let Some((number, route)) = row {
        let answered = Answered { number, route, address: client, id: id.to_str().unwrap_or_default(), took };
        logs::note(&state, &request, &note, &reply, &answered);
    }
    let delivery = Delivery { held, connection, id: id.clone(), readers };
    let response = reply.into_response(request.headers(), delivery).await;
    let took = started.elapsed();
    if row.is_some_and(|(_, route)| route.is_query) {
        state.service().traffic().record(took);
    }
    let labels = row.map(|(number, route)| (number, route.verb.as_str(), route.path));
    state.metrics().answered(labels, status, Transferred { received, sent }, took);
    // a path that means nothing may hold a key
    let path = row.map_or("unknown", |(_, route)| if route.is_secret { route.path } else { path });
    let micros = took.as_micros() as u64;
    let (method, id) = (request.method().as_str(), id.to_str().unwrap_or_default());
    let client = client.map(tracing::field::display);
    tracing::info!(target: "quorate::request", id, client, method, path, status, received, sent, micros);
    response
}

/// Nothing yet of a room: by HTTP/2 the little that every call may hold adds up.
fn enter(room: &Room, request: &HttpRequest, payer: Payer) -> Taken {
    match request.version() {
        Version::HTTP_2 => room.enter_charged(payer),
        _ => room.enter(payer),
    }
}

/// Whose scripts may read the answer to a call.
fn readers(path: &str) -> Readers {
    match path.split('/').nth(1) {
        Some("admin" | "metrics") => Readers::SameOrigin,
        Some(_) | None => Readers::AnyOrigin,
    }
}

/// A panic is a defect: it costs its caller an answer, and neither the connection nor anybody else.
fn contained(work: impl Future<Output = Result<Reply>>) -> impl Future<Output = Result<Reply>> {
    let ended = AssertUnwindSafe(work).catch_unwind();
    ended.map(|ended| {
        ended.unwrap_or_else(|panic| Err(Error::internal(format!("a panic: {}", panic_text(&*panic)))))
    })
}

/// What is seen of a call while it is taken.
struct Seen<'a> {
    /// Bytes of its body.
    received: &'a mut u64,
    /// Whom it is charged to: its address alone until its key is known.
    payer: &'a mut Payer,
    note: &'a CallNote,
    listener: Listener,
}

/// Finds out who calls, reads the body and runs the endpoint.
async fn take(
    request: &HttpRequest,
    payload: &mut Payload,
    state: &ApiState,
    found: Match<'_, Handler>,
    started: Instant,
    Seen { received, payer, note, listener }: Seen<'_>,
) -> Result<Reply> {
    let (query, headers) = (QueryString(request.uri().query().unwrap_or("")), request.headers());
    let body_bytes_max = body_bytes_max(found.route.body, state);
    if found.route.need != Need::Nothing {
        state.service().keep_abreast().await?;
    }
    if found.route.work != Work::Watch {
        state.service().with_sources(|it| sources::gate::check(it, request, state.trusted_proxies()))?;
    }
    let refused = |error| refused(found.route, error);
    let caller_address = caller_address(request, state);
    // the room is held until the call is answered: the body lives as long
    let (caller, mut room, body) = if found.route.need == Need::Nothing {
        (Caller::Nobody, enter(state.room(), request, *payer), Bytes::new())
    } else {
        let credentials = Credentials::read(headers, query);
        if credentials.key.is_some() || credentials.app_id.is_none() {
            let caller = allow(request, state, &found, &credentials, note).await.map_err(refused)?;
            *payer = caller.payer(caller_address);
            let mut room = enter(state.room(), request, *payer);
            let body = body::read(headers, payload, &mut room, body_bytes_max).await.map_err(refused)?;
            (caller, room, body)
        } else {
            // the key may stand in the body: that has a room and a time of its own, and no stranger gets in
            check_app_id(state.service(), credentials.app_id.as_deref().unwrap_or_default())
                .map_err(refused)?;
            let mut strangers = state.strangers().enter(*payer);
            let body = of_unknown(headers, payload, &mut strangers, body_bytes_max).await.map_err(refused)?;
            let key = parse::away(&body, |body| Ok(Credentials::key_of(body))).await?;
            let credentials = credentials.or_key(key);
            let caller = allow(request, state, &found, &credentials, note).await.map_err(refused)?;
            *payer = caller.payer(caller_address);
            let mut room = enter(state.room(), request, *payer);
            room.grow(body.len())?;
            (caller, room, body)
        }
    };
    if found.route.body.becomes_tree() {
        room.grow(parse::away(&body, parse::tree_bytes).await?)?;
    }
    *received = body.len() as u64;
    // who is forgotten is not to be found there
    if found.route.body != BodyKind::Events {
        note.body(&body);
    }
    let Match { route, names, .. } = found;
    let address = forwarded_for(headers).or_else(|| request.peer_addr().map(|peer| peer.ip()));
    let call = Call {
        state,
        caller,
        names,
        query,
        headers,
        body,
        address,
        caller_address,
        note,
        listener,
        started,
        held: RefCell::new(room),
    };
    payer.charge((route.handler)(call)).await
}

/// Reads the body of a caller who has shown no key yet.
async fn of_unknown(
    headers: &HeaderMap,
    payload: &mut Payload,
    room: &mut Taken,
    bytes_max: usize,
) -> Result<Bytes> {
    let reading = body::read(headers, payload, room, bytes_max.min(UNKNOWN_CALLER_BYTES_MAX));
    let late = |_| Error::invalid("The body did not arrive in time");
    actix_rt::time::timeout(UNKNOWN_CALLER_PATIENCE, reading).await.map_err(late)?
}

/// How a row says that a caller may not call it (C§19).
fn refused(route: &Route<Handler>, error: Error) -> Error {
    match route.need {
        Need::Right(right) if route.is_of_suggestions() => suggestions::not_allowed(error, right.name()),
        _ if is_of_insights(route.path) => insights::refused(error),
        _ if route.says_unauthorized() => unauthorized(error),
        _ => error,
    }
}

/// Whose call it is, as far as limits by address go.
fn caller_address(request: &HttpRequest, state: &ApiState) -> Option<IpAddr> {
    state.trusted_proxies().caller(request.peer_addr().map(|peer| peer.ip()), request.headers())
}

/// The first address of X-Forwarded-For.
fn forwarded_for(headers: &header::HeaderMap) -> Option<IpAddr> {
    let addresses = headers.get(header::X_FORWARDED_FOR)?.to_str().ok()?;
    addresses.split(',').next()?.trim().parse().ok()
}

/// The checks that need no body (C§13.2 steps 1 to 7).
async fn allow(
    request: &HttpRequest,
    state: &ApiState,
    found: &Match<'_, Handler>,
    credentials: &Credentials<'_>,
    note: &CallNote,
) -> Result<Caller> {
    let text = |name: header::HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let forwarded =
        text(FORWARDED_API_KEY).map(|key| Forwarded { key, address: forwarded_for(request.headers()) });
    let origin = Origin {
        referer: text(header::REFERER).or_else(|| text(header::ORIGIN)),
        address: caller_address(request, state),
        now_s: note.began_ms / 1_000,
        forwarded,
    };
    let caller = state.authenticator().authenticate(state.service(), credentials, origin).await?;
    note.known(&caller, credentials.key.as_deref());
    state.authenticator().count(state.service(), &caller, origin).await?;
    caller.check(found.route.need)?;
    if found.route.is_of_installation() && caller.is_of_one_index() {
        return Err(Error::forbidden("Index not allowed with this API key"));
    }
    if found.route.names_index() {
        caller.check_index(&found.names[0])?;
    }
    Ok(caller)
}

/// Bytes that the body of a call may have after decompression.
fn body_bytes_max(kind: BodyKind, state: &ApiState) -> usize {
    let configured = state.limits();
    let most = match kind {
        BodyKind::Records | BodyKind::Lines => configured.body_bytes_max,
        BodyKind::Search => configured.search_body_bytes_max,
        BodyKind::Several => configured.multi_body_bytes_max,
        BodyKind::Object => TREE_BYTES_MAX,
        BodyKind::Entries => limits::DICTIONARY_BATCH_BYTES_MAX,
        BodyKind::Events => limits::EVENTS_BODY_BYTES_MAX,
    };
    most.min(configured.body_bytes_max)
}

fn verb(method: &Method) -> Option<Verb> {
    match *method {
        Method::GET | Method::HEAD => Some(Verb::Get),
        Method::POST => Some(Verb::Post),
        Method::PUT => Some(Verb::Put),
        Method::DELETE => Some(Verb::Delete),
        _ => None,
    }
}

/// An error's answer; defects are logged here, once, and say nothing of the inside to the caller.
fn failed(error: &Error) -> Reply {
    if error.kind != ErrorKind::Internal {
        return Reply::error(error);
    }
    tracing::error!(error = %error.message, "request failed");
    Reply::error(&Error::internal("Internal error: the log of the node says what failed"))
}

/// Headers of C§1.1 that a browser may send.
const ALLOWED_HEADERS: &str = "x-service-application-id, x-service-api-key, x-service-user-id, \
    x-algolia-application-id, x-algolia-api-key, x-algolia-agent, x-algolia-user-id, x-algolia-usertoken, \
    x-algolia-tagfilters, x-algolia-queryparameters, x-algolia-request-id, x-forwarded-for, x-forwarded-api-key, \
    content-type, content-encoding, authorization, request-id";

/// The answer to `OPTIONS` (C§1.3).
fn preflight(readers: Readers) -> HttpResponse {
    if readers == Readers::SameOrigin {
        return HttpResponse::NoContent().insert_header((CORRELATION_ID.clone(), correlation_id())).finish();
    }
    HttpResponse::Ok()
        .insert_header((CORRELATION_ID.clone(), correlation_id()))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, "GET, PUT, DELETE, POST, OPTIONS"))
        .insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS))
        .insert_header((header::ACCESS_CONTROL_MAX_AGE, "86400"))
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn a_panic_is_answered() {
        let Err(error) = contained(async { panic!("planted") }).await else { panic!("an answer") };
        assert_eq!(error.kind, ErrorKind::Internal);
        assert!(error.message.contains("planted"), "{error:?}");
    }

    #[test]
    fn what_fails_inside_is_not_told_to_callers() {
        let body = |error: Error| String::from_utf8(failed(&error).body.to_vec()).unwrap();
        let inside = body(Error::internal("damaged file data/indices/1"));
        assert!(inside.contains("Internal error") && !inside.contains("data/indices"), "{inside}");
        assert!(body(Error::invalid("a wrong value")).contains("a wrong value"));
    }
}
