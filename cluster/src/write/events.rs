//! How do events get into logs?
//!
//! The events of an index are in the group that its name belongs to, whether there is such an index or not: so they stay together
//! when indices are made, moved over it and deleted.

use crate::clock::write_deadline;
use crate::context::NodeContext;
use crate::context::searches::{Noted, Notes};
use crate::disk::Purpose;
use crate::metrics;
use futures_util::future::try_join_all;
use quorate_model::event::{CountedSearch, Event, History};
use quorate_model::level::{self, Needs};
use quorate_model::{Error, GroupId, Result};
use quorate_node::chains::normalized;
use quorate_node::ops::IndexCommand;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long is waited for this node to show nothing of a user who is forgotten.
const SHOWN_WITHIN: Duration = Duration::from_secs(2);

/// Keeps events; returns when every group has its own on disk on a majority. When it fails some groups may have theirs: who repeats
/// all of them completes it, and none counts twice.
pub async fn keep(context: &NodeContext, events: Vec<Event>) -> Result<()> {
    context.disk().admit_observed()?;
    events.iter().for_each(|event| name_searches(context, event));
    keep_history(context, History { events, searches: vec![] }).await
}

/// Keeps what happened in the past, as [`keep`] does: who repeats it completes it.
pub async fn keep_history(context: &NodeContext, history: History) -> Result<()> {
    let History { events, searches } = history;
    let mut of_groups: BTreeMap<GroupId, (Vec<Event>, Vec<CountedSearch>)> = BTreeMap::new();
    for event in events {
        of_groups.entry(context.group_for(&event.index)?).or_default().0.push(event);
    }
    for mut search in searches {
        // as those are that are served here
        search.query = normalized(&search.query);
        of_groups.entry(context.group_for(&search.index)?).or_default().1.push(search);
    }
    let deadline = write_deadline();
    let entries = of_groups.into_iter().flat_map(|(group, (events, searches))| {
        let events = (!events.is_empty()).then_some(IndexCommand::Events { events });
        let searches = (!searches.is_empty()).then_some(IndexCommand::Searches { searches });
        let commands = events.into_iter().chain(searches);
        commands.map(move |command| context.proposer().propose_index(group, command, Purpose::Add, deadline))
    });
    try_join_all(entries).await?;
    metrics::accepted("events");
    Ok(())
}

/// Lets searches that an event names count, if they were typed here.
fn name_searches(context: &NodeContext, event: &Event) {
    let mut notes = Notes::default();
    for id in event.query_ids() {
        notes.push(&Noted::Event { index: event.index.as_str(), user: &event.user, id });
    }
    context.insights().searches.note(&notes);
}

/// Forgets what a user did until now, in all indices; returns when every group has it on disk on a majority, and this
/// node, unless it lags behind, shows nothing of it any more.
pub async fn forget_user(context: &NodeContext, token: &str) -> Result<()> {
    // before any group forgets what others cannot
    context.proposer().check_level(&Needs::level(level::EVENTS))?;
    let meta = context.meta();
    let groups: Vec<GroupId> = meta.clusters.keys().flat_map(|name| meta.groups_of(name)).collect();
    if groups.is_empty() {
        return Err(Error::unavailable("this node has not joined its cluster yet"));
    }
    let deadline = write_deadline();
    let forgets = groups.into_iter().map(|group| async move {
        let command = IndexCommand::ForgetUser { token: token.to_owned() };
        let accepted = context.proposer().propose_index(group, command, Purpose::Remove, deadline).await?;
        if let Some(replica) = context.groups().get(group) {
            // one that lags behind follows, as other nodes do
            drop(replica.wait_applied(accepted.task_id.log_index(), Instant::now() + SHOWN_WITHIN).await);
        }
        Ok::<_, Error>(())
    });
    try_join_all(forgets).await?;
    metrics::accepted("forget_user");
    Ok(())
}
