//! How many connections may one address have?
//!
//! Half of all of them: who keeps as many open as it can leaves the others to everybody else. Trusted proxies have no such bound,
//! since many callers come from theirs.

use crate::network::{Networks, network_of};
use actix_rt::net::TcpStream;
use actix_web::dev::Extensions;
use parking_lot::Mutex;
use rustix::net::{Shutdown, shutdown};
use std::collections::HashMap;
use std::sync::Arc;

/// Counts connections by address. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Doorman(Arc<Shared>);
#[derive(Debug)]
struct Shared {
    by_network: Mutex<HashMap<u64, usize>>,
    most: usize,
    exempt: Networks,
}
/// A connection that counts until it is dropped.
struct Guest {
    shared: Arc<Shared>,
    network: u64,
}

/// Connections that an address may have however few there are.
const LEAST: usize = 16;

impl Doorman {
    /// Of a server with so many connections.
    pub fn new(connections_max: usize, exempt: Networks) -> Doorman {
        let most = (connections_max / 2).max(LEAST);
        Doorman(Arc::new(Shared { by_network: Mutex::default(), most, exempt }))
    }
    /// Lets a connection in, which counts as long as what it keeps is there, or ends it.
    pub fn look(&self, stream: &TcpStream, kept: &mut Extensions) {
        let Ok(peer) = stream.peer_addr() else { return };
        if self.0.exempt.hold(peer.ip()) {
            return;
        }
        match self.enter(network_of(peer.ip())) {
            Some(guest) => drop(kept.insert(guest)),
            // the connection is read as one that its caller has closed
            None => drop(shutdown(stream, Shutdown::Both)),
        }
    }
    fn enter(&self, network: u64) -> Option<Guest> {
        let mut by_network = self.0.by_network.lock();
        let count = by_network.entry(network).or_default();
        if *count >= self.0.most {
            return None;
        }
        *count += 1;
        Some(Guest { shared: self.0.clone(), network })
    }
}
impl Drop for Guest {
    fn drop(&mut self) {
        let mut by_network = self.shared.by_network.lock();
        if let Some(count) = by_network.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                by_network.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_half_of_the_connections_and_others_the_rest() {
        let doorman = Doorman::new(100, Networks::default());
        let mut guests: Vec<Guest> = (0..50).map_while(|_| doorman.enter(1)).collect();
        assert_eq!(guests.len(), 50);
        assert!(doorman.enter(1).is_none() && doorman.enter(2).is_some());
        guests.pop();
        let again = doorman.enter(1);
        assert!(again.is_some() && doorman.enter(1).is_none());
        drop((guests, again));
        assert!(doorman.0.by_network.lock().is_empty(), "nobody is remembered");
        let small = Doorman::new(2, Networks::default());
        let guests: Vec<Guest> = (0..100).map_while(|_| small.enter(3)).collect();
        assert_eq!(guests.len(), LEAST);
    }
}
