//! Opens nodes in temporary folders and asks them short questions.

use quorate_cluster::{CallerOp, ObjectRequest, ReadRights, Receipt, Service, ServiceOptions, Started};
use quorate_model::{Filter, IndexName, RecordOp, SearchParams, TaskId};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long anything may take before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A node with short words for its calls.
pub struct Node {
    pub service: Service,
    pub started: Started,
}

pub fn name(text: &str) -> IndexName {
    IndexName::new(text).expect("a valid name")
}
pub fn options(folder: &Path) -> ServiceOptions {
    ServiceOptions { disk_reserve_bytes: 0, search_threads: 1, ..ServiceOptions::new(folder) }
}
/// A record as the interface hands it over.
pub fn put(id: &str, attributes: Value) -> CallerOp {
    let mut record = attributes;
    record["objectID"] = json!(id);
    CallerOp::Put { object_id: Some(id.into()), record: record.to_string().into_bytes() }
}
pub fn put_unnamed(attributes: Value) -> CallerOp {
    CallerOp::Put { object_id: None, record: attributes.to_string().into_bytes() }
}
pub fn delete(id: &str) -> CallerOp {
    CallerOp::Ready(RecordOp::Delete { object_id: id.into() })
}

impl Node {
    pub async fn open(folder: &Path) -> Node {
        Node::open_with(options(folder)).await
    }
    pub async fn open_with(options: ServiceOptions) -> Node {
        let (service, started) = Service::open(options).await.expect("a node that starts");
        Node { service, started }
    }
    pub async fn close(self) {
        self.service.shutdown().await;
    }
    pub async fn write(&self, index: &str, ops: Vec<CallerOp>) -> Receipt {
        self.service.write_records(&name(index), ops).await.expect("an accepted write")
    }
    /// Writes and waits until reads see it.
    pub async fn write_through(&self, index: &str, ops: Vec<CallerOp>) -> Receipt {
        let receipt = self.write(index, ops).await;
        self.published(receipt.task_id).await;
        receipt
    }
    pub async fn set(&self, index: &str, settings: Value) -> Receipt {
        let Value::Object(changes) = settings else { panic!("{settings} is no object") };
        let receipt =
            self.service.set_settings(&name(index), changes, false).await.expect("accepted settings");
        self.published(receipt.task_id).await;
        receipt
    }
    pub async fn published(&self, task: TaskId) {
        let end = Instant::now() + PATIENCE;
        while !self.service.is_published(task).await.expect("an answer") {
            assert!(Instant::now() < end, "task {task:?} is not published in time");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    /// How many records a search without a query finds; `None` for a missing index.
    pub async fn count(&self, index: &str) -> Option<u64> {
        let rights = ReadRights::default();
        let found = self.service.search(&name(index), SearchParams::default(), rights).await;
        found.map(|results| results.nb_hits).ok()
    }
    pub async fn get(&self, index: &str, id: &str) -> Option<Value> {
        let request =
            ObjectRequest { index: name(index), object_id: id.into(), attributes_to_retrieve: None };
        let found = self
            .service
            .objects(vec![request], ReadRights::default(), Filter::default())
            .await
            .expect("an index");
        found[0].as_ref().map(|record| serde_json::from_slice(record).expect("JSON"))
    }
    /// A member of the settings document as it was set.
    pub async fn setting(&self, index: &str, member: &str) -> Option<Value> {
        let settings = self.service.settings(&name(index)).await.expect("an index");
        settings.document.get(member).cloned()
    }
    /// `name:records` of every index.
    pub async fn list(&self) -> String {
        let names = self.service.index_names().expect("a list");
        let rows = self.service.indices(&names).await.expect("their figures");
        let shown: Vec<String> = rows.iter().map(|row| format!("{}:{}", row.name, row.entries)).collect();
        shown.join(" ")
    }
}
