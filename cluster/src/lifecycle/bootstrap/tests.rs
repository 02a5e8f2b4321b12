//! Does exactly one node found, however questions and answers overtake each other?

use super::{Heard, Round, Seekers};
use quorate_model::chance::Chance;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
enum State {
    Off,
    Rests,
    Asks {
        round: Round,
        of: Option<String>,
    },
    /// The answer is under way: of whom the asked one has heard; `None` when it may have an installation.
    Waits {
        round: Round,
        answer: Option<Heard>,
    },
    Founded,
    Joined,
}

struct Node {
    others: BTreeSet<String>,
    seekers: Seekers,
    state: State,
}

struct World {
    chance: Chance,
    nodes: BTreeMap<String, Node>,
}

impl World {
    /// One node does the next thing it has to do.
    fn step(&mut self) {
        let names: Vec<String> = self.nodes.keys().cloned().collect();
        let own = &names[self.chance.below(names.len() as u64) as usize];
        let node = self.nodes.get_mut(own).expect("a node");
        let begun = |node: &Node| match Round::begin(own, &node.seekers) {
            Some(mut round) => State::Asks { of: round.left.pop_first(), round },
            None => panic!("{own} looks for nothing"),
        };
        let now = std::mem::replace(&mut node.state, State::Off);
        node.state = match now {
            State::Off => {
                node.seekers.seek(own, node.others.clone());
                State::Rests
            }
            State::Rests => begun(node),
            State::Asks { round, of: Some(asked) } => {
                let Heard { known, .. } = node.seekers.note([]).expect("it looks for an installation");
                let answer = self.asked(own, &asked, known);
                self.nodes.get_mut(own).expect("a node").state = match answer {
                    Answer::Joined => State::Joined,
                    Answer::Unfounded(heard) => State::Waits { round, answer: Some(heard) },
                    Answer::InDoubt => State::Waits { round, answer: None },
                };
                return;
            }
            State::Asks { round, of: None } => match round.ends_in_founding(own, &node.seekers) {
                true => State::Founded,
                false => State::Rests,
            },
            State::Waits { mut round, answer } => {
                match answer {
                    Some(heard) => round.heard(heard, &node.seekers),
                    None => round.in_doubt(),
                }
                State::Asks { of: round.left.pop_first(), round }
            }
            over @ (State::Founded | State::Joined) => over,
        };
    }
    fn asked(&self, by: &str, whom: &str, known: BTreeSet<String>) -> Answer {
        let Some(node) = self.nodes.get(whom) else { return Answer::InDoubt };
        match node.state {
            State::Off => Answer::InDoubt,
            State::Founded | State::Joined => Answer::Joined,
            State::Rests | State::Asks { .. } | State::Waits { .. } => {
                let heard = node.seekers.note(known.into_iter().chain([by.to_owned()]));
                heard.map_or(Answer::InDoubt, Answer::Unfounded)
            }
        }
    }
    fn count(&self, is: impl Fn(&State) -> bool) -> usize {
        self.nodes.values().filter(|node| is(&node.state)).count()
    }
}

enum Answer {
    Joined,
    Unfounded(Heard),
    InDoubt,
}

/// Who is told of whom: names of nodes, which are their addresses.
#[track_caller]
fn check(told: &[(&str, &[&str])]) {
    for seed in 0..500 {
        let node = |(name, others): &(&str, &[&str])| {
            let others = others.iter().map(|&other| other.to_owned()).collect();
            ((*name).to_owned(), Node { others, seekers: Seekers::default(), state: State::Off })
        };
        let mut world = World { chance: Chance::new(seed), nodes: told.iter().map(node).collect() };
        for _ in 0..20_000 {
            world.step();
            assert!(world.count(|state| matches!(state, State::Founded)) <= 1, "{told:?}, seed {seed}");
            if world.count(|state| matches!(state, State::Founded | State::Joined)) == told.len() {
                break;
            }
        }
        let inside = world.count(|state| matches!(state, State::Founded | State::Joined));
        assert_eq!(inside, told.len(), "{told:?}, seed {seed}: all are in the installation");
    }
}

#[test]
fn one_node_founds_when_any_two_can_be_led_to_the_same() {
    // everybody of everybody
    check(&[("a", &["b", "c"]), ("b", &["a", "c"]), ("c", &["a", "b"])]);
    // a fourth one that nobody was told of, with the smallest and with the largest address
    check(&[("b", &["c", "d"]), ("c", &["b", "d"]), ("d", &["b", "c"]), ("a", &["b", "c", "d"])]);
    check(&[("a", &["b", "c"]), ("b", &["a", "c"]), ("c", &["a", "b"]), ("d", &["a", "b", "c"])]);
    // two such, who know nothing of each other
    check(&[("c", &["d"]), ("d", &["c"]), ("a", &["c", "d"]), ("b", &["c", "d"])]);
    // all of one, which was told of one of them
    check(&[("c", &["a"]), ("a", &["c"]), ("b", &["c"]), ("d", &["c"])]);
    // each of the one before it, the first one of the last
    check(&[("a", &["c"]), ("b", &["a"]), ("c", &["b"])]);
    check(&[("a", &["b"]), ("b", &["c"]), ("c", &["d"]), ("d", &["a"])]);
    check(&[("d", &["c"]), ("c", &["b"]), ("b", &["a"]), ("a", &["e"]), ("e", &["f"]), ("f", &["d"])]);
    // two pairs, one of which was told of the other
    check(&[("a", &["b"]), ("b", &["a", "d"]), ("c", &["d"]), ("d", &["c"])]);
    // a row of them
    check(&[("c", &["a"]), ("a", &["d"]), ("d", &["b"]), ("b", &["e"]), ("e", &["b"])]);
}

#[test]
fn a_node_that_looks_for_nobody_says_nothing() {
    let seekers = Seekers::default();
    assert_eq!(seekers.note(["a:1".to_owned()]), None, "it looks for nobody");
    seekers.seek("c:1", ["b:1".to_owned()].into());
    let both: BTreeSet<String> = ["a:1".to_owned(), "c:1".to_owned()].into();
    let heard = Heard { known: both.clone(), told: ["b:1".to_owned()].into() };
    assert_eq!(seekers.clone().note(["a:1".to_owned()]), Some(heard));
    assert!(!seekers.found("c:1", &both), "another one is smaller");
    assert!(!seekers.found("a:1", &["a:1".to_owned()].into()), "somebody was not asked");
    seekers.rest();
    assert_eq!(seekers.note([]), None);
}
