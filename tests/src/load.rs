//! What do clients know of their records, who rotate over many indices with writes, reads, settings and deletions?

use crate::chance::Chance;
use crate::client::Client;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Records that a writer has in an index.
const RECORDS: u64 = 8;
/// Indices that are deleted and made again, beside the others.
const SHORT_LIVED: u64 = 20;
/// How long a write without an answer may still be carried out; its record is left alone meanwhile.
const LATE: Duration = Duration::from_secs(60);

/// The load, and what it has done.
#[derive(Debug, Default)]
pub struct Load {
    /// Indices that stay.
    pub indices: usize,
    /// A text that every record has.
    pub text: String,
    /// Set when everybody is to stop.
    pub is_over: AtomicBool,
    /// Writes of records that were answered.
    pub writes: AtomicU64,
    /// Writes of records without an answer, or with a refusal.
    pub refused: AtomicU64,
    /// Reads that were answered.
    pub reads: AtomicU64,
    /// Changes of settings and of indices that come and go.
    pub changes: AtomicU64,
}

/// What a writer knows of a record.
#[derive(Debug, Default)]
struct Record {
    /// Versions it may have, 0 = deleted; more than one after a write without an answer.
    versions: Vec<u64>,
    /// When the last such write was.
    unanswered: Option<Instant>,
}

/// What a writer was told of its records.
#[derive(Debug)]
pub struct Writer {
    number: usize,
    chance: Chance,
    records: BTreeMap<(usize, u64), Record>,
}

impl Writer {
    /// A writer without records.
    pub fn new(number: usize, chance: Chance) -> Writer {
        Writer { number, chance, records: BTreeMap::new() }
    }

    /// Every record is what its writer was told.
    pub fn check(&self, client: &Client) -> Result<()> {
        let indices: std::collections::BTreeSet<usize> =
            self.records.keys().map(|(index, _)| *index).collect();
        for index in indices {
            let ids: Vec<String> = (0..RECORDS).map(|number| format!("w{}-{number}", self.number)).collect();
            let found = client.objects(&format!("r{index}"), &ids)?;
            for (number, record) in (0..RECORDS).zip(found) {
                let version = record["v"].as_u64().unwrap_or(0);
                let allowed = self.records.get(&(index, number)).map_or(vec![0], |it| it.versions.clone());
                let id = &ids[number as usize];
                ensure!(allowed.contains(&version), "r{index} {id}: {version}, not {allowed:?}");
            }
        }
        Ok(())
    }
}

impl Load {
    /// A load over so many indices.
    pub fn over(indices: usize) -> Load {
        Load { indices, text: "a rotating lamp".into(), ..Load::default() }
    }
    /// How often something was done.
    pub fn count(of: &AtomicU64) -> u64 {
        of.load(Ordering::Relaxed)
    }
    fn name(&self, number: usize) -> String {
        format!("r{}", number % self.indices)
    }

    /// Does something again and again until all is over; after what is not answered, and when there is no client, it waits a moment.
    fn repeat(&self, client: impl Fn(u64) -> Option<Client>, mut step: impl FnMut(u64, &Client) -> bool) {
        for number in 1_u64.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            if !client(number).is_some_and(|client| step(number, &client)) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Puts and deletes the writer's own records, index after index.
    pub fn write(&self, writer: &mut Writer, client: impl Fn(u64) -> Option<Client>) {
        self.repeat(client, |step, client| {
            let index = (step as usize * 5 + writer.number) % self.indices;
            let number = writer.chance.below(RECORDS);
            let record = writer
                .records
                .entry((index, number))
                .or_insert_with(|| Record { versions: vec![0], unanswered: None });
            if record.unanswered.is_some_and(|at| at.elapsed() < LATE) {
                return true;
            }
            let path = format!("/1/indexes/{}/w{}-{number}", self.name(index), writer.number);
            let (version, answer) = match writer.chance.below(5) {
                0 => (0, client.delete(&path)),
                _ => (step, client.put(&path, &json!({"v": step, "kind": step % 7, "text": self.text}))),
            };
            let is_answered = answer.is_ok_and(|answer| answer.status < 300);
            if is_answered {
                *record = Record { versions: vec![version], unanswered: None };
                self.writes.fetch_add(1, Ordering::Relaxed);
            } else {
                record.versions.push(version);
                record.unanswered = Some(Instant::now());
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
            is_answered
        });
    }

    /// Searches index after index; `seen` is told how each search went and how long it took.
    pub fn read(
        &self,
        reader: usize,
        client: impl Fn(u64) -> Option<Client>,
        mut seen: impl FnMut(bool, Duration),
    ) {
        self.repeat(client, |step, client| {
            let path = format!("/1/indexes/{}/query", self.name(step as usize * 7 + reader));
            let asked =
                json!({"query": if step.is_multiple_of(2) { "lamp" } else { "" }, "facets": ["kind"]});
            let began = Instant::now();
            let is_answered = client.post(&path, &asked).is_ok_and(|answer| answer.status < 500);
            self.reads.fetch_add(u64::from(is_answered), Ordering::Relaxed);
            seen(is_answered, began.elapsed());
            is_answered
        });
    }

    /// Settings that need other files, deletions by a query that wait for them, and indices that come and go.
    pub fn change(&self, chance: &mut Chance, client: impl Fn(u64) -> Option<Client>) {
        self.repeat(client, |step, client| {
            let steady = format!("/1/indexes/{}", self.name(step as usize * 11));
            let short = format!("/1/indexes/s{}", chance.below(SHORT_LIVED));
            let answer = match chance.below(6) {
                0 => client.put(&format!("{steady}/settings"), &json!({"searchableAttributes": ["text"]})),
                1 => client.put(&format!("{steady}/settings"), &json!({"attributesForFaceting": ["kind"]})),
                2 => {
                    let settings = json!({"attributesForFaceting": ["kind"], "customRanking": ["desc(v)"]});
                    client.put(&format!("{short}/settings"), &settings)
                }
                3 => client.delete(&short),
                4 => client.post(&format!("{short}/deleteByQuery"), &json!({"params": "numericFilters=v<5"})),
                _ => {
                    let adds: Vec<Value> = (0..10)
                        .map(|v| json!({"action": "addObject", "body": {"objectID": format!("{v}"), "v": v, "kind": v % 3}}))
                        .collect();
                    client.post(&format!("{short}/batch"), &json!({"requests": adds}))
                }
            };
            self.changes.fetch_add(u64::from(answer.is_ok()), Ordering::Relaxed);
            answer.is_ok()
        });
    }

    /// Waits until everything that was answered is published: one more write to each index, and its task.
    pub fn settle(&self, client: &Client) -> Result<()> {
        let last = |index| {
            let name = self.name(index);
            let task = client.batch(&name, &[("addObject", json!({"objectID": "last", "v": 1}))])?;
            Ok((name, task))
        };
        let tasks: Vec<(String, u64)> = (0..self.indices).map(last).collect::<Result<_>>()?;
        tasks.iter().try_for_each(|(name, task)| client.wait_task(name, *task))
    }
}
