//! Whether this replica may answer reads now: the questions it asked and the leases it got.

use super::{Grant, LEASE_MS};
use std::collections::VecDeque;

/// Questions that may wait for an answer; older ones are given up.
const ASKS_MAX: usize = 8;
/// Leases of different terms that are kept beside each other.
const CHAINS_MAX: usize = 3;

/// Names a question until it is answered. No other life of the replica takes the answer for its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct AskId {
    life: u64,
    number: u64,
}

/// One lease with its renewals: the leader counts its holder all along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseId {
    term: u64,
    from: u64,
}

/// The unbroken leases of one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chain {
    term: u64,
    through: u64,
    from: u64,
    until: u64,
}

/// When this replica may read; a copy that readers can keep beside the state they read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leases([Option<Chain>; CHAINS_MAX]);

impl Leases {
    /// Whether a replica that shows everything up to `shows` may serve a read that begins at `now`. Cost: a few
    /// comparisons.
    pub fn allow(&self, now: u64, shows: u64) -> bool {
        self.0.iter().flatten().any(|chain| chain.runs(now) && shows >= chain.through)
    }

    /// When the last of them ends, in milliseconds; `None` without any.
    pub fn end(&self) -> Option<u64> {
        self.0.iter().flatten().map(|chain| chain.until).max()
    }
}

impl Chain {
    fn runs(&self, now: u64) -> bool {
        self.from <= now && now < self.until
    }
}

/// One replica's side of the leases of its group.
#[derive(Debug)]
pub struct LeaseHolder {
    life: u64,
    asked: VecDeque<(u64, u64)>,
    next_ask: u64,
    leases: Leases,
    latest: u64,
    term: u64,
}

impl LeaseHolder {
    /// A replica without a lease. `life` differs between any two starts of the replica, for example by chance.
    pub fn new(life: u64) -> Self {
        LeaseHolder {
            life,
            asked: VecDeque::new(),
            next_ask: 0,
            leases: Leases::default(),
            latest: 0,
            term: 0,
        }
    }

    /// Notes that the leader is asked at `now`; the answer comes back with what this returns.
    ///
    /// A clock that has gone backwards cannot be trusted with what was measured before: all leases end.
    pub fn ask(&mut self, now: u64) -> AskId {
        self.look(now);
        self.next_ask += 1;
        self.asked.push_back((self.next_ask, now));
        if self.asked.len() > ASKS_MAX {
            self.asked.pop_front();
        }
        AskId { life: self.life, number: self.next_ask }
    }

    /// Takes an answer in that has arrived at `now`. Nothing happens for one that came twice, too late to be of use, of an
    /// earlier life, or of an older term than another answer.
    pub fn granted(&mut self, now: u64, ask: AskId, grant: Grant) {
        self.look(now);
        if ask.life != self.life || grant.term < self.term {
            return;
        }
        let Some(at) = self.asked.iter().position(|(number, _)| *number == ask.number) else { return };
        let Some((_, asked)) = self.asked.remove(at) else { return };
        self.term = grant.term;
        let until = asked + LEASE_MS;
        if until <= now {
            return;
        }
        let Leases(chains) = &mut self.leases;
        for chain in chains.iter_mut() {
            *chain = chain.filter(|chain| chain.runs(now));
        }
        let mut running = chains.iter_mut().flatten();
        if let Some(chain) = running.find(|chain| chain.term == grant.term) {
            chain.until = chain.until.max(until);
            return;
        }
        let begins = Chain { term: grant.term, through: grant.through, from: asked, until };
        // A free place, else that of the lease which ends first.
        let place = chains.iter_mut().min_by_key(|chain| chain.map_or(0, |chain| chain.until));
        if let Some(place) = place {
            *place = Some(begins);
        }
    }

    /// Whether this replica, which shows everything up to `shows`, may serve a read that begins at `now`.
    pub fn may_read(&self, now: u64, shows: u64) -> bool {
        now >= self.latest && self.leases.allow(now, shows)
    }

    /// The lease that [`Self::may_read`] goes by, the one that runs longest if there are several.
    pub fn lease(&self, now: u64, shows: u64) -> Option<LeaseId> {
        let Leases(chains) = &self.leases;
        let allowing = |chain: &&Chain| now >= self.latest && chain.runs(now) && shows >= chain.through;
        let longest = chains.iter().flatten().filter(allowing).max_by_key(|chain| chain.until)?;
        Some(LeaseId { term: longest.term, from: longest.from })
    }
    /// Whether a lease has run from when it was asked for by [`Self::lease`] until now.
    pub fn is_unbroken(&self, now: u64, lease: LeaseId) -> bool {
        let Leases(chains) = &self.leases;
        let is_it = |chain: &Chain| (chain.term, chain.from) == (lease.term, lease.from) && chain.runs(now);
        now >= self.latest && chains.iter().flatten().any(is_it)
    }
    /// The leases as they are, for readers on other threads.
    pub fn leases(&self) -> Leases {
        self.leases
    }

    /// Gives all leases up, for example when the replica is about to be removed from this node.
    pub fn give_up(&mut self) {
        self.leases = Leases::default();
        self.asked.clear();
    }

    fn look(&mut self, now: u64) {
        if now < self.latest {
            self.give_up();
        }
        self.latest = now;
    }
}
