//! How many connections may one address have?
//!
//! As many as it leaves free: the first half of all, the next a quarter, and so on, as with the memory that calls share (`room.rs`).
//! Trusted proxies have no such bound, since many callers come from theirs. The doorman is asked before anything is read.

use crate::network::{Networks, network_of};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Counts connections by address. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Doorman(Arc<Shared>);
#[derive(Debug)]
struct Shared {
    counts: Mutex<Counts>,
    connections_max: usize,
    exempt: Networks,
}
#[derive(Debug, Default)]
struct Counts {
    all: usize,
    /// Those that are not exempt.
    by_network: HashMap<u64, usize>,
}
/// A connection that counts until it is dropped.
#[derive(Debug)]
pub struct Guest {
    shared: Arc<Shared>,
    /// None of an exempt one.
    network: Option<u64>,
}

/// Connections that an address may have however few there are.
const LEAST: usize = 16;

impl Doorman {
    /// Of a server with so many connections.
    pub fn new(connections_max: usize, exempt: Networks) -> Doorman {
        Doorman(Arc::new(Shared { counts: Mutex::default(), connections_max, exempt }))
    }
    /// Lets a connection in, which counts as long as its guest is there; none when its address has too many.
    pub fn look(&self, peer: IpAddr) -> Option<Guest> {
        self.enter((!self.0.exempt.hold(peer)).then(|| network_of(peer)))
    }
    fn enter(&self, network: Option<u64>) -> Option<Guest> {
        let mut counts = self.0.counts.lock();
        let Counts { all, by_network } = &mut *counts;
        if let Some(network) = network {
            let free = self.0.connections_max.saturating_sub(*all);
            let own = by_network.get(&network).copied().unwrap_or(0);
            if own >= free.max(LEAST) {
                return None;
            }
            by_network.insert(network, own + 1);
        }
        *all += 1;
        Some(Guest { shared: self.0.clone(), network })
    }
}
impl Drop for Guest {
    fn drop(&mut self) {
        let mut counts = self.shared.counts.lock();
        counts.all -= 1;
        let Some(network) = self.network else { return };
        if let Some(own) = counts.by_network.get_mut(&network) {
            *own -= 1;
            if *own == 0 {
                counts.by_network.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_no_more_connections_than_it_leaves() {
        let doorman = Doorman::new(100, Networks::default());
        let all = |network| -> Vec<Guest> { std::iter::from_fn(|| doorman.enter(Some(network))).collect() };
        let mut guests: Vec<Vec<Guest>> = (1..=2).map(all).collect();
        assert_eq!(guests.iter().map(Vec::len).collect::<Vec<_>>(), [50, 25]);
        assert!(doorman.enter(Some(3)).is_some(), "who comes last finds a place");
        guests[0].truncate(20);
        assert_eq!(all(1).len(), 18, "as soon as it leaves more than it has");
        assert!((0..100).map_while(|_| doorman.enter(None)).count() == 100, "a proxy has no bound");
        drop(guests);
        let counts = doorman.0.counts.lock();
        assert!(counts.all == 0 && counts.by_network.is_empty(), "nobody is remembered");
        let small = Doorman::new(2, Networks::default());
        let guests: Vec<Guest> = (0..100).map_while(|_| small.enter(Some(3))).collect();
        assert_eq!(guests.len(), LEAST);
    }
}
