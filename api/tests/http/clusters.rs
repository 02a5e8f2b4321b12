//! Are users mapped to clusters as §4.10 and C§15 say?

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
    assert_eq!(node.get("/1/clusters/mapping").await, json!({"userIDs": all}));
    let second = node.get("/1/clusters/mapping?page=1&hitsPerPage=1").await;
    assert_eq!(second, json!({"userIDs": [record("jane-doe")]}));
    assert_eq!(node.get("/1/clusters/mapping?page=9").await, json!({"userIDs": []}));
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
