//! Replicas of indices whose records are placed by user: in every cluster they follow what it has of their primary.

use crate::harness::*;
use crate::users::{PATIENCE, assign, search, settled, user, write};
use quorate_cluster::{CallerOp, IndexOperation, ReadRights, Service};
use quorate_model::{ErrorKind, Filter, IndexName, RecordOp};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const CLUSTERS: [&str; 3] = ["main", "main", "west"];
const INDEX: &str = "shared";

fn numbered(id: &str, n: u64) -> CallerOp {
    put(id, json!({"n": n, "word": "shoe"}))
}
/// The numbers of the records that a user sees of an index, in the order of the index.
async fn ordered(node: &Service, who: &str, index: &str) -> Vec<u64> {
    let (who, index) = (user(who), name(index));
    let mut asked = params(json!({"query": "shoe", "hitsPerPage": 1000}));
    asked.filter = Filter::seen_by(&who);
    let search = async |part: &IndexName| node.search(part, asked.clone(), ReadRights::default()).await;
    let found = patiently("a user's search", || node.read_for(&who, &index, search)).await;
    let number = |hit: &[u8]| serde_json::from_slice::<Value>(hit).expect("JSON")["n"].as_u64();
    found.expect("an answer").hits.iter().map(|hit| number(hit).expect("a number")).collect()
}
/// Every node shows every user these numbers of `index`, in this order.
async fn shows(installation: &Installation, index: &str, expected: &[(&str, &[u64])]) {
    for (number, node) in installation.nodes().enumerate() {
        for (who, numbers) in expected {
            assert_eq!(ordered(node, who, index).await, *numbers, "{who} in {index} at node {number}");
        }
    }
}
async fn put_for(installation: &Installation, number: usize, who: &str, index: &str, ops: Vec<CallerOp>) {
    let written = write(installation.node(number), who, index, ops).await;
    installation.through(number, written).await;
}

/// `shared` with its replicas: `down`, sorted by falling numbers, and `up`, virtual and sorted by rising ones.
async fn linked(clusters: &[&str]) -> Installation {
    let installation = Installation::start_in(clusters).await;
    for (who, cluster) in [("jane", "main"), ("roe", "west")] {
        assign(installation.node(0), who, cluster).await;
    }
    put_for(&installation, 1, "jane", INDEX, vec![numbered("a", 3), numbered("b", 1)]).await;
    put_for(&installation, 2, "roe", INDEX, vec![numbered("a", 13), numbered("b", 11)]).await;
    put_for(&installation, 0, "*", INDEX, vec![numbered("all", 50)]).await;
    let settings = json!({"searchableAttributes": ["word"], "replicas": ["down", "virtual(up)"]});
    installation.set(2, INDEX, settings).await;
    installation.set(0, "down", json!({"customRanking": ["desc(n)"]})).await;
    installation.set(1, "up", json!({"customRanking": ["asc(n)"]})).await;
    installation
}

#[actix_rt::test]
async fn c15_replicas_follow_in_every_cluster() {
    in_time(async {
        let installation = linked(&CLUSTERS).await;
        shows(&installation, "down", &[("jane", &[50, 3, 1]), ("roe", &[50, 13, 11]), ("*", &[50])]).await;
        shows(&installation, "up", &[("jane", &[1, 3, 50]), ("roe", &[11, 13, 50]), ("*", &[50])]).await;

        // what is written now arrives in all of them with the task
        let deletion = |id: &str| CallerOp::Ready(RecordOp::Delete { object_id: id.into() });
        put_for(&installation, 0, "roe", INDEX, vec![numbered("c", 12), deletion("b")]).await;
        put_for(&installation, 2, "*", INDEX, vec![numbered("more", 40)]).await;
        let expected: [(&str, &[u64]); 2] = [("jane", &[50, 40, 3, 1]), ("roe", &[50, 40, 13, 12])];
        shows(&installation, "down", &expected).await;
        shows(&installation, "up", &[("jane", &[1, 3, 40, 50]), ("roe", &[12, 13, 40, 50])]).await;
        for index in [INDEX, "down", "up"] {
            let infos = installation.node(1).indices(&[name(index)]).await.expect("figures");
            assert_eq!(infos[0].entries, 8, "four of users, two public ones in both parts of {index}");
        }
        for replica in ["down", "up"] {
            for who in ["roe", "*"] {
                let refused = write(installation.node(1), who, replica, vec![numbered("x", 1)]).await;
                let refused = refused.expect_err("a replica");
                assert_eq!(refused.kind, ErrorKind::Forbidden);
                assert!(refused.message.ends_with("write them to its primary shared"), "{refused}");
            }
        }
        // nothing is copied over what follows or is followed, in any cluster
        put_for(&installation, 0, "roe", "other", vec![numbered("o", 9)]).await;
        for (destination, text) in [("down", "replica of shared;"), (INDEX, "cannot copy to shared:")] {
            let copy = IndexOperation::Copy { scope: None, keys: false };
            let refused = installation.node(1).operate(&name("other"), &name(destination), copy).await;
            let refused = refused.expect_err("linked");
            assert!(refused.message.contains(text) && !refused.message.contains('\u{1f}'), "{refused}");
        }
        shows(&installation, "down", &expected).await;
        // forwarded settings reach the replicas of all parts
        let changes = object(json!({"attributesForFaceting": ["n"]}));
        let node = installation.node(2);
        let forwarded = node.set_settings(&name(INDEX), changes, true).await;
        installation.through(2, forwarded).await;
        let who = user("roe");
        let mut asked = params(json!({"filters": "n > 12"}));
        asked.filter = asked.filter.and(Filter::seen_by(&who));
        let search = async |part: &IndexName| node.search(part, asked.clone(), ReadRights::default()).await;
        assert_eq!(node.read_for(&who, &name("down"), search).await.expect("an answer").hits.len(), 3);

        // a user who moves finds everything in the replicas of the other cluster
        assign(installation.node(0), "jane", "west").await;
        settled(installation.node(1), "jane", "west").await;
        shows(&installation, "down", &expected).await;

        // on their own again, they take writes of their own in every cluster
        installation.set(1, INDEX, json!({"replicas": []})).await;
        for replica in ["down", "up"] {
            put_for(&installation, 1, "roe", replica, vec![numbered("own", 7)]).await;
            put_for(&installation, 1, "*", replica, vec![numbered("public", 8)]).await;
        }
        shows(&installation, "down", &[("jane", &[50, 40, 8, 3, 1]), ("roe", &[50, 40, 13, 12, 8, 7])]).await;
        shows(&installation, "up", &[("jane", &[8]), ("roe", &[7, 8])]).await;
        shows(&installation, INDEX, &[("*", &[40, 50])]).await;
        installation.stop().await;
    })
    .await;
}

#[actix_rt::test]
async fn c15_replicas_of_all_clusters_are_kept_by_moves() {
    in_time(async {
        let installation = linked(&CLUSTERS).await;
        // an index with records and settings of its own becomes a replica and keeps the settings
        put_for(&installation, 0, "roe", "own", vec![numbered("z", 99)]).await;
        let faceted = json!({"customRanking": ["desc(n)"], "attributesForFaceting": ["n"]});
        installation.set(0, "own", faceted).await;
        installation.set(0, INDEX, json!({"replicas": ["down", "virtual(up)", "own"]})).await;
        let expected: [(&str, &[u64]); 2] = [("jane", &[50, 3, 1]), ("roe", &[50, 13, 11])];
        shows(&installation, "own", &expected).await;
        let settings = installation.settings(2, "own").await.expect("settings");
        assert_eq!(settings.document["attributesForFaceting"], json!(["n"]));

        // new records come by renaming another index over the primary
        for (who, n) in [("jane", 5), ("roe", 15), ("*", 55)] {
            let ops = vec![numbered("new", n), numbered("newer", n + 1)];
            put_for(&installation, 1, who, "tmp", ops).await;
        }
        installation.set(2, "tmp", json!({"replicas": ["brought"]})).await;
        let moved = installation.node(2).operate(&name("tmp"), &name(INDEX), IndexOperation::Move).await;
        installation.through(2, moved).await;
        let expected: [(&str, &[u64]); 2] = [("jane", &[56, 55, 6, 5]), ("roe", &[56, 55, 16, 15])];
        shows(&installation, "down", &expected).await;
        shows(&installation, "own", &expected).await;
        shows(&installation, "up", &[("jane", &[5, 6, 55, 56]), ("roe", &[15, 16, 55, 56])]).await;
        for node in installation.nodes() {
            assert_eq!(search(node, "roe", "brought", "").await.expect("an answer"), [15, 16, 55, 56]);
        }
        let settings = installation.settings(1, INDEX).await.expect("settings");
        assert_eq!(settings.document["replicas"], json!(["brought", "down", "virtual(up)", "own"]));
        installation.stop().await;
    })
    .await;
}

#[actix_rt::test]
async fn c15_a_cluster_that_comes_later_has_the_replicas() {
    in_time(async {
        let mut installation = linked(&CLUSTERS).await;
        installation.join("east").await;
        assign(installation.node(0), "may", "east").await;
        put_for(&installation, 2, "may", INDEX, vec![numbered("a", 23), numbered("b", 24)]).await;
        let end = Instant::now() + PATIENCE;
        for (index, expected) in [("down", [50, 24, 23]), ("up", [23, 24, 50])] {
            for node in installation.nodes() {
                let mut found = vec![];
                while found != expected {
                    assert!(Instant::now() < end, "{index} is {found:?} and not {expected:?} in time");
                    found = ordered(node, "may", index).await;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        shows(&installation, "down", &[("jane", &[50, 3, 1]), ("roe", &[50, 13, 11])]).await;
        installation.stop().await;
    })
    .await;
}
