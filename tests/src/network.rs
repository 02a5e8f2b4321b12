//! How are hosts with a network of their own made on one machine, and how is that network broken?
//!
//! Each host is a network namespace with one address; a hub joins them, and the test runs in the hub. Namespaces are made
//! and removed by the test itself; nothing leaves them. Needs root, `ip` and `nft`.

use crate::skipped::skip;
use anyhow::{Context, Result, bail, ensure};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Tells the test, started again inside the hub, the prefix of its namespaces.
const INSIDE: &str = "QT_NETWORK";
/// How long a test inside may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// Networks that this process has made.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// Hosts with a network between them.
#[derive(Debug)]
pub struct Network {
    prefix: String,
    hosts: usize,
}

/// How a host is cut off from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nothing comes from it and nothing reaches it.
    Both,
    /// What it sends is lost; it hears the other.
    Sending,
    /// Of every hundred packets from the other, so many are lost.
    Loss(u32),
}

impl Network {
    /// Runs a test body inside a network of so many hosts. The body runs in a process of its own, the same test started
    /// again in the hub. Returns false, having run nothing, where namespaces cannot be made; it says why.
    pub fn run(test: &str, hosts: usize, body: impl FnOnce(&Network) -> Result<()>) -> Result<bool> {
        Network::run_for(test, hosts, Duration::ZERO, body)
    }
    /// The same for a body that takes so much longer than others.
    pub fn run_for(
        test: &str,
        hosts: usize,
        longer: Duration,
        body: impl FnOnce(&Network) -> Result<()>,
    ) -> Result<bool> {
        if let Ok(prefix) = std::env::var(INSIDE) {
            let network = Network { prefix, hosts };
            body(&network)?;
            return Ok(true);
        }
        if let Err(reason) = run("nft", &["list", "tables"]).and_then(|()| run("ip", &["netns", "list"])) {
            skip(&format!("network namespaces need root, ip and nft: {reason:#}"));
            return Ok(false);
        }
        let prefix = format!("q{}x{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let made = Made { prefix: prefix.clone(), hosts };
        made.build()?;
        let hub = made.hub();
        let mut child = Command::new("ip")
            .args(["netns", "exec", &hub])
            .arg(std::env::current_exe()?)
            .args(["--exact", test, "--nocapture"])
            .env(INSIDE, &prefix)
            .stdin(Stdio::null())
            // its own counts of tests are not this run's
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start the test in the hub")?;
        let deadline = Instant::now() + PATIENCE + longer;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() >= deadline {
                child.kill()?;
                child.wait()?;
                bail!("the test in the hub does not end");
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        ensure!(status.success(), "the test in the hub ended with {status}");
        Ok(true)
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.hosts
    }
    /// The address of a host.
    pub fn address(&self, host: usize) -> String {
        format!("10.231.0.{}", host + 10)
    }
    /// The command that runs a program on a host.
    pub fn within(&self, host: usize) -> Vec<String> {
        ["ip", "netns", "exec", &name(&self.prefix, host)].map(str::to_owned).to_vec()
    }
    /// Cuts a host off from others; the hub still reaches all.
    pub fn cut(&self, host: usize, others: &[usize], how: Cut) -> Result<()> {
        let mut rules = String::from("table inet cut {\n");
        let (mut input, mut output) = (String::new(), String::new());
        for &other in others {
            let other = self.address(other);
            match how {
                Cut::Both => {
                    input.push_str(&format!("ip saddr {other} drop\n"));
                    output.push_str(&format!("ip daddr {other} drop\n"));
                }
                Cut::Sending => output.push_str(&format!("ip daddr {other} drop\n")),
                Cut::Loss(percent) => {
                    input.push_str(&format!("ip saddr {other} numgen random mod 100 < {percent} drop\n"));
                }
            }
        }
        rules.push_str(&format!("chain i {{ type filter hook input priority 0;\n{input}}}\n"));
        rules.push_str(&format!("chain o {{ type filter hook output priority 0;\n{output}}}\n}}\n"));
        self.on(host, &["nft", &rules])
    }
    /// Ends every cut of a host.
    pub fn heal(&self, host: usize) -> Result<()> {
        self.on(host, &["nft", "flush ruleset"])
    }
    fn on(&self, host: usize, command: &[&str]) -> Result<()> {
        let name = name(&self.prefix, host);
        let within = ["netns", "exec", name.as_str()];
        run("ip", &within.iter().chain(command).copied().collect::<Vec<_>>())
    }
}

/// Namespaces that exist; removed when dropped.
struct Made {
    prefix: String,
    hosts: usize,
}

impl Made {
    fn hub(&self) -> String {
        format!("{}h", self.prefix)
    }
    fn build(&self) -> Result<()> {
        let hub = self.hub();
        run("ip", &["netns", "add", &hub])?;
        let in_hub = |arguments: &[&str]| run("ip", &[&["-n", hub.as_str()], arguments].concat());
        in_hub(&["link", "set", "lo", "up"])?;
        in_hub(&["link", "add", "br0", "type", "bridge"])?;
        in_hub(&["address", "add", "10.231.0.1/24", "dev", "br0"])?;
        in_hub(&["link", "set", "br0", "up"])?;
        for host in 0..self.hosts {
            let (space, cable) = (name(&self.prefix, host), format!("v{host}"));
            let network = Network { prefix: self.prefix.clone(), hosts: self.hosts };
            let address = format!("{}/24", network.address(host));
            run("ip", &["netns", "add", &space])?;
            in_hub(&["link", "add", &cable, "type", "veth", "peer", "name", "eth0", "netns", &space])?;
            in_hub(&["link", "set", &cable, "master", "br0", "up"])?;
            for arguments in [
                &["link", "set", "lo", "up"][..],
                &["address", "add", &address, "dev", "eth0"],
                &["link", "set", "eth0", "up"],
            ] {
                run("ip", &[&["-n", space.as_str()], arguments].concat())?;
            }
        }
        Ok(())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for space in (0..self.hosts).map(|host| name(&self.prefix, host)).chain([self.hub()]) {
            // one that was never made needs no removal
            let _ = run("ip", &["netns", "delete", &space]);
        }
    }
}

fn name(prefix: &str, host: usize) -> String {
    format!("{prefix}n{host}")
}

fn run(program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {arguments:?}: {said}");
    Ok(())
}
