//! How does history get into an installation? Row by row into bodies of `POST /admin/events`, each sent until it is taken.

use super::files::{Found, Rows, meant};
use super::past::{self, Past};
use super::patiently;
use crate::client::{Client, Encoding};
use crate::import::state::{Done, Identity, StateFile};
use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use flate2::{Compression, write::GzEncoder};
use quorate_model::event::{Refused, parse_history};
use quorate_model::limits;
use serde_json::Value;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes of a body, below what the service takes.
const BODY_BYTES: usize = limits::EVENTS_BODY_BYTES_MAX - (64 << 10);
/// Between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(1);
/// What stands where the name of an index does for the import of records; no index is called so.
const STATE_NAME: &str = "/admin/events";

/// Brings all files in and says how many rows.
pub fn run(client: &Client, given: &ArgMatches) -> Result<ExitCode> {
    let files = meant(given.get_many::<String>("file").expect("clap requires it"))?;
    let begun = Instant::now();
    let is_anew = given.get_flag("restart");
    if !is_anew {
        check_what_was_sent(client, &files)?;
    }
    let (mut sent, mut states) = (0, vec![]);
    for path in &files {
        let state = StateFile::locate(path, STATE_NAME, &client.url, &client.app_id)?;
        let identity = Identity::of(path)?;
        let start = if is_anew { None } else { state.load(&identity, STATE_NAME) };
        let done = Done::nothing(identity, STATE_NAME.to_owned());
        let mut import =
            Import { client, path, state: &state, done: start.unwrap_or(done), shown: Instant::now() };
        let before = import.done.records;
        if before > 0 {
            eprintln!(
                "{}: going on after {before} rows that were sent before (--restart starts again)",
                path.display()
            );
        }
        import.send().map_err(|error| {
            let rows = import.done.records;
            error.context(format!(
                "{}: stopped after {rows} rows, the same command goes on from there",
                path.display()
            ))
        })?;
        sent += import.done.records - before;
        eprintln!("{}: {} rows", path.display(), import.done.records);
        states.push(state);
    }
    states.iter().for_each(StateFile::remove);
    let seconds = begun.elapsed().as_secs_f64().max(0.001);
    let (rows, count) = (sent as f64 / seconds, files.len());
    println!("{sent} rows of {count} files, {seconds:.1} s, {rows:.0} rows/s");
    Ok(ExitCode::SUCCESS)
}

/// Errors: the installation has fewer rows than were sent of these files before, as one that was put back from a copy has.
fn check_what_was_sent(client: &Client, files: &[PathBuf]) -> Result<()> {
    let mut sent = 0;
    for path in files {
        let state = StateFile::locate(path, STATE_NAME, &client.url, &client.app_id)?;
        sent += state.load(&Identity::of(path)?, STATE_NAME).map_or(0, |done| done.records);
    }
    if sent == 0 {
        return Ok(());
    }
    let found = client.get("/admin/events")?.ok()?;
    let held = found.get("rows").and_then(Value::as_u64).context("the node is of another version")?;
    if held < sent {
        bail!(
            "the installation has {held} rows, and {sent} of these files were sent before: rows were forgotten, removed or lost, or were \
             equal. --restart sends all of them again, which counts once"
        );
    }
    Ok(())
}

struct Import<'a> {
    client: &'a Client,
    path: &'a Path,
    state: &'a StateFile,
    done: Done,
    shown: Instant,
}

/// Rows on their way.
#[derive(Default)]
struct Body {
    events: Vec<String>,
    searches: Vec<String>,
    bytes: usize,
    /// The places of the first and the last row.
    places: Option<(String, String)>,
}

impl Import<'_> {
    fn send(&mut self) -> Result<()> {
        let mut rows = Rows::open(self.path)?;
        for _ in 0..self.done.records {
            rows.next_row()?.context("the file has fewer rows than were sent before; use --restart")?;
        }
        let mut body = Body::default();
        while let Some(found) = rows.next_row()? {
            let place = found.place.clone();
            body.add(found).map_err(|wrong| anyhow!("{place}: {wrong}"))?;
            if body.is_full() {
                self.send_body(std::mem::take(&mut body))?;
            }
        }
        self.send_body(body)
    }
    fn send_body(&mut self, body: Body) -> Result<()> {
        let Some((first, last)) = &body.places else { return Ok(()) };
        let rows = body.rows();
        let text = body.text();
        let (bytes, encoding) = match self.client.is_loopback() {
            true => (text.into_bytes(), Encoding::Plain),
            false => {
                let mut out = GzEncoder::new(vec![], Compression::fast());
                out.write_all(text.as_bytes()).context("cannot compress rows")?;
                (out.finish().context("cannot compress rows")?, Encoding::Gzip)
            }
        };
        patiently(|| self.client.post("/admin/events", &bytes, encoding))
            .with_context(|| format!("{first} to {last}"))?;
        self.done.records += rows;
        self.state.save(&self.done);
        if self.shown.elapsed() >= PROGRESS && std::io::stderr().is_terminal() {
            self.shown = Instant::now();
            eprintln!("{}: {} rows so far", self.path.display(), self.done.records);
        }
        Ok(())
    }
}

impl Body {
    /// Adds a row, if the service would take it. Errors: what is wrong with it.
    fn add(&mut self, found: Found) -> Result<(), String> {
        let Found { members, place } = found;
        let past = past::read(members)?;
        check(&past)?;
        let (list, row) = match past {
            Past::Event(event) => (&mut self.events, event.to_string()),
            Past::Search(search) => (&mut self.searches, search.to_string()),
        };
        self.bytes += row.len() + 1;
        list.push(row);
        match &mut self.places {
            Some((_, last)) => *last = place,
            none => *none = Some((place.clone(), place)),
        }
        Ok(())
    }
    fn rows(&self) -> u64 {
        (self.events.len() + self.searches.len()) as u64
    }
    fn is_full(&self) -> bool {
        self.events.len().max(self.searches.len()) >= limits::EVENTS_MAX || self.bytes >= BODY_BYTES
    }
    fn text(&self) -> String {
        format!(r#"{{"events":[{}],"searches":[{}]}}"#, self.events.join(","), self.searches.join(","))
    }
}

/// Errors: why the service would refuse it, but for its age, which depends on the service.
fn check(past: &Past) -> Result<(), String> {
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let body = match past {
        Past::Event(event) => format!(r#"{{"events":[{event}]}}"#),
        Past::Search(search) => format!(r#"{{"searches":[{search}]}}"#),
    };
    match parse_history(body.as_bytes(), now_ms, u64::MAX) {
        Ok(_) => Ok(()),
        Err(Refused::Invalid(message) | Refused::Unreadable(message)) => Err(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn found(row: Value, line: usize) -> Found {
        Found { members: row.as_object().expect("an object").clone(), place: format!("line {line}") }
    }

    #[test]
    fn bodies_are_what_the_service_takes() {
        let mut body = Body::default();
        let row = |at: usize| {
            json!({"kind": if at.is_multiple_of(2) { "search" } else { "view" }, "event": "Saw", "index": "i", "user": "u",
                "time": 1_700_000_000_000_u64 + at as u64, "object": "a", "query": "q", "hits": 1})
        };
        let mut line = 0;
        while !body.is_full() {
            line += 1;
            body.add(found(row(line), line)).expect("taken");
        }
        assert_eq!((line, body.rows()), (1_999, 1_999));
        assert_eq!(body.places, Some(("line 1".into(), "line 1999".into())));
        let read = parse_history(body.text().as_bytes(), u64::MAX / 2, u64::MAX).expect("as it has to be");
        assert_eq!((read.events.len(), read.searches.len()), (1_000, 999));
        let wrong =
            body.add(found(json!({"kind": "view", "time": 5, "object": "a"}), 1)).expect_err("refused");
        assert_eq!(wrong, "there is no event, which is what its sender calls it");
        assert_eq!(body.rows(), 1_999, "nothing of it stays");
    }
}
