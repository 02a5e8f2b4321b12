//! How does a file get into an index? `quorate import INDEX FILE`: batches, retries, resumption, published at the end.

mod batch;
mod cells;
mod progress;
mod rows;
pub mod source;
mod spooled;
pub mod state;

use crate::client::{Answer, Client, Credentials, Encoding, segment};
use crate::config::Values;
use anyhow::{Context, Result, bail};
use batch::{Batch, Batches, Shape};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use progress::Progress;
use serde_json::Value;
use source::{Form, Source, UNTOLD};
use spooled::Spooled;
use state::{Done, Identity, StateFile};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// Batches read ahead of the one that is being sent.
const READ_AHEAD: usize = 2;
/// How long a batch is sent again while the node is away or busy.
const RETRY: Duration = Duration::from_secs(120);
/// How long the last task may take to be published.
const PUBLISH: Duration = Duration::from_secs(1_800);
/// How long what was answered may take to be shown.
const SHOWN: Duration = Duration::from_secs(30);
const PAUSE_FIRST: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The command line of `import`.
pub fn command() -> Command {
    Command::new("import")
        .about("Load a file into an index; ends once every record can be found")
        .long_about(
            "Load a file of records into an index: JSON lines, a JSON array, or CSV with a header line; .gz is \
             decompressed. Records replace those of the same objectID. An interrupted import goes on where it \
             stopped when the same command runs again. A node that is away or has no room is asked again for two \
             minutes. Exit code 0 means that every record can be found.",
        )
        .arg(Arg::new("index").value_name("INDEX").required(true).help("Name of the index; made when missing"))
        .arg(Arg::new("file").value_name("FILE").required(true).help("File to load; - is standard input, which is copied first"))
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(["jsonl", "json", "csv"])
                .help("Form of the file; by default its name and first byte tell"),
        )
        .arg(Arg::new("id-field").long("id-field").value_name("NAME").help("Member that becomes the objectID, as it is written"))
        .arg(
            Arg::new("batch")
                .long("batch")
                .value_name("RECORDS")
                .default_value("10000")
                .value_parser(value_parser!(u64).range(1..=100_000))
                .help("Records of one batch at most"),
        )
        .arg(
            Arg::new("restart")
                .long("restart")
                .action(ArgAction::SetTrue)
                .help("Start from the first record although an earlier import was interrupted"),
        )
}

/// Loads the file and waits until its last batch is published.
pub fn run(values: &Values, given: &ArgMatches) -> Result<ExitCode> {
    let client = Client::find(values, Credentials::Required)?;
    let index: &String = given.get_one("index").expect("clap requires it");
    let file: &String = given.get_one("file").expect("clap requires it");
    let spooled = Spooled::of(Path::new(file))?;
    let file = spooled.as_ref().map_or(Path::new(file), Spooled::path);
    let form = given.get_one::<String>("format").map(|name| match name.as_str() {
        "jsonl" => Form::JsonLines,
        "json" => Form::JsonArray,
        _ => Form::Csv,
    });
    let identity = Identity::of(file)?;
    let shape = Shape {
        batch_records: *given.get_one::<u64>("batch").expect("it has a default") as usize,
        id_field: given.get_one::<String>("id-field").cloned(),
        id_prefix: format!("{}-", state::place(file)?),
        encoding: if client.is_loopback() { Encoding::Plain } else { Encoding::Gzip },
    };
    let state = StateFile::locate(file, index, &client.url, &client.app_id)?;
    let shape_text = format!("{form:?} {:?}", shape.id_field);
    let start = match given.get_flag("restart") {
        true => None,
        false => state.load(&identity, &shape_text).filter(|done| holds(&client, index, done)),
    };
    let skip = start.as_ref().map_or(0, |done| done.records);
    if skip > 0 {
        eprintln!("going on after {skip} records that were sent before (--restart starts again)");
    }
    let source = Source::open(file, form).map(|source| source.with_ids(shape.id_field.as_deref())).map_err(
        |error| match error.to_string() == UNTOLD {
            true => error.context("say --format jsonl, json or csv"),
            false => error,
        },
    )?;
    let progress = Progress::new(identity.bytes(), start.as_ref());
    let mut import = Import {
        client: &client,
        path: format!("/1/indexes/{}/batch", segment(index)),
        state: &state,
        done: start.unwrap_or_else(|| Done::nothing(identity, shape_text)),
        progress: &progress,
    };
    let begun = Instant::now();
    let sent = import.send_all(source, shape, skip);
    if let Err(error) = sent {
        progress.ends(false);
        let records = import.done.records;
        if spooled.is_some() || !state.is_kept() {
            state.remove();
            return Err(error.context(format!("stopped after {records} records")));
        }
        return Err(
            error.context(format!("stopped after {records} records, the same command goes on from there"))
        );
    }
    let done = import.done.clone();
    if done.records > 0 {
        progress.waits();
        wait_published(&client, index, &done, &progress)?;
    }
    progress.ends(true);
    state.remove();
    let seconds = begun.elapsed().as_secs_f64().max(0.001);
    let records = done.records - skip;
    let noun = if records == 1 { "record" } else { "records" };
    println!("{records} {noun} in `{index}`, {seconds:.1} s, {:.0} records/s", records as f64 / seconds);
    Ok(ExitCode::SUCCESS)
}

struct Import<'a> {
    client: &'a Client,
    path: String,
    state: &'a StateFile,
    done: Done,
    progress: &'a Progress,
}

impl Import<'_> {
    /// Sends every batch in order. One thread reads and compresses ahead, this one sends.
    fn send_all(&mut self, source: Source, shape: Shape, skip: u64) -> Result<()> {
        let encoding = shape.encoding;
        let (ready, batches) = sync_channel::<Result<Batch>>(READ_AHEAD);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut reader = match Batches::new(source, shape, skip) {
                    Ok(reader) => reader,
                    Err(error) => {
                        let _ = ready.send(Err(error));
                        return;
                    }
                };
                while let Some(next) = reader.next_batch().transpose() {
                    let failed = next.is_err();
                    // The receiver is gone once sending failed; then there is nothing left to read for.
                    if ready.send(next).is_err() || failed {
                        return;
                    }
                }
            });
            self.send_received(batches, encoding)
        })
    }

    fn send_received(&mut self, batches: Receiver<Result<Batch>>, encoding: Encoding) -> Result<()> {
        for batch in batches {
            let batch = batch?;
            let answer = self.send(&batch, encoding)?;
            let task_id = answer.get("taskID").and_then(Value::as_u64).context("the answer has no taskID")?;
            self.done.records = batch.records_done;
            self.done.file_bytes = batch.file_bytes_done;
            self.done.task_id = task_id;
            let ids = answer.get("objectIDs").and_then(Value::as_array);
            self.done.last_id = ids.and_then(|ids| ids.last()?.as_str().map(str::to_owned));
            self.state.save(&self.done);
            self.progress.reached(&self.done);
        }
        Ok(())
    }

    /// Sends one batch, again while the node is away or too busy. Sending twice does no harm: every record has an id.
    fn send(&self, batch: &Batch, encoding: Encoding) -> Result<Value> {
        let begun = Instant::now();
        let mut pause = PAUSE_FIRST;
        loop {
            let failed = match self.client.post(&self.path, &batch.body, encoding) {
                Ok(answer) if answer.status < 500 => {
                    return answer.ok().with_context(|| {
                        format!("the batch of lines {} to {} was refused", batch.lines.0, batch.lines.1)
                    });
                }
                Ok(answer) => {
                    pause = pause.max(asked_pause(&answer));
                    anyhow::anyhow!(answer.message())
                }
                Err(error) => error,
            };
            if begun.elapsed() + pause > RETRY {
                return Err(failed);
            }
            self.progress.fails(&self.done, &failed);
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

fn asked_pause(answer: &Answer) -> Duration {
    Duration::from_secs(answer.retry_after_s.unwrap_or(0)).min(PAUSE_MAX)
}

/// Whether an index still has what an interrupted import sent last: one that was cleared, or put back from a copy, is sent all again.
fn holds(client: &Client, index: &str, done: &Done) -> bool {
    let path = match &done.last_id {
        Some(id) => format!("/1/indexes/{}/{}", segment(index), segment(id)),
        None => format!("/1/indexes/{}/settings", segment(index)),
    };
    let task = format!("/1/indexes/{}/task/{}", segment(index), done.task_id);
    let begun = Instant::now();
    loop {
        // asked first: it may be shown between two questions
        let is_shown = match client.get(&task).and_then(Answer::ok) {
            Ok(answer) => answer.get("status").and_then(Value::as_str) == Some("published"),
            Err(_) => false,
        };
        match client.get(&path) {
            // what was answered is shown a moment later; a task that nobody knows is never
            Ok(answer) if answer.status == 404 => {
                if begun.elapsed() >= SHOWN || is_shown {
                    eprintln!("`{index}` lacks what was sent before: all of it is sent again");
                    return false;
                }
            }
            Ok(answer) if answer.status < 500 => return true,
            // sending says what is wrong
            Ok(_) | Err(_) if begun.elapsed() >= SHOWN => return true,
            Ok(_) | Err(_) => {}
        }
        std::thread::sleep(PAUSE_FIRST * 5);
    }
}

fn wait_published(client: &Client, index: &str, done: &Done, progress: &Progress) -> Result<()> {
    let task_id = done.task_id;
    let path = format!("/1/indexes/{}/task/{task_id}", segment(index));
    let (begun, mut answered) = (Instant::now(), Instant::now());
    let mut pause = PAUSE_FIRST;
    loop {
        let failed = match client.get(&path) {
            Ok(answer) if answer.status >= 500 => Some(answer.message()),
            Ok(answer) => match answer.ok()?.get("status").and_then(Value::as_str) {
                Some("published") => return Ok(()),
                _ => None,
            },
            Err(error) => Some(format!("{error:#}")),
        };
        match &failed {
            Some(why) => progress.fails(done, why),
            None => answered = Instant::now(),
        }
        let waited = [answered.elapsed().checked_sub(RETRY), begun.elapsed().checked_sub(PUBLISH)];
        if waited.iter().any(Option::is_some) {
            let why = failed.unwrap_or_else(|| "it is still being indexed".to_owned());
            bail!(
                "all records are stored, but task {task_id} is not published after {} s: {why}",
                begun.elapsed().as_secs()
            );
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX / 4);
    }
}
