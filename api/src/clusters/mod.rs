//! Which cluster serves which user, and how is that changed (C§15)?

use crate::call::Call;
use crate::reply::Reply;
use actix_web::http::header::HeaderName;
use quorate_cluster::users::UserRecord;
use quorate_model::{Error, Result, UserId};
use quorate_wire::clusters::{
    ClusterRow, UserHit, UserRow, clusters_body, pending_body, stamp_body, top_body, user_body,
    user_hits_body, users_body,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Users of a page at most, and of a page of the list when nothing is said (C§15).
const PAGE_MAX: u64 = 1_000;
/// Users of a page of a search when nothing is said.
const HITS_PER_PAGE: u64 = 20;
/// Bytes of a query, as everywhere (C§20).
const QUERY_BYTES_MAX: usize = 512;

static USER_NAMES: [HeaderName; 2] =
    [HeaderName::from_static("x-service-user-id"), HeaderName::from_static("x-algolia-user-id")];

/// The user that a request is for: a header of either family, otherwise the query string (C§1.1).
pub fn named_user(call: &Call<'_>) -> Result<Option<UserId>> {
    let header = USER_NAMES.iter().find_map(|name| call.headers.get(name));
    let text: Option<Cow<'_, str>> = match header {
        Some(value) => Some(Cow::Borrowed(value.to_str().map_err(|_| {
            Error::invalid("userID is not valid: the header X-Service-User-ID has letters that are not ASCII")
        })?)),
        None => USER_NAMES.iter().find_map(|name| call.query.get_any_case(name.as_str())),
    };
    text.map(|text| UserId::new(&text)).transpose()
}

fn required_user(call: &Call<'_>) -> Result<UserId> {
    named_user(call)?.ok_or_else(|| Error::invalid("a user ID is required in the header X-Service-User-ID"))
}

/// A user ID that can be named again: `GET /1/clusters/mapping/top` and `/pending` answer something else, headers lose blanks at their
/// ends, and clients take `.` and `..` out of paths.
fn assignable(user: UserId) -> Result<UserId> {
    match user.as_str() {
        text if text.trim() != text => {
            Err(Error::invalid("userID is not valid: it must not begin or end with a space"))
        }
        "." | ".." => Err(Error::invalid("userID is not valid: \".\" and \"..\" cannot stand in a path")),
        "top" | "pending" => {
            Err(Error::invalid("userID is not valid: top and pending are the names of lists of users"))
        }
        _ => Ok(user),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssignBody {
    cluster: Option<String>,
    users: Option<Vec<String>>,
    #[serde(rename = "apiKey")]
    _api_key: Option<IgnoredAny>,
}
impl AssignBody {
    fn cluster(&self) -> Result<&str> {
        self.cluster.as_deref().ok_or_else(|| Error::invalid("cluster is required: the name of a cluster"))
    }
}

/// `POST /1/clusters/mapping`: assigns a user, or moves it.
pub async fn assign(call: &Call<'_>) -> Result<Reply> {
    call.service().check_users()?;
    let body: AssignBody = call.typed().await?;
    let created_at = call.service().assign_user(assignable(required_user(call)?)?, body.cluster()?).await?;
    Ok(Reply::ok(stamp_body("createdAt", &created_at)))
}

/// `POST /1/clusters/mapping/batch`: assigns users that are in no cluster yet.
pub async fn assign_many(call: &Call<'_>) -> Result<Reply> {
    call.service().check_users()?;
    let body: AssignBody = call.typed().await?;
    let users = body.users.as_ref().ok_or_else(|| Error::invalid("users is required: a list of user IDs"))?;
    let user = |(position, user): (usize, &String)| {
        UserId::new(user)
            .and_then(assignable)
            .map_err(|error| Error { position: Some(position as u64), ..error })
    };
    let users: Vec<UserId> = users.iter().enumerate().map(user).collect::<Result<_>>()?;
    let created_at = call.service().assign_users(users, body.cluster()?).await?;
    Ok(Reply::ok(stamp_body("createdAt", &created_at)))
}

/// `GET /1/clusters/mapping/{userID}`.
pub async fn get(call: &Call<'_>) -> Result<Reply> {
    call.service().check_users()?;
    let record = call.service().user(&UserId::new(&call.names[0])?)?;
    Ok(Reply::ok(user_body(row(&record))))
}

/// `GET /1/clusters/mapping`: a page of all users.
pub async fn list(call: &Call<'_>) -> Result<Reply> {
    let rows = per_page(call.query.integer("hitsPerPage")?.unwrap_or(PAGE_MAX))?;
    let page = call.query.integer("page")?.unwrap_or(0);
    let records = call.service().users(number(page), rows).await?;
    Ok(Reply::ok(users_body(records.iter().map(row), page, rows as u64)))
}

/// `GET /1/clusters/mapping/top`.
pub async fn top(call: &Call<'_>) -> Result<Reply> {
    let clusters = call.service().top_users().await?;
    let rows = clusters.iter().map(|(name, records)| (name.as_str(), records.iter().map(row).collect()));
    Ok(Reply::ok(top_body(rows)))
}

/// `GET /1/clusters`: also without the mapping, so that the cluster can be seen.
pub async fn clusters(call: &Call<'_>) -> Result<Reply> {
    let clusters = call.service().clusters()?;
    let rows = clusters.iter().map(|record| ClusterRow {
        name: &record.name,
        users: record.users,
        records: record.figures.records,
        bytes: record.figures.bytes,
    });
    Ok(Reply::ok(clusters_body(rows)))
}

/// `DELETE /1/clusters/mapping/{userID}`, or with the user in the header (C§3.3).
pub async fn remove(call: &Call<'_>) -> Result<Reply> {
    call.service().check_users()?;
    let user = match call.names.first() {
        Some(name) => UserId::new(name)?,
        None => required_user(call)?,
    };
    let deleted_at = call.service().remove_user(user).await?;
    Ok(Reply::ok(stamp_body("deletedAt", &deleted_at)))
}

/// `GET /1/clusters/mapping/pending`: `getClusters` stands in the query string or the body (C§14).
pub async fn pending(call: &Call<'_>) -> Result<Reply> {
    let in_body = call.object().await?;
    let names_clusters = match in_body.get("getClusters") {
        None | Some(Value::Null) => call.query.flag("getClusters", false)?,
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(Error::parameter("getClusters", "boolean"));
        }
    };
    let pending = call.service().pending_users()?;
    let clusters = pending
        .iter()
        .map(|(name, users)| (name.as_str(), users.iter().map(UserId::as_str).collect::<Vec<_>>()));
    let clusters = names_clusters.then_some(clusters);
    Ok(Reply::ok(pending_body(!pending.is_empty(), clusters)))
}

/// `POST /1/clusters/mapping/search`.
pub async fn search(call: &Call<'_>) -> Result<Reply> {
    call.service().check_users()?;
    let asked = UserSearch::parse(&call.object().await?)?;
    let UserSearch { query, cluster, page, rows } = asked;
    let found = call.service().search_users(query, cluster, number(page), rows).await?;
    let hits = found.hits.iter().map(|(record, found)| UserHit {
        row: row(record),
        marks: &found.marks,
        words: &found.words,
    });
    Ok(Reply::ok(user_hits_body(hits, found.nb_hits as u64, page, rows as u64, found.updated_at_s)))
}

/// What a search of users asks for.
struct UserSearch {
    query: String,
    cluster: Option<String>,
    page: u64,
    rows: usize,
}
impl UserSearch {
    fn parse(members: &Map<String, Value>) -> Result<UserSearch> {
        let text = |name: &str| match members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Err(Error::parameter(name, "string"))
            }
        };
        let integer = |name: &str| match members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                value.as_u64().map(Some).ok_or_else(|| Error::parameter(name, "non-negative integer"))
            }
        };
        let query = text("query")?.unwrap_or_default();
        if query.len() > QUERY_BYTES_MAX {
            return Err(Error::parameter("query", &format!("string shorter than {QUERY_BYTES_MAX} bytes")));
        }
        let cluster = match text("cluster")? {
            Some(cluster) => Some(cluster),
            None => text("clusterName")?,
        };
        Ok(UserSearch {
            query,
            cluster: cluster.filter(|name| !name.is_empty()),
            page: integer("page")?.unwrap_or(0),
            rows: per_page(integer("hitsPerPage")?.unwrap_or(HITS_PER_PAGE))?,
        })
    }
}

fn per_page(rows: u64) -> Result<usize> {
    match rows {
        1..=PAGE_MAX => Ok(rows as usize),
        _ => Err(Error::parameter("hitsPerPage", &format!("integer between 1 and {PAGE_MAX}"))),
    }
}
fn number(page: u64) -> usize {
    usize::try_from(page).unwrap_or(usize::MAX)
}
fn row(record: &UserRecord) -> UserRow<'_> {
    UserRow {
        user_id: record.user.as_str(),
        cluster: &record.cluster,
        records: record.figures.records,
        bytes: record.figures.bytes,
    }
}
