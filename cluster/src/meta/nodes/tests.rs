//! Who is admitted, and what becomes of the rows of nodes.

use super::*;

fn joining(name: &str, cluster: &str) -> Joining {
    let (name, cluster) = (name.to_owned(), cluster.to_owned());
    Joining { peer: format!("{name}:1"), http: format!("{name}:2"), name, cluster, level: 1 }
}
fn ids(nodes: &[u64]) -> Vec<NodeId> {
    nodes.iter().copied().map(NodeId).collect()
}

#[test]
fn the_first_node_of_a_cluster_brings_its_groups() {
    let mut state = MetaState::default();
    state.add_node(3, NodeId(7), joining("a", "main"));
    state.add_node(4, NodeId(5), joining("b", "main"));
    state.add_node(9, NodeId(6), joining("c", "west"));
    assert_eq!(state.groups_of("main").first(), Some(&GroupId(1)));
    assert_eq!(state.groups_of("west").last(), Some(&GroupId(32)));
    assert!(state.groups_of("east").is_empty());
    assert_eq!((state.cluster_of(GroupId(16)), state.cluster_of(GroupId(17))), (Some("main"), Some("west")));
    assert_eq!((state.cluster_of(GroupId::META), state.cluster_of(GroupId(33))), (None, None));
    assert_eq!((state.wanted(GroupId(2)), state.wanted(GroupId(20))), (ids(&[7]), ids(&[6])));
    assert_eq!((state.wanted(GroupId::META), state.wanted_voters(GroupId::META)), (ids(&[7, 5, 6]), 3));
}

#[test]
fn names_and_numbers_are_taken_once() {
    let elsewhere = |name: &str| Joining { peer: "other:1".into(), ..joining(name, "main") };
    let mut state = MetaState::default();
    state.add_node(3, NodeId(7), joining("a", "main"));
    assert_eq!(state.admits(NodeId(8), &elsewhere("a")), Err(NotAdmitted::NameTaken("a".into())));
    assert_eq!(state.admits(NodeId(7), &joining("b", "west")), Err(NotAdmitted::OtherCluster("main".into())));
    assert_eq!(state.admits(NodeId(7), &elsewhere("b")), Ok(()));
    assert!(state.add_node(4, NodeId(8), elsewhere("a")).is_empty());
    state.set_node_state(NodeId(7), NodeState::Removed);
    assert_eq!(state.admits(NodeId(7), &joining("a", "main")), Err(NotAdmitted::Removed));
    assert_eq!(state.admits(NodeId(8), &elsewhere("a")), Ok(()));
    assert!(state.set_node_state(NodeId(7), NodeState::Active).is_empty(), "removed for good");
}

#[test]
fn newer_commands_are_in_force_when_every_node_knows_them() {
    let at = |level| move |name: &str| Joining { level, ..joining(name, "main") };
    let (old, new) = (at(1), at(3));
    let mut state = MetaState::default();
    assert_eq!(state.level(), 1, "before anybody joined");
    state.add_node(3, NodeId(7), new("a"));
    assert_eq!(state.level(), 3, "a node alone");
    assert_eq!(state.admits(NodeId(8), &old("b")), Err(NotAdmitted::TooOld { used: 3, known: 1 }));
    assert!(state.add_node(4, NodeId(8), old("b")).is_empty());

    let mut state = MetaState::default();
    for (id, name) in [(7, "a"), (8, "b"), (9, "c")] {
        state.add_node(id, NodeId(id), old(name));
    }
    state.add_node(11, NodeId(7), new("a"));
    state.add_node(12, NodeId(8), at(2)("b"));
    assert_eq!(state.level(), 1, "one of them is old");
    assert_eq!(state.admits(NodeId(7), &old("a")), Ok(()), "the way back is open");
    let changes = state.set_node_state(NodeId(9), NodeState::Removed);
    assert_eq!((state.level(), changes.len()), (2, 2), "the old one is gone");
    state.add_node(13, NodeId(8), at(3)("b"));
    assert_eq!(state.level(), 3);
    assert!(state.add_node(14, NodeId(7), at(2)("a")).is_empty(), "no way back");
    assert_eq!(state.nodes[&NodeId(7)].level, 3);
}

#[test]
fn the_level_never_rises_past_a_node_that_is_being_admitted() {
    // two nodes know the next level, the third is lost and comes back empty, with a program as old as it was
    for (used, joins) in [(1, false), (2, false), (3, false), (4, true), (5, true)] {
        let at = |level, name: &str| Joining { level, ..joining(name, "main") };
        let mut state = MetaState::default();
        for (id, name) in [(7, "a"), (8, "b"), (9, "c")] {
            state.add_node(id, NodeId(id), at(used, name));
        }
        for (id, name) in [(7, "a"), (8, "b")] {
            state.add_node(id, NodeId(id), at(used + 1, name));
        }
        assert_eq!(state.level(), used);
        let empty = at(used, "c");
        match joins {
            true => {
                assert_eq!(state.admits_now(NodeId(5), &empty), Ok(()));
                state.take_place(20, NodeId(5), empty);
                assert_eq!((state.level(), state.nodes[&NodeId(9)].is_present()), (used, false));
                state.add_node(21, NodeId(5), at(used + 1, "c"));
            }
            // the command means there what older programs make of it, so it is not proposed
            false => {
                let refused = NotAdmitted::TooOld { used: used + 1, known: used };
                assert_eq!(state.admits_now(NodeId(5), &empty), Err(refused));
                assert_eq!(state.admits_now(NodeId(5), &at(used + 1, "c")), Ok(()));
                state.add_node(20, NodeId(5), at(used + 1, "c"));
            }
        }
        assert_eq!(state.level(), used + 1, "from {used}");
        assert!(state.present_nodes().iter().all(|(_, row)| row.level >= state.level()));
    }
}

#[test]
fn a_node_whose_folder_was_lost_takes_its_own_place() {
    let mut state = MetaState::default();
    state.add_node(3, NodeId(7), joining("a", "main"));
    state.add_node(4, NodeId(8), joining("b", "main"));
    state.add_node(9, NodeId(5), joining("b", "main"));
    assert_eq!(state.wanted(GroupId::META), ids(&[7, 5]));
    assert_eq!(state.nodes[&NodeId(8)].state, NodeState::Removed);
}

#[test]
fn from_level_4_on_a_name_and_an_address_alone_take_no_place() {
    let newest = |name: &str| Joining { level: 4, ..joining(name, "main") };
    let mut state = MetaState::default();
    (7..=9).zip(["a", "b", "c"]).for_each(|(id, name)| drop(state.add_node(id, NodeId(id), newest(name))));
    state.place(0, GroupId(1), ids(&[8, 7, 9]));
    assert!(
        state.held_place(NodeId(5), &newest("b")).is_some() && state.admits(NodeId(5), &newest("b")).is_ok()
    );
    assert!(state.add_node(10, NodeId(5), newest("b")).is_empty(), "it joins in nobody's place");
    assert!(state.take_place(11, NodeId(5), newest("d")).is_empty(), "there is no such place");
    let elsewhere = Joining { peer: "other:1".into(), ..newest("b") };
    assert!(state.take_place(12, NodeId(5), elsewhere).is_empty());
    assert_eq!(state.nodes[&NodeId(8)].state, NodeState::Active);
    assert!(!state.take_place(13, NodeId(5), newest("b")).is_empty());
    assert_eq!(state.nodes[&NodeId(8)].state, NodeState::Removed);
    assert_eq!(state.wanted(GroupId(1)), ids(&[5, 7, 9]), "every place of the old one");
    assert!(state.held_place(NodeId(6), &newest("b")).is_some(), "it is its own now");
    state.set_node_state(NodeId(5), NodeState::Removed);
    assert!(!state.add_node(14, NodeId(6), newest("b")).is_empty(), "nobody has the name any more");
}

#[test]
fn who_drains_votes_last_in_the_meta_group() {
    let mut state = MetaState::default();
    (1..=4).for_each(|id| drop(state.add_node(id, NodeId(id), joining(&id.to_string(), "main"))));
    state.set_node_state(NodeId(1), NodeState::Draining);
    assert_eq!((state.wanted(GroupId::META), state.wanted_voters(GroupId::META)), (ids(&[2, 3, 4, 1]), 3));
}

#[test]
fn an_odd_number_votes() {
    let mut state = MetaState::default();
    for (count, voters) in [(1, 1), (2, 1), (3, 3), (4, 3), (5, 5), (6, 5), (7, 5)] {
        state.add_node(count, NodeId(count), joining(&count.to_string(), "main"));
        state.place(0, GroupId(1), (1..=count.min(3)).map(NodeId).collect());
        assert_eq!(state.wanted_voters(GroupId::META), voters, "{count} nodes");
        assert_eq!(state.wanted_voters(GroupId(1)), voters.min(3), "{count} nodes");
    }
}
