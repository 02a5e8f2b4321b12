//! Which member each group goes on with.

use super::*;

const NAMES: [&str; 5] = ["n1", "n2", "n3", "n4", "n5"];

fn replica(last_term: u64, last: u64) -> Survey {
    Survey {
        voters: vec![1, 2, 3],
        learners: vec![],
        term: last_term,
        committed: last,
        last,
        last_term,
        is_restoring: false,
    }
}
/// A node of an installation of five whose group 1 lies on others than its group 2.
fn survey(node: u64, replicas: &[(u16, Survey)]) -> NodeSurvey {
    let known = |(number, name): (u64, &&str)| {
        (NodeId(number), KnownNode { name: (*name).to_owned(), cluster: "main".to_owned() })
    };
    NodeSurvey {
        app_id: "APP".to_owned(),
        node: NodeId(node),
        nodes: (1..).zip(&NAMES).map(known).collect(),
        clusters: BTreeMap::from([("main".to_owned(), vec![GroupId(1), GroupId(2), GroupId(3)])]),
        replicas: replicas.iter().map(|(group, survey)| (GroupId(*group), survey.clone())).collect(),
        leftovers: BTreeSet::new(),
        partial: BTreeMap::new(),
    }
}
fn leader(plan: &RecoveryPlan, group: u16) -> Option<u64> {
    match &plan.groups[&GroupId(group)] {
        Future::With { leader, .. } => Some(leader.0),
        Future::Empty { .. } | Future::Lost => None,
    }
}

#[test]
fn each_group_goes_on_with_the_most_advanced_log() {
    let surveys = [
        survey(1, &[(0, replica(7, 100)), (1, replica(3, 50))]),
        survey(2, &[(0, replica(8, 90)), (1, replica(3, 51))]),
    ];
    let plan = RecoveryPlan::of(&surveys).unwrap();
    assert_eq!((leader(&plan, 0), leader(&plan, 1)), (Some(2), Some(2)), "a later term, a longer log");
    let others: Vec<&str> = plan.removed.values().map(String::as_str).collect();
    assert_eq!(others, ["n3", "n4", "n5"]);
    let mut turned = surveys.clone();
    turned.reverse();
    assert_eq!(RecoveryPlan::of(&turned).unwrap().groups, plan.groups, "in any order of the files");
    // what no survivor has is shared between them
    assert_eq!(plan.emptied().collect::<Vec<_>>(), [(GroupId(2), NodeId(1)), (GroupId(3), NodeId(2))]);
}

#[test]
fn who_was_taking_a_state_over_has_none() {
    let restoring = Survey { is_restoring: true, ..replica(9, 900) };
    let surveys = [
        survey(1, &[(0, replica(7, 100)), (1, restoring.clone())]),
        survey(2, &[(0, replica(7, 99)), (1, replica(1, 1))]),
    ];
    let plan = RecoveryPlan::of(&surveys).unwrap();
    assert_eq!((leader(&plan, 0), leader(&plan, 1)), (Some(1), Some(2)));
    let half = survey(2, &[(0, restoring), (1, replica(1, 1))]);
    let refused = |surveys: &[NodeSurvey]| RecoveryPlan::of(surveys).unwrap_err().message;
    let alone = refused(std::slice::from_ref(&half));
    assert!(alone.contains("no survivor has a whole meta group"), "{alone}");
    let beside = refused(&[surveys[0].clone(), half]);
    assert!(beside.contains("n2 was taking over"), "{beside}");
}

#[test]
fn a_group_goes_on_with_damaged_files_only_when_no_other_log_has_all_that_is_committed() {
    let ended = |committed| Survey { committed, ..replica(3, 60) };
    let with = |damaged: Survey, whole: Option<Survey>| {
        let mut first = survey(1, &[(0, replica(7, 100)), (1, damaged)]);
        first.partial = BTreeMap::from([(GroupId(1), "a file of i is damaged".to_owned())]);
        let of_second: Vec<_> = std::iter::once((0, replica(7, 99))).chain(whole.map(|it| (1, it))).collect();
        let plan = RecoveryPlan::of(&[first, survey(2, &of_second)]).unwrap();
        (leader(&plan, 1).unwrap(), plan.text())
    };
    let said = "n1 has part of group 1 only (a file of i is damaged): the group ";
    for (damaged, whole, expected) in [
        (ended(60), Some(replica(3, 60)), 2),
        (ended(50), Some(replica(3, 50)), 2),
        (ended(50), Some(replica(4, 10)), 2),
        (ended(51), Some(replica(3, 50)), 1),
        (ended(50), Some(replica(2, 90)), 1),
        (ended(60), None, 1),
    ] {
        let (leader, text) = with(damaged, whole);
        assert_eq!(leader, expected, "{text}");
        let so = if expected == 1 { "goes on with it all the same" } else { "does not go on with it" };
        assert!(text.contains(&format!("{said}{so}")), "{text}");
        assert!(text.contains("files\nof it are damaged or still on their way"), "{text}");
    }
}

#[test]
fn who_is_still_being_given_a_state_is_named_and_never_gone_on_with() {
    let restoring = Survey { is_restoring: true, ..replica(9, 900) };
    let surveys = [survey(1, &[(0, replica(7, 100)), (1, restoring)]), survey(2, &[(0, replica(7, 99))])];
    let plan = RecoveryPlan::of(&surveys).unwrap();
    assert_eq!(plan.groups[&GroupId(1)], Future::Empty { founder: NodeId(1) }, "nobody has anything of it");
    let said =
        "n1 has part of group 1 only (its state was on its way from another node): the group does not go";
    assert!(plan.text().contains(said), "{}", plan.text());
}

#[test]
fn a_leftover_is_nothing_to_begin_with_and_a_lost_cluster_stays_lost() {
    let mut first = survey(1, &[(0, replica(7, 100))]);
    first.leftovers = BTreeSet::from([GroupId(1), GroupId(2), GroupId(3)]);
    first.clusters.insert("far".to_owned(), vec![GroupId(17)]);
    let second = survey(2, &[(0, replica(7, 99))]);
    let plan = RecoveryPlan::of(&[first, second]).unwrap();
    assert!(plan.emptied().all(|(_, founder)| founder == NodeId(2)), "{:?}", plan.groups);
    assert_eq!(plan.groups[&GroupId(17)], Future::Lost);
    assert!(plan.text().contains("no node left"), "{}", plan.text());
}

#[test]
fn surveys_that_do_not_belong_together_are_refused() {
    let one = survey(1, &[(0, replica(7, 100))]);
    let again = RecoveryPlan::of(&[one.clone(), one.clone()]).unwrap_err();
    assert!(again.message.contains("same node"), "{}", again.message);
    let other = NodeSurvey { app_id: "OTHER".to_owned(), node: NodeId(2), ..one.clone() };
    let mixed = RecoveryPlan::of(&[one.clone(), other]).unwrap_err();
    assert!(mixed.message.contains("two installations"), "{}", mixed.message);
    let alone = Survey { voters: vec![1], ..replica(7, 100) };
    let groups: Vec<_> = (0..4).map(|group| (group, alone.clone())).collect();
    let mut only = survey(1, &groups);
    only.nodes.retain(|id, _| id.0 == 1);
    let nothing = RecoveryPlan::of(&[only]).unwrap_err();
    assert!(nothing.message.contains("nothing to recover"), "{}", nothing.message);
}
