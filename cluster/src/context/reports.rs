//! Which figures of searches has this node made lately?

use lru::LruCache;
use parking_lot::Mutex;
use quorate_model::IndexName;
use quorate_model::analytics::{LIMIT_MAX, Report, ReportQuery};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Reports that are made at a time.
const AT_A_TIME: usize = 2;
/// Reports that are kept, and for how long.
const KEPT_MAX: NonZeroUsize = NonZeroUsize::new(64).expect("more than none");
const KEPT: Duration = Duration::from_secs(2);

type Wanted = (IndexName, ReportQuery);
/// When it was made, how often users had been forgotten before that, and the report.
type Made = (Instant, u64, Arc<Report>);

/// Reports that were made, and who may make one.
pub struct Reports {
    turns: Semaphore,
    made: Mutex<LruCache<Wanted, Made>>,
}

impl Default for Reports {
    fn default() -> Self {
        Reports { turns: Semaphore::new(AT_A_TIME), made: Mutex::new(LruCache::new(KEPT_MAX)) }
    }
}

impl Reports {
    /// Who may make one: as many as there are permits.
    pub fn turns(&self) -> &Semaphore {
        &self.turns
    }
    /// One that was made a moment ago, unless more users have been forgotten since.
    pub fn recent(&self, index: &IndexName, asked: &ReportQuery, forgets: u64) -> Option<Arc<Report>> {
        let mut made = self.made.lock();
        let (at, before, report) = made.get(&(index.clone(), asked.clone()))?;
        (at.elapsed() < KEPT && *before == forgets).then(|| report.clone())
    }
    /// Keeps one for a moment, unless it is long.
    pub fn keep(&self, index: IndexName, asked: ReportQuery, forgets: u64, report: &Arc<Report>) {
        if asked.limit <= LIMIT_MAX {
            self.made.lock().put((index, asked), (Instant::now(), forgets, report.clone()));
        }
    }
}
