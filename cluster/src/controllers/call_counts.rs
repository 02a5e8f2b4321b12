//! How do the nodes count calls of limited keys together? `rate_limit` says by which rules.

use crate::context::NodeContext;
use crate::rate_limit::{
    CountedAt, LimitedCall, REPORTS_MAX, RateLimiter, Report, Verdict, allowed, is_told,
};
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use futures_util::future::join_all;
use quorate_model::{NodeId, Result};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the home of a counter may take to answer: one that is only busy for a moment is to stay the home, or two would count.
const ASK_WITHIN: Duration = Duration::from_secs(1);
/// Questions of one call at most: calls that wait together are promised enough for all of them.
const ASKS_MAX: usize = 8;
/// How long a node that did not answer is not asked, and one that said that it has just started.
const SILENT: Duration = Duration::from_secs(3);
const STARTING: Duration = Duration::from_millis(100);
/// Between two reports.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// How long a node that starts tries to reach all others, and the time between two tries.
const LEARN_WITHIN: Duration = Duration::from_secs(2);
const LEARN_EVERY: Duration = Duration::from_millis(100);

/// Counts a call over all nodes of the installation. Cost: a look at the counter; one call of as many as are promised at a time waits
/// for another node, at most a second when that is silent.
///
/// Errors: `RateLimited` when it is one too many.
pub async fn count(context: &NodeContext, call: LimitedCall) -> Result<()> {
    let limiter = &context.calls().rate_limiter;
    let (own, nodes) = (context.self_id(), nodes_of(context));
    if nodes.len() > 1 {
        limiter.wait_until_learnt().await;
    }
    for _ in 0..ASKS_MAX {
        let home = match limiter.place(&nodes, own, call.id) {
            CountedAt::Home => return limiter.count_here(call),
            CountedAt::Alone => return allowed(limiter.counters().count_alone(call, nodes.len() as u64)),
            CountedAt::Asking(home) => home,
        };
        match limiter.counters().count(call) {
            Verdict::Allowed => return Ok(()),
            Verdict::Refused => return allowed(false),
            Verdict::Ask => {}
        }
        let _waiting = limiter.counters().wait(call);
        let question = limiter.counters().question(call);
        let request = PeerRequest::Count(question.clone());
        if let Some(PeerAnswer::Counted(promise)) = ask(context, home, &request, ASK_WITHIN).await {
            limiter.counters().take(&question, &promise, call.now_s);
        }
    }
    // others have used up what this one was promised
    allowed(false)
}

/// What this node knows that is for another one, which has started.
pub fn known_for(context: &NodeContext, node: NodeId) -> Vec<Report> {
    let limiter = &context.calls().rate_limiter;
    // first, so that what is counted from here on is counted there
    limiter.heard(node);
    limiter.known_for(node, context.self_id(), &nodes_of(context))
}

/// Learns what other nodes know, then tells them every second what has changed. One that reached none of them goes on trying.
pub async fn report_on(context: Arc<NodeContext>) {
    learn(&context, LEARN_WITHIN).await;
    let mut ticks = tokio::time::interval(REPORT_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if !context.calls().rate_limiter.has_learnt() {
            learn(&context, Duration::ZERO).await;
        }
        report(&context).await;
    }
}

async fn learn(context: &NodeContext, within: Duration) {
    let (limiter, until) = (&context.calls().rate_limiter, Instant::now() + within);
    let known = async |node| match ask(context, node, &PeerRequest::AllCounts, ASK_WITHIN).await {
        Some(PeerAnswer::Counts(reports)) => Some(reports),
        Some(_) | None => None,
    };
    let mut told = BTreeSet::from([context.self_id()]);
    loop {
        let left: Vec<NodeId> = nodes_of(context).into_iter().filter(|node| !told.contains(node)).collect();
        let heard = join_all(left.iter().map(async |node| known(*node).await.map(|_| *node))).await;
        told.extend(heard.into_iter().flatten());
        if left.iter().all(|node| told.contains(node)) || Instant::now() >= until {
            break;
        }
        tokio::time::sleep(LEARN_EVERY).await;
    }
    // all who could be told ask this node now, so that they count no further elsewhere
    told.remove(&context.self_id());
    let heard: Vec<Vec<Report>> = join_all(told.into_iter().map(known)).await.into_iter().flatten().collect();
    heard.iter().for_each(|reports| limiter.learn(reports));
    limiter.learnt(!heard.is_empty() || nodes_of(context).len() <= 1);
}

async fn report(context: &NodeContext) {
    let limiter: &RateLimiter = &context.calls().rate_limiter;
    let (own, nodes) = (context.self_id(), nodes_of(context));
    let (changed, owed) = (limiter.counters().changed(), limiter.owed());
    let others = nodes.iter().copied().filter(|node| *node != own);
    let told = others.map(async |node| {
        let reports = match owed.contains(&node) {
            true => limiter.known_for(node, own, &nodes),
            false => changed.iter().filter(|report| is_told(report.id, node, own, &nodes)).cloned().collect(),
        };
        for reports in reports.chunks(REPORTS_MAX) {
            let request = PeerRequest::Counts { slot: limiter.counters().slot(), reports: reports.to_vec() };
            if ask(context, node, &request, REPORT_EVERY).await.is_none() {
                limiter.owe(node);
                break;
            }
        }
    });
    join_all(told).await;
}

/// Asks a node, and notes whether it can be asked.
async fn ask(
    context: &NodeContext,
    node: NodeId,
    request: &PeerRequest,
    within: Duration,
) -> Option<PeerAnswer> {
    let limiter = &context.calls().rate_limiter;
    match context.peers().ask(node, request, Instant::now() + within).await {
        Ok(PeerAnswer::Failed { .. }) => limiter.pass_over(node, STARTING),
        Err(_) => limiter.pass_over(node, SILENT),
        Ok(answer) => {
            limiter.heard(node);
            return Some(answer);
        }
    }
    None
}

/// The nodes of the installation.
fn nodes_of(context: &NodeContext) -> Vec<NodeId> {
    context.meta().present_nodes().into_iter().map(|(node, _)| node).collect()
}
