//! Does what this node holds still read as it was written, and do the replicas of a group hold the same?
//!
//! The leader of a group puts `Compare` into its log once in a while. Every member notes in passing what it holds there; in
//! the background, at a bounded rate, it reads the checksums of the files and hashes the records, then asks the others for
//! their hashes of the same log index. Who has damaged files, or differs from more than half of all members, takes the state
//! anew from those that are right; where there is no majority it is only told. Files of groups without other members,
//! or that nobody has compared for long, are read all the same.

mod look;
mod mend;
mod pace;
mod verdict;

use crate::apply::meta::MetaPins;
use crate::clock::write_deadline;
use crate::command::{Command, MetaCommand};
use crate::context::NodeContext;
use crate::context::integrity::Kind;
use crate::disk::Purpose;
use crate::groups::Group;
use crate::metrics;
use crate::options::CheckOptions;
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use crate::types::GroupDigest;
use pace::Pace;
use quorate_model::{GroupId, NodeId, level};
use quorate_node::IndexCommand;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use verdict::{Verdict, judge};

/// How long another node may take to say what it found.
const ANSWER: Duration = Duration::from_secs(5);
/// The longest pause between two looks for something to do.
const LOOK: Duration = Duration::from_millis(500);
/// The longest wait for other nodes to hash what this one has hashed.
const OTHERS: Duration = Duration::from_secs(3_600);

/// What the checks are made with.
#[derive(Clone)]
struct Checks {
    context: Arc<NodeContext>,
    meta: MetaPins,
    options: CheckOptions,
    pace: Arc<Pace>,
}

/// Checks until the task is aborted.
pub async fn run(context: Arc<NodeContext>, meta: MetaPins, options: CheckOptions) {
    let pace = Arc::new(Pace::new(options.bytes_per_s));
    let _nobody_waits_on = Ending(pace.clone());
    let checks = Checks { context, meta, options, pace };
    tokio::join!(checks.ask(), checks.look(), checks.compare(), mend::run(&checks));
}

struct Ending(Arc<Pace>);
impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Checks {
    fn pause(&self) -> Duration {
        (self.options.every / 8).clamp(Duration::from_millis(10), LOOK)
    }

    /// Has the replicas of the groups that this node leads compared, one group after another, so that little is held at a
    /// time; reads the files of those that nobody compares.
    async fn ask(&self) {
        loop {
            let begun = Instant::now();
            let groups = self.context.groups().all();
            self.context.integrity().retain(&groups.iter().map(|group| group.id).collect());
            for group in &groups {
                self.ask_about(group).await;
            }
            let left = self.options.every.saturating_sub(begun.elapsed());
            tokio::time::sleep(left.max(Duration::from_millis(50))).await;
        }
    }
    async fn ask_about(&self, group: &Arc<Group>) {
        let integrity = self.context.integrity();
        let is_alone = self.others(group).is_empty();
        if !is_alone && group.is_led_here() && self.context.meta().level() >= level::COMPARE {
            let command = match group.id {
                GroupId::META => Command::Meta(MetaCommand::Compare),
                _ => Command::Index(IndexCommand::Compare),
            };
            let proposed =
                self.context.proposer().propose(group.id, command, Purpose::Add, write_deadline()).await;
            let Ok(accepted) = proposed else { return };
            let (log_index, until) = (accepted.task_id.log_index(), Instant::now() + OTHERS);
            let is_there = || integrity.digest(group.id).is_some_and(|it| it.through >= log_index);
            while !is_there() && Instant::now() < until && group.is_led_here() {
                tokio::time::sleep(self.pause()).await;
            }
            return;
        }
        // whoever leads sees to it that the files of all are read
        let patience = if is_alone { self.options.every } else { 2 * self.options.every };
        let age = integrity.age(group.id).unwrap_or(match is_alone {
            true => Duration::MAX,
            false => self.context.readiness().up(),
        });
        if group.id != GroupId::META && age >= patience {
            self.read(group).await;
        }
    }

    /// Hashes what `Compare` commands have pinned.
    async fn look(&self) {
        loop {
            if let Some(pin) = self.meta.take() {
                self.hash_meta(pin).await;
            }
            match self.context.node().take_pin() {
                Some(pin) => self.hash(pin).await,
                None => tokio::time::sleep(self.pause()).await,
            }
        }
    }

    /// Compares what was hashed with what the others have hashed.
    async fn compare(&self) {
        let mut compared: BTreeMap<GroupId, Comparison> = BTreeMap::new();
        loop {
            let groups = self.context.groups().all();
            compared.retain(|id, _| groups.iter().any(|group| group.id == *id));
            for group in groups {
                let Some(own) = self.context.integrity().digest(group.id) else { continue };
                let comparison = compared.entry(group.id).or_default();
                if comparison.through != own.through {
                    *comparison = Comparison { through: own.through, ..Comparison::default() };
                }
                if !comparison.is_over {
                    comparison.is_over = self.compare_group(&group, own, comparison).await;
                }
            }
            tokio::time::sleep(self.pause()).await;
        }
    }

    /// Asks those that have not said anything yet; returns whether everything is said.
    async fn compare_group(&self, group: &Group, own: GroupDigest, so_far: &mut Comparison) -> bool {
        let others = self.others(group);
        let mut is_too_late = so_far.begun.elapsed() > OTHERS.min(4 * self.options.every.max(ANSWER));
        for &other in others.iter().filter(|other| !so_far.theirs.contains_key(*other)).collect::<Vec<_>>() {
            let request = PeerRequest::Digest { group: own.group };
            if let Ok(PeerAnswer::Status(json)) =
                self.context.peers().ask(other, &request, Instant::now() + ANSWER).await
                && let Ok(digest) = serde_json::from_slice::<GroupDigest>(&json)
            {
                is_too_late |= digest.through > own.through;
                if digest.through == own.through {
                    so_far.theirs.insert(other, digest);
                }
            }
        }
        let is_complete = others.iter().all(|other| so_far.theirs.contains_key(other));
        let (integrity, through) = (self.context.integrity(), own.through);
        let told = match judge(&own, &so_far.theirs, others.len() + 1) {
            Verdict::Minority { differs, majority } => {
                metrics::compared("minority");
                let what = format!(
                    "at log index {through} it holds something else than most replicas: {}; it is fetched anew from them",
                    differs.join(", ")
                );
                integrity.tell(group.id, Kind::Difference, [what], &majority);
                return true;
            }
            _ if !is_complete && !is_too_late => return false,
            Verdict::Alike if so_far.theirs.is_empty() => return true,
            Verdict::Alike => {
                metrics::compared("alike");
                None
            }
            Verdict::Undecided { differs, others } => {
                metrics::compared("undecided");
                let meta = self.context.meta();
                let name = |node| crate::membership::name_of(&meta, node);
                let others: Vec<String> = others.into_iter().map(name).collect();
                Some(format!(
                    "at log index {through} it holds something else than other replicas: {}; compared with {}, and no majority \
                     says who is right",
                    differs.join(", "),
                    others.join(", ")
                ))
            }
        };
        integrity.tell(group.id, Kind::Difference, told, &[]);
        true
    }

    /// The other members of a group.
    fn others(&self, group: &Group) -> Vec<NodeId> {
        let membership = group.raft.membership();
        let members = membership.voters.iter().chain(&membership.learners);
        members.copied().map(NodeId).filter(|&member| member != self.context.self_id()).collect()
    }
}

/// A comparison at one log index.
struct Comparison {
    through: u64,
    begun: Instant,
    theirs: BTreeMap<NodeId, GroupDigest>,
    is_over: bool,
}
impl Default for Comparison {
    fn default() -> Self {
        Comparison { through: 0, begun: Instant::now(), theirs: BTreeMap::new(), is_over: false }
    }
}
