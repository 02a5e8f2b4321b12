//! From which networks may the service be called (C§13.5)?

use crate::{Error, Result, limits};
use ipnetwork::{IpNetwork, Ipv4Network};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr};

/// The source that stands for the people of a hosted service. It lets nobody in: here there are none.
pub const SERVICE_SUPPORT: &str = "SERVICE_SUPPORT";
/// The source that lets everybody in, also callers with IPv6 addresses (C§13.5).
const EVERYWHERE: &str = "0.0.0.0/0";

/// A network whose callers are let in, as it stands in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedSource {
    source: String,
    description: Option<String>,
}

impl AllowedSource {
    /// Errors: `Invalid`, naming the parameter.
    pub fn new(source: &str, description: Option<String>) -> Result<AllowedSource> {
        let source = canonical(source)?;
        if description.as_ref().is_some_and(|text| text.len() > limits::SOURCE_DESCRIPTION_BYTES_MAX) {
            let most = limits::SOURCE_DESCRIPTION_BYTES_MAX;
            return Err(Error::parameter("description", &format!("string of at most {most} bytes")));
        }
        Ok(AllowedSource { source, description })
    }
    /// The network as [`canonical`] writes it, which tells it from every other.
    pub fn source(&self) -> &str {
        &self.source
    }
    /// What its owner noted.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }
}

/// How a source stands in the list, however it was given: a network in CIDR form without host bits, a single address as /32 or
/// /128, or the special value.
///
/// Errors: `Invalid`, naming the parameter.
pub fn canonical(source: &str) -> Result<String> {
    if source == SERVICE_SUPPORT {
        return Ok(source.to_owned());
    }
    match network(source) {
        Some(network) => Ok(format!("{}/{}", network.network(), network.prefix())),
        None => Err(Error::parameter(
            "source",
            &format!("a network in CIDR form such as 10.0.0.0/8, an address, or {SERVICE_SUPPORT}"),
        )),
    }
}

/// Reads a network. One of IPv4 addresses that are written as IPv6 ones is one of IPv4 addresses.
fn network(text: &str) -> Option<IpNetwork> {
    const MAPPED_BITS: u8 = 96;
    match text.parse().ok()? {
        IpNetwork::V6(network) => match (network.ip().to_ipv4_mapped(), network.prefix()) {
            (Some(address), MAPPED_BITS..) => {
                Some(IpNetwork::V4(Ipv4Network::new(address, network.prefix() - MAPPED_BITS).ok()?))
            }
            (Some(_) | None, _) => Some(IpNetwork::V6(network)),
        },
        network @ IpNetwork::V4(_) => Some(network),
    }
}

/// The list of allowed sources. Empty: everybody is let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedSources {
    list: Vec<AllowedSource>,
    /// What they hold: first and last address, in order, apart from each other. IPv4 addresses stand at their place among IPv6 ones.
    ranges: Vec<(u128, u128)>,
}

impl AllowedSources {
    /// A list, in this order. A source that is no network holds no address.
    pub fn new(list: Vec<AllowedSource>) -> AllowedSources {
        let mut ranges: Vec<(u128, u128)> = list.iter().filter_map(|it| range(&it.source)).collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, before| {
            let touches = next.0 <= before.1.saturating_add(1);
            if touches {
                before.1 = before.1.max(next.1);
            }
            touches
        });
        AllowedSources { list, ranges }
    }
    /// The sources as they were listed.
    pub fn list(&self) -> &[AllowedSource] {
        &self.list
    }
    /// Whether a source is in the list, given as it stands there.
    pub fn contains(&self, source: &str) -> bool {
        self.list.iter().any(|it| it.source == source)
    }
    /// Whether calls may come from anywhere.
    pub fn is_open(&self) -> bool {
        self.list.is_empty()
    }
    /// Whether calls may come from an address. Cost: some ten comparisons with 1,000 sources.
    pub fn allow(&self, address: IpAddr) -> bool {
        let address = position(address);
        let at = self.ranges.partition_point(|(first, _)| *first <= address);
        self.is_open() || at > 0 && self.ranges[at - 1].1 >= address
    }
}

fn range(source: &str) -> Option<(u128, u128)> {
    if source == EVERYWHERE {
        return Some((0, u128::MAX));
    }
    let network = network(source)?;
    Some((position(network.network()), position(network.broadcast())))
}

/// The place of an address among all addresses.
fn position(address: IpAddr) -> u128 {
    let mapped = |address: std::net::Ipv4Addr| address.to_ipv6_mapped();
    let address: Ipv6Addr = match address {
        IpAddr::V4(address) => mapped(address),
        IpAddr::V6(address) => address,
    };
    address.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn listed(sources: &[&str]) -> AllowedSources {
        let list = sources.iter().map(|source| AllowedSource::new(source, None).expect(source));
        AllowedSources::new(list.collect())
    }

    #[test]
    fn a_source_is_written_in_one_way() {
        for (given, expected) in [
            ("10.0.0.0/8", Some("10.0.0.0/8")),
            ("10.1.2.3/8", Some("10.0.0.0/8")),
            ("10.1.2.3", Some("10.1.2.3/32")),
            ("10.1.2.3/32", Some("10.1.2.3/32")),
            ("10.0.0.0/255.0.0.0", Some("10.0.0.0/8")),
            ("0.0.0.0/0", Some("0.0.0.0/0")),
            ("2001:DB8::1", Some("2001:db8::1/128")),
            ("2001:db8::1/32", Some("2001:db8::/32")),
            ("::ffff:10.1.2.3/104", Some("10.0.0.0/8")),
            ("::ffff:10.1.2.3", Some("10.1.2.3/32")),
            ("::/0", Some("::/0")),
            ("SERVICE_SUPPORT", Some("SERVICE_SUPPORT")),
            ("service_support", None),
            ("", None),
            (" 10.0.0.0/8", None),
            ("10.0.0.0/33", None),
            ("10.0.0.0/-1", None),
            ("10.0.0", None),
            ("::1/129", None),
            ("example.org", None),
            ("10.0.0.0/8,11.0.0.0/8", None),
            ("fe80::1%eth0", None),
        ] {
            let read = canonical(given);
            assert_eq!(read.as_deref().ok(), expected, "{given}");
            if let Err(error) = read {
                assert!(error.message.starts_with("Invalid value for \"source\" parameter"), "{error}");
            }
        }
    }

    #[test]
    fn addresses_of_listed_networks_are_let_in() {
        let everybody: [&[&str]; 2] = [&[], &["0.0.0.0/0"]];
        for sources in everybody {
            for address in ["1.2.3.4", "::1", "2001:db8::1", "255.255.255.255"] {
                assert!(listed(sources).allow(address.parse().unwrap()), "{sources:?} {address}");
            }
        }
        let some = listed(&["10.0.0.0/8", "192.168.1.7", "2001:db8::/32", "SERVICE_SUPPORT", "11.0.0.0/8"]);
        for (address, expected) in [
            ("10.0.0.0", true),
            ("10.255.255.255", true),
            ("11.255.255.255", true),
            ("12.0.0.0", false),
            ("9.255.255.255", false),
            ("::ffff:10.1.1.1", true),
            ("192.168.1.7", true),
            ("192.168.1.8", false),
            ("2001:db8:ffff::1", true),
            ("2001:db9::1", false),
            ("::1", false),
        ] {
            assert_eq!(some.allow(address.parse().unwrap()), expected, "{address}");
        }
        assert!(!listed(&["SERVICE_SUPPORT"]).allow("1.2.3.4".parse().unwrap()));
        let any_v6 = listed(&["::/0"]);
        assert!(any_v6.allow("2001:db8::1".parse().unwrap()));
    }

    #[test]
    fn descriptions_have_a_bound() {
        let described = |bytes| AllowedSource::new("10.0.0.0/8", Some("d".repeat(bytes)));
        assert!(described(limits::SOURCE_DESCRIPTION_BYTES_MAX).is_ok());
        let refused = described(limits::SOURCE_DESCRIPTION_BYTES_MAX + 1).expect_err("one byte more");
        assert!(refused.message.contains("\"description\""), "{refused}");
    }

    proptest! {
        #[test]
        fn merged_ranges_hold_what_the_networks_hold(
            networks in proptest::collection::vec((any::<u32>(), 0u8..=32), 1..20),
            addresses in proptest::collection::vec(any::<u32>(), 20),
        ) {
            // addresses near each other, so that ranges touch and lie in each other
            let near = |bits: u32| std::net::Ipv4Addr::from(bits & 0x0000_0fff);
            let networks: Vec<String> =
                networks.iter().map(|(bits, prefix)| format!("{}/{}", near(*bits), prefix.max(&20))).collect();
            let sources = listed(&networks.iter().map(String::as_str).collect::<Vec<_>>());
            for address in addresses.into_iter().map(near) {
                let one_by_one = networks.iter().any(|it| it.parse::<Ipv4Network>().unwrap().contains(address));
                prop_assert_eq!(sources.allow(IpAddr::V4(address)), one_by_one);
            }
        }
    }
}
