//! Where in its group's log does a piece of work for a shard stand, and how far are the files of a shard?
//!
//! A command may hand several pieces to one shard, and a durable commit may fall between two of them. So places count the
//! steps of a command, too: a replay hands over exactly what the files lack.

use quorate_engine::index::Payload;

/// A place in the log of a group, of a piece of work or of the last one that files hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPlace {
    /// Log index of the command.
    pub log_index: u64,
    /// Which step of it; [`LogPlace::ALL`] of one that has a single step.
    pub step: u32,
}

impl LogPlace {
    /// The step that ends every command.
    pub const ALL: u32 = u32::MAX;

    /// The place at which the whole command is carried out.
    pub fn whole(log_index: u64) -> LogPlace {
        LogPlace { log_index, step: LogPlace::ALL }
    }
    /// What files hold that have this payload.
    pub fn of(payload: Payload) -> LogPlace {
        LogPlace { log_index: payload.applied, step: payload.step.unwrap_or(LogPlace::ALL) }
    }
    /// The payload of files that hold everything through here.
    pub fn payload(self, term: u64) -> Payload {
        Payload { applied: self.log_index, term, step: Some(self.step) }
    }
    /// The largest log index whose command is wholly carried out, as far as the place alone tells.
    pub fn through(self) -> u64 {
        if self.step == LogPlace::ALL { self.log_index } else { self.log_index - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_in_order_between_the_commands() {
        let step = |log_index, step| LogPlace { log_index, step };
        let places = [LogPlace::whole(0), step(7, 1), step(7, 2), LogPlace::whole(7), step(8, 1)];
        assert!(places.is_sorted());
        assert_eq!(places.map(LogPlace::through), [0, 6, 6, 7, 7]);
        for place in places {
            assert_eq!(LogPlace::of(place.payload(3)), place);
        }
        assert_eq!(LogPlace::of(Payload { applied: 7, term: 1, step: None }), LogPlace::whole(7));
    }
}
