//! One group panics, or waits for a disk: do the others go on, and is everything of it there once the reason is gone?

use crate::harness::{Node, PATIENCE, name, options, put};
use crate::logged;
use crate::planted::{Accident, Operation, Planted};
use quorate_cluster::{Health, IndexOperation, ReadRights, ServiceOptions, panics};
use quorate_model::{ErrorKind, GroupId, SearchParams, limits};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Enough for several in one of the sixteen groups.
const INDICES: usize = 30;

fn index(number: usize) -> String {
    format!("i{number}")
}

/// A node whose groups stand still for good when they fail.
async fn open(folder: &Path, files: &Planted) -> Node {
    open_again_after(Duration::from_secs(3_600), folder, files).await
}
async fn open_again_after(reopen_after: Duration, folder: &Path, files: &Planted) -> Node {
    let files = Arc::new(files.clone());
    Node::open_with(ServiceOptions { files, reopen_after, ..options(folder) }).await
}

/// A node with a record in each index, and the indices of its groups.
async fn filled(folder: &Path, files: &Planted) -> (Node, BTreeMap<GroupId, Vec<String>>) {
    let node = open(folder, files).await;
    let groups = fill(&node).await;
    (node, groups)
}
async fn fill(node: &Node) -> BTreeMap<GroupId, Vec<String>> {
    panics::watch();
    logged::watch();
    let mut groups = BTreeMap::<GroupId, Vec<String>>::new();
    for number in 0..INDICES {
        let receipt = node.write_through(&index(number), vec![put("one", json!({"n": number}))]).await;
        groups.entry(receipt.task_id.group()).or_default().push(index(number));
    }
    groups
}

/// A group with several indices, and the indices of all others.
fn chosen(groups: &BTreeMap<GroupId, Vec<String>>) -> (GroupId, String, String, Vec<String>) {
    let (&group, own) = groups.iter().max_by_key(|(_, indices)| indices.len()).expect("groups");
    let others = groups.iter().filter(|(it, _)| **it != group).flat_map(|(_, indices)| indices.clone());
    (group, own[0].clone(), own[1].clone(), others.collect())
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The group says why it stands still, serves and takes nothing; the others do both. Returns the log index of the entry that it
/// stands still at, which a line of the log names.
async fn check_halted(node: &Node, group: GroupId, sibling: &str, others: &[String]) -> u64 {
    let word = format!("group {group} stands still: ");
    until("the group stands still", async || {
        let health = node.service.health();
        health.reads.iter().any(|reason| reason.starts_with(&word))
            && health.writes.iter().any(|reason| reason.starts_with(&word))
    })
    .await;
    let found =
        node.service.search(&name(sibling), SearchParams::default(), ReadRights::default()).await.map(drop);
    assert_eq!(found.expect_err("no read of what may be half").kind, ErrorKind::Unavailable);
    let refused = node.service.write_records(&name(sibling), vec![put("late", json!({}))]).await;
    let refused = refused.expect_err("no write that is not applied");
    assert_eq!(refused.kind, ErrorKind::Unavailable);
    assert!(refused.message.contains("stands still"), "{refused:?}");
    let overview = node.service.overview().await.expect("an overview");
    let of_group = overview.groups.iter().find(|it| it.id == group.0).expect("the group");
    let halted = of_group.replicas[0].halted.as_deref().expect("a reason");
    assert!(halted.contains("planted"), "{halted}");
    let log_index = logged_at(group, halted).await;
    let (applied, last) = (of_group.replicas[0].applied, of_group.replicas[0].log_last);
    assert!(applied < log_index && log_index <= last, "{log_index} is not in {applied}..={last}");
    assert!(overview.waits.iter().any(|wait| wait.contains("stands still")), "{:?}", overview.waits);
    assert!(overview.nodes[0].panics > 0);
    for other in others.iter().take(5) {
        node.write_through(other, vec![put("meanwhile", json!({}))]).await;
        shows(node, other, 2).await;
    }
    log_index
}

/// The log index of the entry at which the log says that a group stands still for this reason, which names a folder of this test.
async fn logged_at(group: GroupId, reason: &str) -> u64 {
    let mut line = Value::Null;
    until("the reason is logged", async || {
        let is_it =
            |it: &Value| it["message"] == "the group stands still on this node" && it["reason"] == reason;
        line = logged::lines().into_iter().find(is_it).unwrap_or_default();
        !line.is_null()
    })
    .await;
    assert_eq!((&line["group"], &line["level"]), (&json!(group.0), &json!("ERROR")), "{line}");
    line["log_index"].as_u64().expect("a log index")
}

/// A search finds this many. On a busy machine a node may refuse for a while, right after a start or when it could not confirm
/// in time that it leads; but what it answers has to be right at once.
async fn shows(node: &Node, index: &str, records: u64) {
    until(&format!("{index} is served"), async || {
        let found = node.count(index).await;
        assert!(found.is_none_or(|found| found == records), "{index}: {found:?} instead of {records}");
        found.is_some()
    })
    .await;
}

/// Starts again with the accident still planted, then without; everything is there.
async fn check_restarts(folder: &Path, files: &Planted, group: GroupId, sibling: &str, others: &[String]) {
    let node = open(folder, files).await;
    let word = format!("group {group} stands still: ");
    until("it stands still again", async || {
        node.service.health().reads.iter().any(|it| it.starts_with(&word))
    })
    .await;
    shows(&node, &others[0], 2).await;
    node.close().await;
    files.clear();
    let node = open(folder, files).await;
    until("the node is ready", async || {
        let reads = node.service.health().reads;
        assert!(!reads.iter().any(|reason| reason.contains("stands still")), "{reads:?}");
        reads.is_empty()
    })
    .await;
    // of the group that stood still
    shows(&node, sibling, 1).await;
    node.write_through(sibling, vec![put("two", json!({}))]).await;
    shows(&node, sibling, 2).await;
    for other in others.iter().take(5) {
        shows(&node, other, 2).await;
    }
    node.close().await;
}

#[actix_rt::test]
async fn a_panic_in_applying_stops_its_group_alone() {
    let (folder, files) = (tempfile::tempdir().expect("a folder"), Planted::default());
    let (node, groups) = filled(folder.path(), &files).await;
    let (group, victim, sibling, others) = chosen(&groups);
    files.plant(Operation::RemoveFolder, "/indices/", Accident::Panic);
    node.service.delete_index(&name(&victim)).await.expect("accepted");
    let log_index = check_halted(&node, group, &sibling, &others).await;
    let reasons = node.service.health().reads;
    let named = format!("group {group} stands still: log index {log_index}: a panic: planted at ");
    assert!(reasons.iter().any(|it| it.starts_with(&named)), "{named} {reasons:?}");
    node.close().await;
    check_restarts(folder.path(), &files, group, &sibling, &others).await;
}

#[actix_rt::test]
async fn a_panic_in_a_shard_stops_its_group_alone() {
    let (folder, files) = (tempfile::tempdir().expect("a folder"), Planted::default());
    let (node, groups) = filled(folder.path(), &files).await;
    let (group, victim, sibling, others) = chosen(&groups);
    // a copy makes its source durable, on the shard's thread, before it links the files
    let copies = ["first", "second"].map(|number| format!("copy-{number}"));
    let copy = IndexOperation::Copy { scope: None, keys: false };
    let before = folders(&folder.path().join("indices"));
    node.service.operate(&name(&victim), &name(&copies[0]), copy.clone()).await.expect("a copy");
    until("the copy", async || node.count(&copies[0]).await == Some(1)).await;
    let after = folders(&folder.path().join("indices"));
    let made: Vec<&String> = after.difference(&before).collect();
    let [shard] = made[..] else { panic!("the copy has one folder: {made:?}") };
    node.write_through(&copies[0], vec![put("kept", json!({}))]).await;
    files.plant(Operation::Create, &format!("/indices/{shard}/"), Accident::Panic);
    let (service, from, to) = (node.service.clone(), name(&copies[0]), name(&copies[1]));
    let copying = tokio::spawn(async move { service.operate(&from, &to, copy).await.map(drop) });
    check_halted(&node, group, &sibling, &others).await;
    copying.abort();
    node.close().await;
    check_restarts(folder.path(), &files, group, &sibling, &others).await;
    let node = open(folder.path(), &files).await;
    // with what the shard had not made durable
    shows(&node, &copies[0], 2).await;
    node.close().await;
}

/// The names of the folders in one.
fn folders(parent: &Path) -> BTreeSet<String> {
    let folders = std::fs::read_dir(parent).expect("a folder").map(|entry| entry.expect("an entry"));
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[actix_rt::test]
async fn a_panic_at_the_end_leaves_everything_to_the_log() {
    let (folder, files) = (tempfile::tempdir().expect("a folder"), Planted::default());
    let (node, groups) = filled(folder.path(), &files).await;
    files.plant(Operation::Create, "/dumps/", Accident::Panic);
    let before = panics::count();
    node.close().await;
    assert!(panics::count() > before);
    files.clear();
    let node = open(folder.path(), &files).await;
    for index in groups.values().flatten() {
        shows(&node, index, 1).await;
    }
    node.close().await;
}

#[actix_rt::test]
async fn a_group_that_waits_holds_up_no_other() {
    let (folder, files) = (tempfile::tempdir().expect("a folder"), Planted::default());
    let (node, groups) = filled(folder.path(), &files).await;
    let (_, victim, sibling, others) = chosen(&groups);
    files.plant(Operation::RemoveFolder, "/indices/", Accident::Hold);
    node.service.delete_index(&name(&victim)).await.expect("accepted");
    until("the group waits", async || files.held() > 0).await;
    let waiting = node.write(&sibling, vec![put("waits", json!({}))]).await;
    for other in &others {
        node.write_through(other, vec![put("meanwhile", json!({}))]).await;
        shows(&node, other, 2).await;
    }
    assert!(files.held() > 0 && !node.service.is_published(waiting.task_id).await.expect("an answer"));
    files.clear();
    node.published(waiting.task_id).await;
    shows(&node, &sibling, 2).await;
    node.close().await;
}

#[actix_rt::test]
async fn a_group_whose_commits_wait_keeps_no_other_from_opening_writers() {
    let (folder, files) = (tempfile::tempdir().expect("a folder"), Planted::default());
    let node = open(folder.path(), &files).await;
    let first = node.write_through("first", vec![put("one", json!({}))]).await;
    // the longest unused writer, of which a durable commit does not end
    let made = folders(&folder.path().join("indices"));
    let shard = made.first().expect("the only index");
    node.write_through("first", vec![put("two", json!({}))]).await;
    files.plant(Operation::Create, &format!("/indices/{shard}/"), Accident::Hold);
    let mut opened = vec![];
    for number in 0..3 * limits::OPEN_WRITERS_MAX {
        let receipt = node.write(&index(number), vec![put("one", json!({}))]).await;
        if receipt.task_id.group() != first.task_id.group() {
            node.published(receipt.task_id).await;
            opened.push(index(number));
        }
    }
    assert!(opened.len() > 2 * limits::OPEN_WRITERS_MAX);
    until("a commit is held", async || files.held() > 0).await;
    files.clear();
    assert_eq!(node.count("first").await, Some(2));
    for index in &opened {
        assert_eq!(node.count(index).await, Some(1), "{index}");
    }
    node.close().await;
    let node = open(folder.path(), &files).await;
    assert_eq!(node.count("first").await, Some(2));
    node.close().await;
}

#[actix_rt::test]
async fn a_group_that_failed_is_opened_anew_once_the_reason_is_gone() {
    let (folder, files) = (tempfile::tempdir().expect("a folder"), Planted::default());
    let node = open_again_after(Duration::from_millis(50), folder.path(), &files).await;
    let (group, victim, sibling, others) = chosen(&fill(&node).await);
    for (round, accident) in [Accident::Panic, Accident::Fail].into_iter().enumerate() {
        files.plant(Operation::RemoveFolder, "/indices/", accident);
        let task = node.write(&sibling, vec![put("before", json!({"round": round}))]).await;
        let deleted = if round == 0 { &victim } else { &others[0] };
        node.service.delete_index(&name(deleted)).await.expect("accepted");
        until("the group stands still", async || {
            node.service.health().reads.iter().any(|reason| reason.contains("stands still"))
        })
        .await;
        // the node goes on trying
        let met = files.met();
        until("it is opened anew", async || files.met() > met).await;
        files.clear();
        until("all is well", async || node.service.health() == Health::default()).await;
        node.published(task.task_id).await;
        node.write_through(&sibling, vec![put("after", json!({"round": round}))]).await;
        shows(&node, &sibling, 3).await;
        assert_eq!(node.get(&sibling, "before").await.expect("a record")["round"], round);
    }
    let halted = node.service.overview().await.expect("an overview").groups;
    let halted: Vec<_> =
        halted.iter().filter(|it| it.replicas.iter().any(|it| it.halted.is_some())).collect();
    assert!(halted.is_empty(), "{halted:?} {group}");
    node.close().await;
    let node = open(folder.path(), &files).await;
    shows(&node, &sibling, 3).await;
    shows(&node, &others[1], 1).await;
    node.close().await;
}
