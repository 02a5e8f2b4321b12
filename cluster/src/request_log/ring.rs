//! Which calls are in memory?

use super::{CALL_BYTES_MAX, CALLS_MAX, LoggedCall};
use std::collections::VecDeque;
use std::sync::Arc;

/// Reads a call of the bytes that it was noted as; nothing when they are none.
pub type ReadNoted = fn(&[u8]) -> Option<LoggedCall>;

/// A call as it is kept. Cheap to clone.
#[derive(Clone)]
pub(super) struct Kept {
    /// When it was answered, Unix milliseconds.
    pub time_ms: u64,
    pub bytes: Arc<Vec<u8>>,
    form: Form,
}
#[derive(Clone, Copy)]
enum Form {
    /// As somebody noted it, in his own form. Keys may be in it.
    Noted(ReadNoted),
    /// As files have it.
    Written,
}

impl Kept {
    /// As somebody has noted it.
    pub fn noted(time_ms: u64, bytes: Arc<Vec<u8>>, read: ReadNoted) -> Kept {
        Kept { time_ms, bytes, form: Form::Noted(read) }
    }
    /// As files have it.
    pub fn written(call: &LoggedCall) -> Kept {
        Kept { time_ms: call.time_ms, bytes: Arc::new(call.encode()), form: Form::Written }
    }
    /// From what a file holds, if that is a call.
    pub fn from_file(bytes: Vec<u8>) -> Option<Kept> {
        let time_ms = LoggedCall::decode(&bytes)?.time_ms;
        Some(Kept { time_ms, bytes: Arc::new(bytes), form: Form::Written })
    }
    /// The call, if it is one.
    pub fn read(&self) -> Option<LoggedCall> {
        match self.form {
            Form::Noted(read) => read(&self.bytes),
            Form::Written => LoggedCall::decode(&self.bytes),
        }
    }
    /// The call in the form of the files, unless it is to go or larger than any may be. `is_to_go` is told of one that had been noted
    /// only, so that no file has it.
    pub fn settled(&self, is_to_go: impl FnOnce(&LoggedCall, bool) -> bool) -> Option<Kept> {
        let is_new = matches!(self.form, Form::Noted(_));
        let call = self.read().filter(|call| !is_to_go(call, is_new))?;
        let settled = if is_new { Kept::written(&call) } else { self.clone() };
        Some(settled).filter(|kept| kept.bytes.len() <= CALL_BYTES_MAX)
    }
}

/// The calls in memory, the oldest first.
#[derive(Default)]
pub(super) struct Ring {
    pub calls: VecDeque<Kept>,
    /// How many there have been, but for those that [`Ring::settle`] has taken out.
    pub total: u64,
}

impl Ring {
    /// Gives the one that it pushes out.
    pub fn push(&mut self, call: Kept) -> Option<Kept> {
        let pushed_out = if self.calls.len() < CALLS_MAX { None } else { self.calls.pop_front() };
        self.calls.push_back(call);
        self.total += 1;
        pushed_out
    }
    /// Those that came behind the first `seen` and are still there.
    pub fn behind(&self, seen: u64) -> Vec<Kept> {
        let new = (self.total - seen).min(self.calls.len() as u64) as usize;
        self.calls.range(self.calls.len() - new..).cloned().collect()
    }
    /// Puts what became of calls where they were; nothing takes one out. `settled` were the last when `total` had been, and what has
    /// been pushed out meanwhile is passed over. Gives how many it has taken out.
    pub fn settle(&mut self, settled: &[Option<Kept>], total: u64) -> u64 {
        let (mut at, before) = (0, self.calls.len());
        let end = before.saturating_sub((self.total - total) as usize);
        self.calls.retain_mut(|call| {
            // the last of them is before `end`
            let changed = (at + settled.len()).checked_sub(end).and_then(|number| settled.get(number));
            at += 1;
            match changed {
                Some(Some(settled)) => *call = settled.clone(),
                Some(None) => return false,
                None => {}
            }
            true
        });
        let taken_out = (before - self.calls.len()) as u64;
        self.total -= taken_out;
        taken_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(ring: &Ring) -> Vec<u64> {
        ring.calls.iter().map(|call| call.time_ms).collect()
    }
    fn call(time_ms: u64) -> Kept {
        Kept::written(&LoggedCall { time_ms, ..LoggedCall::default() })
    }

    #[test]
    fn what_became_of_calls_is_put_where_they_are_however_many_came_meanwhile() {
        let most = CALLS_MAX as u64;
        for (first, seen, meanwhile) in [
            (3, 0, 0),
            (3, 1, 0),
            (3, 3, 2),
            (3, 1, 2),
            (most, 0, 0),
            (most, 0, 10),
            (most, most - 5, most - 3),
            (2 * most, most, most + 5),
            (most - 2, 5, 4),
        ] {
            let mut ring = Ring::default();
            (0..first).for_each(|number| drop(ring.push(call(number))));
            let (read, total) = (ring.behind(seen), ring.total);
            (first..first + meanwhile).for_each(|number| drop(ring.push(call(number))));
            let before = times(&ring);
            let settled =
                |kept: &Kept| (!kept.time_ms.is_multiple_of(3)).then(|| call(10_000 + kept.time_ms));
            let was_read = |time: &u64| read.iter().any(|kept| kept.time_ms == *time);
            let expected: Vec<u64> = before
                .iter()
                .filter(|time| !(was_read(time) && time.is_multiple_of(3)))
                .map(|time| time + if was_read(time) { 10_000 } else { 0 })
                .collect();
            let taken_out = ring.settle(&read.iter().map(settled).collect::<Vec<_>>(), total);
            assert_eq!(times(&ring), expected, "{first} {seen} {meanwhile}");
            assert_eq!(taken_out as usize, before.len() - expected.len());
            assert_eq!(ring.behind(total - taken_out).len(), meanwhile.min(most) as usize);
        }
    }
}
