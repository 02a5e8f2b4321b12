//! Does a member of three whose raft log cannot be read or written lose or change anything, or keep the others from going on?
//!
//! The process of a member ends by design when a sync of its log fails; here it is killed then, and starts again on what it left.

use super::{COMPARED, ILL_LOOKS, LOG_SHARE, LOOK, Model, WORKS_LOOKS, compare, leader, load, looks, wanted};
use crate::differs::leader_of;
use crate::harness::*;
use futures_util::future::join;
use quorate_cluster::Receipt;
use quorate_raft::log_failing::FailingLogFiles;
use quorate_raft::{LogLayer, RealLogFiles};
use quorate_store::failing::{Fault, Faults};
use serde_json::json;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// The member whose log fails.
const ILL: usize = 2;
/// Calls that fail together.
const LENGTHS: [u64; 3] = [1, 5, u64::MAX];
/// Writes after which a point gives up waiting for its call.
const MEETS_WRITES: usize = 40;
/// Looks after each of them.
const MEETS_LOOKS: usize = 6;
/// The calls of a kind that come before the one that fails, at most: a few writes make as many.
const LATER: usize = 11;
/// Looks until a member leads whose log is about to fail.
const LEADS_LOOKS: usize = 400;
/// So small that files are ended, written once more and removed within a few writes.
const FILE_BYTES: u64 = 2 << 10;

/// What happens to the member while its log is ill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    /// It goes on, unless it ends itself.
    Runs,
    /// It leads.
    Leads,
    /// It is killed, and starts while its log is ill as long as it cannot, and then once more.
    IsKilled,
}
const MEANWHILE: [Meanwhile; 4] = [Meanwhile::Runs, Meanwhile::Leads, Meanwhile::Runs, Meanwhile::IsKilled];

/// Three nodes, and how one of their logs fails.
struct World {
    installation: Installation,
    faults: Faults,
    /// Whether the process of that member has ended itself.
    has_ended: Arc<AtomicBool>,
    /// What that left on disk, until it runs again.
    left: Option<TempDir>,
    model: Model,
    rounds: usize,
}

impl World {
    async fn start() -> World {
        let (faults, has_ended) = (Faults::default(), Arc::new(AtomicBool::default()));
        let ends = has_ended.clone();
        let ill = LogLayer {
            files: Arc::new(FailingLogFiles::new(Arc::new(RealLogFiles), faults.clone())),
            on_fatal: Arc::new(move |_| ends.store(true, Ordering::SeqCst)),
            file_bytes: FILE_BYTES,
            purge_every: Duration::from_millis(1),
        };
        let installation =
            Installation::start_on_logs(&[LogLayer::default(), LogLayer::default(), ill]).await;
        installation.write(0, "lamps", vec![put("first", json!({"n": u64::from(u32::MAX)}))]).await;
        installation.set(0, "lamps", json!({"attributesForFaceting": ["n"]})).await;
        let model = Model::from([("first".into(), u64::from(u32::MAX))]);
        World { installation, faults, has_ended, left: None, model, rounds: 0 }
    }
    /// Writes to the index. The member may end itself meanwhile, and takes its connections with it.
    async fn load(&mut self) -> Receipt {
        self.rounds += 1;
        let mut written = pin!(load(&self.installation, self.rounds, &mut self.model));
        while self.left.is_none() {
            match tokio::time::timeout(LOOK, &mut written).await {
                Ok(receipt) => return receipt,
                Err(_) if self.has_ended.load(Ordering::SeqCst) => {
                    let killed = self.installation.kill(ILL);
                    let (receipt, left) = join(written, killed).await;
                    self.left = Some(left);
                    return receipt;
                }
                Err(_) => {}
            }
        }
        written.await
    }
    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }
    async fn lead(&self) {
        let (group, _) = leader_of(&self.installation, "lamps").await;
        let asked = || self.installation.node(0).transfer_leader(group, "n2");
        patiently("a leader", asked).await.expect("it is told to lead");
        for _ in 0..LEADS_LOOKS {
            if leader(&self.installation, group).await.as_deref() == Some("n2") {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
    /// Lets calls fail while writes go on. Returns whether any was met.
    async fn ill(&mut self, after: u64, count: u64, fault: Fault) -> bool {
        let before = self.faults.failed();
        self.faults.fail_concerned(after, count, fault);
        for _ in 0..MEETS_WRITES {
            self.load().await;
            let has_met = || self.faults.failed() > before;
            if looks(MEETS_LOOKS, has_met).await {
                looks(ILL_LOOKS, || self.has_ended() || self.faults.failed() >= before + count.min(3)).await;
                // also of a member that cannot write any of it
                self.load().await;
                return true;
            }
        }
        false
    }
    /// Starts the member anew, first on the ill disk.
    async fn restart(&mut self, what: &str) {
        let mut left = match self.left.take() {
            Some(left) => left,
            None => self.installation.kill(ILL).await,
        };
        for is_ill in [true, true, false] {
            if !is_ill {
                self.faults.heal();
            }
            self.has_ended.store(false, Ordering::SeqCst);
            left = match self.installation.try_up(ILL, left.path()).await {
                Ok(()) if !self.has_ended() => return,
                // whatever looks after it starts it again
                Ok(()) => self.installation.kill(ILL).await,
                Err(error) => {
                    assert!(is_ill, "{what}: it does not start: {error}");
                    self.installation.left(ILL)
                }
            }
        }
        panic!("{what}: it ended itself on a disk that is well");
    }
}

fn cannot_write(world: &World) -> bool {
    world.installation.node(ILL).health().writes.iter().any(|it| it.contains("log cannot be written"))
}

#[actix_rt::test]
async fn a_member_whose_log_refuses_any_call_ends_with_what_the_others_have() {
    let points = wanted() / LOG_SHARE;
    in_times(1 + points as u32 / 50, async {
        let mut world = World::start().await;
        let (mut met, mut restarts) = (0, 0);
        for point in 0..points {
            let (fault, count) = (Fault::ALL[point % 5], LENGTHS[point / 5 % 3]);
            let meanwhile = MEANWHILE[point % MEANWHILE.len()];
            let what = format!("point {point}: {fault:?} of {count}, it {meanwhile:?}");
            if meanwhile == Meanwhile::Leads {
                world.lead().await;
            }
            met += usize::from(world.ill((point * 7 % LATER) as u64, count, fault).await);
            if world.has_ended() || meanwhile == Meanwhile::IsKilled {
                restarts += 1;
                world.restart(&what).await;
            }
            world.faults.heal();
            looks(WORKS_LOOKS, || !cannot_write(&world)).await;
            if world.has_ended() {
                // by a sync that had failed before the disk was well
                restarts += 1;
                world.restart(&what).await;
            }
            if point % COMPARED == COMPARED - 1 || point + 1 == points {
                let receipt = world.load().await;
                world.installation.published(0, receipt.task_id).await;
                compare(&world.installation, &world.model, &what).await;
            }
        }
        let failed = world.faults.failed();
        println!("{points} points of the log, {met} met, {failed} calls failed, {restarts} restarts");
        assert!(met * 4 >= points * 3, "{met} of {points} points met a call");
        world.installation.stop().await;
    })
    .await;
}
