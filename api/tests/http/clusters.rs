//! Are users mapped to clusters as C§15 says?
//!
//! - `POST /1/clusters/mapping`: admin
//! - `POST /1/clusters/mapping/batch`: admin
//! - `GET /1/clusters/mapping/top`: admin
//! - `GET /1/clusters/mapping/{userID}`: admin
//! - `GET /1/clusters`: admin
//! - `GET /1/clusters/mapping`: admin
//! - `DELETE /1/clusters/mapping/{userID}`: admin
//! - `DELETE /1/clusters/mapping`: admin
//! - `POST /1/clusters/mapping/search`: admin
//! - `GET /1/clusters/mapping/pending`: admin

use super::*;
use serde_json::json;

async fn multi_cluster() -> Node {
    Node::start_with(|options| options.cluster.multi_cluster = true).await
}

impl Node {
    /// A call with the admin key for a user.
    async fn call_for(&self, user: &str, method: Method, uri: &str, body: Value) -> Answer {
        let request = test::TestRequest::default()
            .method(method)
            .uri(uri)
            .insert_header(("X-Service-Application-Id", APP))
            .insert_header(("X-Service-API-Key", ADMIN))
            .insert_header(("X-Service-User-ID", user))
            .set_payload(body.to_string());
        self.send(request).await
    }
    async fn assign(&self, user: &str) {
        let answer =
            self.call_for(user, Method::POST, "/1/clusters/mapping", json!({"cluster": "main"})).await;
        assert!(answer.success()["createdAt"].as_str().unwrap().ends_with('Z'));
    }
    /// Asks until the answer is as wanted.
    async fn until(&self, uri: &str, is_reached: impl Fn(&Answer) -> bool) -> Answer {
        for _ in 0..1_500 {
            let answer = self.call(Method::GET, uri, "").await;
            if is_reached(&answer) {
                return answer;
            }
            actix_rt::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{uri} did not come to the wanted answer in time");
    }
}

#[actix_web::test]
async fn c15_without_the_option_there_are_only_the_clusters() {
    let node = Node::start().await;
    let clusters = node.get("/1/clusters").await;
    let main = json!({"clusterName": "main", "nbRecords": 0, "nbUserIDs": 0, "dataSize": 0});
    assert_eq!(clusters, json!({"clusters": [main]}));
    for (method, uri, body) in [
        (Method::POST, "/1/clusters/mapping?x-algolia-user-id=u", json!({"cluster": "main"})),
        (Method::POST, "/1/clusters/mapping/batch", json!({"cluster": "main", "users": ["u"]})),
        (Method::GET, "/1/clusters/mapping/top", json!({})),
        (Method::GET, "/1/clusters/mapping/u", json!({})),
        (Method::GET, "/1/clusters/mapping", json!({})),
        (Method::DELETE, "/1/clusters/mapping/u", json!({})),
        (Method::POST, "/1/clusters/mapping/search", json!({"query": "u"})),
        (Method::GET, "/1/clusters/mapping/pending", json!({})),
        // also what is wrong with them
        (Method::POST, "/1/clusters/mapping", json!({"cluster": "main"})),
        (Method::POST, "/1/clusters/mapping/batch", json!({"cluster": "main"})),
        (Method::DELETE, "/1/clusters/mapping/u_u", json!({})),
        (Method::POST, "/1/clusters/mapping/search", json!({"query": 1})),
    ] {
        let answer = node.call(method, uri, &body.to_string()).await;
        answer.refused(402, "Multi-cluster user mapping is not enabled");
    }
}

#[actix_web::test]
async fn s4_10_users_are_assigned_listed_found_and_removed() {
    let node = multi_cluster().await;
    node.assign("jane-doe").await;
    node.assign("jane-doe").await;
    let batch = json!({"cluster": "main", "users": ["Jane Roe", "john.7", "jane-doe"]});
    assert!(node.post("/1/clusters/mapping/batch", batch).await["createdAt"].is_string());

    let record = |user: &str| json!({"userID": user, "clusterName": "main", "nbRecords": 0, "dataSize": 0});
    assert_eq!(node.get("/1/clusters/mapping/Jane%20Roe").await, record("Jane Roe"));
    let all = [record("Jane Roe"), record("jane-doe"), record("john.7")];
    assert_eq!(
        node.get("/1/clusters/mapping").await,
        json!({"userIDs": all, "page": 0, "hitsPerPage": 1000})
    );
    let second = node.get("/1/clusters/mapping?page=1&hitsPerPage=1").await;
    assert_eq!(second, json!({"userIDs": [record("jane-doe")], "page": 1, "hitsPerPage": 1}));
    assert_eq!(
        node.get("/1/clusters/mapping?page=9").await,
        json!({"userIDs": [], "page": 9, "hitsPerPage": 1000})
    );
    assert_eq!(node.get("/1/clusters/mapping/top").await, json!({"topUsers": {"main": all}}));
    assert_eq!(node.get("/1/clusters").await["clusters"][0]["nbUserIDs"], 3);
    assert_eq!(node.get("/1/clusters/mapping/pending").await, json!({"pending": false}));
    let named = node.get("/1/clusters/mapping/pending?getClusters=true").await;
    assert_eq!(named, json!({"pending": false, "clusters": {}}));

    let search = json!({"query": "jan d", "cluster": "main", "page": 0, "hitsPerPage": 2});
    let found = node.post("/1/clusters/mapping/search", search).await;
    assert_eq!((&found["nbHits"], &found["page"], &found["hitsPerPage"]), (&json!(1), &json!(0), &json!(2)));
    assert!(found["updatedAt"].as_u64().unwrap() > 1_600_000_000);
    let hit = &found["hits"][0];
    assert_eq!((&hit["userID"], &hit["objectID"]), (&json!("jane-doe"), &json!("jane-doe")));
    let highlight = &hit["_highlightResult"]["userID"];
    assert_eq!(highlight["value"], "<em>jan</em>e-<em>d</em>oe");
    assert_eq!(
        (&highlight["matchLevel"], &highlight["matchedWords"]),
        (&json!("full"), &json!(["jan", "d"]))
    );

    let gone = node.call(Method::DELETE, "/1/clusters/mapping/jane-doe", "").await.success();
    assert!(gone["deletedAt"].is_string());
    node.until("/1/clusters/mapping/jane-doe", |answer| answer.status == 404).await;
    node.call_for("john.7", Method::DELETE, "/1/clusters/mapping", json!({})).await.success();
    node.until("/1/clusters/mapping/john.7", |answer| answer.status == 404).await;
    assert_eq!(node.get("/1/clusters").await["clusters"][0]["nbUserIDs"], 1);
}

#[actix_web::test]
async fn c15_what_cannot_be_mapped_is_refused() {
    let node = multi_cluster().await;
    node.assign("u").await;
    let to = |cluster: &str| json!({"cluster": cluster});
    let mapping = "/1/clusters/mapping";
    for (user, uri, body, text) in [
        ("u", mapping, json!({}), "cluster is required"),
        (
            "u",
            mapping,
            to("mars"),
            "Invalid value for \"cluster\" parameter, expected the name of a cluster: main",
        ),
        ("a_b", mapping, to("main"), "userID is not valid: only letters"),
        ("top", mapping, to("main"), "userID is not valid: top and pending are"),
        ("*", mapping, to("main"), "userID * stands for the public records"),
        ("u", "/1/clusters/mapping/batch", to("main"), "users is required"),
        (
            "u",
            "/1/clusters/mapping/batch",
            json!({"cluster": "main", "users": ["a/b"]}),
            "userID is not valid",
        ),
        ("u", "/1/clusters/mapping/search", json!({"hitsPerPage": 0}), "Invalid value for \"hitsPerPage\""),
        ("u", "/1/clusters/mapping/search", json!({"cluster": "mars"}), "Invalid value for \"cluster\""),
        ("u", "/1/clusters/mapping/search", json!({"query": 7}), "Invalid value for \"query\""),
    ] {
        node.call_for(user, Method::POST, uri, body).await.refused(400, text);
    }
    node.call(Method::POST, mapping, &to("main").to_string()).await.refused(400, "a user ID is required");
    node.call(Method::DELETE, "/1/clusters/mapping/none", "")
        .await
        .refused(404, "userID none does not exist");
    node.call(Method::GET, "/1/clusters/mapping/none", "").await.refused(404, "userID none does not exist");
    node.call(Method::GET, "/1/clusters/mapping?hitsPerPage=1001", "")
        .await
        .refused(400, "Invalid value for \"hitsPerPage\" parameter, expected integer between 1 and 1000");
    let key = node.search_key.clone();
    node.call_with(&key, Method::GET, "/1/clusters", "").await.refused(403, "Method not allowed");
}

impl Node {
    /// A write for a user that every reader sees when this returns.
    async fn write_for(&self, user: &str, method: Method, uri: &str, body: Value) -> Value {
        let answer = self.call_for(user, method, uri, body).await.success();
        self.waited(answer).await
    }
    /// `objectID:n` of the hits that a user sees, sorted.
    async fn seen_by(&self, user: &str, body: Value) -> String {
        let found = self.call_for(user, Method::POST, "/1/indexes/i/query", body).await.success();
        let mut hits: Vec<String> = found["hits"].as_array().unwrap().iter().map(shown).collect();
        hits.sort();
        hits.join(" ")
    }
}
fn shown(hit: &Value) -> String {
    assert!(hit.get("__userID").is_none() && !hit.to_string().contains("\\u001f"), "{hit}");
    format!("{}:{}", hit["objectID"].as_str().unwrap(), hit["n"])
}

#[actix_web::test]
async fn c15_records_belong_to_users() {
    let node = multi_cluster().await;
    for user in ["jane", "Jane", "roe"] {
        node.assign(user).await;
    }
    for (user, id, n) in
        [("jane", "1", 11), ("Jane", "1", 21), ("roe", "2", 32), ("*", "1", 91), ("*", "9", 99)]
    {
        node.write_for(user, Method::PUT, &format!("/1/indexes/i/{id}"), json!({"n": n, "t": "shoe"})).await;
    }
    for (user, expected) in [
        ("jane", "1:11 1:91 9:99"),
        ("Jane", "1:21 1:91 9:99"),
        ("roe", "1:91 2:32 9:99"),
        ("*", "1:91 9:99"),
    ] {
        assert_eq!(node.seen_by(user, json!({"query": "shoe"})).await, expected, "{user}");
        assert_eq!(node.seen_by(user, json!({"query": "jane roe"})).await, "", "the owner is not searched");
    }
    for (filter, expected) in [
        ("objectID:1", "1:11 1:91"),
        ("NOT objectID:1", "9:99"),
        ("n=11 OR n=21", "1:11"),
        ("__userID:roe", ""),
    ] {
        assert_eq!(node.seen_by("jane", json!({"filters": filter})).await, expected, "{filter}");
    }
    let one = |user: &'static str, id: &str| {
        let uri = format!("/1/indexes/i/{id}");
        let node = &node;
        async move { node.call_for(user, Method::GET, &uri, json!({})).await }
    };
    assert_eq!(one("jane", "1").await.success(), json!({"objectID": "1", "n": 11, "t": "shoe"}));
    assert_eq!(one("roe", "1").await.success()["n"], 91);
    one("jane", "2").await.refused(404, "ObjectID does not exist");
    let requests =
        json!({"requests": [{"indexName": "i", "objectID": "2"}, {"indexName": "i", "objectID": "9"}]});
    let many = node.call_for("jane", Method::POST, "/1/indexes/*/objects", requests).await.success();
    assert_eq!((many["results"][0].is_null(), &many["results"][1]["n"]), (true, &json!(99)));
    let queries = json!({"requests": [{"indexName": "i"}, {"indexName": "i", "params": "filters=n%3D32"}]});
    let multi = node.call_for("jane", Method::POST, "/1/indexes/*/queries", queries).await.success();
    assert_eq!((&multi["results"][0]["nbHits"], &multi["results"][1]["nbHits"]), (&json!(3), &json!(0)));
    let browsed = node.call_for("jane", Method::POST, "/1/indexes/i/browse", json!({"hitsPerPage": 2})).await;
    let cursor = browsed.success()["cursor"].clone();
    let rest = node.call_for("jane", Method::POST, "/1/indexes/i/browse", json!({"cursor": cursor})).await;
    assert_eq!(rest.success()["hits"].as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn c15_users_change_their_own_records_only() {
    let node = multi_cluster().await;
    for user in ["jane", "roe"] {
        node.assign(user).await;
        let batch = json!({"requests": [
            {"action": "addObject", "body": {"objectID": "1", "n": 1}},
            {"action": "addObject", "body": {"objectID": "2", "n": 2}},
            {"action": "addObject", "body": {"objectID": "3", "n": 3}}]});
        let answer = node.write_for(user, Method::POST, "/1/indexes/i/batch", batch).await;
        assert_eq!(answer["objectIDs"], json!(["1", "2", "3"]));
    }
    let record = |n: u64| json!({"nbRecords": n});
    let is_counted = |n: u64| move |answer: &Answer| answer.json()["nbRecords"] == record(n)["nbRecords"];
    node.until("/1/clusters/mapping/jane", is_counted(3)).await;
    let clusters = node.get("/1/clusters").await;
    assert_eq!(clusters["clusters"][0]["nbRecords"], 6);
    assert!(clusters["clusters"][0]["dataSize"].as_u64().unwrap() > 6 * 20);

    let partial = |id: &str| format!("/1/indexes/i/{id}/partial");
    node.write_for(
        "jane",
        Method::POST,
        &partial("1"),
        json!({"n": {"_operation": "Increment", "value": 40}}),
    )
    .await;
    node.write_for("jane", Method::POST, &partial("new"), json!({"n": 7})).await;
    assert_eq!(node.seen_by("jane", json!({})).await, "1:41 2:2 3:3 new:7");
    node.write_for("jane", Method::DELETE, "/1/indexes/i/2", json!({})).await;
    let by = json!({"filters": "n=3 OR n=41"});
    node.write_for("jane", Method::POST, "/1/indexes/i/deleteByQuery", by).await;
    assert_eq!(node.seen_by("jane", json!({})).await, "new:7");
    assert_eq!(node.seen_by("roe", json!({})).await, "1:1 2:2 3:3");
    // what names a replica changes nothing
    node.write(Method::PUT, "/1/indexes/i/settings", json!({"replicas": ["r"]})).await;
    let ops = json!({"requests": [
        {"action": "clear", "indexName": "i"},
        {"action": "addObject", "indexName": "r", "body": {"n": 5}}]});
    node.call_for("roe", Method::POST, "/1/indexes/*/batch", ops)
        .await
        .refused(403, "cannot write records to the replica index r");
    assert_eq!(node.seen_by("roe", json!({})).await, "1:1 2:2 3:3");
    let ops = json!({"requests": [
        {"action": "clear", "indexName": "i"},
        {"action": "addObject", "indexName": "j", "body": {"n": 5}}]});
    let answer = node.write_for("roe", Method::POST, "/1/indexes/*/batch", ops).await;
    assert_eq!(answer["objectIDs"].as_array().unwrap().len(), 1);
    assert!(answer["taskID"]["i"].is_u64() && answer["taskID"]["j"].is_u64());
    assert_eq!(
        (node.seen_by("roe", json!({})).await, node.seen_by("jane", json!({})).await),
        ("".into(), "new:7".into())
    );

    node.call(Method::DELETE, "/1/clusters/mapping/jane", "").await.success();
    node.until("/1/clusters/mapping/jane", |answer| answer.status == 404).await;
    node.call_for("jane", Method::POST, "/1/indexes/i/query", json!({}))
        .await
        .refused(400, "userID jane is not assigned");
    node.assign("jane").await;
    assert_eq!(node.seen_by("jane", json!({})).await, "", "the records went with the user");
}

#[actix_web::test]
async fn c15_without_a_user_records_are_not_reached() {
    let node = multi_cluster().await;
    node.assign("u").await;
    node.write_for("u", Method::PUT, "/1/indexes/i/1", json!({"n": 1})).await;
    let record = json!({"requests": [{"action": "addObject", "body": {"n": 1}}]});
    for (method, uri, body) in [
        (Method::POST, "/1/indexes/i/query", json!({})),
        (Method::GET, "/1/indexes/i?query=x", json!({})),
        (Method::POST, "/1/indexes/*/queries", json!({"requests": [{"indexName": "i"}]})),
        (Method::POST, "/1/indexes/i/browse", json!({})),
        (Method::GET, "/1/indexes/i/1", json!({})),
        (Method::POST, "/1/indexes/i", json!({"n": 1})),
        (Method::PUT, "/1/indexes/i/1", json!({"n": 1})),
        (Method::DELETE, "/1/indexes/i/1", json!({})),
        (Method::POST, "/1/indexes/i/batch", record.clone()),
        (Method::POST, "/1/indexes/i/clear", json!({})),
        (Method::POST, "/1/indexes/i/deleteByQuery", json!({"filters": "n=1"})),
    ] {
        node.call(method.clone(), uri, &body.to_string())
            .await
            .refused(400, "a user ID is required in the header");
        node.call_for("nobody", method, uri, body)
            .await
            .refused(400, "userID nobody is not assigned to a cluster");
    }
    let in_url = "/1/indexes/i/query?X-Algolia-User-ID=u";
    assert_eq!(node.post(in_url, json!({})).await["nbHits"], 1);
    // configuration belongs to all users
    node.write(Method::PUT, "/1/indexes/i/settings", json!({"hitsPerPage": 7})).await;
    assert_eq!(node.get("/1/indexes/i/settings").await["hitsPerPage"], 7);
    assert_eq!(node.get("/1/indexes").await["items"][0]["entries"], 1);
}
