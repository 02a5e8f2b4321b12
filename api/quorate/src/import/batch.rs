//! How do records become batch bodies? With ids where they lack one, within limits of records and bytes.

use super::source::{Found, Source};
use crate::client::Encoding;
use anyhow::{Context, Result, bail};
use flate2::{Compression, write::GzEncoder};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::atomic::Ordering;

/// Bytes of records after which a batch is sent.
const BATCH_BYTES: usize = 4 << 20;

/// What to make of the records of a file.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Records of one batch at most.
    pub batch_records: usize,
    /// Member whose value becomes the objectID, instead of a member of that name.
    pub id_field: Option<String>,
    /// Start of the ids of records that have none; the number of the record follows. The same file gives the same
    /// ids, so that a batch sent twice adds nothing twice.
    pub id_prefix: String,
    /// How bodies are sent.
    pub encoding: Encoding,
}

/// A body to send, and how far the file is done once it is answered.
pub struct Batch {
    /// Body of `POST /1/indexes/{index}/batch`, compressed as the shape says.
    pub body: Vec<u8>,
    /// Records of the file up to the end of this batch.
    pub records_done: u64,
    /// Bytes of the file up to about the end of this batch.
    pub file_bytes_done: u64,
    /// Lines of the first and the last record.
    pub lines: (u64, u64),
}

/// Cuts a source into batches.
pub struct Batches {
    source: Source,
    shape: Shape,
    records_done: u64,
}

impl Batches {
    /// Starts after the first `skip` records, which an earlier run has sent.
    pub fn new(mut source: Source, shape: Shape, skip: u64) -> Result<Batches> {
        for _ in 0..skip {
            if source.next_record()?.is_none() {
                bail!("the file has fewer records than the {skip} that were sent before; use --restart");
            }
        }
        Ok(Batches { source, shape, records_done: skip })
    }

    /// The next batch, `None` at the end of the file.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        let mut body = Vec::with_capacity(BATCH_BYTES + (BATCH_BYTES >> 2));
        body.extend_from_slice(b"{\"requests\":[");
        let (mut records, mut lines) = (0u64, (0, 0));
        while (records as usize) < self.shape.batch_records && body.len() < BATCH_BYTES {
            let Some(found) = self.source.next_record()? else { break };
            if records > 0 {
                body.push(b',');
            } else {
                lines.0 = found.line;
            }
            lines.1 = found.line;
            self.push(&mut body, &found)?;
            records += 1;
            self.records_done += 1;
        }
        if records == 0 {
            return Ok(None);
        }
        body.extend_from_slice(b"]}");
        let body = match self.shape.encoding {
            Encoding::Plain => body,
            Encoding::Gzip => {
                let mut out = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
                out.write_all(&body).context("cannot compress a batch")?;
                out.finish().context("cannot compress a batch")?
            }
        };
        let file_bytes_done = self.source.read_bytes.load(Ordering::Relaxed);
        Ok(Some(Batch { body, records_done: self.records_done, file_bytes_done, lines }))
    }

    fn push(&self, body: &mut Vec<u8>, found: &Found) -> Result<()> {
        body.extend_from_slice(b"{\"action\":\"updateObject\",\"body\":");
        match self.id_to_add(found)? {
            None => body.extend_from_slice(found.json.as_bytes()),
            Some(id) => {
                let rest = found.json[1..].trim_start();
                body.extend_from_slice(b"{\"objectID\":");
                body.extend_from_slice(Value::String(id).to_string().as_bytes());
                if !rest.starts_with('}') {
                    body.push(b',');
                }
                body.extend_from_slice(rest.as_bytes());
            }
        }
        body.push(b'}');
        Ok(())
    }

    /// The id a record lacks; `None` when it has one.
    fn id_to_add(&self, found: &Found) -> Result<Option<String>> {
        let line = found.line;
        let own: Named<'_> = serde_json::from_str(&found.json)
            .map_err(|error| anyhow::anyhow!("line {line}: {}", reason(&error)))?;
        let Some(field) = &self.shape.id_field else {
            return match own.object_id {
                None => Ok(Some(format!("{}{:010}", self.shape.id_prefix, self.records_done))),
                Some(id) => id_text(id, "objectID", line).map(|_| None),
            };
        };
        if own.object_id.is_some() && field != "objectID" {
            bail!("line {line}: the record has an objectID, --id-field would give it another one");
        }
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(&found.json)
            .map_err(|error| anyhow::anyhow!("line {line}: {}", reason(&error)))?;
        match members.get(field) {
            Some(id) if field == "objectID" => id_text(id, field, line).map(|_| None),
            Some(id) => id_text(id, field, line).map(Some),
            None => bail!("line {line}: the record has no member `{field}` for its id"),
        }
    }
}

#[derive(Deserialize)]
struct Named<'a> {
    /// `null`, too, which is no id.
    #[serde(rename = "objectID", borrow, default, deserialize_with = "given")]
    object_id: Option<&'a RawValue>,
}

fn given<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn reason(error: &serde_json::Error) -> String {
    error.to_string().split(" at line ").next().unwrap_or("not JSON").to_owned()
}

/// A text or number as an id.
fn id_text(raw: &RawValue, field: &str, line: u64) -> Result<String> {
    match serde_json::from_str(raw.get()) {
        Ok(Value::String(id)) if !id.is_empty() => Ok(id),
        // as it is written: ids that differ by digits a number cannot hold are two
        Ok(Value::Number(_)) => Ok(raw.get().to_owned()),
        _ => bail!("line {line}: `{field}` is no id: expected a text that is not empty, or a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(content: &str, id_field: Option<&str>, skip: u64) -> Result<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, content).unwrap();
        let shape = Shape {
            batch_records: 2,
            id_field: id_field.map(str::to_owned),
            id_prefix: "x-".to_owned(),
            encoding: Encoding::Plain,
        };
        let mut batches = Batches::new(Source::open(&path, None)?, shape, skip)?;
        let (mut bodies, mut sent) = (Vec::new(), skip);
        while let Some(batch) = batches.next_batch()? {
            let body: Value = serde_json::from_slice(&batch.body).unwrap();
            let records = body["requests"].as_array().unwrap();
            sent += records.len() as u64;
            assert_eq!(batch.records_done, sent);
            bodies.push(records.iter().map(|r| r["body"].to_string()).collect::<Vec<_>>().join(" "));
        }
        Ok(bodies)
    }

    #[test]
    fn batches_are_cut_and_ids_given() {
        let check = |content: &str, id_field: Option<&str>, skip: u64, expected: &[&str]| {
            assert_eq!(batches(content, id_field, skip).unwrap(), expected, "{content}");
        };
        let three = "{\"objectID\":\"a\"}\n{\"objectID\":2}\n{\"n\":1}";
        check(
            three,
            None,
            0,
            &[r#"{"objectID":"a"} {"objectID":2}"#, r#"{"n":1,"objectID":"x-0000000002"}"#],
        );
        check(three, None, 2, &[r#"{"n":1,"objectID":"x-0000000002"}"#]);
        check("{}", None, 0, &[r#"{"objectID":"x-0000000000"}"#]);
        check("{\"sku\":7}", Some("sku"), 0, &[r#"{"objectID":"7","sku":7}"#]);
        let long = "{\"sku\":123456789012345678901}";
        check(
            long,
            Some("sku"),
            0,
            &[r#"{"objectID":"123456789012345678901","sku":1.2345678901234568e+20}"#],
        );
        check("", None, 0, &[]);
    }

    #[test]
    fn wrong_ids_name_the_line() {
        let check = |content: &str, id_field: Option<&str>, skip: u64, expected: &str| {
            let error = batches(content, id_field, skip).unwrap_err().to_string();
            assert!(error.contains(expected), "{error:?} lacks {expected:?}");
        };
        check("{}\n{\"objectID\":[]}", None, 0, "line 2: `objectID` is no id");
        check("{\"objectID\":\"\"}", None, 0, "line 1: `objectID` is no id");
        check("{\"objectID\":null}", None, 0, "line 1: `objectID` is no id");
        check("{\"a\":1}", Some("sku"), 0, "line 1: the record has no member `sku`");
        check("{}", None, 3, "fewer records");
    }
}
