//! How do users, clusters and what is found of them look in JSON (C§15, C§14)?

use crate::json::{self, Object};
use std::ops::Range;

/// A user mapping record.
#[derive(Clone, Copy, Debug)]
pub struct UserRow<'a> {
    /// The user.
    pub user_id: &'a str,
    /// The cluster that serves the user.
    pub cluster: &'a str,
    /// How many records the user has.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
}
/// A cluster record.
#[derive(Clone, Copy, Debug)]
pub struct ClusterRow<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many users it serves.
    pub users: u64,
    /// How many records it holds for them.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
}
/// A user that a query found.
#[derive(Clone, Copy, Debug)]
pub struct UserHit<'a> {
    /// The user.
    pub row: UserRow<'a>,
    /// What of the user id matches, in order.
    pub marks: &'a [Range<usize>],
    /// The words of the query that match.
    pub words: &'a [String],
}

/// A body that is a time alone: `createdAt` or `deletedAt`.
pub fn stamp_body(name: &str, at: &str) -> Vec<u8> {
    let mut body = Vec::with_capacity(48);
    let mut object = Object::open(&mut body);
    object.string(name, at);
    object.close();
    body
}

/// `GET /1/clusters/mapping/{userID}`.
pub fn user_body(row: UserRow<'_>) -> Vec<u8> {
    let mut body = Vec::with_capacity(128);
    user(&mut body, row);
    body
}

/// `GET /1/clusters/mapping`.
pub fn users_body<'a>(rows: impl IntoIterator<Item = UserRow<'a>>, page: u64, hits_per_page: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(1_024);
    let mut object = Object::open(&mut body);
    json::list(object.member("userIDs"), rows, user);
    object.integer("page", page).integer("hitsPerPage", hits_per_page);
    object.close();
    body
}

/// `GET /1/clusters/mapping/top`.
pub fn top_body<'a>(clusters: impl IntoIterator<Item = (&'a str, Vec<UserRow<'a>>)>) -> Vec<u8> {
    let mut body = Vec::with_capacity(1_024);
    let mut object = Object::open(&mut body);
    json::members(object.member("topUsers"), clusters, |out, (name, rows)| {
        json::string(out, name);
        out.push(b':');
        json::list(out, rows, user);
    });
    object.close();
    body
}

/// `GET /1/clusters`.
pub fn clusters_body<'a>(clusters: impl IntoIterator<Item = ClusterRow<'a>>) -> Vec<u8> {
    let mut body = Vec::with_capacity(256);
    let mut object = Object::open(&mut body);
    json::list(object.member("clusters"), clusters, |out, row| {
        let ClusterRow { name, users, records, bytes } = row;
        let mut object = Object::open(out);
        object.string("clusterName", name).integer("nbRecords", records);
        object.integer("nbUserIDs", users).integer("dataSize", bytes);
        object.close();
    });
    object.close();
    body
}

/// `GET /1/clusters/mapping/pending`; `clusters` only when asked for.
pub fn pending_body<'a>(
    is_pending: bool,
    clusters: Option<impl IntoIterator<Item = (&'a str, Vec<&'a str>)>>,
) -> Vec<u8> {
    let mut body = Vec::with_capacity(64);
    let mut object = Object::open(&mut body);
    object.flag("pending", is_pending);
    if let Some(clusters) = clusters {
        json::members(object.member("clusters"), clusters, |out, (name, users)| {
            json::string(out, name);
            out.push(b':');
            json::list(out, users, json::string);
        });
    }
    object.close();
    body
}

/// `POST /1/clusters/mapping/search`.
pub fn user_hits_body<'a>(
    hits: impl IntoIterator<Item = UserHit<'a>>,
    nb_hits: u64,
    page: u64,
    hits_per_page: u64,
    updated_at_s: u64,
) -> Vec<u8> {
    let mut body = Vec::with_capacity(1_024);
    let mut object = Object::open(&mut body);
    json::list(object.member("hits"), hits, hit);
    object.integer("nbHits", nb_hits).integer("page", page).integer("hitsPerPage", hits_per_page);
    object.integer("updatedAt", updated_at_s);
    object.close();
    body
}

fn user(out: &mut Vec<u8>, row: UserRow<'_>) {
    let mut object = Object::open(out);
    members(&mut object, row);
    object.close();
}
fn members(object: &mut Object<'_>, row: UserRow<'_>) {
    let UserRow { user_id, cluster, records, bytes } = row;
    object.string("userID", user_id).string("clusterName", cluster);
    object.integer("nbRecords", records).integer("dataSize", bytes);
}

fn hit(out: &mut Vec<u8>, hit: UserHit<'_>) {
    let UserHit { row, marks, words } = hit;
    let mut object = Object::open(out);
    members(&mut object, row);
    object.string("objectID", row.user_id);
    let mut highlights = Object::open(object.member("_highlightResult"));
    let is_full = marks.iter().map(Range::len).sum::<usize>() == row.user_id.len();
    highlight(highlights.member("userID"), &marked(row.user_id, marks), words, is_full);
    highlight(highlights.member("clusterName"), row.cluster, &[], false);
    highlights.close();
    object.close();
}
fn highlight(out: &mut Vec<u8>, value: &str, words: &[String], is_full: bool) {
    let mut object = Object::open(out);
    let level = if words.is_empty() { "none" } else { "full" };
    object.string("value", value).string("matchLevel", level);
    if !words.is_empty() {
        object.flag("fullyHighlighted", is_full);
    }
    object.strings("matchedWords", words.iter().map(String::as_str));
    object.close();
}
fn marked(text: &str, marks: &[Range<usize>]) -> String {
    let (mut out, mut end) = (String::with_capacity(text.len() + marks.len() * 9), 0);
    for mark in marks {
        out.push_str(&text[end..mark.start]);
        out.push_str("<em>");
        out.push_str(&text[mark.clone()]);
        out.push_str("</em>");
        end = mark.end;
    }
    out.push_str(&text[end..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> UserRow<'static> {
        UserRow { user_id: "jane-doe", cluster: "main", records: 3, bytes: 70 }
    }
    #[track_caller]
    fn check(body: &[u8], expected: &str) {
        assert_eq!(String::from_utf8_lossy(body), expected);
    }

    #[test]
    fn c14_bodies_have_their_members() {
        let jane = r#"{"userID":"jane-doe","clusterName":"main","nbRecords":3,"dataSize":70}"#;
        check(&user_body(row()), jane);
        check(&users_body([row()], 2, 10), &format!(r#"{{"userIDs":[{jane}],"page":2,"hitsPerPage":10}}"#));
        check(&top_body([("main", vec![row()])]), &format!(r#"{{"topUsers":{{"main":[{jane}]}}}}"#));
        let main = ClusterRow { name: "main", users: 1, records: 3, bytes: 70 };
        check(
            &clusters_body([main]),
            r#"{"clusters":[{"clusterName":"main","nbRecords":3,"nbUserIDs":1,"dataSize":70}]}"#,
        );
        let none: Option<Vec<(&str, Vec<&str>)>> = None;
        check(&pending_body(false, none), r#"{"pending":false}"#);
        let some = Some([("main", vec!["jane-doe"])]);
        check(&pending_body(true, some), r#"{"pending":true,"clusters":{"main":["jane-doe"]}}"#);
        check(&stamp_body("createdAt", "now"), r#"{"createdAt":"now"}"#);
    }

    #[test]
    fn c14_hits_show_what_matched() {
        let hit = UserHit { row: row(), marks: &[0..3, 5..8], words: &["jan".into(), "doe".into()] };
        let body = String::from_utf8(user_hits_body([hit], 1, 0, 20, 9)).unwrap();
        for part in [
            r#""objectID":"jane-doe","_highlightResult":{"userID":{"value":"<em>jan</em>e-<em>doe</em>","matchLevel":"full","fullyHighlighted":false,"matchedWords":["jan","doe"]}"#,
            r#""clusterName":{"value":"main","matchLevel":"none","matchedWords":[]}"#,
            r#""nbHits":1,"page":0,"hitsPerPage":20,"updatedAt":9}"#,
        ] {
            assert!(body.contains(part), "{part} in {body}");
        }
    }
}
