//! Which whole commands come out of a group's entries: chunks are held until the last one is there.

use crate::command::{Command, Entry, EntryError, is_cut, join};
use quorate_model::level;

/// A command as it is applied: at the place of its last chunk.
#[derive(Debug, PartialEq)]
pub struct Whole {
    /// Log index of its first chunk.
    pub first: u64,
    /// Unix milliseconds, given by the proposer.
    pub time_ms: u64,
    /// The command.
    pub command: Command,
}

/// The chunks of the one batch that may be under way in a group.
///
/// Chunks of a batch are proposed together and stand next to each other. If anything else follows a chunk, its leader
/// was deposed before the rest was appended: the batch was never answered and is forgotten.
#[derive(Debug)]
pub struct Staging {
    /// The newest commands that this node knows.
    known: u16,
    staged: Option<Staged>,
}

impl Default for Staging {
    fn default() -> Self {
        Staging::knowing(level::NEWEST)
    }
}

#[derive(Debug)]
struct Staged {
    first: u64,
    next: u64,
    time_ms: u64,
    chunks: u32,
    commands: Vec<Command>,
}

impl Staging {
    /// On a node that knows commands up to a level.
    pub fn knowing(known: u16) -> Self {
        Staging { known, staged: None }
    }
    /// The newest commands that this node knows.
    pub fn known(&self) -> u16 {
        self.known
    }
    /// Takes the entry at `log_index` and returns the command that is complete with it, if one is.
    pub fn take(&mut self, log_index: u64, data: &[u8]) -> Result<Option<Whole>, EntryError> {
        if data.is_empty() {
            self.staged = None;
            return Ok(None);
        }
        // an entry that cannot be read changes nothing: the chunks before it are still needed
        let Entry { time_ms, chunk, chunks, command } = Entry::decode(data, self.known)?;
        let staged = self.staged.take();
        if chunks <= 1 {
            return Ok(Some(Whole { first: log_index, time_ms, command }));
        }
        if matches!(&command, Command::Meta(command) if !is_cut(command)) {
            return Err(EntryError::Body("a command of the meta group in parts".into()));
        }
        let staged = match staged {
            Some(mut staged) if staged.is_next(log_index, time_ms, chunk, chunks) => {
                staged.commands.push(command);
                staged.next += 1;
                staged
            }
            Some(_) | None if chunk == 0 => {
                Staged { first: log_index, next: log_index + 1, time_ms, chunks, commands: vec![command] }
            }
            Some(_) | None => return Ok(None),
        };
        if staged.commands.len() < staged.chunks as usize {
            self.staged = Some(staged);
            return Ok(None);
        }
        let command = join(staged.commands);
        let command = command.ok_or_else(|| EntryError::Body("parts of several commands".into()))?;
        Ok(Some(Whole { first: staged.first, time_ms, command }))
    }

    /// Log index of the first chunk that waits; the log must be kept from there on.
    pub fn first(&self) -> Option<u64> {
        self.staged.as_ref().map(|staged| staged.first)
    }
}

impl Staged {
    fn is_next(&self, log_index: u64, time_ms: u64, chunk: u32, chunks: u32) -> bool {
        let expected = (self.next, self.time_ms, self.commands.len(), self.chunks);
        (log_index, time_ms, chunk as usize, chunks) == expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::MetaCommand;
    use quorate_model::RecordOp;
    use quorate_node::ops::IndexCommand;

    /// One entry: chunk `k` of `n` with a delete of the record named by its letter.
    fn chunk(batch: char, k: u32, n: u32) -> Vec<u8> {
        let ops = vec![RecordOp::Delete { object_id: format!("{batch}{k}") }];
        let command = Command::Index(IndexCommand::Records { index: 1, ops });
        Entry { time_ms: u64::from(u32::from(batch)), chunk: k, chunks: n, command }.encode()
    }
    fn entry(text: &str) -> Vec<u8> {
        let mut letters = text.chars();
        match (letters.next(), letters.next(), letters.next()) {
            (Some('-'), None, None) => vec![],
            (Some(batch), Some(k), Some(n)) => {
                chunk(batch, k.to_digit(10).expect("digit"), n.to_digit(10).expect("digit"))
            }
            _ => panic!("{text}"),
        }
    }

    #[test]
    fn a_batch_is_applied_at_its_last_part_or_not_at_all() {
        // entries from log index 1 on → "log index:records" of what is applied, and what must be kept at the end
        for (log, expected, first) in [
            ("a01", "1:a0", None),
            ("a02 a12", "2:a0a1", None),
            ("a02", "", Some(1)),
            ("x01 a03 a13", "1:x0", Some(2)),
            ("a03 a13 a23 b01", "3:a0a1a2 4:b0", None),
            ("a03 a13 b01 a23", "3:b0", None),
            ("a03 - a13 a23", "", None),
            ("a03 a13 b02 b12", "4:b0b1", None),
            ("a12 b01", "2:b0", None),
            ("a03 a23", "", None),
            ("a02 a02 a12", "3:a0a1", None),
            ("a02 b12", "", None),
            ("a02 a13 a12", "", None),
        ] {
            let (mut staging, mut applied) = (Staging::default(), vec![]);
            for (at, text) in log.split(' ').enumerate() {
                let whole = staging.take(at as u64 + 1, &entry(text)).expect("own bytes");
                if let Some(Whole { command: Command::Index(IndexCommand::Records { ops, .. }), .. }) = whole
                {
                    let ids = ops.iter().map(|op| match op {
                        RecordOp::Delete { object_id } => object_id.as_str(),
                        other => panic!("{other:?}"),
                    });
                    applied.push(format!("{}:{}", at + 1, ids.collect::<String>()));
                }
            }
            assert_eq!((applied.join(" ").as_str(), staging.first()), (expected, first), "{log}");
        }
    }

    #[test]
    fn replay_from_the_first_part_gives_the_same_command() {
        let log: Vec<_> = "x01 a03 a13 a23".split(' ').map(entry).collect();
        let last = |from: usize| {
            let mut staging = Staging::default();
            let take = |(at, data): (usize, &Vec<u8>)| staging.take(at as u64 + 1, data).expect("own bytes");
            log.iter().enumerate().skip(from).map(take).last().flatten()
        };
        assert!(last(0).is_some());
        assert_eq!(last(0), last(1));
        assert_eq!(last(2), None);
    }

    #[test]
    fn meta_commands_that_are_small_are_never_cut() {
        let command = Command::Meta(MetaCommand::StartNode);
        let data = Entry { time_ms: 1, chunk: 0, chunks: 2, command }.encode();
        assert!(Staging::default().take(1, &data).is_err());
    }
}
