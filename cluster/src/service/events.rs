//! What the interface calls for events (§4.15).

use super::Service;
use crate::context::searches::{Noted, ServedSearch};
use crate::read::analytics;
use crate::write::{events, searches};
use quorate_model::analytics::{Asked, Report};
use quorate_model::event::Event;
use quorate_model::{IndexName, Result};

impl Service {
    /// Keeps events that were checked. Errors: `Unavailable`; some of them may be kept, and all are when the call is repeated.
    pub async fn keep_events(&self, events: Vec<Event>) -> Result<()> {
        events::keep(self.open_context()?, events).await
    }
    /// Notes a search that was served, for it to be counted. Cost: less than a microsecond; it waits for nothing.
    pub fn note_search(&self, search: Box<ServedSearch>) {
        self.inner.context.searches().note(Noted::Search(search));
    }
    /// Figures of the searches of an index, which need not be there any more.
    ///
    /// Errors: `Invalid` when they take too long, or tags cannot be read; `Unavailable`.
    pub async fn report(&self, index: &IndexName, asked: Asked) -> Result<Report> {
        analytics::now(self.open_context()?, index, asked).await
    }
    /// Has what is being typed counted as it is. For tests, which need not wait for it.
    #[doc(hidden)]
    pub async fn count_searches(&self) -> Result<()> {
        searches::finish(self.open_context()?).await;
        Ok(())
    }
    /// Forgets what a user did until now, by either kind of token. Errors: `Unavailable`; to be repeated.
    pub async fn forget_user(&self, token: &str) -> Result<()> {
        events::forget_user(self.open_context()?, token).await
    }
}
