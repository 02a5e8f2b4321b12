//! What do users do with results (C§18)?

use crate::auth::{INVALID_CREDENTIALS, quota, unauthorized};
use crate::call::Call;
use crate::parse;
use crate::reply::Reply;
use quorate_cluster::rate_limit::Quota;
use quorate_model::event::{Refused, is_user_token, parse as parse_events};
use quorate_model::{Error, ErrorKind, Result};
use quorate_wire::schema::{EventsTaken, bytes};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many times as long a byte of events takes as one of records, which are kept as they are: each member of an event is checked.
const AS_LONG: usize = 16;

/// `POST /1/events`: all events of the body, or none when one is not as it has to be.
pub async fn add(call: &Call<'_>) -> Result<Reply> {
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let read = move |body: &[u8]| {
        parse_events(body, now_ms).map_err(|refused| match refused {
            Refused::Unreadable(why) => Error::invalid(format!("Invalid JSON: {why}")),
            Refused::Invalid(message) => Error::new(ErrorKind::Unprocessable, message),
        })
    };
    let events = parse::away_as_long(&call.body, AS_LONG * call.body.len(), read).await?;
    for event in &events {
        call.caller.check_index(event.index.as_str()).map_err(refused)?;
    }
    call.service().keep_events(events).await?;
    Ok(Reply::ok(bytes(&EventsTaken { status: 200, message: "OK".to_owned() })))
}

/// `DELETE /1/usertokens/{userToken}`: forgets what a user did in all indices, for a key that may use all of them. So many calls a key and hour; the headers say how many are left (C§18.4).
pub async fn forget(call: &Call<'_>) -> Result<Reply> {
    // the user is forgotten in every index
    if !call.caller.may_use_all() {
        return Err(refused(Error::forbidden("Index not allowed with this API key")));
    }
    let token = &call.names[0];
    if !is_user_token(token) {
        return Err(Error::new(
            ErrorKind::Unprocessable,
            "userToken must have 1 to 129 letters, digits or characters of _ = + / -",
        ));
    }
    let service = call.service();
    let counted = quota::forgetting(&call.caller, service.now_s());
    match service.count_call(counted).await {
        Ok(()) => {}
        Err(error) if error.kind == ErrorKind::RateLimited => {
            let spent = Quota { remaining: 0, ..service.quota(counted)? };
            return Ok(Reply::error(&error).with_quota(spent));
        }
        Err(error) => return Err(error),
    }
    service.forget_user(token).await?;
    Ok(Reply::nothing().with_quota(service.quota(counted)?))
}

/// How this part of the interface says what is refused before an event is looked at (C§18.1).
pub fn refused(error: Error) -> Error {
    let text = match (error.kind, error.message.as_str()) {
        (ErrorKind::Forbidden, INVALID_CREDENTIALS) => "Invalid credentials",
        (ErrorKind::TooLarge, _) => "Request Entity Too Large",
        (ErrorKind::MethodNotAllowed, _) => "Method Not Allowed",
        (ErrorKind::NotFound, _) => "Path not supported by Insights REST API.",
        _ => return unauthorized(error),
    };
    unauthorized(Error { message: text.to_owned(), ..error })
}
