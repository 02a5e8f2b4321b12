//! What does a node do on other threads, because an arbiter answers many connections at a time?

use quorate_cluster::let_short_work_go_first;
use quorate_model::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::LazyLock;
use tokio::sync::oneshot;

/// Bytes of a body or an answer above which reading, unpacking, writing and packing leave the arbiter: these take a millisecond a
/// megabyte and more.
pub const ON_ARBITER_BYTES_MAX: usize = 256 << 10;

/// Does with a body of so many bytes, or with what became of it, what `work` does: on another thread when they are many. There are
/// half as many of those as processors, and they give way to the arbiters, which answer everybody else.
pub async fn away_if_long<T: Send + 'static>(
    length: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let Some(threads) = THREADS.as_ref().filter(|_| length > ON_ARBITER_BYTES_MAX) else {
        return work();
    };
    let (answer, done) = oneshot::channel();
    threads.spawn_fifo(move || {
        // whoever has hung up needs nothing any more
        if !answer.is_closed() {
            let _caller_may_be_gone = answer.send(work());
        }
    });
    // a panic has been told to the log by then
    done.await.map_err(|_| Error::unavailable("the answer could not be made"))?
}

/// `None` where no thread could be started.
static THREADS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = ThreadPoolBuilder::new()
        .num_threads(processors.div_ceil(2))
        .thread_name(|number| format!("long-answer-{number}"))
        .start_handler(|_| let_short_work_go_first())
        .panic_handler(|_| tracing::error!("work on a long body or answer panicked"))
        .build();
    threads.inspect_err(|error| tracing::error!(%error, "cannot start threads for long answers")).ok()
});
