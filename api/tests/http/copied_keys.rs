//! Where do the keys of an index go when it is copied (C§3.2)?

use super::managed_keys::{INDEX, INVALID, check_time};
use super::*;
use serde_json::json;

#[actix_web::test]
async fn c3_2_a_copy_of_an_index_takes_its_keys_along() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"a": 1})).await;
    node.write(Method::PUT, "/1/indexes/copy/o", json!({"a": 1})).await;
    let key = node.index_key("i", json!({"acl": ["search"]})).await;
    let theirs = node.index_key("copy", json!({"acl": ["search"]})).await;
    let copy = |to: &str, scope: Value| json!({"operation": "copy", "destination": to, "scope": scope});
    // not with parts alone
    node.write(Method::POST, "/1/indexes/i/operation", copy("copy", json!(["settings"]))).await;
    node.search(&key, "copy").await.refused(403, INDEX);
    for to in ["copy", "copy", "again"] {
        node.write(Method::POST, "/1/indexes/i/operation", copy(to, Value::Null)).await;
    }
    for index in ["i", "copy", "again"] {
        node.search(&key, index).await.success();
        let shown = node.get(&format!("/1/indexes/{index}/keys/{key}")).await;
        assert_eq!(shown["index"], index);
    }
    node.search(&key, "other").await.refused(403, INDEX);
    node.search(&theirs, "copy").await.success();
    node.search(&theirs, "i").await.refused(403, INDEX);
    let mut both = node.values("/1/indexes/copy/keys").await;
    both.sort();
    let mut expected = [key.clone(), theirs.clone()];
    expected.sort();
    assert_eq!(both, expected);
    assert_eq!(node.values("/1/indexes/*/keys").await.len(), 4);
    // one key: what it may do is changed through each of them
    node.put(&format!("/1/indexes/copy/keys/{key}"), json!({"acl": ["browse"]})).await.success();
    assert_eq!(node.get(&format!("/1/indexes/i/keys/{key}")).await["acl"], json!(["browse"]));
    node.put(&format!("/1/indexes/copy/keys/{key}"), json!({"acl": ["search"]})).await.success();
    // and it is taken away from one alone
    check_time(&node.delete(&format!("/1/indexes/i/keys/{key}")).await.success(), "deletedAt");
    node.search(&key, "i").await.refused(403, INDEX);
    node.search(&key, "copy").await.success();
    // who manages no keys lets none be good for more
    let writer = node.key(json!({"acl": ["addObject"]})).await;
    let body = copy("written", Value::Null).to_string();
    node.call_with(&writer, Method::POST, "/1/indexes/copy/operation", &body).await.success();
    node.search(&key, "written").await.refused(403, INDEX);
    // a copy of a copy, whose key goes by its new name
    node.write(Method::POST, "/1/indexes/again/operation", copy("last", Value::Null)).await;
    node.search(&key, "last").await.success();
    let away = json!({"operation": "move", "destination": "i"});
    node.write(Method::POST, "/1/indexes/last/operation", away).await;
    node.search(&key, "last").await.refused(403, INDEX);
    node.search(&key, "i").await.success();
    for index in ["copy", "i", "again"] {
        node.delete(&format!("/1/indexes/{index}/keys/{key}")).await.success();
    }
    node.search(&key, "again").await.refused(403, INVALID);
    check_time(&node.delete(&format!("/1/indexes/again/keys/{key}")).await.success(), "deletedAt");
    node.post(&format!("/1/keys/{key}/restore"), json!({})).await;
    let left = node.values("/1/indexes/*/keys").await;
    assert!(left.len() == 2 && left.contains(&theirs) && left.contains(&key), "{left:?}");
}
