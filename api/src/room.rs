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
}

/// What one call takes of it; given back when dropped.
#[derive(Debug)]
pub struct Taken {
    room: Room,
    bytes: usize,
}

impl Room {
    /// Room for `bytes_max` bytes of something, which the error of who finds none names.
    pub fn new(what: &'static str, bytes_max: usize) -> Self {
        Room(Arc::new(Shared { what, bytes: AtomicUsize::new(0), bytes_max }))
    }
    /// Starts with nothing taken.
    pub fn enter(&self) -> Taken {
        Taken { room: self.clone(), bytes: 0 }
    }
}

impl Taken {
    /// Takes more. Errors: `Unavailable` when there is none left.
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        let Shared { what, bytes: all, bytes_max } = &*self.room.0;
        self.bytes += bytes;
        let before = all.fetch_add(bytes, Ordering::Relaxed);
        match before + bytes <= *bytes_max {
            true => Ok(()),
            false => Err(Error::unavailable(format!("too many {what} at a time"))),
        }
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
        let room = Room::new("large bodies", 100);
        let mut first = room.enter();
        assert!(first.grow(60).is_ok());
        assert_eq!(room.enter().grow(60).map_err(|error| error.kind), Err(ErrorKind::Unavailable));
        assert!(room.enter().grow(40).is_ok());
        drop(first);
        assert!(room.enter().grow(100).is_ok());
    }
}
