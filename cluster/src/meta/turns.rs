//! Whose turn is it, that of copies of indices or that of moves of users?
//!
//! No copy begins while a user's writes wait, and nobody's writes begin to wait while a copy is under way: a move that writes
//! wait for must not wait for a copy. Without more, one side would never get to it while the other one goes on without a
//! break. So who is refused notes that it waits, and from then on the other side begins nothing new: what is under way ends,
//! and the one who waits has its turn, which takes the note away.
//!
//! Who waits repeats its command; a note that was not repeated lapses, since its writer may have died. It lapses by the log,
//! which the refused ones of the other side move on: clocks differ.

use super::rows::{Row, RowChange, StateTable};
use super::{At, MetaState};
use serde::{Deserialize, Serialize};

/// Entries of the meta log after which a note that was not repeated is worth nothing.
const LAPSES_AFTER: u64 = 64;

/// One of the two that exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// Copies of indices.
    Copies,
    /// Moves of users whose writes are about to wait.
    Moves,
}

/// The note of a side that waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Who waits.
    pub side: Side,
    /// The log index of the last command that said so.
    pub noted: u64,
}

/// The note, as one row.
const WAITING: u8 = b'w';

impl StateTable for Option<Waiting> {
    fn kinds(&self) -> &'static [u8] {
        &[WAITING]
    }
    fn hashed_as(&self) -> &'static str {
        "copies"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(self.iter().map(row))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        *self = Some(row.decoded()?);
        Some(())
    }
}

fn row(waiting: &Waiting) -> RowChange {
    RowChange::encoded(WAITING, b"", waiting)
}

impl MetaState {
    /// Whether a side might begin now, as far as this node knows. A note of the other side may have lapsed, so that who hears
    /// "no" for long should try all the same.
    pub fn may_begin(&self, side: Side) -> bool {
        !self.is_held_up(side) && self.waiting.is_none_or(|waiting| waiting.side == side)
    }
    fn is_held_up(&self, side: Side) -> bool {
        match side {
            Side::Copies => self.users.frozen > 0,
            Side::Moves => !self.reserved.is_empty(),
        }
    }
    /// What changes when a side begins. Errors: what changes when it may not.
    pub(super) fn take_turn(&mut self, at: At, side: Side) -> Result<Vec<RowChange>, Vec<RowChange>> {
        let counts = |waiting: &Waiting| at.log_index <= waiting.noted + LAPSES_AFTER;
        if self.waiting.filter(counts).is_some_and(|waiting| waiting.side != side) {
            return Err(vec![]);
        }
        if self.is_held_up(side) {
            let waiting = Waiting { side, noted: at.log_index };
            self.waiting = Some(waiting);
            return Err(vec![row(&waiting)]);
        }
        Ok(self.waiting.take().map(|_| RowChange::delete(WAITING, b"")).into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::GroupId;

    /// `freeze`, `thaw`, `copy`, `end`: two sides that begin and end; `N: ` before it is the log index. Then who waits, and
    /// which of them could begin.
    #[track_caller]
    fn check(script: &str, expected: &str) {
        let (mut state, mut log_index, mut copies, mut begun) = (MetaState::default(), 0, 0, vec![]);
        for word in script.split_whitespace() {
            if let Some(number) = word.strip_suffix(':') {
                log_index = number.parse::<u64>().expect("a number") - 1;
                continue;
            }
            log_index += 1;
            let at = At { log_index, time_ms: 0 };
            match word {
                "freeze" if state.take_turn(at, Side::Moves).is_ok() => {
                    state.users.frozen += 1;
                    begun.push("freeze");
                }
                "copy" if state.take_turn(at, Side::Copies).is_ok() => {
                    copies += 1;
                    state.reserved.add(copies, GroupId(1), None);
                    begun.push("copy");
                }
                "freeze" | "copy" => begun.push("-"),
                "thaw" => state.users.frozen -= 1,
                "end" => {
                    let first = *state.reserved.keys().next().expect("a copy");
                    state.reserved.remove(&first);
                }
                _ => panic!("{word}"),
            }
        }
        let waiting = state.waiting.map_or("nobody".into(), |it| format!("{:?} {}", it.side, it.noted));
        assert_eq!(format!("{} | {waiting}", begun.join(" ")), expected, "{script}");
    }

    #[test]
    fn neither_side_goes_on_without_a_break_while_the_other_one_waits() {
        for (script, expected) in [
            ("copy copy", "copy copy | nobody"),
            ("freeze freeze", "freeze freeze | nobody"),
            ("copy freeze", "copy - | Moves 2"),
            ("freeze copy", "freeze - | Copies 2"),
            // who waits lets nobody else begin
            ("copy freeze copy", "copy - - | Moves 2"),
            ("freeze copy freeze", "freeze - - | Copies 2"),
            // and has its turn when what was under way has ended
            ("copy freeze copy end freeze", "copy - - freeze | nobody"),
            ("freeze copy freeze thaw copy", "freeze - - copy | nobody"),
            ("copy freeze end copy", "copy - - | Moves 2"),
            // then it is the other one's turn
            ("copy freeze end freeze copy freeze thaw copy", "copy - freeze - - copy | nobody"),
            // who says it again keeps the note, who does not is taken for dead
            ("copy freeze 60: freeze 124: copy", "copy - - - | Moves 60"),
            ("copy freeze 60: freeze 125: copy", "copy - - copy | nobody"),
            ("freeze copy 66: freeze 67: freeze", "freeze - - freeze | nobody"),
        ] {
            check(script, expected);
        }
    }
}
