//! Which indices are there, and how are they copied, renamed and removed (C§3.2)?

use crate::call::Call;
use crate::parse;
use crate::reply::Reply;
use crate::routes::Need;
use quorate_cluster::{IndexInfo, IndexOperation};
use quorate_model::error::shortened;
use quorate_model::{Error, IndexName, Result};
use quorate_wire::IndexPage;
use quorate_wire::indices::{IndexRow, PAGE_ROWS, index_list_body};
use quorate_wire::writes::{Stamps, receipt_body};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Rows a page of the list has at most.
const PAGE_ROWS_MAX: u64 = 1_000;

/// `GET /1/indexes`: the indices the key may use, by name.
pub async fn list(call: &Call<'_>) -> Result<Reply> {
    let rows = call.query.integer("hitsPerPage")?.unwrap_or(PAGE_ROWS);
    if !(1..=PAGE_ROWS_MAX).contains(&rows) {
        return Err(Error::parameter("hitsPerPage", &format!("integer between 1 and {PAGE_ROWS_MAX}")));
    }
    let page = IndexPage { page: call.query.integer("page")?, rows };
    let mut names = call.service().index_names()?;
    names.retain(|name| call.caller.may_use(name.as_str()));
    let (range, pages) = page.slice(names.len());
    let indices = call.service().indices(&names[range]).await?;
    Ok(Reply::ok(index_list_body(indices.iter().map(row), pages)))
}

fn row(info: &IndexInfo) -> IndexRow<'_> {
    IndexRow {
        name: info.name.as_str(),
        created_at: &info.created_at,
        updated_at: &info.updated_at,
        entries: info.entries,
        data_size: info.data_size,
        file_size: info.file_size,
        last_build_time_s: info.last_build_time_s,
        pending_tasks: info.pending_tasks,
        primary: info.primary.as_ref().map(IndexName::as_str),
        replicas: &info.replicas,
        is_virtual: info.is_virtual,
    }
}

/// `DELETE /1/indexes/{indexName}`: a missing index is no error (C§2).
pub async fn delete(call: &Call<'_>) -> Result<Reply> {
    let receipt = call.service().delete_index(&call.index_name()?).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::DeletedAndUpdated, None)))
}

/// A mistyped scope would make a copy of everything, and what the destination had would be gone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OperationBody {
    operation: Option<String>,
    destination: Option<String>,
    scope: Option<Vec<String>>,
    #[serde(rename = "apiKey")]
    _api_key: Option<IgnoredAny>,
}

/// `POST /1/indexes/{indexName}/operation`: copy or move.
pub async fn operation(call: &Call<'_>) -> Result<Reply> {
    let source = call.index_name()?;
    let (destination, mut operation) = parse::away(&call.body, parse_operation).await?;
    if let IndexOperation::Copy { keys, .. } = &mut operation {
        // nobody else lets a key be good for more than it was
        *keys = call.caller.check(Need::Admin).is_ok();
    }
    call.caller.check_index(destination.as_str())?;
    call.note.about(&destination);
    if destination == source {
        return Err(Error::invalid("destination is not valid: it must differ from the source index"));
    }
    let receipt = call.service().operate(&source, &destination, operation).await?;
    Ok(Reply::ok(receipt_body(receipt.task_id, &receipt.updated_at, Stamps::Updated, None)))
}

fn parse_operation(body: &[u8]) -> Result<(IndexName, IndexOperation)> {
    let body: OperationBody = parse::typed(body)?;
    let destination = body.destination.ok_or_else(|| Error::invalid("destination is required"))?;
    let of_destination = |error: Error| error.message.replacen("indexName", "destination", 1);
    let destination = IndexName::new(&destination).map_err(|error| Error::invalid(of_destination(error)))?;
    let operation = match (body.operation.as_deref(), body.scope) {
        (Some("copy"), scope) => {
            let known = ["settings", "synonyms", "rules"];
            let unknown = scope.iter().flatten().find(|name| !known.contains(&name.as_str()));
            if let Some(name) = unknown {
                let name = shortened(name);
                let text = format!("Invalid scope \"{name}\", expected settings, synonyms or rules");
                return Err(Error::invalid(text));
            }
            IndexOperation::Copy { scope, keys: false }
        }
        (Some("move"), None) => IndexOperation::Move,
        (Some("move"), Some(_)) => {
            return Err(Error::invalid("scope is only supported with the copy operation"));
        }
        (Some(other), _) => {
            let other = shortened(other);
            return Err(Error::invalid(format!("Invalid operation \"{other}\", expected copy or move")));
        }
        (None, _) => return Err(Error::invalid("operation is required: copy or move")),
    };
    Ok((destination, operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_checked_before_they_are_proposed() {
        for (body, message) in [
            (r#"{"operation":"copy"}"#, "destination is required"),
            (
                r#"{"operation":"link","destination":"b"}"#,
                "Invalid operation \"link\", expected copy or move",
            ),
            (r#"{"destination":"b"}"#, "operation is required: copy or move"),
            (
                "{\"operation\":\"copy\",\"destination\":\"b\",\n\"scopes\":[\"rules\"]}",
                "Unknown parameter: scopes near line:2 column:8",
            ),
            (
                r#"{"operation":"move","destination":"b","scope":["rules"]}"#,
                "scope is only supported with the copy operation",
            ),
            (
                r#"{"operation":"copy","destination":"b","scope":["rule"]}"#,
                "Invalid scope \"rule\", expected settings, synonyms or rules",
            ),
        ] {
            assert_eq!(parse_operation(body.as_bytes()).unwrap_err().message, message);
        }
        let (name, operation) =
            parse_operation(br#"{"operation":"copy","destination":"b c","scope":["settings"]}"#).unwrap();
        assert_eq!(name.as_str(), "b c");
        assert!(
            matches!(operation, IndexOperation::Copy { scope: Some(scope), .. } if scope == ["settings"])
        );
        assert!(parse_operation(br#"{"operation":"copy","destination":""}"#).is_err());
    }
}
