//! Which addresses belong to which networks, and whose address is a caller's when proxies stand before the node?

use actix_web::http::header::{self, HeaderMap};
use ipnetwork::IpNetwork;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Networks, each one address or a range (CIDR). Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Arc<[IpNetwork]>);

impl Networks {
    /// Reads a list. Errors: the item that is none.
    pub fn parse<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Networks, &'a str> {
        let read = |item: &'a str| item.trim().parse().map_err(|_| item);
        let networks = items.into_iter().filter(|item| !item.trim().is_empty()).map(read);
        Ok(Networks(networks.collect::<Result<Vec<_>, _>>()?.into()))
    }
    /// Whether one of them holds an address.
    pub fn hold(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(address))
    }

    /// The address of a caller: that of the peer, or, where the peer is a trusted proxy, the last one of `X-Forwarded-For` that is
    /// none. What stands before that one may be the caller's invention. `None` when a proxy names what is no address: who is behind
    /// it is nobody that is known, and least of all the proxy.
    pub fn caller(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = peer?.to_canonical();
        if self.0.is_empty() || !self.hold(peer) {
            return Some(peer);
        }
        // letter by letter: what a caller put before what the proxy added must not hide that
        let named = headers.get_all(header::X_FORWARDED_FOR);
        let mut hops: Vec<&[u8]> =
            named.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).collect();
        let mut nearest = peer;
        while let Some(hop) = hops.pop() {
            nearest = address_of(hop)?;
            if !self.hold(nearest) {
                break;
            }
        }
        Some(nearest)
    }
}

/// An address as proxies write it: alone, in brackets, or with a port.
fn address_of(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().map(|at| at.ip());
    let address = bare.parse::<IpAddr>().or_else(|_| with_port()).ok()?;
    Some(address.to_canonical())
}

/// The network of an address whose addresses count as one caller: each IPv4 address, and 64 bits of an IPv6 one, in which anybody
/// has as many addresses as they like.
pub fn network_of(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;

    #[test]
    fn networks_hold_addresses_of_both_kinds() {
        for (network, address, expected) in [
            ("10.0.0.0/8", "10.9.8.7", true),
            ("10.1.2.3/8", "10.9.8.7", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("::1", "::1", true),
            ("fe80::/10", "fe80::1", true),
            ("fe80::/10", "1.2.3.4", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
        ] {
            let networks = Networks::parse([network]).unwrap();
            assert_eq!(networks.hold(address.parse().unwrap()), expected, "{network} {address}");
        }
        for wrong in ["nonsense", "1.2.3.4/x", "1.2.3.4/33", "::1/129"] {
            assert_eq!(Networks::parse(["10.0.0.0/8", wrong]), Err(wrong));
        }
    }

    #[test]
    fn a_caller_behind_trusted_proxies_is_the_last_who_is_none() {
        let trusted = Networks::parse(["10.0.0.0/8", "::1"]).unwrap();
        for (peer, forwarded, expected) in [
            ("1.2.3.4", &["9.9.9.9"][..], "1.2.3.4"),
            ("10.0.0.1", &["9.9.9.9"], "9.9.9.9"),
            ("10.0.0.1", &["8.8.8.8, 9.9.9.9"], "9.9.9.9"),
            ("10.0.0.1", &["8.8.8.8, 9.9.9.9, 10.0.0.7"], "9.9.9.9"),
            ("10.0.0.1", &["8.8.8.8", "9.9.9.9"], "9.9.9.9"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &["9.9.9.9, unknown"], "nobody"),
            ("10.0.0.1", &["9.9.9.9, unknown, 10.0.0.7"], "nobody"),
            ("10.0.0.1", &["unknown, 9.9.9.9"], "9.9.9.9"),
            ("10.0.0.1", &[""], "nobody"),
            ("10.0.0.1", &["\u{e9}, 9.9.9.9"], "9.9.9.9"),
            ("10.0.0.1", &["\u{e9}", "9.9.9.9"], "9.9.9.9"),
            ("10.0.0.1", &["9.9.9.9, \u{e9}"], "nobody"),
            ("10.0.0.1", &["9.9.9.9:80"], "9.9.9.9"),
            ("10.0.0.1", &["8.8.8.8, [2001:db8::1]:80, [::1]"], "2001:db8::1"),
            ("10.0.0.1", &["::ffff:9.9.9.9"], "9.9.9.9"),
            ("::1", &["2001:db8::1"], "2001:db8::1"),
            ("::ffff:10.0.0.1", &["9.9.9.9"], "9.9.9.9"),
        ] {
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append(header::X_FORWARDED_FOR, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let caller = trusted.caller(peer.parse().ok(), &headers);
            assert_eq!(caller, expected.parse().ok(), "{peer} {forwarded:?}");
            let nobody = Networks::default().caller(peer.parse().ok(), &headers);
            assert_eq!(nobody, peer.parse::<IpAddr>().ok().map(|it| it.to_canonical()));
        }
    }
}
