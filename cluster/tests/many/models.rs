//! Does every node recommend the same, by a model that one of them has made?

use crate::harness::{Installation, in_time, name, patiently, put};
use quorate_cluster::Service;
use quorate_model::event::{Event, EventKind, EventObject, EventTarget};
use quorate_model::{Candidates, RecommendModel};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

const RELATED: RecommendModel = RecommendModel::RelatedProducts;

fn click(user: &str, object: &str) -> Event {
    Event {
        kind: EventKind::Click,
        name: "clicked".into(),
        index: name("products"),
        user: user.into(),
        authenticated: None,
        time_ms: None,
        query_id: None,
        target: EventTarget::Objects(vec![EventObject {
            object_id: object.into(),
            ..EventObject::default()
        }]),
        value: None,
        currency: None,
    }
}
/// The files below a folder that end like a model's.
fn model_paths(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => found.extend(model_paths(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found.retain(|path| path.extension().is_some_and(|it| it == "mdl"));
    found
}
/// Their names.
fn model_files(folder: &Path) -> Vec<String> {
    let name = |path: PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    model_paths(folder).into_iter().map(name).collect()
}
async fn pause() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}
async fn of(node: &Service, object: &str) -> Candidates {
    let index = name("products");
    let asked = patiently("candidates", || node.candidates(&index, RELATED, Some(object))).await;
    asked.expect("an answer")
}
/// Waits for a build that was asked for. Returns its number and how many rows it learned from.
async fn built(node: &Service, after: u64) -> (u64, u64) {
    loop {
        let models = patiently("models", || node.models()).await.expect("an answer");
        let model = models.into_iter().find(|it| it.model == RELATED && it.index.as_str() == "products");
        if let Some(model) = model
            && let (Some(installed), Some(report)) = (model.installed, model.report)
            && installed.seq > after
        {
            return (installed.seq, report.rows);
        }
        pause().await;
    }
}

#[actix_rt::test]
async fn every_node_has_the_model_that_the_leader_made() {
    in_time(async {
        let installation = Installation::start(3).await;
        while !installation.node(0).overview().await.expect("an overview").is_settled {
            pause().await;
        }
        let index = name("products");
        // of a name without an index nothing is recommended
        installation.write(0, "products", vec![put("5", json!({}))]).await;
        let events: Vec<Event> = (0..40_usize)
            .flat_map(|user| {
                let seen = [user % 2, 2 + user % 3, 5].map(|object| object.to_string());
                seen.map(|object| click(&format!("u{user}"), &object))
            })
            .collect();
        patiently("events", || installation.node(1).keep_events(events.clone())).await.expect("kept");
        assert_eq!(of(installation.node(0), "5").await, Candidates::default(), "there is no model yet");
        let mut seq = 0;
        for _ in 0..2 {
            let asked = patiently("a build", || installation.node(2).build_model(&index, RELATED)).await;
            asked.expect("a build that begins");
            let rows;
            (seq, rows) = built(installation.node(0), seq).await;
            assert_eq!(rows, 120);
            // all have its file, and no other
            let file = format!("{RELATED}-{seq}.mdl");
            for number in 0..3 {
                while model_files(installation.folder(number)) != [file.as_str()] {
                    pause().await;
                }
            }
        }
        let expected = of(installation.node(0), "5").await;
        assert_eq!(
            (expected.users, expected.list.len(), expected.list[0].1),
            (40, 5, 10_000),
            "{expected:?}"
        );
        for node in installation.nodes() {
            assert_eq!(of(node, "5").await, expected);
            assert_eq!(of(node, "unknown").await, Candidates::default());
        }
        // what a disk has changed is found by the checks, and fetched from another node
        let file = model_paths(installation.folder(2)).pop().expect("a model");
        let whole = std::fs::read(&file).expect("there");
        let mut damaged = whole.clone();
        damaged[30] ^= 1;
        std::fs::write(&file, &damaged).expect("written");
        while std::fs::read(&file).ok().as_ref() != Some(&whole) {
            pause().await;
        }
        assert_eq!(of(installation.node(2), "5").await, expected);
        installation.node(0).shutdown().await;
        for number in [1, 2] {
            assert_eq!(of(installation.node(number), "5").await, expected, "without a node");
        }
        let asked = patiently("a build", || installation.node(1).build_model(&index, RELATED)).await;
        asked.expect("a build that begins");
        let refused = installation.node(1).build_model(&index, RecommendModel::TrendingItems).await;
        assert!(refused.is_err_and(|error| error.message.contains("computed when it is asked for")));
        installation.stop().await;
    })
    .await;
}
