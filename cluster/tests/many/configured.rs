//! Indices are configured through every node while they become replicas, and while their primaries are replaced: every change
//! that was answered is there at the end.
//!
//! `QUORATE_MOVES_ROUNDS=N` replaces them N times instead of the few that fit into every test run.

use crate::harness::*;
use quorate_cluster::{IndexOperation, Reach, ResourceChange, Service};
use quorate_model::ResourceKind;
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const NODES: usize = 3;
/// A replica with records of its own, one that shows those of its primary, an index that becomes a replica again and again, and the
/// primary, whose changes are forwarded.
const CONFIGURED: [&str; 4] = ["sorted", "shown", "taken", "primary"];

fn rounds() -> usize {
    std::env::var("QUORATE_MOVES_ROUNDS").map_or(6, |text| text.parse().expect("a number"))
}

fn rule_of(index: &str, number: usize) -> String {
    format!("{index}-{number}")
}

/// Fewer rules than an index may have of two who save them.
const RULES_MAX: usize = 4_900;

/// Saves one rule after another, each with the settings that number it, until it is over; returns how many.
async fn keep_configuring(nodes: Vec<Service>, index: &'static str, is_over: Rc<Cell<bool>>) -> usize {
    let mut saved = 0;
    while !is_over.get() && saved < RULES_MAX {
        let node = &nodes[saved % nodes.len()];
        let rule = json!({"objectID": rule_of(index, saved), "consequence": {"params": {"page": 1}}});
        let change = ResourceChange::Save(vec![raw(rule)]);
        let (at, reach) = (name(index), Reach::forwarded(index == "primary"));
        patiently("a rule", || node.change_resources(&at, ResourceKind::Rules, change.clone(), reach))
            .await
            .expect("a rule is saved");
        let changes = object(json!({"userData": {"saved": saved}}));
        patiently("settings", || node.set_settings(&at, changes.clone(), false))
            .await
            .expect("settings are changed");
        saved += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    saved
}

async fn fill(installation: &Installation, round: usize) {
    let records = (0..3).map(|n| put(&n.to_string(), json!({"n": n, "round": round}))).collect();
    installation.write(round, "tmp", records).await;
    installation.set(round, "tmp", json!({"attributesForFaceting": ["n"]})).await;
}
async fn replace(installation: &Installation, round: usize) {
    let (from, to, node) = (name("tmp"), name("primary"), installation.node(round + 1));
    let moved = patiently("a move", || node.operate(&from, &to, IndexOperation::Move)).await;
    installation.through(round + 1, moved).await;
}

#[actix_rt::test]
async fn an_answered_change_of_a_replica_outlives_what_its_name_stands_for() {
    in_times(1 + rounds() as u32 / 20, async {
        let installation = Installation::start(NODES).await;
        installation.set(0, "primary", json!({"replicas": ["sorted", "virtual(shown)"]})).await;
        installation.set(0, "taken", json!({})).await;
        let is_over = Rc::new(Cell::new(false));
        let nodes: Vec<Service> = installation.nodes().cloned().collect();
        let configured =
            CONFIGURED.map(|index| actix_rt::spawn(keep_configuring(nodes.clone(), index, is_over.clone())));
        for round in 0..rounds() {
            // a virtual replica shows what its primary has, and keeps it as a standard one
            let turned = async |shown: &str| {
                installation.set(round, "primary", json!({"replicas": ["sorted", shown]})).await;
                let settings = installation.settings(round + 1, "shown").await.expect("a replica");
                assert_eq!(settings.document["attributesForFaceting"], json!(["n"]), "{shown}");
            };
            fill(&installation, round).await;
            let moved = replace(&installation, round);
            match round {
                0 => moved.await,
                _ => {
                    let at_some_moment = async {
                        tokio::time::sleep(Duration::from_millis(7 * (round as u64 % 8))).await;
                        turned("shown").await;
                    };
                    tokio::join!(moved, at_some_moment);
                }
            }
            turned("virtual(shown)").await;
            for replicas in [json!(["taken"]), json!([])] {
                installation.set(round + 2, "other", json!({"replicas": replicas})).await;
            }
        }
        is_over.set(true);
        for (index, saved) in CONFIGURED.iter().zip(configured) {
            let saved = saved.await.expect("it ends");
            assert!(saved > rounds(), "{index}: {saved}");
            // what the primary itself is told goes with what it stands for
            let holders = if *index == "primary" { &["sorted", "shown"][..] } else { &[*index] };
            for holder in holders {
                assert_has_rules(&installation, holder, (0..saved).map(|number| rule_of(index, number)))
                    .await;
            }
            if *index != "primary" {
                let settings = installation.settings(0, index).await.expect("an index");
                assert_eq!(settings.document["userData"], json!({"saved": saved - 1}), "{index}");
            }
        }
        installation.stop().await;
    })
    .await;
}

async fn assert_has_rules(installation: &Installation, index: &str, rules: impl Iterator<Item = String>) {
    // every node shows what was answered before
    installation.set(0, index, json!({})).await;
    let at = name(index);
    let (mut number, mut lost) = (0, vec![]);
    for rule in rules {
        let node = installation.node(number);
        let found = patiently("a rule", || node.document(&at, ResourceKind::Rules, &rule)).await;
        lost.extend(found.err().map(|error| format!("{rule}: {error}")));
        number += 1;
    }
    assert!(lost.is_empty(), "{index} lacks {} of {number}: {lost:?}", lost.len());
}
