//! How much one peer may have worked on at once.

use parking_lot::Mutex;
use std::sync::Arc;

/// What is being worked on for one connection: requests that arrive, run, or whose answer waits to be sent.
#[derive(Debug, Default)]
pub struct Load {
    taken: Mutex<(usize, usize)>,
}

impl Load {
    /// Takes a place for a message of `bytes`; gives it back when the result is dropped.
    ///
    /// `None` when `count_max` places are taken, or when others are taken and the bytes together would be over
    /// `bytes_max`: one large message alone may pass.
    pub fn admit(self: &Arc<Self>, bytes: usize, count_max: usize, bytes_max: usize) -> Option<Admitted> {
        let mut taken = self.taken.lock();
        let is_over = taken.0 >= count_max || (taken.0 > 0 && taken.1 + bytes > bytes_max);
        if is_over {
            return None;
        }
        taken.0 += 1;
        taken.1 += bytes;
        Some(Admitted { load: self.clone(), bytes })
    }
}

/// A place among what is worked on.
#[derive(Debug)]
pub struct Admitted {
    load: Arc<Load>,
    bytes: usize,
}

impl Admitted {
    /// The request is gone, an answer of `bytes` is there instead.
    pub fn becomes(&mut self, bytes: usize) {
        let mut taken = self.load.taken.lock();
        taken.1 = taken.1 - self.bytes + bytes;
        self.bytes = bytes;
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut taken = self.load.taken.lock();
        taken.0 -= 1;
        taken.1 -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_and_bytes_are_bounded_and_given_back() {
        let load = Arc::new(Load::default());
        let mut large = load.admit(100, 3, 10).expect("one alone may be larger");
        assert!(load.admit(0, 3, 10).is_none(), "bytes are over the limit");
        large.becomes(4);
        let second = load.admit(6, 3, 10).expect("10 bytes together");
        assert!(load.admit(1, 3, 10).is_none(), "11 bytes together");
        let third = load.admit(0, 3, 10).expect("nothing more to keep");
        assert!(load.admit(0, 3, 10).is_none(), "three are taken");
        drop((large, second, third));
        assert_eq!(*load.taken.lock(), (0, 0));
    }
}
