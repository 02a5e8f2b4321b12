//! Does every endpoint ask for the right that §4 gives it, and for no other (§5.3)?

use super::*;
use quorate_api::routes::Verb;
use quorate_api::table::ROUTES;
use quorate_model::Acl;
use serde_json::json;
use std::collections::BTreeMap;

const METHOD: &str = "Method not allowed with this API key";

/// What §4 and C§3.3 ask for: beside a right `admin`, `any` key, `none`, or `each` for what asks by operation.
const NEEDS: &str = "
POST /1/indexes/{indexName}/query search
GET /1/indexes/{indexName} search
POST /1/indexes/*/queries search
POST /1/indexes/{indexName}/facets/{facetName}/query search
POST /1/indexes/{indexName}/browse browse
GET /1/indexes/{indexName}/browse browse
POST /1/indexes/{indexName} addObject
PUT /1/indexes/{indexName}/{objectID} addObject
DELETE /1/indexes/{indexName}/{objectID} deleteObject
POST /1/indexes/{indexName}/deleteByQuery deleteIndex
POST /1/indexes/{indexName}/clear deleteIndex
POST /1/indexes/{indexName}/{objectID}/partial addObject
POST /1/indexes/{indexName}/batch each
POST /1/indexes/*/batch each
POST /1/indexes/*/objects search
GET /1/indexes/{indexName}/{objectID} search
GET /1/indexes/{indexName}/settings settings
PUT /1/indexes/{indexName}/settings editSettings
DELETE /1/indexes/{indexName} deleteIndex
POST /1/indexes/{indexName}/operation addObject
GET /1/indexes listIndexes
PUT /1/indexes/{indexName}/synonyms/{objectID} editSettings
POST /1/indexes/{indexName}/synonyms/batch editSettings
GET /1/indexes/{indexName}/synonyms/{objectID} settings
POST /1/indexes/{indexName}/synonyms/clear editSettings
DELETE /1/indexes/{indexName}/synonyms/{objectID} editSettings
POST /1/indexes/{indexName}/synonyms/search settings
POST /1/keys admin
PUT /1/keys/{key} admin
GET /1/keys admin
GET /1/keys/{key} any
DELETE /1/keys/{key} admin
POST /1/keys/{key}/restore admin
POST /1/indexes/{indexName}/keys admin
PUT /1/indexes/{indexName}/keys/{key} admin
GET /1/indexes/{indexName}/keys admin
GET /1/indexes/*/keys admin
GET /1/indexes/{indexName}/keys/{key} admin
DELETE /1/indexes/{indexName}/keys/{key} admin
PUT /1/indexes/{indexName}/rules/{objectID} editSettings
POST /1/indexes/{indexName}/rules/batch editSettings
GET /1/indexes/{indexName}/rules/{objectID} settings
DELETE /1/indexes/{indexName}/rules/{objectID} editSettings
POST /1/indexes/{indexName}/rules/clear editSettings
POST /1/indexes/{indexName}/rules/search settings
POST /1/dictionaries/{dictionaryName}/batch editSettings
GET /1/dictionaries/{dictionaryName}/search settings
POST /1/dictionaries/{dictionaryName}/search settings
PUT /1/dictionaries/*/settings editSettings
GET /1/dictionaries/*/settings settings
GET /1/dictionaries/*/languages settings
POST /1/clusters/mapping admin
POST /1/clusters/mapping/batch admin
GET /1/clusters/mapping/top admin
GET /1/clusters/mapping/{userID} admin
GET /1/clusters admin
GET /1/clusters/mapping admin
DELETE /1/clusters/mapping/{userID} admin
DELETE /1/clusters/mapping admin
POST /1/clusters/mapping/search admin
GET /1/clusters/mapping/pending admin
GET /1/security/sources admin
PUT /1/security/sources admin
POST /1/security/sources/append admin
DELETE /1/security/sources/{source} admin
GET /1/logs logs
GET /1/indexes/{indexName}/task/{taskID} addObject
GET /1/task/{taskID} editSettings
POST /1/configs settings
PUT /1/configs/{indexName} editSettings
DELETE /1/configs/{indexName} editSettings
GET /1/configs/{indexName} settings
GET /1/configs/{indexName}/status settings
GET /1/configs settings
GET /1/logs/{indexName} settings
POST /1/indexes/*/recommendations search
POST /1/indexes/{indexName}/{model}/recommend/rules/batch editSettings
GET /1/indexes/{indexName}/{model}/recommend/rules/{objectID} settings
DELETE /1/indexes/{indexName}/{model}/recommend/rules/{objectID} editSettings
POST /1/indexes/{indexName}/{model}/recommend/rules/search settings
GET /1/indexes/{indexName}/{model}/task/{taskID} editSettings
POST /1/events search
DELETE /1/usertokens/{userToken} deleteObject
GET /2/searches analytics
GET /2/searches/count analytics
GET /2/searches/noResults analytics
GET /2/searches/noClicks analytics
GET /2/searches/noResultRate analytics
GET /2/searches/noClickRate analytics
GET /2/hits analytics
GET /2/users/count analytics
GET /2/filters analytics
GET /2/filters/noResults analytics
GET /2/filters/{attribute} analytics
GET /2/countries analytics
GET /2/clicks/averageClickPosition analytics
GET /2/clicks/positions analytics
GET /2/clicks/clickThroughRate analytics
GET /2/conversions/conversionRate analytics
GET /2/conversions/addToCartRate analytics
GET /2/conversions/purchaseRate analytics
GET /2/conversions/revenue analytics
GET /2/status analytics
GET /1/recommendation/personalization/strategy recommendation
POST /1/recommendation/personalization/strategy recommendation
GET /1/strategies/personalization recommendation
POST /1/strategies/personalization recommendation
GET /1/isalive none
GET /1/health none
GET /health none
GET /livez none
GET /readyz none
GET /metrics none
GET /openapi.json none
GET /admin/cluster admin
GET /admin/cluster/digest admin
POST /admin/nodes/{node}/drain admin
POST /admin/nodes/{node}/undrain admin
POST /admin/nodes/{node}/replace admin
DELETE /admin/nodes/{node} admin
POST /admin/groups/{group}/leader admin
POST /admin/suggestions/{indexName}/build admin
POST /admin/admin-key admin
GET /admin/recommend admin
POST /admin/recommend/{indexName}/{model}/build admin
POST /admin/recover admin
";

/// Actions of a batch with what they need and how they are refused.
const ACTIONS: [(&str, &str, &str); 7] = [
    ("addObject", "addObject", "update"),
    ("updateObject", "addObject", "update"),
    ("partialUpdateObject", "addObject", "update"),
    ("partialUpdateObjectNoCreate", "addObject", "update"),
    ("deleteObject", "deleteObject", "delete"),
    ("delete", "deleteIndex", "delete"),
    ("clear", "deleteIndex", "delete"),
];

/// A path with names that are not there, so that nothing is changed by who may.
fn uri(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{indexName}" => "nowhere",
        "{key}" => "unknown",
        "{taskID}" => "1",
        "{group}" => "4095",
        part if part.starts_with('{') => "nobody",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// A key of the node for each set of rights, with its rights; `None` is the admin key.
async fn keys(node: &Node) -> Vec<(String, Option<Vec<Acl>>)> {
    let mut sets: Vec<Vec<Acl>> = Acl::ALL.iter().map(|right| vec![*right]).collect();
    sets.extend([vec![], Acl::ALL.to_vec()]);
    let mut keys = vec![(ADMIN.to_owned(), None)];
    for rights in sets {
        let made = node.post("/1/keys", json!({"acl": rights})).await;
        keys.push((made["key"].as_str().unwrap().to_owned(), Some(rights)));
    }
    keys
}

#[actix_web::test]
async fn every_endpoint_asks_for_its_right_and_no_other() {
    let needs: BTreeMap<(&str, &str), &str> = NEEDS
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            ((words[0], words[1]), words[2])
        })
        .collect();
    assert_eq!(needs.len(), ROUTES.len(), "each row of the table has a line here, and the other way round");
    let node = Node::start().await;
    let keys = keys(&node).await;
    let state = node.options().state();
    let app = test::init_service(App::new().configure(|config| routes(config, state))).await;
    let mut wrong = vec![];
    for route in ROUTES {
        let need = needs[&(route.verb.as_str(), route.path)];
        for (key, rights) in &keys {
            let is_admin = rights.is_none();
            let has = |name: &str| rights.as_ref().is_none_or(|all| all.iter().any(|it| it.name() == name));
            let is_allowed = match need {
                "none" => true,
                "admin" => is_admin,
                // of these the handler says more
                "any" => is_admin,
                "each" => ["addObject", "deleteObject", "deleteIndex"].iter().any(|right| has(right)),
                right => has(right),
            };
            let body = if need == "each" { r#"{"requests":[]}"# } else { "{}" };
            let request = test::TestRequest::default()
                .method(Method::from_bytes(route.verb.as_str().as_bytes()).unwrap())
                .uri(&uri(route.path))
                .insert_header(("X-Algolia-Application-Id", APP))
                .insert_header(("X-Algolia-API-Key", key.as_str()));
            let request = if route.verb == Verb::Get { request } else { request.set_payload(body) };
            let response: ServiceResponse<BoxBody> = app.call(request.to_request()).await.unwrap();
            let status = response.status();
            let bytes = to_bytes(response.into_body()).await.unwrap();
            let says = if route.says_unauthorized() { 401 } else { 403 };
            let text = match route.is_of_suggestions() {
                true => format!("The provided API key is missing the \\\"{need}\\\" ACL."),
                false => METHOD.to_owned(),
            };
            let is_refused = status == says && String::from_utf8_lossy(&bytes).contains(&text);
            if is_refused == is_allowed || status.is_server_error() {
                let text = String::from_utf8_lossy(&bytes);
                wrong.push(format!("{:?} {} with {rights:?}: {status} {text:.100}", route.verb, route.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[actix_web::test]
async fn a_batch_is_checked_action_by_action() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"a": 1})).await;
    for (key, rights) in keys(&node).await {
        for (action, right, what) in ACTIONS {
            let is_allowed = rights.as_ref().is_none_or(|all| all.iter().any(|it| it.name() == right));
            let one = json!({"action": action, "body": {"objectID": "o"}});
            let named = json!({"action": action, "indexName": "i", "body": {"objectID": "o"}});
            for (uri, requests) in [("/1/indexes/i/batch", vec![one]), ("/1/indexes/*/batch", vec![named])] {
                let answer = node
                    .call_with(&key, Method::POST, uri, &json!({ "requests": requests }).to_string())
                    .await;
                if is_allowed {
                    answer.success();
                } else {
                    answer
                        .refused(400, &format!("Not enough rights to {what} an object near line:1 column:"));
                }
            }
        }
    }
}

#[actix_web::test]
async fn a_batch_with_one_action_too_many_does_nothing() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"a": 1})).await;
    let key = node.post("/1/keys", json!({"acl": ["addObject"]})).await["key"].as_str().unwrap().to_owned();
    let requests = json!([
        {"action": "addObject", "indexName": "i", "body": {"objectID": "new"}},
        {"action": "deleteObject", "indexName": "i", "body": {"objectID": "o"}},
    ]);
    for uri in ["/1/indexes/i/batch", "/1/indexes/*/batch"] {
        let answer =
            node.call_with(&key, Method::POST, uri, &json!({ "requests": requests }).to_string()).await;
        answer.refused(400, "Not enough rights to delete an object");
    }
    node.call(Method::GET, "/1/indexes/i/new", "").await.refused(404, "ObjectID does not exist");
    node.get("/1/indexes/i/o").await;
}

#[actix_web::test]
async fn indices_that_a_call_names_are_checked_wherever_they_stand() {
    let node = Node::start().await;
    for index in ["own", "other", "own_twin"] {
        node.write(Method::PUT, &format!("/1/indexes/{index}/o"), json!({"a": 1})).await;
    }
    node.write(Method::PUT, "/1/indexes/own/settings", json!({"replicas": ["own_twin", "foreign"]})).await;
    let all: Vec<&str> = Acl::ALL.iter().map(|right| right.name()).collect();
    let made = node.post("/1/keys", json!({"acl": all, "indexes": ["own*"]})).await;
    let key = made["key"].as_str().unwrap();
    let index_key =
        node.post("/1/indexes/own/keys", json!({"acl": ["addObject", "editSettings", "search"]})).await;
    let index_key = index_key["key"].as_str().unwrap();
    let call = async |key: &str, method: Method, uri: &str, body: Value| {
        node.call_with(key, method, uri, &body.to_string()).await
    };
    let denied = "Index not allowed with this API key";
    for (method, uri, body) in [
        (Method::POST, "/1/indexes/other/query", json!({})),
        (Method::POST, "/1/indexes/%6Fther/query", json!({})),
        (Method::POST, "/1/indexes/own/operation", json!({"operation": "copy", "destination": "other"})),
        (Method::POST, "/1/indexes/own/operation", json!({"operation": "move", "destination": "other"})),
        (Method::POST, "/1/indexes/other/operation", json!({"operation": "copy", "destination": "own_copy"})),
        (Method::POST, "/1/indexes/other/operation", json!({"operation": "move", "destination": "own_copy"})),
        (Method::PUT, "/1/indexes/own/settings", json!({"replicas": ["own_twin", "foreign", "other"]})),
        (
            Method::PUT,
            "/1/indexes/own/settings",
            json!({"replicas": ["own_twin", "foreign", "virtual(other)"]}),
        ),
        (Method::PUT, "/1/indexes/own/settings", json!({"replicas": ["own_twin"]})),
        (Method::PUT, "/1/indexes/own/settings", json!({"replicas": null})),
        (Method::PUT, "/1/indexes/own/settings", json!({"slaves": ["other"]})),
        (
            Method::POST,
            "/1/indexes/*/queries",
            json!({"requests": [{"indexName": "own"}, {"indexName": "other"}]}),
        ),
        (
            Method::POST,
            "/1/indexes/*/objects",
            json!({"requests": [{"indexName": "other", "objectID": "o"}]}),
        ),
        (
            Method::POST,
            "/1/indexes/*/batch",
            json!({"requests": [
                {"action": "addObject", "indexName": "own", "body": {}},
                {"action": "addObject", "indexName": "other", "body": {}},
            ]}),
        ),
    ] {
        for key in [key, index_key] {
            call(key, method.clone(), uri, body.clone()).await.refused(403, denied);
        }
    }
    let settings = node.get("/1/indexes/own/settings").await;
    assert_eq!(settings["replicas"], json!(["own_twin", "foreign"]));
    // what does not change is no matter of the key
    let same = json!({"replicas": ["own_twin", "foreign"], "hitsPerPage": 7});
    call(key, Method::PUT, "/1/indexes/own/settings", same).await.success();
    let more = json!({"replicas": ["own_twin", "foreign", "virtual(own_v)"]});
    call(index_key, Method::PUT, "/1/indexes/own/settings", more.clone()).await.refused(403, denied);
    call(key, Method::PUT, "/1/indexes/own/settings", more).await.success();
}
