//! What may happen to an index while it is rebuilt for other settings: each ends as if it had come later.

use crate::harness::{Node, name, put};
use quorate_cluster::{CallerOp, IndexOperation, ReadRights, Receipt};
use quorate_model::{RecordOp, SearchParams};
use serde_json::{Value, json};

/// More records than are rebuilt while writes wait.
const MANY: i64 = 1_500;

/// What happens meanwhile.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Nothing,
    SettingsOfBefore,
    OtherSettings,
    Write,
    Clear,
    DeleteByQuery,
    Delete,
    MoveAway,
    MoveOnto,
    Copy,
    CopyOnto,
    Link,
    LinkAndUnlink,
}

impl Node {
    /// `index:first/count` of each index that is there.
    async fn firsts(&self, indices: &[&str]) -> String {
        let mut shown = vec![];
        for index in indices {
            let (params, rights) = (SearchParams::default(), ReadRights::default());
            let Ok(results) = self.service.search(&name(index), params, rights).await else { continue };
            let first =
                results.hits.iter().next().map(|hit| serde_json::from_slice::<Value>(hit).expect("JSON"));
            let id = first.map_or("-".into(), |hit| hit["objectID"].as_str().expect("an id").to_owned());
            shown.push(format!("{index}:{id}/{}", results.nb_hits));
        }
        shown.join(" ")
    }
    /// Changes settings without waiting for them.
    async fn change(&self, index: &str, settings: Value) -> Receipt {
        let Value::Object(changes) = settings else { panic!("{settings} is no object") };
        self.service.set_settings(&name(index), changes, false).await.expect("accepted settings")
    }
    async fn operated(&self, source: &str, destination: &str, operation: IndexOperation) {
        let done = self.service.operate(&name(source), &name(destination), operation).await;
        self.published(done.unwrap_or_else(|e| panic!("{source} to {destination}: {e}")).task_id).await;
    }
    /// Does to `i` what happens meanwhile, and waits until that is published.
    async fn meanwhile(&self, what: Meanwhile) {
        let copy = || IndexOperation::Copy { scope: None, keys: false };
        let write = async |op: RecordOp| drop(self.write_through("i", vec![CallerOp::Ready(op)]).await);
        match what {
            Meanwhile::Nothing => {}
            Meanwhile::SettingsOfBefore => drop(self.set("i", json!({"customRanking": ["asc(n)"]})).await),
            Meanwhile::OtherSettings => drop(self.set("i", json!({"customRanking": ["desc(mixed)"]})).await),
            Meanwhile::Write => {
                drop(self.write_through("i", vec![put("new", json!({"n": MANY, "mixed": 0}))]).await);
            }
            Meanwhile::Clear => write(RecordOp::Clear).await,
            Meanwhile::DeleteByQuery => {
                write(RecordOp::DeleteBy { params: br#"{"filters":"n >= 1000"}"#.to_vec() }).await;
            }
            Meanwhile::Delete => {
                let deleted = self.service.delete_index(&name("i")).await.expect("accepted");
                self.published(deleted.task_id).await;
            }
            Meanwhile::MoveAway => self.operated("i", "j", IndexOperation::Move).await,
            Meanwhile::MoveOnto => self.operated("single", "i", IndexOperation::Move).await,
            Meanwhile::Copy => self.operated("i", "j", copy()).await,
            Meanwhile::CopyOnto => self.operated("single", "i", copy()).await,
            Meanwhile::Link => drop(self.set("i", json!({"replicas": ["j"]})).await),
            Meanwhile::LinkAndUnlink => {
                let linked = self.change("i", json!({"replicas": ["j"]})).await;
                self.set("i", json!({"replicas": []})).await;
                self.published(linked.task_id).await;
            }
        }
    }
}

#[actix_rt::test]
async fn whatever_happens_during_a_rebuild_ends_as_if_it_had_come_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    let records = (0..MANY).map(|n| put(&n.to_string(), json!({"n": n, "mixed": n * 7 % MANY})));
    node.set("base", json!({"customRanking": ["asc(n)"]})).await;
    node.write_through("base", records.collect()).await;
    for (what, expected) in [
        (Meanwhile::Nothing, "i:1499/1500"),
        (Meanwhile::SettingsOfBefore, "i:0/1500"),
        (Meanwhile::OtherSettings, "i:857/1500"),
        (Meanwhile::Write, "i:new/1501"),
        (Meanwhile::Clear, "i:-/0"),
        (Meanwhile::DeleteByQuery, "i:999/1000"),
        (Meanwhile::Delete, ""),
        (Meanwhile::MoveAway, "j:1499/1500"),
        (Meanwhile::MoveOnto, "i:single/1"),
        (Meanwhile::Copy, "i:1499/1500 j:1499/1500"),
        (Meanwhile::CopyOnto, "i:single/1"),
        // the order of its primary is not a replica's
        (Meanwhile::Link, "i:1499/1500 j:999/1500"),
        (Meanwhile::LinkAndUnlink, "i:1499/1500 j:999/1500"),
    ] {
        node.operated("base", "i", IndexOperation::Copy { scope: None, keys: false }).await;
        node.write_through("single", vec![put("single", json!({"n": 1}))]).await;
        let changed = node.change("i", json!({"customRanking": ["desc(n)"]})).await;
        node.meanwhile(what).await;
        node.published(changed.task_id).await;
        assert_eq!(node.firsts(&["i", "j"]).await, expected, "{what:?}");
        // the next case begins without them
        if node.count("i").await.is_some() {
            node.set("i", json!({"replicas": []})).await;
        }
        for index in ["i", "j"] {
            let deleted = node.service.delete_index(&name(index)).await.expect("accepted");
            node.published(deleted.task_id).await;
        }
    }
    node.close().await;
}
