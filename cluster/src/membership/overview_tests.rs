//! Is what operators read what the registry and the nodes say?

use super::*;
use crate::command::Joining;
use crate::command::MetaCommand;
use crate::meta::At;

fn ids(nodes: &[u64]) -> Vec<NodeId> {
    nodes.iter().copied().map(NodeId).collect()
}

fn meta(nodes: u64) -> MetaState {
    let mut meta = MetaState::default();
    for node in 1..=nodes {
        let name = format!("n{node}");
        let (peer, http) = (format!("{name}:1"), format!("{name}:2"));
        let joining = Joining { name, cluster: "main".into(), peer, http, level: 1 };
        let add = MetaCommand::AddNode { node: NodeId(node), joining };
        meta.apply(At { log_index: node, time_ms: 0 }, add);
    }
    meta
}

fn place(meta: &mut MetaState, group: u16, nodes: &[u64]) {
    let place = MetaCommand::Place { group: GroupId(group), nodes: ids(nodes) };
    meta.apply(At { log_index: 99, time_ms: 0 }, place);
}

fn replica(group: u16, role: MemberRole, voters: &[u64], learners: &[u64]) -> ReplicaReport {
    ReplicaReport {
        group: GroupId(group),
        role,
        term: 3,
        leader: None,
        first: 1,
        last: 10,
        committed: 10,
        applied: 9,
        shown: 8,
        has_lease: true,
        voters: ids(voters),
        learners: ids(learners),
        is_changing: false,
        halted: None,
        copy: Some(CopyReport::Whole),
        members_since: 2,
        behind: vec![],
    }
}

fn report(replicas: Vec<ReplicaReport>) -> Result<NodeReport, String> {
    Ok(NodeReport { version: "1".into(), replicas, ..NodeReport::default() })
}

#[test]
fn a_group_says_what_it_lacks() {
    use MemberRole::{Candidate, Follower, Leader};
    let mut meta = meta(3);
    place(&mut meta, 1, &[1, 2, 3]);
    let waits = |replica: ReplicaReport| {
        let reports = Reports::from([(NodeId(1), report(vec![replica]))]);
        group_view(&meta, GroupId(1), &reports).waits
    };
    let cases: [(ReplicaReport, Option<&str>); 7] = [
        (replica(1, Leader, &[1, 2, 3], &[]), None),
        (replica(1, Follower, &[1, 2, 3], &[]), Some("no leader")),
        (replica(1, Candidate, &[1, 2, 3], &[]), Some("no leader")),
        (replica(1, Leader, &[1], &[2]), Some("n3 is to become a member")),
        (replica(1, Leader, &[1, 2], &[3]), Some("n3 is to vote, and is catching up")),
        (replica(1, Leader, &[1, 2, 3, 4], &[]), Some("0000000000000004 is to leave")),
        (
            ReplicaReport { is_changing: true, ..replica(1, Leader, &[1, 2, 3], &[]) },
            Some("a change of its members is half through"),
        ),
    ];
    for (replica, expected) in cases {
        assert_eq!(waits(replica.clone()).as_deref(), expected, "{replica:?}");
    }
    place(&mut meta, 1, &[2, 1, 3]);
    let reports = Reports::from([(NodeId(1), report(vec![replica(1, Leader, &[1, 2, 3], &[])]))]);
    assert_eq!(group_view(&meta, GroupId(1), &reports).waits.as_deref(), Some("n2 should lead"));
}

#[test]
fn a_draining_node_that_does_not_answer_is_not_drained_before_its_groups_are_without_it() {
    use MemberRole::Leader;
    let mut meta = meta(3);
    let drain = MetaCommand::SetNodeState { node: NodeId(3), state: NodeState::Draining };
    meta.apply(At { log_index: 99, time_ms: 0 }, drain);
    let says = |voters: &[u64], leads: MemberRole| {
        let others = (2..=16).map(|group| replica(group, Leader, &[1, 2], &[]));
        let replicas = std::iter::once(replica(1, leads, voters, &[])).chain(others).collect();
        let reports = Reports::from([(NodeId(1), report(replicas)), (NodeId(3), Err("gone".into()))]);
        let waits = assemble(&meta, NodeId(1), &reports, &[]).waits;
        waits.into_iter().find(|wait| wait.starts_with("n3 is ")).expect("it drains")
    };
    assert_eq!(says(&[1, 2, 3], Leader), "n3 is to leave 1 groups, and does not answer");
    assert_eq!(
        says(&[1, 2], MemberRole::Follower),
        "n3 is to leave 1 groups, and does not answer",
        "for all that is known"
    );
    assert_eq!(says(&[1, 2], Leader), "n3 is drained and can be removed");
}

#[test]
fn the_installation_is_settled_when_nothing_waits() {
    use MemberRole::{Follower, Leader};
    let mut meta = meta(3);
    for group in 1..=16 {
        place(&mut meta, group, &[1, 2, 3]);
    }
    let all =
        |role: MemberRole| report((0..=16).map(|group| replica(group, role, &[1, 2, 3], &[])).collect());
    let mut reports =
        Reports::from([(NodeId(1), all(Leader)), (NodeId(2), all(Follower)), (NodeId(3), all(Follower))]);
    let seen = assemble(&meta, NodeId(2), &reports, &[]);
    assert!(seen.is_settled, "{:?}", seen.waits);
    assert_eq!((seen.answered_by.as_str(), seen.groups.len(), seen.nodes.len()), ("n2", 17, 3));
    assert_eq!((seen.nodes[0].leads, seen.nodes[1].leads, seen.nodes[0].replicas), (17, 0, 17));
    let of_group = &seen.groups[1];
    assert_eq!((of_group.leader.as_deref(), of_group.term), (Some("n1"), 3));
    let roles: Vec<(&str, &str, u64)> =
        of_group.replicas.iter().map(|it| (it.node.as_str(), it.role.as_str(), it.lag)).collect();
    assert_eq!(roles, [("n1", "leader", 2), ("n2", "follower", 2), ("n3", "follower", 2)]);
    // one that does not answer is named, and so is one that drains
    reports.insert(NodeId(3), Err("it cannot be reached".into()));
    let drain = MetaCommand::SetNodeState { node: NodeId(2), state: NodeState::Draining };
    meta.apply(At { log_index: 100, time_ms: 0 }, drain);
    let seen = assemble(&meta, NodeId(1), &reports, &[]);
    assert_eq!(seen.waits, ["n2 still holds 16 replicas", "n3: it cannot be reached"]);
    assert!(!seen.is_settled && !seen.nodes[2].is_reachable);
}

#[test]
fn what_operators_read_survives_json() {
    let meta = meta(2);
    let reports = Reports::from([(NodeId(1), report(vec![replica(0, MemberRole::Leader, &[1], &[2])]))]);
    let seen = assemble(&meta, NodeId(1), &reports, &[]);
    let json = serde_json::to_vec(&seen).expect("it is written");
    assert_eq!(serde_json::from_slice::<Overview>(&json).expect("it is read"), seen);
    // a report of a version that says less
    let report: NodeReport = serde_json::from_str(r#"{"version":"9","news":[1]}"#).expect("it is read");
    assert_eq!((report.version.as_str(), report.replicas.len()), ("9", 0));
}

#[test]
fn a_group_waits_for_replicas_that_cannot_be_read() {
    use MemberRole::{Follower, Leader};
    let mut meta = meta(3);
    place(&mut meta, 1, &[1, 2, 3]);
    let held = |role, has_lease| ReplicaReport { has_lease, ..replica(1, role, &[1, 2, 3], &[]) };
    let waits = |second: Option<ReplicaReport>| {
        let reports = Reports::from([
            (NodeId(1), report(vec![held(Leader, true)])),
            (NodeId(2), report(second.into_iter().collect())),
            // one that does not answer is named elsewhere
            (NodeId(3), Err("no answer".to_owned())),
        ]);
        group_view(&meta, GroupId(1), &reports).waits
    };
    let cases = [
        (Some(held(Follower, true)), None),
        (Some(held(Follower, false)), Some("n2 cannot be read at present")),
        (None, Some("n2 is to get a replica")),
    ];
    for (second, expected) in cases {
        assert_eq!(waits(second.clone()).as_deref(), expected, "{second:?}");
    }
}

#[test]
fn full_copies_are_counted_and_those_on_their_way_are_not() {
    use MemberRole::{Follower, Leader};
    let mut meta = meta(3);
    place(&mut meta, 1, &[1, 2, 3]);
    let leader = replica(1, Leader, &[1, 2, 3], &[]);
    let fetching =
        ReplicaReport { copy: Some(CopyReport::Fetching), ..replica(1, Follower, &[1, 2, 3], &[]) };
    // of an older program: full when it has applied what it knows to be committed
    let older = ReplicaReport { copy: None, applied: 10, ..replica(1, Follower, &[1, 2, 3], &[]) };
    let reports = Reports::from([
        (NodeId(1), report(vec![leader])),
        (NodeId(2), report(vec![fetching])),
        (NodeId(3), report(vec![older.clone()])),
    ]);
    let group = group_view(&meta, GroupId(1), &reports);
    assert_eq!(group.full_copies, 2);
    assert_eq!(["n1", "n2", "n3", "n4"].map(|node| group.has_full_copy(node)), [true, false, true, false]);
    assert_eq!((group.copies_without("n1"), group.copies_without("n2")), ((1, 2), (2, 2)));
    let behind = GroupView { behind: vec!["n3".into()], ..group.clone() };
    assert_eq!(
        (behind.copies_without("n2"), behind.copies_without("n3")),
        ((1, 2), (1, 2)),
        "it lacks something"
    );
    assert_eq!(group.waits.as_deref(), Some("n2 has no full copy yet: it is being fetched"));
    assert!(!ReplicaReport { applied: 9, ..older }.is_full());
}

#[test]
fn a_node_is_silent_for_as_long_as_nobody_has_heard_of_it() {
    let meta = meta(3);
    let hears = |silent_s: &[(u64, u64)]| {
        let silent_s = silent_s.iter().map(|(node, s)| (NodeId(*node), *s)).collect();
        Ok(NodeReport { silent_s, ..NodeReport::default() })
    };
    let joining = Joining {
        name: "n3".into(),
        cluster: "main".into(),
        peer: "n3:1".into(),
        http: "n3:2".into(),
        level: 4,
    };
    let claims = vec![Claim { node: NodeId(77), joining }];
    let second = hears(&[(1, 0), (3, 40)]).map(|report: NodeReport| NodeReport { claims, ..report });
    let reports = Reports::from([
        (NodeId(1), hears(&[(2, 0), (3, 90)])),
        (NodeId(2), second),
        (NodeId(3), Err("gone".into())),
    ]);
    let overview = assemble(&meta, NodeId(1), &reports, &[]);
    assert_eq!(overview.nodes.iter().map(|node| node.silent_s).collect::<Vec<_>>(), [0, 0, 40]);
    assert_eq!(overview.claims.len(), 1);
    assert!(
        overview.waits.iter().any(|wait| wait.contains("quorate cluster replace n3")),
        "{:?}",
        overview.waits
    );
}
