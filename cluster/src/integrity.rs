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
use crate::command::{COMPARE_LEVEL, Command, MetaCommand};
use crate::disk::Purpose;
use crate::groups::Group;
use crate::metrics;
use crate::options::CheckOptions;
use crate::requests::{PeerAnswer, PeerRequest};
use crate::router::{Router, write_deadline};
use crate::types::Finding;
use crate::types::GroupDigest;
use pace::Pace;
use parking_lot::Mutex;
use quorate_model::{GroupId, NodeId};
use quorate_node::{IndexCommand, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use verdict::{Verdict, judge};

/// How long another node may take to say what it found.
const ANSWER: Duration = Duration::from_secs(5);
/// Findings of a group that are told one by one.
const TOLD_MAX: usize = 20;
/// The longest pause between two looks for something to do.
const LOOK: Duration = Duration::from_millis(500);
/// The longest wait for other nodes to hash what this one has hashed.
const OTHERS: Duration = Duration::from_secs(3_600);

/// What the last checks found.
#[derive(Debug, Default)]
pub struct Integrity {
    state: Mutex<BTreeMap<GroupId, Checked>>,
}

#[derive(Debug, Default)]
struct Checked {
    damage: Vec<Finding>,
    difference: Vec<Finding>,
    /// What the replica held at the last log index at which replicas were compared.
    digest: Option<GroupDigest>,
    /// When its files were last read wholly.
    looked: Option<Instant>,
    mending: Mending,
}

/// Whether this replica is to be replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Mending {
    /// It is as good as any.
    #[default]
    None,
    /// By the state of one of these members.
    Wanted(Vec<NodeId>),
    /// Its state is on the way.
    Begun,
}

impl Integrity {
    /// What is wrong now, as far as it was looked at.
    pub fn findings(&self) -> Vec<Finding> {
        let each = |checked: &Checked| checked.damage.iter().chain(&checked.difference).cloned().collect();
        self.state.lock().values().flat_map(|checked| -> Vec<Finding> { each(checked) }).collect()
    }
    /// The hashes of a group at the last log index at which replicas were compared.
    pub fn digest(&self, group: GroupId) -> Option<GroupDigest> {
        self.state.lock().get(&group)?.digest.clone()
    }
    /// Whether this replica is to be replaced by what others hold, or is being replaced: it is not one to lead.
    pub fn is_condemned(&self, group: GroupId) -> bool {
        self.state.lock().get(&group).is_some_and(|checked| checked.mending != Mending::None)
    }
    fn update<T>(&self, group: GroupId, act: impl FnOnce(&mut Checked) -> T) -> T {
        let done = act(self.state.lock().entry(group).or_default());
        metrics::damaged(self.findings().len());
        done
    }
    fn retain(&self, groups: &BTreeSet<GroupId>) {
        self.state.lock().retain(|group, _| groups.contains(group));
    }
    fn age(&self, group: GroupId) -> Option<Duration> {
        Some(self.state.lock().get(&group)?.looked?.elapsed())
    }
    /// Replaces the findings of one kind, logs those that are news, and lets the replica be replaced if others are right.
    fn tell(&self, group: GroupId, kind: Kind, found: impl IntoIterator<Item = String>, right: &[NodeId]) {
        let mut findings: Vec<Finding> = found.into_iter().map(|what| Finding { group, what }).collect();
        let known = self.findings();
        for finding in findings.iter().filter(|finding| !known.contains(finding)).take(TOLD_MAX) {
            tracing::error!(group = group.0, what = finding.what, "this node does not hold what it should");
        }
        if findings.len() > TOLD_MAX {
            let more = findings.len() - TOLD_MAX;
            findings.truncate(TOLD_MAX);
            findings.push(Finding { group, what: format!("and {more} more") });
        }
        self.update(group, |checked| {
            if !findings.is_empty() && !right.is_empty() && checked.mending == Mending::None {
                checked.mending = Mending::Wanted(right.to_vec());
            }
            *match kind {
                Kind::Damage => &mut checked.damage,
                Kind::Difference => &mut checked.difference,
            } = findings;
        });
    }
}

/// Of what kind a finding is.
#[derive(Clone, Copy)]
enum Kind {
    /// A file does not read as it was written.
    Damage,
    /// Other replicas hold something else.
    Difference,
}

/// What the checks are made with.
#[derive(Clone)]
struct Checks {
    router: Arc<Router>,
    node: Node,
    meta: MetaPins,
    options: CheckOptions,
    pace: Arc<Pace>,
}

/// Checks until the task is aborted.
pub async fn run(router: Arc<Router>, node: Node, meta: MetaPins, options: CheckOptions) {
    let pace = Arc::new(Pace::new(options.bytes_per_s));
    let _nobody_waits_on = Ending(pace.clone());
    let checks = Checks { router, node, meta, options, pace };
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
            let groups = self.router.groups().all();
            self.router.integrity().retain(&groups.iter().map(|group| group.id).collect());
            for group in &groups {
                self.ask_about(group).await;
            }
            let left = self.options.every.saturating_sub(begun.elapsed());
            tokio::time::sleep(left.max(Duration::from_millis(50))).await;
        }
    }
    async fn ask_about(&self, group: &Arc<Group>) {
        let integrity = self.router.integrity();
        let is_alone = self.others(group).is_empty();
        if !is_alone && group.is_led_here() && self.router.meta().level() >= COMPARE_LEVEL {
            let command = match group.id {
                GroupId::META => Command::Meta(MetaCommand::Compare),
                _ => Command::Index(IndexCommand::Compare),
            };
            let proposed = self.router.propose(group.id, command, Purpose::Add, write_deadline()).await;
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
            false => self.router.started().elapsed(),
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
            match self.node.take_pin() {
                Some(pin) => self.hash(pin).await,
                None => tokio::time::sleep(self.pause()).await,
            }
        }
    }

    /// Compares what was hashed with what the others have hashed.
    async fn compare(&self) {
        let mut compared: BTreeMap<GroupId, Comparison> = BTreeMap::new();
        loop {
            let groups = self.router.groups().all();
            compared.retain(|id, _| groups.iter().any(|group| group.id == *id));
            for group in groups {
                let Some(own) = self.router.integrity().digest(group.id) else { continue };
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
                self.router.ask(other, &request, Instant::now() + ANSWER).await
                && let Ok(digest) = serde_json::from_slice::<GroupDigest>(&json)
            {
                is_too_late |= digest.through > own.through;
                if digest.through == own.through {
                    so_far.theirs.insert(other, digest);
                }
            }
        }
        let is_complete = others.iter().all(|other| so_far.theirs.contains_key(other));
        let (integrity, through) = (self.router.integrity(), own.through);
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
                let meta = self.router.meta();
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
        members.copied().map(NodeId).filter(|&member| member != self.router.self_id()).collect()
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
