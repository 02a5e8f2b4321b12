//! How many searches this node was asked for, and how long they took.
//!
//! Hot path: two atomic additions a search, no lock.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper ends of the classes of durations, in microseconds; a last class has what took longer.
pub const BOUNDS_US: [u64; 24] = [
    50, 100, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000, 20_000, 30_000,
    50_000, 70_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000,
];

/// Counts searches by how long they took.
#[derive(Debug, Default)]
pub struct Traffic {
    classes: [AtomicU64; BOUNDS_US.len() + 1],
}

impl Traffic {
    /// Counts one search.
    pub fn record(&self, took: Duration) {
        let micros = took.as_micros() as u64;
        let class = BOUNDS_US.partition_point(|&bound| bound < micros);
        self.classes[class].fetch_add(1, Ordering::Relaxed);
    }
    /// The counts since the start.
    pub fn figures(&self) -> QueryFigures {
        QueryFigures { classes: self.classes.iter().map(|class| class.load(Ordering::Relaxed)).collect() }
    }
}

/// Searches of a node since its start, by how long they took. The difference of two of them is what came between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryFigures {
    /// One count for each class of [`BOUNDS_US`], and a last one.
    pub classes: Vec<u64>,
}

impl QueryFigures {
    /// All searches.
    pub fn count(&self) -> u64 {
        self.classes.iter().sum()
    }
    /// What was added since `earlier`; everything when the node has started anew meanwhile.
    pub fn since(&self, earlier: &QueryFigures) -> QueryFigures {
        let is_later = self.classes.len() == earlier.classes.len()
            && self.classes.iter().zip(&earlier.classes).all(|(now, then)| now >= then);
        if !is_later {
            return self.clone();
        }
        let classes = self.classes.iter().zip(&earlier.classes).map(|(now, then)| now - then);
        QueryFigures { classes: classes.collect() }
    }
    /// Microseconds that `percent` of the searches took at most, rounded up to the end of their class; `None` without
    /// any search.
    pub fn percentile_us(&self, percent: u64) -> Option<u64> {
        let wanted = (self.count() * percent).div_ceil(100);
        let mut seen = 0;
        let class = self.classes.iter().position(|count| {
            seen += count;
            wanted > 0 && seen >= wanted
        })?;
        Some(BOUNDS_US.get(class).copied().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_counted_by_how_long_they_took() {
        let traffic = Traffic::default();
        assert_eq!(traffic.figures().percentile_us(99), None);
        for _ in 0..98 {
            traffic.record(Duration::from_micros(150));
        }
        let earlier = traffic.figures();
        assert_eq!((earlier.count(), earlier.percentile_us(99)), (98, Some(200)));
        traffic.record(Duration::from_micros(100));
        traffic.record(Duration::from_secs(60));
        let now = traffic.figures();
        assert_eq!((now.percentile_us(50), now.percentile_us(99)), (Some(200), Some(200)));
        let between = now.since(&earlier);
        assert_eq!((between.count(), between.percentile_us(50)), (2, Some(100)));
        assert_eq!(between.percentile_us(99), Some(u64::MAX), "longer than the longest class");
        assert_eq!(earlier.since(&now), earlier, "a node that started anew");
    }
}
