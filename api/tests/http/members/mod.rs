//! What becomes of a body one of whose members is missing, of another type or huge?
//!
//! Every call that takes a body is sent each wrong value at each place of a right one. What is refused is a 4xx that names the
//! member and changes nothing. What is read all the same stands in `accepted.txt`, so that nothing is accepted unseen: `UPDATE=1
//! cargo test --workspace --test http -- members` writes it.

mod bodies;

use super::*;
use bodies::Call;
use quorate_api::routes::BodyKind;
use quorate_api::table::ROUTES;
use serde_json::json;

/// Bytes of a message at most: it may quote the caller, and not at length.
const MESSAGE_BYTES_MAX: usize = 400;

/// What is put in the place of a member, and what it is called.
fn wrong_values() -> Vec<(&'static str, Value)> {
    let deep = (0..70).fold(json!([]), |inner, _| json!([inner]));
    vec![
        ("null", json!(null)),
        ("true", json!(true)),
        ("7", json!(7)),
        ("-1", json!(-1)),
        ("1.5", json!(1.5)),
        ("1e300", json!(1e300)),
        ("empty text", json!("")),
        ("text", json!("text")),
        ("huge text", json!("x".repeat(100_000))),
        ("control characters", json!("a\u{0}\u{1f}b")),
        ("[]", json!([])),
        ("[7]", json!([7])),
        ("huge list", json!(vec!["a"; 20_000])),
        ("{}", json!({})),
        ("object", json!({"nothing": 1})),
        ("deep", deep),
    ]
}

/// A place in a body: names and numbers from the top.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Member(String),
    Entry(usize),
}
fn text(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Member(name) if text.is_empty() => text += name,
            Step::Member(name) => text += &format!(".{name}"),
            Step::Entry(number) => text += &format!("[{number}]"),
        }
    }
    if text.is_empty() { "body".into() } else { text }
}
/// Every place of a value, the value itself first.
fn places(value: &Value, path: &[Step], found: &mut Vec<Vec<Step>>) {
    found.push(path.to_vec());
    let below = |step: Step| [path, &[step]].concat();
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                places(inner, &below(Step::Member(name.clone())), found);
            }
        }
        // one entry stands for all
        Value::Array(entries) => {
            if let Some(first) = entries.first() {
                places(first, &below(Step::Entry(0)), found);
            }
        }
        _ => {}
    }
}
fn at<'v>(value: &'v mut Value, path: &[Step]) -> &'v mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Member(name) => &mut value[name.as_str()],
        Step::Entry(number) => &mut value[*number],
    })
}

/// The bodies that differ from a right one at a place, and how.
fn variants(body: &Value, path: &[Step], is_of_texts: bool) -> Vec<(String, Value)> {
    let mut variants = Vec::new();
    for (name, value) in wrong_values() {
        if is_of_texts && value.is_string() {
            continue;
        }
        let mut changed = body.clone();
        *at(&mut changed, path) = value;
        variants.push((name.to_owned(), changed));
    }
    let mut changed = body.clone();
    if let Some(members) = at(&mut changed, path).as_object_mut().filter(|_| !is_of_texts) {
        members.insert("surprise".into(), json!(1));
        variants.push(("with another member".into(), changed));
    }
    if let Some((Step::Member(name), above)) = path.split_last() {
        let mut changed = body.clone();
        at(&mut changed, above).as_object_mut().unwrap().remove(name);
        variants.push(("missing".into(), changed));
    }
    variants
}

/// What may be said of a body without the name of the member that was changed: of another one that needs it, or of no member.
const ABOUT_OTHERS: [&str; 10] = [
    " is required",
    "Unknown parameter: ",
    "nest",
    "facet with a placeholder in a pattern",
    "Cannot search in ",
    // these texts are given (C§18.1)
    "Event should specify ",
    "Event of type ",
    "Only event of type ",
    "Invalid payload",
    "every source index must have",
];

/// A text without capitals and blanks: some given texts write a name as words.
fn plain(text: &str) -> String {
    text.to_lowercase().replace(' ', "")
}

/// Whether a message names a place: the member, or one that it is a part of.
fn is_named(path: &[Step], message: &str) -> bool {
    let mut names = path.iter().filter_map(|step| match step {
        Step::Member(name) => Some(name.as_str()),
        Step::Entry(_) => None,
    });
    names.clone().next().is_none() || names.any(|name| plain(message).contains(&plain(name)))
}

/// What the installation holds, as hashes, whatever was logged meanwhile. A call that changes nothing in any case is not asked for.
async fn state(node: &Node, call: &Call) -> Vec<Value> {
    if !call.writes {
        return Vec::new();
    }
    if call.route.starts_with("/1/configs") {
        // the rest is what builds do
        return vec![node.local(Method::GET, "/1/configs", "").await.json()];
    }
    let answer = node.local(Method::GET, "/admin/cluster/digest", "").await.success();
    let of_group = |group: &Value| {
        // what is there of dropped indices, copies and announcements goes by itself, some time after the call
        let parts = ["indices", "keys", "admin key", "users", "dictionaries"]
            .map(|name| group["parts"][name].clone());
        let indices = group["indices"].as_array().into_iter().flatten();
        let named: Vec<&Value> = indices.filter(|it| it["index"].is_string()).collect();
        json!([parts, named])
    };
    answer["groups"].as_array().unwrap().iter().map(of_group).collect()
}

impl Node {
    /// Waits until readers see what a call has written.
    async fn settle(&self, answer: &Answer) {
        let tasks = match answer.json()["taskID"].take() {
            Value::Object(tasks) => tasks.into_values().collect(),
            task => vec![task],
        };
        for task in tasks.iter().filter_map(Value::as_u64) {
            self.wait(task).await;
        }
    }
    async fn tried(&self, call: &Call, body: &Value) -> Answer {
        let mut request = test::TestRequest::default()
            .method(call.method.clone())
            .uri(&call.uri)
            .peer_addr("127.0.0.1:7000".parse().unwrap())
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN));
        if call.uri.starts_with("/1/clusters") {
            request = request.insert_header(("X-Algolia-User-ID", "jane"));
        }
        self.send_to(self.options(), request.set_payload(body.to_string())).await
    }
}

/// What is wrong with the refusal of a body.
fn faults(answer: &Answer, path: &[Step], how: &str) -> Option<String> {
    let body = answer.json();
    let message = body["message"].as_str().unwrap_or_default();
    let is_named = match how {
        "with another member" => message.contains("surprise"),
        _ => is_named(path, message) || ABOUT_OTHERS.iter().any(|text| message.contains(text)),
    };
    // an entry of a batch is named by its place, what is not there by its own name
    let is_named = is_named || body["position"].is_u64() || answer.status == 404;
    let is_short = message.len() <= MESSAGE_BYTES_MAX && !message.is_empty();
    let is_refused =
        matches!(answer.status.as_u16(), 400 | 404 | 413 | 422) && body["status"] == answer.status.as_u16();
    (!is_refused || !is_short || !is_named).then(|| format!("{} {message:.500}", answer.status))
}

#[actix_web::test]
async fn what_is_wrong_in_a_body_is_named_and_changes_nothing() {
    let (one, by_user) =
        (Node::start().await, Node::start_with(|options| options.cluster.multi_cluster = true).await);
    one.write(Method::PUT, "/1/indexes/i/settings", json!({"attributesForFaceting": ["searchable(color)"]}))
        .await;
    one.write(Method::PUT, "/1/indexes/i/1", json!({"color": "red", "n": 1})).await;
    let key = one.post("/1/keys", json!({"acl": ["search"]})).await["key"].as_str().unwrap().to_owned();
    let of_index = one.post("/1/indexes/i/keys", json!({"acl": ["search"]})).await["key"].clone();
    let calls = bodies::all(&key, of_index.as_str().unwrap());
    // `models.rs` tries lines
    let of_lines = BodyKind::Lines;
    for route in ROUTES.iter().filter(|route| route.doc.body.is_some() && route.body != of_lines) {
        let is_it = |call: &Call| call.method == route.verb.as_str() && call.route == route.path;
        assert!(calls.iter().any(is_it), "{} {} is not tried", route.verb.as_str(), route.path);
    }
    let (mut wrong, mut accepted) = (Vec::new(), String::new());
    for call in &calls {
        let node = if call.uri.starts_with("/1/clusters") { &by_user } else { &one };
        let mut found = Vec::new();
        places(&call.body, &[], &mut found);
        for path in found {
            let mut read = Vec::new();
            let mut before = state(node, call).await;
            for (how, body) in variants(&call.body, &path, call.is_of_texts) {
                let answer = node.tried(call, &body).await;
                let place = format!("{} {} {}: {how}", call.method, call.route, text(&path));
                if answer.status.is_success() {
                    node.settle(&answer).await;
                    if call.route == "/1/configs" {
                        // what there is would be refused again
                        node.local(Method::DELETE, "/1/configs/made", "").await;
                    }
                    before = state(node, call).await;
                    read.push(how);
                } else if let Some(fault) = faults(&answer, &path, &how) {
                    wrong.push(format!("{place}\n    {fault}"));
                } else if state(node, call).await != before {
                    wrong.push(format!("{place}\n    is refused and has changed something"));
                }
            }
            if !read.is_empty() {
                accepted += &format!("{} {} {}: {}\n", call.method, call.route, text(&path), read.join(", "));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{} in all", wrong.join("\n"), wrong.len());
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/members/accepted.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, &accepted).unwrap();
    }
    let listed = std::fs::read_to_string(file).unwrap();
    let differs = |a: &str, b: &str| {
        a.lines().filter(|line| !b.lines().any(|other| other == *line)).map(str::to_owned).collect::<Vec<_>>()
    };
    let (new, gone) = (differs(&accepted, &listed), differs(&listed, &accepted));
    assert!(new.is_empty() && gone.is_empty(), "read now: {new:#?}\nread before: {gone:#?}");
}
