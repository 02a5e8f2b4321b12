//! What of the calls that concern all clusters works while one of them is down, and what does it show when it is back?

use crate::harness::*;
use crate::users::{PATIENCE, assign, search, user};
use quorate_cluster::{CallerOp, Reach, ResourceChange};
use quorate_model::{Error, RecordOp, ResourceKind};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const INDEX: &str = "shared";
/// How long a call may take that does not wait for a cluster that is down.
const AT_ONCE: Duration = Duration::from_secs(3);
/// How soon a cluster that is back has what it lacked: two looks, and the work.
const SOON: Duration = Duration::from_secs(20);

fn increment(id: &str) -> CallerOp {
    let changes = json!({"objectID": id, "n": {"_operation": "Increment", "value": 1}});
    CallerOp::Ready(RecordOp::Partial {
        object_id: id.into(),
        changes: changes.to_string().into_bytes(),
        create: true,
    })
}

/// Asks once, as a client does that takes a 503 for a dead node.
async fn once<T>(what: &str, asked: impl Future<Output = Result<T, Error>>) -> T {
    let began = Instant::now();
    let answer = asked.await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(began.elapsed() < AT_ONCE, "{what} took {:?}", began.elapsed());
    answer
}

#[actix_rt::test]
async fn c15_a_cluster_that_is_down_keeps_nobody_waiting_and_has_everything_when_it_is_back() {
    in_time(async {
        let mut installation = Installation::start_in(&["main", "main", "west"]).await;
        assign(installation.node(0), "jane", "main").await;
        assign(installation.node(0), "roe", "west").await;
        let first = vec![put("all", json!({"n": 10, "word": "shoe"}))];
        let written = installation.node(0).write_records_for(&user("*"), &name(INDEX), first).await;
        installation.through(0, written).await;
        installation.down(2).await;
        let node = installation.node(0).clone();
        let end = Instant::now() + PATIENCE;
        let is_silent = async || {
            let seen = node.overview().await.expect("an overview");
            seen.nodes.iter().any(|it| it.name == "n2" && it.silent_s >= 5)
        };
        while !is_silent().await {
            assert!(Instant::now() < end, "n2 does not go silent");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }

        let (everyone, index) = (user("*"), name(INDEX));
        for _ in 0..2 {
            let write = node.write_records_for(&everyone, &index, vec![increment("all")]);
            let written = once("a record for all", write).await;
            installation.published(0, written.task_id).await;
        }
        let settings = object(json!({"searchableAttributes": ["word"], "attributesForFaceting": ["word"]}));
        once("settings", node.set_settings(&index, settings, false)).await;
        let boot = raw(json!({"objectID": "boot", "type": "synonym", "synonyms": ["boot", "shoe"]}));
        let change = ResourceChange::Save(vec![boot]);
        let saved = node.change_resources(&index, ResourceKind::Synonyms, change, Reach::Index);
        let saved = once("a synonym", saved).await;
        installation.published(0, saved.task_id).await;
        let listed = once("the list", node.indices(&[name(INDEX)])).await;
        assert_eq!(listed[0].entries, 1, "the one record that can be counted");
        assert_eq!(
            search(&node, "jane", INDEX, "boot").await.expect("an answer"),
            [12],
            "each was done once"
        );

        installation.up(2, |_| {}).await;
        let end = Instant::now() + SOON;
        let west = name(INDEX).partition_in(1).expect("a partition");
        loop {
            let settings: Option<Value> =
                node.settings(&west).await.ok().map(|it| Value::Object(it.document.clone()));
            let is_set = settings.is_some_and(|it| it["attributesForFaceting"] == json!(["word"]));
            if is_set && search(installation.node(2), "roe", INDEX, "boot").await == Ok(vec![12]) {
                break;
            }
            assert!(Instant::now() < end, "west lacks what was done without it");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(once("the list", node.indices(&[name(INDEX)])).await[0].entries, 2, "one in each cluster");
        installation.stop().await;
    })
    .await;
}
