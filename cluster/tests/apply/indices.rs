//! Deleting, copying and moving whole indices (C§3.2), and what official helpers do with them (C§1.6).

use crate::harness::{Node, name, options, put};
use quorate_cluster::{IndexLimits, IndexOperation, RawResource, Reach, ResourceChange, ServiceOptions};
use quorate_model::{ErrorKind, ResourceKind};
use serde_json::json;

impl Node {
    async fn operate(&self, source: &str, destination: &str, operation: IndexOperation) {
        let receipt = self.service.operate(&name(source), &name(destination), operation).await;
        self.published(receipt.expect("an accepted operation").task_id).await;
    }
    async fn copy(&self, source: &str, destination: &str) {
        self.operate(source, destination, IndexOperation::Copy { scope: None, keys: false }).await;
    }
    async fn copy_settings(&self, source: &str, destination: &str) {
        let scope = Some(vec!["settings".to_owned(), "rules".to_owned(), "synonyms".to_owned()]);
        self.operate(source, destination, IndexOperation::Copy { scope, keys: false }).await;
    }
    async fn rename(&self, source: &str, destination: &str) {
        self.operate(source, destination, IndexOperation::Move).await;
    }
    async fn fill(&self, index: &str, ids: &[&str]) {
        self.write_through(index, ids.iter().map(|id| put(id, json!({"from": index}))).collect()).await;
    }
}

#[actix_rt::test]
async fn a_deleted_index_is_gone_at_once_and_its_name_is_free() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    node.fill("a", &["1", "2"]).await;
    node.set("a", json!({"searchableAttributes": ["title"]})).await;
    for index in ["a", "a", "never"] {
        let receipt = node.service.delete_index(&name(index)).await.expect("accepted");
        node.published(receipt.task_id).await;
        let missing = node.service.settings(&name(index)).await.expect_err("no index");
        assert_eq!((missing.kind, node.count(index).await), (ErrorKind::NotFound, None));
    }
    node.fill("a", &["3"]).await;
    assert_eq!(node.list().await, "a:1");
    assert_eq!(node.setting("a", "searchableAttributes").await, None);
    node.close().await;
    let node = Node::open(folder.path()).await;
    assert_eq!(node.list().await, "a:1");
    node.close().await;
}

#[actix_rt::test]
async fn a_copy_overwrites_and_then_goes_its_own_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    node.fill("a", &["1", "2"]).await;
    node.set("a", json!({"searchableAttributes": ["title"], "replicas": ["r"]})).await;
    node.fill("b", &["3"]).await;
    node.copy("a", "b").await;
    node.copy("a", "new").await;
    assert_eq!(node.list().await, "a:2 b:2 new:2 r:2");
    assert_eq!(node.get("b", "3").await, None);
    assert_eq!(node.get("b", "1").await, Some(json!({"objectID": "1", "from": "a"})));
    assert_eq!(node.setting("b", "searchableAttributes").await, Some(json!(["title"])));
    assert_eq!(node.setting("b", "replicas").await, None);
    node.fill("b", &["4"]).await;
    node.fill("a", &["5", "6"]).await;
    assert_eq!(node.list().await, "a:4 b:3 new:2 r:4");

    node.copy("missing", "b").await;
    assert_eq!(node.list().await, "a:4 b:0 new:2 r:4");
    node.copy("a", "a").await;
    assert_eq!(node.list().await, "a:4 b:0 new:2 r:4");
    let copy = IndexOperation::Copy { scope: None, keys: false };
    let refused = node.service.operate(&name("b"), &name("a"), copy).await.expect_err("it has replicas");
    assert!(refused.kind == ErrorKind::Invalid && refused.message.contains("replicas"), "{refused}");
    node.close().await;

    let node = Node::open(folder.path()).await;
    assert_eq!(node.list().await, "a:4 b:0 new:2 r:4");
    node.close().await;
}

#[actix_rt::test]
async fn a_copy_with_a_scope_leaves_records_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    node.fill("a", &["1", "2"]).await;
    node.set("a", json!({"searchableAttributes": ["title"], "replicas": ["r"]})).await;
    node.fill("b", &["3"]).await;
    node.set("b", json!({"customRanking": ["desc(n)"], "replicas": ["s"]})).await;
    node.copy_settings("a", "b").await;
    assert_eq!(node.list().await, "a:2 b:1 r:2 s:1");
    assert_eq!(node.setting("b", "searchableAttributes").await, Some(json!(["title"])));
    assert_eq!(node.setting("b", "customRanking").await, None);
    assert_eq!(node.setting("b", "replicas").await, Some(json!(["s"])));
    node.copy_settings("missing", "new").await;
    assert_eq!(node.list().await, "a:2 b:1 new:0 r:2 s:1");
    node.close().await;
}

#[actix_rt::test]
async fn a_move_renames_over_the_destination_which_keeps_its_replicas() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    node.fill("a", &["1", "2"]).await;
    node.fill("b", &["3"]).await;
    node.set("b", json!({"searchableAttributes": ["title"], "replicas": ["r"]})).await;
    node.rename("a", "b").await;
    assert_eq!(node.list().await, "b:2 r:2");
    assert_eq!(node.setting("b", "searchableAttributes").await, None);
    assert_eq!(node.setting("b", "replicas").await, Some(json!(["r"])));
    node.rename("missing", "b").await;
    node.rename("b", "b").await;
    assert_eq!(node.list().await, "b:2 r:2");
    node.rename("b", "c").await;
    assert_eq!(node.list().await, "c:2 r:2");
    assert_eq!(node.setting("c", "replicas").await, Some(json!(["r"])));
    node.close().await;
    let node = Node::open(folder.path()).await;
    assert_eq!(node.list().await, "c:2 r:2");
    node.close().await;
}

#[actix_rt::test]
async fn replacing_all_objects_as_the_official_helper_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    for round in 0..3 {
        let temporary = format!("books_tmp_{round}");
        node.copy_settings("books", &temporary).await;
        let ids: Vec<String> = (0..10 + round).map(|n| format!("{round}-{n}")).collect();
        node.fill(&temporary, &ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
        node.copy_settings("books", &temporary).await;
        node.rename(&temporary, "books").await;
        assert_eq!(node.list().await, format!("books:{}", 10 + round));
    }
    node.close().await;
}

#[actix_rt::test]
async fn a_name_too_many_is_refused_by_every_call_that_makes_an_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let index_limits = IndexLimits { of_group: 3, of_installation: 4 };
    let node = Node::open_with(ServiceOptions { index_limits, ..options(folder.path()) }).await;
    for index in ["a", "b", "c"] {
        node.fill(index, &["1"]).await;
    }
    node.copy("a", "copy").await;
    let (service, full) = (node.service.clone(), "installation has 4 of at most 4");
    let object = |value: serde_json::Value| value.as_object().expect("an object").clone();
    let to_copy = IndexOperation::Copy { scope: None, keys: false };
    let synonym = json!({"objectID": "s", "type": "synonym", "synonyms": ["x", "y"]});
    let raw = RawResource { object_id: "s".into(), document: synonym.to_string().into_bytes() };
    let refused = [
        service.write_records(&name("d"), vec![put("1", json!({}))]).await.map(drop),
        service
            .set_settings(&name("d"), object(json!({"searchableAttributes": ["t"]})), false)
            .await
            .map(drop),
        service.set_settings(&name("a"), object(json!({"replicas": ["r"]})), false).await.map(drop),
        service.operate(&name("a"), &name("d"), to_copy).await.map(drop),
        service
            .change_resources(
                &name("d"),
                ResourceKind::Synonyms,
                ResourceChange::Save(vec![raw]),
                Reach::Index,
            )
            .await
            .map(drop),
    ];
    for (number, refused) in refused.into_iter().enumerate() {
        let error = refused.expect_err("no room");
        assert_eq!(error.kind, ErrorKind::Invalid, "{number}: {error}");
        assert!(error.message.contains("\"indexName\"") && error.message.contains(full), "{number}: {error}");
    }
    assert_eq!(node.list().await, "a:1 b:1 c:1 copy:1");
    // what is there takes everything, also another name, and what goes makes room
    node.fill("a", &["2"]).await;
    node.rename("copy", "other").await;
    node.service.delete_index(&name("other")).await.expect("accepted");
    node.fill("d", &["1"]).await;
    assert_eq!(node.list().await, "a:2 b:1 c:1 d:1");
    node.close().await;
}
