//! Which searches came into a log behind the word that their user is forgotten?
//!
//! What somebody searched is held for some seconds before it is proposed, by a node that may hear of the forgetting later than the log
//! of the group has it. Such a search is found by whichever of the two this node learns last, and the group is to be told once more.

use quorate_model::GroupId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// How long both are remembered: more than a node that was paused takes to hear of what its groups have decided.
const KEPT: Duration = Duration::from_secs(600);
/// Searches, and users, that are remembered at most; the oldest go.
const REMEMBERED_MAX: usize = 65_536;

/// Searches that this node had counted lately, and users whom it was told to forget.
#[derive(Debug, Default)]
pub(crate) struct LateSearches {
    counted: VecDeque<Counted>,
    /// By user, the oldest first.
    forgotten: FxHashMap<u64, VecDeque<Forgotten>>,
    /// When each of them was told, and the user.
    told: VecDeque<(Instant, u64)>,
    /// Groups that have something of a user they were to forget.
    late: Vec<(GroupId, String)>,
}

#[derive(Debug)]
struct Counted {
    at: Instant,
    group: GroupId,
    /// Where it is in the log of the group; `None` when this node does not follow that.
    log_index: Option<u64>,
    user: u64,
    time_ms: u64,
}
#[derive(Debug)]
struct Forgotten {
    place: (GroupId, u64),
    token: String,
    told_ms: u64,
}
impl Forgotten {
    /// Whether a search of the user may stand behind this although it was typed before: what somebody types after being forgotten counts.
    fn may_miss(&self, search: &Counted) -> bool {
        let is_behind = |at: u64| self.place.0 == search.group && self.place.1 < at;
        search.time_ms <= self.told_ms && search.log_index.is_none_or(is_behind)
    }
}

impl LateSearches {
    /// A search of a user, typed at a time (Unix milliseconds of this node), is in the log of a group, at an index if this node follows it.
    pub fn counted(
        &mut self,
        (group, log_index): (GroupId, Option<u64>),
        user: &str,
        time_ms: u64,
        at: Instant,
    ) {
        let search = Counted { at, group, log_index, user: digest(user), time_ms };
        let of_user = self.forgotten.get(&search.user);
        if let Some(missed) = of_user.and_then(|of_user| of_user.iter().find(|it| it.may_miss(&search))) {
            self.late.push((group, missed.token.clone()));
        }
        while self.counted.front().is_some_and(|oldest| is_over(self.counted.len(), oldest.at, at)) {
            self.counted.pop_front();
        }
        self.counted.push_back(search);
    }
    /// A group was told at a log index to forget a user, which this node has heard at a time (Unix milliseconds of this node).
    pub fn forgets(&mut self, place: (GroupId, u64), token: &str, told_ms: u64, at: Instant) {
        let (forgotten, user) = (Forgotten { place, token: token.to_owned(), told_ms }, digest(token));
        let missed = self.counted.iter().filter(|search| search.user == user && forgotten.may_miss(search));
        self.late.extend(missed.map(|search| (search.group, token.to_owned())));
        while let Some(&(_, of)) = self.told.front().filter(|(told, _)| is_over(self.told.len(), *told, at)) {
            self.told.pop_front();
            if let Some(of_user) = self.forgotten.get_mut(&of) {
                of_user.pop_front();
                if of_user.is_empty() {
                    self.forgotten.remove(&of);
                }
            }
        }
        self.told.push_back((at, user));
        self.forgotten.entry(user).or_default().push_back(forgotten);
    }
    /// Groups that have something of users they were to forget, each pair once, since this was asked last.
    pub fn take(&mut self) -> Vec<(GroupId, String)> {
        let mut late = std::mem::take(&mut self.late);
        late.sort_unstable();
        late.dedup();
        late
    }
}

/// Whether the oldest of so many, which came at a time, goes.
fn is_over(remembered: usize, since: Instant, now: Instant) -> bool {
    remembered >= REMEMBERED_MAX || now.saturating_duration_since(since) > KEPT
}
fn digest(user: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    user.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupId = GroupId(3);

    #[test]
    fn a_search_behind_the_forgetting_of_its_user_is_found_whichever_is_learnt_first() {
        let at = Instant::now();
        for (case, group, counted_at, user, time_ms, is_late) in [
            ("behind", GROUP, Some(11), "ann", 500, true),
            ("typed as it was told", GROUP, Some(11), "ann", 1_000, true),
            ("before", GROUP, Some(9), "ann", 500, false),
            ("typed later", GROUP, Some(11), "ann", 1_001, false),
            ("of somebody else", GROUP, Some(11), "bob", 500, false),
            ("of another group", GroupId(4), Some(11), "ann", 500, false),
            ("in a log elsewhere", GroupId(4), None, "ann", 500, true),
            ("typed later, elsewhere", GroupId(4), None, "ann", 1_001, false),
        ] {
            for forgets_first in [true, false] {
                let mut late = LateSearches::default();
                let forgets = |late: &mut LateSearches| late.forgets((GROUP, 10), "ann", 1_000, at);
                if forgets_first {
                    forgets(&mut late);
                }
                late.counted((group, counted_at), user, time_ms, at);
                if !forgets_first {
                    forgets(&mut late);
                }
                let expected = if is_late { vec![(group, "ann".to_owned())] } else { vec![] };
                assert_eq!(late.take(), expected, "{case}, {forgets_first}");
                assert_eq!(late.take(), [], "{case}");
            }
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_by_number_and_time() {
        let (mut late, begun) = (LateSearches::default(), Instant::now());
        for number in 0..REMEMBERED_MAX as u64 + 10 {
            late.counted((GROUP, Some(number)), "ann", number, begun);
        }
        assert_eq!((late.counted.len(), late.counted[0].time_ms), (REMEMBERED_MAX, 10));
        late.counted((GROUP, Some(1)), "ann", 1, begun + KEPT + Duration::from_secs(1));
        assert_eq!(late.counted.len(), 1);
        late.forgets((GROUP, 0), "ann", 1, begun);
        late.forgets((GROUP, 5), "bob", 1, begun + KEPT + Duration::from_secs(1));
        assert_eq!((late.forgotten.len(), late.told.len()), (1, 1));
    }
}
