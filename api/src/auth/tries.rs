//! How many secured keys that nobody signed may an address show (C§13.3)?
//!
//! A try costs what it hashes, and gives it back when it was right. An address has some seconds of work in stock, which come
//! back slowly: it takes a fraction of one processor, however many keys there are.

use crate::network::network_of;
use lru::LruCache;
use parking_lot::Mutex;
use quorate_model::{Error, ErrorKind, Result};
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::time::Instant;

/// Blocks of 64 bytes that an address may have hashed for nothing: two hundred tries with a short key at 5,000 keys.
const STOCK_BLOCKS: u64 = 4_000_000;
/// Blocks that come back in a second.
const BLOCKS_A_SECOND: u64 = 500_000;
/// Addresses remembered; beyond that the one that tried longest ago is forgotten.
const ADDRESSES_MAX: NonZeroUsize = NonZeroUsize::new(16_384).expect("16,384 is not zero");

/// What addresses have left.
#[derive(Debug)]
pub struct Tries(Mutex<LruCache<u64, Left>>);

#[derive(Clone, Copy, Debug)]
struct Left {
    blocks: u64,
    at: Instant,
}

/// A try under way.
#[derive(Debug)]
pub struct Attempt {
    network: u64,
    blocks: u64,
}

impl Default for Tries {
    fn default() -> Self {
        Tries(Mutex::new(LruCache::new(ADDRESSES_MAX)))
    }
}

impl Tries {
    /// Charges an address for so many blocks. Errors: `RateLimited` when it has none left.
    pub fn begin(&self, address: Option<IpAddr>, blocks: u64, now: Instant) -> Result<Attempt> {
        let network = address.map_or(0, network_of);
        let mut all = self.0.lock();
        let left = all.get_or_insert_mut(network, || Left { blocks: STOCK_BLOCKS, at: now });
        let since_ms = now.saturating_duration_since(left.at).as_millis() as u64;
        left.blocks = left.blocks.saturating_add(since_ms * BLOCKS_A_SECOND / 1_000).min(STOCK_BLOCKS);
        left.at = now;
        if left.blocks == 0 {
            let text = "Too many unknown API keys from this address: try again in a few seconds";
            return Err(Error::new(ErrorKind::RateLimited, text));
        }
        // the last one may be larger than what is left
        left.blocks = left.blocks.saturating_sub(blocks);
        Ok(Attempt { network, blocks })
    }
    /// The key was signed by one of ours.
    pub fn was_right(&self, attempt: Attempt) {
        if let Some(left) = self.0.lock().get_mut(&attempt.network) {
            left.blocks = left.blocks.saturating_add(attempt.blocks).min(STOCK_BLOCKS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_address_that_is_always_wrong_runs_out_and_others_do_not() {
        let (tries, now) = (Tries::default(), Instant::now());
        let [one, other] = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse().ok());
        let cost = 20_000;
        let wrong = |at| tries.begin(one, cost, at).map(drop).map_err(|error| error.kind);
        for _ in 0..STOCK_BLOCKS / cost {
            assert_eq!(wrong(now), Ok(()));
        }
        assert_eq!(wrong(now), Err(ErrorKind::RateLimited));
        assert!(tries.begin(other, cost, now).is_ok() && tries.begin(None, cost, now).is_ok());
        let later = now + Duration::from_secs(1);
        let again = (0..1_000).take_while(|_| wrong(later).is_ok()).count() as u64;
        assert_eq!(again, BLOCKS_A_SECOND / cost);
        for _ in 0..1_000 {
            let attempt = tries.begin(other, cost, now).unwrap();
            tries.was_right(attempt);
        }
    }
}
