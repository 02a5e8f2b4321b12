//! Do the nodes together allow as many calls with a key as it says, also when one of them dies?

use crate::harness::{Installation, in_time};
use futures_util::future::join_all;
use quorate_cluster::rate_limit::{CounterId, LimitedCall};
use quorate_model::ErrorKind;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn call(caller: u8, limit: u64) -> LimitedCall {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    LimitedCall { id: CounterId { key: 3, caller: [caller; 16] }, limit, now_s }
}
/// Whether a node allows it.
async fn count(installation: &Installation, node: usize, call: LimitedCall) -> bool {
    match installation.node(node).count_call(call).await {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::RateLimited, "{error:?}");
            false
        }
    }
}
/// How many of `calls` are allowed, so many at a time, and how long the slowest took; `node` says which one each is made at.
async fn allowed(
    installation: &Installation,
    calls: u64,
    at_a_time: u64,
    limited: LimitedCall,
    node: impl Fn(u64) -> usize,
) -> (u64, Duration) {
    let (mut allowed, mut slowest) = (0, Duration::ZERO);
    for some in (0..calls / at_a_time).map(|turn| turn * at_a_time) {
        let begun = Instant::now();
        let some = (some..some + at_a_time).map(|number| count(installation, node(number), limited));
        allowed += join_all(some).await.into_iter().filter(|is_allowed| *is_allowed).count() as u64;
        slowest = slowest.max(begun.elapsed());
    }
    (allowed, slowest)
}
/// Whether nobody can have passed over a node: then counts are exact. A node that does not answer for a second is passed over, as a
/// dead one is, and not asked for some seconds; on a busy machine that happens to living ones.
#[derive(Default)]
struct Calm(Option<Instant>);

impl Calm {
    /// Nodes that waited as long as this may have passed over another one.
    const SLOW: Duration = Duration::from_millis(500);
    /// How long that may show.
    const AFTER: Duration = Duration::from_secs(5);

    /// Counts calls as [`allowed`] does, and says whether that was calm from beginning to end.
    async fn count(&mut self, counting: impl Future<Output = (u64, Duration)>) -> (u64, bool) {
        let begun = Instant::now();
        let (counted, slowest) = counting.await;
        let was_calm = self.0.is_none_or(|disturbed| disturbed + Self::AFTER < begun);
        if slowest >= Self::SLOW {
            self.0 = Some(Instant::now());
        }
        (counted, was_calm && slowest < Self::SLOW)
    }
}

/// Within a twentieth, the bound that users are told.
fn is_near(counted: u64, limit: u64) -> bool {
    counted.abs_diff(limit) * 20 <= limit
}

/// Until nodes have heard of each other, each takes its part only.
async fn all_reach_each_other(installation: &Installation, next: &mut impl FnMut(u64) -> LimitedCall) {
    for node in 0..3 {
        while allowed(installation, 9, 1, next(9), |_| node).await.0 < 9 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[actix_rt::test]
async fn three_nodes_allow_what_one_would_and_a_death_costs_a_twentieth() {
    in_time(async {
        let mut installation = Installation::start(3).await;
        let mut callers = 0..=u8::MAX;
        let mut calm = Calm::default();
        // nodes that start take over counters from each other
        tokio::time::sleep(Duration::from_secs(3)).await;
        let mut next = |limit| call(callers.next().expect("another caller"), limit);
        all_reach_each_other(&installation, &mut next).await;
        for limit in [10, 100, 1_000] {
            for at_a_time in [1, 20] {
                let even = next(limit);
                let counting =
                    allowed(&installation, 2 * limit, at_a_time, even, |number| number as usize % 3);
                let (counted, is_calm) = calm.count(counting).await;
                let is_right = is_near(counted, limit) && (counted <= limit || !is_calm);
                assert!(is_right, "{counted} of {limit}, evenly");
                for node in 0..3 {
                    let one = next(limit);
                    let counting = allowed(&installation, 2 * limit, at_a_time, one, |_| node);
                    let (counted, is_calm) = calm.count(counting).await;
                    let is_right = if is_calm { counted == limit } else { is_near(counted, limit) };
                    assert!(is_right, "{counted} of {limit} at node {node}");
                    assert!(!count(&installation, (node + 1) % 3, one).await, "others know");
                }
            }
        }
        // some calls, then a node ends and comes back with nothing
        let limit = 400;
        let callers: Vec<LimitedCall> = (0..6).map(|_| next(limit)).collect();
        let mut counted = vec![0; callers.len()];
        for (counted, caller) in counted.iter_mut().zip(&callers) {
            *counted += allowed(&installation, limit / 2, 1, *caller, |number| number as usize % 3).await.0;
        }
        installation.restart(1, |_| {}).await;
        all_reach_each_other(&installation, &mut next).await;
        for (counted, caller) in counted.iter_mut().zip(&callers) {
            *counted += allowed(&installation, limit, 1, *caller, |number| number as usize % 3).await.0;
            assert!(is_near(*counted, limit), "{counted} of {limit}");
        }
        installation.stop().await;
    })
    .await;
}
