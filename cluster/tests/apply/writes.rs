//! Batches, generated ids, indices that come into being by a write.

use crate::harness::{Node, delete, name, put, put_unnamed};
use quorate_cluster::{CallerOp, ServiceOptions};
use quorate_model::{ErrorKind, RecordOp};
use serde_json::json;
use std::collections::BTreeSet;

#[actix_rt::test]
async fn a_batch_is_one_task_in_order_and_names_its_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    let ops = vec![
        put("a", json!({"n": 1})),
        put("b", json!({"n": 2})),
        put("a", json!({"n": 3})),
        delete("b"),
        put_unnamed(json!({"n": 4})),
        CallerOp::Ready(RecordOp::Delete { object_id: "never".into() }),
    ];
    let receipt = node.write_through("books", ops).await;
    assert_eq!(receipt.object_ids.len(), 6);
    assert_eq!(receipt.object_ids[..4], ["a", "b", "a", "b"]);
    assert!(receipt.updated_at.ends_with('Z') && receipt.updated_at.len() == 24, "{}", receipt.updated_at);
    assert_eq!(node.count("books").await, Some(2));
    assert_eq!(node.get("books", "a").await, Some(json!({"objectID": "a", "n": 3})));
    let made = &receipt.object_ids[4];
    assert_eq!(node.get("books", made).await, Some(json!({"objectID": made, "n": 4})));

    let nothing = node.write_through("empty", vec![]).await;
    assert!(nothing.object_ids.is_empty());
    assert_eq!(node.count("empty").await, Some(0));
    assert_eq!(node.list().await, "books:2 empty:0");
    node.close().await;
}

#[actix_rt::test]
async fn generated_ids_grow_and_differ_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut ids = vec![];
    for _ in 0..3 {
        let node = Node::open(folder.path()).await;
        let ops = (0..20).map(|n| put_unnamed(json!({"n": n}))).collect();
        ids.extend(node.write_through("books", ops).await.object_ids);
        assert_eq!(node.count("books").await, Some(ids.len() as u64));
        node.close().await;
    }
    assert!(ids.is_sorted() && ids.iter().collect::<BTreeSet<_>>().len() == 60, "{ids:?}");
}

#[actix_rt::test]
async fn concurrent_first_writes_make_one_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    let writes: Vec<_> = (0..24)
        .map(|n| {
            let service = node.service.clone();
            actix_rt::spawn(async move {
                service.write_records(&name("books"), vec![put(&n.to_string(), json!({"n": n}))]).await
            })
        })
        .collect();
    let mut tasks = BTreeSet::new();
    for write in writes {
        let receipt = write.await.expect("no panic").expect("an accepted write");
        node.published(receipt.task_id).await;
        assert!(tasks.insert(receipt.task_id));
    }
    assert_eq!(node.list().await, "books:24");
    assert_eq!(tasks.iter().map(|task| task.group()).collect::<BTreeSet<_>>().len(), 1);
    node.close().await;
}

#[actix_rt::test]
async fn several_indices_get_a_task_each_and_ids_in_the_order_of_the_operations() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    let ops = [("x", "1"), ("y", "2"), ("x", "3"), ("z", "4")];
    let ops = ops.iter().map(|(index, id)| (name(index), put(id, json!({})))).collect();
    let (tasks, object_ids, updated_at) = node.service.write_many(ops).await.expect("accepted writes");
    assert_eq!(object_ids, ["1", "2", "3", "4"]);
    assert_eq!(tasks.keys().map(|index| index.as_str()).collect::<Vec<_>>(), ["x", "y", "z"]);
    assert_eq!(updated_at.len(), 24);
    for task in tasks.values() {
        node.published(*task).await;
    }
    assert_eq!(node.list().await, "x:2 y:1 z:1");
    node.close().await;
}

#[actix_rt::test]
async fn a_batch_of_many_entries_is_applied_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    let text = "x".repeat(60_000);
    let ops = (0..60).map(|n| put(&n.to_string(), json!({"text": text}))).collect();
    let receipt = node.write_through("large", ops).await;
    assert_eq!(node.count("large").await, Some(60));
    assert!(receipt.task_id.log_index() >= 4, "cut into parts: {:?}", receipt.task_id);
    node.close().await;
    let node = Node::open(folder.path()).await;
    assert_eq!(node.count("large").await, Some(60));
    assert!(node.service.is_published(receipt.task_id).await.expect("an answer"));
    node.close().await;
}

#[actix_rt::test]
async fn the_batch_action_delete_starts_anew_or_ends_the_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    node.write_through("a", vec![put("old", json!({}))]).await;
    node.set("a", json!({"searchableAttributes": ["title"]})).await;

    let receipt =
        node.write_through("a", vec![put("x", json!({})), CallerOp::DeleteIndex, put("y", json!({}))]).await;
    assert_eq!(receipt.object_ids, ["x", "y"]);
    assert_eq!(node.list().await, "a:1");
    assert!(node.get("a", "y").await.is_some());
    assert_eq!(node.setting("a", "searchableAttributes").await, None);

    let receipt = node.write_through("a", vec![put("z", json!({})), CallerOp::DeleteIndex]).await;
    assert_eq!(receipt.object_ids, ["z"]);
    assert_eq!((node.list().await.as_str(), node.count("a").await), ("", None));
    node.close().await;
}

#[actix_rt::test]
async fn a_low_disk_refuses_writes_with_the_reason_and_serves_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    node.write_through("a", vec![put("x", json!({}))]).await;
    node.close().await;

    let options = ServiceOptions { disk_reserve_bytes: u64::MAX, ..crate::harness::options(folder.path()) };
    let node = Node::open_with(options).await;
    for ops in [vec![put("y", json!({}))], vec![delete("x")]] {
        let refused = node.service.write_records(&name("a"), ops).await.expect_err("a refusal");
        assert_eq!(refused.kind, ErrorKind::Unavailable);
        assert!(refused.message.starts_with("disk is almost full: "), "{refused}");
    }
    assert_eq!(node.count("a").await, Some(1));
    let health = node.service.health();
    assert!(health.reads.is_empty() && health.writes[0].starts_with("disk is almost full"), "{health:?}");
    node.close().await;
}
