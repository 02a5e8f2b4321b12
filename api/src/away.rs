//! What does a node do on other threads, because an arbiter answers many connections at a time?

use actix_web::web;
use quorate_model::{Error, Result};
use std::sync::LazyLock;
use tokio::sync::Semaphore;

/// Bytes of a body or an answer above which reading, unpacking, writing and packing leave the arbiter: these take a millisecond a
/// megabyte and more.
pub const ON_ARBITER_BYTES_MAX: usize = 256 << 10;

/// Does with a body of so many bytes, or with what became of it, what `work` does: on another thread when they are many. Half of the
/// processors do that at a time, the others answer.
pub async fn away_if_long<T: Send + 'static>(
    length: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    static WORKING: LazyLock<Semaphore> = LazyLock::new(|| {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Semaphore::new(processors.div_ceil(2))
    });
    if length <= ON_ARBITER_BYTES_MAX {
        return work();
    }
    let stops = |_| Error::unavailable("the node is stopping");
    let one_of_them = WORKING.acquire().await.map_err(|_| stops(()))?;
    let work = move || {
        // until it is done, also for a caller who has hung up meanwhile
        let _one_of_them = one_of_them;
        work()
    };
    web::block(work).await.map_err(|_| stops(()))?
}
