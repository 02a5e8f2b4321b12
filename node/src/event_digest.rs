//! Do two replicas of a group hold the same events, and the same of what its log says of models and of the sink?
//!
//! Replicas write files at different times, merge others, and sweep forgotten users and old days when they come to it. What readers
//! see of a day is the same all the same: rows that are repeated once, of nobody who is forgotten. So that is what is hashed.

use crate::error::Result;
use crate::models::registry::ModelState;
use crate::set_digest::Digest;
use quorate_insights::rows::Parts;
use quorate_insights::segment::RowFilter;
use quorate_insights::store::EventView;
use quorate_model::analytics::Day;
use quorate_store::codec;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Rows between two looks at whether to go on.
const LOOK_ROWS: u64 = 4_096;
/// What reading and hashing a row is paid for with, as if these bytes were read.
const ROW_BYTES: u64 = 128;

/// What a replica holds beside its indices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventsDigest {
    /// It says nothing of days before: they may be gone because they are old.
    pub since: Day,
    /// Rows by day.
    pub days: BTreeMap<Day, RowsDigest>,
    /// The models in force; their files are none of it.
    pub models: Digest,
    /// The log index through which a sink has everything.
    pub sent: u64,
}

/// Rows that readers see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsDigest {
    /// How many.
    pub rows: u64,
    /// Index, user, time and fingerprint of each; the last is of all that its sender said.
    pub content: Digest,
}

impl EventsDigest {
    /// What differs in what both know of; nothing when they hold the same.
    pub fn differences(&self, other: &EventsDigest) -> Vec<String> {
        let since = self.since.max(other.since);
        let days = self.days.range(since..).chain(other.days.range(since..)).map(|(day, _)| *day);
        let days: BTreeSet<Day> = days.collect();
        let of = |it: &EventsDigest, day: &Day| it.days.get(day).copied().unwrap_or_default();
        let mut told: Vec<String> = days
            .iter()
            .map(|day| (day, of(self, day), of(other, day)))
            .filter(|(_, mine, theirs)| mine != theirs)
            .map(|(day, mine, theirs)| {
                format!("events of {day} ({} rows here, {} there)", mine.rows, theirs.rows)
            })
            .collect();
        if self.models != other.models {
            told.push("models of recommendations".to_owned());
        }
        if self.sent != other.sent {
            told.push(format!("how far the sink is ({} here, {} there)", self.sent, other.sent));
        }
        told
    }
}

/// What a group held at a log index, to be hashed later and elsewhere.
pub struct EventsPin {
    /// The first day of which nothing can be gone for its age.
    pub(crate) since: Day,
    pub(crate) view: EventView,
    pub(crate) models: Vec<ModelState>,
    pub(crate) sent: u64,
}

impl EventsPin {
    /// Hashes it, as long as `goes_on`; `None` when it does not. `pace` is called with bytes that were read and may take its time.
    ///
    /// Errors: files cannot be read. Cost: some columns of all rows are read.
    pub fn digest(
        &self,
        pace: &mut dyn FnMut(u64),
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<EventsDigest>> {
        let mut digest = EventsDigest { since: self.since, sent: self.sent, ..EventsDigest::default() };
        for state in &self.models {
            let key = format!("{}\0{}", state.key.index, state.key.model);
            digest.models.add(key.as_bytes(), &codec::encode(&state.installed));
        }
        let parts = Parts { searches: false, shown: false, events: false };
        let wanted = RowFilter { parts, ..RowFilter::ALL };
        let mut seen = 0;
        for row in self.view.rows(wanted, self.since.start_ms()..u64::MAX)? {
            let row = row?;
            let of_day = digest.days.entry(Day::of(row.time_ms)).or_default();
            let mut numbers = [0; 24];
            for (part, number) in
                numbers.chunks_exact_mut(8).zip([row.user_hash, row.time_ms, row.fingerprint])
            {
                part.copy_from_slice(&number.to_le_bytes());
            }
            of_day.rows += 1;
            of_day.content.add(row.index.as_bytes(), &numbers);
            seen += 1;
            if seen % LOOK_ROWS == 0 {
                pace(LOOK_ROWS * ROW_BYTES);
                if !goes_on() {
                    return Ok(None);
                }
            }
        }
        pace(seen % LOOK_ROWS * ROW_BYTES);
        Ok(goes_on().then_some(digest))
    }
}
impl std::fmt::Debug for EventsPin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventsPin").field("since", &self.since).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_that_one_of_two_may_have_removed_are_not_compared() {
        let rows = |rows| {
            let mut content = Digest::default();
            content.add(b"products", &[rows as u8]);
            RowsDigest { rows, content }
        };
        let of = |since, days: &[(u32, u64)]| EventsDigest {
            since: Day(since),
            days: days.iter().map(|(day, count)| (Day(*day), rows(*count))).collect(),
            ..EventsDigest::default()
        };
        let one = of(5, &[(5, 2), (6, 3)]);
        for (other, expected) in [
            (one.clone(), vec![]),
            (of(6, &[(6, 3)]), vec![]),
            (of(1, &[(1, 9), (4, 9), (5, 2), (6, 3)]), vec![]),
            (of(5, &[(5, 2)]), vec!["events of 1970-01-07 (3 rows here, 0 there)"]),
            (of(6, &[(6, 3), (7, 1)]), vec!["events of 1970-01-08 (0 rows here, 1 there)"]),
            (EventsDigest { sent: 4, ..one.clone() }, vec!["how far the sink is (0 here, 4 there)"]),
            (EventsDigest { models: rows(1).content, ..one.clone() }, vec!["models of recommendations"]),
        ] {
            assert_eq!(one.differences(&other), expected);
            assert_eq!(other.differences(&one).is_empty(), expected.is_empty());
        }
    }
}
