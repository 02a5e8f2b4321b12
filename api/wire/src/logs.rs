//! How does the log of requests look in JSON (C§14)? Numbers are texts there.

use crate::json::{self, Object};
use std::borrow::Cow;
use std::net::IpAddr;

/// A call that was answered.
#[derive(Clone, Debug)]
pub struct LogEntry<'a> {
    /// When, Unix milliseconds.
    pub time_ms: u64,
    /// Its method.
    pub method: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// Path and query string.
    pub url: &'a str,
    /// Where it came from.
    pub address: Option<IpAddr>,
    /// Its headers, one a line.
    pub headers: Cow<'a, str>,
    /// Its body.
    pub body: Cow<'a, str>,
    /// The answer.
    pub answer: Cow<'a, str>,
    /// What tells it from every other.
    pub sha1: String,
    /// Milliseconds that it took.
    pub took_ms: u64,
    /// The index that its path names.
    pub index: Option<&'a str>,
    /// How many records its query found.
    pub hits: Option<u64>,
    /// Whether that is exact.
    pub is_exhaustive: Option<bool>,
    /// Its queries.
    pub queries: Vec<LoggedQuery<'a>>,
}

/// One query of a call.
#[derive(Clone, Copy, Debug)]
pub struct LoggedQuery<'a> {
    /// The index.
    pub index: &'a str,
    /// The user it was for.
    pub user_token: Option<&'a str>,
    /// What events name it by.
    pub query_id: Option<&'a str>,
}

/// `GET /1/logs`; `time` writes Unix milliseconds.
pub fn logs_body<'a>(
    entries: impl IntoIterator<Item = LogEntry<'a>>,
    time: impl Fn(u64) -> String,
) -> Vec<u8> {
    let mut body = Vec::with_capacity(16 << 10);
    let mut object = Object::open(&mut body);
    json::list(object.member("logs"), entries, |out, entry| write(out, &entry, &time));
    object.close();
    body
}

fn write(out: &mut Vec<u8>, entry: &LogEntry<'_>, time: impl Fn(u64) -> String) {
    let text = |value: u64| value.to_string();
    let mut object = Object::open(out);
    object
        .string("timestamp", &time(entry.time_ms))
        .string("method", entry.method)
        .string("answer_code", &text(entry.status.into()))
        .string("query_body", &entry.body)
        .string("answer", &entry.answer)
        .string("url", entry.url)
        .string("ip", &entry.address.map(|address| address.to_string()).unwrap_or_default())
        .string("query_headers", &entry.headers)
        .string("sha1", &entry.sha1)
        .string("nb_api_calls", &text(entry.queries.len().max(1) as u64))
        .string("processing_time_ms", &text(entry.took_ms))
        .string("query_params", entry.url.split_once('?').map_or("", |(_, query)| query));
    if let Some(index) = entry.index {
        object.string("index", index);
    }
    if let Some(hits) = entry.hits {
        object.string("query_nb_hits", &text(hits));
    }
    if let Some(is_exhaustive) = entry.is_exhaustive {
        object.flag("exhaustive", is_exhaustive);
    }
    if !entry.queries.is_empty() {
        json::list(object.member("inner_queries"), &entry.queries, |out, query| {
            let mut object = Object::open(out);
            object.string("index_name", query.index);
            if let Some(user_token) = query.user_token {
                object.string("user_token", user_token);
            }
            if let Some(query_id) = query.query_id {
                object.string("query_id", query_id);
            }
            object.close();
        });
    }
    object.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn entry<'a>() -> LogEntry<'a> {
        LogEntry {
            time_ms: 7,
            method: "POST",
            status: 200,
            url: "/1/indexes/i/query?a=b",
            address: None,
            headers: "host: h\n".into(),
            body: "{\"query\":\"a\nb\"}".into(),
            answer: "\u{0}\u{2028}".into(),
            sha1: "ab".into(),
            took_ms: 3,
            index: None,
            hits: None,
            is_exhaustive: None,
            queries: vec![],
        }
    }

    #[test]
    fn texts_of_callers_stay_texts_and_numbers_are_texts() {
        let query = |index, user_token, query_id| LoggedQuery { index, user_token, query_id };
        let full = LogEntry {
            address: Some([10, 0, 0, 1].into()),
            index: Some("i\"}],\"logs\":[{"),
            hits: Some(12),
            is_exhaustive: Some(true),
            queries: vec![query("i", Some("u"), Some("q")), query("j", None, None)],
            ..entry()
        };
        let body = logs_body([entry(), full], |time| format!("t{time}"));
        let body: Value = serde_json::from_slice(&body).unwrap();
        let plain = json!({
            "timestamp": "t7", "method": "POST", "answer_code": "200", "url": "/1/indexes/i/query?a=b", "ip": "",
            "query_headers": "host: h\n", "query_body": "{\"query\":\"a\nb\"}", "answer": "\u{0}\u{2028}", "sha1": "ab",
            "nb_api_calls": "1", "processing_time_ms": "3", "query_params": "a=b",
        });
        let mut full = plain.clone();
        for (name, value) in [
            ("ip", json!("10.0.0.1")),
            ("index", json!("i\"}],\"logs\":[{")),
            ("nb_api_calls", json!("2")),
            ("query_nb_hits", json!("12")),
            ("exhaustive", json!(true)),
            (
                "inner_queries",
                json!([{"index_name": "i", "user_token": "u", "query_id": "q"}, {"index_name": "j"}]),
            ),
        ] {
            full[name] = value;
        }
        assert_eq!(body, json!({"logs": [plain, full]}));
        assert_eq!(logs_body([], |_| String::new()), br#"{"logs":[]}"#);
    }
}
