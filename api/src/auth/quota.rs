//! By which counter are the calls of a caller counted, if the key limits them (C§13.1, C§13.4)?
//!
//! By the key and who calls: the user that a secured key names, otherwise the address. A user token that the caller chose is
//! not looked at, since choosing another would start the count anew, and IPv6 addresses count by their first 64 bits, as in them anybody
//! has as many addresses as they like. Cost: keys without a limit pay a comparison.

use super::{Caller, Origin, Restrictions};
use crate::network::network_of;
use quorate_cluster::rate_limit::{CounterId, LimitedCall};
use quorate_model::ApiKey;
use quorate_model::limits::FORGOTTEN_USERS_PER_HOUR;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The call as it is counted, unless the key has no limit.
pub fn limited(key: &ApiKey, restrictions: &[Arc<Restrictions>], origin: Origin<'_>) -> Option<LimitedCall> {
    let limit = key.max_queries_per_ip_per_hour;
    if limit == 0 {
        return None;
    }
    let of_key: [u8; 32] = Sha256::digest(key.value.as_bytes()).into();
    let mut caller = Sha256::new_with_prefix(of_key);
    match super::user_token(restrictions) {
        Some(user) => caller.update([&b"user"[..], user.as_bytes()].concat()),
        None => match origin.address {
            Some(address) => caller.update([&b"from"[..], &network_of(address).to_le_bytes()].concat()),
            None => caller.update(b"unknown"),
        },
    }
    Some(LimitedCall { id: counter_id(of_key, caller), limit, now_s: origin.now_s })
}

/// A call that forgets a user (C§18.4). The admin key and each other key have a count of their own; secured keys count with their parent.
pub fn forgetting(caller: &Caller, now_s: u64) -> LimitedCall {
    let of_key: [u8; 32] = match caller {
        Caller::Key { key, .. } => Sha256::digest(key.value.as_bytes()).into(),
        Caller::Admin | Caller::Nobody => Sha256::digest(b"admin").into(),
    };
    let counted = Sha256::new_with_prefix(of_key).chain_update(b"forgets");
    LimitedCall { id: counter_id(of_key, counted), limit: FORGOTTEN_USERS_PER_HOUR, now_s }
}

/// Other nodes are told these numbers, and callers cannot make two of them meet.
fn counter_id(of_key: [u8; 32], caller: Sha256) -> CounterId {
    let caller: [u8; 32] = caller.finalize().into();
    let [first, second] = [&of_key[..8], &caller[..16]];
    CounterId {
        key: u64::from_le_bytes(first.try_into().expect("eight bytes")),
        caller: second.try_into().expect("sixteen bytes"),
    }
}
