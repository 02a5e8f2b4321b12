//! How work beside the writer runs: on a thread of low priority, with word to the owner when it has ended.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// How much lower than a search the priority of such work is.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;
/// How much lower than that of what answers at once the priority of searches is that may be long.
#[cfg(target_os = "linux")]
const NICE_OF_SEARCHES: i32 = 5;

/// Called when work has ended, so that the owner need not ask again and again.
#[derive(Clone)]
pub struct Waker(Arc<dyn Fn() + Send + Sync>);
impl Waker {
    /// Calls `wake` on the thread that did the work; it must not block.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Waker {
        Waker(Arc::new(wake))
    }
}
impl Default for Waker {
    /// Wakes nobody.
    fn default() -> Self {
        Waker::new(|| {})
    }
}
impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waker")
    }
}

/// Work on a thread.
pub(crate) struct Background<T> {
    thread: JoinHandle<T>,
    ended: Arc<AtomicBool>,
}
impl<T: Send + 'static> Background<T> {
    /// Starts `work`; `waker` is called when it has ended.
    pub fn start(
        name: &str,
        waker: &Waker,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Background<T>> {
        let ended = Arc::new(AtomicBool::new(false));
        let end = End { ended: ended.clone(), waker: waker.clone() };
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            let _end = end;
            lower_priority();
            work()
        })?;
        Ok(Background { thread, ended })
    }
    /// Whether [`Self::join`] returns at once.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
    /// Waits for the result. A panic of the work goes on here.
    pub fn join(self) -> T {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
    /// Waits for the end; a panic of the work is ignored.
    pub fn abandon(self) -> Option<T> {
        self.thread.join().ok()
    }
}

/// Says that the work has ended, also when it panics.
struct End {
    ended: Arc<AtomicBool>,
    waker: Waker,
}
impl Drop for End {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        (self.waker.0)();
    }
}

/// Lets searches go before this thread and those it starts.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    set_nice(NICE);
}
/// Lets what answers callers at once, and what keeps the groups together, go before this thread, which runs searches that may be long.
pub fn let_short_work_go_first() {
    #[cfg(target_os = "linux")]
    set_nice(NICE_OF_SEARCHES);
}
#[cfg(target_os = "linux")]
fn set_nice(nice: i32) {
    // failing only means that the work competes with what is more urgent
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), nice);
}
