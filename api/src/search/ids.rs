//! What do events name a search by?

use quorate_model::event::QueryId;
use std::cell::RefCell;

/// Ids that are made at a time: asking the system for random bytes takes longer than all else that an id costs.
const AT_A_TIME: usize = 64;
const ID_BYTES: usize = 16;

/// An id that no other search has. Cost: a system call for every 64th one of a thread.
pub fn new() -> QueryId {
    thread_local! {
        static MADE: RefCell<Vec<[u8; ID_BYTES]>> = const { RefCell::new(Vec::new()) };
    }
    MADE.with_borrow_mut(|made| {
        let id = made.pop().unwrap_or_else(|| {
            let mut bytes = [0; ID_BYTES * AT_A_TIME];
            getrandom::fill(&mut bytes).expect("the operating system has random numbers");
            made.extend_from_slice(bytes.as_chunks().0);
            made.pop().expect("some were made")
        });
        QueryId(u128::from_le_bytes(id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_searches_have_one_id() {
        let of_thread = || std::iter::repeat_with(new).take(3 * AT_A_TIME).collect::<Vec<_>>();
        let other = std::thread::spawn(of_thread);
        let all: BTreeSet<QueryId> = of_thread().into_iter().chain(other.join().expect("ids")).collect();
        assert_eq!(all.len(), 6 * AT_A_TIME);
    }
}
