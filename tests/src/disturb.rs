//! What happens to nodes and to the network between them while clients are at work, and how is it undone?

use crate::chance::Chance;
use crate::cluster::Cluster;
use crate::delay::Delays;
use crate::disk::SmallDisk;
use crate::history::Nodes;
use crate::members::Members;
use crate::network::{Cut, Network};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// What a clock is set to: far ahead, far back, a tenth too fast, a tenth too slow.
const CLOCKS: [&str; 4] = ["+10d", "-10d", "+0 x1.1", "+0 x0.9"];
/// Bytes that are left on a full disk: below the reserve, or none.
const LEFT: [u64; 2] = [4 << 20, 0];
/// The right time.
const RIGHT: &str = "+0";

/// What can be disturbed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disturber<'a> {
    /// The network of the nodes, when they have one of their own.
    pub network: Option<&'a Network>,
    /// Their clocks, when those can be set.
    pub clocks: Option<&'a Clocks>,
    /// The proxies before them, when there are some.
    pub delays: Option<&'a Delays>,
    /// Which of them come and go, when the others may drain, too.
    pub members: Option<Members>,
    /// A disk that can be filled, and whose it is.
    pub disk: Option<(usize, &'a SmallDisk)>,
    /// One that is never killed, for what shows over a long life.
    pub steady: Option<usize>,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Accident {
    /// These die at once and start again.
    Kill(Vec<usize>),
    /// This one stands still and goes on.
    Pause(usize),
    /// These are cut off from the others, in this way.
    Cut(Vec<usize>, Cut),
    /// Everybody loses packets.
    Loss(u32),
    /// This one has another time.
    Clock(usize, &'static str),
    /// What the others send to this one, and its answers, take so many milliseconds.
    Late(usize, u64),
    /// This one is drained, for a while.
    Drain(usize),
    /// One more node joins and is removed.
    ComeAndGo,
    /// Of the small disk so many bytes are left.
    Full(u64),
    /// That disk is full while another node is drained, whose replicas would move there.
    FullAndDrain(usize, u64),
    /// That disk is full while these die; there is room when they start again.
    FullAndKill(Vec<usize>, u64),
}

impl Disturber<'_> {
    /// Lets one thing happen, for a while, and undoes it. A majority is left to itself always, but that may be another one
    /// every time.
    pub fn strike(&self, cluster: &mut Cluster, nodes: &Nodes, chance: &mut Chance) -> Result<()> {
        let spare = self.members.map(|members| members.spare);
        let accident = self.accident(spare.unwrap_or(cluster.len()), chance);
        eprintln!("accident: {accident:?}");
        let hold = Duration::from_millis(300 + chance.below(4_000));
        let calm = Duration::from_millis(300 + chance.below(1_500));
        match accident {
            Accident::Kill(victims) => killed(cluster, nodes, &victims, || {
                std::thread::sleep(hold);
                Ok(())
            })?,
            Accident::Pause(node) => {
                cluster.node(node)?.signal("STOP")?;
                std::thread::sleep(hold);
                cluster.node(node)?.signal("CONT")?;
            }
            Accident::Cut(minority, how) => {
                let network = self.network.context("a network")?;
                let rest: Vec<usize> = (0..cluster.len()).filter(|node| !minority.contains(node)).collect();
                minority.iter().try_for_each(|&node| network.cut(node, &rest, how))?;
                std::thread::sleep(hold);
                minority.iter().try_for_each(|&node| network.heal(node))?;
            }
            Accident::Loss(percent) => {
                let network = self.network.context("a network")?;
                for node in 0..cluster.len() {
                    let others: Vec<usize> = (0..cluster.len()).filter(|&other| other != node).collect();
                    network.cut(node, &others, Cut::Loss(percent))?;
                }
                std::thread::sleep(hold);
                (0..cluster.len()).try_for_each(|node| network.heal(node))?;
            }
            Accident::Clock(node, time) => {
                let clocks = self.clocks.context("clocks")?;
                clocks.set(node, time)?;
                std::thread::sleep(hold);
                // every other time it stays wrong until the next one
                if chance.below(2) == 0 {
                    clocks.set(node, RIGHT)?;
                }
            }
            Accident::Late(node, delay_ms) => {
                let delays = self.delays.context("proxies")?;
                delays.set(node, Duration::from_millis(delay_ms));
                std::thread::sleep(hold);
                delays.set(node, Duration::ZERO);
            }
            Accident::Drain(node) => {
                self.members.context("members")?.drain(cluster, node, hold)?;
            }
            Accident::ComeAndGo => {
                self.members.context("members")?.come_and_go(cluster, nodes, hold)?;
            }
            Accident::Full(left) => {
                let (_, disk) = self.disk.context("a disk")?;
                disk.fill(left)?;
                std::thread::sleep(hold);
                disk.empty()?;
            }
            Accident::FullAndDrain(node, left) => {
                let (_, disk) = self.disk.context("a disk")?;
                disk.fill(left)?;
                self.members.context("members")?.drained(cluster, node, || {
                    std::thread::sleep(hold);
                    disk.empty()
                })?;
            }
            Accident::FullAndKill(victims, left) => {
                let (_, disk) = self.disk.context("a disk")?;
                disk.fill(left)?;
                std::thread::sleep(hold / 2);
                killed(cluster, nodes, &victims, || {
                    std::thread::sleep(hold / 2);
                    disk.empty()
                })?;
            }
        }
        std::thread::sleep(calm);
        Ok(())
    }

    fn accident(&self, count: usize, chance: &mut Chance) -> Accident {
        let one = chance.below(count as u64) as usize;
        // fewer than half: beside `one` those that follow it
        let minority: Vec<usize> = match count {
            5.. if chance.below(2) == 0 => vec![one, (one + 1 + chance.below(2) as usize) % count],
            _ => vec![one],
        };
        loop {
            let may_die = self.steady.is_none_or(|steady| !minority.contains(&steady));
            match chance.below(16) {
                0 if may_die => return Accident::Kill(minority),
                1 => return Accident::Pause(one),
                2 if self.network.is_some() => return Accident::Cut(minority, Cut::Both),
                3 if self.network.is_some() => return Accident::Cut(minority, Cut::Sending),
                4 if self.network.is_some() => return Accident::Loss(5 + chance.below(20) as u32),
                5 | 6 if self.clocks.is_some() => {
                    return Accident::Clock(one, CLOCKS[chance.below(CLOCKS.len() as u64) as usize]);
                }
                7 | 8 if self.delays.is_some() => {
                    // from a far region's to longer than an election takes
                    return Accident::Late(one, 20 << chance.below(8));
                }
                9 | 10 if self.members.is_some() => return Accident::Drain(one),
                11 | 12 if self.members.is_some() => return Accident::ComeAndGo,
                13 if self.disk.is_some() => return Accident::Full(LEFT[chance.below(2) as usize]),
                14 if self.members.is_some() => {
                    let left = LEFT[chance.below(2) as usize];
                    match self.disk {
                        Some((full, _)) if full != one => return Accident::FullAndDrain(one, left),
                        Some(_) | None => {}
                    }
                }
                15 if self.disk.is_some() && may_die => {
                    return Accident::FullAndKill(minority, LEFT[chance.below(2) as usize]);
                }
                _ => {}
            }
        }
    }
}

/// Kills nodes, does something, and starts them again.
fn killed(
    cluster: &mut Cluster,
    nodes: &Nodes,
    victims: &[usize],
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<()> {
    for &victim in victims {
        cluster.kill(victim)?;
        nodes.forget(victim);
    }
    meanwhile()?;
    for &victim in victims {
        cluster.spawn(victim)?;
    }
    for &victim in victims {
        cluster.wait_up(victim)?;
    }
    nodes.look(cluster);
    Ok(())
}

/// The clocks of nodes, by a library that stands between them and the time of day. Clocks that only measure how long
/// something takes go on rightly: the system waits by them, so that a wrong one would be no clock but a broken machine. The
/// simulator has those drift.
#[derive(Debug)]
pub struct Clocks {
    library: PathBuf,
    folder: TempDir,
}

impl Clocks {
    /// Finds the library. `None` where it is not installed (Debian: `libfaketime`).
    pub fn find() -> Result<Option<Clocks>> {
        let mut places = vec![PathBuf::from("/usr/lib/faketime")];
        for folder in std::fs::read_dir("/usr/lib").into_iter().flatten() {
            places.push(folder?.path().join("faketime"));
        }
        let libraries = places.iter().map(|place| place.join("libfaketimeMT.so.1"));
        let Some(library) = libraries.into_iter().find(|path| path.exists()) else { return Ok(None) };
        Ok(Some(Clocks { library, folder: tempfile::tempdir()? }))
    }
    /// Gives a node that is not started yet a clock that can be set.
    pub fn give(&self, cluster: &mut Cluster, node: usize) -> Result<()> {
        self.set(node, RIGHT)?;
        let Some(library) = self.library.to_str() else { bail!("{} is no text", self.library.display()) };
        let file = self.file(node);
        let setup = cluster.setup_mut(node);
        *setup = setup
            .clone()
            .variable("LD_PRELOAD", library)
            .variable("FAKETIME_TIMESTAMP_FILE", file.to_str().context("a path of text")?)
            .variable("FAKETIME_NO_CACHE", "1")
            .variable("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .variable("DONT_FAKE_MONOTONIC", "1")
            .variable("NO_FAKE_STAT", "1");
        Ok(())
    }
    /// Sets the clock of a node: `+10d`, `-3h`, `+0 x1.1` for one that goes a tenth too fast, `+0` for the right time.
    pub fn set(&self, node: usize, time: &str) -> Result<()> {
        // whole at every moment: the library reads it with every look at the clock
        let new = self.folder.path().join("new");
        std::fs::write(&new, format!("{time}\n"))?;
        Ok(std::fs::rename(&new, self.file(node))?)
    }
    fn file(&self, node: usize) -> PathBuf {
        Path::join(self.folder.path(), format!("n{node}"))
    }
}
