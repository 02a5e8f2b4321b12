//! Does a change that is forwarded reach replicas that the catalogue lists and the group has not heard of?

use super::settled::{found, save_rule, set};
use super::*;
use crate::read::call::ask;
use crate::read::search::Search;
use crate::write::Reach;
use crate::write::replicas::settled::{PATIENCE, is_kept};
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

#[actix_rt::test]
async fn a_change_that_was_forwarded_before_the_group_was_told_is_made_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, linked) = linked(dir.path()).await;
    let context = running.context.clone();
    let primary = linked.primary;
    let kept = {
        let context = context.clone();
        let look = async move {
            let p = name("p");
            is_kept(&context, (&p, Reach::Replicas), primary, write_deadline()).await
        };
        tokio::spawn(look)
    };
    let alone = is_kept(&context, (&name("p"), Reach::Index), primary, write_deadline()).await;
    assert!(alone.expect("known"), "what is not forwarded waits for nobody");
    assert!(!kept.is_finished(), "it cannot be known yet");
    tell_and_note(&context, linked).await;
    assert!(!kept.await.expect("it ends").expect("known"));
    running.stop().await;
}

/// As a node that died leaves it, or one that had no time any more.
#[actix_rt::test]
async fn who_forwards_tells_the_group_when_nobody_else_does() {
    for changes in [json!({"hitsPerPage": 7}), json!({"replicas": ["taken"], "hitsPerPage": 7})] {
        let dir = tempfile::tempdir().expect("a folder");
        let (running, linked) = linked(dir.path()).await;
        assert!(linked.until < Instant::now() + PATIENCE, "who waits may tell the group before who links");
        let context = &running.context;
        let reach = if changes.get("replicas").is_some() { Reach::Index } else { Reach::Replicas };
        let before = write_deadline();
        set(context, "p", reach, changes).await.expect("accepted");
        assert!(before > Instant::now(), "it takes no longer than a write may");
        assert!(context.meta().unannounced.is_empty());
        until_found(context, "taken", 2).await;
        assert_eq!(found(context, "p").await, ["settings"]);
        let of_replica = if reach == Reach::Replicas { vec!["settings"] } else { vec![] };
        assert_eq!(found(context, "taken").await, of_replica);
        running.stop().await;
    }
}

#[actix_rt::test]
async fn who_links_leaves_nothing_to_wait_for() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, _) = before_a_move(dir.path()).await;
    let context = &running.context;
    set(context, "p", Reach::Index, json!({"replicas": ["r", "s"]})).await.expect("accepted");
    assert!(context.meta().unannounced.is_empty());
    write::operate::move_index(context, &name("tmp"), &name("p")).await.expect("moved");
    assert!(context.meta().unannounced.is_empty());
    running.stop().await;
}
