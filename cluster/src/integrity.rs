//! Does what this node holds still read as it was written, and do the replicas of a group hold the same?
//!
//! A pass reads every checksum of the segment files at a bounded rate and hashes their records on the way. The hash of a group that
//! stood still meanwhile is kept with its log index; replicas whose hashes are of the same log index are compared, index by
//! index. Who has damaged files, or differs from a majority, takes the state anew from the others; where there is no
//! majority it is only told.

use crate::digests::{GroupDigest, NamedDigest};
use crate::groups::Group;
use crate::metrics;
use crate::requests::{PeerAnswer, PeerRequest};
use crate::router::Router;
use parking_lot::Mutex;
use quorate_model::{GroupId, NodeId};
use quorate_node::{Incarnation, IndexDigest, Node};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How the checks go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Bytes of files and records read in a second.
    pub bytes_per_s: u64,
    /// From the beginning of one pass to that of the next, at least.
    pub every: Duration,
}

impl Default for CheckOptions {
    /// What costs some hundredths of a processor at most.
    fn default() -> Self {
        CheckOptions { bytes_per_s: 4_000_000, every: Duration::from_secs(3_600) }
    }
}

/// How long another node may take to say what it found.
const ANSWER: Duration = Duration::from_secs(5);
/// Looks at what the others found, after the own pass over a group: theirs may end later.
const LOOKS: u32 = 3;
/// Findings of a group that are told one by one.
const TOLD_MAX: usize = 20;

/// Something that is not as it should be on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The group.
    pub group: GroupId,
    /// What it is, with file or index, and what is done about it.
    pub what: String,
}

/// What the last checks found.
#[derive(Debug, Default)]
pub struct Integrity {
    state: Mutex<BTreeMap<GroupId, Checked>>,
}

#[derive(Clone, Debug, Default)]
struct Checked {
    findings: Vec<Finding>,
    /// What the replica held at a log index at which it stood still.
    digest: Option<GroupDigest>,
}

impl Integrity {
    /// What is wrong now, as far as it was looked at.
    pub fn findings(&self) -> Vec<Finding> {
        self.state.lock().values().flat_map(|checked| checked.findings.clone()).collect()
    }
    /// The hashes of a group from the last time it stood still while it was looked at.
    pub fn digest(&self, group: GroupId) -> Option<GroupDigest> {
        self.state.lock().get(&group)?.digest.clone()
    }
    fn set(&self, group: GroupId, checked: Checked) {
        self.state.lock().insert(group, checked);
        metrics::damaged(self.findings().len());
    }
    fn retain(&self, groups: &BTreeSet<GroupId>) {
        self.state.lock().retain(|group, _| groups.contains(group));
    }
}

/// Checks until the task is aborted.
pub async fn run(router: Arc<Router>, node: Node, options: CheckOptions) {
    loop {
        let begun = Instant::now();
        let groups = router.groups().placement();
        router.integrity().retain(&groups.iter().map(|group| group.id).collect());
        for group in &groups {
            check(&router, &node, group, options).await;
        }
        let next = options.every.saturating_sub(begun.elapsed()).max(Duration::from_millis(50));
        tokio::time::sleep(next).await;
    }
}

/// One look at a group: its files, then the other replicas.
async fn check(router: &Arc<Router>, node: &Node, group: &Arc<Group>, options: CheckOptions) {
    let (id, through) = (group.id, node.applied(group.id));
    node.hurry(id, through);
    let was_still = node.shown_through(id) >= through;
    let looked = node.clone();
    let read = tokio::task::spawn_blocking(move || read(&looked, id, options.bytes_per_s)).await;
    let Ok((damage, indices)) = read else {
        tracing::error!(group = id.0, "checking the files of a group panicked");
        return;
    };
    if router.groups().get(id).is_none() {
        return;
    }
    let others: Vec<NodeId> = {
        let membership = group.raft.membership();
        let members = membership.voters.iter().chain(&membership.learners);
        members.copied().map(NodeId).filter(|&member| member != router.self_id()).collect()
    };
    if !damage.is_empty() {
        let way = match others.is_empty() {
            true => "no other node has it: put back a copy of the file, or delete the index",
            false => "it is fetched anew from the other nodes",
        };
        tell(router, id, damage.into_iter().map(|what| format!("{what}; {way}")), None);
        if !others.is_empty() {
            anew(group, &others);
        }
        return;
    }
    let is_exact = was_still && node.applied(id) == through;
    let digest =
        is_exact.then(|| GroupDigest { group: id, through, is_exact, indices: named(router, indices) });
    tell(router, id, [], digest.clone());
    if let Some(own) = digest {
        compare(router, group, own, &others, options).await;
    }
}

/// Reads all files of a group: what is damaged, and the hashes of the indices that are not.
fn read(node: &Node, group: GroupId, bytes_per_s: u64) -> (Vec<String>, Vec<(Incarnation, IndexDigest)>) {
    let mut pace = |bytes: u64| {
        // what is read is paid for with time
        std::thread::sleep(Duration::from_secs_f64(bytes as f64 / bytes_per_s.max(1) as f64));
    };
    let (mut damage, mut indices) = (vec![], vec![]);
    for pinned in node.pin_each(group) {
        let checked = pinned.and_then(|index| {
            index.verify(&mut pace)?;
            Ok((index.incarnation, index.digest(&mut pace)))
        });
        match checked {
            Ok(index) => indices.push(index),
            Err(error) if error.is_damage() => damage.push(error.to_string()),
            Err(error) => tracing::warn!(group = group.0, %error, "an index cannot be checked"),
        }
    }
    (damage, indices)
}

fn named(router: &Router, indices: Vec<(Incarnation, IndexDigest)>) -> Vec<NamedDigest> {
    let meta = router.meta();
    let names: BTreeMap<Incarnation, String> =
        meta.catalogue.iter().map(|(name, row)| (row.incarnation, name.to_string())).collect();
    let named =
        |(incarnation, digest)| NamedDigest { index: names.get(&incarnation).cloned(), incarnation, digest };
    indices.into_iter().map(named).collect()
}

/// Notes what was found, and logs it once.
fn tell(
    router: &Router,
    group: GroupId,
    found: impl IntoIterator<Item = String>,
    digest: Option<GroupDigest>,
) {
    let mut findings: Vec<Finding> = found.into_iter().map(|what| Finding { group, what }).collect();
    let known = router.integrity().findings();
    for finding in findings.iter().filter(|finding| !known.contains(finding)).take(TOLD_MAX) {
        tracing::error!(group = group.0, what = finding.what, "this node does not hold what it should");
    }
    if findings.len() > TOLD_MAX {
        let more = findings.len() - TOLD_MAX;
        findings.truncate(TOLD_MAX);
        findings.push(Finding { group, what: format!("and {more} more") });
    }
    router.integrity().set(group, Checked { findings, digest });
}

/// Lets this replica be replaced by the state of another one. A leader hands the group over first.
fn anew(group: &Group, others: &[NodeId]) {
    if group.is_led_here() {
        let voters = group.raft.membership().voters.clone();
        if let Some(next) = others.iter().find(|other| voters.contains(&other.0)) {
            let _asked_again_later = group.raft.transfer_leader(next.0);
        }
        return;
    }
    let _asked_again_later = group.anew.try_send(crate::apply::actor::Anew);
}

/// Compares with what the other members hold at the same log index.
async fn compare(
    router: &Arc<Router>,
    group: &Arc<Group>,
    own: GroupDigest,
    others: &[NodeId],
    options: CheckOptions,
) {
    let mut theirs: BTreeMap<NodeId, GroupDigest> = BTreeMap::new();
    for look in 0..LOOKS {
        for &other in others.iter().filter(|other| !theirs.contains_key(*other)).collect::<Vec<_>>() {
            let request = PeerRequest::Digest { group: own.group };
            if let Ok(PeerAnswer::Status(json)) = router.ask(other, &request, Instant::now() + ANSWER).await
                && let Ok(digest) = serde_json::from_slice::<GroupDigest>(&json)
                && digest.through == own.through
            {
                theirs.insert(other, digest);
            }
        }
        if theirs.len() == others.len() || look + 1 == LOOKS {
            break;
        }
        tokio::time::sleep(options.every.min(Duration::from_secs(30)) / 4).await;
    }
    let names = router.meta();
    let told = match judge(&own, &theirs, others.len() + 1) {
        Verdict::Alike => return,
        Verdict::Minority(differs) => {
            anew(group, others);
            format!("{}; the majority is right, and this replica is fetched anew from it", differs.join(", "))
        }
        Verdict::Undecided(nodes, differs) => {
            let nodes: Vec<String> =
                nodes.into_iter().map(|node| crate::membership::name_of(&names, node)).collect();
            format!(
                "{}; compared with {}, and no majority says who is right",
                differs.join(", "),
                nodes.join(", ")
            )
        }
    };
    let told = format!("at log index {} it holds something else than other replicas: {told}", own.through);
    tell(router, own.group, [told], Some(own));
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// All that were compared hold the same.
    Alike,
    /// More than half of all members hold the same, and this one something else: what differs.
    Minority(Vec<String>),
    /// These members hold something else, and this one is not in the minority: what differs.
    Undecided(Vec<NodeId>, Vec<String>),
}

fn judge(own: &GroupDigest, theirs: &BTreeMap<NodeId, GroupDigest>, members: usize) -> Verdict {
    let is_same = |one: &GroupDigest, other: &GroupDigest| one.indices == other.indices;
    let different: Vec<(NodeId, &GroupDigest)> =
        theirs.iter().map(|(&node, digest)| (node, digest)).filter(|(_, it)| !is_same(own, it)).collect();
    let Some(&(_, first)) = different.first() else { return Verdict::Alike };
    let like = |it: &GroupDigest| theirs.values().filter(|other| is_same(it, other)).count();
    match different.iter().find(|(_, it)| 2 * like(it) > members) {
        Some((_, majority)) => Verdict::Minority(differs(own, majority)),
        // the others are in the minority: they see to themselves
        None if 2 * (like(own) + 1) > members => Verdict::Alike,
        None => Verdict::Undecided(different.iter().map(|(node, _)| *node).collect(), differs(own, first)),
    }
}

/// Names the indices and their parts in which two replicas differ.
fn differs(own: &GroupDigest, other: &GroupDigest) -> Vec<String> {
    let by_life = |it: &GroupDigest| -> BTreeMap<u64, NamedDigest> {
        it.indices.iter().map(|index| (index.incarnation, index.clone())).collect()
    };
    let (own, other) = (by_life(own), by_life(other));
    let lives: BTreeSet<u64> = own.keys().chain(other.keys()).copied().collect();
    let mut told = vec![];
    for life in lives {
        let (mine, theirs) = (own.get(&life), other.get(&life));
        let name = mine.or(theirs).and_then(|it| it.index.clone());
        let name = name.unwrap_or_else(|| format!("an index without a name ({life:x})"));
        match (mine, theirs) {
            (Some(_), None) => told.push(format!("{name} (only here)")),
            (None, _) => told.push(format!("{name} (missing here)")),
            (Some(mine), Some(theirs)) if mine.digest != theirs.digest => {
                let (mine, theirs) = (mine.digest, theirs.digest);
                let parts = [
                    ("records", (mine.records, mine.content) != (theirs.records, theirs.content)),
                    ("settings", mine.settings != theirs.settings),
                    ("synonyms", mine.synonyms != theirs.synonyms),
                    ("rules", mine.rules != theirs.rules),
                ];
                let parts: Vec<&str> = parts.iter().filter(|(_, is)| *is).map(|(part, _)| *part).collect();
                told.push(format!("{name} ({})", parts.join(", ")));
            }
            (Some(_), Some(_)) => {}
        }
    }
    told.truncate(TOLD_MAX);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(contents: &[(u64, &str)]) -> GroupDigest {
        let index = |&(incarnation, content): &(u64, &str)| {
            let mut digest = IndexDigest { records: 1, ..IndexDigest::default() };
            digest.content.add(b"id", content.as_bytes());
            NamedDigest { index: Some(format!("i{incarnation}")), incarnation, digest }
        };
        let indices = contents.iter().map(index).collect();
        GroupDigest { group: GroupId(1), through: 9, is_exact: true, indices }
    }

    #[test]
    fn the_majority_of_all_members_is_right_and_without_one_nobody_is() {
        let (good, bad) = (digest(&[(1, "a"), (2, "b")]), digest(&[(1, "a"), (2, "x")]));
        let (lacks, worse) = (digest(&[(1, "a")]), digest(&[(1, "y"), (2, "b")]));
        let others = |digests: &[&GroupDigest]| -> BTreeMap<NodeId, GroupDigest> {
            (2..).zip(digests).map(|(node, digest)| (NodeId(node), (*digest).clone())).collect()
        };
        let minority = |text: &str| Verdict::Minority(vec![text.into()]);
        let undecided = |nodes: &[u64], text: &str| {
            Verdict::Undecided(nodes.iter().map(|&node| NodeId(node)).collect(), vec![text.into()])
        };
        for (own, theirs, members, expected) in [
            (&good, vec![], 1, Verdict::Alike),
            (&good, vec![&good, &good], 3, Verdict::Alike),
            (&bad, vec![&good, &good], 3, minority("i2 (records)")),
            (&lacks, vec![&good, &good], 3, minority("i2 (missing here)")),
            (&good, vec![&lacks, &lacks], 3, minority("i2 (only here)")),
            (&good, vec![&bad, &good], 3, Verdict::Alike),
            (&bad, vec![&good], 2, undecided(&[2], "i2 (records)")),
            // one of three has not said anything
            (&bad, vec![&good], 3, undecided(&[2], "i2 (records)")),
            (&bad, vec![&good, &worse], 3, undecided(&[2, 3], "i2 (records)")),
            (&bad, vec![&good, &good, &good], 5, minority("i2 (records)")),
            (&bad, vec![&good, &good], 5, undecided(&[2, 3], "i2 (records)")),
        ] {
            assert_eq!(judge(own, &others(&theirs), members), expected, "{own:?} {theirs:?}");
        }
    }
}
