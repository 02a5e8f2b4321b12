//! May a call come from where it comes from?
//!
//! Before anything is known of its credentials. Whoever is on the machine itself is let in always, so that a wrong list can be
//! mended there; a proxy on the machine is not taken for its callers.

use crate::network::Networks;
use actix_web::HttpRequest;
use actix_web::http::header::HeaderMap;
use quorate_model::{AllowedSources, Error, Result};
use std::net::IpAddr;

/// What proxies add to the calls they pass on.
const PASSED_ON: [&str; 4] = ["x-forwarded-for", "forwarded", "x-real-ip", "via"];

/// Errors: `Forbidden` for a call from elsewhere.
pub fn check(sources: &AllowedSources, request: &HttpRequest, trusted: &Networks) -> Result<()> {
    if sources.is_open() {
        return Ok(());
    }
    let peer = request.peer_addr().map(|peer| peer.ip());
    if may_enter(sources, peer, request.headers(), trusted) {
        return Ok(());
    }
    Err(Error::forbidden("Source not allowed: this address is not in the list of allowed sources"))
}

fn may_enter(
    sources: &AllowedSources,
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    trusted: &Networks,
) -> bool {
    let is_local = peer.is_some_and(|peer| peer.to_canonical().is_loopback())
        && !PASSED_ON.iter().any(|name| headers.contains_key(*name));
    is_local || trusted.caller(peer, headers).is_some_and(|address| sources.allow(address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::{HeaderName, HeaderValue};

    #[test]
    fn a_call_counts_as_from_its_caller() {
        let list =
            ["9.9.9.0/24", "2001:db8::/32"].map(|it| quorate_model::AllowedSource::new(it, None).unwrap());
        let sources = AllowedSources::new(list.to_vec());
        let trusted = Networks::parse(["10.0.0.0/8", "127.0.0.2"]).unwrap();
        let none: &[(&str, &str)] = &[];
        for (peer, headers, expected) in [
            ("9.9.9.9", none, true),
            ("9.9.8.9", none, false),
            ("::ffff:9.9.9.9", none, true),
            ("2001:db8::1", none, true),
            ("::2", none, false),
            // loopback, unless somebody else speaks through it
            ("127.0.0.1", none, true),
            ("127.9.9.9", none, true),
            ("::1", none, true),
            ("::ffff:127.0.0.1", none, true),
            ("127.0.0.1", &[("x-forwarded-for", "1.2.3.4")], false),
            ("127.0.0.1", &[("x-forwarded-for", "127.0.0.1")], false),
            ("127.0.0.1", &[("forwarded", "for=127.0.0.1")], false),
            ("127.0.0.1", &[("x-real-ip", "127.0.0.1")], false),
            ("127.0.0.1", &[("via", "1.1 proxy")], false),
            // nobody is believed who is no trusted proxy
            ("1.2.3.4", &[("x-forwarded-for", "9.9.9.9")], false),
            ("9.9.9.9", &[("x-forwarded-for", "1.2.3.4")], true),
            ("10.0.0.1", none, false),
            ("10.0.0.1", &[("x-forwarded-for", "9.9.9.9")], true),
            ("10.0.0.1", &[("x-forwarded-for", "9.9.9.9, 1.2.3.4")], false),
            ("10.0.0.1", &[("x-forwarded-for", "127.0.0.1")], false),
            ("127.0.0.2", &[("x-forwarded-for", "9.9.9.9")], true),
            ("127.0.0.2", &[("x-forwarded-for", "127.0.0.1, 1.2.3.4")], false),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            assert_eq!(
                may_enter(&sources, peer.parse().ok(), &map, &trusted),
                expected,
                "{peer} {headers:?}"
            );
        }
        assert!(!may_enter(&sources, None, &HeaderMap::new(), &trusted), "from nowhere");
    }
}
