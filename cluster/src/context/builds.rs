//! Which models of recommendations were asked for, which is being made, and what became of the last builds on this node?

use crate::metrics;
use parking_lot::Mutex;
use quorate_model::{Error, GroupId, Result};
use quorate_node::{ModelKey, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Models that may be asked for and wait.
const ASKED_MAX: usize = 1_000;
/// Builds that are remembered.
const ATTEMPTS_MAX: usize = 20_000;

/// The model of an index in a group.
pub type Which = (GroupId, ModelKey);

/// What is known of builds. It is lost with the process: what is built next depends on nothing else that is.
#[derive(Debug, Default)]
pub struct Builds {
    at_latest: Option<Duration>,
    state: Mutex<State>,
    wake: Notify,
    files: Notify,
}

#[derive(Debug, Default)]
struct State {
    asked: BTreeSet<Which>,
    attempts: BTreeMap<Which, Attempt>,
    running: Option<Which>,
}

/// The last build of a model.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// When it ended.
    pub at: Instant,
    /// The same, Unix milliseconds.
    pub at_ms: u64,
    /// How long it took.
    pub took: Duration,
    /// What it learned from; nothing when it failed.
    pub report: Option<Report>,
    /// Why there is no model; nothing when there is one.
    pub reason: Option<String>,
}

impl Builds {
    /// None so far. Models are made anew after `at_latest`; `None`: only when somebody asks.
    pub fn new(at_latest: Option<Duration>) -> Builds {
        Builds { at_latest, ..Builds::default() }
    }
    /// After which time models are made anew at the latest; `None`: only when somebody asks.
    pub fn at_latest(&self) -> Option<Duration> {
        self.at_latest
    }
    /// Asks for a build, which begins soon. Errors: `Unavailable` when too many wait.
    pub fn ask(&self, which: Which) -> Result<()> {
        {
            let mut state = self.state.lock();
            if state.asked.len() >= ASKED_MAX && !state.asked.contains(&which) {
                return Err(Error::unavailable(format!("{ASKED_MAX} models wait for being built")));
            }
            state.asked.insert(which);
        }
        self.wake.notify_one();
        Ok(())
    }
    /// Waits until something is asked for.
    pub async fn asked(&self) {
        self.wake.notified().await;
    }
    /// The next one that was asked for, of those that `may` be built here; the others are forgotten.
    pub fn next(&self, may: impl Fn(GroupId) -> bool) -> Option<Which> {
        let mut state = self.state.lock();
        while let Some(which) = state.asked.pop_first() {
            if may(which.0) {
                return Some(which);
            }
        }
        None
    }
    /// Says which model is being made.
    pub fn note_running(&self, running: Option<Which>) {
        metrics::builds_running("models", running.is_some());
        self.state.lock().running = running;
    }
    /// Whether a model waits for being made or is being made.
    pub fn is_awaited(&self, which: &Which) -> bool {
        let state = self.state.lock();
        state.asked.contains(which) || state.running.as_ref() == Some(which)
    }
    /// Notes what became of a build.
    pub fn note(&self, which: Which, attempt: Attempt) {
        metrics::built(which.1.model.name(), attempt.report.is_some(), attempt.took);
        let mut state = self.state.lock();
        if state.attempts.len() >= ATTEMPTS_MAX && !state.attempts.contains_key(&which) {
            state.attempts.pop_first();
        }
        state.attempts.insert(which, attempt);
    }
    /// The last build of a model on this node.
    pub fn last(&self, which: &Which) -> Option<Attempt> {
        self.state.lock().attempts.get(which).cloned()
    }
    /// The last builds of a group on this node.
    pub fn of_group(&self, group: GroupId) -> Vec<(ModelKey, Attempt)> {
        let state = self.state.lock();
        let of_group = state.attempts.iter().filter(|((of, _), _)| *of == group);
        of_group.map(|((_, key), attempt)| (key.clone(), attempt.clone())).collect()
    }
    /// Says that there may be files of models to fetch, or to remove.
    pub fn files_changed(&self) {
        self.files.notify_one();
    }
    /// Waits until there may be.
    pub async fn files_to_look_at(&self) {
        self.files.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::{IndexName, RecommendModel};

    fn which(number: usize) -> Which {
        let index = IndexName::new(&format!("i{number}")).expect("valid");
        (GroupId(number as u16 % 2), ModelKey { index, model: RecommendModel::RelatedProducts })
    }

    #[test]
    fn what_is_asked_for_is_bounded_and_asked_once() {
        let builds = Builds::default();
        (0..ASKED_MAX).for_each(|number| builds.ask(which(number)).expect("there is room"));
        assert!(builds.ask(which(5)).is_ok(), "it waits already");
        assert!(builds.ask(which(ASKED_MAX)).is_err_and(|error| error.message.contains("1000 models")));
        assert!(builds.is_awaited(&which(7)));
        let next = builds.next(|group| group == GroupId(1)).expect("there are some");
        assert_eq!(next.0, GroupId(1));
        assert!(builds.is_awaited(&which(7)) && !builds.is_awaited(&next));
        builds.note_running(Some(next.clone()));
        assert!(builds.is_awaited(&next));
        let mut rest = 0;
        while builds.next(|_| true).is_some() {
            rest += 1;
        }
        assert_eq!(rest, ASKED_MAX / 2 - 1, "those that may not be built here are forgotten");
    }
}
