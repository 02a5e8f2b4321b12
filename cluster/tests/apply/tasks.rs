//! What a task id answers (C§1.6).

use crate::harness::{Node, name, put};
use quorate_model::{GroupId, TaskId};
use serde_json::json;

#[actix_rt::test]
async fn any_id_ever_issued_is_published_in_the_end_and_others_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    let mut tasks = vec![];
    for index in ["a", "b", "c"] {
        tasks.push(node.write_through(index, vec![put("1", json!({}))]).await.task_id);
    }
    let deleted = node.service.delete_index(&name("b")).await.expect("accepted").task_id;
    node.published(deleted).await;
    tasks.push(deleted);
    let last = tasks[0];
    let beyond = [
        TaskId::new(last.group(), last.log_index() + 1_000),
        TaskId::new(GroupId::META, 1 << 40),
        TaskId::new(GroupId(4_000), 1),
        TaskId(u64::MAX >> 11),
    ];
    node.close().await;

    // old ids are published as soon as the node answers, whatever became of their index
    let node = Node::open(folder.path()).await;
    for task in tasks {
        assert!(node.service.is_published(task).await.expect("an answer"), "{task:?}");
    }
    for task in beyond {
        assert!(!node.service.is_published(task).await.expect("an answer"), "{task:?}");
    }
    node.close().await;
}
