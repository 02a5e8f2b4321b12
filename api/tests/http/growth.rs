//! How large may a record become by partial updates?

use super::*;
use serde_json::json;

const PARTIAL: &str = "/1/indexes/i/a/partial";
const BATCH: &str = "/1/indexes/i/batch";

/// Adds 300 letters to a list.
fn add(letter: &str) -> Value {
    json!({"tags": {"_operation": "Add", "value": letter.repeat(300)}})
}
/// The same of a record, as an operation of a batch.
fn grow(id: &str, letter: &str) -> Value {
    let mut body = add(letter);
    body["objectID"] = json!(id);
    json!({"action": "partialUpdateObject", "body": body})
}

#[actix_web::test]
async fn partial_updates_make_no_record_larger_than_it_may_be() {
    let node = Node::start().await;
    for letter in ["x", "y", "z"] {
        node.write(Method::POST, PARTIAL, add(letter)).await;
    }
    let too_big = "Record is too big size=1237/1000 bytes.";
    node.call(Method::POST, PARTIAL, &add("w").to_string()).await.refused(400, too_big);
    let other = json!({"action": "partialUpdateObject", "body": {"objectID": "b", "n": 1}});
    let mut both = [other, grow("a", "w")];
    let named = "Record at the position 1 objectID=a is too big size=1237/1000 bytes.";
    node.call(Method::POST, BATCH, &json!({"requests": both}).to_string()).await.refused(400, named);
    node.call(Method::GET, "/1/indexes/i/b", "").await.refused(404, "ObjectID does not exist");
    // of several indices none is written to, and the place is that among all
    for (operation, index) in both.iter_mut().zip(["other", "i"]) {
        operation["indexName"] = json!(index);
    }
    let several = json!({"requests": both}).to_string();
    node.call(Method::POST, "/1/indexes/*/batch", &several).await.refused(400, named);
    node.call(Method::GET, "/1/indexes/other/settings", "").await.refused(404, "Index other does not exist");
    // what takes another one's place adds nothing
    node.write(Method::POST, PARTIAL, json!({"tags": ["v".repeat(900)]})).await;
}

#[actix_web::test]
async fn what_comes_before_an_update_or_was_answered_before_it_counts() {
    let node = Node::start().await;
    let fill = json!({"action": "addObject", "body": {"objectID": "a", "tags": ["x".repeat(900)]}});
    for first in [
        json!({"action": "deleteObject", "body": {"objectID": "a"}}),
        json!({"action": "clear", "body": {}}),
        json!({"action": "addObject", "body": {"objectID": "a"}}),
        json!({"action": "partialUpdateObject", "body": {"objectID": "a", "tags": []}}),
    ] {
        node.write(Method::POST, BATCH, json!({"requests": [fill]})).await;
        node.write(Method::POST, BATCH, json!({"requests": [first, grow("a", "w")]})).await;
        assert_eq!(node.get("/1/indexes/i/a").await["tags"], json!(["w".repeat(300)]), "{first}");
        node.write(Method::POST, BATCH, json!({"requests": [fill]})).await;
        node.call(Method::POST, BATCH, &json!({"requests": [first]}).to_string()).await.success();
        node.write(Method::POST, PARTIAL, add("v")).await;
        assert_eq!(node.get("/1/indexes/i/a").await["tags"], json!(["v".repeat(300)]), "{first}");
    }
}

#[actix_web::test]
async fn updates_of_one_moment_that_come_to_too_much_change_nothing() {
    let node = Node::start().await;
    let mut updates = vec![grow("c", "g"); 10];
    let named = "Record at the position 3 objectID=c is too big";
    node.call(Method::POST, BATCH, &json!({"requests": updates}).to_string()).await.refused(400, named);
    node.call(Method::GET, "/1/indexes/i/c", "").await.refused(404, "Index i does not exist");
    updates.push(json!({"action": "partialUpdateObject", "body": {"objectID": "c", "last": true}}));
    let sent = updates.iter().map(async |update| {
        let body = json!({"requests": [update]}).to_string();
        node.call(Method::POST, BATCH, &body).await
    });
    futures_util::future::join_all(sent).await;
    node.write(Method::POST, BATCH, json!({"requests": []})).await;
    let record = node.get("/1/indexes/i/c").await;
    assert!(record["tags"].as_array().unwrap().len() <= 3, "{record}");
    assert_eq!(record["last"], json!(true));
}
