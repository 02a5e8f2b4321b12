//! What does a write answer once it is on disk (C§3.5, C§3.1, C§14)?

use crate::json::{self, Object};
use quorate_model::{IndexName, TaskId};
use std::collections::BTreeMap;

/// Which time members an answer carries: typed clients want the one the card leaves out as well (C§3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// `updatedAt`.
    Updated,
    /// `createdAt` and `updatedAt`.
    CreatedAndUpdated,
    /// `deletedAt` and `updatedAt`.
    DeletedAndUpdated,
}

/// `taskID`, the time members and, when given, `objectID`.
pub fn receipt_body(task: TaskId, at: &str, stamps: Stamps, object_id: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    let mut object = Object::open(&mut out);
    match stamps {
        Stamps::Updated => {}
        Stamps::CreatedAndUpdated => {
            object.string("createdAt", at);
        }
        Stamps::DeletedAndUpdated => {
            object.string("deletedAt", at);
        }
    }
    object.string("updatedAt", at).integer("taskID", task.0);
    if let Some(object_id) = object_id {
        object.string("objectID", object_id);
    }
    object.close();
    out
}

/// The answer to a batch on one index: one id per operation that names a record (C§3.5).
pub fn batch_body(task: TaskId, object_ids: &[String]) -> Vec<u8> {
    let mut out = Vec::with_capacity(48 + object_ids.iter().map(|id| id.len() + 3).sum::<usize>());
    let mut object = Object::open(&mut out);
    object.integer("taskID", task.0).strings("objectIDs", object_ids.iter().map(String::as_str));
    object.close();
    out
}

/// The answer to a batch on several indices: `taskID` maps index names to tasks.
pub fn multi_batch_body(tasks: &BTreeMap<IndexName, TaskId>, object_ids: &[String], at: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    let ids = object.member("taskID");
    ids.push(b'{');
    for (at, (name, task)) in tasks.iter().enumerate() {
        if at > 0 {
            ids.push(b',');
        }
        json::string(ids, name.as_str());
        ids.push(b':');
        json::integer(ids, task.0);
    }
    ids.push(b'}');
    object.strings("objectIDs", object_ids.iter().map(String::as_str)).string("createdAt", at);
    object.close();
    out
}

/// The state of a task, and whether its index has others that are not published (C§14).
pub fn task_body(is_published: bool, has_others: bool) -> &'static [u8] {
    match (is_published, has_others) {
        (true, false) => br#"{"status":"published","pendingTask":false}"#,
        (true, true) => br#"{"status":"published","pendingTask":true}"#,
        (false, _) => br#"{"status":"notPublished","pendingTask":true}"#,
    }
}

/// The answer to a multi-get: raw records in request order, `null` where there is none.
pub fn objects_body(records: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(16 + records.iter().flatten().map(|r| r.len() + 1).sum::<usize>());
    let mut object = Object::open(&mut out);
    json::list(object.member("results"), records, |out, record| {
        out.extend_from_slice(record.as_deref().unwrap_or(b"null"));
    });
    object.close();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn bodies_have_the_members_strict_clients_read() {
        let at = "2024-01-01T00:00:00.000Z";
        assert_eq!(
            text(receipt_body(TaskId(7), at, Stamps::DeletedAndUpdated, None)),
            format!(r#"{{"deletedAt":"{at}","updatedAt":"{at}","taskID":7}}"#)
        );
        assert_eq!(
            text(receipt_body(TaskId(7), at, Stamps::CreatedAndUpdated, Some("x"))),
            format!(r#"{{"createdAt":"{at}","updatedAt":"{at}","taskID":7,"objectID":"x"}}"#)
        );
        assert_eq!(
            text(batch_body(TaskId(1), &["a".into(), "b".into()])),
            r#"{"taskID":1,"objectIDs":["a","b"]}"#
        );
        let tasks = BTreeMap::from([
            (IndexName::new("a").unwrap(), TaskId(1)),
            (IndexName::new("b\"").unwrap(), TaskId(2)),
        ]);
        assert_eq!(
            text(multi_batch_body(&tasks, &[], at)),
            format!(r#"{{"taskID":{{"a":1,"b\"":2}},"objectIDs":[],"createdAt":"{at}"}}"#)
        );
        assert_eq!(
            text(objects_body(&[Some(b"{\"objectID\":\"1\"}".to_vec()), None])),
            r#"{"results":[{"objectID":"1"},null]}"#
        );
    }
}
