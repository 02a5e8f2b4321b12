//! How much of the time does a build leave to those who search?

use std::time::{Duration, Instant};

/// How long a build goes on without a pause.
const AT_A_STRETCH: Duration = Duration::from_millis(5);
/// How many times as long it pauses then: it has a quarter of the time.
const PAUSE: u32 = 3;
/// A pause at most: what it has waited for took nothing from others.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// Since when there was no pause.
pub struct Pace(Instant);

impl Pace {
    /// From now on.
    pub fn begin() -> Pace {
        Pace(Instant::now())
    }
    /// Pauses when that is due.
    pub async fn keep(&mut self) {
        let took = self.0.elapsed();
        if took >= AT_A_STRETCH {
            tokio::time::sleep((PAUSE * took).min(PAUSE_MAX)).await;
            self.0 = Instant::now();
        }
    }
}
