//! Are keys made, read, changed, deleted and restored as C§13 says, and is what is wrong refused whole?
//!
//! - `POST /1/keys`: admin
//! - `PUT /1/keys/{key}`: admin
//! - `GET /1/keys`: admin
//! - `GET /1/keys/{key}`: any
//! - `DELETE /1/keys/{key}`: admin
//! - `POST /1/keys/{key}/restore`: admin
//! - `POST /1/indexes/{indexName}/keys`: admin
//! - `PUT /1/indexes/{indexName}/keys/{key}`: admin
//! - `GET /1/indexes/{indexName}/keys`: admin
//! - `GET /1/indexes/*/keys`: admin
//! - `GET /1/indexes/{indexName}/keys/{key}`: admin
//! - `DELETE /1/indexes/{indexName}/keys/{key}`: admin

use super::*;
use quorate_api::auth::secured::derive;
use serde_json::json;

pub const INVALID: &str = "Invalid Application-ID or API key";
const METHOD: &str = "Method not allowed with this API key";
pub const INDEX: &str = "Index not allowed with this API key";

impl Node {
    pub async fn key(&self, body: Value) -> String {
        self.post("/1/keys", body).await["key"].as_str().unwrap().to_owned()
    }
    pub async fn index_key(&self, index: &str, body: Value) -> String {
        self.post(&format!("/1/indexes/{index}/keys"), body).await["key"].as_str().unwrap().to_owned()
    }
    pub async fn put(&self, uri: &str, body: Value) -> Answer {
        self.call(Method::PUT, uri, &body.to_string()).await
    }
    pub async fn delete(&self, uri: &str) -> Answer {
        self.call(Method::DELETE, uri, "").await
    }
    pub async fn search(&self, key: &str, index: &str) -> Answer {
        self.call_with(key, Method::POST, &format!("/1/indexes/{index}/query"), "{}").await
    }
    /// The values that a list names.
    pub async fn values(&self, uri: &str) -> Vec<String> {
        let listed = self.get(uri).await;
        listed["keys"].as_array().unwrap().iter().map(|it| it["value"].as_str().unwrap().to_owned()).collect()
    }
}

#[track_caller]
pub fn check_time(answer: &Value, name: &str) {
    let at = answer[name].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(at.len() == 24 && at.ends_with('Z') && at.as_bytes()[19] == b'.', "{answer}");
}

#[actix_web::test]
async fn a_key_lives_from_its_creation_to_its_restoration() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"a": 1})).await;
    let wanted = json!({
        "acl": ["search", "browse"], "description": "for a test", "indexes": ["i", "dev_*"],
        "maxHitsPerQuery": 20, "maxQueriesPerIPPerHour": 100, "queryParameters": "filters=a%3D1",
        "referers": [], "validity": 300,
    });
    let made = node.post("/1/keys", wanted.clone()).await;
    check_time(&made, "createdAt");
    let key = made["key"].as_str().unwrap();
    assert!(key.len() == 32 && key.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
    let uri = format!("/1/keys/{key}");
    let read = node.get(&uri).await;
    for (name, value) in wanted.as_object().unwrap() {
        match name.as_str() {
            // it counts down
            "validity" => assert!((290..=300).contains(&read["validity"].as_u64().unwrap()), "{read}"),
            _ => assert_eq!(read[name], *value, "{read}"),
        }
    }
    assert!(read["value"] == key && read["createdAt"].as_u64().unwrap() > 1_600_000_000, "{read}");
    let listed = node.get("/1/keys").await;
    let listed = listed["keys"].as_array().unwrap();
    assert!(listed.len() == 2 && listed.iter().any(|it| it["value"] == key && it["acl"] == wanted["acl"]));
    node.search(key, "i").await.success();
    node.search(key, "other").await.refused(403, INDEX);

    let changed = node.put(&uri, json!({"acl": ["browse"]})).await.success();
    assert_eq!(changed["key"], key);
    check_time(&changed, "updatedAt");
    let now = node.get(&uri).await;
    let defaults = json!({
        "value": key, "createdAt": read["createdAt"], "acl": ["browse"], "validity": 0, "description": "",
        "indexes": [], "maxHitsPerQuery": 0, "maxQueriesPerIPPerHour": 0, "queryParameters": "", "referers": [],
    });
    assert_eq!(now, defaults, "what is not given has its default again");
    node.search(key, "i").await.refused(403, METHOD);

    check_time(&node.delete(&uri).await.success(), "deletedAt");
    node.call(Method::GET, &uri, "").await.refused(404, "Key does not exist");
    node.search(key, "i").await.refused(403, INVALID);
    node.put(&uri, json!({})).await.refused(404, "Key does not exist");
    check_time(&node.delete(&uri).await.success(), "deletedAt");
    let restored = node.post(&format!("{uri}/restore"), json!({})).await;
    assert_eq!(restored["key"], key);
    check_time(&restored, "createdAt");
    assert_eq!(node.get(&uri).await["acl"], json!(["browse"]));
    let again = node.call(Method::POST, &format!("{uri}/restore"), "").await;
    again.refused(404, "Key does not exist among those that were deleted");
    for uri in ["/1/keys/unknown", "/1/keys/%2A", "/1/keys/a%2Fb"] {
        node.call(Method::GET, uri, "").await.refused(404, "Key does not exist");
        node.put(uri, json!({})).await.refused(404, "Key does not exist");
        node.delete(uri).await.refused(404, "Key does not exist");
        node.call(Method::POST, &format!("{uri}/restore"), "").await.refused(404, "Key does not exist");
    }
}

#[actix_web::test]
async fn a_key_of_an_index_is_good_there_and_nowhere_else() {
    let node = Node::start().await;
    for index in ["i", "j"] {
        node.write(Method::PUT, &format!("/1/indexes/{index}/o"), json!({"a": 1})).await;
    }
    let rights = ["search", "listIndexes", "editSettings", "settings", "logs", "addObject"];
    let key = node.index_key("i", json!({"acl": rights, "description": "d"})).await;
    let other = node.index_key("not%20yet", json!({})).await;
    let uri = format!("/1/indexes/i/keys/{key}");
    assert_eq!(node.get(&uri).await["description"], "d");
    assert_eq!(node.get(&uri).await, node.get(&format!("/1/keys/{key}")).await);
    node.call(Method::GET, &format!("/1/indexes/j/keys/{key}"), "").await.refused(404, "Key does not exist");
    assert_eq!(node.values("/1/indexes/i/keys").await, [key.as_str()]);
    assert_eq!(node.values("/1/indexes/j/keys").await, [""; 0]);
    assert_eq!(node.values("/1/indexes/not%20yet/keys").await, [other.as_str()]);
    assert_eq!(node.values("/1/indexes/*/keys").await.len(), 2);
    assert_eq!(node.values("/1/keys").await, [node.search_key.as_str()]);
    let all = node.get("/1/indexes/*/keys").await;
    assert!(
        all["keys"].as_array().unwrap().iter().all(|it| it["index"].is_string() && it["indexes"].is_null())
    );
    node.call(Method::GET, "/1/indexes/none/keys", "").await.refused(404, "Index none does not exist");

    node.search(&key, "i").await.success();
    node.search(&key, "j").await.refused(403, INDEX);
    let both = json!({"requests": [{"indexName": "i"}, {"indexName": "j"}]}).to_string();
    node.call_with(&key, Method::POST, "/1/indexes/*/queries", &both).await.refused(403, INDEX);
    let names = node.call_with(&key, Method::GET, "/1/indexes", "").await.success();
    assert_eq!((names["items"].as_array().unwrap().len(), &names["items"][0]["name"]), (1, &json!("i")));
    for uri in ["/1/logs", "/1/dictionaries/*/settings"] {
        node.call_with(&key, Method::GET, uri, "").await.refused(403, INDEX);
    }
    node.call_with(&key, Method::GET, "/1/configs", "").await.refused(401, INDEX);
    node.call_with(&key, Method::GET, &format!("/1/keys/{key}"), "").await.success();

    // an index that does not have the key: no error, and no key (C§13.1)
    for uri in [format!("/1/indexes/j/keys/{key}"), "/1/indexes/i/keys/unknown".into()] {
        check_time(&node.put(&uri, json!({"acl": ["browse"]})).await.success(), "updatedAt");
        node.delete(&uri).await.refused(404, "Key does not exist");
    }
    assert_eq!(node.get(&uri).await["acl"], json!(rights));
    node.put(&format!("/1/keys/{key}"), json!({})).await.refused(400, "The key is for the index i");
    node.put(&uri, json!({"acl": ["search"], "validity": 60})).await.success();
    let changed = node.get(&uri).await;
    assert_eq!((&changed["acl"], &changed["index"]), (&json!(["search"]), &json!("i")));
    check_time(&node.delete(&uri).await.success(), "deletedAt");
    check_time(&node.delete(&uri).await.success(), "deletedAt");
    node.search(&key, "i").await.refused(403, INVALID);
    node.post(&format!("/1/keys/{key}/restore"), json!({})).await;
    node.search(&key, "j").await.refused(403, INDEX);
    // the index takes its keys along
    node.write(Method::DELETE, "/1/indexes/i", json!(null)).await;
    node.search(&key, "i").await.refused(403, INVALID);
}

#[actix_web::test]
async fn whoever_is_not_admin_reads_the_own_key_alone() {
    let node = Node::start().await;
    let own = node.key(json!({"acl": ["search"], "description": "of whom"})).await;
    let other = node.key(json!({"acl": ["search"]})).await;
    let get =
        async |key: &str, of: &str| node.call_with(key, Method::GET, &format!("/1/keys/{of}"), "").await;
    let read = get(&own, &own).await.success();
    assert_eq!((&read["value"], &read["description"]), (&json!(own), &json!("<redacted>")));
    let mut texts = vec![];
    for of in [other.as_str(), "unknown", ADMIN, &own[..31]] {
        texts.push(get(&own, of).await.refused(403, METHOD));
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "whether there is another one does not show");
    // whoever holds a derived key does not learn its parent, and has no entry of its own
    let derived = derive(&own, "hitsPerPage=3");
    for of in [own.as_str(), &derived.replace('/', "%2F").replace('+', "%2B"), &other] {
        get(&derived, of).await.refused(403, METHOD);
    }
    let admin = get(ADMIN, ADMIN).await.success();
    assert_eq!(admin["acl"].as_array().unwrap().len(), 15, "{admin}");
    assert_eq!(get(ADMIN, &own).await.success()["description"], "of whom");
}

#[actix_web::test]
async fn what_is_wrong_is_named_and_changes_nothing() {
    let node = Node::start().await;
    let global = node.key(json!({"acl": ["search"], "description": "as it was"})).await;
    let of_index = node.index_key("i", json!({"acl": ["search"], "description": "as it was"})).await;
    let before = (node.get("/1/keys").await, node.get("/1/indexes/*/keys").await);
    let long = |letters: usize| json!("x".repeat(letters));
    let wrong: &[(&str, Vec<Value>)] = &[
        ("acl", vec![json!("search"), json!(7), json!({"search": true}), json!([7]), json!([["search"]])]),
        ("description", vec![json!(7), json!(["d"]), json!(true), long(2_049), long(500_000)]),
        ("maxHitsPerQuery", vec![json!(-1), json!("7"), json!(1.5), json!([]), json!(1e300)]),
        ("maxQueriesPerIPPerHour", vec![json!(-7), json!(false), json!(u64::MAX)]),
        ("queryParameters", vec![json!({"filters": "a:b"}), json!(7), long(4_097)]),
        (
            "referers",
            vec![json!("*"), json!([7]), json!([""]), json!(["https://*.example/x"]), json!([long(513)])],
        ),
        ("validity", vec![json!(-1), json!("60"), json!(0.5), json!(4_000_000_000_u64), json!({})]),
    ];
    let patterns = vec![
        json!("i"),
        json!([1]),
        json!([""]),
        json!(["a*b"]),
        json!([long(257)]),
        json!(vec!["i"; 1_001]),
    ];
    let calls = [
        (Method::POST, "/1/keys".to_owned(), true),
        (Method::PUT, format!("/1/keys/{global}"), true),
        (Method::POST, "/1/indexes/i/keys".to_owned(), false),
        (Method::PUT, format!("/1/indexes/i/keys/{of_index}"), false),
        (Method::PUT, "/1/indexes/i/keys/unknown".to_owned(), false),
    ];
    for (method, uri, is_global) in &calls {
        let send = async |body: String| node.call(method.clone(), uri, &body).await;
        for (name, values) in wrong {
            for value in values {
                let answer = send(json!({"acl": ["search"], *name: value}).to_string()).await;
                answer.refused(400, &format!("Invalid value for \"{name}"));
            }
        }
        if *is_global {
            for value in &patterns {
                send(json!({"indexes": value}).to_string()).await.refused(400, "Invalid value for \"indexes");
            }
        } else {
            let own = send(json!({"indexes": ["i"]}).to_string()).await;
            own.refused(400, "Invalid object attributes: indexes near line:1 column:");
            let right = send(json!({"acl": ["recommendation"]}).to_string()).await;
            right.refused(
                400,
                "Invalid value for \"acl[0]\" parameter, expected a right of keys for one index",
            );
        }
        send(json!({"acl": ["admin"]}).to_string()).await.refused(400, "Invalid acl: admin");
        send(json!({"maxHits": 5}).to_string())
            .await
            .refused(400, "Invalid object attributes: maxHits near line:1");
        send(json!({"referers": vec![long(500); 9]}).to_string())
            .await
            .refused(400, "The key is too big: it has");
        for body in ["[]", "7", "\"acl\"", "null", "{", "{\"acl\":[}", "\u{1}"] {
            send(body.to_owned()).await.refused(400, "parse error: ");
        }
        send(format!("{{\"description\":{}}}", "[".repeat(100))).await.refused(400, "parse error: nesting");
        let large = format!("{{\"description\":\"{}\"}}", "x".repeat(2 << 20));
        send(large).await.refused(413, "");
        for (parameters, text) in [
            ("filters=a%3A%3A(", "queryParameters: filters: "),
            ("hitsPerPage=many", "queryParameters: Invalid value for \"hitsPerPage\""),
            ("nothing=1", "queryParameters: Unknown parameter: nothing"),
            ("indexName=shop", "queryParameters: indexName is no restriction and no search parameter"),
            ("filters=a%3Ab&filters=a%3Ac", "queryParameters: filters is given twice"),
            ("validUntil=tomorrow", "queryParameters: Invalid value for \"validUntil\""),
            ("validUntil=1", "queryParameters: Invalid value for \"validUntil\""),
            ("restrictIndices=", "queryParameters: Invalid value for \"restrictIndices\""),
            ("restrictIndices=%5B%5D", "queryParameters: Invalid value for \"restrictIndices\""),
            ("restrictSources=nonsense", "queryParameters: Invalid value for \"restrictSources\""),
            ("restrictSources=10.9.8.0%2F24", "queryParameters: Invalid value for \"restrictSources\""),
        ] {
            send(json!({"queryParameters": parameters}).to_string()).await.refused(400, text);
        }
    }
    for (indexes, restricted, is_taken) in [
        (json!(["shop", "a*"]), "other", false),
        (json!(["shop", "a*"]), "other,about", true),
        (json!(["shop"]), "*", true),
        (json!(["shop"]), "other*", false),
        (json!(["shop"]), "sh*", true),
        (json!([]), "other", true),
    ] {
        let body = json!({"indexes": indexes, "queryParameters": format!("restrictIndices={restricted}")})
            .to_string();
        let answer = node.call(Method::POST, "/1/keys", &body).await;
        assert_eq!(answer.status.is_success(), is_taken, "{body}");
        if is_taken {
            let made = format!("/1/keys/{}", answer.json()["key"].as_str().unwrap());
            node.call(Method::DELETE, &made, "").await.success();
        } else {
            answer.refused(400, "queryParameters: Invalid value for \"restrictIndices\"");
        }
    }
    assert_eq!((node.get("/1/keys").await, node.get("/1/indexes/*/keys").await), before);
    let name = "x".repeat(257);
    for uri in [format!("/1/indexes/{name}/keys"), "/1/indexes/a%00b/keys".into()] {
        node.call(Method::POST, &uri, "{}").await.refused(400, "indexName is not valid");
        node.call(Method::GET, &uri, "").await.refused(400, "indexName is not valid");
    }
}

#[actix_web::test]
async fn a_key_ends_with_its_validity() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"a": 1})).await;
    let key = node.key(json!({"acl": ["search"], "validity": 1})).await;
    let derived = derive(&key, "hitsPerPage=1");
    node.search(&derived, "i").await;
    let mut looks = 0;
    while node.search(&key, "i").await.status == 200 {
        looks += 1;
        assert!(looks < 500, "it should have ended");
        actix_rt::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    node.search(&key, "i").await.refused(403, INVALID);
    node.search(&derived, "i").await.refused(403, INVALID);
    let uri = format!("/1/keys/{key}");
    node.call(Method::GET, &uri, "").await.refused(404, "Key does not exist");
    assert_eq!(node.values("/1/keys").await, [node.search_key.as_str()]);
    node.put(&uri, json!({"acl": ["search"]})).await.refused(404, "Key does not exist");
    node.delete(&uri).await.refused(404, "Key does not exist");
    node.call(Method::POST, &format!("{uri}/restore"), "").await.refused(404, "Key does not exist");
}

#[actix_web::test]
async fn a_key_outlives_a_restart_and_its_end_does_too() {
    let folder = tempfile::tempdir().unwrap();
    let open = async || {
        let mut options = ServiceOptions::new(folder.path());
        (options.app_id, options.admin_key) = (Some(APP.into()), Some(ADMIN.into()));
        Service::open(options).await.unwrap().0
    };
    let service = open().await;
    let key =
        |members: Value| quorate_model::ApiKey::from_members(members.as_object().unwrap(), None).unwrap();
    let (kept, _) = service.create_key(key(json!({"description": "kept"}))).await.unwrap();
    let (deleted, _) = service.create_key(key(json!({"description": "deleted"}))).await.unwrap();
    service.delete_key(&deleted, None).await.unwrap();
    service.shutdown().await;
    drop(service);
    let service = open().await;
    assert_eq!(service.key(&kept).unwrap().description, "kept");
    assert!(service.key(&deleted).is_none());
    service.restore_key(&deleted).await.unwrap();
    assert_eq!(service.key(&deleted).unwrap().description, "deleted");
    service.shutdown().await;
}

#[actix_web::test]
async fn a_key_of_some_indices_changes_no_other_through_them() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/settings", json!({"replicas": ["i_sorted", "virtual(i_shown)"]}))
        .await;
    let own = node.key(json!({"acl": ["editSettings", "deleteObject"], "indexes": ["i"]})).await;
    let all = node.key(json!({"acl": ["editSettings", "deleteObject"], "indexes": ["i*"]})).await;
    let synonym = json!({"objectID": "s", "type": "synonym", "synonyms": ["a", "b"]}).to_string();
    let calls = [
        (Method::PUT, "/1/indexes/i/settings", r#"{"hitsPerPage": 9}"#),
        (Method::PUT, "/1/indexes/i/synonyms/s", synonym.as_str()),
        (Method::POST, "/1/indexes/i/rules/clear", ""),
    ];
    for (method, uri, body) in calls {
        let forwarded = format!("{uri}?forwardToReplicas=true");
        node.call_with(&own, method.clone(), &forwarded, body).await.refused(403, INDEX);
        node.call_with(&own, method.clone(), uri, body).await.success();
        node.call_with(&all, method, &forwarded, body).await.success();
    }
    // a user is forgotten everywhere
    node.call_with(&all, Method::DELETE, "/1/usertokens/u", "").await.refused(401, INDEX);
    let everywhere = node.key(json!({"acl": ["deleteObject"]})).await;
    assert_eq!(node.call_with(&everywhere, Method::DELETE, "/1/usertokens/u", "").await.status, 204);
}
