//! How is a server process started, found, stopped and killed in a test?

use crate::client::{Answer, Client, Family};
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The application id of every test server.
pub const APP_ID: &str = "TESTAPP";
/// Its admin key.
pub const ADMIN_KEY: &str = "0123456789abcdef0123456789abcdef";
/// How long a server may take to start or stop: generous, for machines that do something else too.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The data folder.
    pub data_dir: PathBuf,
    /// More arguments of `serve`.
    pub arguments: Vec<String>,
    /// More variables of its environment.
    pub environment: Vec<(String, String)>,
    /// Where it listens.
    pub listen: String,
    /// The program; `None` = the one under test.
    pub program: Option<PathBuf>,
    /// A command that starts the program, for example in another network namespace; empty = none.
    pub within: Vec<String>,
    /// The key of its clients, whatever it is started with.
    pub key: String,
    /// Where its log goes.
    log: PathBuf,
    /// Removed with the last of its users.
    _logs: Arc<TempDir>,
}

/// A running server. Killed when dropped.
#[derive(Debug)]
pub struct Server {
    setup: Setup,
    child: Child,
    address: String,
    log: PathBuf,
}

impl Setup {
    /// A server on this data folder.
    pub fn new(data_dir: impl Into<PathBuf>) -> Setup {
        let logs = Arc::new(tempfile::tempdir().expect("the system's temporary folder can be written"));
        let log = logs.path().join("server.log");
        Setup {
            data_dir: data_dir.into(),
            arguments: vec!["--app-id".to_string(), APP_ID.to_string()],
            environment: Vec::new(),
            listen: "127.0.0.1:0".into(),
            program: None,
            within: Vec::new(),
            key: ADMIN_KEY.into(),
            log,
            _logs: logs,
        }
    }
    /// With the log in another place than the system's temporary folder.
    pub fn log_to(mut self, log: impl Into<PathBuf>) -> Setup {
        self.log = log.into();
        self
    }
    /// With one more option.
    pub fn option(mut self, name: &str, value: &str) -> Setup {
        self.arguments.extend([format!("--{name}"), value.to_string()]);
        self
    }
    /// The admin key of the tests, unless a file has one.
    fn admin_key(&self) -> Option<(&'static str, &'static str)> {
        let is_in_file = self.arguments.iter().any(|argument| argument == "--admin-key-file");
        (!is_in_file).then_some(("QUORATE_ADMIN_KEY", ADMIN_KEY))
    }
    /// Without an option, however often it was given.
    pub fn without(mut self, name: &str) -> Setup {
        let flag = format!("--{name}");
        while let Some(at) = self.arguments.iter().position(|argument| *argument == flag) {
            self.arguments.drain(at..at + 2);
        }
        self
    }
    /// With a variable of the environment.
    pub fn variable(mut self, name: &str, value: &str) -> Setup {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_string(), value.to_string()));
        self
    }
    /// Starts the process and waits until it can serve.
    pub fn start(&self) -> Result<Server> {
        let mut server = self.spawn()?;
        server.wait_ready()?;
        Ok(server)
    }
    /// Starts the process and waits for its end, for starts that must fail: status and log.
    pub fn run_to_end(&self) -> Result<(ExitStatus, String)> {
        let mut server = self.spawn()?;
        let status = server.wait_end()?;
        Ok((status, server.log()))
    }

    /// Starts the process and does not wait for it.
    pub fn spawn(&self) -> Result<Server> {
        // The address of an earlier process that was killed would be taken for this one's.
        match std::fs::remove_file(self.address_file()) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e.into()),
            _ => {}
        }
        let log = self.log.clone();
        let output = File::options().create(true).append(true).open(&log)?;
        let program = match &self.program {
            Some(other) => other.clone(),
            None => crate::binary::path()?.to_path_buf(),
        };
        let mut command = match self.within.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
            None => Command::new(program),
        };
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("QUORATE_") {
                command.env_remove(name);
            }
        }
        let child = command
            .arg("serve")
            .arg("--data-dir")
            .arg(&self.data_dir)
            .args(["--listen", &self.listen])
            .args(&self.arguments)
            .envs(self.admin_key())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("cannot start the server")?;
        Ok(Server { setup: self.clone(), child, address: String::new(), log })
    }
    fn address_file(&self) -> PathBuf {
        self.data_dir.join("address")
    }
}

impl Server {
    /// Waits until it can serve.
    pub fn wait_ready(&mut self) -> Result<()> {
        self.wait_for(|answer| answer.status == 200)
    }
    /// Waits until it answers requests, also when it says that it is not ready.
    pub fn wait_listening(&mut self) -> Result<()> {
        self.wait_for(|_| true)
    }
    /// Waits until it answers to whether it is ready in a way that will do.
    fn wait_for(&mut self, will_do: impl Fn(&Answer) -> bool) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended at its start with {status}:\n{}", self.log_tail());
            }
            if self.address.is_empty()
                && let Ok(text) = std::fs::read_to_string(self.setup.address_file())
                && text.ends_with('\n')
            {
                self.address = text.trim().to_string();
            }
            if !self.address.is_empty()
                && self.client().anonymous().get("/readyz").is_ok_and(|answer| will_do(&answer))
            {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "the server is not ready in time:\n{}", self.log_tail());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A client with the admin key and the card's headers.
    pub fn client(&self) -> Client {
        self.client_of(Family::Service)
    }
    /// A client with the admin key and the headers of a family.
    pub fn client_of(&self, family: Family) -> Client {
        Client::new(&self.address, family, APP_ID, &self.setup.key)
    }
    /// Lets its clients have another key from now on.
    pub fn clients_use(&mut self, key: &str) {
        key.clone_into(&mut self.setup.key);
    }
    /// `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }
    /// The id of the process, for what the system knows of it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
    /// Bytes of memory, as the kernel counts them: `VmRSS:` for now, `VmHWM:` for the most so far.
    pub fn memory(&self, field: &str) -> Result<u64> {
        memory_of(self.pid(), field)
    }
    /// The data folder.
    pub fn data_dir(&self) -> &Path {
        &self.setup.data_dir
    }
    /// Everything the processes on this data folder wrote out so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }
    fn log_tail(&self) -> String {
        let log = self.log();
        let lines = log.lines().filter(|line| !line.contains("quorate::request"));
        let lines: Vec<&str> = lines.rev().take(40).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
    /// Whether the process is still there.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the process at once, as kill -9 does. Gives back how to start it again.
    pub fn kill(mut self) -> Result<Setup> {
        self.kill_now()?;
        Ok(self.setup.clone())
    }
    /// Like [`Server::kill`] while clients are at work.
    pub fn kill_now(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
    /// Sends the process a signal by its name, such as STOP or CONT.
    pub fn signal(&self, name: &str) -> Result<()> {
        // The shell's own `kill` is there on every system with a shell; the standard library sends no such signal.
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.child.id())).status()?;
        ensure!(sent.success(), "SIG{name} cannot be sent");
        Ok(())
    }
    /// Asks the process to stop (SIGTERM) and waits for a clean end.
    pub fn stop(mut self) -> Result<Setup> {
        self.signal("TERM")?;
        let status = self.wait_end()?;
        ensure!(status.success(), "the server stopped with {status}:\n{}", self.log_tail());
        Ok(self.setup.clone())
    }
    fn wait_end(&mut self) -> Result<ExitStatus> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "the server does not end:\n{}", self.log_tail());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Bytes of memory of a process ([`Server::memory`]).
pub fn memory_of(pid: u32, field: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with(field)).context("a field of the kernel's")?;
    let kib = line.split_whitespace().nth(1).context("a number of KiB")?;
    Ok(kib.parse::<u64>()? << 10)
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            eprintln!("--- the server had ended by itself with {status} ---");
        }
        // It may have ended by itself; either way nothing of it is left.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- the server's log ---\n{}", self.log_tail());
        }
    }
}
