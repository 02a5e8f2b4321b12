//! On which threads are suggestions made?

use crate::beside::{Asker, beside};
use quorate_model::{Error, Result};

/// Runs a task on a thread of low priority with a runtime of its own, where the tasks run, too, that it begins, until it has ended or
/// nobody waits for it any more: a build takes seconds of a processor, between waits that are short.
///
/// Errors: there is no thread for it, or it panicked.
pub async fn on_own_runtime<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let run = |asker: &mut Asker<_>| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::unavailable(error.to_string()))?;
        let made = runtime.block_on(async {
            tokio::select! {
                made = work => Ok(made),
                () = asker.gone() => Err(Error::unavailable("nobody waits for suggestions any more")),
            }
        });
        // what it has left on other threads ends by itself
        runtime.shutdown_background();
        made
    };
    let made = beside("suggestions", run).await;
    made.unwrap_or_else(|broken| Err(Error::unavailable(format!("making suggestions: {broken}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, mpsc};
    use std::time::Duration;
    use tokio::sync::Notify;

    #[tokio::test]
    async fn work_ends_when_it_is_done_when_it_panics_and_when_nobody_waits() {
        let name = || std::thread::current().name().map(str::to_owned);
        assert_eq!(on_own_runtime(async move { name() }).await.unwrap().as_deref(), Some("suggestions"));
        let panicked: Result<()> = on_own_runtime(async { panic!("as planned") }).await;
        assert_eq!(panicked.unwrap_err().message, "making suggestions: it broke off");

        struct Dropped(mpsc::Sender<()>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                let _the_test_is_over = self.0.send(());
            }
        }
        let (ended, is_ended) = mpsc::channel();
        let (begun, dropped) = (Arc::new(Notify::new()), Dropped(ended));
        let begins = begun.clone();
        let endless = on_own_runtime(async move {
            let _dropped = dropped;
            begins.notify_one();
            std::future::pending::<()>().await;
        });
        tokio::select! {
            _ = endless => panic!("it has no end"),
            () = begun.notified() => {}
        }
        is_ended.recv_timeout(Duration::from_secs(10)).expect("it goes on though nobody waits");
    }
}
