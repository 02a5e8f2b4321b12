//! A node that died, or whose metadata store is gone: the log and the dumps bring everything back.

use crate::crash_copy::copy_folder;
use crate::harness::{Node, PATIENCE, name, put};
use quorate_cluster::IndexOperation;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What every case starts from: records in several groups, settings, a copy, a move, a deleted index.
async fn build(node: &Node) {
    for index in ["a", "b", "c", "gone"] {
        let ops = (0..5).map(|n| put(&n.to_string(), json!({"n": n, "from": index}))).collect();
        node.write_through(index, ops).await;
    }
    node.set("a", json!({"searchableAttributes": ["from"]})).await;
    let copy = IndexOperation::Copy { scope: None, keys: false };
    node.service.operate(&name("a"), &name("copy"), copy).await.expect("a copy");
    node.service.operate(&name("b"), &name("moved"), IndexOperation::Move).await.expect("a move");
    node.service.delete_index(&name("gone")).await.expect("accepted");
    let text = "y".repeat(90_000);
    let ops = (0..30).map(|n| put(&format!("l{n}"), json!({"text": text}))).collect();
    node.write_through("c", ops).await;
    node.write_through("copy", vec![put("own", json!({}))]).await;
}

async fn check(node: &Node) {
    assert_eq!(node.list().await, "a:5 c:35 copy:6 moved:5");
    assert_eq!(node.get("moved", "3").await, Some(json!({"objectID": "3", "n": 3, "from": "b"})));
    assert_eq!(node.setting("copy", "searchableAttributes").await, Some(json!(["from"])));
    let large = node.get("c", "l29").await.expect("a record");
    assert_eq!(large["text"].as_str().map(str::len), Some(90_000));
    assert_eq!(node.count("copy").await, Some(6));
}

fn remove(path: &Path) {
    if path.exists() {
        std::fs::remove_dir_all(path).expect("removed");
    }
}

#[actix_rt::test]
async fn a_stopped_node_comes_back_without_its_metadata_store_or_its_dumps() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    build(&node).await;
    check(&node).await;
    let (app_id, search_key) = (node.started.app_id.clone(), node.started.search_key.clone());
    node.close().await;

    for lost in [&["state"][..], &[], &["state"]] {
        for part in lost {
            remove(&folder.path().join(part));
        }
        let node = Node::open(folder.path()).await;
        check(&node).await;
        assert_eq!((&node.started.app_id, &node.started.search_key), (&app_id, &search_key));
        assert_eq!(node.started.warnings.len(), lost.len(), "{:?}", node.started.warnings);
        node.close().await;
    }
}

#[actix_rt::test]
async fn a_killed_node_comes_back_with_every_answered_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let images = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    build(&node).await;
    let last = node.write("moved", vec![put("last", json!({}))]).await;
    // answered: on disk; perhaps not applied, certainly not flushed
    copy_folder(folder.path(), &images.path().join("whole"));
    copy_folder(folder.path(), &images.path().join("no-state"));
    remove(&images.path().join("no-state/state"));
    node.close().await;

    for image in ["whole", "no-state"] {
        let node = Node::open(&images.path().join(image)).await;
        assert!(node.service.is_published(last.task_id).await.expect("an answer"), "{image}");
        assert!(node.get("moved", "last").await.is_some(), "{image}");
        let deleted = node.write_through("moved", vec![crate::harness::delete("last")]).await;
        assert!(deleted.task_id > last.task_id);
        check(&node).await;
        node.close().await;
    }
}

#[actix_rt::test]
async fn increments_happen_once_however_often_a_node_dies() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut at = folder.path().join("0");
    let mut node = Node::open(&at).await;
    let increment = || {
        quorate_cluster::CallerOp::Ready(quorate_model::RecordOp::Partial {
            object_id: "x".into(),
            changes: br#"{"n":{"_operation":"Increment","value":1}}"#.to_vec(),
            create: true,
        })
    };
    let mut expected = 0;
    for round in 1..=3 {
        for _ in 0..7 {
            node.write("counters", vec![increment()]).await;
            expected += 1;
        }
        let next = folder.path().join(round.to_string());
        copy_folder(&at, &next);
        node.close().await;
        at = next;
        node = Node::open(&at).await;
        let receipt = node.write_through("counters", vec![increment()]).await;
        expected += 1;
        assert_eq!(receipt.object_ids, ["x"]);
        let record: Value = node.get("counters", "x").await.expect("a record");
        assert_eq!(record["n"], json!(expected), "round {round}");
    }
    node.close().await;
}

fn folders(folder: &Path) -> BTreeSet<PathBuf> {
    let items = std::fs::read_dir(folder.join("indices")).expect("the folder of all indices");
    items.map(|item| item.expect("a folder").path()).collect()
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[actix_rt::test]
async fn what_a_power_cut_brings_back_of_a_dropped_index_goes_and_nothing_else() {
    let (folder, aside) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let node = Node::open(folder.path()).await;
    node.write_through("kept", vec![put("a", json!({}))]).await;
    let kept = folders(folder.path());
    node.write_through("gone", vec![put("b", json!({}))]).await;
    let gone = folders(folder.path()).difference(&kept).next().expect("its folder").clone();
    let copy = aside.path().join("gone");
    copy_folder(&gone, &copy);
    node.service.delete_index(&name("gone")).await.expect("accepted");
    until("it is dropped", || !gone.exists()).await;
    node.close().await;

    copy_folder(&copy, &gone);
    // of a command that the log does not have: whoever comes to it may need what is there
    let later = folder.path().join("indices/00000fffff0000");
    copy_folder(&copy, &later);
    let node = Node::open(folder.path()).await;
    until("what came back is removed", || !gone.exists()).await;
    assert_eq!(node.list().await, "kept:1");
    assert!(later.exists() && kept.iter().all(|folder| folder.exists()), "{:?}", folders(folder.path()));
    node.close().await;
}
