//! What happens to the messages and requests of a peer that dialled this node.

use super::connection::{End, Sink, Source};
use super::frame::{Failure, Frame};
use super::frame_chunks::{Arrived, Assembly, Outgoing, Turns};
use super::load::{Admitted, Load};
use super::metrics::PeerCounters;
use super::node::Local;
use super::types::Lane;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use parking_lot::Mutex;
use quorate_model::{GroupId, NodeId};
use quorate_raft::PeerMessage;
use quorate_raft::messages::MessageKind;
use rustc_hash::FxHashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

/// Refusals that wait to be sent. A peer that goes on asking without reading them is cut off.
const REFUSALS_MAX: usize = 4_096;

/// Takes the consensus messages of a peer.
pub struct ConsensusIn<'l> {
    /// This node.
    pub local: &'l Local,
    /// The peer.
    pub from: NodeId,
}

impl Sink for ConsensusIn<'_> {
    fn take(&mut self, frame: Frame) -> Result<(), End> {
        let Frame::Consensus(encoded) = frame else {
            return Err(End::ProtocolError("it sent something else on the lane of consensus".into()));
        };
        let read = encoded.into_iter().map(|(group, bytes)| self.read(group, &bytes));
        let messages = read.collect::<Result<Vec<_>, End>>()?;
        self.local.handler.consensus(self.from, messages);
        Ok(())
    }
}

impl ConsensusIn<'_> {
    fn read(&self, group: GroupId, bytes: &[u8]) -> Result<(GroupId, PeerMessage), End> {
        let message = PeerMessage::decode(bytes).map_err(|error| End::ProtocolError(error.to_string()))?;
        let (from, to) = (NodeId(message.from), NodeId(message.to));
        // a member that does not lead any more passes questions on to the leader, who answers those who asked
        let may_be_passed_on = message.kind == MessageKind::ReadIndex;
        if (from != self.from && !may_be_passed_on) || to != self.local.node {
            return Err(End::ProtocolError(format!(
                "a message on its connection is from node {from} to node {to}"
            )));
        }
        Ok((group, message))
    }
}

/// The accepting side of a consensus connection sends nothing but pongs.
pub struct Quiet;
impl Source for Quiet {
    async fn ready(&self) {
        std::future::pending().await
    }
    fn fill(&self, _out: &mut BytesMut) {}
}

/// The answers that wait to be sent on one connection.
pub struct Answers {
    waiting: Mutex<(Vec<(u64, Failure)>, Turns)>,
    wake: Notify,
    counters: PeerCounters,
}

impl Answers {
    /// None yet.
    pub fn new(counters: PeerCounters) -> Self {
        Answers { waiting: Mutex::default(), wake: Notify::new(), counters }
    }
    fn answer(&self, id: u64, mut place: Admitted, answer: Bytes) {
        place.becomes(answer.len());
        self.waiting.lock().1.push(Outgoing::answer(id, answer, Some(place)));
        self.wake.notify_one();
    }
    fn refuse(&self, id: u64, failure: Failure) -> Result<(), End> {
        let mut waiting = self.waiting.lock();
        if waiting.0.len() >= REFUSALS_MAX {
            return Err(End::ProtocolError("it goes on asking and does not read what it is told".into()));
        }
        waiting.0.push((id, failure));
        drop(waiting);
        self.wake.notify_one();
        Ok(())
    }
}

impl Source for Answers {
    async fn ready(&self) {
        loop {
            {
                let waiting = self.waiting.lock();
                if !waiting.0.is_empty() || !waiting.1.is_empty() {
                    return;
                }
            }
            self.wake.notified().await;
        }
    }
    fn fill(&self, out: &mut BytesMut) {
        let (refusals, turns) = &mut *self.waiting.lock();
        for (id, failure) in refusals.drain(..) {
            Frame::Failure { id, failure }.put(out);
        }
        self.counters.request_frames.inc_by(turns.fill(out, |_| true));
    }
}

/// A request of which parts are still to come.
enum Coming {
    /// It will be worked on.
    Wanted { assembly: Assembly, place: Admitted, deadline: Instant },
    /// It was refused; so many bytes of it are still to come.
    Refused { rest: usize },
}

/// Takes the requests of a peer on one connection. What is being worked on ends with it.
pub struct RequestsIn {
    local: Arc<Local>,
    from: NodeId,
    lane: Lane,
    answers: Arc<Answers>,
    load: Arc<Load>,
    coming: FxHashMap<u64, Coming>,
    running: JoinSet<()>,
    by_id: FxHashMap<u64, AbortHandle>,
}

impl RequestsIn {
    /// Nothing has arrived yet.
    pub fn new(local: Arc<Local>, from: NodeId, lane: Lane, answers: Arc<Answers>) -> Self {
        RequestsIn {
            local,
            from,
            lane,
            answers,
            load: Arc::default(),
            coming: FxHashMap::default(),
            running: JoinSet::new(),
            by_id: FxHashMap::default(),
        }
    }

    fn begin(&mut self, id: u64, within: Duration, total: u32, part: Bytes) -> Result<(), End> {
        if self.coming.contains_key(&id) {
            return Err(End::ProtocolError(format!("request {id} begins twice")));
        }
        let limits = self.local.limits;
        let (bytes, came) = (total as usize, part.len());
        let place = match bytes > limits.message_bytes_max(self.lane) {
            true => Err(Failure::TooLarge),
            false => self
                .load
                .admit(bytes, limits.requests_at_once_max, limits.request_bytes_waiting_max)
                .ok_or(Failure::Busy),
        };
        let arrived = Assembly::begin(total, part)?;
        let place = match place {
            Ok(place) => place,
            Err(failure) => {
                self.answers.refuse(id, failure)?;
                if came < bytes {
                    self.refused(id, bytes - came)?;
                }
                return Ok(());
            }
        };
        let deadline = Instant::now() + within;
        match arrived {
            Arrived::Whole(request) => self.work(id, place, request, deadline),
            Arrived::Partly(assembly) => {
                self.coming.insert(id, Coming::Wanted { assembly, place, deadline });
            }
        }
        Ok(())
    }

    /// Notes that the rest of a request is to be passed over.
    fn refused(&mut self, id: u64, rest: usize) -> Result<(), End> {
        if self.coming.len() >= REFUSALS_MAX {
            return Err(End::ProtocolError("it began too many requests".into()));
        }
        self.coming.insert(id, Coming::Refused { rest });
        Ok(())
    }

    fn more(&mut self, id: u64, part: &[u8]) -> Result<(), End> {
        match self.coming.remove(&id) {
            None => Err(End::ProtocolError(format!("request {id} has no beginning"))),
            Some(Coming::Refused { rest }) => match rest.checked_sub(part.len()) {
                None => Err(End::ProtocolError(format!("request {id} is longer than it said"))),
                Some(0) => Ok(()),
                Some(rest) => self.refused(id, rest),
            },
            Some(Coming::Wanted { assembly, place, deadline }) => {
                match assembly.add(part)? {
                    Arrived::Whole(request) => self.work(id, place, request, deadline),
                    Arrived::Partly(assembly) => {
                        self.coming.insert(id, Coming::Wanted { assembly, place, deadline });
                    }
                }
                Ok(())
            }
        }
    }

    fn work(&mut self, id: u64, place: Admitted, request: Bytes, deadline: Instant) {
        while self.running.try_join_next().is_some() {}
        if self.by_id.len() > 2 * self.running.len() {
            self.by_id.retain(|_, task| !task.is_finished());
        }
        let (local, from, lane, answers) = (self.local.clone(), self.from, self.lane, self.answers.clone());
        let task = self.running.spawn(async move {
            // calling it may panic as well as waiting for it
            let asked = async { local.handler.request(from, lane, request).await };
            let answered = tokio::time::timeout_at(deadline.into(), AssertUnwindSafe(asked).catch_unwind()).await;
            let bytes_max = local.limits.message_bytes_max(lane);
            match answered {
                Ok(Ok(answer)) if answer.len() <= bytes_max => answers.answer(id, place, answer),
                Ok(Ok(answer)) => {
                    tracing::error!(%from, bytes = answer.len(), bytes_max, "an answer to a node is over its limit");
                    drop(answers.refuse(id, Failure::Broken));
                }
                Ok(Err(_)) => {
                    tracing::error!(%from, "a request of a node made this one panic");
                    drop(answers.refuse(id, Failure::Broken));
                }
                // nobody waits any more
                Err(_) => {}
            }
        });
        self.by_id.insert(id, task);
    }

    /// Ends the work on a request that nobody waits for any more.
    fn given_up(&mut self, id: u64) {
        self.coming.remove(&id);
        if let Some(task) = self.by_id.remove(&id) {
            task.abort();
        }
    }
}

impl Sink for RequestsIn {
    fn take(&mut self, frame: Frame) -> Result<(), End> {
        match frame {
            Frame::Request { id, within_ms, total, part } => {
                self.begin(id, Duration::from_millis(within_ms.into()), total, part)
            }
            Frame::RequestPart { id, part } => self.more(id, &part),
            Frame::GivenUp(id) => {
                self.given_up(id);
                Ok(())
            }
            Frame::Hello(_)
            | Frame::Refusal(_)
            | Frame::Ping(_)
            | Frame::Pong(_)
            | Frame::Consensus(_)
            | Frame::Answer { .. }
            | Frame::AnswerPart { .. }
            | Frame::Failure { .. } => {
                Err(End::ProtocolError("it sent what only the accepting side may".into()))
            }
        }
    }
}
