//! What the interface calls for events (§4.15).

use super::Service;
use crate::context::searches::{Noted, ServedSearch};
use crate::write::events;
use quorate_model::Result;
use quorate_model::event::Event;

impl Service {
    /// Keeps events that were checked. Errors: `Unavailable`; some of them may be kept, and all are when the call is repeated.
    pub async fn keep_events(&self, events: Vec<Event>) -> Result<()> {
        events::keep(self.open_context()?, events).await
    }
    /// Notes a search that was served, for it to be counted. Cost: less than a microsecond; it waits for nothing.
    pub fn note_search(&self, search: Box<ServedSearch>) {
        self.inner.context.searches().note(Noted::Search(search));
    }
    /// Forgets what a user did until now, by either kind of token. Errors: `Unavailable`; to be repeated.
    pub async fn forget_user(&self, token: &str) -> Result<()> {
        events::forget_user(self.open_context()?, token).await
    }
}
