//! What does a build cost?
//!
//! Generates rows: EVENTS (10000000) of USERS (500000) users with ITEMS (1000000) items, some much more often than others, and writes
//! both models to `FOLDER/*.mdl`, an argument. Prints a line of JSON for each step: CPU seconds of it, and the peak of memory so far.
//! STOP_AFTER_MS tells the first build to stop, and prints how long it went on.

use quorate_insights::neighbours::{
    Collector, Interaction, Interactions, Kind, NeighboursError, bought_together, related_products,
};
use serde_json::{Value, json};
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Hundredths of a second: what Linux counts CPU time in.
const TICKS: f64 = 100.0;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: neighbours_cost FOLDER")?;
    let [events, users, items] = [("EVENTS", 10_000_000), ("USERS", 500_000), ("ITEMS", 1_000_000)]
        .map(|(name, usual)| set(name, usual));
    let stop = AtomicBool::new(false);
    let interactions = if let Ok(after) = std::env::var("STOP_AFTER_MS") {
        return stopped(&folder, [events, users, items], Duration::from_millis(after.parse()?));
    } else {
        collected([events, users, items], &stop)?
    };
    step("collect", json!({ "events": events, "users": users, "items": items }))?;
    let file = File::create(Path::new(&folder).join("related.mdl"))?;
    let report = related_products(&interactions, &file, &stop)?;
    step("related", json!({ "report": report, "bytes": file.metadata()?.len() }))?;
    let file = File::create(Path::new(&folder).join("together.mdl"))?;
    let report = bought_together(&interactions, &file, &stop)?;
    step("together", json!({ "report": report, "bytes": file.metadata()?.len() }))
}

/// Builds in another thread, and measures how long that goes on after it was told to stop.
fn stopped(folder: &str, sizes: [u64; 3], after: Duration) -> Result<(), Box<dyn Error>> {
    let stop = AtomicBool::new(false);
    let file = File::create(Path::new(folder).join("stopped.mdl"))?;
    std::thread::scope(|scope| {
        let build = scope.spawn(|| {
            let begun = Instant::now();
            let built = collected(sizes, &stop).and_then(|interactions| {
                println!("{}", json!({ "collected_ms": begun.elapsed().as_millis() as u64 }));
                related_products(&interactions, &file, &stop)
            });
            matches!(built, Err(NeighboursError::Stopped))
        });
        std::thread::sleep(after);
        stop.store(true, Ordering::Relaxed);
        let told = Instant::now();
        let was_stopped = build.join().expect("a build does not panic");
        let millis = told.elapsed().as_micros() as f64 / 1_000.0;
        println!("{}", json!({ "stopped": was_stopped, "after_ms": millis }));
    });
    Ok(())
}

fn collected(
    [events, users, items]: [u64; 3],
    stop: &AtomicBool,
) -> quorate_insights::neighbours::Result<Interactions> {
    let mut collector = Collector::new();
    let mut chance = 1u64;
    let mut unit = || {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 11) as f64 / (1u64 << 53) as f64
    };
    for event in 0..events {
        if event % 10_000 == 0 && stop.load(Ordering::Relaxed) {
            return Err(NeighboursError::Stopped);
        }
        // a user is taken from a few interests, in each of which some items are much more frequent than others
        let user = ((unit() * unit()) * users as f64) as u64;
        let interest = if unit() < 0.8 { user % 5_000 } else { (unit() * 5_000.0) as u64 };
        let within = items as f64 / 5_000.0;
        let item = interest + 5_000 * (within.powf(unit()) - 1.0) as u64;
        let kind = Kind::ALL[[1, 1, 1, 1, 1, 1, 2, 2, 3, 4][(unit() * 10.0) as usize]];
        let time_ms = (unit() * 30.0 * 86_400_000.0) as i64;
        collector.add(Interaction {
            user: user.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            item: &format!("product-{item}"),
            kind,
            time_ms,
        })?;
    }
    collector.finish(stop)
}
fn set(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}
/// Prints what a step gave, with CPU seconds and peak of the process so far.
fn step(name: &str, of: Value) -> Result<(), Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let cpu = [11, 12].iter().map(|field| fields[*field].parse::<f64>()).sum::<Result<f64, _>>()? / TICKS;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default().trim();
    println!("{}", json!({ "step": name, "cpu_s_so_far": cpu, "peak": peak, "of": of }));
    Ok(())
}
