//! Which day is it?

use super::DAY_MS;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A day (UTC): how many days after the first of January 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Day(pub u32);

/// Days of 400 years, and days from the first of March of the year 0 to 1970.
const ERA: i64 = 146_097;
const BEFORE_1970: i64 = 719_468;

impl Day {
    /// The day of a moment, Unix milliseconds.
    pub fn of(unix_ms: u64) -> Day {
        Day(u32::try_from(unix_ms / DAY_MS).unwrap_or(u32::MAX))
    }
    /// When it begins, Unix milliseconds.
    pub fn start_ms(self) -> u64 {
        u64::from(self.0) * DAY_MS
    }
    /// Reads `YYYY-MM-DD`, of the years 1970 to 9999.
    pub fn parse(text: &str) -> Option<Day> {
        let bytes = text.as_bytes();
        let is_written = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
        let digits =
            |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i64>().ok());
        if !is_written || !text.is_ascii() {
            return None;
        }
        let (year, month) = (digits(&text[..4])??, digits(&text[5..7])??);
        let day = digits(&text[8..])??;
        if year < 1970 || !(1..=12).contains(&month) || day < 1 {
            return None;
        }
        // years that begin in March, so that the day that comes and goes is the last one
        let (from_march, of_year) = ((month + 9) % 12, year - i64::from(month <= 2));
        let (era, of_era) = (of_year / 400, of_year % 400);
        let day_of_year = (153 * from_march + 2) / 5 + day - 1;
        let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + day_of_year;
        let found = Day(u32::try_from(era * ERA + day_of_era - BEFORE_1970).ok()?);
        // the 30th of February is another day
        (found.to_string() == text).then_some(found)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = i64::from(self.0) + BEFORE_1970;
        let (era, of_era) = (days / ERA, days % ERA);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = (from_march + 2) % 12 + 1;
        let year = era * 400 + year + i64::from(month <= 2);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_and_read() {
        for (days, text) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_782, "2026-11-25"),
            (47_540, "2100-02-28"),
        ] {
            assert_eq!(Day(days).to_string(), text);
        }
        for days in (0..100_000).step_by(7).chain(0..800) {
            assert_eq!(Day::parse(&Day(days).to_string()), Some(Day(days)));
        }
        for wrong in [
            "",
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-1-01",
            "26-01-01",
            "2026-01-1x",
            "1969-12-31",
            "2026/01/01",
            "2026-01-é",
        ] {
            assert_eq!(Day::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Day::of(Day(5).start_ms() + DAY_MS - 1), Day(5));
    }
}
