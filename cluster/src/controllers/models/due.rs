//! When is the model of an index made anew?

use std::time::Duration;

/// From the first event of a name to its first models: the events of a minute or two tell more than one.
const FIRST: Duration = Duration::from_secs(60);
/// Between two builds while there is much that is new.
const HOUR: Duration = Duration::from_secs(3_600);
/// One part of so many has to be new.
const PART: u64 = 20;

/// What is known of an index' events and of the last build of its models.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Rows that came since, as far as this process knows.
    pub new_rows: u64,
    /// How long ago the first of them came, or this process began.
    pub waiting: Duration,
    /// The last build; none that is known.
    pub last: Option<Last>,
    /// Whether there is a model.
    pub has_model: bool,
}

/// The last build.
#[derive(Clone, Copy, Debug)]
pub struct Last {
    /// How long ago it ended.
    pub ago: Duration,
    /// What it learned from.
    pub rows: u64,
}

/// Whether models of the index are to be made now. After the time `latest` also what has nothing new is built: old rows have left the
/// window, and forgotten users the rows.
pub fn is_due(standing: Standing, latest: Duration) -> bool {
    let Standing { new_rows, waiting, last, has_model } = standing;
    match last {
        None => waiting >= FIRST,
        Some(Last { ago, .. }) if ago >= latest => has_model || new_rows > 0,
        Some(Last { ago, rows }) => ago >= HOUR && new_rows > 0 && new_rows.saturating_mul(PART) >= rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twentieth_and_an_hour_or_a_day() {
        let (hour, day) = (3_600, 86_400);
        let check =
            |new_rows: u64, waiting_s: u64, last: Option<(u64, u64)>, has_model: bool, expected: bool| {
                let last = last.map(|(ago_s, rows)| Last { ago: Duration::from_secs(ago_s), rows });
                let standing =
                    Standing { new_rows, waiting: Duration::from_secs(waiting_s), last, has_model };
                assert_eq!(is_due(standing, Duration::from_secs(day)), expected, "{standing:?}");
            };
        // never built here
        check(1, 59, None, false, false);
        check(1, 60, None, false, true);
        check(0, 60, None, false, true);
        // a twentieth, and an hour
        check(5, 9, Some((hour, 100)), true, true);
        check(4, 9, Some((hour, 100)), true, false);
        check(100, 9, Some((hour - 1, 100)), true, false);
        check(1, 9, Some((hour, 0)), false, true);
        check(0, 9, Some((hour, 0)), false, false);
        // a day
        check(0, 9, Some((day, 100)), true, true);
        check(0, 9, Some((day, 100)), false, false);
        check(1, 9, Some((day, 100)), false, true);
        check(0, 9, Some((day - 1, 100)), true, false);
    }
}
