//! Can everything that clients see be explained, whatever happens to nodes, network, clocks and disks?
//!
//! Each test takes some 5 s beside its starts, or less; `QUORATE_HISTORY_SECONDS` makes them longer, `QUORATE_SEED` repeats the
//! choices of one (not its timing).

use anyhow::{Context, Result, ensure};
use quorate_tests::chance::{self, Chance};
use quorate_tests::cluster::Cluster;
use quorate_tests::disk::SmallDisk;
use quorate_tests::disturb::{Clocks, Disturber};
use quorate_tests::harness::Setup;
use quorate_tests::history::{self, Counts, Nodes};
use quorate_tests::keys::Keys;
use quorate_tests::members::Members;
use quorate_tests::network::Network;
use quorate_tests::renames::{self, Done};
use quorate_tests::skipped::skip;
use serde_json::json;
use std::time::{Duration, Instant};

/// One run: what it saw is explained at its end, so long tests are made of many.
const RUN: Duration = Duration::from_secs(60);

fn seconds() -> u64 {
    seconds_or(5)
}
/// What was asked for, or the usual time of a test.
fn seconds_or(usual: u64) -> u64 {
    let given = std::env::var("QUORATE_HISTORY_SECONDS").ok();
    given.map_or(usual, |text| text.parse().expect("a number of seconds"))
}
/// How long the test takes beyond its usual time.
fn longer() -> Duration {
    Duration::from_secs(4 * seconds())
}

/// Runs clients and accidents for as long as was asked for.
fn disturbed(cluster: &mut Cluster, chance: &mut Chance, disturber: Disturber) -> Result<()> {
    disturbed_for(seconds(), cluster, chance, disturber)
}
fn disturbed_for(
    seconds: u64,
    cluster: &mut Cluster,
    chance: &mut Chance,
    disturber: Disturber,
) -> Result<()> {
    struck_for(seconds, cluster, chance, |cluster, nodes, chance| disturber.strike(cluster, nodes, chance))
}
fn struck_for(
    seconds: u64,
    cluster: &mut Cluster,
    chance: &mut Chance,
    mut strike: impl FnMut(&mut Cluster, &Nodes, &mut Chance) -> Result<()>,
) -> Result<()> {
    let (begun, time) = (Instant::now(), Duration::from_secs(seconds));
    while begun.elapsed() < time {
        let left = time.saturating_sub(begun.elapsed()).min(RUN);
        let counts = history::run(cluster, chance, left, &mut strike)?;
        eprintln!("{} s: {counts:?}", begun.elapsed().as_secs());
        enough(counts)?;
    }
    Ok(())
}

/// A history of nothing is explained by anything.
fn enough(counts: Counts) -> Result<()> {
    let Counts { answered, unanswered: _, published, reads } = counts;
    ensure!(
        answered > 10 && published > 10 && reads > 20,
        "too little was done to show anything: {counts:?}"
    );
    Ok(())
}

fn with_broken_network(test: &str, hosts: usize) {
    let mut chance = chance::from_environment(test);
    let body = |network: &Network| {
        let mut cluster = Cluster::start_on(network)?;
        disturbed(&mut cluster, &mut chance, Disturber { network: Some(network), ..Disturber::default() })
    };
    Network::run_for(test, hosts, longer(), body).unwrap();
}

#[test]
fn three_nodes_that_die_stand_still_and_are_cut_off_keep_their_promises() {
    with_broken_network("three_nodes_that_die_stand_still_and_are_cut_off_keep_their_promises", 3);
}

#[test]
fn five_nodes_that_die_stand_still_and_are_cut_off_keep_their_promises() {
    with_broken_network("five_nodes_that_die_stand_still_and_are_cut_off_keep_their_promises", 5);
}

#[test]
fn clocks_that_jump_and_drift_break_no_promise() {
    let Some(clocks) = Clocks::find().unwrap() else {
        skip("clocks are set by libfaketime, which is not installed (Debian: libfaketime)");
        return;
    };
    let mut chance = chance::from_environment("clocks");
    let mut cluster = Cluster::prepare(3).unwrap();
    for node in 0..3 {
        clocks.give(&mut cluster, node).unwrap();
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    is_set(&cluster, &clocks).unwrap();
    disturbed(&mut cluster, &mut chance, Disturber { clocks: Some(&clocks), ..Disturber::default() })
        .unwrap();
}

#[test]
fn messages_that_come_late_break_no_promise() {
    let mut chance = chance::from_environment("late");
    let (mut cluster, delays) = Cluster::prepare_behind_delays(3).unwrap();
    (0..3).try_for_each(|node| cluster.spawn(node)).unwrap();
    cluster.wait_ready().unwrap();
    disturbed(&mut cluster, &mut chance, Disturber { delays: Some(&delays), ..Disturber::default() })
        .unwrap();
}

/// Whether setting a clock does what it should, without which the test would show nothing.
fn is_set(cluster: &Cluster, clocks: &Clocks) -> Result<()> {
    let day = |node: usize| -> Result<String> {
        let answer = cluster.node(node)?.client().put("/1/indexes/clock/settings", &json!({}))?.success()?;
        let time = answer.body["updatedAt"].as_str().context("updatedAt")?;
        Ok(time.chars().take(10).collect())
    };
    let before = day(1)?;
    clocks.set(0, "+10d")?;
    let (ahead, right) = (day(0)?, day(1)?);
    clocks.set(0, "+0")?;
    ensure!(
        ahead > before && right <= ahead,
        "the clock is not set: {before}, then {ahead}, elsewhere {right}"
    );
    Ok(())
}

#[test]
fn a_full_disk_of_one_node_stops_no_write_and_it_comes_back_with_room() {
    let mut chance = chance::from_environment("full disk");
    let mut cluster = Cluster::prepare(3).unwrap();
    let full = chance.below(3) as usize;
    let Some(disk) = SmallDisk::mount(&cluster.data_dir(full).with_extension("disk"), 320).unwrap() else {
        return;
    };
    let setup = cluster.setup_mut(full);
    setup.data_dir = disk.path().join("data");
    for node in 0..3 {
        let setup = cluster.setup_mut(node);
        *setup = setup.clone().option("disk-reserve-bytes", "8MiB");
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    let counts =
        history::run(&mut cluster, &mut chance, Duration::from_secs(seconds()), |cluster, _, chance| {
            // below the reserve, or to the last byte
            let left = [4 << 20, 0][chance.below(2) as usize];
            eprintln!("accident: {left} bytes are left on the disk of node {full}");
            disk.fill(left)?;
            let outcome = others_go_on(cluster, full);
            disk.empty()?;
            outcome?;
            cluster.wait_settled()?;
            takes_writes(cluster, full)
        });
    enough(counts.unwrap()).unwrap();
}

/// Bytes per second of files of snapshots, where members come and go: those of the ballast take some ten seconds.
const SLOWLY: u64 = 1_000_000;

#[test]
fn members_that_drain_come_and_go_and_a_disk_that_is_full_break_no_promise() {
    let mut chance = chance::from_environment("members");
    let mut cluster = Cluster::prepare(4).unwrap();
    let members = Members::prepare(&mut cluster, SLOWLY);
    let full = chance.below(3) as usize;
    let disk = SmallDisk::mount(&cluster.data_dir(full).with_extension("disk"), 512).unwrap();
    if let Some(disk) = &disk {
        cluster.setup_mut(full).data_dir = disk.path().join("data");
    }
    for node in 0..4 {
        let setup = cluster.setup_mut(node);
        *setup = setup.clone().option("disk-reserve-bytes", "8MiB");
    }
    (0..members.spare).try_for_each(|node| cluster.spawn(node)).unwrap();
    cluster.wait_ready().unwrap();
    members.load(&cluster, &mut chance).unwrap();
    let disk = disk.as_ref().map(|disk| (full, disk));
    let disturber = Disturber { members: Some(members), disk, ..Disturber::default() };
    // one change of members takes a while already
    disturbed_for(seconds_or(4), &mut cluster, &mut chance, disturber).unwrap();
}

#[test]
fn admin_keys_that_are_replaced_while_nodes_die_break_no_promise() {
    let mut chance = chance::from_environment("keys");
    let mut cluster = Cluster::prepare(3).unwrap();
    let mut keys = Keys::prepare(&mut cluster);
    (0..3).try_for_each(|node| cluster.spawn(node)).unwrap();
    cluster.wait_ready().unwrap();
    let disturber = Disturber::default();
    let strike = |cluster: &mut Cluster, nodes: &Nodes, chance: &mut Chance| {
        keys.replace(cluster, nodes, chance)?;
        match chance.below(2) {
            // started again with keys of all ages
            0 => disturber.strike(cluster, nodes, chance),
            _ => Ok(()),
        }
    };
    struck_for(seconds_or(2), &mut cluster, &mut chance, strike).unwrap();
}

#[test]
fn indices_that_are_renamed_and_copied_while_their_users_move_and_nodes_die_lose_nothing() {
    let mut chance = chance::from_environment("renames");
    let (begun, time) = (Instant::now(), Duration::from_secs(seconds_or(0)));
    let mut cluster = Cluster::start_in(&renames::CLUSTERS).unwrap();
    let mut all = Done::default();
    for number in 0.. {
        // every other round in peace, and as many changes as that lets through
        let kills = (number % 2) as usize * 2;
        let done = renames::round(&mut cluster, &mut chance, number, kills)
            .unwrap_or_else(|e| panic!("round {number}, {} s: {e:#}", begun.elapsed().as_secs()));
        eprintln!("{} s: {done:?}", begun.elapsed().as_secs());
        all += done;
        // a slow machine takes more rounds to show anything
        let is_enough = all.answered > 50 && all.renames > 2 && all.copies > 0 && all.moves > 0;
        assert!(is_enough || number < 10, "too little was done: {all:?}");
        if is_enough && number > 0 && begun.elapsed() >= time {
            return;
        }
    }
}

/// The newest level of an older program.
const OLDER: &str = "3";

#[test]
fn nodes_that_are_upgraded_and_taken_back_break_no_promise() {
    let mut chance = chance::from_environment("upgrades");
    let (begun, time) = (Instant::now(), Duration::from_secs(seconds_or(0)));
    // a level that is in force never falls: each round begins with another installation
    loop {
        let counts = upgraded(&mut chance).unwrap();
        eprintln!("{} s: {counts:?}", begun.elapsed().as_secs());
        enough(counts).unwrap();
        if begun.elapsed() >= time {
            return;
        }
    }
}

/// Clients are at work while three nodes get a newer program one after another, in some order; all but the last one get the
/// older one back for a while. Nodes are stopped, or killed.
fn upgraded(chance: &mut Chance) -> Result<Counts> {
    let mut cluster = Cluster::prepare(3)?;
    let newer: Vec<Setup> = (0..3).map(|node| cluster.setup_mut(node).clone()).collect();
    let older: Vec<Setup> = newer.iter().map(|it| it.clone().option("command-level", OLDER)).collect();
    for (node, setup) in older.iter().enumerate() {
        *cluster.setup_mut(node) = setup.clone();
        cluster.spawn(node)?;
    }
    cluster.wait_ready()?;
    let first = chance.below(3) as usize;
    let [a, b, c] = [first, (first + 1) % 3, (first + 2) % 3];
    let steps = [(a, &newer), (a, &older), (a, &newer), (b, &newer), (b, &older), (b, &newer), (c, &newer)];
    // all of them are one accident
    history::run(&mut cluster, chance, Duration::from_secs(1), |cluster, nodes, chance| {
        for (node, programs) in steps {
            nodes.forget(node);
            match chance.below(2) {
                0 => cluster.stop(node)?,
                _ => cluster.kill(node)?,
            }
            *cluster.setup_mut(node) = programs[node].clone();
            cluster.spawn(node)?;
            cluster.wait_up(node)?;
            nodes.look(cluster);
            std::thread::sleep(Duration::from_millis(chance.below(1_000)));
        }
        Ok(())
    })
}

/// Every index takes writes through the nodes with room, soon and then for a while, whoever led its group before.
fn others_go_on(cluster: &Cluster, full: usize) -> Result<()> {
    let others: Vec<_> = (0..cluster.len()).filter(|&node| node != full).collect();
    let begun = Instant::now();
    for number in 0..24 {
        let body = json!({"requests": [{"action": "addObject", "body": {"objectID": "x"}}]});
        let path = format!("/1/indexes/other{}/batch", number % 12);
        let client = cluster.node(others[number % others.len()])?.client();
        loop {
            let answer = client.post(&path, &body)?;
            if answer.status == 200 {
                break;
            }
            ensure!(answer.status == 503, "{answer:?}");
            let said = format!("{path} is refused {:?} after the disk is full: {answer:?}", begun.elapsed());
            ensure!(begun.elapsed() < Duration::from_secs(30), said);
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    std::thread::sleep(Duration::from_secs(1));
    Ok(())
}

/// The node itself takes writes again.
fn takes_writes(cluster: &Cluster, node: usize) -> Result<()> {
    let (client, begun) = (cluster.node(node)?.client(), Instant::now());
    loop {
        let answer = client.get("/readyz?for=write").context("the node with the small disk")?;
        if answer.status == 200 {
            return Ok(());
        }
        ensure!(begun.elapsed() < Duration::from_secs(60), "there is room again, and no write: {answer:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
