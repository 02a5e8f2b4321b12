//! Every member holds the same, and says so in hashes.

use crate::harness::*;
use quorate_cluster::{CallerOp, GroupDigest, NamedDigest};
use quorate_model::{RecordOp, ResourceKind};
use serde_json::json;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// What a node holds of an index, once it has a replica that has applied as much as every other.
pub async fn of_index(installation: &Installation, index: &str) -> Vec<NamedDigest> {
    let end = Instant::now() + PATIENCE;
    loop {
        let mut found: Vec<(u64, NamedDigest)> = vec![];
        for node in installation.nodes() {
            let groups = patiently("a digest", || node.digest()).await.expect("a digest").groups;
            for GroupDigest { through, is_exact, indices, .. } in groups {
                let of_index = indices.into_iter().find(|it| it.index.as_deref() == Some(index));
                found.extend(of_index.filter(|_| is_exact).map(|digest| (through, digest)));
            }
        }
        let through = found.first().map(|(through, _)| *through);
        if found.len() == installation.nodes().count() && found.iter().all(|(at, _)| Some(*at) == through) {
            return found.into_iter().map(|(_, digest)| digest).collect();
        }
        if Instant::now() >= end {
            let health: Vec<String> =
                installation.nodes().map(|node| format!("{:?}", node.health())).collect();
            let overview = installation.node(0).overview().await.map(|seen| (seen.waits, seen.groups));
            panic!("not every node has {index}: {found:?}\n{}\n{overview:#?}", health.join("\n"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[actix_rt::test]
async fn every_member_has_the_same_hashes_and_each_change_another_one() {
    in_time(async {
        let installation = Installation::start(3).await;
        let record = |id: u64| put(&id.to_string(), json!({"n": id, "text": "a shoe"}));
        installation.write(0, "shoes", (0..40).map(record).collect()).await;
        let mut seen = vec![];
        let mut look = async |what: &str| {
            let digests = of_index(&installation, "shoes").await;
            assert!(digests.iter().all(|digest| digest == &digests[0]), "{what}: {digests:#?}");
            let digest = digests[0].digest;
            assert!(!seen.contains(&digest), "{what} changes nothing: {digest:?}");
            seen.push(digest);
            digest
        };
        let first = look("records").await;
        assert_eq!(first.records, 40);
        installation.write(1, "shoes", vec![record(40)]).await;
        look("another record").await;
        let delete = CallerOp::Ready(RecordOp::Delete { object_id: "40".into() });
        installation.write(2, "shoes", vec![delete, put("7", json!({"n": 7, "text": "a boot"}))]).await;
        assert_eq!(look("a changed record").await.records, 40);
        installation.set(0, "shoes", json!({"searchableAttributes": ["text"]})).await;
        look("settings").await;
        let synonym = json!({"objectID": "s", "type": "synonym", "synonyms": ["shoe", "boot"]});
        installation.save(1, "shoes", ResourceKind::Synonyms, &[synonym]).await;
        look("a synonym").await;
        let rule = json!({
            "objectID": "r", "conditions": [{"pattern": "shoe", "anchoring": "is"}],
            "consequence": {"promote": [{"objectID": "7", "position": 0}]}
        });
        installation.save(2, "shoes", ResourceKind::Rules, &[rule]).await;
        look("a rule").await;
        installation.stop().await;
    })
    .await;
}
