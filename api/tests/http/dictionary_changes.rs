//! What do many changes of dictionaries cost the groups (C§12.1)?

use super::dictionaries::add;
use super::*;
use futures_util::future::join_all;
use serde_json::json;

const CHANGES: usize = 40;

impl Node {
    /// Entries that placement groups have applied, and how many groups there are.
    async fn entries_of_groups(&self) -> (u64, u64) {
        let overview = self.get("/admin/cluster").await;
        let placed = || overview["groups"].as_array().unwrap().iter().filter(|group| group["id"] != 0);
        let applied = |group: &Value| group["replicas"][0]["applied"].as_u64().unwrap();
        (placed().map(applied).sum(), placed().count() as u64)
    }
}

#[actix_web::test]
async fn changes_at_a_time_are_told_to_each_group_as_the_newest_of_them() {
    let node = Node::start().await;
    node.names("i", &["red car"]).await;
    // groups have entries of their own after a start
    node.change_dictionary("stopwords", false, vec![]).await;
    let (before, groups) = node.entries_of_groups().await;
    let uri = "/1/dictionaries/stopwords/batch";
    let change = |number: usize| {
        let entry = json!({"objectID": format!("e{number}"), "language": "en", "word": format!("w{number}")});
        node.post(uri, json!({"requests": [add(entry)]}))
    };
    let answers = join_all((0..CHANGES).map(change)).await;
    for answer in answers {
        node.waited(answer).await;
    }
    let (after, _) = node.entries_of_groups().await;
    let told = after - before;
    assert!(told >= groups, "{told} entries of {groups} groups");
    assert!(told <= groups * CHANGES as u64 / 4, "{told} entries of {groups} groups for {CHANGES} changes");
    for number in [0, CHANGES - 1] {
        let query = json!({"query": format!("w{number} red car"), "removeStopWords": ["en"]});
        assert_eq!(node.ids("i", query).await, "0", "{number}");
    }
}
