//! Whom is a read charged to? Callers with one key at one address are one; the keys of an installation share its threads, and
//! the addresses that use a key share what the key gets.

use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hash, Hasher};
use tokio::task::futures::TaskLocalFuture;

tokio::task_local! {
    static PAYER: Payer;
}

/// Who asked for work, as hashes that are the same on every node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Payer {
    /// Of the key.
    pub key: u64,
    /// Of the address.
    pub address: u64,
}

impl Payer {
    /// Who has this key at this address.
    pub fn new(key: &impl Hash, address: &impl Hash) -> Payer {
        Payer { key: hash(key), address: hash(address) }
    }
    /// Charges all reads to it that `work` does itself; not those of tasks that it spawns.
    pub fn charge<F: Future>(self, work: F) -> TaskLocalFuture<Payer, F> {
        PAYER.scope(self, work)
    }
    /// Whom this task works for; the node itself when nobody was named.
    pub fn current() -> Payer {
        PAYER.try_with(|payer| *payer).unwrap_or_default()
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reads_are_charged_to_whom_the_task_works_for() {
        assert_eq!(Payer::current(), Payer::default());
        let (a, b) = (Payer::new(&"key", &1), Payer::new(&"key", &2));
        assert!(a != b && a.key == b.key && a == Payer::new(&"key", &1));
        let outer = a.charge(async { (b.charge(async { Payer::current() }).await, Payer::current()) });
        assert_eq!(outer.await, (b, a));
    }
}
