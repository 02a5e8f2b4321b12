//! Whose job is next when more wait than there are threads? That of who has fewest threads, then of who has had least time.
//!
//! Two levels: the keys share the threads, and the addresses that use a key share what it gets. Among those with as many
//! threads, time is shared by start-time fair queueing (Goyal, Vin, Cheng: Start-time Fair Queueing, 1996): who comes
//! back after a pause begins where the others are. What is under way is not interrupted, so the bounds leave threads to others.
//! Plain: time is what the caller says a job took.
//!
//! Cost: a walk over those who wait, at most as many as may wait.

use crate::payer::Payer;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::time::Duration;

/// Those whose threads are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharer {
    /// A key, by its hash.
    Key(u64),
    /// An address that uses a key.
    Address(Payer),
}

/// Those who are known although they want nothing, at most, on each level.
const IDLE_MAX: usize = 1_024;

/// The jobs that wait.
#[derive(Debug)]
pub struct Turns<J> {
    waiting_max: usize,
    keys: Level<OfKey<J>>,
    waiting: usize,
    running: usize,
    /// Number of the next job.
    next: u64,
}

/// Those who share.
#[derive(Debug)]
struct Level<T> {
    members: FxHashMap<u64, Member<T>>,
    /// What who was served last had had before.
    now: Duration,
}
#[derive(Debug)]
struct Member<T> {
    /// Time it has had.
    had: Duration,
    running: usize,
    waiting: usize,
    /// Number of its oldest job that waits.
    oldest: u64,
    own: T,
}
#[derive(Debug)]
struct OfKey<J> {
    addresses: Level<VecDeque<(u64, J)>>,
}

impl<T> Default for Level<T> {
    fn default() -> Self {
        Level { members: FxHashMap::default(), now: Duration::ZERO }
    }
}
impl<J> Default for OfKey<J> {
    fn default() -> Self {
        OfKey { addresses: Level::default() }
    }
}
impl<T: Default> Level<T> {
    /// One who wants something now; who wanted nothing before has had as much as who is served.
    fn wanting(&mut self, id: u64) -> &mut Member<T> {
        if self.members.len() > IDLE_MAX && !self.members.contains_key(&id) {
            self.members.retain(|_, member| member.running + member.waiting > 0);
        }
        let new = || Member { had: Duration::ZERO, running: 0, waiting: 0, oldest: 0, own: T::default() };
        let member = self.members.entry(id).or_insert_with(new);
        if member.running + member.waiting == 0 {
            member.had = member.had.max(self.now);
        }
        member
    }
}
impl<T> Level<T> {
    /// Who is served next, of those with fewer threads than `most` says for whom something waits that `chosen` says may run; with
    /// that. Each is asked once: the next moment `most` may say something else.
    fn next<C>(
        &self,
        most: impl Fn(u64) -> usize,
        chosen: impl Fn(u64, &T) -> Option<C>,
    ) -> Option<(u64, C)> {
        let waiting = self.members.iter().filter(|(id, it)| it.waiting > 0 && it.running < most(**id));
        let may_run = waiting.filter_map(|(id, member)| Some((member, *id, chosen(*id, &member.own)?)));
        let next = may_run.min_by_key(|(member, _, _)| (member.running, member.had, member.oldest));
        next.map(|(_, id, chosen)| (id, chosen))
    }
    fn serve(&mut self, id: u64) -> Option<&mut Member<T>> {
        let member = self.members.get_mut(&id)?;
        member.waiting -= 1;
        member.running += 1;
        self.now = self.now.max(member.had);
        Some(member)
    }
    fn served(&mut self, id: u64, took: Duration) -> Option<&mut Member<T>> {
        let member = self.members.get_mut(&id)?;
        member.running -= 1;
        member.had += took;
        Some(member)
    }
}

/// What becomes of a job that was handed in.
#[derive(Debug, PartialEq, Eq)]
pub enum Entered<J> {
    /// It waits.
    Waits,
    /// It waits, and another job has lost its place to it.
    InsteadOf(J),
    /// There is no place for it.
    Refused(J),
}

impl<J> Turns<J> {
    /// Nothing waits; at most so many jobs may.
    pub fn new(waiting_max: usize) -> Turns<J> {
        Turns { waiting_max, keys: Level::default(), waiting: 0, running: 0, next: 0 }
    }
    /// Jobs that wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }
    /// A job that waits for its turn from now on. When as many wait as may, who has most of them gives one up, the latest.
    pub fn enter(&mut self, payer: Payer, job: J) -> Entered<J> {
        let instead = match self.waiting < self.waiting_max {
            true => None,
            false => match self.give_up_one(payer) {
                Some(other) => Some(other),
                None => return Entered::Refused(job),
            },
        };
        let number = self.next;
        self.next += 1;
        let key = self.keys.wanting(payer.key);
        let address = key.own.addresses.wanting(payer.address);
        address.own.push_back((number, job));
        for (waiting, oldest) in
            [(&mut key.waiting, &mut key.oldest), (&mut address.waiting, &mut address.oldest)]
        {
            *oldest = if *waiting == 0 { number } else { *oldest };
            *waiting += 1;
        }
        self.waiting += 1;
        instead.map_or(Entered::Waits, Entered::InsteadOf)
    }
    /// The latest job of who has most of them waiting, if that are two more than `payer` has.
    fn give_up_one(&mut self, payer: Payer) -> Option<J> {
        let own = self.keys.members.get(&payer.key);
        let own = own.and_then(|key| key.own.addresses.members.get(&payer.address));
        let own = own.map_or(0, |address| address.waiting);
        let keys = self.keys.members.iter();
        let all = keys.flat_map(|(key, of)| {
            of.own.addresses.members.iter().map(|(address, of)| (of.waiting, *key, *address))
        });
        let (most, key, address) = all.max()?;
        if most < own + 2 {
            return None;
        }
        let key = self.keys.members.get_mut(&key)?;
        let address = key.own.addresses.members.get_mut(&address)?;
        let (_, job) = address.own.pop_back()?;
        address.waiting -= 1;
        key.waiting -= 1;
        self.waiting -= 1;
        Some(job)
    }
    /// The job that is next, and who pays for it: [`Turns::ended`] is told when it has ended. `None` when nothing waits that
    /// may run: each has at most the threads that `most` says.
    pub fn take(&mut self, most: impl Fn(Sharer) -> usize) -> Option<(Payer, J)> {
        let next_of = |key: u64, of: &OfKey<J>| {
            let most = |address| most(Sharer::Address(Payer { key, address }));
            of.addresses.next(most, |_, _| Some(())).map(|(address, ())| address)
        };
        let (key, address) = self.keys.next(|key| most(Sharer::Key(key)), next_of)?;
        let of_key = self.keys.serve(key)?;
        let of_address = of_key.own.addresses.serve(address)?;
        let (_, job) = of_address.own.pop_front()?;
        of_address.oldest = of_address.own.front().map_or(0, |(number, _)| *number);
        let oldest = of_key.own.addresses.members.values().filter(|it| it.waiting > 0).map(|it| it.oldest);
        of_key.oldest = oldest.min().unwrap_or(0);
        self.waiting -= 1;
        self.running += 1;
        Some((Payer { key, address }, job))
    }
    /// A job has ended that took so long.
    pub fn ended(&mut self, payer: Payer, took: Duration) {
        self.running -= 1;
        if let Some(key) = self.keys.served(payer.key, took) {
            key.own.addresses.served(payer.address, took);
        }
        if self.running + self.waiting == 0 {
            self.keys = Level::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const WAITING_MAX: usize = 16;
    const OF_ADDRESS: usize = 4;

    fn most(of: Sharer) -> usize {
        match of {
            Sharer::Key(_) => OF_ADDRESS + 1,
            Sharer::Address(_) => OF_ADDRESS,
        }
    }

    fn payer(key: u64, address: u64) -> Payer {
        Payer { key, address }
    }
    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }
    /// Who is served, job after job on one thread, when each job takes as long as `took` says.
    fn served(turns: &mut Turns<u64>, jobs: usize, took: impl Fn(Payer) -> u64) -> Vec<(u64, u64)> {
        let serve = |_| {
            let (payer, _) = turns.take(most).unwrap();
            turns.ended(payer, ms(took(payer)));
            (payer.key, payer.address)
        };
        (0..jobs).map(serve).collect()
    }

    #[test]
    fn one_who_pays_is_served_in_order() {
        let mut turns = Turns::new(WAITING_MAX);
        for job in 0..10 {
            assert_eq!(turns.enter(payer(1, 1), job), Entered::Waits);
        }
        for job in 0..10 {
            assert_eq!(turns.waiting(), 10 - job as usize);
            assert_eq!(turns.take(most), Some((payer(1, 1), job)));
            turns.ended(payer(1, 1), ms(1));
        }
        assert_eq!(turns.take(most), None);
    }

    /// What somebody may have changes with time, also while a job is being taken.
    #[test]
    fn a_job_is_taken_or_waits_although_what_its_caller_may_have_changes_meanwhile() {
        use std::cell::Cell;
        for may_have in 0..4_usize {
            let mut turns = Turns::new(WAITING_MAX);
            turns.enter(payer(1, 1), 7);
            let asked = Cell::new(0);
            // the first few times nothing is in the way, and then everything
            let changing = |_: Sharer| {
                asked.set(asked.get() + 1);
                if asked.get() <= may_have { OF_ADDRESS } else { 0 }
            };
            let taken = turns.take(changing).or_else(|| turns.take(most));
            assert_eq!(taken, Some((payer(1, 1), 7)), "{may_have}");
            assert_eq!((turns.waiting(), turns.take(most)), (0, None));
            turns.ended(payer(1, 1), ms(1));
            // and its caller may have as much as before
            for job in 0..OF_ADDRESS as u64 + 1 {
                turns.enter(payer(1, 1), job);
            }
            let running = (0..OF_ADDRESS).filter(|_| turns.take(most).is_some()).count();
            assert_eq!((running, turns.take(most)), (OF_ADDRESS, None), "{may_have}");
        }
    }

    #[test]
    fn time_is_shared_between_keys_and_then_between_addresses() {
        let mut turns = Turns::new(1_000);
        for job in 0..100 {
            turns.enter(payer(1, 1), job);
            turns.enter(payer(1, 2), job);
            turns.enter(payer(2, 1), job);
        }
        // a job of the first address takes four times as long as others
        let took = |it: Payer| if it == payer(1, 1) { 40 } else { 10 };
        let mut had = BTreeMap::<(u64, u64), u64>::new();
        for who in served(&mut turns, 90, took) {
            *had.entry(who).or_default() += took(payer(who.0, who.1));
        }
        let near = |who, expected: u64| had[&who].abs_diff(expected) <= 80;
        let all: u64 = had.values().sum();
        assert!(near((2, 1), all / 2) && near((1, 1), all / 4) && near((1, 2), all / 4), "{had:?}");
    }

    #[test]
    fn threads_are_left_to_others() {
        let mut turns = Turns::new(WAITING_MAX);
        for job in 0..8 {
            turns.enter(payer(1, 1), job);
        }
        for _ in 0..OF_ADDRESS {
            assert!(turns.take(most).is_some());
        }
        assert_eq!(turns.take(most), None, "an address has as many threads as it may");
        turns.enter(payer(1, 2), 100);
        turns.enter(payer(1, 2), 101);
        assert_eq!(turns.take(most), Some((payer(1, 2), 100)), "another one has the next");
        assert_eq!(turns.take(most), None, "the key has as many as it may");
        turns.enter(payer(2, 1), 200);
        assert_eq!(turns.take(most), Some((payer(2, 1), 200)), "and another key the one after");
        turns.ended(payer(1, 1), ms(1_000));
        turns.enter(payer(2, 1), 201);
        let half = |of| if of == Sharer::Key(1) { 2 } else { most(of) };
        assert_eq!(turns.take(half), Some((payer(2, 1), 201)), "who has more than it may now waits");
        assert_eq!(turns.take(half), None);
        assert_eq!(turns.take(most), Some((payer(1, 2), 101)), "who has fewer threads comes first");
    }

    #[test]
    fn who_comes_back_is_owed_nothing_and_owes_what_it_had() {
        let mut turns = Turns::new(WAITING_MAX);
        turns.enter(payer(1, 1), 0);
        turns.enter(payer(2, 1), 0);
        turns.enter(payer(2, 1), 0);
        let first = turns.take(most).unwrap().0;
        assert_eq!(first, payer(1, 1));
        turns.ended(first, ms(1_000));
        turns.enter(payer(1, 1), 1);
        turns.enter(payer(3, 1), 0);
        assert_eq!(
            served(&mut turns, 4, |_| 10),
            [(2, 1), (3, 1), (2, 1), (1, 1)],
            "the one of the long job is last, a newcomer begins with the others"
        );
    }

    #[test]
    fn who_has_most_jobs_gives_up_its_latest() {
        let mut turns = Turns::new(4);
        for job in 0..4 {
            turns.enter(payer(1, 1), job);
        }
        assert_eq!(turns.enter(payer(1, 1), 4), Entered::Refused(4));
        assert_eq!(turns.enter(payer(2, 1), 10), Entered::InsteadOf(3));
        assert_eq!(turns.enter(payer(2, 2), 11), Entered::InsteadOf(2));
        assert_eq!(turns.enter(payer(2, 2), 12), Entered::Refused(12), "nobody has two more");
        assert_eq!(turns.waiting(), 4);
        let mut taken: Vec<u64> = std::iter::from_fn(|| turns.take(most)).map(|(_, job)| job).collect();
        taken.sort_unstable();
        assert_eq!(taken, [0, 1, 10, 11]);
    }

    #[test]
    fn nobody_is_remembered_for_ever() {
        let mut turns = Turns::new(WAITING_MAX);
        turns.enter(payer(0, 0), 0);
        let held = turns.take(most).unwrap().0;
        for key in 1..10 * IDLE_MAX as u64 {
            turns.enter(payer(key, 0), key);
            turns.enter(payer(0, key), key);
            for _ in 0..2 {
                let (payer, _) = turns.take(most).unwrap();
                turns.ended(payer, ms(1));
            }
            assert!(turns.keys.members.len() <= IDLE_MAX + 1);
            assert!(turns.keys.members[&0].own.addresses.members.len() <= IDLE_MAX + 1);
        }
        turns.ended(held, ms(1));
        assert!(turns.keys.members.is_empty());
    }
}
