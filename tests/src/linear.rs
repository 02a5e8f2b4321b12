//! Is there an order of everything that was done to one record that explains every answer?
//!
//! A search after Wing and Gong, remembering what led nowhere (Lowe), on a partial order: what the interface promises, no
//! more. Writes take effect between call and answer, each once, those without an answer once or never, at any time after
//! the call. A read shows the record as some number of writes left it: with all that a client had seen as `published`
//! before the read was called, none that was called after it was answered, and at one node never less than before.
//!
//! Testers that can be had ready made (stateright's) know one order, that of real time; a read that may lag until `published`
//! is none of theirs.
//!
//! Cost: some microseconds for an event of a history that can be explained; up to [`STEPS_MAX`] steps for one that cannot.

use std::collections::HashSet;
use std::fmt::Write as _;

/// Steps of a search at most; a history that needs more has too much at once in it.
const STEPS_MAX: u64 = 1_000_000;

/// A record, as far as the histories look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Unlike that of every other write.
    pub value: u64,
    /// How often it was counted up since it was put.
    pub count: u64,
}

/// The record; `None` while there is none.
pub type State = Option<Cell>;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The record was replaced, with a count of 0.
    Put {
        /// Its new value.
        value: u64,
    },
    /// The record was deleted.
    Delete,
    /// The count was raised by one, if there is a record (`Increment`).
    Add,
    /// The value was replaced and the count raised by one, if it was `from`; a record that is not there counts 0 and is
    /// made (`IncrementFrom`, C§3.5).
    Swap {
        /// What the count must be.
        from: u64,
        /// The new value.
        value: u64,
    },
    /// The record was read.
    Read {
        /// As this.
        found: State,
    },
}

/// One call on one record. Times are of one clock, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What was called.
    pub op: Op,
    /// The node that was called.
    pub node: usize,
    /// When.
    pub called: u64,
    /// When it was answered; `None`: it was not, or not with success. Then a write may still have been done.
    pub answered: Option<u64>,
    /// When a client saw that its task is published; `None`: nobody did.
    pub published: Option<u64>,
    /// Its task, which tells the search where to begin. Not needed, and not believed.
    pub task: Option<u64>,
}

impl Op {
    fn is_read(self) -> bool {
        match self {
            Op::Read { .. } => true,
            Op::Put { .. } | Op::Delete | Op::Add | Op::Swap { .. } => false,
        }
    }
    /// What a write makes of the record.
    fn after(self, state: State) -> State {
        match (self, state) {
            (Op::Put { value }, _) => Some(Cell { value, count: 0 }),
            (Op::Delete, _) => None,
            (Op::Add, Some(cell)) => Some(Cell { count: cell.count + 1, ..cell }),
            (Op::Swap { from: 0, value }, None) => Some(Cell { value, count: 1 }),
            (Op::Swap { from, value }, Some(cell)) if cell.count == from => {
                Some(Cell { value, count: from + 1 })
            }
            (Op::Add | Op::Swap { .. } | Op::Read { .. }, state) => state,
        }
    }
}

impl Event {
    /// Whether this event comes before another one in every order that is allowed.
    fn precedes(&self, later: &Event) -> bool {
        let before = |end: Option<u64>| end.is_some_and(|end| end < later.called);
        match (self.op.is_read(), later.op.is_read()) {
            (false, false) | (true, false) => before(self.answered),
            (false, true) => before(self.published),
            (true, true) => self.node == later.node && before(self.answered),
        }
    }
    /// Whether it must stand in the order: a write without an answer need not, a read without one says nothing.
    fn is_needed(&self) -> bool {
        self.answered.is_some()
    }
}

/// Why a history cannot be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unexplained {
    /// No order gives these answers.
    #[error("no order of the writes explains what was read:\n{0}")]
    No(String),
    /// The search was given up.
    #[error("too much at once to tell whether it can be explained:\n{0}")]
    TooEntangled(String),
}

/// Looks for an order that explains the history of one record, which was not there at first.
pub fn explain(events: &[Event]) -> Result<(), Unexplained> {
    let mut events: Vec<Event> =
        events.iter().copied().filter(|event| event.is_needed() || !event.op.is_read()).collect();
    // an order in which the search most likely needs no second thought
    events.sort_by_key(|event| (event.task.unwrap_or(u64::MAX), event.called));
    let mut search = Search::new(&events);
    match search.run() {
        Found::Yes => Ok(()),
        Found::No => Err(Unexplained::No(show(&events))),
        Found::GaveUp => Err(Unexplained::TooEntangled(show(&events))),
    }
}

/// Looks whether the ids of tasks follow the order in which writes followed each other. Errors: the first two that do not.
pub fn tasks_follow_time(events: &[Event]) -> Result<(), String> {
    let mut writes: Vec<(u64, u64, u64)> =
        events.iter().filter_map(|event| Some((event.task?, event.called, event.answered?))).collect();
    writes.sort_unstable();
    let mut latest_call = (0, 0);
    for (task, called, answered) in writes {
        if answered < latest_call.0 {
            return Err(format!(
                "task {task} was answered at {answered}, before task {} was called at {}",
                latest_call.1, latest_call.0
            ));
        }
        latest_call = latest_call.max((called, task));
    }
    Ok(())
}

enum Found {
    Yes,
    No,
    GaveUp,
}

struct Search<'e> {
    events: &'e [Event],
    /// For each event those that come after it in any order.
    after: Vec<Vec<usize>>,
    /// For each event how many that come before it are not in the order yet.
    waits_for: Vec<usize>,
    /// One bit for each event that is in the order.
    done: Vec<u64>,
    needed: usize,
    seen: HashSet<(Vec<u64>, State)>,
    steps: u64,
}

impl<'e> Search<'e> {
    fn new(events: &'e [Event]) -> Self {
        let mut after = vec![vec![]; events.len()];
        let mut waits_for = vec![0; events.len()];
        for (first, event) in events.iter().enumerate() {
            for (second, later) in events.iter().enumerate() {
                if first != second && event.precedes(later) {
                    after[first].push(second);
                    waits_for[second] += 1;
                }
            }
        }
        Search {
            events,
            after,
            waits_for,
            done: vec![0; events.len().div_ceil(64)],
            needed: events.iter().filter(|event| event.is_needed()).count(),
            seen: HashSet::new(),
            steps: 0,
        }
    }

    /// Goes down one order and back where it does not end: what was taken is remembered on the way.
    fn run(&mut self) -> Found {
        struct Frame {
            state: State,
            /// Taken when the frame was entered: one write and the reads that fit after it.
            taken: Vec<usize>,
            /// The next write to try.
            next: usize,
        }
        let reads = self.take_reads(None);
        let mut frames = vec![Frame { state: None, taken: reads, next: 0 }];
        while let Some(frame) = frames.last_mut() {
            if self.needed == 0 {
                return Found::Yes;
            }
            let candidate =
                (frame.next..self.events.len()).find(|&at| self.is_open(at) && !self.events[at].op.is_read());
            let Some(write) = candidate else {
                for at in frames.pop().map(|frame| frame.taken).unwrap_or_default().into_iter().rev() {
                    self.put_back(at);
                }
                continue;
            };
            frame.next = write + 1;
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return Found::GaveUp;
            }
            let state = self.events[write].op.after(frame.state);
            self.take(write);
            let mut taken = vec![write];
            taken.extend(self.take_reads(state));
            if self.seen.insert((self.done.clone(), state)) {
                frames.push(Frame { state, taken, next: 0 });
            } else {
                taken.into_iter().rev().for_each(|at| self.put_back(at));
            }
        }
        Found::No
    }

    /// Takes every read that may come now and fits: it changes nothing, so taking it later would gain nothing.
    fn take_reads(&mut self, state: State) -> Vec<usize> {
        let mut taken = vec![];
        loop {
            let fits = |at: &usize| self.is_open(*at) && self.events[*at].op == Op::Read { found: state };
            let Some(at) = (0..self.events.len()).find(fits) else { return taken };
            self.take(at);
            taken.push(at);
        }
    }
    fn is_open(&self, at: usize) -> bool {
        self.waits_for[at] == 0 && self.done[at / 64] & (1 << (at % 64)) == 0
    }
    fn take(&mut self, at: usize) {
        self.done[at / 64] |= 1 << (at % 64);
        self.needed -= usize::from(self.events[at].is_needed());
        for &later in &self.after[at] {
            self.waits_for[later] -= 1;
        }
    }
    fn put_back(&mut self, at: usize) {
        self.done[at / 64] &= !(1 << (at % 64));
        self.needed += usize::from(self.events[at].is_needed());
        for &later in &self.after[at] {
            self.waits_for[later] += 1;
        }
    }
}

/// The history for people, in the order of the calls.
fn show(events: &[Event]) -> String {
    let mut events: Vec<&Event> = events.iter().collect();
    events.sort_by_key(|event| event.called);
    let mut text = String::new();
    for Event { op, node, called, answered, published, task } in events {
        let at = |time: &Option<u64>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
        let task = task.map_or_else(String::new, |task| format!(" task {task}"));
        writeln!(text, "  {called}..{} node {node} {op:?}, published {}{task}", at(answered), at(published))
            .expect("writing to a string");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `put 3 1..2 p5` = the value 3, called at 1, answered at 2, seen as published at 5. Without an answer `1..`. Reads:
    /// `read 3/0 6..7 n1` = value 3 and count 0 at node 1; `read - …` = no record.
    fn event(text: &str) -> Event {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |text: &str| text.parse::<u64>().unwrap();
        let (op, rest) = match words[0] {
            "put" => (Op::Put { value: number(words[1]) }, &words[2..]),
            "delete" => (Op::Delete, &words[1..]),
            "add" => (Op::Add, &words[1..]),
            "swap" => {
                let (from, value) = words[1].split_once('>').unwrap();
                (Op::Swap { from: number(from), value: number(value) }, &words[2..])
            }
            "read" => {
                let cell = |(value, count)| Cell { value: number(value), count: number(count) };
                (Op::Read { found: words[1].split_once('/').map(cell) }, &words[2..])
            }
            other => panic!("{other}"),
        };
        let (called, answered) = rest[0].split_once("..").unwrap();
        let marked = |mark: char| rest[1..].iter().find_map(|word| word.strip_prefix(mark)).map(number);
        Event {
            op,
            node: marked('n').unwrap_or(0) as usize,
            called: number(called),
            answered: (!answered.is_empty()).then(|| number(answered)),
            published: marked('p'),
            task: marked('t'),
        }
    }
    fn history(text: &str) -> Vec<Event> {
        text.split("; ").map(event).collect()
    }

    #[test]
    fn what_the_interface_promises_is_explained_and_nothing_else() {
        let cases = [
            ("put 1 1..2 p3; read 1/0 4..5", true),
            // published, and not there: at any node
            ("put 1 1..2 p3; read - 4..5", false),
            ("put 1 1..2 p3; read - 4..5 n2", false),
            // answered is not published
            ("put 1 1..2; read - 4..5; read 1/0 6..7", true),
            ("put 1 1..2 p9; read - 4..5; read 1/0 6..7 n1; read - 6..7 n2", true),
            // one node never goes back, two may differ
            ("put 1 1..2; read 1/0 3..4 n1; read - 5..6 n1", false),
            ("put 1 1..2; read 1/0 3..4 n1; read - 5..6 n2", true),
            ("put 1 1..2; read 1/0 3..6 n1; read - 5..7 n1", true),
            // nothing is shown before it is written, and nothing else than what was
            ("read 1/0 1..2; put 1 3..4", false),
            ("put 1 3..4 p5; read 2/0 6..7", false),
            // a write without an answer is done once, late, or never
            ("put 1 1..2 p3; put 2 4..; read 1/0 5..6; read 2/0 7..8", true),
            ("put 1 1..2 p3; put 2 4..; read 1/0 9..10", true),
            ("put 1 1..2 p3; put 2 4..; read 2/0 5..6; read 1/0 7..8", false),
            ("put 1 1..2; put 2 3..; put 3 5..6 p7; read 3/0 8..9; read 2/0 10..11", true),
            ("put 1 1..2; put 2 3..; put 3 5..6 p7; read 3/0 8..9; read 2/0 10..11; read 3/0 12..13", false),
            // counted once when answered, at most once when not
            ("put 1 1..2; add 3..4 p5; read 1/1 6..7", true),
            ("put 1 1..2; add 3..4 p5; read 1/2 6..7", false),
            ("put 1 1..2; add 3..4 p5; read 1/0 6..7", false),
            ("put 1 1..2 p3; add 4..; add 4..; read 1/2 6..7", true),
            ("put 1 1..2 p3; add 4..; add 4..; read 1/3 6..7", false),
            ("add 1..2 p3; read - 4..5", true),
            // of two that count from the same number one does
            ("put 1 1..2; swap 0>5 3..4; swap 0>6 3..4 p5; read 5/1 6..7", true),
            ("put 1 1..2; swap 0>5 3..4; swap 0>6 3..4 p5; read 6/1 6..7", true),
            ("put 1 1..2; swap 0>5 3..4 p5; swap 0>6 3..4 p5; read 6/2 6..7", false),
            ("put 1 1..2; swap 0>5 3..4; swap 0>6 5..6 p7; read 6/1 8..9", false),
            ("put 1 1..2; swap 0>5 3..4; swap 1>6 5..6 p7; read 6/2 8..9", true),
            ("swap 0>5 1..2 p3; read 5/1 4..5", true),
            ("swap 1>5 1..2 p3; read - 4..5", true),
            ("put 1 1..2; delete 3..4 p5; read - 6..7; read 1/0 6..7", false),
            // writes that follow each other keep their order
            ("put 1 1..2; put 2 3..4 p5; read 1/0 6..7", false),
            ("put 1 1..4; put 2 3..5 p6; read 1/0 7..8", true),
            ("read 2/0 8..9 n1; put 1 1..4; put 2 3..5 p6; read 1/0 7..8 n2", true),
        ];
        for (text, is_explained) in cases {
            let found = explain(&history(text));
            assert_eq!(found.is_ok(), is_explained, "{text}: {found:?}");
        }
    }

    #[test]
    fn long_histories_take_little_time_and_one_wrong_answer_among_them_is_found() {
        // eight clients, each write answered and seen as published, reads of other nodes between
        let mut events = vec![];
        for number in 0..200_u64 {
            let at = number * 10;
            let (called, answered, published) = (at, Some(at + 25), Some(at + 45));
            let op = Op::Put { value: number };
            events.push(Event { op, node: 0, called, answered, published, task: Some(number) });
            if let Some(value) = number.checked_sub(3) {
                let op = Op::Read { found: Some(Cell { value, count: 0 }) };
                let node = (number % 3) as usize;
                let (called, answered) = (at + 1, Some(at + 3));
                events.push(Event { op, node, called, answered, published: None, task: None });
            }
        }
        assert_eq!(explain(&events), Ok(()));
        for event in &mut events {
            event.task = None;
        }
        assert_eq!(explain(&events), Ok(()), "without the help of task ids");
        let stale = Op::Read { found: Some(Cell { value: 100, count: 0 }) };
        let late =
            Event { op: stale, node: 1, called: 1_900, answered: Some(1_901), published: None, task: None };
        events.push(late);
        assert!(explain(&events).is_err());
    }

    #[test]
    fn tasks_are_numbered_as_they_followed_each_other() {
        for (text, is_right) in [
            ("put 1 1..2 t5; put 2 3..4 t6", true),
            ("put 1 1..2 t6; put 2 3..4 t5", false),
            ("put 1 1..4 t6; put 2 3..5 t5", true),
            ("put 1 1..2 t7; put 2 1..9 t6; put 3 3..4 t5", false),
        ] {
            assert_eq!(tasks_follow_time(&history(text)).is_ok(), is_right, "{text}");
        }
    }
}
