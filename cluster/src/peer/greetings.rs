//! Who may hold a connection that has not said yet who it is? Strangers must not keep nodes out.
//!
//! There is room for so many, and for fewer of one address. Half of the room is for addresses at which a node is known to be: it has
//! greeted from there, or was reached there by this one, which is what a start has first. When strangers fill theirs, the first
//! bytes have to come at once.

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Connections of each kind of address, known and unknown, that have not greeted yet; further ones are closed at once.
const GREETINGS_MAX: usize = 48;
/// Those of one address. Several nodes of one machine dial at the same time, three connections each.
const OF_ADDRESS_MAX: usize = 24;
/// Addresses of nodes that are remembered.
const KNOWN_MAX: usize = 1_024;
/// How long the first bytes may take when there are more than a few.
const IN_A_CROWD: Duration = Duration::from_millis(200);
/// How many a few are.
const FEW: usize = 12;

/// The connections that have not greeted yet. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Greetings(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    known: FxHashSet<IpAddr>,
    /// How many of each kind: unknown, known.
    count: [usize; 2],
    of_address: FxHashMap<IpAddr, usize>,
}

/// A connection that has not greeted yet; dropped when it has, or has ended.
#[derive(Debug)]
pub struct Greeting {
    all: Greetings,
    address: IpAddr,
    is_known: bool,
}

impl Greetings {
    /// Lets a connection in; `None` when there is no room for it.
    pub fn enter(&self, address: IpAddr) -> Option<Greeting> {
        let address = address.to_canonical();
        let mut inner = self.0.lock();
        let is_known = inner.known.contains(&address);
        let of_address = inner.of_address.get(&address).copied().unwrap_or(0);
        if inner.count[usize::from(is_known)] >= GREETINGS_MAX || of_address >= OF_ADDRESS_MAX {
            return None;
        }
        inner.count[usize::from(is_known)] += 1;
        inner.of_address.insert(address, of_address + 1);
        Some(Greeting { all: self.clone(), address, is_known })
    }
    /// A node has shown that it is one, at this address.
    pub fn know(&self, address: IpAddr) {
        let mut inner = self.0.lock();
        if inner.known.len() < KNOWN_MAX {
            inner.known.insert(address.to_canonical());
        }
    }
    /// Whether a node is known to be there.
    #[cfg(test)]
    pub fn knows(&self, address: IpAddr) -> bool {
        self.0.lock().known.contains(&address)
    }
}

impl Greeting {
    /// How long the first bytes may take, `usually` in peace.
    pub fn patience(&self, usually: Duration) -> Duration {
        let waiting = self.all.0.lock().count[usize::from(self.is_known)];
        if waiting > FEW { usually.min(IN_A_CROWD) } else { usually }
    }
    /// A node has greeted: its address is known from now on.
    pub fn greeted(&self) {
        self.all.know(self.address);
    }
}
impl Drop for Greeting {
    fn drop(&mut self) {
        let mut inner = self.all.0.lock();
        inner.count[usize::from(self.is_known)] -= 1;
        if let Some(count) = inner.of_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                inner.of_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn strangers_leave_room_for_others_and_for_those_who_are_known() {
        let greetings = Greetings::default();
        greetings.enter(address(7)).expect("room").greeted();
        // this one was dialled
        greetings.know(address(8).to_canonical());
        assert!(greetings.knows(address(7)) && greetings.knows(address(8)) && !greetings.knows(address(9)));
        let of_one: Vec<Greeting> = (0..100).filter_map(|_| greetings.enter(address(1))).collect();
        assert_eq!(of_one.len(), OF_ADDRESS_MAX);
        let usually = Duration::from_secs(2);
        assert_eq!(of_one[0].patience(usually), IN_A_CROWD);
        let strangers = (2..100).filter(|it| ![7, 8].contains(it));
        let others: Vec<Greeting> = strangers.filter_map(|it| greetings.enter(address(it))).collect();
        assert_eq!(others.len() + of_one.len(), GREETINGS_MAX);
        let known = [7, 8].map(|it| greetings.enter(address(it)).expect("room of their own"));
        assert!(known.iter().all(|it| it.patience(usually) == usually));
        drop(of_one);
        assert!(greetings.enter(address(1)).is_some());
        drop((others, known));
        let inner = greetings.0.lock();
        assert!(inner.count == [0, 0] && inner.of_address.is_empty());
    }
}
