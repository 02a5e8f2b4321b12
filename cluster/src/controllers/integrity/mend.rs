//! How does a replica that is not what it should be get the state of those that are right?
//!
//! It is tried until another state is in its place, or a look finds nothing wrong any more. All the while it is no full copy and does not
//! lead, however often a try fails.

use super::Checks;
use crate::apply::actor::{Anew, Count};
use crate::context::integrity::{Checked, Mending};
use crate::controllers::reconciler;
use crate::groups::Group;
use crate::membership;
use futures_util::future::join_all;
use quorate_model::NodeId;
use quorate_raft::{MemberChange, StateCopy};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest pause between two tries.
const RETRY: Duration = Duration::from_secs(30);

/// What is due for a replica.
enum Due {
    /// Nothing, or not yet.
    Nothing,
    /// Nothing is wrong with it any more.
    Count,
    /// It is to be replaced by what one of these has; without any, by what anybody has.
    Replace(Vec<NodeId>),
}

/// Mends what is condemned until the task is aborted.
pub(super) async fn run(checks: &Checks) {
    loop {
        for group in checks.context.groups().all() {
            checks.tell_lost(&group);
            match due(checks, &group) {
                Due::Nothing => {}
                Due::Count => count(checks, &group),
                Due::Replace(from) => replace(checks, &group, from).await,
            }
        }
        tokio::time::sleep(checks.pause()).await;
    }
}

fn due(checks: &Checks, group: &Group) -> Due {
    let pause = checks.options.every.min(RETRY);
    // whoever gave its vote to the only voter may have its files still
    let others = if is_only_voter(checks, group) { vec![] } else { checks.others(group) };
    checks.context.integrity().update(group.id, |checked| {
        let from = match &checked.mending {
            Mending::Begun(_) => return Due::Nothing,
            Mending::Wanted(_) if !is_wrong(checked) => return Due::Count,
            // only those of the majority have what this one lacks
            Mending::Wanted(from) if !checked.difference.is_empty() => from.clone(),
            // of damage it is told also where nobody else was known to have the files
            Mending::None if checked.damage.is_empty() => return Due::Nothing,
            Mending::None | Mending::Wanted(_) => others,
        };
        match checked.tried.is_some_and(|at| at.elapsed() < pause) {
            true => Due::Nothing,
            false => Due::Replace(from),
        }
    })
}

fn is_only_voter(checks: &Checks, group: &Group) -> bool {
    group.raft.membership().voters == [checks.context.self_id().0]
}

fn is_wrong(checked: &Checked) -> bool {
    !checked.damage.is_empty() || !checked.difference.is_empty()
}

/// Lets a replica count again with which nothing is wrong any more: an index was deleted, or a file put back.
fn count(checks: &Checks, group: &Group) {
    if group.count.try_send(Count(true)).is_ok() {
        checks.context.integrity().update(group.id, |checked| {
            if !is_wrong(checked) {
                (checked.mending, checked.tried) = (Mending::None, None);
            }
        });
    }
}

/// A leader hands the group over first; it is tried again until it has. The only voter has nobody to hand it to.
async fn replace(checks: &Checks, group: &Arc<Group>, from: Vec<NodeId>) {
    let (context, id) = (&checks.context, group.id);
    let condemn = |right: &[NodeId]| {
        context.integrity().update(id, |checked| {
            if checked.mending == Mending::None {
                checked.mending = Mending::Wanted(right.to_vec());
            }
        });
    };
    let is_only_voter = is_only_voter(checks, group);
    let right = right(checks, group, from.clone()).await;
    let Some(first) = right.first() else {
        // what is here is the best there is: it is served, and may become more, but is no full copy
        let is_sent = group.count.try_send(Count(true)).is_ok();
        context.integrity().update(id, |checked| {
            (checked.tried, checked.stands) = (Some(Instant::now()), true);
            if is_only_voter && is_sent {
                checked.mending = Mending::None;
            }
        });
        if !is_only_voter {
            condemn(&from);
        }
        return;
    };
    // from now on nothing else changes the members
    condemn(&right);
    context.integrity().update(id, |checked| checked.stands = false);
    if group.is_led_here() && !is_only_voter {
        let _tried_again = group.count.try_send(Count(false));
        reconciler::give_to_able(context, group).await;
        return;
    }
    if group.is_led_here() && !right.iter().any(|node| group.raft.membership().contains(node.0)) {
        // who has left and still has its files needs the rest of the log to have everything
        context.integrity().update(id, |checked| checked.tried = Some(Instant::now()));
        reconciler::change_members(group, vec![MemberChange::AddLearner(first.0)]).await;
        return;
    }
    begin(checks, group, right);
}

/// Those of the given nodes, or of all when none are given, that say that they have a full copy.
async fn right(checks: &Checks, group: &Group, from: Vec<NodeId>) -> Vec<NodeId> {
    let (context, members) = (&checks.context, group.raft.membership());
    let asked: Vec<NodeId> = match from.is_empty() {
        true => context.meta().present_nodes().into_iter().map(|(node, _)| node).collect(),
        false => from,
    };
    // a member whose log ends before that of its leader begins would have to be sent what is damaged
    let is_behind = |node: NodeId| members.progress(node.0).is_some_and(|it| it.copy == StateCopy::Fetching);
    let asked = asked.into_iter().filter(|&node| node != context.self_id() && !is_behind(node));
    let said = join_all(asked.map(async |node| (node, membership::ask(context, node).await))).await;
    let is_full = |(node, said): (NodeId, Result<membership::NodeReport, String>)| {
        let replica = said.ok()?.replicas.into_iter().find(|it| it.group == group.id)?;
        replica.is_full().then_some(node)
    };
    said.into_iter().filter_map(is_full).collect()
}

fn begin(checks: &Checks, group: &Group, from: Vec<NodeId>) {
    let (done, ended) = tokio::sync::oneshot::channel();
    let anew = Anew { from: from.clone(), within: checks.options.anew_within, done };
    if group.anew.try_send(anew).is_err() {
        return;
    }
    let (context, id) = (checks.context.clone(), group.id);
    context.integrity().update(id, |checked| checked.mending = Mending::Begun(from.clone()));
    tokio::spawn(async move {
        let is_replaced = ended.await.is_ok();
        context.integrity().update(id, |checked| {
            if is_replaced {
                // all of that was of the state that is gone
                checked.damage.clear();
                checked.difference.clear();
                (checked.digest, checked.tried, checked.mending) = (None, None, Mending::None);
            } else {
                (checked.tried, checked.mending) = (Some(Instant::now()), Mending::Wanted(from));
            }
        });
    });
}
