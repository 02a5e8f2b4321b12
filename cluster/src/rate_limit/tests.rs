//! Do all nodes together allow as many calls as the limit says, whoever is called, and whoever dies?

use super::counters::*;
use super::*;

const ASKS_MAX: usize = 8;

const NOW_S: u64 = 1_000_000;

/// Nodes that reach each other at once, unless they are dead.
struct Nodes {
    all: Vec<Counters>,
    is_dead: Vec<bool>,
    asked: usize,
    now_s: u64,
}

impl Nodes {
    fn new(count: u64) -> Nodes {
        let all: Vec<Counters> = (1..=count).map(Counters::new).collect();
        Nodes { is_dead: vec![false; all.len()], all, asked: 0, now_s: NOW_S }
    }
    fn call(&self, id: CounterId, limit: u64) -> LimitedCall {
        LimitedCall { id, limit, now_s: self.now_s }
    }
    /// The nodes that live, in the order of a counter.
    fn order(&self, id: CounterId) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.all.len()).filter(|node| !self.is_dead[*node]).collect();
        order.sort_by_key(|node| std::cmp::Reverse(weight(id, NodeId(*node as u64))));
        order
    }
    /// What `count` does.
    fn count(&mut self, node: usize, id: CounterId, limit: u64) -> bool {
        let call = self.call(id, limit);
        let home = self.order(id)[0];
        if home == node {
            return self.all[node].count_at_home(call);
        }
        for _ in 0..ASKS_MAX {
            match self.all[node].count(call) {
                Verdict::Allowed => return true,
                Verdict::Refused => return false,
                Verdict::Ask => {}
            }
            let _waiting = self.all[node].wait(call);
            self.asked += 1;
            let question = self.all[node].question(call);
            let promise = self.all[home].promise(&question, self.now_s);
            self.all[node].take(&question, &promise, self.now_s);
        }
        false
    }
    fn report(&mut self) {
        for node in (0..self.all.len()).filter(|node| !self.is_dead[*node]) {
            for report in self.all[node].changed() {
                let others = self.order(report.id).into_iter().filter(|other| *other != node);
                for other in others.take(TOLD) {
                    self.all[other].merge(self.all[node].slot(), std::slice::from_ref(&report), self.now_s);
                }
            }
        }
        self.now_s += 1;
    }
}

fn id(number: u8) -> CounterId {
    CounterId { key: 7, caller: [number; 16] }
}
fn chance(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn one_node_allows_exactly_the_limit_in_each_window() {
    for limit in [1, 2, 7, 100, 5_000] {
        let mut nodes = Nodes::new(1);
        for _ in 0..3 {
            let allowed = (0..2 * limit).filter(|_| nodes.count(0, id(1), limit)).count();
            assert_eq!(allowed as u64, limit);
            nodes.now_s += WINDOW_S;
        }
        assert_eq!(nodes.asked, 0);
    }
}

#[test]
fn a_window_ends_when_it_is_over_and_at_another_moment_for_each_counter() {
    let mut ends = vec![];
    for number in 0..20 {
        let mut nodes = Nodes::new(1);
        assert!(nodes.count(0, id(number), 1));
        let begun = nodes.now_s;
        while !nodes.count(0, id(number), 1) {
            nodes.now_s += 1;
        }
        assert!(nodes.now_s - begun <= WINDOW_S);
        ends.push(nodes.now_s);
        nodes.now_s += WINDOW_S - 1;
        assert!(!nodes.count(0, id(number), 1), "it lasts an hour");
        nodes.now_s += 1;
        assert!(nodes.count(0, id(number), 1));
    }
    ends.dedup();
    assert!(ends.len() > 15, "{ends:?}");
}

#[test]
fn three_nodes_allow_exactly_the_limit_however_calls_are_spread() {
    for limit in [1, 2, 3, 10, 39, 100, 1_000, 10_000] {
        for number in 0..6 {
            let mut random = 88_172_645_463_325_252 + u64::from(number);
            let spreads: [&mut dyn FnMut(u64) -> usize; 4] = [
                &mut |call| call as usize % 3,
                &mut |_| 0,
                &mut |call| usize::from(call > limit / 2),
                &mut |_| (chance(&mut random) % 10).saturating_sub(7) as usize,
            ];
            for spread in spreads {
                let mut nodes = Nodes::new(3);
                let mut allowed = 0;
                for call in 0..3 * limit {
                    allowed += u64::from(nodes.count(spread(call), id(number), limit));
                    if call % (1 + limit / 20) == 0 {
                        nodes.report();
                    }
                }
                // what others were promised comes back
                nodes.report();
                allowed += (0..limit).filter(|_| nodes.count(1, id(number), limit)).count() as u64;
                assert_eq!(allowed, limit, "counter {number}");
            }
        }
    }
}

#[test]
fn calls_of_a_moment_are_counted_with_few_questions_and_no_more_than_a_tenth_is_kept_back() {
    for number in 0..6 {
        for limit in [100, 1_000, 100_000] {
            let mut nodes = Nodes::new(3);
            // two nodes were promised something that they do not use
            (0..3).for_each(|node| assert!(nodes.count(node, id(number), limit)));
            let allowed = 3 + (0..2 * limit).filter(|_| nodes.count(2, id(number), limit)).count() as u64;
            assert!(allowed <= limit && allowed >= limit * 95 / 100, "{allowed} of {limit}");
            let asked = nodes.asked;
            assert!(asked <= 70, "{asked} questions for {limit} calls");
            // what is refused costs others nothing
            (0..1_000).for_each(|_| assert!(!nodes.count(2, id(number), limit)));
            assert!(nodes.asked <= asked + 1, "{}", nodes.asked - asked);
        }
    }
}

#[test]
fn the_death_of_a_node_costs_at_most_a_twentieth() {
    for limit in [20, 100, 1_000] {
        for number in 0..6 {
            for dead in 0..3 {
                let mut nodes = Nodes::new(3);
                let mut allowed = 0;
                for call in 0..limit / 2 {
                    allowed += u64::from(nodes.count(call as usize % 3, id(number), limit));
                    if call == limit / 2 - limit / 40 {
                        nodes.report();
                    }
                }
                // it has counted some that nobody heard of
                nodes.is_dead[dead] = true;
                let living: Vec<usize> = (0..3).filter(|node| *node != dead).collect();
                for call in 0..2 * limit {
                    allowed += u64::from(nodes.count(living[call as usize % 2], id(number), limit));
                    if call % (1 + limit / 20) == 0 {
                        nodes.report();
                    }
                }
                let error = allowed.abs_diff(limit);
                assert!(error <= limit / 20, "{allowed} of {limit}, counter {number}, node {dead}");
                // back with nothing: what it counted itself is known to the others
                nodes.all[dead] = Counters::new(9);
                for other in &living {
                    let known = nodes.all[*other].known(nodes.now_s, |_| true);
                    nodes.all[dead].merge(9, &known, nodes.now_s);
                }
                nodes.is_dead[dead] = false;
                let more =
                    (0..3 * limit).filter(|call| nodes.count(*call as usize % 3, id(number), limit)).count();
                assert!(allowed + more as u64 <= limit + limit / 20, "{allowed}, then {more} of {limit}");
            }
        }
    }
}

#[test]
fn what_is_asked_twice_is_promised_once_and_who_waits_gets_a_share() {
    let (home, other) = (Counters::new(1), Counters::new(2));
    let call = LimitedCall { id: id(1), limit: 10, now_s: NOW_S };
    let waiting: Vec<_> = (0..4).map(|_| other.wait(call)).collect();
    let question = other.question(call);
    let promises = [home.promise(&question, NOW_S), home.promise(&question, NOW_S)];
    assert!(promises.iter().all(|promise| promise.through == 4));
    assert!(other.changed().is_empty(), "a promise that is under way is not given back");
    promises.iter().for_each(|promise| other.take(&question, promise, NOW_S));
    assert!(other.changed().is_empty());
    assert_eq!((0..5).map(|_| other.count(call)).filter(|it| *it == Verdict::Allowed).count(), 4);
    assert_eq!((0..10).filter(|_| home.count_at_home(call)).count(), 6);
    drop(waiting);
    let reports = other.changed();
    assert_eq!(reports.len(), 1);
    home.merge(2, &reports, NOW_S);
    assert!(!home.count_at_home(call), "what was used stays used");
}

#[test]
fn an_answer_that_comes_when_others_have_used_it_up_refuses_nobody() {
    let (home, other) = (Counters::new(1), Counters::new(2));
    let call = LimitedCall { id: id(1), limit: 40, now_s: NOW_S };
    for used in 0..40 {
        assert_eq!(other.count(call), Verdict::Ask);
        let _waiting = other.wait(call);
        let question = other.question(call);
        let promise = home.promise(&question, NOW_S);
        assert_eq!(promise.through, used + 1);
        other.take(&question, &promise, NOW_S);
        assert_eq!(other.count(call), Verdict::Allowed);
        // the same answer to another call
        other.take(&question, &promise, NOW_S);
    }
    assert_eq!(other.count(call), Verdict::Refused);
}

#[test]
fn a_node_that_reaches_nobody_takes_its_part_of_what_is_left() {
    let node = Counters::new(1);
    let call = LimitedCall { id: id(1), limit: 100, now_s: NOW_S };
    (0..40).for_each(|_| assert!(node.count_at_home(call)));
    assert_eq!((0..100).filter(|_| node.count_alone(call, 3)).count(), 20);
    let later = LimitedCall { now_s: NOW_S + WINDOW_S, ..call };
    assert_eq!((0..100).filter(|_| node.count_alone(later, 3)).count(), 34);
}

#[test]
fn clocks_that_differ_end_no_window_early() {
    let (home, other) = (Counters::new(1), Counters::new(2));
    let id = id(1);
    let end_s = (NOW_S..).find(|now_s| (now_s + id.spread() % WINDOW_S).is_multiple_of(WINDOW_S)).unwrap();
    let call = |now_s| LimitedCall { id, limit: 4, now_s };
    // one is a few seconds ahead: the other goes over to the new window with it, and not back
    let _waiting = other.wait(call(end_s - 2));
    home.count_at_home(call(end_s + 1));
    for _ in 0..2 {
        let question = other.question(call(end_s - 2));
        other.take(&question, &home.promise(&question, end_s + 1), end_s - 2);
    }
    assert_eq!(other.count(call(end_s - 2)), Verdict::Allowed);
    assert_eq!((0..4).filter(|_| home.count_at_home(call(end_s + 1))).count(), 2);
    // one whose clock is hours wrong changes nothing
    home.merge(2, &[Report { window: 99_999, ..other.question(call(end_s)).report }], end_s + 2);
    assert!(!home.count_at_home(call(end_s + 2)));
}

#[test]
fn counters_are_bounded_and_who_has_many_addresses_forgets_the_own() {
    let node = Counters::new(1);
    let count = |key: u64, caller: u32, now_s| {
        let mut id = CounterId { key, caller: [0; 16] };
        id.caller[12..].copy_from_slice(&caller.to_le_bytes());
        node.count_at_home(LimitedCall { id, limit: 1, now_s })
    };
    assert!(count(1, 0, NOW_S));
    for caller in 0..10_000 {
        assert!(count(2, caller, NOW_S));
    }
    assert!(!count(1, 0, NOW_S), "callers with another key are still known");
    assert!(!count(2, 9_999, NOW_S) && count(2, 0, NOW_S));
    assert!(node.changed().len() <= 2 * 4_096);
}

#[actix_rt::test]
async fn a_node_that_has_heard_of_nothing_counts_and_promises_nothing_as_a_home() {
    let (limiter, own, nodes) = (RateLimiter::default(), NodeId(1), [NodeId(1), NodeId(2), NodeId(3)]);
    let id = |caller| CounterId { key: 1, caller: [caller; 16] };
    let homes = |limiter: &RateLimiter| {
        (0..100).filter(|caller| limiter.place(&nodes, own, id(*caller)) == CountedAt::Home).count()
    };
    let call = LimitedCall { id: id(0), limit: 100, now_s: now_s() };
    let question = Counters::new(2).question(call);
    for _ in 0..2 {
        assert_eq!(homes(&limiter), 0);
        limiter.promise(NodeId(2), &question).await.expect_err("promises nothing");
        limiter.learnt(false);
    }
    limiter.learnt(true);
    assert!((10..60).contains(&homes(&limiter)), "{}", homes(&limiter));
    limiter.promise(NodeId(2), &question).await.expect("promises");
    for node in [2, 3] {
        limiter.pass_over(NodeId(node), Duration::from_secs(9));
    }
    assert_eq!(limiter.place(&nodes, own, id(0)), CountedAt::Alone);
}
