//! What the interface calls for events (C§18).

use super::Service;
use crate::context::searches::ServedSearches;
use crate::read::{analytics, event_rows};
use crate::types::{EventsFound, RowsPage};
use crate::write::{events, searches};
use quorate_model::analytics::{Day, Report, ReportQuery};
use quorate_model::event::{Event, History};
use quorate_model::{GroupId, IndexName, Result};
use quorate_node::page::After;

impl Service {
    /// Keeps events that were checked. Errors: `Unavailable`; some of them may be kept, and all are when the call is repeated.
    pub async fn keep_events(&self, events: Vec<Event>) -> Result<()> {
        events::keep(self.open_context()?, events).await
    }
    /// Keeps what happened in the past. Errors: as [`Self::keep_events`].
    pub async fn keep_history(&self, history: History) -> Result<()> {
        events::keep_history(self.open_context()?, history).await
    }
    /// How long rows of events are kept, milliseconds.
    pub fn events_kept_ms(&self) -> u64 {
        self.inner.context.node().events_kept().as_millis() as u64
    }
    /// Notes searches that were served, for them to be counted. Cost: less than a microsecond; it waits for nothing.
    pub fn note_searches(&self, served: &ServedSearches) {
        self.inner.context.insights().searches.note(&served.0);
    }
    /// Figures of the searches of an index, which need not be there any more.
    ///
    /// Errors: `Invalid` when they take too long, or tags cannot be read; `Unavailable`.
    pub async fn report(&self, index: &IndexName, asked: ReportQuery) -> Result<Report> {
        analytics::now(self.open_context()?, index, asked).await
    }
    /// Has what is being typed counted as it is. For tests, which need not wait for it.
    #[doc(hidden)]
    pub async fn count_searches(&self) -> Result<()> {
        searches::finish(self.open_context()?).await;
        Ok(())
    }
    /// What is there of events on all nodes. Errors: `Unavailable`.
    pub async fn events_found(&self) -> Result<EventsFound> {
        event_rows::found(self.open_context()?).await
    }
    /// Rows of a day in a group that stand behind a row, of one index or all: each once, none of users who are forgotten.
    ///
    /// Errors: `Invalid` when there is no such group; `Unavailable`.
    pub async fn event_rows(
        &self,
        group: GroupId,
        day: Day,
        index: Option<String>,
        after: Option<After>,
    ) -> Result<RowsPage> {
        event_rows::rows(self.open_context()?, group, day, index, after).await
    }
    /// Forgets what a user did until now, by either kind of token. Errors: `Unavailable`; to be repeated.
    pub async fn forget_user(&self, token: &str) -> Result<()> {
        events::forget_user(self.open_context()?, token).await
    }
}
