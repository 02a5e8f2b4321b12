//! What time is it, and how is it written?

use quorate_model::limits;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Now, Unix milliseconds; for what is shown or checked, never for what is applied.
pub fn unix_ms() -> u64 {
    unix_us() / 1_000
}

/// Now, Unix microseconds.
pub(crate) fn unix_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Unix milliseconds as RFC 3339 UTC with milliseconds, `2023-06-27T14:42:38.831Z` (C§2).
pub fn rfc3339(unix_ms: u64) -> String {
    let time = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ms) * 1_000_000)
        .unwrap_or(time::OffsetDateTime::UNIX_EPOCH);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.millisecond()
    )
}

/// When a write that starts now gives up.
pub fn write_deadline() -> Instant {
    Instant::now() + Duration::from_secs(limits::WRITE_S)
}

/// How long it is until `deadline`.
pub fn within(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Where the clock of this process begins.
static START: LazyLock<boot_time::Instant> = LazyLock::new(boot_time::Instant::now);

/// Milliseconds by a clock that goes on while the machine sleeps; of use within this process only.
pub fn steady_ms() -> u64 {
    START.elapsed().as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds() {
        for (unix_ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_687_876_958_831, "2023-06-27T14:42:38.831Z"),
            (951_782_400_007, "2000-02-29T00:00:00.007Z"),
        ] {
            assert_eq!(rfc3339(unix_ms), expected);
        }
    }
}
