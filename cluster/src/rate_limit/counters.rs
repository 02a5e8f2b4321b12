//! How many calls has a caller made with a key that limits them, on all nodes together? Knows no clock and no network: times and
//! what other nodes say are arguments.
//!
//! A counter has a slot for every start of a node, which that node alone counts up; two states of it merge slot by slot, the larger
//! one counts. One node is the home of a counter (`mod.rs` says which). It promises the others shares of what is left, so that they
//! count without asking: a promise says how far a slot may go, so that a question that is asked twice promises nothing twice.
//! What is promised counts as made, hence all nodes together never allow more than the limit. Shares are a [`SHARE`]th of
//! the limit; every second a node says how far it is and gives back what it has not used, so that nothing stays promised in vain but
//! to a node that died.

use lru::LruCache;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;

/// Seconds a count lasts. Counts begin at moments of their own, so that not all callers begin anew at once.
pub const WINDOW_S: u64 = 3_600;
/// Parts of a limit of which one is promised at a time.
const SHARE: u64 = 40;
/// Parts that counters are kept in, by key: who calls a key from ever new addresses makes others of the same part be forgotten.
const SEGMENTS: usize = 16;
/// Counters of a part; beyond that the one that was used longest ago is forgotten. All take some 25 MB.
const COUNTERS_MAX: NonZeroUsize = NonZeroUsize::new(4_096).expect("4,096 is not zero");
/// Slots of a counter: starts of nodes within an hour. Further ones are not looked at.
const SLOTS_MAX: usize = 16;

/// What is counted: a key, and who calls with it. Both are parts of digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CounterId {
    /// The key.
    pub key: u64,
    /// Key and caller.
    pub caller: [u8; 16],
}

impl CounterId {
    /// Something of it that is spread evenly.
    pub fn spread(&self) -> u64 {
        u64::from_le_bytes(self.caller[..8].try_into().expect("eight bytes"))
    }
    /// The number of the window that a moment is in.
    fn window(&self, now_s: u64) -> u64 {
        now_s.saturating_add(self.spread() % WINDOW_S) / WINDOW_S
    }
    /// When the window that a moment is in ends, Unix seconds.
    fn window_ends_s(&self, now_s: u64) -> u64 {
        (self.window(now_s) + 1).saturating_mul(WINDOW_S).saturating_sub(self.spread() % WINDOW_S)
    }
}

/// A call that is to be counted.
#[derive(Clone, Copy, Debug)]
pub struct LimitedCall {
    /// By this counter.
    pub id: CounterId,
    /// Which may count so far.
    pub limit: u64,
    /// Unix seconds.
    pub now_s: u64,
}

/// What is left of a limit, as one node knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Calls in an hour.
    pub limit: u64,
    /// Calls until that hour is over.
    pub remaining: u64,
    /// When it is over, Unix seconds.
    pub reset_s: u64,
}

/// Numbers by slot, in order of the slots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slots(Vec<(u64, u64)>);

impl Slots {
    fn get(&self, slot: u64) -> u64 {
        self.0.binary_search_by_key(&slot, |(slot, _)| *slot).map_or(0, |at| self.0[at].1)
    }
    fn raise(&mut self, slot: u64, to: u64) {
        match self.0.binary_search_by_key(&slot, |(slot, _)| *slot) {
            Ok(at) => self.0[at].1 = self.0[at].1.max(to),
            Err(at) if self.0.len() < SLOTS_MAX => self.0.insert(at, (slot, to)),
            Err(_) => {}
        }
    }
    fn remove(&mut self, slot: u64) {
        self.0.retain(|(other, _)| *other != slot);
    }
    fn merge(&mut self, other: &Slots) {
        other.0.iter().take(SLOTS_MAX).for_each(|(slot, value)| self.raise(*slot, *value));
    }
    fn total(&self) -> u64 {
        self.0.iter().fold(0, |total, (_, value)| total.saturating_add(*value))
    }
}

/// How far a counter is, as a node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Which.
    pub id: CounterId,
    /// In which window.
    pub window: u64,
    /// Calls by slot.
    pub used: Slots,
}

/// How far may I count? For the home of a counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// What the asker knows.
    pub report: Report,
    /// Its slot.
    pub slot: u64,
    /// The limit.
    pub limit: u64,
    /// Calls that wait for the answer.
    pub waiting: u64,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// What the home knows.
    pub report: Report,
    /// How far the slot of the asker may go.
    pub through: u64,
}

/// What becomes of a call that another node than the home counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is counted.
    Allowed,
    /// It is one too many.
    Refused,
    /// The home has to be asked.
    Ask,
}

#[derive(Debug, Default)]
struct Counter {
    window: u64,
    used: Slots,
    /// How far other slots may go, if this node is the home.
    promised: Slots,
    /// How far the own slot may go, if it is not.
    through: u64,
    /// The second in which nothing was left for this node.
    refused_s: u64,
    /// How far the own slot may go while no other node answers.
    alone: Option<u64>,
    /// Calls that wait for a promise.
    waiting: u64,
    /// Whether it is in the list of those that changed.
    is_listed: bool,
}

impl Counter {
    /// Calls that were made or are promised to others.
    fn taken(&self) -> u64 {
        let mut taken = self.used.clone();
        taken.merge(&self.promised);
        taken.total()
    }
    fn report(&self, id: CounterId) -> Report {
        Report { id, window: self.window, used: self.used.clone() }
    }
}

#[derive(Debug)]
struct Segment {
    counters: LruCache<CounterId, Counter>,
    /// Those that changed since the last report.
    changed: Vec<CounterId>,
}

impl Segment {
    /// A counter in a window, or in the next one, which other nodes have begun already.
    fn counter(&mut self, id: CounterId, window: u64) -> &mut Counter {
        let counter = self.counters.get_or_insert_mut(id, Counter::default);
        if !(window..=window + 1).contains(&counter.window) {
            let (waiting, is_listed) = (counter.waiting, counter.is_listed);
            *counter = Counter { window, waiting, is_listed, ..Counter::default() };
        }
        counter
    }
    /// Merges what another node knows, unless that is of another time. Gives the counter.
    fn merged(&mut self, report: &Report, now_s: u64) -> &mut Counter {
        let window = report.id.window(now_s);
        let is_near = report.window.abs_diff(window) <= 1;
        let counter = self.counter(report.id, if is_near { window.max(report.window) } else { window });
        if is_near && report.window == counter.window {
            counter.used.merge(&report.used);
        }
        counter
    }
    fn list(&mut self, id: CounterId) {
        let Segment { counters, changed } = self;
        if let Some(counter) = counters.peek_mut(&id)
            && !counter.is_listed
            && changed.len() < COUNTERS_MAX.get()
        {
            counter.is_listed = true;
            changed.push(id);
        }
    }
}

/// The counters that a node knows.
#[derive(Debug)]
pub struct Counters {
    slot: u64,
    segments: Vec<Mutex<Segment>>,
}

impl Counters {
    /// Of a node whose slot this is: another one after each start.
    pub fn new(slot: u64) -> Self {
        let segment = || Mutex::new(Segment { counters: LruCache::new(COUNTERS_MAX), changed: vec![] });
        Counters { slot, segments: std::iter::repeat_with(segment).take(SEGMENTS).collect() }
    }
    /// The slot.
    pub fn slot(&self) -> u64 {
        self.slot
    }
    fn segment(&self, id: CounterId) -> parking_lot::MutexGuard<'_, Segment> {
        self.segments[(id.key % SEGMENTS as u64) as usize].lock()
    }
    fn add(&self, segment: &mut Segment, id: CounterId) {
        if let Some(counter) = segment.counters.peek_mut(&id) {
            let own = counter.used.get(self.slot);
            counter.used.raise(self.slot, own.saturating_add(1));
        }
        segment.list(id);
    }

    /// Counts a call where its counter has its home. Gives whether it is allowed.
    pub fn count_at_home(&self, call: LimitedCall) -> bool {
        let mut segment = self.segment(call.id);
        let counter = segment.counter(call.id, call.id.window(call.now_s));
        counter.alone = None;
        let is_allowed = counter.taken() < call.limit;
        if is_allowed {
            self.add(&mut segment, call.id);
        }
        is_allowed
    }
    /// Counts a call elsewhere.
    pub fn count(&self, call: LimitedCall) -> Verdict {
        let mut segment = self.segment(call.id);
        let counter = segment.counter(call.id, call.id.window(call.now_s));
        if counter.used.total() >= call.limit {
            return Verdict::Refused;
        }
        if counter.used.get(self.slot) >= counter.through {
            return if counter.refused_s == call.now_s { Verdict::Refused } else { Verdict::Ask };
        }
        counter.alone = None;
        self.add(&mut segment, call.id);
        Verdict::Allowed
    }
    /// Counts a call on a node that reaches none of the others, of which there are `nodes` together: they may be calling, too, so that it
    /// takes its part of what was left when that began. Gives whether it is allowed.
    pub fn count_alone(&self, call: LimitedCall, nodes: u64) -> bool {
        let mut segment = self.segment(call.id);
        let counter = segment.counter(call.id, call.id.window(call.now_s));
        let (own, total) = (counter.used.get(self.slot), counter.used.total());
        let part = call.limit.saturating_sub(total).div_ceil(nodes.max(1));
        let through = *counter.alone.get_or_insert(own.saturating_add(part));
        let is_allowed = own < through && total < call.limit;
        if is_allowed {
            self.add(&mut segment, call.id);
        }
        is_allowed
    }

    /// What is left of the limit of such calls. Calls on other nodes count once these have told of them.
    pub fn quota(&self, call: LimitedCall) -> Quota {
        let mut segment = self.segment(call.id);
        let counter = segment.counter(call.id, call.id.window(call.now_s));
        Quota {
            limit: call.limit,
            remaining: call.limit.saturating_sub(counter.used.total()),
            reset_s: call.id.window_ends_s(call.now_s),
        }
    }

    /// A call waits for a promise from now on.
    pub fn wait(&self, call: LimitedCall) -> Waiting<'_> {
        self.segment(call.id).counter(call.id, call.id.window(call.now_s)).waiting += 1;
        Waiting { counters: self, id: call.id }
    }
    /// What the home is to be asked.
    pub fn question(&self, call: LimitedCall) -> Question {
        let mut segment = self.segment(call.id);
        let counter = segment.counter(call.id, call.id.window(call.now_s));
        let report = counter.report(call.id);
        Question { report, slot: self.slot, limit: call.limit, waiting: counter.waiting }
    }
    /// Answers a question, at the home.
    pub fn promise(&self, question: &Question, now_s: u64) -> Promise {
        let Question { report, slot, limit, waiting } = question;
        let mut segment = self.segment(report.id);
        let counter = segment.merged(report, now_s);
        counter.alone = None;
        let used = counter.used.get(*slot);
        let before = counter.promised.get(*slot).max(used);
        let left = limit.saturating_sub(counter.taken());
        let wanted = (*waiting).max((limit / SHARE).min(left / 4)).max(1);
        let more = used.saturating_add(wanted).saturating_sub(before).min(left);
        let through = before.saturating_add(more);
        counter.promised.raise(*slot, through);
        let promise = Promise { report: counter.report(report.id), through };
        segment.list(report.id);
        promise
    }
    /// Takes what the home has promised to a question. Nothing is left only if it has promised nothing beyond what this node had used when
    /// it asked: what was promised may have been used up by other calls before the answer came.
    pub fn take(&self, question: &Question, promise: &Promise, now_s: u64) {
        let mut segment = self.segment(promise.report.id);
        let counter = segment.merged(&promise.report, now_s);
        if promise.report.window == counter.window {
            counter.through = counter.through.max(promise.through);
            if question.report.window == counter.window
                && promise.through <= question.report.used.get(self.slot)
            {
                counter.refused_s = now_s;
            }
        }
        segment.list(promise.report.id);
    }

    /// What has changed since the last time. From now on this node counts no further with what it was promised: it tells others how far
    /// it is.
    pub fn changed(&self) -> Vec<Report> {
        let mut reports = Vec::new();
        for segment in &self.segments {
            let segment = &mut *segment.lock();
            for id in std::mem::take(&mut segment.changed) {
                let Some(counter) = segment.counters.peek_mut(&id) else { continue };
                if counter.waiting > 0 {
                    // a promise is under way
                    segment.changed.push(id);
                    continue;
                }
                (counter.is_listed, counter.through) = (false, 0);
                reports.push(counter.report(id));
            }
        }
        reports
    }
    /// Takes what another node, whose slot this is, says of counters. What it was promised it has used or given back.
    pub fn merge(&self, slot: u64, reports: &[Report], now_s: u64) {
        for report in reports {
            let mut segment = self.segment(report.id);
            let counter = segment.merged(report, now_s);
            if report.window == counter.window {
                counter.alone = None;
                counter.promised.remove(slot);
            }
        }
    }
    /// All that is known of counters that somebody wants, for a node that knows nothing of them.
    pub fn known(&self, now_s: u64, wants: impl Fn(CounterId) -> bool) -> Vec<Report> {
        let mut reports = Vec::new();
        for segment in &self.segments {
            let segment = segment.lock();
            let current = segment.counters.iter().filter(|(id, counter)| counter.window >= id.window(now_s));
            reports.extend(current.filter(|(id, _)| wants(**id)).map(|(id, counter)| counter.report(*id)));
        }
        reports
    }
}

/// A call that waits until it is dropped.
#[derive(Debug)]
pub struct Waiting<'c> {
    counters: &'c Counters,
    id: CounterId,
}
impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(counter) = self.counters.segment(self.id).counters.peek_mut(&self.id) {
            counter.waiting = counter.waiting.saturating_sub(1);
        }
    }
}
