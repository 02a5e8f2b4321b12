//! Where reads run: a bounded pool of threads, each with its own scratch memory, shared fairly among those who ask.

mod at_once;
mod rights;

pub use rights::ReadRights;

use crate::error::{Error, Result};
use crate::index::IndexView;
use crate::payer::Payer;
use crate::sharing::Sharing;
use crate::turns::{Entered, Sharer, Turns};
use parking_lot::{Condvar, Mutex};
use quorate_engine::clock::Deadline;
use quorate_engine::index::let_short_work_go_first;
use quorate_engine::{Scratch, SearchLimits};
use quorate_model::{FacetHits, SearchParams, SearchResults, limits};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

/// What a job works with.
pub struct Turn<'a> {
    /// Memory of the thread.
    pub scratch: &'a mut Scratch,
    /// Set once nobody waits for the answer any more.
    pub is_given_up: Arc<AtomicBool>,
}

/// `None`: it lost its place to that of somebody else.
type Job = Box<dyn FnOnce(Option<&mut Scratch>) + Send>;

/// The threads that run searches, shared among those who pay for them. Cheap to clone; the threads end with the last clone.
#[derive(Clone, Debug)]
pub struct SearchPool {
    queue: Arc<Queue>,
    _ends: Arc<Ends>,
}

/// The threads that somebody may have who leaves no room to others.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    of_address: usize,
    of_key: usize,
}
/// Jobs and the threads that wait for some.
#[derive(Debug)]
struct Queue {
    turns: Mutex<Waiting>,
    sharing: Sharing,
    /// Threads that an address, and a key, may have.
    bounds: Bounds,
    has_more: Condvar,
    /// Jobs that were handed in: a thread that has done one looks at it for a moment before it sleeps.
    entered: AtomicUsize,
}
struct Waiting {
    turns: Turns<Job>,
    /// Threads with nothing to do.
    idle: usize,
    is_over: bool,
}
impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").field("jobs", &self.turns.waiting()).field("idle", &self.idle).finish()
    }
}
/// Lets the threads end.
#[derive(Debug)]
struct Ends(Arc<Queue>);
impl Drop for Ends {
    fn drop(&mut self) {
        self.0.turns.lock().is_over = true;
        self.0.has_more.notify_all();
    }
}

/// Threads beyond those that one address may have: one for another address with the same key, one for another key. The
/// system shares the processors among all of them, so nobody waits for the end of what others have under way.
const THREADS_FOR_OTHERS: usize = 2;

impl SearchPool {
    /// Starts the threads, of which one caller has at most `threads`.
    pub fn start(threads: usize) -> Result<SearchPool> {
        let of_address = threads.max(1);
        let bounds = Bounds { of_address, of_key: of_address + 1 };
        let turns = Waiting { turns: Turns::new(limits::SEARCH_QUEUE_MAX), idle: 0, is_over: false };
        let queue = Arc::new(Queue {
            turns: Mutex::new(turns),
            sharing: Sharing::default(),
            bounds,
            has_more: Condvar::new(),
            entered: AtomicUsize::new(0),
        });
        for number in 0..of_address + THREADS_FOR_OTHERS {
            let queue = queue.clone();
            std::thread::Builder::new()
                .name(format!("search-{number}"))
                .spawn(move || queue.work())
                .map_err(|source| Error::Io { what: "starting a search thread".into(), source })?;
        }
        Ok(SearchPool { _ends: Arc::new(Ends(queue.clone())), queue })
    }
    /// Threads that one caller has at most.
    pub fn threads(&self) -> usize {
        self.queue.bounds.of_address
    }
    /// Jobs that wait for a thread.
    pub fn queued(&self) -> usize {
        self.queue.turns.lock().turns.waiting()
    }
    /// Runs `job` on a thread of the pool, for the [`Payer`] of this task. Errors: `Unavailable` when too many jobs wait or the job
    /// has waited for too long, `Internal` when the job panics.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(Turn<'_>) -> quorate_model::Result<T> + Send + 'static,
    ) -> quorate_model::Result<T> {
        self.queue.sharing.asks(Payer::current(), Instant::now());
        self.run_after(WAIT_MAX, job).await
    }
    /// The same for work that no caller waits for: it may wait for its turn as long as that takes.
    pub async fn run_patiently<T: Send + 'static>(
        &self,
        job: impl FnOnce(Turn<'_>) -> quorate_model::Result<T> + Send + 'static,
    ) -> quorate_model::Result<T> {
        self.run_after(Duration::MAX, job).await
    }
    async fn run_after<T: Send + 'static>(
        &self,
        wait_max: Duration,
        job: impl FnOnce(Turn<'_>) -> quorate_model::Result<T> + Send + 'static,
    ) -> quorate_model::Result<T> {
        let (done, answer) = oneshot::channel();
        let queued = Instant::now();
        // dropped with this future, when the caller hangs up
        let asker = Asker::default();
        let is_given_up = asker.0.clone();
        let boxed: Job = Box::new(move |scratch| {
            // nobody waits for what a caller who hung up has asked for
            if is_given_up.load(Ordering::Relaxed) {
                return;
            }
            let result = match scratch {
                Some(scratch) if queued.elapsed() <= wait_max => job(Turn { scratch, is_given_up }),
                Some(_) | None => Err(too_many()),
            };
            let _asker_is_gone = done.send(result);
        });
        self.queue.enter(Payer::current(), boxed);
        answer.await.unwrap_or_else(|_| Err(quorate_model::Error::internal("the search ended unexpectedly")))
    }
    /// Runs one query on a view.
    pub async fn search(
        &self,
        view: Arc<IndexView>,
        params: impl Into<Box<SearchParams>>,
        rights: ReadRights,
    ) -> quorate_model::Result<SearchResults> {
        let params = params.into();
        self.run(move |turn| {
            let limits = turn.limits(rights);
            quorate_engine::search(&view.shard, &view.configuration, &params, &limits, turn.scratch)
        })
        .await
    }
    /// Runs one page of a browse on a view.
    pub async fn browse(
        &self,
        view: Arc<IndexView>,
        params: SearchParams,
        after: Option<Vec<u8>>,
        rights: ReadRights,
    ) -> quorate_model::Result<SearchResults> {
        self.run(move |turn| {
            let limits = turn.limits(rights);
            quorate_engine::browse(
                &view.shard,
                &view.configuration,
                &params,
                after.as_deref(),
                &limits,
                turn.scratch,
            )
        })
        .await
    }
    /// Runs one facet search on a view.
    pub async fn search_facet(
        &self,
        view: Arc<IndexView>,
        facet: String,
        facet_query: String,
        params: SearchParams,
        rights: ReadRights,
    ) -> quorate_model::Result<FacetHits> {
        self.run(move |turn| {
            let limits = turn.limits(rights);
            quorate_engine::search_facet(
                &view.shard,
                &view.configuration,
                &facet,
                &facet_query,
                &params,
                &limits,
                turn.scratch,
            )
        })
        .await
    }
}

/// How long a job may wait for a thread.
const WAIT_MAX: Duration = Duration::from_millis(limits::SEARCH_WAIT_MS);

fn too_many() -> quorate_model::Error {
    quorate_model::Error::unavailable("too many searches are waiting; try another host")
}

/// The limits of a read that ends at a time.
fn search_limits(rights: ReadRights, until: Instant) -> SearchLimits {
    SearchLimits {
        deadline: until.into(),
        now_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        sees_unretrievable: rights.sees_unretrievable,
        max_hits_per_query: rights.max_hits_per_query,
        bytes_max: rights.bytes_max(),
    }
}
impl Turn<'_> {
    /// When work ends that may take until then, and ends before when nobody waits for it any more.
    pub fn deadline(&self, until: Instant) -> Deadline {
        Deadline::from(until).unless(self.is_given_up.clone())
    }
    /// The limits of a read whose work begins now and ends when nobody waits for it any more.
    pub(crate) fn limits(&self, rights: ReadRights) -> SearchLimits {
        let limits = search_limits(rights, Instant::now() + Duration::from_millis(limits::SEARCH_MS));
        SearchLimits { deadline: limits.deadline.unless(self.is_given_up.clone()), ..limits }
    }
}

/// Who waits for an answer.
#[derive(Debug, Default)]
struct Asker(Arc<AtomicBool>);
impl Drop for Asker {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Looks at the queue before a thread sleeps, and those of them that keep the processor.
const LOOKS: u32 = 11;
const LOOKS_AWAKE: u32 = 7;

impl Queue {
    fn enter(&self, payer: Payer, job: Job) {
        let mut waiting = self.turns.lock();
        let entered = waiting.turns.enter(payer, job);
        let wakes = waiting.idle > 0;
        drop(waiting);
        self.entered.fetch_add(1, Ordering::Release);
        if wakes {
            self.has_more.notify_one();
        }
        match entered {
            Entered::Waits => {}
            Entered::InsteadOf(job) | Entered::Refused(job) => job(None),
        }
    }
    /// The threads that somebody may have now.
    fn most(&self, of: Sharer) -> usize {
        let now = Instant::now();
        let (most, leaves_room) = match of {
            Sharer::Key(key) => (self.bounds.of_key, self.sharing.key_leaves_room(key, now)),
            Sharer::Address(payer) => (self.bounds.of_address, self.sharing.payer_leaves_room(payer, now)),
        };
        if leaves_room { self.bounds.of_address.div_ceil(2) } else { most }
    }
    /// One thread.
    fn work(&self) {
        let_short_work_go_first();
        let mut scratch = Scratch::default();
        let mut is_fresh = false;
        let mut waiting = self.turns.lock();
        loop {
            if let Some((payer, job)) = waiting.turns.take(|of| self.most(of)) {
                drop(waiting);
                let began = Instant::now();
                // a panic is a defect; it must cost its caller an answer and not everybody a thread
                if catch_unwind(AssertUnwindSafe(|| job(Some(&mut scratch)))).is_err() {
                    tracing::error!("a search panicked");
                    scratch = Scratch::default();
                }
                let took = began.elapsed();
                self.sharing.took(payer, took, began + took);
                waiting = self.turns.lock();
                waiting.turns.ended(payer, took);
                is_fresh = true;
                continue;
            }
            if waiting.is_over {
                return;
            }
            if is_fresh {
                is_fresh = false;
                drop(waiting);
                self.look_for_more();
                waiting = self.turns.lock();
                continue;
            }
            waiting.idle += 1;
            self.has_more.wait(&mut waiting);
            waiting.idle -= 1;
        }
    }
    /// Waits for another job for some microseconds: under load one comes, and to sleep and be woken costs more.
    fn look_for_more(&self) {
        let seen = self.entered.load(Ordering::Acquire);
        for step in 0..LOOKS {
            if self.entered.load(Ordering::Acquire) != seen {
                return;
            }
            match step < LOOKS_AWAKE {
                true => (0..1 << step).for_each(|_| std::hint::spin_loop()),
                false => std::thread::yield_now(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_costs_its_caller_an_answer_and_nobody_a_thread() {
        let pool = SearchPool::start(1).expect("a thread");
        for round in 0..3 {
            let planted = pool.run::<u32>(|_| panic!("planted")).await;
            assert_eq!(planted.expect_err("no answer").kind, quorate_model::ErrorKind::Internal);
            assert_eq!(pool.run(move |_| Ok(round)).await, Ok(round), "the thread goes on");
        }
    }

    /// Whoever uses a key at several addresses gets what a key may have, and another key the thread that is left.
    #[tokio::test]
    async fn a_key_at_many_addresses_leaves_a_thread_to_another_key() {
        let pool = SearchPool::start(2).expect("threads");
        let of_key = pool.queue.bounds.of_key;
        let running = Arc::new(AtomicUsize::new(0));
        let (ends, ended) = std::sync::mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let begin = |address: u64| {
            let (pool, running, ended) = (pool.clone(), running.clone(), ended.clone());
            let job = async move {
                pool.run(move |_| {
                    running.fetch_add(1, Ordering::SeqCst);
                    // until all of them may end
                    let _nobody_sends = ended.lock().recv();
                    Ok(())
                })
                .await
            };
            tokio::spawn(Payer { key: 1, address }.charge(job))
        };
        let heavy: Vec<_> = (0..40).map(|number| begin(number % 4)).collect();
        while running.load(Ordering::SeqCst) < of_key {
            tokio::task::yield_now().await;
        }
        let light = Payer { key: 2, address: 1 };
        for number in 0..50 {
            let answer = light.charge(pool.run(move |_| Ok(number)));
            let answer =
                tokio::time::timeout(Duration::from_secs(60), answer).await.expect("a thread is left");
            assert_eq!(answer, Ok(number));
        }
        assert_eq!(running.load(Ordering::SeqCst), of_key, "the key has no more");
        drop(ends);
        let mut done = 0;
        for heavy in heavy {
            match heavy.await.expect("no panic") {
                Ok(()) => done += 1,
                Err(error) => assert_eq!(error.kind, quorate_model::ErrorKind::Unavailable),
            }
        }
        assert!(done >= of_key, "{done}");
    }
}
