//! Which signals stop a node, and which one lets it read its configuration again?

use anyhow::{Context, Result};
use std::fs::{self, File};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The terminal of the process that opens it.
const TERMINAL: &str = "/dev/tty";

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
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.hangup.recv() => match self.ends_with_terminal && is_closed() {
                true => "SIGHUP of a closed terminal",
                false => "SIGHUP",
            },
        }
    }
}

/// Whether the terminal that there was is gone: no other reason that a file does not open ends a node.
fn is_closed() -> bool {
    let gone = Some(rustix::io::Errno::NXIO.raw_os_error());
    File::open(TERMINAL).is_err_and(|error| error.raw_os_error() == gone)
}
/// Whether who started this process lets it ignore SIGHUP.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // the first signal is SIGHUP
    mask.is_some_and(|mask| mask & 1 == 1)
}
