//! Is every limit kept that section 20 of the contract names, to the last byte, and is what is past it refused as it says?
//!
//! The rows are what that section is made of: `UPDATE=1 cargo test --workspace --test http -- limits` writes it. A row is tried
//! here, at the limit and one past it, or names the test that does.

mod events;
mod full;
mod installation;
mod kept;
mod recommend_rules;
mod rows;
mod searches;
mod suggestions;

use super::*;
use serde_json::{Map, json};
use std::path::Path;

/// A row of the section.
struct Limit {
    what: &'static str,
    limit: String,
    /// What becomes of a call that is past it.
    past: &'static str,
    shown: Shown,
}
/// Where it is shown that a limit is kept.
enum Shown {
    Here(Vec<Try>),
    /// File of the repository, name of the test.
    By(&'static [(&'static str, &'static str)]),
}
/// A call at a limit, which is carried out, and one that is past it.
struct Try {
    at: Ask,
    past: Ask,
    status: u16,
    /// How the message begins.
    message: String,
}
struct Ask {
    method: Method,
    uri: String,
    body: String,
}

fn ask(method: Method, uri: impl Into<String>, body: impl ToString) -> Ask {
    Ask { method, uri: uri.into(), body: body.to_string() }
}
fn search(body: Value) -> Ask {
    ask(Method::POST, "/1/indexes/i/query", body)
}
fn settings(body: Value) -> Ask {
    ask(Method::PUT, "/1/indexes/i/settings", body)
}
fn tried(at: Ask, past: Ask, status: u16, message: impl Into<String>) -> Try {
    Try { at, past, status, message: message.into() }
}
/// Values of a member that `call` carries.
fn member(call: impl Fn(Value) -> Ask, name: &str, [at, past]: [Value; 2], expected: &str) -> Try {
    let body = |value: Value| call(Value::Object(Map::from_iter([(name.to_owned(), value)])));
    tried(body(at), body(past), 400, parameter(name, expected))
}
fn parameter(name: &str, expected: &str) -> String {
    format!("Invalid value for \"{name}\" parameter, expected {expected}")
}

/// A count with commas.
fn count(number: impl TryInto<u64>) -> String {
    let Ok(number) = number.try_into() else { panic!("a count that fits") };
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap()).collect();
    parts.join(",")
}
/// Bytes as people say them.
fn bytes(number: usize) -> String {
    match number {
        n if n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{} bytes", count(n)),
    }
}

/// The section as it stands in the contract.
fn section(rows: &[Limit]) -> String {
    let mut text = String::from(
        "## 20 Limits\n\
         Bytes of texts are those of UTF-8. A call past a limit is answered with the status of the third column and a message that names\n\
         what is too much and how much there may be, and nothing of it is carried out. This table is written from the rows in\n\
         `api/tests/http/limits`, which are tried at the limit and one past it.\n\n\
         | What | Limit | Past it |\n|---|---|---|\n",
    );
    for Limit { what, limit, past, .. } in rows {
        text += &format!("| {what} | {limit} | {past} |\n");
    }
    text
}

#[actix_web::test]
async fn the_contract_names_every_limit_as_it_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/contract.md");
    let contract = std::fs::read_to_string(path).unwrap();
    let begin = contract.find("## 20 Limits\n").unwrap();
    let end = begin + contract[begin..].find("\n## 21").unwrap();
    let expected = section(&rows::all());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, [&contract[..begin], &expected, &contract[end..]].concat()).unwrap();
        return;
    }
    assert!(
        contract[begin..end] == expected,
        "section 20 is to be written anew: UPDATE=1 cargo test --workspace --test http -- limits"
    );
}

#[actix_web::test]
async fn tests_that_show_limits_elsewhere_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for row in rows::all() {
        let Shown::By(tests) = row.shown else { continue };
        for (file, name) in tests {
            let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            assert!(text.contains(&format!("fn {name}(")), "{}: {file} has no test {name}", row.what);
        }
    }
}

impl Node {
    /// Sends a call to a node with the limits that are the default.
    async fn ask(&self, call: &Ask) -> Answer {
        let request = test::TestRequest::default()
            .method(call.method.clone())
            .uri(&call.uri)
            .peer_addr("127.0.0.1:7000".parse().unwrap())
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN))
            .set_payload(call.body.clone());
        self.send_to(ServerOptions { limits: Limits::default(), ..self.options() }, request).await
    }
}

#[actix_web::test]
async fn what_is_at_a_limit_is_carried_out_and_what_is_past_it_is_not() {
    let node = Node::start().await;
    let shape = json!({"searchableAttributes": ["name"], "attributesForFaceting": ["searchable(color)"]});
    node.write(Method::PUT, "/1/indexes/i/settings", shape).await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"name": "lamp", "color": "red", "n": 1})).await;
    let mut found = Vec::new();
    for row in rows::all() {
        let Shown::Here(tries) = &row.shown else { continue };
        for Try { at, past, status, message } in tries {
            let answer = node.ask(past).await;
            let text = String::from_utf8_lossy(&answer.bytes).into_owned();
            let said = answer.json()["message"].as_str().unwrap_or_default().to_owned();
            if answer.status != *status || !said.starts_with(message.as_str()) || text.len() > 500 {
                found.push(format!(
                    "{}, {} past it: {} {text:.300}\n    not {status} {message}",
                    row.what, past.uri, answer.status
                ));
            }
            if !row.past.contains(&status.to_string()) {
                found.push(format!("{}: {status} is not what the row says: {}", row.what, row.past));
            }
            let answer = node.ask(at).await;
            if !answer.status.is_success() {
                let text = String::from_utf8_lossy(&answer.bytes).into_owned();
                found.push(format!("{}, {} at it: {} {text:.300}", row.what, at.uri, answer.status));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
