//! How does a replica that is not what it should be get the state of those that are right?

use super::Checks;
use crate::apply::actor::Anew;
use crate::context::integrity::Mending;
use crate::controllers::reconciler;
use crate::groups::Group;
use quorate_model::NodeId;
use std::sync::Arc;

/// Mends what is condemned until the task is aborted.
pub(super) async fn run(checks: &Checks) {
    loop {
        for group in checks.context.groups().all() {
            checks.tell_lost(&group);
            let wanted = checks.context.integrity().update(group.id, |checked| match &checked.mending {
                Mending::Wanted(from) => Some(from.clone()),
                Mending::None | Mending::Begun => None,
            });
            if let Some(from) = wanted {
                begin(checks, &group, from).await;
            }
        }
        tokio::time::sleep(checks.pause()).await;
    }
}

/// A leader hands the group over first; it is tried again until it has.
async fn begin(checks: &Checks, group: &Arc<Group>, from: Vec<NodeId>) {
    if group.is_led_here() {
        reconciler::give_to_able(&checks.context, group).await;
        return;
    }
    let (done, ended) = tokio::sync::oneshot::channel();
    if group.anew.try_send(Anew { from, done }).is_err() {
        return;
    }
    let (context, id) = (checks.context.clone(), group.id);
    context.integrity().update(id, |checked| checked.mending = Mending::Begun);
    tokio::spawn(async move {
        let is_replaced = ended.await.is_ok();
        context.integrity().update(id, |checked| {
            checked.mending = Mending::None;
            if is_replaced {
                // all of that was of the state that is gone
                checked.damage.clear();
                checked.difference.clear();
                checked.digest = None;
            }
        });
    });
}
