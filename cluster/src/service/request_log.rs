//! What the interface calls for the log of requests (C§14).

use super::Service;
use crate::read::request_log;
use crate::request_log::{CallsAsked, LoggedCall, RequestLog};
use quorate_model::Result;

impl Service {
    /// Where calls that were answered are noted, unless this node keeps none.
    pub fn request_log(&self) -> Option<&RequestLog> {
        self.inner.context.calls().log.as_ref()
    }
    /// The calls that are asked for, of all nodes of this node's cluster that can be reached, the newest first. Takes as long as
    /// the slowest, at most some 2 s, and as long again for a turn. Errors: `Unavailable` when there is none in time.
    pub async fn latest_calls(&self, asked: &CallsAsked) -> Result<Vec<LoggedCall>> {
        request_log::latest(self.open_context()?, asked).await
    }
}
