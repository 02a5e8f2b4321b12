//! Has a write reached every reader (C§14, C§1.6)?

use crate::call::Call;
use crate::reply::Reply;
use quorate_model::{Error, Result, TaskId};
use quorate_wire::writes::task_body;

/// `GET /1/indexes/{indexName}/task/{taskID}`.
///
/// The index is not looked at: clients wait for tasks of indices that a move has since removed (C§1.6).
pub async fn of_index(call: &Call<'_>) -> Result<Reply> {
    state_of(call, &call.names[1]).await
}

/// `GET /1/task/{taskID}` (C§3.3).
pub async fn any(call: &Call<'_>) -> Result<Reply> {
    state_of(call, &call.names[0]).await
}

/// What a task has come to.
pub async fn state_of(call: &Call<'_>, text: &str) -> Result<Reply> {
    let id: u64 = text.parse().map_err(|_| Error::parameter("taskID", "positive integer"))?;
    let published = call.service().is_published(TaskId(id)).await?;
    Ok(Reply::ok(task_body(published)))
}
