//! Indices are renamed and copied while their users move between clusters: nothing that was answered is lost, and each copy
//! has every record of every user once.
//!
//! `QUORATE_MOVES_ROUNDS=N` lets the users move N times instead of the few that fit into every test run.

use crate::harness::*;
use crate::users::{assign, search, search_within, user};
use quorate_cluster::{IndexOperation, Service};
use quorate_model::{ErrorKind, GroupId, TaskId};
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

/// Indices that are renamed in one move: in the first parts of the list while the last ones are copied.
const INDICES: usize = 12;
/// Numbers that are read at a time: fewer records of one index than an answer has.
const PAGE: usize = 900 * INDICES;
/// Records of each user in the index that is copied.
const RECORDS: u64 = 5;
/// Users of the index that is copied.
const USERS: [&str; 3] = ["jane", "roe", "doe"];
const WRITERS: usize = 4;

fn rounds() -> usize {
    std::env::var("QUORATE_MOVES_ROUNDS").map_or(2, |text| text.parse().expect("a number"))
}

/// What is written, and what became of it.
#[derive(Default)]
struct Written {
    /// What each index is called now.
    names: RefCell<Vec<String>>,
    /// Index and number of each answered write.
    answered: RefCell<Vec<(usize, u64)>>,
    /// The last of them in each group.
    last: RefCell<BTreeMap<GroupId, TaskId>>,
    next: Cell<u64>,
    is_over: Cell<bool>,
}

async fn keep_writing(node: Service, written: Rc<Written>) {
    while !written.is_over.get() {
        let n = written.next.replace(written.next.get() + 1);
        let index = n as usize % INDICES;
        let at = name(&written.names.borrow()[index]);
        let record = put(&n.to_string(), json!({"n": n}));
        if let Ok(receipt) = node.write_records_for(&user("jane"), &at, vec![record]).await {
            written.answered.borrow_mut().push((index, n));
            let task = receipt.task_id;
            written
                .last
                .borrow_mut()
                .entry(task.group())
                .and_modify(|it| *it = task.max(*it))
                .or_insert(task);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The numbers of all records that the writer sees of an index, of which numbers up to `end` were written: more than a search may answer,
/// so they are asked for in ranges. None when there is no such index.
async fn numbers_of_jane(node: &Service, index: &str, end: u64) -> BTreeSet<u64> {
    let ranges = (0..end).step_by(PAGE).map(|from| format!("n >= {from} AND n < {}", from + PAGE as u64));
    let mut found = BTreeSet::new();
    for range in ranges.chain(["n >= 1000000".to_owned()]) {
        match search_within(node, "jane", index, &range).await {
            Ok(numbers) => found.extend(numbers),
            Err(error) => assert_eq!(error.kind, ErrorKind::NotFound, "{index}: {error}"),
        }
    }
    found
}

async fn operate(installation: &Installation, from: &str, to: &str, operation: IndexOperation) {
    let (from, to, node) = (name(from), name(to), installation.node(0));
    let done = patiently("an operation", || node.operate(&from, &to, operation.clone())).await;
    installation.through(0, done).await;
}

/// Renames one index after another until all have another name or the move has ended.
async fn rename(installation: &Installation, written: &Written, round: usize, is_moving: &Cell<bool>) {
    for index in 0..INDICES {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if !is_moving.get() {
            return;
        }
        let (from, to) = (written.names.borrow()[index].clone(), format!("z{round}-{index}"));
        operate(installation, &from, &to, IndexOperation::Move).await;
        written.names.borrow_mut()[index] = to;
    }
}

/// Copies the index `whole` again and again until the move has ended; returns the names of the copies.
async fn copy(installation: &Installation, round: usize, is_moving: &Cell<bool>) -> Vec<String> {
    let mut copies = vec![];
    while is_moving.get() {
        let to = format!("copy{round}-{}", copies.len());
        operate(installation, "whole", &to, IndexOperation::Copy { scope: None, keys: false }).await;
        copies.push(to);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    copies
}

/// Moves a user, again when that was given up because a slow machine keeps writes waiting for too long.
async fn move_to(installation: &Installation, who: &str, cluster: &str) {
    let node = installation.node(0);
    loop {
        let at = node.user(&user(who)).expect("assigned").cluster;
        match node.pending_users().expect("enabled").get(&at).is_none_or(|it| !it.contains(&user(who))) {
            true if at == cluster => return,
            // it may begin at this moment
            true => drop(node.assign_user(user(who), cluster).await),
            false => {}
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[actix_rt::test]
async fn renames_and_copies_lose_nothing_of_a_user_who_moves() {
    // many rounds take longer than a test may
    in_times(1 + rounds() as u32 / 4, async {
        let installation = Installation::start_in(&["main", "west"]).await;
        for who in USERS {
            assign(installation.node(0), who, "main").await;
            let records = (0..RECORDS).map(|n| put(&n.to_string(), json!({"n": n}))).collect();
            let filled = crate::users::write(installation.node(0), who, "whole", records).await;
            installation.through(0, filled).await;
        }
        for round in 0..rounds() {
            one_round(&installation, round).await;
        }
        installation.stop().await;
    })
    .await;
}

async fn one_round(installation: &Installation, round: usize) {
    let names: Vec<String> = (0..INDICES).map(|index| format!("i{round}-{index}")).collect();
    let first: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    for index in &first {
        let record = vec![put("base", json!({"n": 1_000_000}))];
        let filled = crate::users::write(installation.node(0), "jane", index, record).await;
        installation.through(0, filled).await;
    }
    let written = Rc::new(Written { names: RefCell::new(names.clone()), ..Written::default() });
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| actix_rt::spawn(keep_writing(installation.node(number % 2).clone(), written.clone())))
        .collect();
    let cluster = if round.is_multiple_of(2) { "west" } else { "main" };
    for who in USERS {
        assign(installation.node(0), who, cluster).await;
    }
    let is_moving = Cell::new(true);
    let moves = async {
        for who in USERS {
            move_to(installation, who, cluster).await;
        }
        is_moving.set(false);
    };
    let renames = rename(installation, &written, round, &is_moving);
    let ((), (), copies) = tokio::join!(moves, renames, copy(installation, round, &is_moving));
    written.is_over.set(true);
    for writer in writers {
        writer.await.expect("the writer ends");
    }
    let last: Vec<TaskId> = written.last.borrow().values().copied().collect();
    for task in last {
        installation.published(0, task).await;
    }
    // an index of the earlier name is made by a write that began before the rename
    let now = written.names.borrow().clone();
    for (index, called) in names.iter().zip(&now).enumerate() {
        let mut found = BTreeSet::new();
        for called in BTreeSet::from([called.0, called.1]) {
            found.extend(numbers_of_jane(installation.node(1), called, written.next.get()).await);
        }
        let answered = written.answered.borrow();
        let expected = answered.iter().filter(|(at, _)| *at == index).map(|(_, n)| *n).chain([1_000_000]);
        let lost: Vec<u64> = expected.filter(|n| !found.contains(n)).collect();
        assert!(lost.is_empty(), "index {index} in round {round} lacks {lost:?}");
    }
    assert!(!copies.is_empty() && !written.answered.borrow().is_empty());
    let expected: Vec<u64> = (0..RECORDS).collect();
    for copied in &copies {
        for who in USERS {
            for node in installation.nodes() {
                let found = search(node, who, copied, "").await.expect("a copy");
                assert_eq!(found, expected, "{copied} for {who}");
            }
        }
        let deleted = installation.node(0).delete_index(&name(copied)).await;
        installation.through(0, deleted).await;
    }
}
