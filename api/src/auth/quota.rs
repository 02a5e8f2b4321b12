//! How many calls has a caller made with a key that limits them (§2.8, C§13.4)?
//!
//! Counted by the key and who calls: the user that a secured key names, otherwise the address. A user token that the
//! caller chose is not looked at, since choosing another would start the count anew. Each node counts what it answers.
//! Cost: keys without a limit pay a comparison.

use super::{Origin, Restrictions};
use lru::LruCache;
use parking_lot::Mutex;
use quorate_model::{ApiKey, Error, ErrorKind, Result};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Seconds a count lasts from its first call.
const WINDOW_S: u64 = 3_600;
/// Callers remembered; beyond that the one that called longest ago is forgotten. About 5 MiB.
const CALLERS_MAX: NonZeroUsize = NonZeroUsize::new(65_536).expect("65,536 is not zero");

/// The counts of one node.
#[derive(Debug)]
pub struct Quota {
    /// By a fingerprint of key and caller; nobody outside can make two of them meet.
    windows: Mutex<LruCache<u64, Window>>,
    fingerprints: RandomState,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    begun_s: u64,
    calls: u64,
}

/// Whom a call is counted for.
#[derive(Hash)]
enum Who<'a> {
    User(&'a str),
    Address(Option<IpAddr>),
}

impl Default for Quota {
    fn default() -> Self {
        Quota { windows: Mutex::new(LruCache::new(CALLERS_MAX)), fingerprints: RandomState::new() }
    }
}

impl Quota {
    /// Counts one call. Errors: `RateLimited` when the key allows no further one in this hour.
    pub fn count(&self, key: &ApiKey, restrictions: &[Arc<Restrictions>], origin: Origin<'_>) -> Result<()> {
        let allowed = key.max_queries_per_ip_per_hour;
        if allowed == 0 {
            return Ok(());
        }
        let user = restrictions.iter().find_map(|restriction| restriction.user_token.as_deref());
        let who = match user {
            Some(user) => Who::User(user),
            None => Who::Address(origin.address.map(|address| address.to_canonical())),
        };
        let fingerprint = self.fingerprints.hash_one((&key.value, who));
        let mut windows = self.windows.lock();
        let fresh = Window { begun_s: origin.now_s, calls: 0 };
        let window = windows.get_or_insert_mut(fingerprint, || fresh);
        if !(window.begun_s..window.begun_s.saturating_add(WINDOW_S)).contains(&origin.now_s) {
            *window = fresh;
        }
        if window.calls >= allowed {
            return Err(Error::new(ErrorKind::RateLimited, "Too Many Requests"));
        }
        window.calls += 1;
        Ok(())
    }
}
