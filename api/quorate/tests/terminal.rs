//! Does a node end with the terminal that it was started at, and only then?
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with a shell that runs a line; killed when this goes, and so is the node, whose number the line writes.
struct Terminal<'a> {
    program: Child,
    folder: &'a Path,
}

impl<'a> Terminal<'a> {
    /// Of a line that starts a node, in which `SERVE` stands for the command.
    fn open(folder: &'a Path, line: &str) -> Terminal<'a> {
        let program = env!("CARGO_BIN_EXE_quorate");
        let serve =
            format!("{program} serve --listen 127.0.0.1:0 --data-dir {}", folder.join("data").display());
        let line = line
            .replace("SERVE", &format!("sh -c 'echo $$ >{}; exec {serve}'", folder.join("pid").display()));
        // `script` gives the line a terminal of its own
        // whoever runs the tests may have been told to stay
        let mut script = Command::new("env");
        script.args(["--default-signal=HUP", "script"]);
        // what `nohup` writes stays there
        script
            .current_dir(folder)
            .args(["-qec", &line, "/dev/null"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let terminal = Terminal { program: script.spawn().unwrap(), folder };
        wait("the node listens", || terminal.listens());
        terminal
    }
    fn listens(&self) -> bool {
        self.folder.join("data/address").exists()
    }
    fn node(&self) -> Option<String> {
        Some(std::fs::read_to_string(self.folder.join("pid")).ok()?.trim().to_owned())
    }
    fn close(&mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }
    fn signal(&self, signal: &str) {
        let Some(node) = self.node() else { return };
        // one that has ended is fine
        let _ended = Command::new("kill").args([signal, node.as_str()]).stderr(Stdio::null()).status();
    }
}
impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.signal("-KILL");
        let _closed = self.program.kill();
        let _waited = self.program.wait();
    }
}

#[track_caller]
fn wait(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_node_ends_with_its_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(folder.path(), "SERVE");
    // while the terminal is there, the configuration is read again
    terminal.signal("-HUP");
    std::thread::sleep(Duration::from_millis(2_500));
    assert!(terminal.listens());
    terminal.close();
    wait("it has ended cleanly", || !terminal.listens());
}

#[test]
fn a_node_that_was_told_to_stay_outlives_its_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(folder.path(), "nohup SERVE");
    terminal.close();
    terminal.signal("-HUP");
    std::thread::sleep(Duration::from_millis(2_500));
    assert!(terminal.listens());
    terminal.signal("-TERM");
    wait("it has ended cleanly", || !terminal.listens());
}
