//! How does virtual time pass? Tasks run one at a time; one seed decides their order and their delays.

use parking_lot::Mutex;
use quorate_model::chance::Chance;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Whose a task is: it ends with its owner.
pub type Life = u64;
/// What belongs to nobody and never ends: messages under way, clients.
pub const NOBODY: Life = 0;

/// The time, what happens at which time, and chance.
#[derive(Clone)]
pub struct Clock(Arc<Mutex<Shared>>);

struct Shared {
    now_ms: u64,
    chance: Chance,
    timers: BTreeMap<(u64, u64), Waker>,
    begun: Vec<(Life, Job)>,
    ended: BTreeSet<Life>,
}

impl Clock {
    pub fn new(seed: u64) -> Clock {
        let (timers, begun, ended) = (BTreeMap::new(), vec![], BTreeSet::new());
        Clock(Arc::new(Mutex::new(Shared { now_ms: 0, chance: Chance::new(seed), timers, begun, ended })))
    }
    pub fn now_ms(&self) -> u64 {
        self.0.lock().now_ms
    }
    pub fn below(&self, end: u64) -> u64 {
        self.0.lock().chance.below(end)
    }
    pub fn between(&self, low: u64, high: u64) -> u64 {
        self.0.lock().chance.between(low, high)
    }
    pub fn per_mille(&self, count: u64) -> bool {
        self.0.lock().chance.per_mille(count)
    }
    pub fn spawn(&self, life: Life, job: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().begun.push((life, Box::pin(job)));
    }
    /// Drops every task of an owner.
    pub fn end(&self, life: Life) {
        self.0.lock().ended.insert(life);
    }
    pub fn sleep(&self, ms: u64) -> Sleep {
        self.until(self.now_ms() + ms)
    }
    pub fn until(&self, until_ms: u64) -> Sleep {
        Sleep { clock: self.clone(), until_ms, is_set: false }
    }
    /// Goes on to the next moment at which something happens.
    fn advance(&self) -> bool {
        let mut shared = self.0.lock();
        let Some(((at, _), waker)) = shared.timers.pop_first() else { return false };
        shared.now_ms = shared.now_ms.max(at);
        drop(shared);
        waker.wake();
        true
    }
}

pub struct Sleep {
    clock: Clock,
    until_ms: u64,
    is_set: bool,
}

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let clock = self.clock.clone();
        let mut shared = clock.0.lock();
        if shared.now_ms >= self.until_ms {
            return Poll::Ready(());
        }
        if !self.is_set {
            self.is_set = true;
            // what happens at the same time happens in any order
            let rank = shared.chance.number();
            shared.timers.insert((self.until_ms, rank), context.waker().clone());
        }
        Poll::Pending
    }
}

struct Bell {
    task: u64,
    woken: Arc<Mutex<Vec<u64>>>,
}
impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.woken.lock().push(self.task);
    }
}

struct Task {
    life: Life,
    job: Job,
    waker: Waker,
}

/// Runs the tasks.
pub struct Executor {
    clock: Clock,
    tasks: BTreeMap<u64, Task>,
    woken: Arc<Mutex<Vec<u64>>>,
    next: u64,
}

impl Executor {
    pub fn new(clock: Clock) -> Executor {
        Executor { clock, tasks: BTreeMap::new(), woken: Arc::default(), next: 0 }
    }
    /// Runs until this is so. Panics when it is not so in time.
    pub fn run_until(&mut self, what: &str, until_ms: u64, is_so: impl Fn() -> bool) {
        loop {
            self.take_over();
            if is_so() {
                return;
            }
            let now_ms = self.clock.now_ms();
            assert!(now_ms <= until_ms, "{what}: not so at {now_ms} ms");
            let woken = {
                let mut woken = self.woken.lock();
                let place = self.clock.below(woken.len() as u64) as usize;
                (!woken.is_empty()).then(|| woken.swap_remove(place))
            };
            match woken {
                Some(task) => self.poll(task),
                None => assert!(self.clock.advance(), "{what}: nothing happens any more"),
            }
        }
    }
    fn take_over(&mut self) {
        let (begun, ended) = {
            let mut shared = self.clock.0.lock();
            (std::mem::take(&mut shared.begun), std::mem::take(&mut shared.ended))
        };
        for (life, job) in begun {
            self.next += 1;
            let bell = Bell { task: self.next, woken: self.woken.clone() };
            self.tasks.insert(self.next, Task { life, job, waker: Waker::from(Arc::new(bell)) });
            self.woken.lock().push(self.next);
        }
        if !ended.is_empty() {
            self.tasks.retain(|_, task| !ended.contains(&task.life));
        }
    }
    fn poll(&mut self, number: u64) {
        let Some(task) = self.tasks.get_mut(&number) else { return };
        let waker = task.waker.clone();
        if task.job.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            self.tasks.remove(&number);
        }
    }
}
