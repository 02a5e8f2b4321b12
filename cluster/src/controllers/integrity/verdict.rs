//! Who of several replicas holds what the group holds? The majority of all members says so; without one nobody does.

use crate::types::{GroupDigest, NamedDigest};
use quorate_model::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Differences that are told one by one.
const TOLD_MAX: usize = 20;

/// What a comparison came to, for one of the replicas.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All that were compared hold the same, as far as this one is concerned.
    Alike,
    /// More than half of all members hold the same, and this one something else.
    Minority {
        /// What differs.
        differs: Vec<String>,
        /// Who holds what the majority does.
        majority: Vec<NodeId>,
    },
    /// These members hold something else, and no majority says who is right.
    Undecided {
        /// What differs.
        differs: Vec<String>,
        /// Who they are.
        others: Vec<NodeId>,
    },
}

/// Judges a replica by what others say that they held at the same log index.
pub(super) fn judge(own: &GroupDigest, theirs: &BTreeMap<NodeId, GroupDigest>, members: usize) -> Verdict {
    let different: Vec<(NodeId, &GroupDigest)> =
        theirs.iter().map(|(&node, digest)| (node, digest)).filter(|(_, it)| !is_same(own, it)).collect();
    let Some(&(_, first)) = different.first() else { return Verdict::Alike };
    // who does not know what differs is like both sides, and speaks for neither
    let right = |it: &GroupDigest| -> Vec<NodeId> {
        different.iter().filter(|(_, other)| is_same(it, other)).map(|(node, _)| *node).collect()
    };
    let speaks_for_own =
        |it: &&GroupDigest| is_same(own, it) && different.iter().all(|(_, other)| !is_same(other, it));
    let like_own = theirs.values().filter(speaks_for_own).count();
    match different.iter().find(|(_, it)| 2 * right(it).len() > members) {
        Some((_, majority)) => {
            Verdict::Minority { differs: differs(own, majority), majority: right(majority) }
        }
        // the others are in the minority: they see to themselves
        None if 2 * (like_own + 1) > members => Verdict::Alike,
        None => Verdict::Undecided {
            differs: differs(own, first),
            others: different.iter().map(|(node, _)| *node).collect(),
        },
    }
}

/// Whether two replicas hold the same, as far as both know.
fn is_same(one: &GroupDigest, other: &GroupDigest) -> bool {
    one.parts == other.parts
        && of_events(one, other).is_empty()
        && compared(one, other).all(|(_, one, other)| one.map(|it| it.digest) == other.map(|it| it.digest))
}

/// The indices of two replicas beside each other, without those of which one of the two does not know.
fn compared<'d>(
    one: &'d GroupDigest,
    other: &'d GroupDigest,
) -> impl Iterator<Item = (u64, Option<&'d NamedDigest>, Option<&'d NamedDigest>)> {
    let by_life = |it: &'d GroupDigest| -> BTreeMap<u64, &'d NamedDigest> {
        it.indices.iter().map(|index| (index.incarnation, index)).collect()
    };
    let (ours, theirs) = (by_life(one), by_life(other));
    let lives: BTreeSet<u64> = ours.keys().chain(theirs.keys()).copied().collect();
    let is_known = move |life: &u64| [one, other].iter().all(|it| it.unknown.binary_search(life).is_err());
    lives.into_iter().filter(is_known).map(move |life| {
        let named = |of: Option<&&'d NamedDigest>| of.copied();
        (life, named(ours.get(&life)), named(theirs.get(&life)))
    })
}

/// What differs in what both know of events.
fn of_events(one: &GroupDigest, other: &GroupDigest) -> Vec<String> {
    one.events
        .as_ref()
        .zip(other.events.as_ref())
        .map_or_else(Vec::new, |(one, other)| one.differences(other))
}

/// Names the indices and their parts in which two replicas differ.
fn differs(own: &GroupDigest, other: &GroupDigest) -> Vec<String> {
    let mut told: Vec<String> = own
        .parts
        .iter()
        .filter(|(part, digest)| other.parts.get(*part) != Some(digest))
        .map(|(part, _)| part.clone())
        .chain(of_events(own, other))
        .collect();
    for (life, mine, theirs) in compared(own, other) {
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
                let counts = match mine.records == theirs.records {
                    true => String::new(),
                    false => format!(": {} here, {} there", mine.records, theirs.records),
                };
                told.push(format!("{name} ({}{counts})", parts.join(", ")));
            }
            (Some(_), Some(_)) => {}
        }
    }
    let more = told.len().saturating_sub(TOLD_MAX);
    if more > 0 {
        told.truncate(TOLD_MAX);
        told.push(format!("and {more} more"));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::GroupId;
    use quorate_node::{EventsDigest, IndexDigest};

    fn digest(contents: &[(u64, &str)]) -> GroupDigest {
        let index = |&(incarnation, content): &(u64, &str)| {
            let mut digest = IndexDigest { records: 1, ..IndexDigest::default() };
            digest.content.add(b"id", content.as_bytes());
            NamedDigest { index: Some(format!("i{incarnation}")), incarnation, digest }
        };
        let indices = contents.iter().map(index).collect();
        GroupDigest { indices, ..GroupDigest::of(GroupId(1), 9) }
    }

    #[test]
    fn the_majority_of_all_members_is_right_and_without_one_nobody_is() {
        let (good, bad) = (digest(&[(1, "a"), (2, "b")]), digest(&[(1, "a"), (2, "x")]));
        let (lacks, worse) = (digest(&[(1, "a")]), digest(&[(1, "y"), (2, "b")]));
        let unsure = GroupDigest { unknown: vec![2], ..digest(&[(1, "a")]) };
        let parts = |users: &[u8]| {
            let mut it = quorate_node::Digest::default();
            it.add(b"u", users);
            let parts = [("nodes".to_owned(), quorate_node::Digest::default()), ("users".to_owned(), it)];
            GroupDigest { parts: parts.into(), ..GroupDigest::of(GroupId::META, 9) }
        };
        let (meta, other_meta) = (parts(b"a"), parts(b"b"));
        let events = |sent| GroupDigest {
            events: Some(EventsDigest { sent, ..EventsDigest::default() }),
            ..digest(&[(1, "a")])
        };
        let (event, other_event, without) = (events(1), events(2), digest(&[(1, "a")]));
        let of_sink = "how far the sink is (2 here, 1 there)";
        let others = |digests: &[&GroupDigest]| -> BTreeMap<NodeId, GroupDigest> {
            (2..).zip(digests).map(|(node, digest)| (NodeId(node), (*digest).clone())).collect()
        };
        let ids = |nodes: &[u64]| nodes.iter().map(|&node| NodeId(node)).collect();
        let minority = |nodes: &[u64], text: &str| Verdict::Minority {
            differs: vec![text.into()],
            majority: ids(nodes),
        };
        let undecided =
            |nodes: &[u64], text: &str| Verdict::Undecided { differs: vec![text.into()], others: ids(nodes) };
        for (own, theirs, members, expected) in [
            (&good, vec![], 1, Verdict::Alike),
            (&good, vec![&good, &good], 3, Verdict::Alike),
            (&bad, vec![&good, &good], 3, minority(&[2, 3], "i2 (records)")),
            (&lacks, vec![&good, &good], 3, minority(&[2, 3], "i2 (missing here)")),
            (&good, vec![&lacks, &lacks], 3, minority(&[2, 3], "i2 (only here)")),
            (&good, vec![&bad, &good], 3, Verdict::Alike),
            (&bad, vec![&good], 2, undecided(&[2], "i2 (records)")),
            // one of three has not said anything
            (&bad, vec![&good], 3, undecided(&[2], "i2 (records)")),
            (&bad, vec![&good, &worse], 3, undecided(&[2, 3], "i2 (records)")),
            (&bad, vec![&good, &good, &good], 5, minority(&[2, 3, 4], "i2 (records)")),
            (&bad, vec![&good, &bad, &good, &good], 5, minority(&[2, 4, 5], "i2 (records)")),
            // what somebody does not know is not compared
            (&unsure, vec![&good, &good], 3, Verdict::Alike),
            (&good, vec![&unsure, &good], 3, Verdict::Alike),
            (&bad, vec![&unsure, &good], 3, undecided(&[3], "i2 (records)")),
            (&meta, vec![&meta, &meta], 3, Verdict::Alike),
            (&meta, vec![&other_meta, &other_meta], 3, minority(&[2, 3], "users")),
            (&event, vec![&event, &other_event], 3, Verdict::Alike),
            (&other_event, vec![&event, &event], 3, minority(&[2, 3], of_sink)),
            (&other_event, vec![&event, &without], 3, undecided(&[2], of_sink)),
            (&without, vec![&event, &event], 3, Verdict::Alike),
            (&bad, vec![&good, &good], 5, undecided(&[2, 3], "i2 (records)")),
        ] {
            assert_eq!(judge(own, &others(&theirs), members), expected, "{own:?} {theirs:?}");
        }
    }
}
