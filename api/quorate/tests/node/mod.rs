//! A node as a process, and commands against it.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub const START: Duration = Duration::from_secs(60);
pub const STOP: Duration = Duration::from_secs(30);

pub fn quorate(data_dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("QUORATE_")) {
        command.env_remove(name);
    }
    command.env("QUORATE_DATA_DIR", data_dir).env("XDG_CACHE_HOME", data_dir.with_extension("cache"));
    command.stdin(Stdio::null());
    command
}

/// A node that is stopped when the test ends.
pub struct Node(pub Child);

impl Node {
    pub fn start(data_dir: &Path, arguments: &[&str]) -> Node {
        let mut command = quorate(data_dir);
        command.arg("serve").args(["--listen", "127.0.0.1:0", "--log-level", "warn"]).args(arguments);
        let mut node = Node(command.stdout(Stdio::null()).spawn().unwrap());
        let address = data_dir.join("address");
        wait(START, "the node listens", || {
            assert_eq!(node.0.try_wait().unwrap(), None, "the node ended");
            address.exists()
        });
        node
    }

    /// Sends SIGTERM and returns whether the node ended with success.
    pub fn stop(mut self) -> bool {
        let status = Command::new("kill").arg(self.0.id().to_string()).status().unwrap();
        assert!(status.success());
        let mut ended = None;
        wait(STOP, "the node stops", || {
            ended = self.0.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap().success()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Ended already, when the test stopped it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn wait(limit: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < limit, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn run(data_dir: &Path, arguments: &[&str]) -> Output {
    quorate(data_dir).args(arguments).output().unwrap()
}

pub fn ok(data_dir: &Path, arguments: &[&str]) -> String {
    let output = run(data_dir, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

pub fn refused(data_dir: &Path, arguments: &[&str], expected: &str) {
    let output = run(data_dir, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{arguments:?} succeeded");
    assert!(error.contains(expected), "{arguments:?}: {error:?} lacks {expected:?}");
}
