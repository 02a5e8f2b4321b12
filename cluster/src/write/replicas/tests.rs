//! Does a link hold when the node died between the catalogue's half of it and the group's?

use super::*;
use crate::clock::write_deadline;
use crate::lifecycle::crash_copy::copy_folder;
use crate::lifecycle::join;
use crate::lifecycle::running::{self, Running};
use crate::options::ServiceOptions;
use crate::service::Service;
use crate::types::{CallerOp, ReadRights};
use crate::write;
use crate::write::announcements::note_heard;
use quorate_model::{RecordOp, SearchParams};
use quorate_store::layout::Layout;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

mod settled;
mod told;

/// What the process still did.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Died {
    /// Only the catalogue has heard.
    BeforeTheGroup,
    /// The group has heard, the note that it has not is still there.
    BeforeTheNote,
}

fn name(text: &str) -> IndexName {
    IndexName::new(text).expect("a valid name")
}
fn options(folder: &Path) -> ServiceOptions {
    ServiceOptions { disk_reserve_bytes: 0, search_threads: 1, ..ServiceOptions::new(folder) }
}
/// A node without its janitor.
async fn started(folder: &Path) -> Running {
    let options = options(folder);
    let mut running = running::start(&options).await.expect("a node that starts");
    join::enter(&mut running, &options).await.expect("an installation");
    running
}
async fn put(running: &Running, index: &str, ids: &[&str]) {
    let put = |id: &&str| {
        let record = json!({"objectID": id, "n": id.len()}).to_string().into_bytes();
        CallerOp::Ready(RecordOp::Put { object_id: (*id).to_owned(), record })
    };
    let ops = ids.iter().map(put).collect();
    write::records(&running.context, &name(index), ops).await.expect("accepted");
}
/// Tells a group what it has to be told.
async fn tell(context: &NodeContext, told: Announcement) {
    let told = context.proposer().propose_index(told.group, told.command, Purpose::Add, write_deadline());
    told.await.expect("accepted");
}
/// Tells the group of replicas that were linked, and the meta group that it has heard.
async fn tell_and_note(context: &NodeContext, linked: Linked) {
    tell(context, linked.told).await;
    let noted = note_heard(context, linked.primary.into(), linked.revision, write_deadline());
    noted.await.expect("accepted");
}
/// Ends as a killed process does: what follows happens on a copy of the folder as it is now.
async fn die(running: Running, from: &Path, to: &Path) {
    copy_folder(from, to);
    running.stop().await;
}
/// Waits until the janitor has told the groups, writes once more and compares.
async fn check(folder: &Path, primary: &str, replicas: &[&str], expected: usize, died: Died) {
    let (service, _) = Service::open(options(folder)).await.expect("a node that starts");
    let record = br#"{"objectID":"last"}"#.to_vec();
    let last = CallerOp::Ready(RecordOp::Put { object_id: "last".into(), record });
    service.write_records(&name(primary), vec![last]).await.expect("accepted");
    let mut found = vec![];
    for _ in 0..1_000 {
        found.clear();
        for index in [primary].iter().chain(replicas) {
            let results = service.search(&name(index), SearchParams::default(), ReadRights::default()).await;
            // a new replica is not found before its group has heard of it
            found.push(results.map_or(u64::MAX, |results| results.nb_hits));
        }
        if found.iter().all(|&hits| hits == expected as u64) {
            service.shutdown().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{died:?}: {found:?} records in {primary} and {replicas:?}, expected {expected}");
}

#[actix_rt::test]
async fn a_link_reaches_the_group_although_the_node_died() {
    for died in [Died::BeforeTheGroup, Died::BeforeTheNote] {
        let dir = tempfile::tempdir().expect("a folder");
        let (before, after) = (dir.path().join("before"), dir.path().join("after"));
        let running = started(&before).await;
        put(&running, "p", &["a", "bb"]).await;
        put(&running, "taken", &["own"]).await;
        let wanted = ["fresh", "taken"].map(|it| Link { name: name(it), kind: ReplicaKind::Standard });
        let context = &running.context;
        let linked = link(context, &name("p"), &wanted, write_deadline()).await.expect("linked");
        if died == Died::BeforeTheNote {
            tell(context, linked.told).await;
        }
        // answered after the link: replicas must not miss it
        put(&running, "p", &["ccc"]).await;
        assert!(!context.meta().unannounced.is_empty());
        die(running, &before, &after).await;
        check(&after, "p", &["fresh", "taken"], 4, died).await;
    }
}

#[actix_rt::test]
async fn an_unlinked_replica_goes_its_own_way_although_the_node_died() {
    for died in [Died::BeforeTheGroup, Died::BeforeTheNote] {
        let dir = tempfile::tempdir().expect("a folder");
        let (before, after) = (dir.path().join("before"), dir.path().join("after"));
        let running = started(&before).await;
        put(&running, "p", &["a", "bb"]).await;
        let context = &running.context;
        let wanted = [Link { name: name("r"), kind: ReplicaKind::Standard }];
        for list in [&wanted[..], &[]] {
            let linked = link(context, &name("p"), list, write_deadline()).await.expect("linked");
            if died == Died::BeforeTheNote || !list.is_empty() {
                tell(context, linked.told).await;
            }
        }
        die(running, &before, &after).await;
        let (service, _) = Service::open(options(&after)).await.expect("a node that starts");
        let own = CallerOp::Ready(RecordOp::Delete { object_id: "a".into() });
        service.write_records(&name("r"), vec![own]).await.expect("not a replica any more");
        service.shutdown().await;
        check(&after, "p", &[], 3, died).await;
        check(&after, "r", &[], 2, died).await;
    }
}

/// `p` with two records and the replica `r`, and `tmp` with three, as before a move.
async fn before_a_move(folder: &Path) -> (Running, Link) {
    let running = started(folder).await;
    put(&running, "p", &["a", "bb"]).await;
    put(&running, "tmp", &["c", "dd", "eee"]).await;
    let context = &running.context;
    let wanted = Link { name: name("r"), kind: ReplicaKind::Standard };
    let linked = link(context, &name("p"), std::slice::from_ref(&wanted), write_deadline()).await;
    tell_and_note(context, linked.expect("linked")).await;
    (running, wanted)
}
/// Lets `p` stand for what `tmp` was; returns the log index.
async fn move_over(running: &Running, prepared: &Prepared) -> u64 {
    let replicas = prepared.moved();
    let command = MetaCommand::MoveIndex { from: name("tmp"), to: name("p"), replicas };
    let moved = running.context.proposer().propose_meta(command, Purpose::Add, write_deadline()).await;
    moved.expect("accepted").task_id.log_index()
}

#[actix_rt::test]
async fn a_move_fills_the_replicas_although_the_node_died() {
    for (died, is_filled) in
        [Died::BeforeTheGroup, Died::BeforeTheNote].into_iter().flat_map(|it| [(it, false), (it, true)])
    {
        let dir = tempfile::tempdir().expect("a folder");
        let (before, after) = (dir.path().join("before"), dir.path().join("after"));
        let (running, wanted) = before_a_move(&before).await;
        let context = &running.context;
        let from = context.meta().catalogue.get(&name("tmp")).cloned().expect("an index");
        let (tmp, links) = (name("tmp"), [&wanted]);
        let prepared = match is_filled {
            true => prepare_filled(context, &tmp, &links, write_deadline()).await,
            // the group heard of a newer list first
            false => prepare(context, &tmp, &links, write_deadline()).await,
        };
        let moved = move_over(&running, &prepared.expect("prepared")).await;
        if died == Died::BeforeTheNote {
            tell(context, announcement(&context.meta(), from.incarnation, moved).expect("a primary")).await;
        }
        die(running, &before, &after).await;
        check(&after, "p", &["r"], 4, died).await;
    }
}

#[actix_rt::test]
async fn a_node_that_died_between_filling_and_moving_has_moved_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let (before, after) = (dir.path().join("before"), dir.path().join("after"));
    let (running, wanted) = before_a_move(&before).await;
    let context = &running.context;
    let prepared = prepare_filled(context, &name("tmp"), &[&wanted], write_deadline()).await;
    let ready = prepared.expect("prepared").of(&name("r")).expect("ready");
    assert!(running.context.node().layout().shard(ready, 0).exists(), "it has files");
    put(&running, "tmp", &["ffff"]).await;
    die(running, &before, &after).await;
    let (service, _) = Service::open(options(&after)).await.expect("a node that starts");
    // what was ready is given up, and nothing is written to it any more
    let files = Layout::new(&after).shard(ready, 0);
    for _ in 0..1_000 {
        if !files.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!files.exists(), "it stays");
    service.shutdown().await;
    check(&after, "tmp", &[], 5, Died::BeforeTheGroup).await;
    check(&after, "p", &["r"], 3, Died::BeforeTheGroup).await;
}
