//! What does `--demo` load? A small catalogue of an invented shop, through the same writes as everyone's.

use anyhow::{Context, Result};
use quorate_cluster::{CallerOp, Service};
use quorate_model::IndexName;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// Name of the index.
pub const INDEX: &str = "catalogue";
/// A word that finds several records.
pub const QUERY: &str = "lantern";

const RECORDS: &str = include_str!("../demo/catalogue.jsonl");
const SETTINGS: &str = include_str!("../demo/settings.json");
/// How long the load may take until it can be searched.
const PUBLISH: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "objectID")]
    object_id: String,
}

/// Loads the catalogue unless the index is there, and waits until it can be searched.
pub async fn load(service: &Service) -> Result<()> {
    let index = IndexName::new(INDEX).context("the name of the demo index")?;
    if service.index_names().context("cannot list the indices")?.contains(&index) {
        return Ok(());
    }
    let settings: Map<String, Value> = serde_json::from_str(SETTINGS).context("the demo settings")?;
    service.set_settings(&index, settings, false).await.context("cannot write the demo settings")?;
    let receipt =
        service.write_records(&index, operations()?).await.context("cannot write the demo records")?;
    let begun = Instant::now();
    while !service.is_published(receipt.task_id).await? {
        if begun.elapsed() > PUBLISH {
            anyhow::bail!("the demo records are stored but not searchable after {} s", PUBLISH.as_secs());
        }
        tokio::time::sleep(PAUSE).await;
    }
    tracing::info!(index = INDEX, records = receipt.object_ids.len(), "demo catalogue loaded");
    Ok(())
}

fn operations() -> Result<Vec<CallerOp>> {
    RECORDS
        .lines()
        .map(|line| {
            let named: Named = serde_json::from_str(line).context("a demo record")?;
            Ok(CallerOp::Put { object_id: Some(named.object_id), record: line.as_bytes().to_vec() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_worth_searching() {
        assert!(operations().unwrap().len() >= 500);
        let mut ids = std::collections::BTreeSet::new();
        for line in RECORDS.lines() {
            let record: Map<String, Value> = serde_json::from_str(line).unwrap();
            assert!(ids.insert(record["objectID"].to_string()), "{line}");
            assert!(record["price"].is_number() && record["_geoloc"]["lat"].is_number(), "{line}");
            assert!(record["name"].is_string() && record["color"].is_array(), "{line}");
        }
        assert!(RECORDS.lines().filter(|line| line.contains(QUERY)).count() >= 5);
        let settings: Map<String, Value> = serde_json::from_str(SETTINGS).unwrap();
        assert!(settings.contains_key("attributesForFaceting"));
    }
}
