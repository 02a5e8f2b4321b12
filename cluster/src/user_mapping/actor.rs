//! Who moves and removes users? The leader of the meta group, one piece of work for each user at a time.

use super::core::{Core, What, Work};
use crate::command::MetaCommand;
use crate::disk::Purpose;
use crate::router::{Router, write_deadline};
use quorate_model::Result;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Between two looks while nothing is under way.
const INTERVAL: Duration = Duration::from_millis(250);

/// Works until the task is aborted; what was under way then is begun again by whoever leads next.
pub async fn run(router: Arc<Router>) {
    let (mut core, mut works, began) = (Core::default(), JoinSet::new(), Instant::now());
    loop {
        if leads(&router) {
            for work in core.next(&router.meta(), began.elapsed()) {
                let router = router.clone();
                works.spawn(async move {
                    let outcome = carry_out(&router, &work).await;
                    (work, outcome)
                });
            }
        }
        tokio::select! {
            Some(Ok((work, outcome))) = works.join_next(), if !works.is_empty() => {
                if let Err(error) = &outcome {
                    tracing::warn!(user = %work.user, what = ?work.what, %error, "work for a user failed; it is tried again");
                }
                core.ended(&work, outcome.map_err(drop), began.elapsed());
            }
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

fn leads(router: &Router) -> bool {
    router.groups().meta().is_ok_and(|group| group.is_led_here())
}

async fn carry_out(router: &Router, work: &Work) -> Result<()> {
    let Work { user, epoch, what } = work;
    match *what {
        What::Copy { .. } | What::CopyRest { .. } | What::Clean { .. } | What::Delete | What::Step(_) => {}
    }
    let command = MetaCommand::StepUser { user: user.clone(), epoch: *epoch, step: what.leads_to() };
    router.propose_meta(command, Purpose::Remove, write_deadline()).await.map(drop)
}
