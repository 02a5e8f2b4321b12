//! What do clients know about their records when the server dies under them? A model that allows exactly what was promised.
//!
//! A client owns its records and calls one after another. An answered write is there, once. A write without an answer is
//! there wholly or not at all.

use crate::chance::Chance;
use crate::client::Client;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Records of one owner by id, as they must be.
pub type Records = BTreeMap<String, Value>;

/// One client with its records.
#[derive(Debug)]
pub struct Owner {
    name: String,
    index: String,
    chance: Chance,
    steps: u64,
    records: Records,
    /// What the records are if the write without an answer was carried out.
    or_else: Option<Records>,
    /// Ids of answered tasks.
    pub tasks: Vec<u64>,
}

/// How many records an owner has at most: few enough that they are changed again and again.
const RECORDS: u64 = 24;

impl Owner {
    /// An owner with no records yet.
    pub fn new(name: &str, index: &str, chance: Chance) -> Owner {
        Owner {
            name: name.into(),
            index: index.into(),
            chance,
            steps: 0,
            records: Records::new(),
            or_else: None,
            tasks: Vec::new(),
        }
    }
    /// The records.
    pub fn records(&self) -> &Records {
        &self.records
    }
    /// Every id the owner may ever use.
    pub fn ids(&self) -> Vec<String> {
        (0..RECORDS).map(|number| self.id(number)).collect()
    }

    /// Writes until the server does not answer. Errors: an answer that is no success.
    pub fn write_until_unanswered(&mut self, client: &Client) -> Result<()> {
        self.write_until_unanswered_for(client, Duration::MAX)
    }

    /// As [`Owner::write_until_unanswered`], for this time at most.
    pub fn write_until_unanswered_for(&mut self, client: &Client, time: Duration) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            let operations = self.plan();
            let mut after = self.records.clone();
            for operation in &operations {
                apply(&mut after, operation);
            }
            match self.send(client, &operations) {
                Ok(answer) if answer.status < 300 => {
                    self.tasks.push(answer.task_id()?);
                    self.records = after;
                }
                Ok(answer) if answer.status == 503 => {
                    // Not now: the server may or may not have taken it.
                    self.or_else = Some(after);
                    return Ok(());
                }
                Ok(answer) => bail!("{}: status {}: {}", self.name, answer.status, answer.body),
                Err(_) => {
                    self.or_else = Some(after);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Compares what the server has with what it may have, and goes on from what it has.
    pub fn check(&mut self, client: &Client) -> Result<()> {
        let ids = self.ids();
        let found: Records = ids
            .iter()
            .cloned()
            .zip(client.objects(&self.index, &ids)?)
            .filter(|(_, record)| !record.is_null())
            .collect();
        let or_else = self.or_else.take();
        if found == self.records {
            return Ok(());
        }
        match or_else {
            Some(records) if found == records => {
                self.records = records;
                Ok(())
            }
            alternative => bail!(
                "{} found\n{}\nexpected\n{}\nor, with the write that was not answered, {}",
                self.name,
                show(&found),
                show(&self.records),
                alternative.map_or("nothing else".into(), |records| show(&records)),
            ),
        }
    }

    fn id(&self, number: u64) -> String {
        format!("{}-{number:02}", self.name)
    }
    fn plan(&mut self) -> Vec<Operation> {
        let length = match self.chance.below(4) {
            0 => 2 + self.chance.below(6),
            _ => 1,
        };
        (0..length).map(|_| self.operation()).collect()
    }
    fn operation(&mut self) -> Operation {
        self.steps += 1;
        let number = self.chance.below(RECORDS);
        let id = self.id(number);
        match self.chance.below(10) {
            0 => Operation::Delete(id),
            1..=3 => Operation::Increment(id, 1 + self.chance.below(3)),
            4 => Operation::IncrementSet(id, self.steps),
            _ => Operation::Put(json!({
                "objectID": id,
                "owner": self.name,
                "count": 0,
                "version": self.steps,
                "word": word(&self.name, self.steps),
            })),
        }
    }
    fn send(&self, client: &Client, operations: &[Operation]) -> Result<crate::client::Answer> {
        let index = &self.index;
        if let [operation] = operations {
            let path = format!("/1/indexes/{index}/{}", operation.id());
            return match operation {
                Operation::Put(record) => client.put(&path, record),
                Operation::Delete(_) => client.delete(&path),
                Operation::Increment(..) | Operation::IncrementSet(..) => {
                    client.post(&format!("{path}/partial?createIfNotExists=false"), &operation.body())
                }
            };
        }
        let requests: Vec<Value> = operations
            .iter()
            .map(|operation| {
                let mut body = operation.body();
                body["objectID"] = operation.id().into();
                json!({"action": operation.action(), "body": body})
            })
            .collect();
        client.post(&format!("/1/indexes/{index}/batch"), &json!({"requests": requests}))
    }
}

/// A write on one record.
#[derive(Clone, Debug)]
enum Operation {
    Put(Value),
    Increment(String, u64),
    IncrementSet(String, u64),
    Delete(String),
}

impl Operation {
    fn id(&self) -> &str {
        match self {
            Operation::Put(record) => record["objectID"].as_str().expect("records are made with an id"),
            Operation::Increment(id, _) | Operation::IncrementSet(id, _) | Operation::Delete(id) => id,
        }
    }
    fn action(&self) -> &'static str {
        match self {
            Operation::Put(_) => "updateObject",
            Operation::Increment(..) | Operation::IncrementSet(..) => "partialUpdateObjectNoCreate",
            Operation::Delete(_) => "deleteObject",
        }
    }
    fn body(&self) -> Value {
        match self {
            Operation::Put(record) => record.clone(),
            Operation::Increment(_, by) => json!({"count": {"_operation": "Increment", "value": by}}),
            Operation::IncrementSet(_, to) => json!({"version": {"_operation": "IncrementSet", "value": to}}),
            Operation::Delete(_) => json!({}),
        }
    }
}

/// The interface's rules for these operations (C§3.5), on the model.
fn apply(records: &mut Records, operation: &Operation) {
    let id = operation.id().to_string();
    match operation {
        Operation::Put(record) => {
            records.insert(id, record.clone());
        }
        Operation::Delete(_) => {
            records.remove(&id);
        }
        Operation::Increment(_, by) => {
            if let Some(record) = records.get_mut(&id) {
                record["count"] = (record["count"].as_u64().unwrap_or(0) + by).into();
            }
        }
        Operation::IncrementSet(_, to) => {
            if let Some(record) = records.get_mut(&id)
                && *to > record["version"].as_u64().unwrap_or(0)
            {
                record["version"] = (*to).into();
            }
        }
    }
}

/// A word of letters that no other step has, without digits: those are split from letters.
pub fn word(owner: &str, step: u64) -> String {
    let mut rest = step;
    let mut word = format!("q{owner}");
    for _ in 0..6 {
        word.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    word
}

/// Waits until every write that the server has taken is visible: a later one on the same index is.
pub fn settle(client: &Client, index: &str) -> Result<()> {
    let task = client.batch(index, &[("deleteObject", json!({"objectID": "nobody"}))])?;
    client.wait_task(index, task)
}

/// Compares the searchable state of the index with the records of all owners.
pub fn check_search(client: &Client, index: &str, owners: &[Owner], chance: &mut Chance) -> Result<()> {
    let expected: Records = owners.iter().flat_map(|owner| owner.records.clone()).collect();
    let mut found = Records::new();
    for record in client.browse_all(index)? {
        let id = record["objectID"].as_str().context("a hit without objectID")?.to_string();
        ensure!(found.insert(id.clone(), record).is_none(), "{id} is browsed twice");
    }
    ensure!(found == expected, "browse gives\n{}\nexpected\n{}", show(&found), show(&expected));
    let all = client.search(index, &json!({"query": "", "hitsPerPage": 0}))?;
    ensure!(all["nbHits"] == expected.len(), "nbHits {} of {}", all["nbHits"], expected.len());
    for owner in owners {
        let steps = (0..6).map(|_| 1 + chance.below(owner.steps.max(1)));
        let words: Vec<String> = steps.map(|step| word(&owner.name, step)).collect();
        let living = owner.records.values().take(3).filter_map(|r| r["word"].as_str().map(str::to_string));
        for word in words.into_iter().chain(living) {
            let hits = client.search(
                index,
                &json!({"query": word, "typoTolerance": false, "queryType": "prefixNone", "hitsPerPage": 100}),
            )?;
            let mut hits: Vec<&str> = hits["hits"]
                .as_array()
                .context("no hits")?
                .iter()
                .filter_map(|h| h["objectID"].as_str())
                .collect();
            hits.sort_unstable();
            let expected: Vec<&str> = owner
                .records
                .iter()
                .filter(|(_, record)| record["word"] == word.as_str())
                .map(|(id, _)| id.as_str())
                .collect();
            ensure!(hits == expected, "the search for {word} gives {hits:?}, expected {expected:?}");
        }
    }
    Ok(())
}

fn show(records: &Records) -> String {
    records.values().map(|record| format!("  {record}")).collect::<Vec<_>>().join("\n")
}
