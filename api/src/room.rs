//! Who holds how much of the memory that calls share?
//!
//! A caller may hold as much as it leaves free: the first half of the room, the next a quarter, and so on, so that nobody fills it
//! alone and the last to come still finds some (dynamic thresholds: Choudhury and Hahne, "Dynamic queue length thresholds for
//! shared-memory packet switches", 1998, with a factor of one).

use parking_lot::Mutex;
use quorate_cluster::Payer;
use quorate_model::{Error, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory that all calls of a kind share, so that many large ones at a time cannot exhaust it. Cheap to copy: it is there as long as
/// the process, and a call that holds little touches nothing that others write to.
#[derive(Clone, Copy, Debug)]
pub struct Room(&'static Shared);

#[derive(Debug)]
struct Shared {
    what: &'static str,
    /// What is held in calls that hold more than each may.
    bytes: AtomicUsize,
    bytes_max: usize,
    /// What every call may hold, whatever the others do.
    each: usize,
    /// What callers hold in calls that hold more than that.
    by_payer: Mutex<HashMap<Payer, usize>>,
}

/// What one call takes of it; given back when dropped.
#[derive(Debug)]
pub struct Taken {
    room: Room,
    payer: Payer,
    /// What it may hold whatever the others do.
    each: usize,
    bytes: usize,
    /// Those of `bytes` that are charged to the room and to the payer: all or none.
    charged: usize,
}

impl Room {
    /// Room for `bytes_max` bytes of something, which the error of who finds none names.
    ///
    /// A call that holds no more than `each` is never refused, and not counted: those who fill the room keep out nobody who is
    /// content with little. Connections bound how many such calls there are.
    pub fn new(what: &'static str, bytes_max: usize, each: usize) -> Self {
        let (bytes, by_payer) = (AtomicUsize::new(0), Mutex::default());
        Room(Box::leak(Box::new(Shared { what, bytes, bytes_max, each, by_payer })))
    }
    /// What is taken of it.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }
    /// Starts with nothing taken, for a caller.
    pub fn enter(&self, payer: Payer) -> Taken {
        Taken { room: *self, payer, each: self.0.each, bytes: 0, charged: 0 }
    }
    /// The same for a call of which there may be many at a time on one connection: all that it holds is charged.
    pub fn enter_charged(&self, payer: Payer) -> Taken {
        let mut taken = self.enter(payer);
        taken.each = 0;
        taken
    }
}

impl Taken {
    /// What is taken.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
    /// Takes more. Errors: `Unavailable` when there is none left, or when its caller would hold more than is left; then nothing is
    /// taken. Cost: a lock and a look by the caller for more than what each may hold.
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        let Shared { what, bytes: all, bytes_max, by_payer, .. } = self.room.0;
        let wanted = self.bytes + bytes;
        if wanted <= self.each {
            self.bytes = wanted;
            return Ok(());
        }
        let more = wanted - self.charged;
        let mut by_payer = by_payer.lock();
        let own = by_payer.get(&self.payer).copied().unwrap_or(0) + more;
        let after = all.fetch_add(more, Ordering::Relaxed) + more;
        if bytes_max.checked_sub(after).is_none_or(|free| own > free) {
            all.fetch_sub(more, Ordering::Relaxed);
            return Err(Error::unavailable(format!("too many {what} at a time")));
        }
        by_payer.insert(self.payer, own);
        (self.bytes, self.charged) = (wanted, wanted);
        Ok(())
    }
}
impl Drop for Taken {
    fn drop(&mut self) {
        if self.charged == 0 {
            return;
        }
        let Shared { bytes, by_payer, .. } = self.room.0;
        bytes.fetch_sub(self.charged, Ordering::Relaxed);
        let mut by_payer = by_payer.lock();
        if let Some(own) = by_payer.get_mut(&self.payer) {
            *own -= self.charged;
            if *own == 0 {
                by_payer.remove(&self.payer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::ErrorKind;

    fn payer(number: u64) -> Payer {
        Payer { key: 0, address: number }
    }

    #[test]
    fn room_is_given_back() {
        let room = Room::new("large bodies", 100, 0);
        let mut first = room.enter(payer(1));
        assert!(first.grow(40).is_ok());
        assert_eq!(room.enter(payer(2)).grow(60).map_err(|error| error.kind), Err(ErrorKind::Unavailable));
        assert!(room.enter(payer(2)).grow(30).is_ok());
        drop(first);
        assert!(room.enter(payer(2)).grow(50).is_ok());
        assert!(room.0.by_payer.lock().is_empty(), "nobody is remembered");
    }

    #[test]
    fn a_caller_holds_no_more_than_it_leaves() {
        let room = Room::new("answers", 1_000, 0);
        let calls = |number: u64| -> Vec<Taken> {
            let call = || {
                let mut call = room.enter(payer(number));
                call.grow(10).is_ok().then_some(call)
            };
            std::iter::from_fn(call).collect()
        };
        let held: Vec<Vec<Taken>> = (0..4).map(calls).collect();
        let counts: Vec<usize> = held.iter().map(Vec::len).collect();
        assert_eq!(counts, [50, 25, 12, 6], "calls of each caller, in the order they came");
        assert!(calls(9).len() >= 3, "who comes last finds some");
        drop(held);
        assert_eq!(calls(9).len(), 50);
    }

    #[test]
    fn who_is_content_with_little_is_not_kept_out_and_who_is_refused_takes_nothing() {
        let room = Room::new("answers", 100, 10);
        let mut greedy = room.enter(payer(1));
        assert!(greedy.grow(51).is_err() && greedy.grow(50).is_ok());
        assert!(room.enter(payer(1)).grow(11).is_err(), "the caller holds half");
        assert!(room.enter(payer(2)).grow(26).is_err(), "another would hold more than is left");
        let small: Vec<Taken> = (0..20).map(|_| room.enter(payer(1))).collect();
        let mut small: Vec<Taken> = small
            .into_iter()
            .map(|mut one| {
                assert!(one.grow(10).is_ok() && one.grow(1).is_err());
                one
            })
            .collect();
        let mut refused = room.enter(payer(2));
        assert!(refused.grow(26).is_err() && refused.grow(5).is_ok());
        drop(greedy);
        small.truncate(1);
        assert!(refused.grow(30).is_ok(), "only what it got counts");
        assert_eq!(
            room.0.by_payer.lock().get(&payer(2)),
            Some(&35),
            "with what it had before it asked for much"
        );
    }
}
