//! Who holds how much of the memory that calls share?

use quorate_model::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory that all calls of a kind share, so that many large ones at a time cannot exhaust it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Room(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    what: &'static str,
    bytes: AtomicUsize,
    bytes_max: usize,
    /// What every call may hold, whatever the others do.
    each: usize,
}

/// What one call takes of it; given back when dropped.
#[derive(Debug)]
pub struct Taken {
    room: Room,
    bytes: usize,
}

impl Room {
    /// Room for `bytes_max` bytes of something, which the error of who finds none names.
    ///
    /// A call that holds no more than `each` is never refused: those who fill the room keep out nobody who is
    /// content with little. Connections bound how many such calls there are.
    pub fn new(what: &'static str, bytes_max: usize, each: usize) -> Self {
        Room(Arc::new(Shared { what, bytes: AtomicUsize::new(0), bytes_max, each }))
    }
    /// Starts with nothing taken.
    pub fn enter(&self) -> Taken {
        Taken { room: self.clone(), bytes: 0 }
    }
}

impl Taken {
    /// Takes more. Errors: `Unavailable` when there is none left; then nothing is taken.
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        let Shared { what, bytes: all, bytes_max, each } = &*self.room.0;
        let before = all.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > *bytes_max && self.bytes + bytes > *each {
            all.fetch_sub(bytes, Ordering::Relaxed);
            return Err(Error::unavailable(format!("too many {what} at a time")));
        }
        self.bytes += bytes;
        Ok(())
    }
}
impl Drop for Taken {
    fn drop(&mut self) {
        self.room.0.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::ErrorKind;

    #[test]
    fn room_is_given_back() {
        let room = Room::new("large bodies", 100, 0);
        let mut first = room.enter();
        assert!(first.grow(60).is_ok());
        assert_eq!(room.enter().grow(60).map_err(|error| error.kind), Err(ErrorKind::Unavailable));
        assert!(room.enter().grow(40).is_ok());
        drop(first);
        assert!(room.enter().grow(100).is_ok());
    }

    #[test]
    fn who_is_content_with_little_is_not_kept_out_and_who_is_refused_takes_nothing() {
        let room = Room::new("answers", 100, 10);
        let mut greedy = room.enter();
        assert!(greedy.grow(95).is_ok());
        assert!(room.enter().grow(11).is_err(), "there are 5 left");
        let small: Vec<Taken> = (0..20).map(|_| room.enter()).collect();
        for mut one in small {
            assert!(one.grow(10).is_ok() && one.grow(1).is_err());
        }
        let mut refused = room.enter();
        assert!(refused.grow(50).is_err() && refused.grow(5).is_ok());
        drop(greedy);
        assert!(refused.grow(90).is_ok(), "only what it got counts");
    }
}
