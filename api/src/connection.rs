//! What is known of the connection that a call came by, and which calls may come by it?

use crate::routes::{Route, Work};
use crate::state::ApiState;
use actix_rt::net::TcpStream;
use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderName};
use quorate_model::{Error, ErrorKind, Result};
use std::any::Any;
use std::cell::Cell;
use std::net::IpAddr;

/// Calls that may be under way on one connection: by HTTP/2 there may be many.
const CALLS_MAX: usize = 256;
/// Says how the caller of a proxy called it.
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// A connection of a client, as long as it is there.
#[derive(Debug, Default)]
pub struct Connection {
    is_encrypted: bool,
    has_certificate: bool,
    calls: Cell<usize>,
}

/// What connections a node insists on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The port where calls are encrypted, if all from other machines have to be.
    pub https_port: Option<u16>,
    /// Whether operators show a certificate.
    pub certificates: bool,
}

impl Connection {
    /// What is known of a socket that was accepted; `None` of a kind that is not used here.
    pub fn accepted(socket: &dyn Any) -> Option<(&TcpStream, Connection)> {
        if let Some(stream) = socket.downcast_ref::<TcpStream>() {
            return Some((stream, Connection::default()));
        }
        let (stream, session) = socket.downcast_ref::<TlsStream<TcpStream>>()?.get_ref();
        let has_certificate = session.peer_certificates().is_some();
        Some((stream, Connection { is_encrypted: true, has_certificate, ..Connection::default() }))
    }
}

/// A call that counts as under way until this is dropped.
pub struct UnderWay<'a>(Option<&'a Connection>);
impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.0 {
            connection.calls.set(connection.calls.get() - 1);
        }
    }
}

/// Counts a call. Errors: `RateLimited` when too many of its connection are under way.
pub fn enter(request: &HttpRequest) -> Result<UnderWay<'_>> {
    let Some(connection) = request.conn_data::<Connection>() else { return Ok(UnderWay(None)) };
    if connection.calls.get() >= CALLS_MAX {
        return Err(Error::new(
            ErrorKind::RateLimited,
            format!("Too many calls at a time on one connection, at most {CALLS_MAX}"),
        ));
    }
    connection.calls.set(connection.calls.get() + 1);
    Ok(UnderWay(Some(connection)))
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
    let connection = request.conn_data::<Connection>();
    if let Some(port) = wanted.https_port
        && !connection.is_some_and(|it| it.is_encrypted)
        && !is_forwarded_encrypted(request, state)
    {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.map_or("HOST", without_port);
        return Err(Error::forbidden(format!(
            "Calls by plain HTTP are not taken, use https://{host}:{port}"
        )));
    }
    if wanted.certificates && is_of_operators(route.path) && !connection.is_some_and(|it| it.has_certificate)
    {
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
