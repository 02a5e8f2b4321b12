//! How far the writes of one shard have come: queued, visible to reads, durable in segment files.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// Log indices of one shard that are under way.
///
/// Filled when a command is handed to the shard, drained when it is visible, then when it is durable. A change of
/// settings may await a rebuild of the shard's files; what comes after it is visible before it.
#[derive(Debug, Default)]
pub struct Progress {
    state: Mutex<State>,
}
#[derive(Debug, Default)]
struct State {
    /// Handed over, not visible to reads yet; tickets and log indices ascend.
    not_visible: VecDeque<Waiting>,
    /// Since the last durable commit: the first log index and the last ticket.
    unflushed: Option<(u64, u64)>,
    last_ticket: u64,
    /// Somebody waits until reads see everything through here.
    awaited: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    ticket: u64,
    log_index: u64,
    what: What,
}
/// What waits to become visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Records,
    Settings,
    /// Settings that the files have to be rebuilt for.
    AwaitingRebuild,
    /// The same, of an earlier process. They come first; the log indices of what is replayed may be smaller.
    Resumed,
    /// Nothing of the shard's own: something that is there already, and counts as visible once what came before it is.
    Behind,
}
impl What {
    fn awaits_rebuild(self) -> bool {
        match self {
            What::AwaitingRebuild | What::Resumed => true,
            What::Records | What::Settings | What::Behind => false,
        }
    }
}

/// Settings that are remembered as awaiting a rebuild across a restart, at most: the newest.
const AWAITING_KEPT: usize = 256;

impl Progress {
    /// Notes work at `log_index`. Returns its ticket, ascending in the order of the calls.
    pub fn enqueue(&self, log_index: u64) -> u64 {
        self.state.lock().enqueue(log_index, What::Records)
    }
    /// Notes a change of settings at `log_index`. Returns its ticket.
    pub fn enqueue_settings(&self, log_index: u64) -> u64 {
        self.state.lock().enqueue(log_index, What::Settings)
    }
    /// Notes a change at `log_index` that reads see already: as a command it is visible no sooner than those before it, so that who
    /// waits for the last one of several has waited for all. Settings that await a rebuild are not waited for.
    pub fn follow(&self, log_index: u64) {
        let mut state = self.state.lock();
        let is_work = |waiting: &Waiting| matches!(waiting.what, What::Records | What::Settings);
        if state.not_visible.iter().any(is_work) {
            let ticket = state.last_ticket;
            state.not_visible.push_back(Waiting { ticket, log_index, what: What::Behind });
        }
    }
    /// Notes settings that an earlier process has applied and whose rebuild it has not ended.
    pub fn resume_awaiting_rebuild(&self, log_index: u64) {
        let mut state = self.state.lock();
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        state.not_visible.push_back(Waiting { ticket, log_index, what: What::Resumed });
    }
    /// The settings with this ticket become visible with [`Self::rebuild_ended`] only.
    pub fn await_rebuild(&self, ticket: u64) {
        let mut state = self.state.lock();
        // what only follows it has the same ticket
        let at = state.not_visible.partition_point(|waiting| waiting.ticket < ticket);
        if let Some(waiting) = state.not_visible.get_mut(at).filter(|waiting| waiting.ticket == ticket) {
            waiting.what = What::AwaitingRebuild;
        }
        state.drop_first_behind();
    }
    /// The settings that awaited a rebuild are visible to reads.
    pub fn rebuild_ended(&self) {
        let mut state = self.state.lock();
        state.not_visible.retain(|waiting| !waiting.what.awaits_rebuild());
    }
    /// Whether settings wait for a rebuild.
    pub fn awaits_rebuild(&self) -> bool {
        self.state.lock().not_visible.iter().any(|waiting| waiting.what.awaits_rebuild())
    }
    /// Log indices of settings that are not visible: what awaits a rebuild in a later process, too, when the files are not rebuilt.
    pub fn settings_waiting(&self) -> Vec<u64> {
        let state = self.state.lock();
        let is_settings = |waiting: &&Waiting| !matches!(waiting.what, What::Records | What::Behind);
        let settings = state.not_visible.iter().rev().filter(is_settings);
        let mut newest: Vec<u64> = settings.take(AWAITING_KEPT).map(|waiting| waiting.log_index).collect();
        newest.reverse();
        newest
    }
    /// The ticket of the newest work: while it stays, nothing was handed to the shard and its files are not given up.
    pub fn last_ticket(&self) -> u64 {
        self.state.lock().last_ticket
    }
    /// Everything through `ticket` is visible to reads of this node, except settings that await a rebuild.
    pub fn made_visible(&self, ticket: u64) {
        let mut state = self.state.lock();
        let end = state.not_visible.partition_point(|waiting| waiting.ticket <= ticket);
        let mut waiting: Vec<Waiting> = state.not_visible.drain(..end).collect();
        waiting.retain(|waiting| waiting.what.awaits_rebuild());
        for waiting in waiting.into_iter().rev() {
            state.not_visible.push_front(waiting);
        }
        state.drop_first_behind();
    }
    /// Everything through `ticket` and through `log_index` is durable in segment files.
    ///
    /// That may be long ago, when what was made durable is only a merge: what waits now began later, and the log before it
    /// may be cut already.
    pub fn flushed(&self, ticket: u64, log_index: u64) {
        let mut state = self.state.lock();
        let waits = state.unflushed.filter(|&(_, last)| last > ticket);
        state.unflushed = waits.map(|(first, last)| (first.max(log_index + 1), last));
    }
    /// The index is gone: nothing waits any more.
    pub fn abandon(&self) {
        let mut state = self.state.lock();
        *state = State { last_ticket: state.last_ticket + 1, ..State::default() };
    }
    /// Whether reads see the command at `log_index`, given that it was applied.
    pub fn is_visible(&self, log_index: u64) -> bool {
        self.state.lock().of_command(log_index).next().is_none()
    }
    /// As [`Self::is_visible`], leaving out settings that await a rebuild.
    pub fn records_are_visible(&self, log_index: u64) -> bool {
        let state = self.state.lock();
        state.of_command(log_index).all(|waiting| waiting.what.awaits_rebuild())
    }
    /// The largest log index through which everything of this shard is visible, apart from settings that await a rebuild;
    /// `None` = nothing else waits.
    pub fn records_visible_through(&self) -> Option<u64> {
        let state = self.state.lock();
        let first = state.not_visible.iter().find(|waiting| !waiting.what.awaits_rebuild());
        first.map(|waiting| waiting.log_index - 1)
    }
    /// As [`Self::records_visible_through`], with settings that await a rebuild.
    pub fn visible_through(&self) -> Option<u64> {
        self.state.lock().not_visible.iter().map(|waiting| waiting.log_index - 1).min()
    }
    /// The largest log index through which everything of this shard is durable; `None` = nothing waits.
    pub fn durable_through(&self) -> Option<u64> {
        self.state.lock().unflushed.map(|(first, _)| first - 1)
    }
    /// Notes that somebody waits until reads see everything through `log_index`. Returns whether that is news and they do
    /// not see it yet.
    pub fn wait_for(&self, log_index: u64) -> bool {
        let mut state = self.state.lock();
        let is_news = state.awaited < log_index;
        state.awaited = state.awaited.max(log_index);
        is_news && state.is_awaited()
    }
    /// Whether somebody waits for something that could be visible.
    pub fn is_awaited(&self) -> bool {
        self.state.lock().is_awaited()
    }
    /// Commands that are not visible yet.
    pub fn pending(&self) -> usize {
        self.state.lock().not_visible.len()
    }
}

impl State {
    /// What waits of the command at `log_index`. Cost: a binary search, beside a look at what an earlier process has left.
    fn of_command(&self, log_index: u64) -> impl Iterator<Item = &Waiting> {
        let is_resumed = |waiting: &&Waiting| waiting.what == What::Resumed;
        let resumed = self.not_visible.iter().take_while(is_resumed);
        let before = |waiting: &Waiting| waiting.what == What::Resumed || waiting.log_index < log_index;
        let from = self.not_visible.partition_point(before);
        let of_command = move |waiting: &&Waiting| waiting.log_index == log_index;
        resumed.filter(of_command).chain(self.not_visible.range(from..).take_while(of_command))
    }
    /// Drops what only followed work that is visible now.
    fn drop_first_behind(&mut self) {
        let is_work = |waiting: &Waiting| matches!(waiting.what, What::Records | What::Settings);
        let end = self.not_visible.iter().position(is_work).unwrap_or(self.not_visible.len());
        if self.not_visible.range(..end).any(|waiting| waiting.what == What::Behind) {
            let mut at = 0;
            self.not_visible.retain(|waiting| {
                at += 1;
                at > end || waiting.what != What::Behind
            });
        }
    }
    fn is_awaited(&self) -> bool {
        let first = self.not_visible.iter().find(|waiting| !waiting.what.awaits_rebuild());
        first.is_some_and(|waiting| waiting.log_index <= self.awaited)
    }
    fn enqueue(&mut self, log_index: u64, what: What) -> u64 {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        self.not_visible.push_back(Waiting { ticket, log_index, what });
        let first = self.unflushed.map_or(log_index, |(first, _)| first);
        self.unflushed = Some((first, ticket));
        ticket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_is_visible_with_what_came_before_it() {
        let progress = Progress::default();
        progress.follow(1);
        assert!(progress.is_visible(1) && progress.pending() == 0, "nothing came before it");
        let (first, second) = (progress.enqueue(2), progress.enqueue(3));
        progress.follow(4);
        let settings = progress.enqueue_settings(5);
        progress.follow(6);
        let third = progress.enqueue(7);
        assert_eq!((progress.pending(), progress.settings_waiting()), (6, vec![5]));
        progress.made_visible(first);
        assert!(!progress.is_visible(4) && !progress.records_are_visible(4));
        progress.made_visible(second);
        assert!(progress.is_visible(4) && !progress.is_visible(6));
        assert!(
            progress.wait_for(6) && progress.is_awaited(),
            "who waits for it waits for what is before it"
        );
        // it does not wait for files that are rebuilt
        progress.await_rebuild(settings);
        assert!(progress.is_visible(6) && !progress.is_visible(5));
        progress.follow(8);
        assert_eq!(progress.records_visible_through(), Some(6));
        progress.made_visible(third);
        assert!(progress.is_visible(8) && !progress.is_visible(5));
        progress.follow(9);
        assert!(progress.is_visible(9));
        assert_eq!(progress.durable_through(), Some(1), "nothing of it has to become durable in files");
        progress.rebuild_ended();
        assert_eq!((progress.pending(), progress.visible_through()), (0, None));
    }

    #[test]
    fn marks_move_forward_only_as_far_as_is_true() {
        let progress = Progress::default();
        assert_eq!((progress.records_visible_through(), progress.durable_through()), (None, None));
        let tickets = [5, 9, 12].map(|log_index| progress.enqueue(log_index));
        assert_eq!((progress.records_visible_through(), progress.durable_through()), (Some(4), Some(4)));
        progress.made_visible(tickets[1]);
        assert!(progress.is_visible(9) && progress.is_visible(6) && !progress.is_visible(12));
        assert_eq!(progress.records_visible_through(), Some(11));
        progress.flushed(tickets[1], 9);
        assert_eq!(progress.durable_through(), Some(9));
        progress.made_visible(tickets[2]);
        progress.flushed(tickets[2], 12);
        assert_eq!(
            (progress.records_visible_through(), progress.durable_through(), progress.pending()),
            (None, None, 0)
        );
    }

    #[test]
    fn what_is_durable_never_goes_back() {
        let progress = Progress::default();
        let early = progress.enqueue(5);
        progress.made_visible(early);
        progress.flushed(early, 5);
        assert_eq!(progress.durable_through(), None, "the log may be cut through whatever is applied");
        progress.enqueue(20);
        // segments of what came before it have been merged
        progress.flushed(early, 5);
        assert_eq!(progress.durable_through(), Some(19));
    }

    #[test]
    fn two_pieces_of_one_command_are_visible_only_together() {
        let progress = Progress::default();
        let (first, second) = (progress.enqueue(7), progress.enqueue(7));
        progress.made_visible(first);
        assert!(!progress.is_visible(7));
        progress.made_visible(second);
        assert!(progress.is_visible(7));
    }

    #[test]
    fn what_is_replayed_behind_settings_of_an_earlier_process_waits_to_be_visible() {
        let progress = Progress::default();
        progress.resume_awaiting_rebuild(20);
        progress.resume_awaiting_rebuild(21);
        let tickets = [10, 12, 15].map(|log_index| progress.enqueue(log_index));
        for log_index in [10, 12, 15, 20, 21] {
            assert!(!progress.is_visible(log_index), "{log_index}");
        }
        assert!(progress.is_visible(11) && progress.is_visible(16));
        assert!(!progress.records_are_visible(12) && progress.records_are_visible(21));
        assert_eq!((progress.records_visible_through(), progress.visible_through()), (Some(9), Some(9)));
        progress.made_visible(tickets[1]);
        assert!(progress.is_visible(12) && !progress.is_visible(15) && !progress.is_visible(20));
    }

    #[test]
    fn settings_that_await_a_rebuild_do_not_keep_later_writes_from_being_visible() {
        let progress = Progress::default();
        let before = progress.enqueue(3);
        let settings = progress.enqueue_settings(5);
        let after = progress.enqueue(6);
        progress.await_rebuild(settings);
        progress.made_visible(before);
        progress.flushed(after, 6);
        assert_eq!((progress.records_visible_through(), progress.durable_through()), (Some(5), None));
        progress.made_visible(after);
        assert!(progress.is_visible(3) && !progress.is_visible(5) && progress.is_visible(6));
        assert!(progress.records_are_visible(5) && progress.records_are_visible(6));
        assert_eq!((progress.records_visible_through(), progress.pending()), (None, 1));
        assert_eq!((progress.awaits_rebuild(), progress.settings_waiting()), (true, vec![5]));
        let last = progress.enqueue_settings(8);
        assert_eq!(progress.settings_waiting(), [5, 8]);
        assert!(!progress.records_are_visible(8));
        progress.rebuild_ended();
        assert!(progress.is_visible(5) && !progress.is_visible(8) && !progress.awaits_rebuild());
        progress.made_visible(last);
        progress.flushed(last, 8);
        progress.resume_awaiting_rebuild(2);
        assert!(!progress.is_visible(2) && progress.awaits_rebuild() && progress.durable_through().is_none());
    }
}
