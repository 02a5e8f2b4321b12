//! From where may a node be called, and how is that changed (C§13.5)?
//!
//! - `GET /1/security/sources`: admin
//! - `PUT /1/security/sources`: admin
//! - `POST /1/security/sources/append`: admin
//! - `DELETE /1/security/sources/{source}`: admin

use super::*;
use quorate_api::Networks;
use serde_json::json;

const SOURCES: &str = "/1/security/sources";
const REFUSED: &str = "Source not allowed";

impl Node {
    /// A call with the admin key from an address, which may have been passed on.
    async fn call_from(&self, peer: &str, forwarded: &str, method: Method, uri: &str) -> Answer {
        let mut request = test::TestRequest::default()
            .method(method)
            .uri(uri)
            .peer_addr(SocketAddr::new(peer.parse().unwrap(), 5_000))
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN));
        if !forwarded.is_empty() {
            request = request.insert_header(("X-Forwarded-For", forwarded));
        }
        self.send(request).await
    }
    pub async fn local(&self, method: Method, uri: &str, body: &str) -> Answer {
        let request = test::TestRequest::default()
            .method(method)
            .uri(uri)
            .peer_addr("127.0.0.1:5000".parse().unwrap())
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN))
            .set_payload(body.to_owned());
        self.send(request).await
    }
    async fn sources(&self) -> Value {
        self.local(Method::GET, SOURCES, "").await.success()
    }
}

fn is_a_time(body: &Value, member: &str) {
    let at = body[member].as_str().unwrap_or_else(|| panic!("{body}"));
    assert!(at.len() == 24 && at.ends_with('Z'), "{body}");
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
}

#[actix_web::test]
async fn the_list_is_set_added_to_and_taken_from() {
    let node = Node::start().await;
    assert_eq!(node.sources().await, json!([]));
    let list = json!([
        {"source": "10.1.2.3/8", "description": "office"},
        {"source": "2001:DB8::1"},
        {"source": "SERVICE_SUPPORT", "description": null},
    ]);
    is_a_time(&node.local(Method::PUT, SOURCES, &list.to_string()).await.success(), "updatedAt");
    let mut expected = json!([
        {"source": "10.0.0.0/8", "description": "office"},
        {"source": "2001:db8::1/128"},
        {"source": "SERVICE_SUPPORT"},
    ]);
    assert_eq!(node.sources().await, expected);
    let append = format!("{SOURCES}/append");
    let one = json!({"source": "192.168.0.1", "description": "lab"}).to_string();
    is_a_time(&node.local(Method::POST, &append, &one).await.success(), "createdAt");
    // said twice, as a client does that has heard no answer
    node.local(Method::POST, &append, &one).await.success();
    expected.as_array_mut().unwrap().push(json!({"source": "192.168.0.1/32", "description": "lab"}));
    assert_eq!(node.sources().await, expected);
    for path in ["10.0.0.0%2F8", "192.168.0.1", "2001:db8::1%2f128", "SERVICE_SUPPORT"] {
        let path = format!("{SOURCES}/{path}");
        is_a_time(&node.local(Method::DELETE, &path, "").await.success(), "deletedAt");
        node.local(Method::DELETE, &path, "").await.refused(404, "Source does not exist");
    }
    assert_eq!(node.sources().await, json!([]));
}

#[actix_web::test]
async fn wrong_lists_are_refused_and_change_nothing() {
    let node = Node::start().await;
    let kept = json!([{"source": "10.0.0.0/8"}]);
    node.local(Method::PUT, SOURCES, &kept.to_string()).await.success();
    let (good, wrong) = (json!({"source": "11.0.0.0/8"}), "Invalid value for \"source\" parameter, expected");
    for (item, text) in [
        (json!({"source": "nonsense"}), wrong),
        (json!({"source": ""}), wrong),
        (json!({"source": "10.0.0.0/33"}), wrong),
        (json!({"source": "service_support"}), wrong),
        (json!({"source": "11.0.0.1/8"}), wrong),
        (json!({"source": 7}), wrong),
        (json!({"source": ["10.0.0.0/8"]}), wrong),
        (json!({"source": null}), "source is required"),
        (json!({"description": "d"}), "source is required"),
        (json!({"source": "12.0.0.0/8", "description": 7}), "Invalid value for \"description\" parameter"),
        (
            json!({"source": "12.0.0.0/8", "description": "d".repeat(513)}),
            "Invalid value for \"description\" parameter, expected string of at most 512 bytes",
        ),
        (json!("12.0.0.0/8"), "An allowed source must be an object"),
        (json!(["12.0.0.0/8", "d"]), "An allowed source must be an object"),
    ] {
        let list = json!([good, item]).to_string();
        node.local(Method::PUT, SOURCES, &list).await.refused(400, text);
        if item["source"] != "11.0.0.1/8" {
            let append = node.local(Method::POST, &format!("{SOURCES}/append"), &item.to_string()).await;
            append.refused(400, text);
        }
    }
    for (body, text) in [
        ("", "parse error"),
        ("[{]", "parse error"),
        ("{}", "The body must be an array"),
        ("null", "The body must be an array"),
        (r#""10.0.0.0/8""#, "The body must be an array"),
    ] {
        node.local(Method::PUT, SOURCES, body).await.refused(400, text);
    }
    let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
    node.local(Method::PUT, SOURCES, &deep).await.refused(400, "parse error: nesting");
    node.local(Method::DELETE, &format!("{SOURCES}/nonsense"), "").await.refused(400, wrong);
    assert_eq!(node.sources().await, kept);
    let search_key = node.search_key.clone();
    let request = test::TestRequest::get().uri(SOURCES).peer_addr("127.0.0.1:1".parse().unwrap());
    let request = request.insert_header(("X-Algolia-Application-Id", APP));
    let answer = node.send(request.insert_header(("X-Algolia-API-Key", search_key))).await;
    answer.refused(403, "Method not allowed with this API key");
}

#[actix_web::test]
async fn c8_there_may_be_1_000_sources() {
    let node = Node::start().await;
    let list = |count: usize| {
        let source = |at: usize| json!({"source": format!("10.{}.{}.0/24", at / 256, at % 256)});
        Value::Array((0..count).map(source).collect()).to_string()
    };
    let most = "There may be at most 1000 allowed sources";
    node.local(Method::PUT, SOURCES, &list(1_001)).await.refused(400, most);
    assert_eq!(node.sources().await, json!([]));
    node.local(Method::PUT, SOURCES, &list(1_000)).await.success();
    assert_eq!(node.sources().await.as_array().unwrap().len(), 1_000);
    let append = format!("{SOURCES}/append");
    node.local(Method::POST, &append, r#"{"source":"11.0.0.0/8"}"#).await.refused(400, most);
    node.local(Method::POST, &append, r#"{"source":"10.0.0.0/24","description":"d"}"#).await.success();
    assert_eq!(node.sources().await[0], json!({"source": "10.0.0.0/24", "description": "d"}));
    node.call_from("10.3.231.9", "", Method::GET, "/1/indexes").await.success();
    node.call_from("10.3.232.9", "", Method::GET, "/1/indexes").await.refused(403, REFUSED);
}

#[actix_web::test]
async fn unlisted_addresses_reach_nothing_but_the_checks_of_balancers() {
    let node = Node::start().await;
    node.call_from("1.2.3.4", "", Method::GET, "/1/indexes").await.success();
    let list = r#"[{"source":"9.9.9.0/24"},{"source":"SERVICE_SUPPORT"}]"#;
    node.local(Method::PUT, SOURCES, list).await.success();
    for (method, path) in [
        (Method::GET, "/1/indexes"),
        (Method::GET, SOURCES),
        (Method::PUT, SOURCES),
        (Method::DELETE, "/1/security/sources/9.9.9.0%2F24"),
        (Method::POST, "/1/indexes/i/query"),
        (Method::GET, "/admin/cluster"),
    ] {
        node.call_from("1.2.3.4", "", method.clone(), path).await.refused(403, REFUSED);
        // nobody is believed
        node.call_from("1.2.3.4", "9.9.9.9", method.clone(), path).await.refused(403, REFUSED);
        node.call_from("1.2.3.4", "127.0.0.1", method.clone(), path).await.refused(403, REFUSED);
        // a proxy on the machine is not taken for its callers
        node.call_from("127.0.0.1", "1.2.3.4", method, path).await.refused(403, REFUSED);
    }
    // the list is looked at before credentials
    let stranger = test::TestRequest::get().uri("/1/indexes").peer_addr("1.2.3.4:5".parse().unwrap());
    node.send(stranger).await.refused(403, REFUSED);
    assert_eq!(node.call_from("1.2.3.4", "", Method::GET, "/metrics").await.status, 403);
    for path in ["/livez", "/readyz", "/health", "/1/isalive", "/1/health"] {
        let answer = node.call_from("1.2.3.4", "", Method::GET, path).await;
        assert!(answer.status.is_success(), "{path}");
    }
    for listed in ["9.9.9.9", "::ffff:9.9.9.9"] {
        node.call_from(listed, "", Method::GET, "/1/indexes").await.success();
    }
    node.local(Method::PUT, SOURCES, r#"[{"source":"0.0.0.0/0"}]"#).await.success();
    for anybody in ["1.2.3.4", "2001:db8::1"] {
        node.call_from(anybody, "", Method::GET, "/1/indexes").await.success();
    }
    node.local(Method::PUT, SOURCES, r#"[{"source":"2001:db8::/32"}]"#).await.success();
    node.call_from("2001:db8::1", "", Method::GET, "/1/indexes").await.success();
    node.call_from("9.9.9.9", "", Method::GET, "/1/indexes").await.refused(403, REFUSED);
    node.local(Method::PUT, SOURCES, "[]").await.success();
    node.call_from("1.2.3.4", "", Method::GET, "/1/indexes").await.success();
}

#[actix_web::test]
async fn behind_a_trusted_proxy_the_address_of_the_caller_counts() {
    let node = Node::start().await;
    node.local(Method::PUT, SOURCES, r#"[{"source":"9.9.9.0/24"}]"#).await.success();
    let trusting =
        ServerOptions { trusted_proxies: Networks::parse(["10.0.0.0/8"]).unwrap(), ..node.options() };
    let app = test::init_service(App::new().configure(|config| routes(config, trusting.state()))).await;
    for (forwarded, expected) in [("9.9.9.9", 200), ("1.2.3.4", 403), ("9.9.9.9, 1.2.3.4", 403), ("", 403)] {
        let request = test::TestRequest::get()
            .uri("/1/indexes")
            .peer_addr("10.0.0.1:5".parse().unwrap())
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN))
            .insert_header(("X-Forwarded-For", forwarded));
        let response = app.call(request.to_request()).await.unwrap();
        assert_eq!(response.status().as_u16(), expected, "{forwarded}");
    }
}
