//! Is an operator's change refused that costs more than it seems?

use super::super::ReplicaView;
use super::*;
use crate::command::Joining;
use crate::meta::At;

pub fn meta(nodes: &[(u64, &str)]) -> MetaState {
    let mut meta = MetaState::default();
    for &(node, cluster) in nodes {
        let joining = Joining {
            name: format!("n{node}"),
            cluster: cluster.into(),
            peer: String::new(),
            http: String::new(),
            level: 1,
        };
        let add = MetaCommand::AddNode { node: NodeId(node), joining };
        meta.apply(At { log_index: node, time_ms: 0 }, add);
    }
    meta
}
pub fn seen(reachable: &[&str], groups: Vec<GroupView>) -> Overview {
    let node = |name: &str| NodeView {
        name: name.to_owned(),
        state: "active".into(),
        is_reachable: reachable.contains(&name),
        ..NodeView::default()
    };
    let nodes = ["n1", "n2", "n3", "n4"].map(node).to_vec();
    Overview { nodes, groups, ..Overview::default() }
}
fn group(id: u16, voters: &[&str], leader: Option<&str>) -> GroupView {
    let voters: Vec<String> = voters.iter().map(|&voter| voter.to_owned()).collect();
    let replica =
        |node: &String| ReplicaView { node: node.clone(), copy: "full".into(), ..ReplicaView::default() };
    let replicas = voters.iter().map(replica).collect();
    GroupView { id, voters, replicas, leader: leader.map(str::to_owned), ..GroupView::default() }
}

#[test]
fn a_node_that_is_needed_stays() {
    let groups = vec![group(0, &["n1", "n2", "n3"], Some("n1")), group(1, &["n1", "n2", "n3"], Some("n1"))];
    let text = |seen: &Overview, name: &str| check_dispensable(seen, name).err().map(|e| e.message);
    let alive = text(&seen(&["n1", "n2"], groups.clone()), "n2").expect("it is alive");
    assert_eq!(alive, "n2 is alive and holds 1 replicas: drain it first, or force its removal");
    assert_eq!(text(&seen(&["n1"], groups.clone()), "n2"), None, "it is dead, and others have a majority");
    let mut draining = seen(&["n1", "n2", "n3"], groups);
    draining.nodes[1].state = "draining".into();
    let moving = text(&draining, "n2").expect("it is not drained yet");
    assert!(moving.starts_with("n2 still holds 1 replicas: wait"), "{moving}");
    draining.groups[1] = group(1, &["n1", "n3"], Some("n1"));
    assert_eq!(text(&draining, "n2"), None, "nothing is left but its copy of what all nodes know");
    draining.groups[1].replicas.push(ReplicaView { node: "n2".into(), ..ReplicaView::default() });
    assert!(text(&draining, "n2").is_some_and(|it| it.contains("still holds 1")), "its files are there");
    let mut fetching = seen(&["n1", "n3"], vec![group(4, &["n1", "n2", "n3"], Some("n1"))]);
    assert_eq!(text(&fetching, "n2"), None);
    fetching.groups[0].replicas[2].copy = "fetching".into();
    let lacking = text(&fetching, "n2").expect("n3 has nothing yet");
    assert!(lacking.contains("of group 4 (of the first there are 1, and 2 are needed)"), "{lacking}");
    assert!(check_copies(&fetching, "n2", "drained").is_err());
    // nobody who answers knows the group, or one who is behind says who was in it
    for voters in [&[] as &[&str], &["n3"]] {
        let unknown = seen(&["n1", "n3"], vec![group(5, voters, None)]);
        assert!(check_copies(&unknown, "n2", "replaced").is_err(), "{voters:?}");
        assert!(text(&unknown, "n2").is_some_and(|text| text.contains("without a leader (5)")));
        let mut of_others = unknown;
        of_others.groups[0].cluster = Some("west".into());
        assert!(check_copies(&of_others, "n2", "replaced").is_ok());
    }
    // its log ends before the leader's begins: it is about to give up what it has
    let mut behind = seen(&["n1", "n3"], vec![group(4, &["n1", "n2", "n3"], Some("n1"))]);
    (behind.groups[0].replicas[0].log_first, behind.groups[0].replicas[0].log_last) = (50, 90);
    behind.groups[0].replicas[2].log_last = 49;
    assert_eq!(text(&behind, "n2"), None, "the leader's log has what it lacks");
    behind.groups[0].replicas[2].log_last = 48;
    let lacking = text(&behind, "n2").expect("only n1 has everything");
    assert!(lacking.contains("(of the first there are 1, and 2 are needed)"), "{lacking}");
    let unled = seen(&["n1"], vec![group(7, &["n1", "n2", "n3"], None)]);
    assert!(text(&unled, "n2").is_some_and(|text| text.contains("without a leader (7)")));
}

#[test]
fn nobody_is_removed_by_force_who_makes_the_majority() {
    let three = || vec![group(0, &["n1", "n2", "n3"], Some("n1")), group(1, &["n1", "n2", "n3"], Some("n3"))];
    let text = |seen: &Overview| check_majority(seen, "n3").err().map(|e| e.message);
    assert_eq!(text(&seen(&["n1", "n2", "n3"], three())), None);
    assert_eq!(text(&seen(&["n1", "n2"], three())), None, "the others go on without it already");
    let two_away = text(&seen(&["n1"], three())).expect("n1 is no majority");
    assert!(
        two_away.contains("for n2 does not answer either: start one of them; if their disks"),
        "{two_away}"
    );
    let only_voter =
        seen(&["n1", "n2"], vec![group(0, &["n1", "n2", "n3"], Some("n1")), group(8, &["n3"], None)]);
    assert!(
        text(&only_voter).is_some_and(|it| it.contains("group 8") && it.contains("recover")),
        "the others only follow"
    );
    let refused = text(&seen(&["n1", "n3"], three())).expect("n1 is no majority");
    let silent = "group 0 has no majority, for n2 does not answer: start it, or remove it first";
    assert!(refused.ends_with(silent), "{refused}");
    let of_two = seen(&["n1", "n3"], vec![group(1, &["n3"], Some("n3"))]);
    let refused = text(&of_two).expect("n1 only follows");
    assert!(
        refused.ends_with("the others do not vote there yet: drain it, and wait until they do"),
        "{refused}"
    );
}

#[test]
fn nobody_is_drained_while_another_holder_of_its_groups_is_down() {
    let groups = || vec![group(1, &["n1", "n2", "n3"], Some("n1")), group(2, &["n1", "n4"], Some("n1"))];
    let text = |seen: &Overview| check_others_answer(seen, "n3").err().map(|e| e.message);
    assert_eq!(text(&seen(&["n1", "n2", "n3"], groups())), None, "n4 has none of its groups");
    let refused = text(&seen(&["n1", "n3", "n4"], groups())).expect("n2 would count as a copy");
    assert!(refused.starts_with("n3 cannot be drained yet: n2, which has groups of it too"), "{refused}");
}

#[test]
fn nobody_is_taken_out_who_has_just_gone_silent() {
    let mut seen = seen(&["n1"], vec![]);
    (seen.nodes[0].silent_s, seen.nodes[1].silent_s) = (0, GONE_S - 1);
    let text = check_gone(&seen, "n2").expect_err("it may just be getting a vote").message;
    assert!(text.contains("was heard of 4 s ago") && text.contains("after 5 s"), "{text}");
    assert!(check_gone(&seen, "n1").is_ok(), "it answers, and is drained");
    seen.nodes[1].silent_s = GONE_S;
    assert!(check_gone(&seen, "n2").is_ok());
    // it joined after all had been asked
    for check in [check_gone, check_dispensable] {
        let text = check(&seen, "n5").expect_err("nothing is known of it").message;
        assert!(text.starts_with("n5 has just joined"), "{text}");
    }
}

#[test]
fn the_last_active_node_of_a_cluster_stays() {
    let mut meta = meta(&[(1, "main"), (2, "main"), (3, "west")]);
    let check = |meta: &MetaState, node: u64| {
        let id = NodeId(node);
        check_not_last(meta, id, &meta.nodes[&id], "drained").err().map(|e| e.message)
    };
    assert_eq!((check(&meta, 1), check(&meta, 2)), (None, None));
    let text = check(&meta, 3).expect("west has only one");
    assert_eq!(text, "n3 cannot be drained: it is the last active node of the cluster west");
    let drain = MetaCommand::SetNodeState { node: NodeId(1), state: NodeState::Draining };
    meta.apply(At { log_index: 9, time_ms: 0 }, drain);
    assert!(check(&meta, 2).is_some(), "the other one drains");
}
