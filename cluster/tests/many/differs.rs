//! A replica that holds something else than the others, although every checksum is right, is named and taken anew from those
//! that are in the majority; where nobody is, nothing is overwritten.

use crate::harness::*;
use quorate_cluster::{GroupDigest, Service};
use quorate_model::{ApiKey, GroupId, RecordOp};
use quorate_store::files::RealFiles;
use quorate_store::kv::{Batch, Kv, Start};
use quorate_store::layout::{self, Layout};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(20);
/// How a difference is told.
const DIFFERS: &str = "holds something else";

fn extra() -> Vec<RecordOp> {
    let record = json!({"objectID": "planted", "text": "nobody wrote this"}).to_string().into_bytes();
    vec![RecordOp::Put { object_id: "planted".into(), record }]
}

/// Which node leads the group of an index.
pub async fn leader_of(installation: &Installation, index: &str) -> (GroupId, usize) {
    let end = Instant::now() + PATIENCE;
    loop {
        let digest = installation.node(0).digest().await;
        let holds = |group: &GroupDigest| group.indices.iter().any(|it| it.index.as_deref() == Some(index));
        let group = digest.ok().and_then(|digest| digest.groups.into_iter().find(holds)).map(|it| it.group);
        let overview = installation.node(0).overview().await.expect("an overview");
        let leader = overview
            .groups
            .iter()
            .find(|view| group.is_some_and(|group| view.id == group.0))
            .filter(|view| view.waits.is_none())
            .and_then(|view| view.leader.clone());
        if let (Some(group), Some(leader)) = (group, leader) {
            return (group, leader[1..].parse().expect("names of nodes are n and a number"));
        }
        assert!(Instant::now() < end, "nobody leads {index} for good: {:?}", overview.waits);
        tokio::time::sleep(LOOK).await;
    }
}

/// What is told of a node.
async fn told(installation: &Installation, number: usize) -> Vec<String> {
    let overview = patiently("an overview", || installation.node(0).overview()).await.expect("an overview");
    let of_node = format!("n{number}, group");
    let waits: Vec<String> = overview.waits.into_iter().filter(|it| it.starts_with(&of_node)).collect();
    waits.into_iter().filter(|it| it.contains(DIFFERS)).collect()
}

async fn has_planted(node: &Service) -> bool {
    let found = node.search(&name("things"), params(json!({"query": "nobody"})), Default::default()).await;
    found.is_ok_and(|found| found.hits.len() == 1)
}

/// Plants a record at the leader of an index or at another node, while somebody writes without a pause.
async fn a_planted_record_goes(at_leader: bool) {
    let installation = Installation::start(3).await;
    let record = |id: u64| put(&id.to_string(), json!({"n": id, "text": "a thing"}));
    installation.write(0, "things", (0..40).map(record).collect()).await;
    let (group, leader) = leader_of(&installation, "things").await;
    let odd = if at_leader { leader } else { (leader + 1) % 3 };
    let noted = Mutex::new(BTreeSet::new());
    let (is_over, written) = (AtomicBool::new(false), AtomicU64::new(40));
    let writes = async {
        while !is_over.load(Ordering::Relaxed) {
            let id = written.load(Ordering::Relaxed);
            let (node, things) = (installation.node(id as usize), name("things"));
            if node.write_records(&things, vec![record(id)]).await.is_ok() {
                written.store(id + 1, Ordering::Relaxed);
            }
        }
    };
    let looks = async {
        installation.node(odd).plant(&name("things"), extra()).expect("a replica that is written to");
        let planted = Instant::now();
        loop {
            let told = told(&installation, odd).await;
            let was_told = noted.lock().expect("no panic").clone();
            let mut have = vec![];
            for node in installation.nodes() {
                have.push(has_planted(node).await);
            }
            // what others show may come from the odd one, while they have no lease; what they hold is compared in the end
            let mut others = vec![];
            for other in (0..3).filter(|other| *other != odd) {
                others.extend(self::told(&installation, other).await);
            }
            // where the third was too slow to be asked, two know no better than that they differ
            let undecided = format!("compared with n{odd}, and no majority says who is right");
            assert!(others.iter().all(|it| it.contains(&undecided)), "n{odd} is the odd one: {others:?}");
            if !was_told.is_empty() && told.is_empty() && others.is_empty() && have == [false; 3] {
                break;
            }
            assert!(planted.elapsed() < PATIENCE, "{was_told:?}, {told:?}, {have:?}");
            tokio::time::sleep(LOOK).await;
        }
        let noted = noted.lock().expect("no panic").clone();
        let is_clear = |it: &String| it.contains("things (records") && it.contains(&format!("group {group}"));
        assert!(noted.iter().all(is_clear), "{noted:?}");
        is_over.store(true, Ordering::Relaxed);
    };
    tokio::select! {
        _ = async { tokio::join!(writes, looks) } => {}
        () = installation.warnings(odd, DIFFERS, &noted) => {}
    }
    // every record that was answered is there, on every node
    let count = written.load(Ordering::Relaxed);
    let receipt = installation.write(0, "things", vec![record(count)]).await;
    installation.published(1, receipt.task_id).await;
    let end = Instant::now() + PATIENCE;
    loop {
        let mut contents = vec![];
        for node in installation.nodes() {
            let digest = patiently("a digest", || node.digest()).await.expect("a digest");
            let indices = digest.groups.into_iter().flat_map(|group| group.indices);
            contents.extend(indices.filter(|it| it.index.as_deref() == Some("things")).map(|it| it.digest));
        }
        if contents.len() == 3 && contents.iter().all(|it| *it == contents[0] && it.records == count + 1) {
            break;
        }
        assert!(Instant::now() < end, "{} records: {contents:?}", count + 1);
        tokio::time::sleep(LOOK).await;
    }
    installation.stop().await;
}

#[actix_rt::test]
async fn a_follower_that_differs_is_named_and_mended_although_writes_never_pause() {
    in_time(a_planted_record_goes(false)).await;
}

#[actix_rt::test]
async fn a_leader_that_differs_is_the_one_that_is_mended() {
    in_time(a_planted_record_goes(true)).await;
}

#[actix_rt::test]
async fn two_replicas_that_differ_are_told_and_left_alone() {
    in_time(async {
        let installation = Installation::start(2).await;
        let record = put("a", json!({"text": "a thing"}));
        installation.write(0, "things", vec![record]).await;
        let (_, leader) = leader_of(&installation, "things").await;
        // the replica may have come as files: one that is written to has a shard
        while installation.node(leader + 1).plant(&name("things"), extra()).is_err() {
            installation.write(0, "things", vec![put("a", json!({"text": "a thing"}))]).await;
        }
        let (end, mut before) = (Instant::now() + PATIENCE, vec![]);
        // three comparisons, each of which says its log index
        while before.len() < 3 {
            let told = [told(&installation, 0).await, told(&installation, 1).await].concat();
            let is_clear = |it: &String| it.contains("things (records") && it.contains("no majority");
            assert!(told.iter().all(is_clear), "{told:?}");
            if told.len() == 2 && before.last() != Some(&told) {
                before.push(told.clone());
            }
            assert!(Instant::now() < end, "{before:?}, {told:?}");
            tokio::time::sleep(LOOK).await;
        }
        assert!(!has_planted(installation.node(leader)).await);
        let digest = |number: usize| installation.node(number).digest();
        let of_things = |it: quorate_cluster::NodeDigest| -> u64 {
            let mut indices = it.groups.into_iter().flat_map(|group| group.indices);
            indices.find(|it| it.index.as_deref() == Some("things")).expect("the index").digest.records
        };
        assert_eq!(of_things(digest(leader).await.unwrap()), 1);
        assert_eq!(of_things(digest(leader + 1).await.unwrap()), 2, "nobody knows that this one is wrong");
        installation.stop().await;
    })
    .await;
}

/// The first byte of the keys of rows of API keys.
const KEY_ROW: u8 = b'k';

/// Adds a key to the meta state of a stopped node, with the node's own store: every digest of it is right.
fn add_key(folder: &Path) {
    let (kv, found) = Kv::open(&Layout::new(folder).state(), Arc::new(RealFiles), 1 << 20).expect("a store");
    assert_eq!(found, Start::Verified, "after a clean stop");
    let tree = kv.tree(&layout::tree(GroupId::META)).expect("the tree of the meta group");
    let (_, document) = tree.scan(&[KEY_ROW]).expect("rows").into_iter().next().expect("a key");
    let mut key: ApiKey = serde_json::from_slice(&document).expect("a key");
    key.value = "planted".into();
    let mut batch = Batch::new(tree.applied());
    batch.put([&[KEY_ROW], key.value.as_bytes()].concat(), serde_json::to_vec(&key).expect("JSON"));
    tree.apply(&batch).expect("a store that takes it");
    drop(tree);
    kv.close().expect("a store that closes");
}

#[actix_rt::test]
async fn a_node_whose_catalogue_and_keys_differ_takes_them_anew() {
    in_time(async {
        let mut installation = Installation::start(3).await;
        installation.write(0, "things", vec![put("a", json!({}))]).await;
        installation.restart(1, add_key).await;
        let has_key = || installation.node(1).keys().contains_key("planted");
        let (planted, noted) = (Instant::now(), Mutex::new(BTreeSet::new()));
        let looks = async {
            loop {
                let now = told(&installation, 1).await;
                let was_told = noted.lock().expect("no panic").clone();
                if !was_told.is_empty() && now.is_empty() && !has_key() {
                    break;
                }
                assert!(planted.elapsed() < PATIENCE, "{was_told:?}, {now:?}");
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            () = looks => {}
            () = installation.warnings(1, DIFFERS, &noted) => {}
        }
        let noted = noted.lock().expect("no panic").clone();
        let is_clear = |it: &String| it.contains("group 0") && it.contains(": keys;");
        assert!(noted.iter().all(is_clear), "{noted:?}");
        installation.write(1, "more", vec![put("b", json!({}))]).await;
        installation.stop().await;
    })
    .await;
}
