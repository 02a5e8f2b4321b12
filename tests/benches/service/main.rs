//! How fast is a node and what does it use? Import, single writes, queries while typing, memory and disk.
//!
//! `tests/bench/quick.sh` calls it; `tests/bench/benchmarks.md` says how a node is measured.

mod http;
mod typing;
mod usage;

use anyhow::{Context, Result, bail, ensure};
use http::{Connection, Target};
use quorate_tests::chance::Chance;
use quorate_tests::harness::{ADMIN_KEY, APP_ID, Server, Setup};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

const INDEX: &str = "bench";
/// Index of the single writes, and the records it holds before they begin.
const WRITE_INDEX: &str = "bench_write";
const WRITE_RECORDS: usize = 100_000;
const WRITES: usize = 200;
const BATCH_RECORDS: usize = 10_000;
const BATCH_BYTES: usize = 8 << 20;
const QUERY_POOL: usize = 20_000;
const SEED: u64 = 11;
const PUBLISH: Duration = Duration::from_secs(1_800);

struct Options {
    data: PathBuf,
    title: String,
    settings: Value,
    seconds: u64,
    connections: usize,
    raw_records_per_s: Option<f64>,
    folder: PathBuf,
    steps: Vec<String>,
}

fn main() -> Result<()> {
    let options = Options::from_arguments()?;
    let server = Setup::new(options.folder.join("data")).option("log-level", "warn").start()?;
    let target = Target {
        address: server.address().to_owned(),
        app_id: APP_ID.to_owned(),
        api_key: ADMIN_KEY.to_owned(),
    };
    println!("| figure | value |\n|---|---|");
    if options.does("import") {
        import(&options, &target, &server)?;
    }
    if options.does("write") {
        single_writes(&options, &target)?;
    }
    if options.does("query") {
        queries(&options, &target, &server)?;
    }
    use_of_memory_and_disk(&options, &server)?;
    server.stop()?;
    Ok(())
}

impl Options {
    fn from_arguments() -> Result<Options> {
        let mut given = std::env::args().skip(1).filter(|argument| argument != "--bench");
        let mut options = Options {
            data: PathBuf::new(),
            title: "name".to_owned(),
            settings: json!({}),
            seconds: 10,
            connections: 8,
            raw_records_per_s: None,
            folder: std::env::temp_dir(),
            steps: ["import", "write", "query"].map(str::to_owned).to_vec(),
        };
        while let Some(name) = given.next() {
            let value = given.next().with_context(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--data" => options.data = value.into(),
                "--title" => options.title = value,
                "--settings" => options.settings = serde_json::from_str(&std::fs::read_to_string(value)?)?,
                "--seconds" => options.seconds = value.parse()?,
                "--connections" => options.connections = value.parse()?,
                "--raw" => options.raw_records_per_s = Some(value.parse()?),
                "--folder" => options.folder = value.into(),
                "--steps" => options.steps = value.split(',').map(str::to_owned).collect(),
                _ => bail!("unknown option {name}"),
            }
        }
        ensure!(options.data.exists(), "--data FILE: JSON lines with an objectID each");
        Ok(options)
    }

    fn does(&self, step: &str) -> bool {
        self.steps.iter().any(|known| known == step)
    }

    fn lines(&self) -> Result<impl Iterator<Item = String>> {
        let file = File::open(&self.data).with_context(|| format!("cannot open {}", self.data.display()))?;
        Ok(BufReader::with_capacity(1 << 20, file)
            .lines()
            .map_while(Result::ok)
            .filter(|line| !line.is_empty()))
    }
}

fn row(name: &str, value: &str) {
    println!("| {name} | {value} |");
}

/// From the first request until the last record can be found.
fn import(options: &Options, target: &Target, server: &Server) -> Result<()> {
    let mut connection = Connection::open(target)?;
    set_settings(options, &mut connection, INDEX)?;
    let cpu = usage::cpu_seconds(server.pid())?;
    let begun = Instant::now();
    let (records, bytes) = load(options, target, &mut connection, INDEX, usize::MAX)?;
    let seconds = begun.elapsed().as_secs_f64();
    let rate = records as f64 / seconds;
    row("records imported", &format!("{records} ({:.0} MiB of JSON)", bytes as f64 / f64::from(1 << 20)));
    row("import until searchable", &format!("{seconds:.1} s, {rate:.0} records/s"));
    row("server CPU for it", &format!("{:.1} s", usage::cpu_seconds(server.pid())? - cpu));
    if let Some(raw) = options.raw_records_per_s {
        row("raw tantivy in this run", &format!("{raw:.0} records/s"));
        row("import / raw tantivy", &format!("{:.2}", rate / raw));
    }
    Ok(())
}

fn set_settings(options: &Options, connection: &mut Connection, index: &str) -> Result<()> {
    let path = format!("/1/indexes/{index}/settings");
    let answer = connection.call("PUT", &path, options.settings.to_string().as_bytes())?;
    wait_published(connection, index, &answer).map(|_| ())
}

/// Posts the first `limit` records in batches that a second thread prepares; returns records and bytes.
fn load(
    options: &Options,
    target: &Target,
    connection: &mut Connection,
    index: &str,
    limit: usize,
) -> Result<(usize, usize)> {
    let (ready, batches) = sync_channel::<(Vec<u8>, usize, usize)>(2);
    let path = format!("/1/indexes/{index}/batch");
    let lines = options.lines()?.take(limit);
    let mut last = Value::Null;
    let totals = std::thread::scope(|scope| -> Result<(usize, usize)> {
        scope.spawn(move || {
            let mut lines = lines.peekable();
            while lines.peek().is_some() {
                let (mut body, mut records, mut bytes) = (b"{\"requests\":[".to_vec(), 0, 0);
                while records < BATCH_RECORDS && body.len() < BATCH_BYTES {
                    let Some(line) = lines.next() else { break };
                    let comma = if records > 0 { "," } else { "" };
                    body.extend_from_slice(comma.as_bytes());
                    body.extend_from_slice(b"{\"action\":\"addObject\",\"body\":");
                    body.extend_from_slice(line.as_bytes());
                    body.push(b'}');
                    records += 1;
                    bytes += line.len() + 1;
                }
                body.extend_from_slice(b"]}");
                if ready.send((Connection::render(target, "POST", &path, &body), records, bytes)).is_err() {
                    return;
                }
            }
        });
        let (mut records, mut bytes) = (0, 0);
        let mut answer = Vec::new();
        for (request, in_batch, size) in batches {
            connection.exchange(&request, &mut answer)?;
            last = serde_json::from_slice(&answer)?;
            records += in_batch;
            bytes += size;
        }
        Ok((records, bytes))
    })?;
    wait_published(connection, index, &last)?;
    Ok(totals)
}

fn wait_published(connection: &mut Connection, index: &str, answer: &Value) -> Result<Duration> {
    let task = answer["taskID"].as_u64().context("no taskID")?;
    let path = format!("/1/indexes/{index}/task/{task}");
    let begun = Instant::now();
    while connection.call("GET", &path, b"")?["status"] != "published" {
        ensure!(begun.elapsed() < PUBLISH, "task {task} is not published");
        std::thread::sleep(Duration::from_micros(300));
    }
    Ok(begun.elapsed())
}

/// One record at a time on an index of 100,000: answered, and from there published.
fn single_writes(options: &Options, target: &Target) -> Result<()> {
    let mut connection = Connection::open(target)?;
    set_settings(options, &mut connection, WRITE_INDEX)?;
    let (held, _) = load(options, target, &mut connection, WRITE_INDEX, WRITE_RECORDS)?;
    let sample: Vec<String> = options.lines()?.take(WRITES).collect();
    let (mut answered, mut published) = (Vec::new(), Vec::new());
    for (number, line) in sample.iter().enumerate() {
        let path = format!("/1/indexes/{WRITE_INDEX}/bench-{number}");
        let mut record: Value = serde_json::from_str(line)?;
        record["objectID"] = json!(format!("bench-{number}"));
        let body = record.to_string();
        let begun = Instant::now();
        let answer = connection.call("PUT", &path, body.as_bytes())?;
        answered.push(begun.elapsed().as_secs_f64() * 1e3);
        published.push(wait_published(&mut connection, WRITE_INDEX, &answer)?.as_secs_f64() * 1e3);
    }
    let name = format!("single write on {held} records");
    row(&format!("{name}, answered"), &two_quantiles(&mut answered));
    row(&format!("{name}, answered to published"), &two_quantiles(&mut published));
    Ok(())
}

fn two_quantiles(values: &mut [f64]) -> String {
    values.sort_by(f64::total_cmp);
    let p = |share| usage::quantile(values, share);
    format!("p50 {:.2} ms, p99 {:.2} ms", p(0.5), p(0.99))
}

/// Closed loop: each connection asks the next query once it has the answer to the last.
fn queries(options: &Options, target: &Target, server: &Server) -> Result<()> {
    let titles: Vec<String> = options
        .lines()?
        .step_by(37)
        .take(5_000)
        .filter_map(|line| {
            serde_json::from_str::<Value>(&line).ok()?[&options.title].as_str().map(str::to_owned)
        })
        .collect();
    ensure!(!titles.is_empty(), "no record has a text `{}` (--title)", options.title);
    let path = format!("/1/indexes/{INDEX}/query");
    let pool: Vec<Vec<u8>> = typing::keystrokes(&titles, QUERY_POOL, &mut Chance::new(SEED))
        .iter()
        .map(|query| {
            Connection::render(target, "POST", &path, json!({"query": query}).to_string().as_bytes())
        })
        .collect();
    run_queries(options.connections, &pool, target, Duration::from_secs(1))?;
    let cpu = usage::cpu_seconds(server.pid())?;
    let begun = Instant::now();
    let mut latencies =
        run_queries(options.connections, &pool, target, Duration::from_secs(options.seconds))?;
    let seconds = begun.elapsed().as_secs_f64();
    let cpu_ms = (usage::cpu_seconds(server.pid())? - cpu) * 1e3;
    let count = latencies.len();
    row(
        &format!("queries while typing, {} connections", options.connections),
        &two_quantiles(&mut latencies),
    );
    row("queries/s", &format!("{:.0}", count as f64 / seconds));
    row("server CPU per query", &format!("{:.3} ms", cpu_ms / count as f64));
    Ok(())
}

fn run_queries(connections: usize, pool: &[Vec<u8>], target: &Target, length: Duration) -> Result<Vec<f64>> {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..connections)
            .map(|worker| {
                scope.spawn(move || -> Result<Vec<f64>> {
                    let mut connection = Connection::open(target)?;
                    let (mut latencies, mut answer) = (Vec::new(), Vec::new());
                    let mut next = pool.len() / connections * worker;
                    let end = Instant::now() + length;
                    while Instant::now() < end {
                        let begun = Instant::now();
                        connection.exchange(&pool[next % pool.len()], &mut answer)?;
                        latencies.push(begun.elapsed().as_secs_f64() * 1e3);
                        next += 1;
                    }
                    Ok(latencies)
                })
            })
            .collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().expect("a worker has no reason to panic")?);
        }
        Ok(all)
    })
}

fn use_of_memory_and_disk(options: &Options, server: &Server) -> Result<()> {
    let memory = usage::memory(server.pid())?;
    row("memory, anonymous", &format!("{:.0} MiB", memory.anonymous));
    row("memory, mapped files", &format!("{:.0} MiB", memory.mapped));
    row("memory, peak resident", &format!("{:.0} MiB", memory.peak));
    let json = std::fs::metadata(&options.data)?.len() as f64 / f64::from(1 << 20);
    for part in ["indices", "raft"] {
        let mib = usage::disk_mib(&server.data_dir().join(part));
        row(&format!("disk, {part}"), &format!("{mib:.0} MiB ({:.2} of the JSON)", mib / json));
    }
    Ok(())
}
