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
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return tracing::error!(%error, "suggestions cannot be made"),
        };
        let made = runtime.block_on(async {
            tokio::select! {
                made = work => Some(made),
                () = done.closed() => None,
            }
        });
        // what it has left on other threads ends by itself
        runtime.shutdown_background();
        let _nobody_waits = made.map(|made| done.send(made));
    };
    let thread = std::thread::Builder::new().name("suggestions".into()).spawn(run);
    thread.map_err(|error| Error::unavailable(format!("no thread for suggestions: {error}")))?;
    result.await.map_err(|_| Error::unavailable("making suggestions broke off"))
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
        let (begun, dropped) = (Arc::new(Notify::new()), Dropped(ended));
        let begins = begun.clone();
        let endless = beside(async move {
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
