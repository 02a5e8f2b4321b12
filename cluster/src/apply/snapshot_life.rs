//! The life of the snapshot that a group continues from: wanted, fetched, installed, tried again. No input or output happens
//! here, and the time is given.

use quorate_model::NodeId;
use quorate_raft::SnapshotImage;
use quorate_store::incoming::Incoming;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How often it is looked whether the log has reached a snapshot that has arrived, and how long a fetch or a replacement that could
/// not begin waits.
const LOOK: Duration = Duration::from_millis(200);

/// Which snapshot a group continues from, if any, and how far it is.
#[derive(Debug, Default)]
pub struct SnapshotLife {
    stage: Stage,
    /// Fetches so far.
    fetches: u64,
    /// Who waits for a state that is taken anew.
    anew: Option<oneshot::Sender<()>>,
    /// Until when the entries wait for it; `None` while they wait for something else.
    anew_until: Option<Instant>,
    /// Whether the state that is here is not what it should be, until another one is in its place.
    is_distrusted: bool,
    last_error: Option<String>,
}

#[derive(Debug, Default)]
enum Stage {
    /// The group goes on with what it has.
    #[default]
    None,
    /// Its fetch begins then.
    Wanted { source: Source, from: Instant },
    /// It is on its way.
    Fetching { source: Source },
    /// It is here, complete and durable, and is installed then if the log holds everything up to it.
    Arrived { incoming: Incoming, from: Instant },
}

/// What is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// What consensus named.
    Named(SnapshotImage),
    /// What any of these nodes has that reflects at least this log index.
    Any {
        /// The log index.
        at_least: u64,
        /// The nodes.
        from: Vec<NodeId>,
    },
}

/// When a state is taken anew, and how long the entries of the group wait for it.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The present.
    pub now: Instant,
    /// The end: then the group goes on with what it has.
    pub until: Instant,
}

/// What has to be done.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Begin a fetch with this number; [`SnapshotLife::not_begun`] when that fails.
    Fetch {
        /// What [`SnapshotLife::arrived`] is told.
        number: u64,
        /// What is fetched.
        source: Source,
    },
    /// Put this in the place of the state; [`SnapshotLife::installed`] or [`SnapshotLife::not_installed`] says how it ended.
    Install(Incoming),
    /// Nobody has sent the state that was to be taken anew: the group goes on with what it has, which does not count.
    GoOn,
}

/// What becomes of a snapshot that consensus names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The state reflects it already, or will by itself.
    Known,
    /// It is fetched.
    Wanted,
}

impl SnapshotLife {
    /// Consensus names a snapshot to continue from; the state reflects everything through `applied`.
    pub fn restore(&mut self, image: SnapshotImage, applied: u64, now: Instant) -> Named {
        if applied >= image.index {
            // what is taken anew is at least that new
            if self.anew_until.is_none() {
                (self.stage, self.anew) = (Stage::None, None);
            }
            return Named::Known;
        }
        // What comes takes the place of what is damaged, too: who waits for that is told then, and until then that is not trusted.
        self.anew_until = None;
        self.stage = Stage::Wanted { source: Source::Named(image), from: now };
        Named::Wanted
    }
    /// The state, which reflects everything through `taken`, is to be taken anew from one of these nodes; `done` is
    /// told when it is in place, and let go of when it does not come. Something that is under way comes first.
    pub fn take_anew(&mut self, from: Vec<NodeId>, taken: u64, done: oneshot::Sender<()>, times: Times) {
        if matches!(self.stage, Stage::None) {
            let source = Source::Any { at_least: taken, from };
            self.stage = Stage::Wanted { source, from: times.now };
            (self.anew, self.anew_until) = (Some(done), Some(times.until));
            // nobody is to count this copy, or to go on its account, before it is whole again
            self.is_distrusted = true;
        }
    }
    /// Whether the state counts from now on, unless something is under way that will take its place.
    pub fn count(&mut self, counts: bool) {
        if matches!(self.stage, Stage::None) {
            self.is_distrusted = !counts;
        }
    }
    /// A fetch has brought everything. That of an older one changes nothing.
    pub fn arrived(&mut self, number: u64, incoming: Incoming, now: Instant) {
        if self.fetch() == Some(number) && matches!(self.stage, Stage::Fetching { .. }) {
            self.stage = Stage::Arrived { incoming, from: now };
        }
    }
    /// What is to be done now, while the log is durable through `durable`.
    pub fn next(&mut self, durable: u64, now: Instant) -> Option<Step> {
        if self.anew_until.is_some_and(|until| now >= until) {
            self.stop();
            return Some(Step::GoOn);
        }
        match &mut self.stage {
            Stage::Wanted { source, from } if now >= *from => {
                let source = source.clone();
                self.fetches += 1;
                self.stage = Stage::Fetching { source: source.clone() };
                Some(Step::Fetch { number: self.fetches, source })
            }
            Stage::Arrived { incoming, from } if now >= *from => {
                if durable >= incoming.index {
                    return Some(Step::Install(incoming.clone()));
                }
                *from = now + LOOK;
                None
            }
            Stage::None | Stage::Wanted { .. } | Stage::Fetching { .. } | Stage::Arrived { .. } => None,
        }
    }
    /// A fetch could not begin: what consensus named is tried again, what was to be taken anew is not, and stays distrusted.
    pub fn not_begun(&mut self, error: String, now: Instant) {
        self.last_error = Some(error);
        match std::mem::take(&mut self.stage) {
            Stage::Fetching { source: source @ Source::Named(_) } => {
                self.stage = Stage::Wanted { source, from: now + LOOK };
            }
            Stage::Fetching { source: Source::Any { .. } } => self.stop(),
            other @ (Stage::None | Stage::Wanted { .. } | Stage::Arrived { .. }) => self.stage = other,
        }
    }
    /// What has arrived is in place: the state counts again. Returns who waits for that.
    pub fn installed(&mut self) -> Option<oneshot::Sender<()>> {
        (self.stage, self.is_distrusted, self.anew_until) = (Stage::None, false, None);
        self.anew.take()
    }
    /// Nothing has changed; it is tried again.
    pub fn not_installed(&mut self, reason: String, now: Instant) {
        self.last_error = Some(reason);
        if let Stage::Arrived { from, .. } = &mut self.stage {
            *from = now + LOOK;
        }
    }
    /// Gives up whatever there is.
    pub fn stop(&mut self) {
        (self.stage, self.anew, self.anew_until) = (Stage::None, None, None);
    }

    /// When something is due, if nothing comes before.
    pub fn due_at(&self) -> Option<Instant> {
        let stage = match &self.stage {
            Stage::None | Stage::Fetching { .. } => None,
            Stage::Wanted { from, .. } | Stage::Arrived { from, .. } => Some(*from),
        };
        stage.into_iter().chain(self.anew_until).min()
    }
    /// The fetch whose files are being written or wait to be installed; any other has to end.
    pub fn fetch(&self) -> Option<u64> {
        match &self.stage {
            Stage::None | Stage::Wanted { .. } => None,
            Stage::Fetching { .. } | Stage::Arrived { .. } => Some(self.fetches),
        }
    }
    /// Whether entries wait: what they follow is on its way, and what arrives must not be older than what was applied.
    pub fn keeps_entries(&self) -> bool {
        !matches!(self.stage, Stage::None)
    }
    /// Whether the state that is here is not to be counted.
    pub fn is_distrusted(&self) -> bool {
        self.is_distrusted
    }
    /// What the group waits for, if it is for a snapshot.
    pub fn waits_for(&self) -> Option<&'static str> {
        match &self.stage {
            Stage::None => None,
            Stage::Wanted { .. } => Some("a fetch of a snapshot that could not begin"),
            Stage::Fetching { .. } => Some("a snapshot from another node"),
            Stage::Arrived { .. } => Some("its log to reach a snapshot that has arrived"),
        }
    }
    /// Why a fetch or a replacement failed the last time.
    pub fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use quorate_model::GroupId;
    use quorate_store::layout::Layout;
    use tokio::sync::oneshot::error::TryRecvError;

    fn image(index: u64) -> SnapshotImage {
        SnapshotImage { index, data: Bytes::new() }
    }
    fn incoming(index: u64) -> Incoming {
        Incoming::new(&Layout::new("nowhere"), GroupId(3), index)
    }
    const WITHIN: Duration = Duration::from_secs(30 * 60);
    fn from(now: Instant) -> Times {
        Times { now, until: now + WITHIN }
    }
    fn number(step: Option<Step>) -> u64 {
        match step {
            Some(Step::Fetch { number, .. }) => number,
            other => panic!("no fetch: {other:?}"),
        }
    }

    #[test]
    fn what_consensus_names_is_fetched_and_installed_when_the_log_has_reached_it() {
        let (mut life, mut now) = (SnapshotLife::default(), Instant::now());
        assert_eq!((life.next(9, now), life.keeps_entries()), (None, false));
        assert_eq!(life.restore(image(7), 3, now), Named::Wanted);
        assert_eq!(life.next(3, now), Some(Step::Fetch { number: 1, source: Source::Named(image(7)) }));
        assert_eq!((life.next(3, now), life.due_at()), (None, None), "it is on its way");
        assert!(life.keeps_entries() && !life.is_distrusted() && life.fetch() == Some(1));
        life.arrived(1, incoming(8), now);
        assert_eq!(life.next(7, now), None, "the log is not that far");
        assert_eq!(life.due_at(), Some(now + LOOK));
        assert_eq!(life.next(8, now), None, "it is looked at now and then");
        now += LOOK;
        assert_eq!(life.next(8, now), Some(Step::Install(incoming(8))));
        life.not_installed("a folder cannot be moved".into(), now);
        assert_eq!((life.next(8, now), life.last_error()), (None, Some("a folder cannot be moved")));
        now += LOOK;
        assert_eq!(life.next(8, now), Some(Step::Install(incoming(8))));
        assert!(life.installed().is_none() && !life.keeps_entries());
        assert_eq!((life.next(8, now), life.fetch(), life.due_at()), (None, None, None));
    }

    #[test]
    fn a_newer_one_takes_the_place_of_one_on_its_way() {
        let (mut life, now) = (SnapshotLife::default(), Instant::now());
        life.restore(image(7), 3, now);
        assert_eq!(number(life.next(9, now)), 1);
        life.restore(image(9), 3, now);
        assert_eq!(life.fetch(), None, "the older one ends before the newer begins");
        assert_eq!(number(life.next(9, now)), 2);
        life.arrived(1, incoming(7), now);
        assert_eq!(life.next(9, now), None, "what arrives late is of no use");
        life.arrived(2, incoming(9), now);
        assert_eq!(life.next(9, now), Some(Step::Install(incoming(9))));
        // also while it waits to be installed
        life.restore(image(12), 3, now);
        assert_eq!((life.fetch(), number(life.next(9, now))), (None, 3));
    }

    #[test]
    fn a_fetch_that_cannot_begin_is_begun_again() {
        let (mut life, mut now) = (SnapshotLife::default(), Instant::now());
        life.restore(image(7), 3, now);
        for round in 1..5 {
            assert_eq!(number(life.next(9, now)), round);
            life.not_begun("no thread".into(), now);
            assert_eq!((life.next(9, now), life.due_at()), (None, Some(now + LOOK)));
            assert!(life.keeps_entries(), "what they follow is not there");
            now += LOOK;
        }
        assert_eq!(life.last_error(), Some("no thread"));
    }

    #[test]
    fn what_is_known_is_not_fetched() {
        let (mut life, now) = (SnapshotLife::default(), Instant::now());
        assert_eq!(life.restore(image(7), 7, now), Named::Known);
        assert_eq!((life.next(9, now), life.keeps_entries()), (None, false));
        life.restore(image(9), 7, now);
        life.next(9, now);
        assert_eq!(life.restore(image(9), 9, now), Named::Known);
        assert_eq!(life.fetch(), None);
    }

    #[test]
    fn a_state_that_is_taken_anew_does_not_count_before_it_is_there() {
        let (mut life, now) = (SnapshotLife::default(), Instant::now());
        let (done, mut ended) = oneshot::channel();
        life.take_anew(vec![NodeId(1)], 5, done, from(now));
        let source = Source::Any { at_least: 5, from: vec![NodeId(1)] };
        assert_eq!(life.next(9, now), Some(Step::Fetch { number: 1, source }));
        assert!(life.is_distrusted() && life.keeps_entries());
        // consensus may name an older one meanwhile
        assert_eq!(life.restore(image(4), 5, now), Named::Known);
        assert_eq!(life.fetch(), Some(1));
        // a second wish changes nothing
        let (second, mut refused) = oneshot::channel();
        life.take_anew(vec![NodeId(2)], 5, second, from(now));
        assert_eq!(refused.try_recv(), Err(TryRecvError::Closed));
        life.arrived(1, incoming(6), now);
        assert_eq!(life.next(9, now), Some(Step::Install(incoming(6))));
        life.installed().expect("somebody waits").send(()).unwrap();
        assert!(!life.is_distrusted() && ended.try_recv().is_ok());
    }

    #[test]
    fn a_state_that_nobody_sends_is_given_up_and_what_is_there_does_not_count() {
        let (mut life, now) = (SnapshotLife::default(), Instant::now());
        let (done, mut ended) = oneshot::channel();
        life.take_anew(vec![NodeId(1)], 5, done, from(now));
        life.next(9, now);
        let early = now + WITHIN - Duration::from_millis(1);
        assert_eq!((life.next(9, early), life.due_at()), (None, Some(now + WITHIN)));
        assert_eq!(life.next(9, now + WITHIN), Some(Step::GoOn));
        assert!(life.is_distrusted() && !life.keeps_entries() && life.fetch().is_none());
        assert_eq!(ended.try_recv(), Err(TryRecvError::Closed));
        // one that cannot even begin is not waited for
        let (done, mut ended) = oneshot::channel();
        life.take_anew(vec![NodeId(1)], 5, done, from(now));
        life.next(9, now);
        life.not_begun("no thread".into(), now);
        assert!(life.is_distrusted() && !life.keeps_entries() && life.due_at().is_none());
        assert_eq!(ended.try_recv(), Err(TryRecvError::Closed));
        // it is tried again, and nothing else makes it count meanwhile
        let (done, _ended) = oneshot::channel();
        life.take_anew(vec![NodeId(1)], 6, done, from(now));
        life.count(true);
        assert!(life.is_distrusted(), "another one is under way");
        assert_eq!(number(life.next(9, now)), 3);
        life.arrived(3, incoming(6), now);
        assert_eq!(life.next(9, now), Some(Step::Install(incoming(6))));
        assert!(life.installed().is_some() && !life.is_distrusted());
    }

    #[test]
    fn a_state_counts_again_when_nobody_holds_another_one() {
        let (mut life, now) = (SnapshotLife::default(), Instant::now());
        let (done, _ended) = oneshot::channel();
        life.take_anew(vec![NodeId(1)], 5, done, from(now));
        life.next(9, now);
        life.next(9, now + WITHIN);
        assert!(life.is_distrusted());
        life.count(true);
        assert!(!life.is_distrusted() && !life.keeps_entries());
    }

    #[test]
    fn what_consensus_names_takes_the_place_of_a_damaged_state() {
        let (mut life, now) = (SnapshotLife::default(), Instant::now());
        let (done, mut ended) = oneshot::channel();
        life.take_anew(vec![NodeId(1)], 5, done, from(now));
        life.next(9, now);
        assert_eq!(life.restore(image(8), 5, now), Named::Wanted);
        assert_eq!(ended.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(number(life.next(9, now)), 2);
        assert!(life.is_distrusted(), "what is here is still damaged");
        // and it is waited for without an end
        assert_eq!(life.next(9, now + 2 * WITHIN), None);
        life.arrived(2, incoming(8), now);
        life.next(9, now);
        life.installed().expect("somebody waits").send(()).unwrap();
        assert!(!life.is_distrusted() && ended.try_recv().is_ok());
    }
}
