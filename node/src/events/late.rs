//! Which searches came into a log behind the word that their user is forgotten?
//!
//! What somebody searched is held for some seconds before it is proposed, by a node that may hear of the forgetting a moment later than
//! the log of the group has it. Such a search is found by whichever of the two this node learns last, and the group is to be told once
//! more. That forgets what the user did meanwhile, too: so only for a node that hears of it soon, once for each search, and for what was
//! typed before the first time that the group was told.

use quorate_model::GroupId;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// How long both are remembered: more than a proposal takes to be answered.
const KEPT: Duration = Duration::from_secs(60);
/// Searches, and users, that are remembered at most; the oldest go.
const REMEMBERED_MAX: usize = 16_384;
/// A node that hears of a forgetting so much later than somebody was asked for it leaves it at that, and so does one that hears so
/// much later where a search is.
const SOON: Duration = Duration::from_secs(10);
/// A group that is told of the same user again within this time is taken to be told once more.
const AGAIN: Duration = Duration::from_secs(20);
/// How far clocks of nodes may be apart.
const SKEW_MS: u64 = 1_000;

/// Searches that this node had counted lately, and users whom it was told to forget.
#[derive(Debug, Default)]
pub(crate) struct LateSearches {
    counted: VecDeque<Counted>,
    forgotten: VecDeque<Forgotten>,
    /// Groups that have something of a user they were to forget.
    late: Vec<(GroupId, String)>,
}

/// Where something is in the log of a group.
pub(crate) type LogPlace = (GroupId, u64);

#[derive(Debug)]
struct Counted {
    at: Instant,
    place: LogPlace,
    user: u64,
    time_ms: u64,
}
#[derive(Debug)]
struct Forgotten {
    at: Instant,
    place: LogPlace,
    user: u64,
    token: String,
    /// Until when it is about what was typed, Unix milliseconds.
    until_ms: u64,
}
impl Forgotten {
    /// Whether a search stands behind this although it was typed before: what somebody types after being forgotten counts.
    fn has_missed(&self, search: &Counted) -> bool {
        let ((group, forgotten_at), (of_group, counted_at)) = (self.place, search.place);
        self.user == search.user
            && group == of_group
            && forgotten_at < counted_at
            && search.time_ms <= self.until_ms
    }
}

impl LateSearches {
    /// A search of a user, typed at a time (Unix milliseconds), is in the log of a group.
    pub fn counted(&mut self, place: LogPlace, user: &str, time_ms: u64, at: Instant) {
        let search = Counted { at, place, user: digest(user), time_ms };
        let is_soon = |forgotten: &Forgotten| at.saturating_duration_since(forgotten.at) <= SOON;
        match self.forgotten.iter().find(|forgotten| is_soon(forgotten) && forgotten.has_missed(&search)) {
            Some(missed) => self.late.push((place.0, missed.token.clone())),
            None => keep(&mut self.counted, search, |it| it.at, at),
        }
    }
    /// A group forgets a user, as somebody was asked to at a time (Unix milliseconds); this node hears it now.
    pub fn forgets(&mut self, place: LogPlace, token: &str, time_ms: u64, (at, now_ms): (Instant, u64)) {
        if now_ms.saturating_sub(time_ms) > SOON.as_millis() as u64 {
            return;
        }
        let user = digest(token);
        // what is typed after this node has heard of it is never late
        let heard_ms = now_ms.min(time_ms.saturating_add(SKEW_MS));
        let is_same = |it: &&Forgotten| {
            it.place.0 == place.0 && it.user == user && at.saturating_duration_since(it.at) <= AGAIN
        };
        // else each repeat would be about what was typed until then, and a user who goes on would be forgotten again and again
        let until_ms = self.forgotten.iter().rev().find(is_same).map_or(heard_ms, |first| first.until_ms);
        let forgotten = Forgotten { at, place, user, token: token.to_owned(), until_ms };
        let before = self.counted.len();
        self.counted.retain(|search| !forgotten.has_missed(search));
        if self.counted.len() < before {
            self.late.push((place.0, token.to_owned()));
        }
        keep(&mut self.forgotten, forgotten, |it| it.at, at);
    }
    /// Groups that have something of users they were to forget, each pair once, since this was asked last.
    pub fn take(&mut self) -> Vec<(GroupId, String)> {
        let mut late = std::mem::take(&mut self.late);
        late.sort_unstable();
        late.dedup();
        late
    }
}

fn keep<T>(all: &mut VecDeque<T>, one: T, since: impl Fn(&T) -> Instant, now: Instant) {
    let is_over = |it: &T| now.saturating_duration_since(since(it)) > KEPT;
    while all.front().is_some_and(|oldest| all.len() >= REMEMBERED_MAX || is_over(oldest)) {
        all.pop_front();
    }
    all.push_back(one);
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
    const ASKED_MS: u64 = 100_000;
    /// When this node hears of it as a rule.
    const HEARD_MS: u64 = ASKED_MS + 50;

    #[test]
    fn a_search_behind_the_forgetting_of_its_user_is_found_whichever_is_learnt_first() {
        let at = Instant::now();
        let soon_ms = SOON.as_millis() as u64;
        for (case, group, counted_at, user, time_ms, heard_ms, is_late) in [
            ("behind", GROUP, 11, "ann", 500, HEARD_MS, true),
            ("as it was heard", GROUP, 11, "ann", HEARD_MS, HEARD_MS, true),
            ("with another clock", GROUP, 11, "ann", ASKED_MS + SKEW_MS, ASKED_MS + soon_ms, true),
            ("heard by a clock that is behind", GROUP, 11, "ann", 500, 600, true),
            ("before", GROUP, 9, "ann", 500, HEARD_MS, false),
            ("typed after it was heard", GROUP, 11, "ann", HEARD_MS + 1, HEARD_MS, false),
            ("typed later", GROUP, 11, "ann", ASKED_MS + SKEW_MS + 1, ASKED_MS + soon_ms, false),
            ("of somebody else", GROUP, 11, "bob", 500, HEARD_MS, false),
            ("of another group", GroupId(4), 11, "ann", 500, HEARD_MS, false),
            ("heard much later", GROUP, 11, "ann", 500, ASKED_MS + soon_ms + 1, false),
        ] {
            for forgets_first in [true, false] {
                let mut late = LateSearches::default();
                let forgets = |late: &mut LateSearches, index| {
                    late.forgets((GROUP, index), "ann", ASKED_MS, (at, heard_ms));
                };
                if forgets_first {
                    forgets(&mut late, 10);
                }
                late.counted((group, counted_at), user, time_ms, at);
                if !forgets_first {
                    forgets(&mut late, 10);
                }
                let expected = if is_late { vec![(group, "ann".to_owned())] } else { vec![] };
                assert_eq!(late.take(), expected, "{case}, {forgets_first}");
                if is_late {
                    // told once more it is done, wherever that stands
                    forgets(&mut late, 8);
                    forgets(&mut late, 12);
                    assert_eq!(late.take(), [], "{case}, {forgets_first}: again");
                }
            }
        }
    }

    /// A user who goes on searching is not forgotten again and again.
    #[test]
    fn repeats_are_about_what_was_typed_before_the_first_of_them() {
        let (mut late, at) = (LateSearches::default(), Instant::now());
        let after = |s: u64| (at + Duration::from_secs(s), HEARD_MS + 1_000 * s);
        late.forgets((GROUP, 10), "ann", ASKED_MS, after(0));
        late.counted((GROUP, 11), "ann", ASKED_MS, at);
        assert_eq!(late.take().len(), 1);
        // typed after the first time, and before the node hears of the second
        late.counted((GROUP, 13), "ann", HEARD_MS + 1_500, at);
        late.forgets((GROUP, 12), "ann", ASKED_MS + 1_000, after(2));
        late.counted((GROUP, 14), "ann", HEARD_MS + 1_600, at);
        assert_eq!(late.take(), []);
        // somebody asks for it again, much later
        let again = AGAIN.as_secs() + 3;
        late.forgets((GROUP, 20), "ann", ASKED_MS + 1_000 * again, after(again));
        late.counted((GROUP, 21), "ann", ASKED_MS + 1_000 * again, after(again).0);
        assert_eq!(late.take().len(), 1);
        // where a search is was heard much later than of the forgetting
        late.counted((GROUP, 22), "ann", ASKED_MS, after(again + SOON.as_secs() + 1).0);
        assert_eq!(late.take(), []);
    }

    #[test]
    fn what_is_remembered_is_bounded_by_number_and_time() {
        let (mut late, begun) = (LateSearches::default(), Instant::now());
        let over = begun + KEPT + Duration::from_secs(1);
        for number in 0..REMEMBERED_MAX as u64 + 10 {
            late.counted((GROUP, number), "ann", number, begun);
        }
        assert_eq!((late.counted.len(), late.counted[0].time_ms), (REMEMBERED_MAX, 10));
        late.counted((GROUP, 1), "ann", 1, over);
        assert_eq!(late.counted.len(), 1);
        late.forgets((GROUP, 7), "bob", 1, (begun, 1));
        late.forgets((GROUP, 8), "cat", 1, (over, 1));
        assert_eq!(late.forgotten.len(), 1);
    }
}
