//! Do nodes that are written to, searched, struck and abused all at once keep every answered write, and their size?
//!
//! Three nodes, one of them with a small disk. Clients write and read many indices through all of them; greedy callers have the
//! public search key; the small disk is full again and again, and nodes die meanwhile. The first node is left alive: its
//! memory shows whether something is kept for ever. `QUORATE_SOAK_SECONDS=1800` is the long form.

use anyhow::{Context, Result, ensure};
use quorate_tests::chance::{self, Chance};
use quorate_tests::cluster::Cluster;
use quorate_tests::disk::SmallDisk;
use quorate_tests::disturb::Disturber;
use quorate_tests::greedy::harm;
use quorate_tests::history::Nodes;
use quorate_tests::load::{Load, Writer};
use serde_json::json;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const WRITERS: usize = 4;
const READERS: usize = 4;
const GREEDY: usize = 6;
const INDICES: usize = 24;
/// The node that lives all the time.
const STEADY: usize = 0;
/// The one with the small disk, and its MiB.
const FULL: (usize, u64) = (2, 384);
/// What all calls together may take, and what the records and their indices do here.
const MEMORY: u64 = (512 << 20) + (256 << 20);
/// The index that greedy callers like most.
const LARGE: &str = "large";

fn seconds() -> u64 {
    let given = std::env::var("QUORATE_SOAK_SECONDS").ok();
    given.map_or(12, |text| text.parse().expect("a number of seconds"))
}

/// An index whose hits are long, and all in the quarter of the earth that large polygons leave out.
fn make_large(cluster: &Cluster) -> Result<()> {
    let client = cluster.node(STEADY)?.client();
    let place = |n: usize| {
        let at = json!({"lat": (n % 89) as f64 * 0.9, "lng": (n % 179) as f64 * 0.9});
        ("addObject", json!({"objectID": n.to_string(), "text": "lamp ".repeat(200), "_geoloc": at}))
    };
    for part in 0..10 {
        client.batch(LARGE, &(part * 500..(part + 1) * 500).map(place).collect::<Vec<_>>())?;
    }
    cluster.wait_count(LARGE, 5_000)
}

/// What was seen while it went on.
#[derive(Default)]
struct Seen {
    /// Memory of the steady node, second by second.
    memory: Vec<u64>,
    /// How long reads took that were answered, in ms, and how many were not.
    reads: Mutex<(Vec<u32>, u64)>,
    /// Answers to greedy callers by status.
    greedy: Mutex<std::collections::BTreeMap<u16, u64>>,
}

/// Lets everybody loose on the nodes.
fn soak(
    cluster: &mut Cluster,
    disk: &SmallDisk,
    load: &Load,
    chance: &mut Chance,
) -> Result<(Vec<Writer>, Seen)> {
    let (nodes, mut seen) = (Nodes::of(cluster), Seen::default());
    let key = std::fs::read_to_string(cluster.data_dir(STEADY).join("search-key"))?;
    let disturber = Disturber { disk: Some((FULL.0, disk)), steady: Some(STEADY), ..Disturber::default() };
    let pid = cluster.node(STEADY)?.pid();
    let (begun, time) = (Instant::now(), Duration::from_secs(seconds()));
    let mut memory = vec![];
    let (writers, outcome) = std::thread::scope(|threads| {
        let (nodes, seen) = (&nodes, &seen);
        let one = |mut chance: Chance| {
            let chance = Mutex::new(chance.split());
            move |_| nodes.any(&mut chance.lock().expect("nobody panics with it")).map(|(_, client)| client)
        };
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let (mut writer, client) = (Writer::new(number, chance.split()), one(chance.split()));
                threads.spawn(move || {
                    load.write(&mut writer, client);
                    writer
                })
            })
            .collect();
        for number in 0..READERS {
            let client = one(chance.split());
            threads.spawn(move || {
                load.read(number, client, |is_answered, took| {
                    let mut reads = seen.reads.lock().expect("nobody panics with it");
                    match is_answered {
                        true => reads.0.push(took.as_millis() as u32),
                        false => reads.1 += 1,
                    }
                });
            });
        }
        let (mut changes, client) = (chance.split(), one(chance.split()));
        threads.spawn(move || load.change(&mut changes, client));
        for _ in 0..GREEDY {
            let (mut chance, key) = (chance.split(), key.trim());
            threads.spawn(move || {
                while !load.is_over.load(Ordering::Relaxed) {
                    let Some((_, client)) = nodes.any(&mut chance) else { continue };
                    let status = harm(client.address(), key, LARGE, &mut chance).unwrap_or(0);
                    *seen.greedy.lock().expect("nobody panics with it").entry(status).or_default() += 1;
                }
            });
        }
        let memory = &mut memory;
        threads.spawn(move || {
            while !load.is_over.load(Ordering::Relaxed) {
                memory.extend(quorate_tests::harness::memory_of(pid, "RssAnon:").ok());
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        let mut outcome = Ok(());
        while begun.elapsed() < time && outcome.is_ok() {
            outcome = disturber.strike(cluster, nodes, chance);
        }
        load.is_over.store(true, Ordering::Relaxed);
        let writers = writers.into_iter().map(|writer| writer.join().expect("a writer")).collect();
        (writers, outcome)
    });
    outcome?;
    seen.memory = memory;
    Ok((writers, seen))
}

/// What greedy callers were told, how readers fared beside them, and what all of it took.
fn judge(seen: &Seen, load: &Load) -> Result<()> {
    let reads = seen.reads.lock().expect("nobody panics with it");
    let (mut times, unanswered) = reads.clone();
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize];
    let greedy = seen.greedy.lock().expect("nobody panics with it");
    let [writes, refused, changes] = [&load.writes, &load.refused, &load.changes].map(Load::count);
    println!(
        "{writes} writes, {refused} not answered; {changes} changes; {} reads, {unanswered} not answered, median {} ms, 99 % within {} ms; \
         greedy callers by status: {greedy:?}",
        times.len(),
        at(0.5),
        at(0.99),
    );
    ensure!(writes > 50 && times.len() > 100, "too little was done to show anything");
    // nodes that die and nodes that cannot write refuse; but most is answered
    ensure!(unanswered * 5 < times.len() as u64, "{unanswered} of {} reads are not answered", times.len());
    let allowed = [0, 200, 400, 413, 503];
    ensure!(greedy.keys().all(|status| allowed.contains(status)), "{greedy:?}");
    let mib = |bytes: &u64| bytes >> 20;
    let every = (seen.memory.len() / 20).max(1);
    println!("memory in MiB: {:?}", seen.memory.iter().step_by(every).map(mib).collect::<Vec<_>>());
    let most = seen.memory.iter().max().context("memory was looked at")?;
    ensure!(*most < seen.memory[0] + MEMORY, "{} MiB", mib(most));
    // of a long run: the last third is as the one before
    if seconds() >= 600 {
        let third = seen.memory.len() / 3;
        let median = |part: &[u64]| {
            let mut part = part.to_vec();
            part.sort_unstable();
            part[part.len() / 2]
        };
        let (middle, last) = (median(&seen.memory[third..2 * third]), median(&seen.memory[2 * third..]));
        println!("medians of the second and the last third: {} and {} MiB", mib(&middle), mib(&last));
        ensure!(
            last < middle + middle / 10 + (16 << 20),
            "memory grows: {} to {} MiB",
            mib(&middle),
            mib(&last)
        );
    }
    Ok(())
}

#[test]
fn answered_writes_outlive_greedy_callers_full_disks_and_kills_together() {
    let mut chance = chance::from_environment("soak");
    let mut cluster = Cluster::prepare(3).unwrap();
    let (full, mib) = FULL;
    let Some(disk) = SmallDisk::mount(&cluster.data_dir(full).with_extension("disk"), mib).unwrap() else {
        return;
    };
    cluster.setup_mut(full).data_dir = disk.path().join("data");
    for node in 0..3 {
        let setup = cluster.setup_mut(node);
        *setup = setup.clone().option("disk-reserve-bytes", "16MiB").option("log-level", "warn");
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    make_large(&cluster).unwrap();
    let load = Load { text: format!("a lamp {}", "of many words ".repeat(40)), ..Load::over(INDICES) };
    let (writers, seen) = soak(&mut cluster, &disk, &load, &mut chance).unwrap();
    assert!(cluster.all_run(), "a node ended by itself");
    cluster.wait_settled().unwrap();
    load.settle(&cluster.node(STEADY).unwrap().client()).unwrap();
    for client in cluster.clients() {
        load.settle(&client).unwrap();
        writers.iter().for_each(|writer| writer.check(&client).unwrap());
    }
    cluster.check_alike().unwrap();
    judge(&seen, &load).unwrap();
}
