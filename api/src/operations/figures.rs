//! How are the figures of a node gathered, however many ask for them?

use actix_rt::task::spawn_blocking;
use quorate_model::{Error, Result};
use tokio::sync::Semaphore;

/// Calls that may wait for their turn: a few programs look at a node, every some seconds.
const WAITING_MAX: usize = 16;

/// Whose turn it is: with very many indices there are megabytes of figures, and whoever asks for them shows no key.
pub struct Turns {
    gathering: Semaphore,
    asking: Semaphore,
}
/// Those of the process, which has one registry of figures.
pub static TURNS: Turns = Turns::new();

impl Turns {
    const fn new() -> Self {
        Turns { gathering: Semaphore::const_new(1), asking: Semaphore::const_new(1 + WAITING_MAX) }
    }
    /// What `gather` gives, on a thread that answers nobody, one after another. Errors: `Unavailable` when many wait already.
    pub async fn gather<T: Send + 'static>(
        &'static self,
        gather: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let many = |_| Error::unavailable("too many ask for the figures at a time");
        let _asking = self.asking.try_acquire().map_err(many)?;
        let turn = self.gathering.acquire().await;
        let turn = turn.map_err(|_| Error::unavailable("the node is stopping"))?;
        let gathered = spawn_blocking(move || {
            // also for those who have hung up meanwhile
            let _turn = turn;
            gather()
        });
        gathered.await.map_err(|_| Error::internal("the figures could not be gathered"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use quorate_model::ErrorKind;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[actix_rt::test]
    async fn they_are_gathered_one_after_another_and_few_wait() {
        static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
        static OURS: Turns = Turns::new();
        let gather = || {
            assert_eq!(UNDER_WAY.fetch_add(1, SeqCst), 0, "nobody else does it");
            std::thread::yield_now();
            UNDER_WAY.fetch_sub(1, SeqCst)
        };
        let all = join_all((0..3 * WAITING_MAX).map(|_| OURS.gather(gather))).await;
        let (gathered, refused): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
        assert_eq!(gathered.len(), 1 + WAITING_MAX);
        assert!(refused.iter().all(|refused| refused.as_ref().unwrap_err().kind == ErrorKind::Unavailable));
        assert_eq!(OURS.gather(gather).await, Ok(1), "and later again");
    }

    #[actix_rt::test]
    async fn who_hangs_up_leaves_no_turn_open() {
        static OURS: Turns = Turns::new();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (let_on, waits) = std::sync::mpsc::channel::<()>();
        let first = actix_rt::spawn(OURS.gather(move || {
            begun.send(()).unwrap();
            waits.recv().unwrap();
        }));
        begins.await.unwrap();
        first.abort();
        assert!(first.await.is_err());
        assert_eq!(OURS.gathering.available_permits(), 0, "it is gathered all the same");
        let_on.send(()).unwrap();
        assert_eq!(OURS.gather(|| 7).await, Ok(7));
    }
}
