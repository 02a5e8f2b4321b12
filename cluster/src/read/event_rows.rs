//! What is there of events, and their rows for other programs, a page at a time.

use super::call::{Location, ReadCall, ask_by, bounded_ms, given_up, in_group};
use super::every_node;
use crate::beside::{Asker, Broken, beside};
use crate::clock::within;
use crate::context::NodeContext;
use crate::types::{EventReplica, EventsFound, EventsOfGroup, RowsPage, UnheardNode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_model::analytics::Day;
use quorate_model::{Error, GroupId, NodeId, Result};
use quorate_node::GroupEvents;
use quorate_node::page::{After, Page};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a page may take, over all nodes that are asked.
const PAGE: Duration = Duration::from_secs(20);
/// How long nodes may take to say what they have.
const FOUND: Duration = Duration::from_secs(5);

/// What a node has of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetEvents {}

/// Rows of a day in a group, as a Parquet file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetEventRows {
    /// The group.
    pub group: GroupId,
    /// The day.
    pub day: Day,
    /// One index; `None`: all.
    pub index: Option<String>,
    /// The row that was handed out last.
    pub after: Option<After>,
    /// Milliseconds until the asker gives up.
    #[serde(deserialize_with = "bounded_ms")]
    pub within_ms: u64,
}

impl ReadCall for GetEvents {
    const NAME: &'static str = "Events";
    type Answer = Vec<(u64, GroupEvents)>;
    type Source = ();

    async fn locate(&self, _: &NodeContext) -> Result<Location<()>> {
        Ok(Location::Local(()))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Vec<(u64, GroupEvents)>> {
        let node = context.node().clone();
        let groups = tokio::task::spawn_blocking(move || {
            let groups = node.events_of_groups().into_iter();
            groups.map(|found| (node.applied(found.group), found)).collect()
        });
        groups.await.map_err(|_| Error::internal("looking at events broke off"))
    }
}

impl ReadCall for GetEventRows {
    const NAME: &'static str = "EventRows";
    type Answer = RowsPage;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<RowsPage> {
        let deadline = given_up(self.within_ms);
        // beside figures, which read the same files
        let turn = tokio::time::timeout(within(deadline), context.insights().reports.turns().acquire()).await;
        let Ok(Ok(_turn)) = turn else { return Err(busy()) };
        let GetEventRows { group, day, index, after, within_ms: _ } = self;
        let node = context.node().clone();
        let made = beside(format!("event-rows-{group}"), move |asker: &mut Asker<_>| {
            let is_over = || asker.is_gone() || Instant::now() >= deadline;
            let view = node.events(group);
            view.map(|view| view.page(day, index.as_deref(), after.as_ref(), &is_over))
        });
        match made.await {
            Ok(Some(Ok(Some(Page { parquet, rows, next })))) => {
                Ok(RowsPage { rows, next, parquet: STANDARD.encode(parquet) })
            }
            Ok(Some(Ok(None))) => Err(busy()),
            Ok(Some(Err(error))) => {
                tracing::warn!(group = group.0, %error, "rows of events cannot be handed out");
                Err(Error::unavailable("the events of the group cannot be read on this node"))
            }
            Ok(None) => Err(Error::unavailable("this node has given its events of the group away")),
            Err(Broken::NoThread(error)) => {
                Err(Error::unavailable(format!("no thread for rows of events: {error}")))
            }
            Err(Broken::Panicked) => Err(Error::internal("rows of events could not be handed out")),
        }
    }
}
fn busy() -> Error {
    Error::unavailable("the rows could not be read in time: other figures of events are being made")
}

/// Rows of a day in a group behind a row. Errors: `Invalid` when there is no such group; `Unavailable`.
pub async fn rows(
    context: &NodeContext,
    group: GroupId,
    day: Day,
    index: Option<String>,
    after: Option<After>,
) -> Result<RowsPage> {
    if context.meta().cluster_of(group).is_none() {
        return Err(Error::parameter("group", "number of a group that has indices"));
    }
    let call = GetEventRows { group, day, index, after, within_ms: PAGE.as_millis() as u64 };
    ask_by(context, call, Instant::now() + PAGE).await
}

/// What is there of events on all nodes. Errors: `Unavailable`.
pub async fn found(context: &NodeContext) -> Result<EventsFound> {
    let answers = every_node::ask_all(context, GetEvents {}, FOUND).await?;
    let meta = context.meta();
    let name = |id: NodeId| meta.nodes.get(&id).map_or_else(|| id.to_string(), |row| row.name.clone());
    let mut of_groups: BTreeMap<GroupId, Vec<(NodeId, u64, GroupEvents)>> = BTreeMap::new();
    let mut unheard = vec![];
    for (node, answer) in answers {
        match answer {
            Ok(groups) => groups.into_iter().for_each(|(through, found)| {
                of_groups.entry(found.group).or_default().push((node, through, found))
            }),
            Err(reason) => unheard.push(UnheardNode { node: name(node), reason }),
        }
    }
    let groups = of_groups.into_iter().map(|(group, replicas)| of_group(group, replicas, &name)).collect();
    Ok(EventsFound { groups, unheard })
}

fn of_group(
    group: GroupId,
    replicas: Vec<(NodeId, u64, GroupEvents)>,
    name: &dyn Fn(NodeId) -> String,
) -> EventsOfGroup {
    let newest = replicas.iter().map(|(_, through, _)| *through).max().unwrap_or_default();
    let mut days: BTreeMap<Day, u64> = BTreeMap::new();
    for (day, rows) in replicas.iter().flat_map(|(_, _, found)| &found.days) {
        let most = days.entry(*day).or_default();
        *most = (*most).max(*rows);
    }
    let replica = |(node, through, found): (NodeId, u64, GroupEvents)| EventReplica {
        node: name(node),
        lag_entries: newest - through,
        oldest: found.days.keys().next().copied(),
        newest: found.days.keys().next_back().copied(),
        rows: found.rows,
        bytes: found.bytes,
        waiting_rows: found.waiting_rows,
        waiting_bytes: found.waiting_bytes,
        rollup_bytes: found.rollup_bytes,
        lost_files: found.lost_files,
        lost_rows: found.lost_rows,
    };
    EventsOfGroup { group, days, replicas: replicas.into_iter().map(replica).collect() }
}
