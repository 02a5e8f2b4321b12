//! How does long work run that few wait for? On a thread of its own that lets all others go first, and that is told when nobody waits
//! for the result any more. Threads of the runtimes stay with what is answered at once.

use quorate_node::lower_priority;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::oneshot;

/// Whoever waits for the result of work beside.
pub struct Asker<T>(oneshot::Sender<T>);
impl<T> Asker<T> {
    /// Whether nobody waits any more. Cost: an atomic load.
    pub fn is_gone(&self) -> bool {
        self.0.is_closed()
    }
    /// Ends once nobody waits any more.
    pub async fn gone(&mut self) {
        self.0.closed().await;
    }
}

/// Why work beside has no result.
#[derive(Debug)]
pub enum Broken {
    /// The system has no thread for it.
    NoThread(std::io::Error),
    /// It panicked: a defect, which the log has.
    Panicked,
}
impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::NoThread(error) => write!(f, "there is no thread for it: {error}"),
            Broken::Panicked => f.write_str("it broke off"),
        }
    }
}

/// Runs `work` on a thread of this name, which gives way to all others. The thread goes on when the future is dropped until the work
/// looks at its [`Asker`], and does not keep the process from ending.
pub async fn beside<T: Send + 'static>(
    name: impl Into<String>,
    work: impl FnOnce(&mut Asker<T>) -> T + Send + 'static,
) -> Result<T, Broken> {
    let (done, result) = oneshot::channel();
    let run = move || {
        lower_priority();
        let mut asker = Asker(done);
        let made = work(&mut asker);
        let _nobody_waits = asker.0.send(made);
    };
    std::thread::Builder::new().name(name.into()).spawn(run).map_err(Broken::NoThread)?;
    result.await.map_err(|_| Broken::Panicked)
}

/// Tells work that runs elsewhere, when it is dropped, that nobody waits for it any more.
#[derive(Debug)]
pub struct StopGuard(pub Arc<AtomicBool>);
impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[tokio::test]
    async fn work_ends_when_it_is_done_when_it_panics_and_when_nobody_waits() {
        let name = |_: &mut Asker<_>| std::thread::current().name().map(str::to_owned);
        assert_eq!(beside("a name", name).await.expect("a result").as_deref(), Some("a name"));
        let panicked = beside("panics", |_: &mut Asker<()>| panic!("as planned")).await;
        assert!(matches!(panicked, Err(Broken::Panicked)));

        let (ended, is_ended) = mpsc::channel();
        let (begun, begins) = oneshot::channel();
        let endless = beside("endless", move |asker: &mut Asker<()>| {
            begun.send(()).expect("the test waits");
            while !asker.is_gone() {
                std::thread::sleep(Duration::from_millis(1));
            }
            ended.send(()).expect("the test waits");
        });
        tokio::select! {
            _ = endless => panic!("it has no end"),
            begun = begins => begun.expect("it begins"),
        }
        is_ended.recv_timeout(Duration::from_secs(10)).expect("it goes on though nobody waits");
    }
}
