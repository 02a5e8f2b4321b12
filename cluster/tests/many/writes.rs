//! Writes that look at what is there are taken by every node, whether it has a replica or not.

use crate::harness::*;
use quorate_cluster::{CallerOp, IndexOperation};
use quorate_model::{ErrorKind, RecordOp, ResourceKind};
use serde_json::json;

const NODES: usize = 4;
const SOURCES: usize = 2;

/// Counts from `from` on, once, however often it is repeated.
fn count_from(id: &str, from: usize) -> CallerOp {
    let changes = json!({"n": {"_operation": "IncrementFrom", "value": from}}).to_string().into_bytes();
    CallerOp::Ready(RecordOp::Partial { object_id: id.into(), changes, create: true })
}

#[actix_rt::test]
async fn every_node_takes_every_write() {
    in_time(async {
        let installation = Installation::start(NODES).await;
        for number in 0..SOURCES {
            let (source, copy, moved) = (format!("s{number}"), format!("c{number}"), format!("m{number}"));
            known_at_once(&installation, number).await;
            source_with_partitions(&installation, number, &source).await;
            for at in 0..NODES {
                counted(&installation, at, &source, at + 1).await;
                operate(&installation, at, &source, &copy, IndexOperation::Copy { scope: None, keys: false })
                    .await;
                assert_copy(&installation, &copy, at + 1).await;
                let scope = ["settings", "synonyms", "rules"].map(str::to_owned).to_vec();
                let parts = format!("p{number}{at}");
                operate(
                    &installation,
                    at,
                    &source,
                    &parts,
                    IndexOperation::Copy { scope: Some(scope), keys: false },
                )
                .await;
                for reader in 0..NODES {
                    let settings = installation.settings(reader, &parts);
                    assert_eq!(settings.await.expect("an index").document["hitsPerPage"], json!(3));
                    assert!(installation.found(reader, &parts, "").await.is_empty());
                }
                operate(&installation, at, &copy, &moved, IndexOperation::Move).await;
                assert_copy(&installation, &moved, at + 1).await;
            }
            replicas(&installation, number, &source).await;
        }
        installation.stop().await;
    })
    .await;
}

/// Who is answered about a name and goes on through another node writes to what the name stands for now: nothing of it ends up in
/// what the name stood for before.
#[actix_rt::test]
async fn a_write_through_another_node_follows_the_operation_that_was_answered() {
    in_times(2, async {
        let installation = Installation::start(3).await;
        let records =
            |range: std::ops::Range<usize>| range.map(|n| put(&n.to_string(), json!({"n": n}))).collect();
        for round in 0..12 {
            let (tmp, index) = (format!("tmp{round}"), format!("p{}", round % 4));
            let (first, second) = (round, round + 1 + round % 2);
            installation.write(first, &index, records(0..5)).await;
            installation.write(first, &tmp, records(0..3)).await;
            let (from, to) = (name(&tmp), name(&index));
            let expected = match round % 3 {
                0 => {
                    let operation = IndexOperation::Move;
                    installation.node(first).operate(&from, &to, operation).await.expect("moved");
                    3
                }
                1 => {
                    let operation = IndexOperation::Copy { scope: None, keys: false };
                    installation.node(first).operate(&from, &to, operation).await.expect("copied");
                    3
                }
                _ => {
                    installation.node(first).delete_index(&to).await.expect("deleted");
                    0
                }
            };
            // nobody waits for the task
            let node = installation.node(second);
            node.keep_abreast().await.expect("it can follow");
            let written = node.write_records(&to, records(10..14)).await;
            installation.through(second, written).await;
            for reader in 0..3 {
                let found = installation.search(reader, &index, json!({})).await.expect("an index").nb_hits;
                assert_eq!(found, expected + 4, "round {round} through node {reader}");
            }
        }
        installation.stop().await;
    })
    .await;
}

/// Every node knows what is a replica as soon as the settings that say so are answered.
#[actix_rt::test]
async fn a_replica_is_one_for_every_node_once_that_is_answered() {
    in_times(2, async {
        let installation = Installation::start(3).await;
        for round in 0..6 {
            let (primary, replica) = (format!("p{round}"), format!("r{round}"));
            let (first, second) = (round, round + 1 + round % 2);
            installation.write(first, &replica, vec![put("own", json!({}))]).await;
            let node = installation.node(second);
            let write = async || {
                node.keep_abreast().await.expect("it can follow");
                node.write_records(&name(&replica), vec![put("late", json!({}))]).await
            };
            for (replicas, is_replica) in [(vec![replica.clone()], true), (vec![], false)] {
                let changes = object(json!({"replicas": replicas}));
                let set = installation.node(first).set_settings(&name(&primary), changes, false).await;
                let written = write().await;
                assert_eq!(
                    written.as_ref().err().map(|it| it.kind),
                    is_replica.then_some(ErrorKind::Forbidden)
                );
                installation.through(first, set).await;
                if !is_replica {
                    installation.through(second, written).await;
                    assert_eq!(installation.found(first, &replica, "").await, ["late"]);
                }
            }
        }
        installation.stop().await;
    })
    .await;
}

/// An index exists for every node as soon as the write that made it is answered, and can be deleted anywhere.
async fn known_at_once(installation: &Installation, number: usize) {
    for reader in 0..NODES {
        let index = format!("n{number}{reader}");
        let (made, ops) = (name(&index), vec![put("1", json!({}))]);
        let node = installation.node(number);
        let written = patiently("a write", || node.write_records(&made, ops.clone())).await;
        assert!(installation.settings(reader, &index).await.is_ok(), "{index} through node {reader}");
        let node = installation.node(reader);
        let deleted = patiently("a deletion", || node.delete_index(&made)).await;
        installation.through(number, written).await;
        installation.through(number, deleted).await;
        let gone = installation.settings(reader, &index).await;
        assert_eq!(gone.expect_err("no index").kind, ErrorKind::NotFound, "{index} through node {reader}");
    }
}

async fn source_with_partitions(installation: &Installation, number: usize, index: &str) {
    installation.set(number, index, json!({"hitsPerPage": 3, "searchableAttributes": ["t"]})).await;
    installation.write(number + 1, index, vec![put("1", json!({"t": "one", "n": 0}))]).await;
    let synonym = json!({"objectID": "s", "type": "synonym", "synonyms": ["one", "uno"]});
    installation.save(number + 2, index, ResourceKind::Synonyms, &[synonym]).await;
}

async fn counted(installation: &Installation, at: usize, index: &str, expected: usize) {
    installation.write(at, index, vec![count_from("1", expected - 1)]).await;
    for reader in 0..NODES {
        let found = installation.objects(reader, &[(index, "1")]).await.expect("an index");
        let n = found[0].as_ref().map(|record| record["n"].clone());
        assert_eq!(n, Some(json!(expected)), "through node {reader}");
    }
}

async fn operate(installation: &Installation, at: usize, from: &str, to: &str, operation: IndexOperation) {
    let (node, from, to) = (installation.node(at), name(from), name(to));
    let receipt = patiently("an operation", || node.operate(&from, &to, operation.clone())).await;
    installation.through(at, receipt).await;
}

/// Records, synonyms and settings are there, through every node.
async fn assert_copy(installation: &Installation, index: &str, n: usize) {
    for reader in 0..NODES {
        assert_eq!(installation.found(reader, index, "uno").await, ["1"], "{index} through node {reader}");
        let found = installation.objects(reader, &[(index, "1")]).await.expect("an index");
        assert_eq!(found[0].as_ref().map(|record| record["n"].clone()), Some(json!(n)));
        let settings = installation.settings(reader, index).await;
        assert_eq!(settings.expect("an index").document["hitsPerPage"], json!(3));
    }
}

/// An index that has settings of its own, in another group, becomes a replica and keeps them.
async fn replicas(installation: &Installation, number: usize, primary: &str) {
    let replica = format!("r{number}");
    installation.set(number, &replica, json!({"hitsPerPage": 7})).await;
    installation.set(number + 1, primary, json!({"replicas": [replica]})).await;
    installation.write(number + 2, primary, vec![put("2", json!({"t": "two"}))]).await;
    for reader in 0..NODES {
        assert_eq!(installation.found(reader, &replica, "two").await, ["2"], "through node {reader}");
        let settings = installation.settings(reader, &replica).await;
        let settings = settings.expect("an index");
        assert_eq!(settings.document["hitsPerPage"], json!(7));
        assert_eq!(settings.index.primary.as_deref(), Some(primary), "through node {reader}");
        let refused =
            installation.node(reader).write_records(&name(&replica), vec![count_from("1", 0)]).await;
        assert_eq!(refused.expect_err("a replica").kind, ErrorKind::Forbidden);
    }
}
