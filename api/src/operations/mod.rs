//! How do an orchestrator, a balancer and a scraper see this node (no credentials needed)?

mod figures;

use crate::call::Call;
use crate::listener::Listener;
use crate::reply::{Content, Reply, Retry};
use actix_web::http::StatusCode;
use figures::TURNS;
use quorate_model::{Error, Result};
use quorate_wire::json::Object;

/// `GET /livez`, `GET /1/isalive`: the process answers.
pub async fn live(_: &Call<'_>) -> Result<Reply> {
    Ok(Reply::ok(br#"{"message":"server is alive"}"#))
}

/// `GET /readyz`, `GET /1/health`, `GET /health`: whether this node can do its work, and what stands against it.
///
/// 503 when it cannot serve reads or is about to stop. Writes that are stopped (a full disk) show in the body, and
/// make it 503 only with `?writes=true`: a node that can answer searches should go on getting them. `?for=read` and
/// `?for=write` ask for one kind of work alone; a listener for one kind is asked for that.
pub async fn ready(call: &Call<'_>) -> Result<Reply> {
    let (needs_reads, needs_writes) = match call.query.get("for").as_deref() {
        Some("read") => (true, false),
        Some("write") => (false, true),
        Some(_) => return Err(Error::parameter("for", "read or write")),
        None => match call.listener {
            Listener::Write => (false, true),
            Listener::Everything | Listener::Read | Listener::Operate => {
                (true, call.query.flag("writes", false)?)
            }
        },
    };
    let mut health = call.service().health();
    if call.state.is_draining() {
        health.reads.push("the node is stopping".to_owned());
        health.writes.push("the node is stopping".to_owned());
    }
    let ready = (!needs_reads || health.reads.is_empty()) && (!needs_writes || health.writes.is_empty());
    let mut body = Vec::with_capacity(128);
    let mut object = Object::open(&mut body);
    if !ready {
        let reasons = health.reads.iter().chain(&health.writes).map(String::as_str);
        let mut reasons: Vec<&str> = reasons.collect();
        reasons.dedup();
        object.string("message", &format!("not ready: {}", reasons.join("; ")));
        object.integer("status", 503);
    }
    object.flag("ready", ready);
    for (name, reasons) in [("reads", &health.reads), ("writes", &health.writes)] {
        let mut part = Object::open(object.member(name));
        part.flag("ready", reasons.is_empty()).strings("reasons", reasons.iter().map(String::as_str));
        part.close();
    }
    if !health.warnings.is_empty() {
        object.strings("warnings", health.warnings.iter().map(String::as_str));
    }
    object.close();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let retry = if ready { Retry::Pointless } else { Retry::Soon };
    Ok(Reply { retry, ..Reply::json(status, body) })
}

/// `GET /metrics`: the text format of Prometheus.
pub async fn metrics(call: &Call<'_>) -> Result<Reply> {
    let state = call.state.clone();
    let gather = move || {
        state.service().show_figures();
        state.metrics().text()
    };
    let text = TURNS.gather(gather).await?;
    Ok(Reply { content: Content::Metrics, ..Reply::ok(text) })
}
