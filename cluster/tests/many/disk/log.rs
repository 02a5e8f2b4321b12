//! Does a member of three whose raft log cannot be read or written lose or change anything, or keep the others from going on?
//!
//! The process of a member ends by design when a sync of its log fails; here it is killed then, and starts again on what it left.

use super::{COMPARED, ILL_LOOKS, LOG_SHARE, LOOK, Model, WORKS_LOOKS, compare, leader, load, looks, wanted};
use crate::differs::leader_of;
use crate::harness::*;
use futures_util::future::join;
use quorate_cluster::Receipt;
use quorate_model::GroupId;
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
/// Looks within which a member whose sync has failed has ended.
const ENDS_LOOKS: usize = 10;
/// How long a group stands still at first whose log could not be read.
const REOPEN_AFTER: Duration = Duration::from_millis(200);
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
    /// That of the index.
    group: GroupId,
    faults: Faults,
    /// The calls that fail now, and how.
    ill: Option<(u64, Fault)>,
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
        let logs = [LogLayer::default(), LogLayer::default(), ill];
        let installation = Installation::start_on_logs(&logs, REOPEN_AFTER).await;
        installation.write(0, "lamps", vec![put("first", json!({"n": u64::from(u32::MAX)}))]).await;
        installation.set(0, "lamps", json!({"attributesForFaceting": ["n"]})).await;
        let model = Model::from([("first".into(), u64::from(u32::MAX))]);
        let (group, _) = leader_of(&installation, "lamps").await;
        World { installation, group, faults, ill: None, has_ended, left: None, model, rounds: 0 }
    }
    /// Writes to the index. The member may end itself meanwhile, and takes its connections with it.
    async fn load(&mut self) -> Receipt {
        self.rounds += 1;
        let mut written = pin!(load(&self.installation, self.rounds, &mut self.model));
        while self.left.is_none() {
            match tokio::time::timeout(LOOK, &mut written).await {
                Ok(receipt) => return receipt,
                Err(_) if self.has_ended.load(Ordering::SeqCst) => {
                    let killed = killed(&self.installation, &self.faults, self.ill);
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
    /// Lets the member lead the group of the index, if it can be had within some time.
    async fn lead(&self) {
        for look in 0..LEADS_LOOKS {
            if look % 40 == 0 {
                let _refused_while_nobody_leads =
                    self.installation.node(0).transfer_leader(self.group, "n2").await;
            }
            if leader(&self.installation, self.group).await.as_deref() == Some("n2") {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
    /// Lets calls fail while writes go on. Returns whether any was met.
    async fn ill(&mut self, after: u64, count: u64, fault: Fault) -> bool {
        let before = self.faults.failed();
        self.faults.fail_concerned(after, count, fault);
        self.ill = Some((count, fault));
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
    /// Makes the disk well. Returns whether the member goes on by itself: what failed before may be told a moment later.
    async fn heal(&mut self) -> bool {
        self.faults.heal();
        self.ill = None;
        looks(WORKS_LOOKS, || self.has_ended() || !self.cannot_write()).await;
        !looks(ENDS_LOOKS, || self.has_ended()).await && !self.is_without_meta()
    }
    fn cannot_write(&self) -> bool {
        let health = self.installation.node(ILL).health();
        health.writes.iter().any(|it| it.contains("log cannot be written"))
    }
    /// Whether its meta group stands still, which takes a start of the node; others are opened anew.
    fn is_without_meta(&self) -> bool {
        self.installation.node(ILL).health().reads.iter().any(|it| it.starts_with("group 0 stands still"))
    }
    /// Compares what all hold. Returns whether the member had to be started for that: a sync may be found to have failed late.
    async fn compare(&mut self, what: &str) -> bool {
        let has_ended = self.has_ended.clone();
        let ends = async {
            while !has_ended.load(Ordering::SeqCst) {
                tokio::time::sleep(LOOK).await;
            }
        };
        let is_compared = tokio::select! {
            () = compare(&self.installation, &self.model, what) => true,
            () = ends => false,
        };
        if !is_compared {
            self.restart(what).await;
            compare(&self.installation, &self.model, what).await;
        }
        !is_compared
    }
    /// Starts the member anew, first on the ill disk.
    async fn restart(&mut self, what: &str) {
        let mut left = match self.left.take() {
            Some(left) => left,
            None => killed(&self.installation, &self.faults, self.ill).await,
        };
        for is_ill in [true, true, false] {
            if !is_ill {
                self.faults.heal();
                self.ill = None;
            }
            self.has_ended.store(false, Ordering::SeqCst);
            left = match self.installation.try_up(ILL, left.path()).await {
                Ok(()) if !self.has_ended() => return,
                // whatever looks after it starts it again
                Ok(()) => killed(&self.installation, &self.faults, self.ill).await,
                Err(error) => {
                    assert!(is_ill, "{what}: it does not start: {error}");
                    self.installation.left(ILL)
                }
            }
        }
        panic!("{what}: it ended itself on a disk that is well");
    }
}

/// Kills the member. It goes on while what it leaves is copied: its log takes nothing meanwhile, or it would confirm what is not in the
/// copy.
async fn killed(installation: &Installation, faults: &Faults, ill: Option<(u64, Fault)>) -> TempDir {
    faults.fail_concerned(0, u64::MAX, Fault::Device);
    // what was begun before is in the files, or is not confirmed
    tokio::time::sleep(4 * LOOK).await;
    let left = installation.kill(ILL).await;
    faults.heal();
    if let Some((count, fault)) = ill {
        faults.fail_concerned(0, count, fault);
    }
    left
}

#[actix_rt::test]
async fn a_member_whose_log_refuses_any_call_ends_with_what_the_others_have() {
    // each log that fails keeps some files open in this process: a long run has several, one after another
    let first: usize =
        std::env::var("QUORATE_DISK_FROM").map_or(0, |text| text.parse().expect("the number of a point"));
    let (points, last) = (wanted() / LOG_SHARE, first + wanted() / LOG_SHARE);
    in_times(1 + points as u32 / 50, async {
        let mut world = World::start().await;
        let (mut met, mut restarts) = (0, 0);
        for point in first..last {
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
            if !world.heal().await {
                restarts += 1;
                world.restart(&what).await;
            }
            if point % COMPARED == COMPARED - 1 || point + 1 == last {
                let receipt = world.load().await;
                world.installation.published(0, receipt.task_id).await;
                restarts += usize::from(world.compare(&what).await);
            }
        }
        let failed = world.faults.failed();
        println!("{points} points of the log, {met} met, {failed} calls failed, {restarts} restarts");
        assert!(met * 4 >= points * 3, "{met} of {points} points met a call");
        world.installation.stop().await;
    })
    .await;
}
