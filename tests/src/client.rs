//! How do tests call the server? As clients do: JSON over HTTP with credentials in the headers of either family.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use ureq::http::Request;

/// The names the credentials have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `X-Service-*`, the interface card's.
    Service,
    /// `X-Algolia-*`, what public clients send.
    Algolia,
}

/// A client of one server. Cheap to clone; connections are shared.
#[derive(Clone, Debug)]
pub struct Client {
    agent: ureq::Agent,
    base: String,
    headers: Vec<(String, String)>,
}

/// What the server answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The body as JSON; `Null` when it is none.
    pub body: Value,
}

impl Answer {
    /// The member `message` of an error.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
    /// The member `taskID` of a write.
    pub fn task_id(&self) -> Result<u64> {
        self.body["taskID"].as_u64().with_context(|| format!("no taskID in {self:?}"))
    }
    /// Itself when the status is 2xx.
    pub fn success(self) -> Result<Answer> {
        ensure!((200..300).contains(&self.status), "status {}: {}", self.status, self.body);
        Ok(self)
    }
}

/// Connections that are given up after `connect`, calls after `whole`.
fn agent(connect: Duration, whole: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(connect))
        .timeout_global(Some(whole))
        .allow_non_standard_methods(true)
        .build();
    config.into()
}

impl Client {
    /// A client of the server at `address` with these credentials.
    pub fn new(address: &str, family: Family, app_id: &str, key: &str) -> Client {
        let prefix = match family {
            Family::Service => "X-Service",
            Family::Algolia => "X-Algolia",
        };
        let headers = vec![
            (format!("{prefix}-Application-Id"), app_id.to_string()),
            (format!("{prefix}-API-Key"), key.to_string()),
        ];
        Client {
            agent: agent(Duration::from_secs(10), Duration::from_secs(60)),
            base: format!("http://{address}"),
            headers,
        }
    }

    /// The same client that gives up what takes longer than this.
    pub fn within(&self, time: Duration) -> Client {
        Client { agent: agent(time, time), ..self.clone() }
    }
    /// The same client without credentials.
    pub fn anonymous(&self) -> Client {
        Client { headers: Vec::new(), ..self.clone() }
    }
    /// The same client with one more header on every request.
    pub fn with_header(&self, name: &str, value: &str) -> Client {
        let mut client = self.clone();
        client.headers.push((name.to_string(), value.to_string()));
        client
    }

    /// `HOST:PORT` of the server.
    pub fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// Sends bytes as they are. Errors: the server could not be reached or did not answer.
    pub fn send(&self, method: &str, path: &str, body: Option<&[u8]>) -> Result<Answer> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let response = match body {
            Some(bytes) => self.agent.run(request.body(bytes)?),
            None => self.agent.run(request.body(())?),
        };
        let mut response = response.with_context(|| format!("{method} {path}"))?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(256 << 20).read_to_vec();
        let text = text.with_context(|| format!("the body of {method} {path}"))?;
        let body = serde_json::from_slice(&text)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&text).into_owned()));
        Ok(Answer { status, body })
    }

    /// POST with a JSON body.
    pub fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.send("POST", path, Some(&serde_json::to_vec(body)?))
    }
    /// PUT with a JSON body.
    pub fn put(&self, path: &str, body: &Value) -> Result<Answer> {
        self.send("PUT", path, Some(&serde_json::to_vec(body)?))
    }
    /// GET.
    pub fn get(&self, path: &str) -> Result<Answer> {
        self.send("GET", path, None)
    }
    /// DELETE.
    pub fn delete(&self, path: &str) -> Result<Answer> {
        self.send("DELETE", path, None)
    }

    /// A batch of (action, body) on an index; the task id.
    pub fn batch(&self, index: &str, requests: &[(&str, Value)]) -> Result<u64> {
        let requests: Vec<Value> =
            requests.iter().map(|(action, body)| json!({"action": action, "body": body})).collect();
        self.post(&format!("/1/indexes/{index}/batch"), &json!({"requests": requests}))?.success()?.task_id()
    }
    /// Waits until a write is visible, as official clients do.
    pub fn wait_task(&self, index: &str, task_id: u64) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let answer = self.get(&format!("/1/indexes/{index}/task/{task_id}"))?.success()?;
            if answer.body["status"] == "published" {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "task {task_id} of {index} is not published: {}", answer.body);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    /// Searches with parameters as members.
    pub fn search(&self, index: &str, params: &Value) -> Result<Value> {
        Ok(self.post(&format!("/1/indexes/{index}/query"), params)?.success()?.body)
    }
    /// Every record of an index, by repeated browse.
    pub fn browse_all(&self, index: &str) -> Result<Vec<Value>> {
        let mut records = Vec::new();
        let mut request = json!({"hitsPerPage": 1000});
        loop {
            let page = self.post(&format!("/1/indexes/{index}/browse"), &request)?.success()?.body;
            records.extend(page["hits"].as_array().context("a browse without hits")?.iter().cloned());
            match page.get("cursor") {
                Some(cursor) => request = json!({"cursor": cursor}),
                None => return Ok(records),
            }
        }
    }
    /// Records by id, `Null` where there is none.
    pub fn objects(&self, index: &str, ids: &[String]) -> Result<Vec<Value>> {
        let mut found = Vec::with_capacity(ids.len());
        for ids in ids.chunks(500) {
            let requests: Vec<Value> =
                ids.iter().map(|id| json!({"indexName": index, "objectID": id})).collect();
            let answer = self.post("/1/indexes/*/objects", &json!({"requests": requests}))?.success()?;
            found.extend(answer.body["results"].as_array().context("no results")?.iter().cloned());
        }
        Ok(found)
    }
}
