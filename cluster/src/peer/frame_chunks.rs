//! How requests and answers are cut into parts for the wire, and put together again.

use super::frame::{Frame, PART_BYTES, ProtocolError};
use super::load::Admitted;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::time::Instant;

/// Bytes that are gathered before they are written.
const FILL_BYTES: usize = 2 * PART_BYTES;

/// What is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A request, and when the asker stops waiting.
    Request(Instant),
    Answer,
}

/// A request or answer on its way out.
pub struct Outgoing {
    /// The request's number.
    pub id: u64,
    kind: Kind,
    rest: Bytes,
    total: usize,
    has_begun: bool,
    /// Held until the answer is sent or given up.
    _place: Option<Admitted>,
}

impl Outgoing {
    /// A request, of which the asker stops waiting at `deadline`.
    pub fn request(id: u64, bytes: Bytes, deadline: Instant) -> Self {
        Self::new(id, Kind::Request(deadline), bytes, None)
    }
    /// An answer, and the place its request took.
    pub fn answer(id: u64, bytes: Bytes, place: Option<Admitted>) -> Self {
        Self::new(id, Kind::Answer, bytes, place)
    }
    fn new(id: u64, kind: Kind, bytes: Bytes, place: Option<Admitted>) -> Self {
        Outgoing { id, kind, total: bytes.len(), rest: bytes, has_begun: false, _place: place }
    }
    /// Whether a part has been sent.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }
    /// Bytes of all parts.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Takes the next part off as a frame.
    fn next(&mut self) -> Frame {
        let part = self.rest.split_to(self.rest.len().min(PART_BYTES));
        let (id, total) = (self.id, self.total as u32);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        match (self.kind, is_first) {
            (Kind::Request(deadline), true) => {
                let within = deadline.saturating_duration_since(Instant::now());
                let within_ms = u32::try_from(within.as_millis()).unwrap_or(u32::MAX);
                Frame::Request { id, within_ms, total, part }
            }
            (Kind::Request(_), false) => Frame::RequestPart { id, part },
            (Kind::Answer, true) => Frame::Answer { id, total, part },
            (Kind::Answer, false) => Frame::AnswerPart { id, part },
        }
    }
}

/// What waits to be sent on one connection. Takes turns: a short message passes a long one after one part of it.
#[derive(Default)]
pub struct Turns {
    waiting: VecDeque<Outgoing>,
    bytes: usize,
}

impl Turns {
    /// Appends a message.
    pub fn push(&mut self, message: Outgoing) {
        self.bytes += message.total;
        self.waiting.push_back(message);
    }
    /// Messages that are not sent completely.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }
    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
    /// Their bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
    /// Lets go of those that `keep` refuses.
    pub fn retain(&mut self, mut keep: impl FnMut(&Outgoing) -> bool) {
        self.waiting.retain(|message| keep(message));
        self.bytes = self.waiting.iter().map(Outgoing::total).sum();
    }
    /// Appends parts as frames until there are enough for one write, and returns how many. `begins` is asked before the
    /// first part of a message and may refuse it.
    pub fn fill(&mut self, out: &mut BytesMut, mut begins: impl FnMut(u64) -> bool) -> u64 {
        let mut frames = 0;
        while out.len() < FILL_BYTES
            && let Some(mut message) = self.waiting.pop_front()
        {
            let is_sent = (message.has_begun || begins(message.id)) && {
                message.next().put(out);
                frames += 1;
                true
            };
            if is_sent && !message.rest.is_empty() {
                self.waiting.push_back(message);
            } else {
                self.bytes -= message.total;
            }
        }
        frames
    }
}

/// What arrived of a message.
#[derive(Debug)]
pub enum Arrived {
    /// All of it.
    Whole(Bytes),
    /// A beginning.
    Partly(Assembly),
}

/// A message of which parts have arrived. Holds no more than what came.
#[derive(Debug)]
pub struct Assembly {
    bytes: BytesMut,
    total: usize,
}

impl Assembly {
    /// Takes the first part. Errors: it is larger than all parts together, or empty although there are others.
    pub fn begin(total: u32, part: Bytes) -> Result<Arrived, ProtocolError> {
        let total = total as usize;
        if part.len() == total {
            return Ok(Arrived::Whole(part));
        }
        let empty = Assembly { bytes: BytesMut::new(), total };
        empty.add(&part)
    }
    /// Takes a further part. Errors: as for [`Assembly::begin`].
    pub fn add(mut self, part: &[u8]) -> Result<Arrived, ProtocolError> {
        if part.is_empty() || self.bytes.len() + part.len() > self.total {
            let (came, total) = (self.bytes.len() + part.len(), self.total);
            return Err(ProtocolError(format!("a part brings a message of {total} bytes to {came}")));
        }
        self.bytes.extend_from_slice(part);
        match self.bytes.len() == self.total {
            true => Ok(Arrived::Whole(self.bytes.freeze())),
            false => Ok(Arrived::Partly(self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn frames(out: BytesMut) -> Vec<Frame> {
        let mut all = out.freeze();
        let mut frames = vec![];
        while !all.is_empty() {
            let length = u32::from_le_bytes(all.split_to(4).as_ref().try_into().unwrap()) as usize;
            frames.push(Frame::read(all.split_to(length)).unwrap());
        }
        frames
    }

    #[test]
    fn long_messages_take_turns_and_come_together_again() {
        let mut turns = Turns::default();
        let lengths = [5 * PART_BYTES + 1, 0, 3, PART_BYTES, 2 * PART_BYTES];
        let bodies: BTreeMap<u64, Bytes> =
            (1..).zip(lengths).map(|(id, length)| (id, Bytes::from(vec![id as u8; length]))).collect();
        for (&id, body) in &bodies {
            turns.push(Outgoing::answer(id, body.clone(), None));
        }
        let mut parts = BTreeMap::new();
        let mut finished = vec![];
        let mut whole = BTreeMap::new();
        while !turns.is_empty() {
            let mut out = BytesMut::new();
            turns.fill(&mut out, |_| true);
            assert!(out.len() <= FILL_BYTES + PART_BYTES + 64, "{}", out.len());
            for frame in frames(out) {
                let (id, arrived) = match frame {
                    Frame::Answer { id, total, part } => (id, Assembly::begin(total, part)),
                    Frame::AnswerPart { id, part } => {
                        let assembly: Assembly = parts.remove(&id).unwrap();
                        (id, assembly.add(&part))
                    }
                    other => panic!("{other:?}"),
                };
                match arrived.unwrap() {
                    Arrived::Whole(bytes) => {
                        finished.push(id);
                        whole.insert(id, bytes);
                    }
                    Arrived::Partly(assembly) => drop(parts.insert(id, assembly)),
                }
            }
        }
        assert_eq!(whole, bodies);
        assert_eq!(finished, [2, 3, 4, 5, 1], "the long one is last although it came first");
        assert_eq!(turns.bytes(), 0);
    }

    #[test]
    fn a_request_nobody_waits_for_is_not_sent() {
        let mut turns = Turns::default();
        let deadline = Instant::now();
        for id in 1..=3 {
            turns.push(Outgoing::request(id, Bytes::from_static(b"x"), deadline));
        }
        turns.retain(|message| message.id != 3);
        assert_eq!((turns.len(), turns.bytes()), (2, 2));
        let mut out = BytesMut::new();
        assert_eq!(turns.fill(&mut out, |id| id != 1), 1);
        let part = Bytes::from_static(b"x");
        assert_eq!(frames(out), [Frame::Request { id: 2, within_ms: 0, total: 1, part }]);
        assert_eq!((turns.len(), turns.bytes()), (0, 0));
    }

    #[test]
    fn parts_that_do_not_add_up_are_refused() {
        let begin = |total, part: &'static [u8]| Assembly::begin(total, Bytes::from_static(part));
        assert!(matches!(begin(0, b""), Ok(Arrived::Whole(_))));
        assert!(begin(1, b"").is_err(), "an empty first part");
        assert!(begin(1, b"ab").is_err(), "more than all");
        let Ok(Arrived::Partly(assembly)) = begin(3, b"ab") else { panic!("a beginning") };
        assert!(assembly.add(b"").is_err(), "an empty part");
        let Ok(Arrived::Partly(assembly)) = begin(3, b"ab") else { panic!("a beginning") };
        assert!(assembly.add(b"cd").is_err(), "more than all");
        let Ok(Arrived::Partly(assembly)) = begin(u32::MAX, b"a") else { panic!("a beginning") };
        assert!(assembly.bytes.capacity() < 1_024, "a claim does not allocate");
    }
}
