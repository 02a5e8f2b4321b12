//! How do rows of events get to the sink? The node that leads a group sends them, in the order of the group's log, again until they are
//! taken, and lets the group know how far it is. Nothing waits for the sink: what it has not been given stays where it is.

use crate::beside::{Asker, Broken, StopGuard, beside};
use crate::clock::write_deadline;
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::metrics;
use crate::options::EventSink;
use quorate_model::{GroupId, level};
use quorate_node::ops::IndexCommand;
use quorate_node::{Batch, SinkStanding, rows};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two looks for what is new.
const LOOK: Duration = Duration::from_secs(1);
/// After the first time that nothing was taken; each time it is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Between two entries that say how far a group is: what a new leader sends again.
const NOTE: Duration = Duration::from_secs(5);

/// How far the sink is with a group that this node leads.
#[derive(Default)]
struct OfGroup {
    /// Everything through this log index was taken.
    given: u64,
    /// Everything through this one, as the group was told.
    noted: u64,
    noted_at: Option<Instant>,
    /// Since when something waits.
    waits_since: Option<Instant>,
    /// Whether its rows could not be read last time.
    is_unreadable: bool,
}

/// What became of the next rows of a group.
struct Sent {
    /// The log index through which the sink has everything now, if it took something.
    through: Option<u64>,
    /// Why the rest was not sent.
    result: Result<(), Failure>,
}

/// Why rows did not reach the sink.
enum Failure {
    /// They cannot be read here: other groups go on.
    Unreadable(String),
    /// The sink did not take them.
    Refused(String),
}

/// Sends until the task is aborted.
pub async fn run(context: Arc<NodeContext>, sink: Arc<dyn EventSink>) {
    context.node().has_sink();
    let mut of_groups: BTreeMap<GroupId, OfGroup> = BTreeMap::new();
    let mut failures = 0_u32;
    loop {
        let waiting = look(&context, &mut of_groups);
        let mut has_more = false;
        for (group, after) in waiting {
            let Sent { through, result } = send_next(&context, &sink, group, after).await;
            if let Some(through) = through {
                if failures > 0 {
                    tracing::info!("the sink of events takes rows again");
                    failures = 0;
                }
                has_more = true;
                if let Some(of_group) = of_groups.get_mut(&group) {
                    (of_group.given, of_group.is_unreadable) = (through, false);
                }
            }
            match result {
                Ok(()) => {}
                Err(Failure::Unreadable(reason)) => {
                    let of_group = of_groups.entry(group).or_default();
                    if !std::mem::replace(&mut of_group.is_unreadable, true) {
                        tracing::warn!(group = group.0, reason, "rows for the sink of events cannot be read");
                    }
                }
                Err(Failure::Refused(reason)) => {
                    metrics::sink_failed();
                    if failures == 0 {
                        tracing::warn!(
                            group = group.0,
                            reason,
                            "the sink of events takes nothing: rows wait"
                        );
                    }
                    failures = failures.saturating_add(1);
                    break;
                }
            }
        }
        note(&context, &mut of_groups).await;
        let pause = match failures {
            0 if has_more => Duration::ZERO,
            0 => LOOK,
            failures => PAUSE.saturating_mul(1 << (failures - 1).min(16)).min(PAUSE_MAX),
        };
        tokio::time::sleep(pause).await;
    }
}

/// The groups that this node leads and of which something waits, with the log index behind which it begins.
fn look(context: &NodeContext, of_groups: &mut BTreeMap<GroupId, OfGroup>) -> Vec<(GroupId, u64)> {
    // until every node knows how a group says how far it is, no new leader could go on from there
    let is_possible = context.meta().level() >= level::SINK;
    let led = context.groups().placement().into_iter().filter(|group| group.is_led_here() && is_possible);
    let led: Vec<GroupId> = led.filter(|group| !group.halt.is_set()).map(|group| group.id).collect();
    // who leads again goes by what the group says
    of_groups.retain(|group, _| led.contains(group));
    let (mut waiting, mut rows, mut longest) = (vec![], 0, Duration::ZERO);
    for group in led {
        let of_group = of_groups.entry(group).or_default();
        let Some(standing) = context.node().sink_standing(group, of_group.given) else { continue };
        let SinkStanding { sent_through, rows: of_this } = standing;
        (of_group.given, of_group.noted) =
            (sent_through, of_group.noted.max(context.node().sent_through(group)));
        if of_this == 0 {
            of_group.waits_since = None;
            continue;
        }
        let since = *of_group.waits_since.get_or_insert_with(Instant::now);
        (rows, longest) = (rows + of_this, longest.max(since.elapsed()));
        waiting.push((group, sent_through));
    }
    metrics::sink_lags(rows, longest, context.node().lost_to_sink());
    waiting
}

/// Sends what comes next of a group: as many batches as one pass over its files has given.
async fn send_next(
    context: &Arc<NodeContext>,
    sink: &Arc<dyn EventSink>,
    group: GroupId,
    after: u64,
) -> Sent {
    let stop = Arc::new(AtomicBool::new(false));
    let _stopped_when_aborted = StopGuard(stop.clone());
    let (context, sink) = (context.clone(), sink.clone());
    let sent =
        beside("events-sink", move |_: &mut Asker<_>| read_and_send(&context, &*sink, group, after, &stop));
    let unreadable = |broken: Broken| Sent {
        through: None,
        result: Err(Failure::Unreadable(format!("sending: {broken}"))),
    };
    sent.await.unwrap_or_else(unreadable)
}
fn read_and_send(
    context: &NodeContext,
    sink: &dyn EventSink,
    group: GroupId,
    after: u64,
    stop: &AtomicBool,
) -> Sent {
    let node = context.node();
    let forgets = node.forgets_count();
    let mut sent = Sent { through: None, result: Ok(()) };
    match node.unsent(group, after, stop) {
        Err(error) => sent.result = Err(Failure::Unreadable(error.to_string())),
        Ok(batches) => {
            for batch in batches {
                // who is forgotten meanwhile may be among the rest, which is read again
                let is_led = context.groups().get(group).is_some_and(|group| group.is_led_here());
                if stop.load(Ordering::Relaxed) || node.forgets_count() != forgets || !is_led {
                    break;
                }
                match send(sink, &batch) {
                    Ok(()) => sent.through = Some(batch.through),
                    Err(failure) => {
                        sent.result = Err(failure);
                        break;
                    }
                }
            }
        }
    }
    sent
}
fn send(sink: &dyn EventSink, batch: &Batch) -> Result<(), Failure> {
    let mut lines = Vec::with_capacity(batch.rows.len() << 9);
    batch.rows.iter().for_each(|row| rows::write_line(row, &mut lines));
    if !lines.is_empty() {
        sink.send(&lines).map_err(Failure::Refused)?;
        metrics::sink_took(batch.rows.len());
    }
    Ok(())
}

/// Lets groups know how far the sink is with them, every few seconds: a new leader goes on from there.
async fn note(context: &NodeContext, of_groups: &mut BTreeMap<GroupId, OfGroup>) {
    for (group, of_group) in of_groups {
        let is_due = of_group.noted_at.is_none_or(|at| at.elapsed() >= NOTE);
        if of_group.given <= of_group.noted || !is_due {
            continue;
        }
        of_group.noted_at = Some(Instant::now());
        let command = IndexCommand::EventsSent { through: of_group.given };
        match context.proposer().propose_index(*group, command, Purpose::Remove, write_deadline()).await {
            Ok(_) => of_group.noted = of_group.given,
            Err(error) => tracing::debug!(group = group.0, %error, "how far the sink is waits to be noted"),
        }
    }
}
