//! Does every batch body become the right operations, or the right error?

use super::*;
use proptest::prelude::*;
use quorate_model::ApiKey;
use std::sync::Arc;

fn key(acl: &[Acl]) -> Caller {
    let key = ApiKey { indexes: vec!["a*".into()], ..ApiKey::new("k", 0, acl.to_vec()) };
    Caller::Key { key: Arc::new(key), restrictions: vec![], is_secured: false }
}
fn read(caller: Caller, scope: Scope, body: &str) -> Result<Ops> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    Reader { caller, body, scope, record_bytes_max: 100 }.ops()
}
/// Of operations on the index `i`.
fn in_path() -> Scope {
    Scope::PathIndex(IndexName::new("i").unwrap())
}
fn one(body: &str) -> Result<Vec<CallerOp>> {
    read(Caller::Admin, in_path(), body).map(|ops| ops.into_iter().map(|(_, op)| op).collect())
}
#[track_caller]
fn refused(body: &str, start: &str) -> Error {
    let error = one(body).expect_err(body);
    assert!(error.message.starts_with(start), "{body}: {error}");
    error
}

#[test]
fn every_action_becomes_its_operation() {
    let body = r#"{"requests":[
        {"action":"addObject","body":{"a":1}},
        {"body":{"objectID":7,"b":1.0},"action":"updateObject"},
        {"action":"partialUpdateObject","body":{"objectID":"p","n":{"_operation":"Increment","value":2}}},
        {"action":"partialUpdateObjectNoCreate","body":{"objectID":"p","n":1}},
        {"action":"deleteObject","body":{"objectID":"d"}},
        {"action":"clear"},
        {"action":"delete","body":{}}]}"#;
    let ops = one(body).unwrap();
    assert!(matches!(&ops[0], CallerOp::Put { object_id: None, .. }), "{:?}", ops[0]);
    match &ops[1] {
        CallerOp::Put { object_id: Some(id), record } => {
            assert_eq!(id, "7");
            assert!(std::str::from_utf8(record).unwrap().contains("1.0"), "number texts stay");
        }
        other => panic!("{other:?}"),
    }
    let partial = |op: &CallerOp| match op {
        CallerOp::Ready(RecordOp::PartialUpTo { object_id, create, bytes_max, .. }) => {
            (object_id.clone(), *create, *bytes_max)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(partial(&ops[2]), ("p".to_owned(), true, 100));
    assert!(!partial(&ops[3]).1);
    assert!(matches!(&ops[4], CallerOp::Ready(RecordOp::Delete { object_id }) if object_id == "d"));
    assert!(matches!(&ops[5], CallerOp::Ready(RecordOp::Clear)));
    assert!(matches!(&ops[6], CallerOp::DeleteIndex));
    assert!(one(r#"{"requests":[]}"#).unwrap().is_empty());
}

#[test]
fn faults_are_named() {
    refused("{}", "requests is required");
    refused("", "parse error: the body is empty");
    refused("[[]]", "parse error: expected a JSON object");
    refused(
        r#"{"requests":{}}"#,
        "parse error: requests: invalid type: object, expected a list of operations near line:1",
    );
    refused(r#"{"requests":[{"action":7}]}"#, "parse error: requests[0].action: invalid type: integer `7`");
    refused(r#"{"requests":[{"body":{}}]}"#, "action is required in the operation at the position 0");
    refused(r#"{"requests":[{"action":"clear","indexName":"i"},{"action":"clear","indexName":"other"}]}"#, {
        "indexName is other and not i in the operation at the position 1"
    });
    refused(
        r#"{"requests":[5]}"#,
        "parse error: requests[0]: invalid type: integer `5`, expected an object near line:1",
    );
    let error = refused(
        r#"{"requests":[{"action":"clear"},{"action":"addObject"}]}"#,
        "body is required in the operation at the position 1",
    );
    assert_eq!(error.position, Some(1));
    refused(r#"{"requests":[{"action":"updateObject","body":{"a":1}}]}"#, "objectID is required");
    refused(r#"{"requests":[{"action":"deleteObject","body":{}}]}"#, "objectID is required");
    let error = refused(
        &format!(
            r#"{{"requests":[{{"action":"clear"}},{{"action":"addObject","body":{{"objectID":"x","t":"{}"}}}}]}}"#,
            "y".repeat(100)
        ),
        "Record at the position 1 objectID=x is too big size=",
    );
    assert_eq!((error.position, error.object_id.as_deref()), (Some(1), Some("x")));
    let error = refused(r#"{"requests":[{"action":"nonsense"}]}"#, "");
    assert!(error.message.contains("nonsense"), "{error}");
    let deep = format!(
        r#"{{"requests":[{{"action":"addObject","body":{}{}}}]}}"#,
        "[".repeat(9_000),
        "]".repeat(9_000)
    );
    refused(&deep, "");
}

#[test]
fn rights_are_checked_for_each_operation_with_its_place() {
    let add = r#"{"requests":[{"action":"addObject","body":{"a":1}}]}"#;
    let delete = r#"{"requests":[{"action":"addObject","body":{}},{"action":"deleteObject","body":{"objectID":"1"}}]}"#;
    let clear = r#"{"requests":[{"action":"clear"}]}"#;
    let refused = |acl: &[Acl], body: &str| read(key(acl), in_path(), body).unwrap_err().message;
    assert!(
        refused(&[Acl::Search], add).starts_with("Not enough rights to update an object near line:1 column:")
    );
    assert_eq!(
        refused(&[Acl::AddObject], delete),
        format!("Not enough rights to delete an object near line:1 column:{}", delete.len() - 2)
    );
    assert_eq!(
        refused(&[Acl::DeleteObject], clear),
        "Not enough rights to delete an object near line:1 column:30"
    );
    assert_eq!(refused(&[Acl::Search], r#"{"requests":[]}"#), "Method not allowed with this API key");
    assert!(read(key(&[Acl::AddObject, Acl::DeleteObject]), in_path(), delete).is_ok());
}

#[test]
fn each_index_of_a_multi_batch_is_checked() {
    let body =
        |name: &str| format!(r#"{{"requests":[{{"indexName":"{name}","action":"addObject","body":{{}}}}]}}"#);
    let read = |name: &str| read(key(&[Acl::AddObject]), Scope::EachNamesIndex, &body(name));
    assert_eq!(read("ab").unwrap()[0].0.as_ref().unwrap().as_str(), "ab");
    assert_eq!(read("b").unwrap_err().message, "Index not allowed with this API key");
    assert!(read("").is_err());
    let unnamed = super::Reader {
        caller: Caller::Admin,
        body: Bytes::from_static(br#"{"requests":[{"action":"clear"}]}"#),
        scope: Scope::EachNamesIndex,
        record_bytes_max: 100,
    };
    assert_eq!(
        unnamed.ops().unwrap_err().message,
        "indexName is required in the operation at the position 0"
    );
}

#[test]
fn the_number_of_operations_is_bounded() {
    let item = r#"{"action":"clear"}"#;
    let body = format!("{{\"requests\":[{}]}}", vec![item; limits::BATCH_OPS_MAX + 1].join(","));
    refused(&body, "parse error: requests: a batch has at most 100000 operations");
}

proptest! {
    #[test]
    fn any_bytes_are_answered(body in "[\\[\\]{}\",:a1 ]{0,100}") {
        let _ = one(&body);
    }
    #[test]
    fn any_body_of_an_operation_is_answered(inner in "[\\[\\]{}\",:a1_ ]{0,60}", action in 0usize..6) {
        let actions = ["addObject", "updateObject", "partialUpdateObject", "deleteObject", "clear", "delete"];
        let body = format!(r#"{{"requests":[{{"action":"{}","body":{inner}}}]}}"#, actions[action]);
        let _ = one(&body);
    }
}
