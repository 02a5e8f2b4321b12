//! On which thread are suggestions made?

use quorate_model::{Error, Result};
use quorate_node::lower_priority;
use tokio::sync::oneshot;

/// Runs a task on a thread of its own that lets all others go first, as do those that it begins, until it has ended or nobody waits for
/// it any more: a build takes seconds of a processor, between waits that are short.
///
/// Errors: there is no thread for it, or it panicked.
pub async fn beside<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let (mut done, result) = oneshot::channel();
    let run = move || {
        lower_priority();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let made = runtime.block_on(async {
            tokio::select! {
                made = work => Some(made),
                () = done.closed() => None,
            }
        });
        // what it has left on other threads ends by itself
        runtime.shutdown_background();
        let _nobody_waits = made.map(|made| done.send(made));
        Ok::<_, std::io::Error>(())
    };
    let thread = std::thread::Builder::new().name("suggestions".into()).spawn(run);
    thread.map_err(|error| Error::unavailable(format!("no thread for suggestions: {error}")))?;
    result.await.map_err(|_| Error::unavailable("making suggestions broke off"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    #[tokio::test]
    async fn work_ends_when_it_is_done_when_it_panics_and_when_nobody_waits() {
        let name = || std::thread::current().name().map(str::to_owned);
        assert_eq!(beside(async move { name() }).await.unwrap().as_deref(), Some("suggestions"));
        let panicked: Result<()> = beside(async { panic!("as planned") }).await;
        assert_eq!(panicked.unwrap_err().message, "making suggestions broke off");

        struct Dropped(mpsc::Sender<()>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                let _the_test_is_over = self.0.send(());
            }
        }
        let (ended, is_ended) = mpsc::channel();
        let has_begun = Arc::new(AtomicBool::new(false));
        let (begun, dropped) = (has_begun.clone(), Dropped(ended));
        let endless = beside(async move {
            let _dropped = dropped;
            begun.store(true, Ordering::Relaxed);
            std::future::pending::<()>().await;
        });
        let stopped = tokio::time::timeout(Duration::from_millis(200), endless).await;
        assert!(stopped.is_err() && has_begun.load(Ordering::Relaxed));
        is_ended.recv_timeout(Duration::from_secs(10)).expect("it goes on though nobody waits");
    }
}
