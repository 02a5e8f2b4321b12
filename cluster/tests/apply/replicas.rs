//! Indices that follow others (C§3.2): who is filled with what, who may be written to, what outlives moves and accidents.

use crate::crash_copy::copy_folder;
use crate::harness::{Node, delete, name, put};
use quorate_cluster::{CallerOp, IndexOperation, ReadRights};
use quorate_model::{ErrorKind, RecordOp, SearchParams};
use serde_json::{Value, json};

impl Node {
    /// The ids that a search without a query finds, in its order.
    async fn found(&self, index: &str) -> String {
        let searched =
            self.service.search(&name(index), SearchParams::default(), ReadRights::default()).await;
        let results = searched.unwrap_or_else(|error| panic!("{index}: {error}"));
        let id = |hit: &[u8]| {
            let hit: Value = serde_json::from_slice(hit).expect("JSON");
            hit["objectID"].as_str().expect("an id").to_owned()
        };
        results.hits.iter().map(id).collect::<Vec<_>>().join(" ")
    }
    async fn refused(&self, index: &str, settings: Value) -> (ErrorKind, String) {
        let Value::Object(changes) = settings else { panic!("{settings} is no object") };
        let error = self.service.set_settings(&name(index), changes, false).await.expect_err("refused");
        (error.kind, error.message)
    }
    async fn move_over(&self, source: &str, destination: &str) {
        let moved = self.service.operate(&name(source), &name(destination), IndexOperation::Move).await;
        self.published(moved.expect("an accepted move").task_id).await;
    }
    /// `name<primary` or `name[replicas]` of every index.
    async fn links(&self) -> String {
        let names = self.service.index_names().expect("names");
        let rows = self.service.indices(&names).await.expect("a list");
        let shown = rows.iter().map(|row| match &row.primary {
            Some(primary) => format!("{}<{primary}", row.name),
            None => format!("{}[{}]", row.name, row.replicas.join(" ")),
        });
        shown.collect::<Vec<_>>().join(" ")
    }
}

/// Three records, of which `n` grows and `m` falls with the id.
fn three() -> Vec<CallerOp> {
    (1..=3)
        .map(|n| put(&n.to_string(), json!({"n": n, "m": -n, "kind": if n < 3 { "x" } else { "y" }})))
        .collect()
}

/// A primary with two replicas in opposite orders, linked before or after the records are there.
async fn build(node: &Node) {
    let settings = json!({"replicas": ["up", "down"], "attributesForFaceting": ["kind"]});
    node.set("p", settings).await;
    node.set("up", json!({"ranking": ["asc(n)"], "attributesForFaceting": null})).await;
    node.set("down", json!({"ranking": ["desc(n)"]})).await;
    node.write_through("p", three()).await;
}

#[actix_rt::test]
async fn a_write_to_the_primary_is_one_task_for_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    build(&node).await;
    assert_eq!((node.found("up").await, node.found("down").await), ("1 2 3".into(), "3 2 1".into()));

    let partial = |id: &str, value: i64| {
        let changes = json!({"n": {"_operation": "Increment", "value": value}}).to_string().into_bytes();
        CallerOp::Ready(RecordOp::Partial { object_id: id.into(), changes, create: false })
    };
    node.write_through("p", vec![partial("1", 10), delete("2"), put("4", json!({"n": 5, "kind": "x"}))])
        .await;
    assert_eq!((node.found("up").await, node.found("down").await), ("3 4 1".into(), "1 4 3".into()));

    // by the primary's settings, although a replica cannot filter by it
    let by_query = RecordOp::DeleteBy { params: br#"{"filters":"kind:y"}"#.to_vec() };
    node.write_through("p", vec![CallerOp::Ready(by_query)]).await;
    assert_eq!((node.found("p").await.len(), node.found("up").await), (3, "4 1".into()));
    node.write_through("p", vec![CallerOp::Ready(RecordOp::Clear)]).await;
    assert_eq!(node.list().await, "down:0 p:0 up:0");
    node.close().await;
}

#[actix_rt::test]
async fn linking_fills_and_unlinking_leaves() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    node.write_through("p", three()).await;
    node.set("p", json!({"hitsPerPage": 7, "customRanking": ["desc(m)"], "searchableAttributes": ["kind"]}))
        .await;
    node.write_through("taken", vec![put("own", json!({}))]).await;
    node.set("taken", json!({"ranking": ["desc(n)"], "hitsPerPage": 9})).await;
    node.set("p", json!({"replicas": ["fresh", "taken"]})).await;
    // a new replica takes over settings but for the order; a name that was taken keeps its own
    assert_eq!(node.setting("fresh", "hitsPerPage").await, Some(json!(7)));
    assert_eq!(node.setting("fresh", "searchableAttributes").await, Some(json!(["kind"])));
    assert_eq!(node.setting("fresh", "customRanking").await, None);
    assert_eq!((node.found("fresh").await.len(), node.found("taken").await), (5, "3 2 1".into()));
    assert_eq!(node.setting("taken", "hitsPerPage").await, Some(json!(9)));
    assert_eq!(node.links().await, "fresh<p p[fresh taken] taken<p");
    assert_eq!(node.setting("p", "replicas").await, Some(json!(["fresh", "taken"])));

    node.set("p", json!({"replicas": ["fresh"]})).await;
    node.write_through("p", vec![delete("1")]).await;
    assert_eq!((node.found("fresh").await, node.found("taken").await), ("3 2".into(), "3 2 1".into()));
    node.write_through("taken", vec![put("own", json!({"n": 0}))]).await;
    assert_eq!(node.found("taken").await, "3 2 1 own");
    node.set("p", json!({"replicas": null})).await;
    assert_eq!(node.links().await, "fresh[] p[] taken[]");
    node.service.delete_index(&name("fresh")).await.expect("not linked any more");
    assert_eq!(node.list().await, "p:2 taken:4");
    node.close().await;
    let node = Node::open(folder.path()).await;
    assert_eq!(node.list().await, "p:2 taken:4");
    node.close().await;
}

#[actix_rt::test]
async fn what_cannot_be_linked_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    node.set("p", json!({"replicas": ["r"]})).await;
    node.set("other", json!({"replicas": ["s", "virtual(v)"]})).await;
    let many: Vec<String> = (0..21).map(|n| format!("virtual(v{n})")).collect();
    for (index, replicas, text) in [
        ("p", json!(["r", "p"]), "p cannot be a replica of itself"),
        ("p", json!(["r", "virtual(r)"]), "replicas names r more than once"),
        ("p", json!(["s"]), "s is a replica of other: unlink it there first"),
        ("p", json!(["other"]), "other has replicas: it cannot be a replica of p"),
        ("r", json!(["x"]), "r is a replica of p: it cannot have replicas"),
        ("p", json!(many), "at most 20 virtual replicas"),
    ] {
        let (kind, message) = node.refused(index, json!({"replicas": replicas, "hitsPerPage": 3})).await;
        assert!(kind == ErrorKind::Invalid && message.contains(text), "{message}");
        assert_eq!(node.setting(index, "hitsPerPage").await, None, "{text}");
    }
    let (kind, message) =
        node.refused("v", json!({"searchableAttributes": ["a"], "customRanking": ["desc(n)"]})).await;
    assert_eq!(kind, ErrorKind::Forbidden);
    assert_eq!(message, "The following settings are forbidden in virtual replicas: searchableAttributes");
    node.set("r", json!({"replicas": []})).await;
    assert_eq!(node.links().await, "other[s virtual(v)] p[r] r<p s<other v<other");

    for index in ["r", "v"] {
        let written = node.service.write_records(&name(index), vec![put("1", json!({}))]).await;
        assert_eq!(written.expect_err("a replica").kind, ErrorKind::Forbidden);
        let deleted = node.service.delete_index(&name(index)).await.expect_err("linked");
        assert_eq!(deleted.message, "cannot delete a replica index; unlink it from its primary first");
        for operation in [IndexOperation::Move, IndexOperation::Copy { scope: None, keys: false }] {
            let over = node.service.operate(&name("other"), &name(index), operation).await;
            assert_eq!(over.expect_err("a replica").kind, ErrorKind::Forbidden);
        }
        let away = node.service.operate(&name(index), &name("free"), IndexOperation::Move).await;
        assert_eq!(away.expect_err("a replica").kind, ErrorKind::Forbidden);
    }
    node.close().await;
}

#[actix_rt::test]
async fn a_move_that_would_join_too_many_replicas_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    let names = |prefix: &str| (0..11).map(|n| format!("virtual({prefix}{n})")).collect::<Vec<_>>();
    node.set("p", json!({"replicas": names("v")})).await;
    node.set("t", json!({"replicas": names("w")})).await;
    let refused = node.service.operate(&name("t"), &name("p"), IndexOperation::Move).await;
    let error = refused.expect_err("22 replicas");
    let text = "cannot move to p: it would have 22 replicas, 11 of them brought along; an index has at most 20 virtual replicas";
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Invalid, text));
    assert_eq!(node.service.index_names().expect("names").len(), 24);
    node.set("t", json!({"replicas": &names("w")[..9]})).await;
    node.move_over("t", "p").await;
    assert_eq!(node.links().await.matches("<p").count(), 20);
    node.close().await;
}

/// More records than are rebuilt while writes wait.
const MANY: i64 = 3_000;

fn many(from: i64) -> Vec<CallerOp> {
    (from..from + MANY).map(|n| put(&n.to_string(), json!({"n": n, "m": -n}))).collect()
}

#[actix_rt::test]
async fn a_task_that_fills_replicas_is_published_when_they_serve_their_own_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    let first = async |index: &str| node.found(index).await.split(' ').next().unwrap_or_default().to_owned();
    node.set("down", json!({"ranking": ["desc(n)"]})).await;
    node.set("p", json!({"customRanking": ["asc(n)"]})).await;
    node.write_through("p", many(0)).await;
    node.set("p", json!({"replicas": ["down"]})).await;
    assert_eq!((first("p").await, first("down").await), ("0".into(), "2999".into()));
    node.set("t", json!({"customRanking": ["asc(n)"]})).await;
    node.write_through("t", many(5_000)).await;
    node.move_over("t", "p").await;
    assert_eq!((first("p").await, first("down").await), ("5000".into(), "7999".into()));
    // with the list in the same call, forwarded
    let Value::Object(changes) = json!({"replicas": ["down", "late"], "attributesForFaceting": ["n"]}) else {
        panic!("no object")
    };
    let receipt = node.service.set_settings(&name("p"), changes, true).await.expect("accepted");
    node.published(receipt.task_id).await;
    for index in ["p", "down", "late"] {
        assert_eq!(node.setting(index, "attributesForFaceting").await, Some(json!(["n"])), "{index}");
        assert_eq!(node.count(index).await, Some(3_000), "{index}");
    }
    assert_eq!(first("down").await, "7999");
    node.close().await;
}

#[actix_rt::test]
async fn settings_are_forwarded_in_one_task() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    node.set("p", json!({"replicas": ["r", "virtual(v)"]})).await;
    let Value::Object(changes) =
        json!({"hitsPerPage": 4, "searchableAttributes": ["kind"], "replicas": ["r", "virtual(v)", "late"]})
    else {
        panic!("no object")
    };
    let receipt = node.service.set_settings(&name("p"), changes, true).await.expect("accepted");
    node.published(receipt.task_id).await;
    for index in ["p", "r", "late", "v"] {
        assert_eq!(node.setting(index, "hitsPerPage").await, Some(json!(4)), "{index}");
        assert_eq!(node.setting(index, "searchableAttributes").await, Some(json!(["kind"])), "{index}");
    }
    assert_eq!(node.setting("r", "replicas").await, None);
    node.set("p", json!({"hitsPerPage": 5})).await;
    assert_eq!(node.setting("r", "hitsPerPage").await, Some(json!(4)));
    node.close().await;
}

#[actix_rt::test]
async fn a_move_keeps_links_and_a_deleted_primary_ends_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    build(&node).await;
    for index in ["p_tmp", "p_tmp2"] {
        let records = (5..8).map(|n| put(&n.to_string(), json!({"n": n})));
        node.write_through(index, records.collect()).await;
        node.move_over(index, "p").await;
        assert_eq!((node.found("up").await, node.found("down").await), ("5 6 7".into(), "7 6 5".into()));
        assert_eq!(node.links().await, "down<p p[up down] up<p");
        assert_eq!(node.setting("up", "ranking").await, Some(json!(["asc(n)"])));
    }
    node.write_through("p", vec![delete("6")]).await;
    assert_eq!(node.found("down").await, "7 5");
    node.move_over("p", "q").await;
    node.write_through("q", vec![delete("5")]).await;
    assert_eq!(
        (node.links().await, node.list().await),
        ("down<q q[up down] up<q".into(), "down:1 q:1 up:1".into())
    );
    node.close().await;

    let node = Node::open(folder.path()).await;
    node.service.delete_index(&name("q")).await.expect("accepted");
    assert_eq!(node.links().await, "down[] up[]");
    node.write_through("up", vec![put("own", json!({"n": 9}))]).await;
    assert_eq!((node.found("up").await, node.found("down").await), ("7 own".into(), "7".into()));
    node.close().await;
}

#[actix_rt::test]
async fn a_copy_of_a_replica_is_an_index_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    build(&node).await;
    node.set("p", json!({"replicas": ["up", "down", "virtual(v)"]})).await;
    node.set("v", json!({"customRanking": ["asc(m)"]})).await;
    for (source, copy) in [("down", "a"), ("v", "b"), ("p", "c")] {
        let operation = IndexOperation::Copy { scope: None, keys: false };
        let copied = node.service.operate(&name(source), &name(copy), operation).await.expect("a copy");
        node.published(copied.task_id).await;
    }
    assert_eq!(node.setting("b", "customRanking").await, Some(json!(["asc(m)"])), "its own order");
    assert_eq!(node.setting("b", "attributesForFaceting").await, Some(json!(["kind"])), "of its primary");
    assert_eq!(node.found("b").await, "3 2 1");
    let scope = Some(vec!["settings".to_owned()]);
    let copied =
        node.service.operate(&name("v"), &name("d"), IndexOperation::Copy { scope, keys: false }).await;
    node.published(copied.expect("a copy").task_id).await;
    assert_eq!(node.setting("d", "attributesForFaceting").await, Some(json!(["kind"])));
    node.service.delete_index(&name("d")).await.expect("accepted");
    assert_eq!(node.links().await, "a[] b[] c[] down<p p[up down virtual(v)] up<p v<p");
    node.write_through("p", vec![CallerOp::Ready(RecordOp::Clear)]).await;
    assert_eq!(node.found("a").await, "3 2 1");
    assert_eq!((node.count("b").await, node.count("c").await), (Some(3), Some(3)));
    node.close().await;
}

#[actix_rt::test]
async fn a_copy_is_published_when_its_settings_are_in_force() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    node.set("p", json!({"customRanking": ["asc(n)"]})).await;
    node.write_through("p", many(0)).await;
    let Value::Object(changes) = json!({"customRanking": ["desc(n)"]}) else { panic!("no object") };
    node.service.set_settings(&name("p"), changes, false).await.expect("accepted");
    // the source is being rebuilt
    let operation = IndexOperation::Copy { scope: None, keys: false };
    let copied = node.service.operate(&name("p"), &name("c"), operation).await.expect("a copy");
    node.published(copied.task_id).await;
    assert_eq!(node.found("c").await.split(' ').next(), Some("2999"));
    node.close().await;
}

#[actix_rt::test]
async fn a_name_changes_its_kind_without_changing_its_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    build(&node).await;
    node.set("down", json!({"hitsPerPage": 2})).await;
    node.set("p", json!({"replicas": ["virtual(down)", "up"]})).await;
    assert_eq!(node.setting("down", "hitsPerPage").await, Some(json!(2)));
    node.set("p", json!({"replicas": ["down", "up"]})).await;
    node.write_through("p", vec![delete("2")]).await;
    assert_eq!(
        (node.count("down").await, node.setting("down", "hitsPerPage").await),
        (Some(2), Some(json!(2)))
    );
    node.set("p", json!({"replicas": ["virtual(down)"]})).await;
    node.set("p", json!({"replicas": []})).await;
    assert_eq!(node.list().await, "down:0 p:2 up:2");
    node.close().await;
}

#[actix_rt::test]
async fn a_killed_node_feeds_its_replicas_as_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut at = folder.path().join("0");
    let mut node = Node::open(&at).await;
    build(&node).await;
    for round in 1..=4_usize {
        match round {
            1 => drop(node.write("p", vec![put("4", json!({"n": 4, "kind": "y"}))]).await),
            2 => {
                let by_query = RecordOp::DeleteBy { params: br#"{"filters":"kind:x"}"#.to_vec() };
                node.write("p", vec![CallerOp::Ready(by_query), put("5", json!({"n": 5}))]).await;
            }
            3 => {
                let Value::Object(changes) = json!({"replicas": ["up", "late"]}) else { panic!("no object") };
                node.service.set_settings(&name("p"), changes, false).await.expect("accepted");
            }
            _ => {
                node.write_through("t", vec![put("8", json!({"n": 8}))]).await;
                node.service.operate(&name("t"), &name("p"), IndexOperation::Move).await.expect("accepted");
            }
        }
        let next = folder.path().join(round.to_string());
        copy_folder(&at, &next);
        if round % 2 == 0 {
            std::fs::remove_dir_all(next.join("state")).expect("removed");
        }
        node.close().await;
        at = next;
        node = Node::open(&at).await;
        let last = node.write_through("p", vec![put("9", json!({"n": 9}))]).await;
        assert!(last.task_id.0 > 0);
        let (up, others) = (node.found("up").await, node.list().await);
        let expected = match round {
            1 => ("1 2 3 4 9", "down:5 p:5 up:5"),
            2 => ("3 4 5 9", "down:4 p:4 up:4"),
            3 => ("3 4 5 9", "down:4 late:4 p:4 up:4"),
            _ => ("8 9", "down:4 late:2 p:2 up:2"),
        };
        assert_eq!((up.as_str(), others.as_str()), expected, "round {round}");
    }
    node.close().await;
}
