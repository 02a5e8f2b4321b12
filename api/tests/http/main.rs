//! Does the interface behave over HTTP as the contract says?

mod analytics;
mod attacks;
mod bodies;
mod calls;
mod cluster;
mod clusters;
mod copied_keys;
mod dictionaries;
mod dictionary_changes;
mod document;
mod earlier_names;
mod edges;
mod encrypted;
mod events;
mod events_out;
mod extremes;
mod filters;
mod growth;
mod keys;
mod languages;
mod limits;
mod logs;
mod managed_keys;
mod members;
mod models;
mod parameters;
mod pathological;
mod readings;
mod recommend;
mod recommend_rules;
mod replicas;
mod resources;
mod restricted;
mod rights;
mod rules;
mod sources;
mod stop;
mod suggestions;

use actix_web::body::{BoxBody, to_bytes};
use actix_web::dev::{Service as _, ServiceResponse};
use actix_web::http::header::HeaderMap;
use actix_web::http::{Method, StatusCode};
use actix_web::{App, test};
use quorate_api::{Limits, ServerOptions, routes};
use quorate_cluster::{Service, ServiceOptions};
use serde_json::Value;
use std::net::SocketAddr;
use tempfile::TempDir;

const APP: &str = "TESTAPP";
const ADMIN: &str = "00112233445566778899aabbccddeeff";
/// Bytes of a body in these tests.
const BODY_BYTES_MAX: usize = 1 << 20;

/// A node on a temporary folder.
struct Node {
    service: Service,
    search_key: String,
    _folder: TempDir,
}
/// What came back.
#[derive(Debug)]
struct Answer {
    is_for_operators: bool,
    status: StatusCode,
    headers: HeaderMap,
    bytes: Vec<u8>,
}

impl Node {
    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }
    /// A node whose options `change` has changed.
    async fn start_with(change: impl FnOnce(&mut ServiceOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = ServiceOptions::new(folder.path());
        options.app_id = Some(APP.into());
        options.admin_key = Some(ADMIN.into());
        change(&mut options);
        let (service, started) = Service::open(options).await.unwrap();
        Node { service, search_key: started.search_key.unwrap(), _folder: folder }
    }
    fn options(&self) -> ServerOptions {
        let listen: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let options = ServerOptions::new(listen, self.service.clone());
        ServerOptions {
            workers: 1,
            limits: Limits { body_bytes_max: BODY_BYTES_MAX, record_bytes_max: 1_000, ..Limits::default() },
            drain_s: 5,
            ..options
        }
    }
    /// Sends one request as it is.
    async fn send(&self, request: test::TestRequest) -> Answer {
        self.send_to(self.options(), request).await
    }
    async fn send_to(&self, options: ServerOptions, request: test::TestRequest) -> Answer {
        let state = options.state();
        let app = test::init_service(App::new().configure(|config| routes(config, state))).await;
        let request = request.to_request();
        let (method, path) = (request.method().clone(), request.path().to_owned());
        let is_for_operators = path.starts_with("/admin");
        let response: ServiceResponse<BoxBody> = app.call(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = to_bytes(response.into_body()).await.unwrap().to_vec();
        if headers.get("content-encoding").is_none() {
            let format = headers.get("content-type").map_or("", |format| format.to_str().unwrap());
            document::check_answer(&method, &path, status.as_u16(), format, &bytes);
        }
        Answer { is_for_operators, status, headers, bytes }
    }
    async fn call_with(&self, key: &str, method: Method, uri: &str, body: &str) -> Answer {
        let request = test::TestRequest::default()
            .method(method.clone())
            .uri(uri)
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", key))
            .insert_header(("Content-Type", "application/x-www-form-urlencoded"))
            .set_payload(body.to_owned());
        let answer = self.send(request).await;
        if answer.status.is_success() {
            document::check_call(&method, uri, body);
        }
        answer
    }
    /// Sends a request with the admin key.
    async fn call(&self, method: Method, uri: &str, body: &str) -> Answer {
        self.call_with(ADMIN, method, uri, body).await
    }
    async fn post(&self, uri: &str, body: Value) -> Value {
        self.call(Method::POST, uri, &body.to_string()).await.success()
    }
    async fn get(&self, uri: &str) -> Value {
        self.call(Method::GET, uri, "").await.success()
    }
    /// Does a write and waits until every reader sees it.
    async fn write(&self, method: Method, uri: &str, body: Value) -> Value {
        let answer = self.call(method, uri, &body.to_string()).await.success();
        self.waited(answer).await
    }
    /// The answer to a write, once every reader sees what it did.
    async fn waited(&self, answer: Value) -> Value {
        let tasks = match &answer["taskID"] {
            Value::Object(tasks) => tasks.values().cloned().collect(),
            task => vec![task.clone()],
        };
        for task in tasks {
            self.wait(task.as_u64().unwrap()).await;
        }
        answer
    }
    async fn wait(&self, task: u64) {
        for _ in 0..1_000 {
            if self.get(&format!("/1/indexes/any/task/{task}")).await["status"] == "published" {
                return;
            }
            actix_rt::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("task {task} was not published in time");
    }
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.bytes)))
    }
    #[track_caller]
    fn success(&self) -> Value {
        assert!(self.status.is_success(), "{}: {}", self.status, String::from_utf8_lossy(&self.bytes));
        assert_eq!(self.header("content-type"), "application/json; charset=UTF-8");
        self.json()
    }
    /// Checks the shape of an error and its text.
    #[track_caller]
    fn refused(&self, status: u16, start: &str) -> Value {
        let body = self.json();
        assert_eq!(self.status.as_u16(), status, "{body}");
        assert_eq!(body["status"], status, "{body}");
        assert!(body["message"].as_str().unwrap().starts_with(start), "{body}");
        assert!(body.get("error").is_none(), "newer clients read that member differently");
        // what is for operators is read by no other page
        assert_eq!(self.header("access-control-allow-origin"), if self.is_for_operators { "" } else { "*" });
        assert!(!self.header("correlation-id").is_empty());
        body
    }
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What is there within a minute.
async fn soon<T>(find: impl AsyncFn() -> Option<T>) -> T {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        match find().await {
            Some(found) => return found,
            None => assert!(std::time::Instant::now() < until, "it did not come within a minute"),
        }
        actix_rt::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
