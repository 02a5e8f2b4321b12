//! Which signals stop a node, and which one lets it read its configuration again?

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

/// The terminal of the process that opens it.
const TERMINAL: &str = "/dev/tty";
/// Between two looks at whether it is still there.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The same, and how many, once SIGHUP has come.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
const LOOKS: usize = 10;

/// The signals that stop a node, and the one that lets it read its configuration again.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    /// Whether the node ends with the terminal that it was started at: as every program does that nobody told to stay (`nohup`).
    ends_with_terminal: bool,
}

impl Signals {
    /// Takes them from now on.
    pub fn listen() -> Result<Signals> {
        // before SIGHUP has a handler
        let ends_with_terminal = File::open(TERMINAL).is_ok() && !ignores_hangup();
        Ok(Signals {
            terminate: signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?,
            hangup: signal(SignalKind::hangup()).context("cannot wait for SIGHUP")?,
            ends_with_terminal,
        })
    }

    /// Waits for one that stops the node.
    pub async fn stop(&mut self) -> &'static str {
        loop {
            match self.next().await {
                "SIGHUP" => tracing::info!("nothing is read again before the node has started"),
                name => return name,
            }
        }
    }

    /// The next one; SIGHUP is to let the node read its configuration again.
    pub async fn next(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hangup.recv() => return match self.ends_with_terminal && closes().await {
                    true => "SIGHUP of a closed terminal",
                    false => "SIGHUP",
                },
                // one that was closed without a signal (`disown`, a logout) is none that the node ends with
                () = sleep(LOOK_EVERY), if self.ends_with_terminal => self.ends_with_terminal = !is_closed(),
            }
        }
    }
}

/// Whether the terminal is gone, or goes within a second: a shell that passes the signal on may be faster than the terminal.
async fn closes() -> bool {
    for _ in 0..LOOKS {
        if is_closed() {
            return true;
        }
        sleep(BETWEEN_LOOKS).await;
    }
    is_closed()
}
/// Whether the terminal that there was is gone: no other reason that a file does not open ends a node.
fn is_closed() -> bool {
    let gone = Some(rustix::io::Errno::NXIO.raw_os_error());
    File::open(TERMINAL).is_err_and(|error| error.raw_os_error() == gone)
}
/// Whether who started this process lets it ignore SIGHUP, or that is not known.
fn ignores_hangup() -> bool {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return true };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // the first signal is SIGHUP
    mask.is_none_or(|mask| mask & 1 == 1)
}
