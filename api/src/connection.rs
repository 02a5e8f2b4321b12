//! What is known of the connection that a call came by, and which calls may come by it?

use crate::doorman::Guest;
use crate::listener::Listener;
use crate::routes::{Route, Work};
use crate::state::ApiState;
pub(crate) use actix_http::Protocol;
use actix_web::HttpMessage as _;
use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderName};
use futures_util::task::AtomicWaker;
use quorate_model::{Error, Result};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;

/// Says how the caller of a proxy called it.
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// A connection of a client, as long as it is there or an answer is on its way to it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Shared>);
#[derive(Debug)]
struct Shared {
    listener: Listener,
    encryption: Encryption,
    protocol: Protocol,
    /// Counts the connection by its address.
    _guest: Guest,
    has_ended: AtomicBool,
    /// Wakes who waits for the connection.
    waiting: AtomicWaker,
}

/// How a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Not at all.
    Plain,
    /// By TLS; the client has shown nothing.
    Tls,
    /// By TLS; the client has shown a certificate.
    TlsWithCertificate,
}

/// What connections a node insists on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionRules {
    /// Whether calls from other machines have to be encrypted.
    pub https_only: bool,
    /// The port where they are, unless a proxy alone encrypts them.
    pub https_port: Option<u16>,
    /// Whether operators show a certificate.
    pub certificates: bool,
}

impl Connection {
    /// One that a listener has accepted.
    pub fn new(listener: Listener, encryption: Encryption, protocol: Protocol, guest: Guest) -> Connection {
        let (has_ended, waiting) = Default::default();
        Connection(Arc::new(Shared { listener, encryption, protocol, _guest: guest, has_ended, waiting }))
    }
    /// The protocol that is spoken.
    pub fn protocol(&self) -> Protocol {
        self.0.protocol
    }
    /// Whether several calls may be under way on it at a time.
    pub fn has_many_calls(&self) -> bool {
        self.0.protocol == Protocol::Http2
    }
    /// The connection that a request came by; none in tests without a network.
    pub fn of(request: &HttpRequest) -> Option<Connection> {
        // by HTTP/2 each call brings it along
        request.conn_data().cloned().or_else(|| request.extensions().get().cloned())
    }
    /// The listener that it was accepted by.
    pub fn listener(&self) -> Listener {
        self.0.listener
    }
    /// Ends it, whatever it waits for.
    pub fn end(&self) {
        self.0.has_ended.store(true, Ordering::Release);
        self.0.waiting.wake();
    }
    /// Whether it has to end; a task that waits for the connection is woken when it does.
    pub fn has_ended(&self, cx: &mut Context<'_>) -> bool {
        self.0.waiting.register(cx.waker());
        self.0.has_ended.load(Ordering::Acquire)
    }
    fn is_encrypted(&self) -> bool {
        self.0.encryption != Encryption::Plain
    }
    fn has_certificate(&self) -> bool {
        self.0.encryption == Encryption::TlsWithCertificate
    }
}

/// Whether a call may come by the connection it came by. Errors: `Forbidden`, saying what is needed: clients take no
/// redirect.
pub fn check<H>(
    request: &HttpRequest,
    route: &Route<H>,
    caller: Option<IpAddr>,
    state: &ApiState,
) -> Result<()> {
    let wanted = state.wanted_connections();
    // what a balancer asks says nothing; and what stays on this machine needs no protection
    if route.work == Work::Watch || caller.is_some_and(|it| it.is_loopback()) {
        return Ok(());
    }
    let connection = Connection::of(request);
    if wanted.https_only
        && !connection.as_ref().is_some_and(Connection::is_encrypted)
        && !is_forwarded_encrypted(request, state)
    {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.map_or("HOST", without_port);
        let port = wanted.https_port.map(|port| format!(":{port}")).unwrap_or_default();
        return Err(Error::forbidden(format!("Calls by plain HTTP are not taken, use https://{host}{port}")));
    }
    let has_certificate = connection.as_ref().is_some_and(Connection::has_certificate);
    if wanted.certificates && is_of_operators(route.path) && !has_certificate {
        return Err(Error::forbidden("Calls of operators need a client certificate, over HTTPS"));
    }
    Ok(())
}

fn is_of_operators(path: &str) -> bool {
    path.split('/').nth(1) == Some("admin")
}
/// Whether a trusted proxy says that its caller came by HTTPS.
fn is_forwarded_encrypted(request: &HttpRequest, state: &ApiState) -> bool {
    let is_trusted = request.peer_addr().is_some_and(|peer| state.trusted_proxies().hold(peer.ip()));
    // a proxy that adds a line, or to a line, adds it behind what its caller may have invented
    let said = request.headers().get_all(FORWARDED_PROTO).last().and_then(|value| value.to_str().ok());
    let last = said.and_then(|text| text.rsplit(',').next()).map(str::trim);
    is_trusted && last.is_some_and(|proto| proto.eq_ignore_ascii_case("https"))
}
/// A host of the header `Host` for a message: bounded, and without what could be taken for something else.
fn without_port(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    if name.len() <= 255 && name.bytes().all(is_plain) { name } else { "HOST" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_without_its_port() {
        for (host, expected) in [
            ("a.b:80", "a.b"),
            ("a.b", "a.b"),
            ("[::1]:7", "[::1]"),
            ("[::1]", "[::1]"),
            ("a<b>:1", "HOST"),
            (&"a".repeat(256), "HOST"),
        ] {
            assert_eq!(without_port(host), expected);
        }
    }
}
