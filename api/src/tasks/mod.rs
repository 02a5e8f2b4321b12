//! Has a write reached every reader (C§14, C§1.6)?

use crate::call::Call;
use crate::reply::Reply;
use quorate_model::{Error, Result, TaskId};
use quorate_wire::writes::task_body;

/// `GET /1/indexes/{indexName}/task/{taskID}`.
///
/// Whether the task is published does not depend on the index: clients wait for tasks of indices that a move has since removed (C§1.6).
/// `pendingTask` is what the list of indices says of the one that has the name now.
pub async fn of_index(call: &Call<'_>) -> Result<Reply> {
    let is_published = is_published(call, &call.names[1]).await?;
    // it is a figure, as in the list of indices: without an answer there is none
    let has_others = is_published
        && match call.index_name() {
            Ok(name) => {
                let known = call.service().indices(&[name]).await.unwrap_or_default();
                known.iter().any(|index| index.pending_tasks > 0)
            }
            Err(_) => false,
        };
    Ok(Reply::ok(task_body(is_published, has_others)))
}

/// `GET /1/task/{taskID}` (C§3.3).
pub async fn any(call: &Call<'_>) -> Result<Reply> {
    state_of(call, &call.names[0]).await
}

/// What a task that is looked at without its index has come to.
pub async fn state_of(call: &Call<'_>, text: &str) -> Result<Reply> {
    Ok(Reply::ok(task_body(is_published(call, text).await?, false)))
}

/// Errors: it is no number.
async fn is_published(call: &Call<'_>, text: &str) -> Result<bool> {
    let id: u64 = text.parse().map_err(|_| Error::parameter("taskID", "positive integer"))?;
    call.service().is_published(TaskId(id)).await
}
