//! What do clients see that write, wait and read through all nodes at once, and can it be explained?
//!
//! Clients share a few records at a time and leave them after [`GENERATION`], so that the history of each stays short enough
//! to be explained ([`crate::linear`]). They change nodes with every call, repeat nothing, and note what they called and what
//! they were told. A call without an answer may have been carried out or not.

use crate::chance::Chance;
use crate::client::Client;
use crate::cluster::Cluster;
use crate::linear::{Cell, Event, Op, State, Unexplained, explain, tasks_follow_time};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The index of all histories.
pub const INDEX: &str = "history";
/// How long the same records are used.
const GENERATION: Duration = Duration::from_millis(1_500);
/// Records at a time.
const RECORDS: u64 = 3;
/// Clients at a time.
const CLIENTS: u64 = 5;
/// How long a call may take: nodes that stand still answer never.
const CALL: Duration = Duration::from_secs(3);
/// How long a client waits for its task before it goes on without.
const WAIT: Duration = Duration::from_secs(2);
/// How long the last task may take after the last accident.
const END: Duration = Duration::from_secs(90);

/// The ways to the nodes, which change when nodes start again.
#[derive(Debug)]
pub struct Nodes(RwLock<Vec<Option<Client>>>);

impl Nodes {
    /// Where the nodes of a cluster are now.
    pub fn of(cluster: &Cluster) -> Nodes {
        let nodes = Nodes(RwLock::new(vec![None; cluster.len()]));
        nodes.look(cluster);
        nodes
    }
    /// Takes over where the nodes are now.
    pub fn look(&self, cluster: &Cluster) {
        let client = |number| cluster.node(number).ok().map(|node| node.client().within(CALL));
        *self.0.write().expect("nobody panics with it") = (0..cluster.len()).map(client).collect();
    }
    /// From now on nobody calls this node.
    pub fn forget(&self, number: usize) {
        self.0.write().expect("nobody panics with it")[number] = None;
    }
    /// One of the nodes, unless that one is known to be away.
    pub fn any(&self, chance: &mut Chance) -> Option<(usize, Client)> {
        let nodes = self.0.read().expect("nobody panics with it");
        let number = chance.below(nodes.len() as u64) as usize;
        Some((number, nodes[number].clone()?))
    }
}

/// What was done to each record.
pub type Histories = BTreeMap<String, Vec<Event>>;

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Writes that were answered.
    pub answered: u64,
    /// Writes without an answer.
    pub unanswered: u64,
    /// Writes that their client saw as published.
    pub published: u64,
    /// Reads that were answered.
    pub reads: u64,
}

/// Runs clients for `time` and `accident` again and again beside them; then, when all is well again, reads every record
/// through every node and explains what was seen.
pub fn run(
    cluster: &mut Cluster,
    chance: &mut Chance,
    time: Duration,
    mut accident: impl FnMut(&mut Cluster, &Nodes, &mut Chance) -> Result<()>,
) -> Result<Counts> {
    prepare(cluster)?;
    let (nodes, origin, is_over) = (Nodes::of(cluster), Instant::now(), AtomicBool::new(false));
    let prefix = chance.below(1 << 40);
    let (events, outcome) = std::thread::scope(|threads| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let mut worker = Worker {
                    nodes: &nodes,
                    origin,
                    prefix,
                    chance: chance.split(),
                    values: number,
                    counts: BTreeMap::new(),
                    events: vec![],
                };
                let is_over = &is_over;
                threads.spawn(move || -> Result<Vec<(String, Event)>> {
                    while !is_over.load(Ordering::Relaxed) {
                        worker.step()?;
                    }
                    Ok(worker.events)
                })
            })
            .collect();
        let mut outcome = Ok(());
        while origin.elapsed() < time && outcome.is_ok() {
            outcome = accident(cluster, &nodes, chance);
        }
        is_over.store(true, Ordering::Relaxed);
        let events: Result<Vec<_>> =
            clients.into_iter().map(|client| client.join().expect("a client does not panic")).collect();
        (events, outcome)
    });
    outcome?;
    let mut histories = Histories::new();
    for (record, event) in events?.into_iter().flatten() {
        histories.entry(record).or_default().push(event);
    }
    finish(cluster, origin, &mut histories)?;
    judge(&histories)
}

/// Makes the index.
fn prepare(cluster: &Cluster) -> Result<()> {
    let settings = json!({"attributesForFaceting": ["filterOnly(key)"]});
    let path = format!("/1/indexes/{INDEX}/settings");
    let client = cluster.clients().into_iter().next().context("no node runs")?;
    let task = client.put(&path, &settings)?.success()?.task_id()?;
    cluster.wait_task(INDEX, task)
}

/// Waits until everything that was answered is published, and reads every record through every node.
fn finish(cluster: &Cluster, origin: Instant, histories: &mut Histories) -> Result<()> {
    cluster.wait_settled()?;
    let now = || origin.elapsed().as_micros() as u64;
    let tasks = histories.values().flatten().filter_map(|event| event.task);
    // one log: what comes before the last task is shown before it
    if let Some(last) = tasks.max() {
        cluster.wait_task(INDEX, last)?;
        let at = now();
        for event in histories.values_mut().flatten().filter(|event| event.task.is_some()) {
            event.published.get_or_insert(at);
        }
    }
    let records: Vec<String> = histories.keys().cloned().collect();
    for node in cluster.running() {
        let (client, deadline) = (cluster.node(node)?.client(), Instant::now() + END);
        let (called, found) = loop {
            let called = now();
            match client.objects(INDEX, &records) {
                Ok(found) => break (called, found),
                Err(error) => ensure!(Instant::now() < deadline, "node {node} does not answer: {error:#}"),
            }
        };
        for (record, found) in records.iter().zip(found) {
            let op = Op::Read { found: state(&found)? };
            let event = Event { op, node, called, answered: Some(now()), published: None, task: None };
            histories.get_mut(record).context("a record of the histories")?.push(event);
        }
    }
    Ok(())
}

/// Explains every history. Errors: what cannot be explained, with its history.
fn judge(histories: &Histories) -> Result<Counts> {
    let mut counts = Counts::default();
    let all: Vec<Event> = histories.values().flatten().copied().collect();
    tasks_follow_time(&all).map_err(anyhow::Error::msg)?;
    for (record, events) in histories {
        match explain(events) {
            Ok(()) => {}
            Err(Unexplained::No(history)) => bail!("{record}: what was read cannot be explained:\n{history}"),
            Err(error @ Unexplained::TooEntangled(_)) => bail!("{record}: {error}"),
        }
        for event in events {
            match event.op {
                Op::Read { .. } => counts.reads += 1,
                _ if event.answered.is_none() => counts.unanswered += 1,
                _ => counts.answered += 1,
            }
            counts.published += u64::from(event.published.is_some());
        }
    }
    Ok(counts)
}

/// The record in an answer.
fn state(record: &Value) -> Result<State> {
    if record.is_null() {
        return Ok(None);
    }
    let number = |name: &str| record[name].as_u64().with_context(|| format!("{name} in {record}"));
    Ok(Some(Cell { value: number("value")?, count: number("count")? }))
}

/// One client.
struct Worker<'n> {
    nodes: &'n Nodes,
    origin: Instant,
    prefix: u64,
    chance: Chance,
    /// The last value it gave; no other client gives the same.
    values: u64,
    /// The counts it has seen.
    counts: BTreeMap<String, u64>,
    events: Vec<(String, Event)>,
}

impl Worker<'_> {
    fn now(&self) -> u64 {
        self.origin.elapsed().as_micros() as u64
    }
    /// One of the records of the time.
    fn record(&mut self) -> String {
        let generation = self.origin.elapsed().as_micros() / GENERATION.as_micros();
        format!("h{}g{generation}r{}", self.prefix, self.chance.below(RECORDS))
    }
    fn step(&mut self) -> Result<()> {
        let record = self.record();
        match self.chance.below(2) {
            0 => self.read(&record),
            _ => self.write(&record),
        }
    }

    fn write(&mut self, record: &str) -> Result<()> {
        let Some((node, client)) = self.nodes.any(&mut self.chance) else { return self.rest() };
        self.values += CLIENTS;
        let value = self.values;
        let from = self.counts.get(record).copied().unwrap_or(0);
        let (op, action, body) = match self.chance.below(10) {
            0..2 => (
                Op::Put { value },
                "updateObject",
                json!({"objectID": record, "key": record, "value": value, "count": 0}),
            ),
            2 => (Op::Delete, "deleteObject", json!({"objectID": record})),
            3..6 => (
                Op::Add,
                "partialUpdateObjectNoCreate",
                json!({"objectID": record, "count": {"_operation": "Increment", "value": 1}}),
            ),
            _ => (
                Op::Swap { from, value },
                "partialUpdateObject",
                json!({"objectID": record, "key": record, "value": value,
                       "count": {"_operation": "IncrementFrom", "value": from}}),
            ),
        };
        let body = json!({"requests": [{"action": action, "body": body}]});
        let called = self.now();
        let answer = client.post(&format!("/1/indexes/{INDEX}/batch"), &body);
        let mut event = Event { op, node, called, answered: None, published: None, task: None };
        match answer {
            Ok(answer) if answer.status < 300 => {
                event.answered = Some(self.now());
                event.task = Some(answer.task_id()?);
            }
            Ok(answer) if answer.status < 500 => bail!("{op:?}: status {}: {}", answer.status, answer.body),
            Ok(_) | Err(_) => {}
        }
        if let Some(task) = event.task.filter(|_| self.chance.below(3) > 0) {
            event.published = self.published(task);
        }
        self.events.push((record.to_owned(), event));
        match event.published {
            // what has just been promised, at whichever node
            Some(_) => self.read(record),
            None if event.answered.is_none() => self.rest(),
            None => Ok(()),
        }
    }

    /// When the task was said to be published, by whichever node.
    fn published(&mut self, task: u64) -> Option<u64> {
        let deadline = Instant::now() + WAIT;
        let path = format!("/1/indexes/{INDEX}/task/{task}");
        while Instant::now() < deadline {
            if let Some((_, client)) = self.nodes.any(&mut self.chance)
                && let Ok(answer) = client.get(&path)
                && answer.body["status"] == "published"
            {
                return Some(self.now());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// By its id, or by a search.
    fn read(&mut self, record: &str) -> Result<()> {
        let Some((node, client)) = self.nodes.any(&mut self.chance) else { return self.rest() };
        let is_search = self.chance.below(3) == 0;
        let called = self.now();
        let answer = match is_search {
            true => {
                let params = json!({"query": "", "filters": format!("key:{record}")});
                client.post(&format!("/1/indexes/{INDEX}/query"), &params)
            }
            false => client.get(&format!("/1/indexes/{INDEX}/{record}")),
        };
        let answered = Some(self.now());
        let found = match answer {
            Ok(answer) if answer.status == 200 && is_search => state(&answer.body["hits"][0])?,
            Ok(answer) if answer.status == 200 => state(&answer.body)?,
            Ok(answer) if answer.status == 404 => None,
            Ok(answer) if answer.status < 500 => bail!("a read: {}: {}", answer.status, answer.body),
            Ok(_) | Err(_) => return self.rest(),
        };
        self.counts.insert(record.to_owned(), found.map_or(0, |cell| cell.count));
        let op = Op::Read { found };
        self.events
            .push((record.to_owned(), Event { op, node, called, answered, published: None, task: None }));
        Ok(())
    }

    /// Not at once again.
    fn rest(&self) -> Result<()> {
        std::thread::sleep(Duration::from_millis(20));
        Ok(())
    }
}
