//! Figures of the searches of an index, from a node that keeps the events of its name.

use super::call::{Location, ReadCall, ask_by, bounded_ms, given_up, in_group};
use crate::beside::{Asker, Broken, beside};
use crate::clock::within;
use crate::context::NodeContext;
use quorate_model::analytics::{Report, ReportQuery};
use quorate_model::{Error, GroupId, IndexName, Result};
use quorate_node::analytics::{EVENTS_MAX, Failure, report};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long figures may take, over all nodes that are asked.
const REPORT: Duration = Duration::from_secs(20);

/// Figures of an index; [`now`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetReport {
    /// The group of its name.
    pub group: GroupId,
    /// The index, which need not be there any more.
    pub index: IndexName,
    /// What is asked.
    pub asked: ReportQuery,
    /// Milliseconds until the asker gives up.
    #[serde(deserialize_with = "bounded_ms")]
    pub within_ms: u64,
}

impl ReadCall for GetReport {
    const NAME: &'static str = "Report";
    type Answer = Report;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Report> {
        let GetReport { group, index, asked, within_ms } = self;
        let (reports, deadline) = (&context.insights().reports, given_up(within_ms));
        let forgets = context.node().forgets_count();
        if let Some(recent) = reports.recent(&index, &asked, forgets) {
            return Ok(Report::clone(&recent));
        }
        let turn = tokio::time::timeout(within(deadline), reports.turns().acquire()).await;
        let Ok(Ok(_turn)) = turn else { return Err(too_long()) };
        let made = Arc::new(make(context, group, &index, &asked, deadline).await?);
        reports.keep(index, asked, forgets, &made);
        Ok(Arc::unwrap_or_clone(made))
    }
}

/// Makes a report on a thread of its own, which lets searches go first and ends soon after nobody waits for it.
async fn make(
    context: &NodeContext,
    group: GroupId,
    index: &IndexName,
    asked: &ReportQuery,
    deadline: Instant,
) -> Result<Report> {
    let (node, index, asked) = (context.node().clone(), index.clone(), asked.clone());
    let made = beside(format!("figures-{group}"), move |asker: &mut Asker<_>| {
        let is_over = || asker.is_gone() || Instant::now() >= deadline;
        node.events(group).map(|view| report(&view, index.as_str(), &asked, &is_over))
    });
    match made.await {
        Ok(Some(Ok(report))) => Ok(report),
        Ok(Some(Err(Failure::Stopped))) => Err(too_long()),
        Ok(Some(Err(Failure::TooMany))) => Err(Error::invalid(format!(
            "The days have more than {EVENTS_MAX} events that follow searches: ask for fewer days with startDate and endDate"
        ))),
        Ok(Some(Err(Failure::Tags))) => Err(Error::parameter("tags", "tags joined by AND and OR")),
        Ok(Some(Err(Failure::Rows(error)))) => {
            tracing::warn!(group = group.0, %error, "figures of searches cannot be made");
            Err(Error::unavailable("the events of the index cannot be read on this node"))
        }
        Ok(None) => Err(Error::unavailable("this node has given its events of the index away")),
        Err(Broken::NoThread(error)) => {
            Err(Error::unavailable(format!("no thread for figures of searches: {error}")))
        }
        Err(Broken::Panicked) => Err(Error::internal("figures of searches could not be made")),
    }
}
fn too_long() -> Error {
    Error::invalid(
        "The figures take too long: ask for fewer days with startDate and endDate, or for fewer at a time",
    )
}

/// Figures of the searches of an index. Errors: `Invalid` when they take too long, or tags cannot be read; `Unavailable`.
pub async fn now(context: &NodeContext, index: &IndexName, asked: ReportQuery) -> Result<Report> {
    let within_ms = REPORT.as_millis() as u64;
    let group = context.group_for(index)?;
    let call = GetReport { group, index: index.clone(), asked, within_ms };
    ask_by(context, call, Instant::now() + REPORT).await
}
