//! What trends in an index, as of some minutes ago at most: computed when it is asked for, by one at a time on a node.

use parking_lot::Mutex;
use quorate_model::{Candidates, Error, GroupId, IndexName, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex as Turn, Semaphore};

/// How long a list counts.
const FRESH: Duration = Duration::from_secs(600);
/// How long one of few users counts: it is computed soon, and changes with every event.
const FRESH_OF_FEW: Duration = Duration::from_secs(5);
/// Users that are few.
const FEW: u32 = 1_000;
/// How long it counts that there are none.
const NOBODY: Duration = Duration::from_secs(1);
/// How long it is shown while a new one is computed.
const OLD: Duration = Duration::from_secs(3_600);
/// Lists that are kept; of more the one that was computed first goes.
const LISTS_MAX: usize = 128;

/// Calls that wait for lists at most.
const WAITING_MAX: usize = 64;

/// An index of a group.
type Key = (GroupId, IndexName);

/// The lists of a node.
#[derive(Debug)]
pub struct Trends {
    lists: Mutex<BTreeMap<Key, Arc<List>>>,
    /// Who computes.
    turns: Arc<Semaphore>,
    /// Who waits for that, or computes.
    waiting: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct List {
    known: Mutex<Option<(Instant, Arc<Candidates>)>>,
    is_renewed: AtomicBool,
    /// Held by who computes it.
    computing: Turn<()>,
}

impl Default for Trends {
    fn default() -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Trends { lists: Mutex::default(), turns: semaphore(1), waiting: semaphore(WAITING_MAX) }
    }
}

impl List {
    fn known(&self, age: Duration) -> Option<Arc<Candidates>> {
        let known = self.known.lock();
        let age_of = |list: &Candidates| match list.users {
            0 => NOBODY,
            ..FEW if age <= FRESH => FRESH_OF_FEW,
            _ => age,
        };
        known.as_ref().filter(|(at, list)| at.elapsed() < age_of(list)).map(|(_, list)| list.clone())
    }
}

/// Says that a list is not on its way any more.
struct Renewed(Arc<List>);
impl Drop for Renewed {
    fn drop(&mut self) {
        self.0.is_renewed.store(false, Ordering::Release);
    }
}

impl Trends {
    /// What trends in an index. Who asks waits only when there is no list of the last hour; when it goes away the list is computed
    /// all the same, for the next one.
    ///
    /// Errors: those of `compute`, which runs on a thread that may take long; `Unavailable` when too many wait.
    pub async fn of(
        &self,
        key: Key,
        compute: impl FnOnce() -> Result<Candidates> + Send + 'static,
    ) -> Result<Arc<Candidates>> {
        let list = self.list(key);
        if let Some(fresh) = list.known(FRESH) {
            return Ok(fresh);
        }
        let old = list.known(OLD);
        if let Some(old) = &old
            && list.is_renewed.swap(true, Ordering::AcqRel)
        {
            return Ok(old.clone());
        }
        let (renewed, turns) = (Renewed(list.clone()), self.turns.clone());
        let Ok(waiting) = self.waiting.clone().try_acquire_owned() else {
            return old.ok_or_else(|| Error::unavailable("too many wait for what trends"));
        };
        let computed = tokio::spawn(async move {
            let _waiting = waiting;
            let _one_at_a_time = renewed.0.computing.lock().await;
            if let Some(fresh) = renewed.0.known(FRESH) {
                return Ok(fresh);
            }
            let _turn = turns.acquire().await.map_err(|_| broken())?;
            let computed = tokio::task::spawn_blocking(compute).await.map_err(|_| broken())??;
            let computed = Arc::new(computed);
            *renewed.0.known.lock() = Some((Instant::now(), computed.clone()));
            Ok(computed)
        });
        match list.known(OLD) {
            Some(old) => Ok(old),
            None => computed.await.map_err(|_| broken())?,
        }
    }
    fn list(&self, key: Key) -> Arc<List> {
        let mut lists = self.lists.lock();
        if lists.len() >= LISTS_MAX && !lists.contains_key(&key) {
            let age = |list: &Arc<List>| list.known.lock().as_ref().map(|(at, _)| *at);
            let first = lists.iter().min_by_key(|(_, list)| age(list)).map(|(key, _)| key.clone());
            first.and_then(|first| lists.remove(&first));
        }
        lists.entry(key).or_default().clone()
    }
    /// Forgets all lists: they may go by users who are to be forgotten.
    pub fn clear(&self) {
        self.lists.lock().clear();
    }
}

fn broken() -> Error {
    Error::internal("computing what trends broke off")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        (GroupId(1), IndexName::new(&format!("i{number}")).expect("valid"))
    }
    fn list(users: u32) -> Candidates {
        Candidates { users, list: vec![] }
    }

    #[tokio::test]
    async fn a_list_is_computed_once_and_kept_within_bounds() {
        let trends = Trends::default();
        let first = trends.of(key(0), || Ok(list(7))).await.expect("computed");
        let second = trends.of(key(0), || panic!("it is known")).await.expect("known");
        assert_eq!((first.users, second.users), (7, 7));
        assert!(trends.of(key(1), || Err(Error::unavailable("no"))).await.is_err());
        assert_eq!(trends.of(key(1), || Ok(list(8))).await.expect("another attempt").users, 8);
        for number in 2..LISTS_MAX + 5 {
            trends.of(key(number), || Ok(list(9))).await.expect("computed");
        }
        assert_eq!(trends.lists.lock().len(), LISTS_MAX);
        assert_eq!(
            trends.of(key(0), || Ok(list(10))).await.expect("computed").users,
            10,
            "the first one went"
        );
        trends.clear();
        assert_eq!(trends.of(key(0), || Ok(list(11))).await.expect("computed").users, 11);
    }
    #[tokio::test]
    async fn so_many_wait_and_no_more() {
        let trends = Arc::new(Trends::default());
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let first = move || {
            let _told = wait.recv();
            Ok(list(7))
        };
        let asked = trends.clone();
        let first = tokio::spawn(async move { asked.of(key(0), first).await });
        let others = (1..WAITING_MAX).map(|number| {
            let asked = trends.clone();
            tokio::spawn(async move { asked.of(key(number), || Ok(list(8))).await })
        });
        let others: Vec<_> = others.collect();
        while trends.waiting.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = trends.of(key(WAITING_MAX), || panic!("too many wait")).await;
        assert_eq!(refused.map_err(|error| error.kind), Err(quorate_model::ErrorKind::Unavailable));
        drop(go);
        assert_eq!(first.await.expect("it ends").expect("computed").users, 7);
        for other in others {
            assert_eq!(other.await.expect("it ends").expect("computed").users, 8);
        }
        assert_eq!(trends.of(key(WAITING_MAX), || Ok(list(9))).await.expect("computed").users, 9);
    }
    #[tokio::test]
    async fn an_old_list_is_shown_while_a_new_one_comes() {
        let trends = Trends::default();
        trends.of(key(0), || Ok(list(7))).await.expect("computed");
        let aged = trends.list(key(0));
        let (at, known) = aged.known.lock().clone().expect("known");
        let Some(before) = at.checked_sub(FRESH) else { return };
        *aged.known.lock() = Some((before, known));
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let compute = move || {
            let _told = wait.recv();
            Ok(list(8))
        };
        assert_eq!(trends.of(key(0), compute).await.expect("the old one").users, 7);
        assert_eq!(trends.of(key(0), || panic!("one at a time")).await.expect("the old one").users, 7);
        drop(go);
        while trends.of(key(0), || panic!("it comes")).await.expect("one of both").users == 7 {
            tokio::task::yield_now().await;
        }
    }
}
