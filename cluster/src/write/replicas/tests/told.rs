//! Does a change that is forwarded reach replicas that the catalogue lists and the group has not heard of?

use super::settled::{found, save_rule, set};
use super::*;
use crate::read::call::ask;
use crate::read::search::Search;
use crate::write::Reach;
use crate::write::replicas::settled::PATIENCE;
use crate::write::replicas::told::TELLING;
use std::time::Instant;

/// `p` with two records, and in the catalogue with the replica `taken`, an index of its own before; the group has not heard.
async fn linked(folder: &Path) -> (Running, Linked) {
    let running = started(folder).await;
    put(&running, "p", &["a", "bb"]).await;
    put(&running, "taken", &["own"]).await;
    let wanted = [Link { name: name("taken"), kind: ReplicaKind::Standard }];
    let linked = link(&running.context, &name("p"), &wanted, write_deadline()).await.expect("linked");
    (running, linked)
}
/// Waits until a search of an index finds so many records.
async fn until_found(context: &NodeContext, index: &str, expected: u64) {
    let mut found = 0;
    for _ in 0..1_000 {
        let (params, rights) = (Box::default(), ReadRights::default());
        let search = Search { index: name(index), params, rights, at_once: false };
        found = ask(context, search).await.map_or(0, |results| results.nb_hits);
        if found == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{found} records in {index}, expected {expected}");
}

#[actix_rt::test]
async fn what_is_forwarded_reaches_a_replica_that_its_group_is_told_of_later() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, linked) = linked(dir.path()).await;
    let context = running.context.clone();
    let forwarded = {
        let context = context.clone();
        tokio::spawn(async move { save_rule(&context, "p", Reach::Replicas).await })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!forwarded.is_finished(), "answered too early");
    tell_and_note(&context, linked).await;
    forwarded.await.expect("it ends").expect("accepted");
    for index in ["p", "taken"] {
        assert_eq!(found(&context, index).await, ["rules"], "{index}");
    }
    running.stop().await;
}

/// As a node that died leaves it, or one that had no time any more.
#[actix_rt::test]
async fn who_forwards_tells_the_group_when_nobody_else_does() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, linked) = linked(dir.path()).await;
    let context = &running.context;
    let (before, deadline) = (Instant::now(), write_deadline());
    assert!(linked.until <= before + TELLING && TELLING < PATIENCE, "who links would be overtaken");
    set(context, "p", Reach::Replicas, json!({"hitsPerPage": 7})).await.expect("accepted");
    assert!(
        before.elapsed() >= PATIENCE,
        "who links may still tell the group, with the settings of its call"
    );
    assert!(Instant::now() < deadline, "it takes no longer than a write may");
    assert!(context.meta().unannounced.is_empty());
    until_found(context, "taken", 2).await;
    for index in ["p", "taken"] {
        assert_eq!(found(context, index).await, ["settings"], "{index}");
    }
    running.stop().await;
}

/// What was asked of a node that died is asked of another one.
#[actix_rt::test]
async fn who_lists_replicas_again_is_answered_when_they_follow_with_the_settings_of_the_call() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, linked) = linked(dir.path()).await;
    let context = &running.context;
    let wanted = ["taken", "fresh"].map(|it| Link { name: name(it), kind: ReplicaKind::Standard });
    let first = link(context, &name("p"), &wanted, write_deadline()).await.expect("linked");
    let before = Instant::now();
    let changes = json!({"replicas": ["taken", "fresh"], "hitsPerPage": 7});
    set(context, "p", Reach::Index, changes.clone()).await.expect("accepted");
    assert!(before.elapsed() < PATIENCE, "nothing is waited for");
    assert!(context.meta().unannounced.is_empty());
    for index in ["taken", "fresh"] {
        until_found(context, index, 2).await;
    }
    let found_in_all =
        async || [found(context, "p").await, found(context, "taken").await, found(context, "fresh").await];
    let expected = [vec!["settings"], vec![], vec!["settings"]];
    assert_eq!(found_in_all().await, expected, "a new one takes over what is set with it");
    // those who linked before come late
    for late in [linked, first] {
        tell_and_note(context, late).await;
    }
    assert_eq!(found_in_all().await, expected);
    // and once they follow the list alone is no link
    let decided = || *context.groups().meta().expect("a group").applied.borrow();
    let before = decided();
    set(context, "p", Reach::Index, changes).await.expect("accepted");
    assert_eq!(decided(), before, "nothing is decided");
    running.stop().await;
}

#[actix_rt::test]
async fn who_links_leaves_nothing_to_wait_for() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, _) = before_a_move(dir.path()).await;
    let context = &running.context;
    set(context, "p", Reach::Index, json!({"replicas": ["r", "s"]})).await.expect("accepted");
    assert!(context.meta().unannounced.is_empty());
    until_found(context, "s", 2).await;
    write::operate::move_index(context, &name("tmp"), &name("p")).await.expect("moved");
    assert!(context.meta().unannounced.is_empty());
    until_found(context, "s", 3).await;
    running.stop().await;
}
