//! By which counter are the calls of a caller counted, if the key limits them (§2.8, C§13.4)?
//!
//! By the key and who calls: the user that a secured key names, otherwise the address. A user token that the caller chose is
//! not looked at, since choosing another would start the count anew, and IPv6 addresses count by their first 64 bits, as in them anybody
//! has as many addresses as they like. Cost: keys without a limit pay a comparison.

use super::{Origin, Restrictions};
use crate::network::network_of;
use quorate_cluster::rate_limit::{CounterId, LimitedCall};
use quorate_model::ApiKey;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The call as it is counted, unless the key has no limit.
pub fn limited(key: &ApiKey, restrictions: &[Arc<Restrictions>], origin: Origin<'_>) -> Option<LimitedCall> {
    let limit = key.max_queries_per_ip_per_hour;
    if limit == 0 {
        return None;
    }
    // other nodes are told these numbers, and callers cannot make two of them meet
    let of_key: [u8; 32] = Sha256::digest(key.value.as_bytes()).into();
    let mut caller = Sha256::new_with_prefix(of_key);
    match restrictions.iter().find_map(|restriction| restriction.user_token.as_deref()) {
        Some(user) => caller.update([&b"user"[..], user.as_bytes()].concat()),
        None => match origin.address {
            Some(address) => caller.update([&b"from"[..], &network_of(address).to_le_bytes()].concat()),
            None => caller.update(b"unknown"),
        },
    }
    let caller: [u8; 32] = caller.finalize().into();
    let [first, second] = [&of_key[..8], &caller[..16]];
    let id = CounterId {
        key: u64::from_le_bytes(first.try_into().expect("eight bytes")),
        caller: second.try_into().expect("sixteen bytes"),
    };
    Some(LimitedCall { id, limit, now_s: origin.now_s })
}
