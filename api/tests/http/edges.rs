//! Are routes, methods, cross-origin calls and operation endpoints answered as browsers and balancers expect?
//!
//! - `GET /1/recommendation/personalization/strategy`: recommendation
//! - `POST /1/recommendation/personalization/strategy`: recommendation
//! - `GET /1/strategies/personalization`: recommendation
//! - `POST /1/strategies/personalization`: recommendation
//! - `GET /1/isalive`: none
//! - `GET /1/health`: none
//! - `GET /health`: none
//! - `GET /livez`: none
//! - `GET /readyz`: none
//! - `GET /metrics`: none

use super::*;

#[actix_web::test]
async fn unknown_routes_methods_and_parts_not_built() {
    let node = Node::start().await;
    node.call(Method::GET, "/", "").await.refused(404, "Path not supported");
    node.call(Method::GET, "/1/nothing/here", "").await.refused(404, "Path not supported");
    node.call(Method::POST, "/1/indexes/some/recommendations", "{}").await.refused(404, "Path not supported");
    node.call(Method::PUT, "/1/indexes", "").await.refused(405, "Method not allowed on this path");
    node.call(Method::PATCH, "/1/indexes", "").await.refused(405, "Method not allowed on this path");
    node.call(Method::GET, "/1/strategies/personalization", "").await.refused(404, "Personalization");
    node.call(Method::GET, "/1/indexes/%FF/settings", "").await.refused(400, "The path is not valid UTF-8");
}

#[actix_web::test]
async fn preflights_need_no_key_on_any_path() {
    let node = Node::start().await;
    for path in ["/1/indexes/a/query", "/nothing"] {
        let request = test::TestRequest::default().method(Method::OPTIONS).uri(path);
        let answer = node.send(request).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        assert_eq!(answer.header("access-control-allow-methods"), "GET, PUT, DELETE, POST, OPTIONS");
        for name in
            ["x-service-api-key", "x-algolia-api-key", "x-algolia-agent", "content-type", "request-id"]
        {
            assert!(
                answer.header("access-control-allow-headers").split(", ").any(|item| item == name),
                "{name}"
            );
        }
        assert_eq!(answer.header("access-control-max-age"), "86400");
        assert_eq!(answer.header("correlation-id").len(), 16);
    }
}

#[actix_web::test]
async fn operation_endpoints_need_no_key() {
    let node = Node::start().await;
    let get = |path: &'static str| node.send(test::TestRequest::get().uri(path));
    assert_eq!(get("/livez").await.success()["message"], "server is alive");
    assert_eq!(get("/1/isalive").await.success()["message"], "server is alive");
    for path in ["/readyz", "/health", "/1/health", "/readyz?writes=true"] {
        let body = get(path).await.success();
        assert_eq!(body["ready"], true, "{body}");
        assert_eq!(body["reads"]["reasons"], serde_json::json!([]));
    }
    let head = node.send(test::TestRequest::default().method(Method::HEAD).uri("/livez")).await;
    assert_eq!(head.status, 200);
    node.call(Method::POST, "/1/indexes/i/query", "{}").await;
    let metrics = get("/metrics").await;
    assert_eq!(metrics.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let text = String::from_utf8(metrics.bytes).unwrap();
    let line = "quorate_http_requests_total{endpoint=\"/1/indexes/{indexName}/query\",method=\"POST\",status=\"404\"}";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("quorate_http_request_seconds_bucket"), "{text}");
    for actor in ["apply", "shard", "user-mapping"] {
        for gauge in ["quorate_actor_queue_length", "quorate_actors_failing"] {
            assert!(text.contains(&format!("{gauge}{{actor=\"{actor}\"}} ")), "{text}");
        }
    }
    assert!(text.contains("quorate_actor_head_age_seconds{actor=\"shard\"} "), "{text}");
    // one gauge for the process: other tests' requests count, too
    let in_flight = text.lines().find_map(|line| line.strip_prefix("quorate_http_requests_in_flight "));
    let in_flight: f64 = in_flight.unwrap_or_else(|| panic!("{text}")).parse().unwrap();
    assert!(in_flight >= 1.0, "the scrape itself: {text}");
}

#[actix_web::test]
async fn a_draining_node_says_so() {
    let node = Node::start().await;
    let state = node.options().state();
    state.drain();
    let app = test::init_service(App::new().configure(|config| routes(config, state))).await;
    let response = test::call_service(&app, test::TestRequest::get().uri("/readyz").to_request()).await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers().get("retry-after").unwrap(), "1");
    let body: Value = test::read_body_json(response).await;
    assert_eq!(body["message"], "not ready: the node is stopping");
    let alive = test::call_service(&app, test::TestRequest::get().uri("/livez").to_request()).await;
    assert_eq!(alive.status(), 200);
}
