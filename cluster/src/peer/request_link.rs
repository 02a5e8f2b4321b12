//! Which requests wait to be sent to a peer, and who waits for which answer.

use super::connection::{End, Sink, Source};
use super::frame::{Failure, Frame};
use super::frame_chunks::{Arrived, Assembly, Outgoing, Turns};
use super::link::{Link, LinkError};
use super::metrics::PeerCounters;
use super::types::{Lane, LaneStatus, PeerError, PeerLimits, PeerVersion};
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::time::Instant;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

type Answered = Result<Bytes, PeerError>;

/// The requests for one peer on one lane.
pub struct RequestLink {
    lane: Lane,
    inner: Mutex<Inner>,
    wake: Notify,
    limits: PeerLimits,
    counters: PeerCounters,
}

#[derive(Default)]
struct Inner {
    turns: Turns,
    waiting: FxHashMap<u64, Waiting>,
    last_id: u64,
    is_connected: bool,
    /// Whether the peer wants to hear who waits no more.
    tells: bool,
    /// Requests that it has and nobody waits for, still to be told.
    given_up: Vec<u64>,
    /// Why the last attempt to connect failed a moment ago.
    link_error: Option<LinkError>,
}

/// Somebody who waits for an answer.
struct Waiting {
    reply: oneshot::Sender<Answered>,
    is_sent: bool,
    answer: Option<Assembly>,
}

impl PeerLimits {
    /// Bytes of one request or answer on `lane`.
    pub(super) fn message_bytes_max(&self, lane: Lane) -> usize {
        match lane {
            Lane::Consensus => 0,
            Lane::Requests => self.request_bytes_max,
            Lane::Bulk => self.bulk_bytes_max,
        }
    }
}

impl RequestLink {
    /// A link without a connection.
    pub fn new(lane: Lane, limits: PeerLimits, counters: PeerCounters) -> Self {
        RequestLink { lane, inner: Mutex::default(), wake: Notify::new(), limits, counters }
    }

    /// Sends a request and waits for the answer. Errors: those of [`PeerError`]; returns at the deadline at the latest,
    /// and at once when the transport stops.
    pub async fn ask(&self, request: Bytes, deadline: Instant, stopped: &CancellationToken) -> Answered {
        let (id, answer) = self.begin(request, deadline)?;
        let forgets = Forgets { link: self, id };
        let (known, unknown) = tokio::select! {
            answered = answer => return answered.unwrap_or(Err(PeerError::Lost)),
            () = tokio::time::sleep_until(deadline.into()) => (PeerError::Unreachable, PeerError::Timeout),
            () = stopped.cancelled() => (PeerError::Stopped, PeerError::Lost),
        };
        Err(if forgets.is_sent() { unknown } else { known })
    }

    fn begin(
        &self,
        request: Bytes,
        deadline: Instant,
    ) -> Result<(u64, oneshot::Receiver<Answered>), PeerError> {
        if request.len() > self.limits.message_bytes_max(self.lane) {
            return Err(PeerError::TooLarge);
        }
        let mut inner = self.inner.lock();
        if let Some(link_error) = &inner.link_error {
            return Err(link_error.into());
        }
        let bytes = inner.turns.bytes() + request.len();
        let is_over = !inner.turns.is_empty() && bytes > self.limits.request_bytes_waiting_max;
        if inner.waiting.len() >= self.limits.requests_at_once_max || is_over {
            return Err(PeerError::Busy);
        }
        inner.last_id += 1;
        let id = inner.last_id;
        let (reply, answer) = oneshot::channel();
        inner.waiting.insert(id, Waiting { reply, is_sent: false, answer: None });
        inner.turns.push(Outgoing::request(id, request, deadline));
        drop(inner);
        self.wake.notify_one();
        Ok((id, answer))
    }

    /// Takes a part of an answer. Errors: it does not fit what was asked.
    fn answered(
        &self,
        id: u64,
        take: impl FnOnce(Option<Assembly>) -> Result<Arrived, End>,
    ) -> Result<(), End> {
        let mut inner = self.inner.lock();
        if id == 0 || id > inner.last_id {
            return Err(End::ProtocolError(format!("it answered request {id}, which was not sent")));
        }
        // nobody may wait for it any more
        let Some(waiting) = inner.waiting.get_mut(&id) else { return Ok(()) };
        if !waiting.is_sent {
            return Err(End::ProtocolError(format!("it answered request {id} before it was sent")));
        }
        match take(waiting.answer.take())? {
            Arrived::Partly(assembly) => waiting.answer = Some(assembly),
            Arrived::Whole(answer) => {
                if let Some(waiting) = inner.waiting.remove(&id) {
                    drop(inner);
                    drop(waiting.reply.send(Ok(answer)));
                }
            }
        }
        Ok(())
    }

    fn refused(&self, id: u64, failure: Failure) -> Result<(), End> {
        let error = match failure {
            Failure::Busy => PeerError::Busy,
            Failure::TooLarge => PeerError::TooLarge,
            Failure::Broken => PeerError::Lost,
        };
        let mut inner = self.inner.lock();
        if id == 0 || id > inner.last_id {
            return Err(End::ProtocolError(format!("it refused request {id}, which was not sent")));
        }
        if let Some(waiting) = inner.waiting.remove(&id) {
            inner.turns.retain(|message| message.id != id || message.has_begun());
            drop(waiting.reply.send(Err(error)));
        }
        Ok(())
    }
}

/// Lets go of a request when nobody waits for it any more, however that came.
struct Forgets<'l> {
    link: &'l RequestLink,
    id: u64,
}

impl Forgets<'_> {
    fn is_sent(&self) -> bool {
        self.link.inner.lock().waiting.get(&self.id).is_none_or(|waiting| waiting.is_sent)
    }
}

impl Drop for Forgets<'_> {
    fn drop(&mut self) {
        let mut inner = self.link.inner.lock();
        let Some(waiting) = inner.waiting.remove(&self.id) else { return };
        let is_told = waiting.is_sent && inner.tells;
        if is_told || !waiting.is_sent {
            inner.turns.retain(|message| message.id != self.id);
        }
        if is_told {
            inner.given_up.push(self.id);
            drop(inner);
            self.link.wake.notify_one();
        }
    }
}

impl Source for RequestLink {
    async fn ready(&self) {
        loop {
            {
                let inner = self.inner.lock();
                if !inner.turns.is_empty() || !inner.given_up.is_empty() {
                    return;
                }
            }
            self.wake.notified().await;
        }
    }
    fn fill(&self, out: &mut BytesMut) {
        let inner = &mut *self.inner.lock();
        for id in inner.given_up.drain(..) {
            Frame::GivenUp(id).put(out);
        }
        let waiting = &mut inner.waiting;
        let frames = inner.turns.fill(out, |id| {
            let found = waiting.get_mut(&id);
            found.map(|waiting| waiting.is_sent = true).is_some()
        });
        self.counters.request_frames.inc_by(frames);
    }
}

impl Link for RequestLink {
    fn lane(&self) -> Lane {
        self.lane
    }
    fn status(&self) -> LaneStatus {
        let inner = self.inner.lock();
        LaneStatus {
            lane: self.lane,
            connected: inner.is_connected,
            queued_messages: inner.turns.len(),
            queued_bytes: inner.turns.bytes(),
        }
    }
    fn opened(&self) {
        self.inner.lock().link_error = None;
    }
    fn connected(&self, to: &PeerVersion) {
        let mut inner = self.inner.lock();
        inner.tells = to.protocol_highest >= PeerVersion::GIVES_UP;
        (inner.is_connected, inner.link_error) = (true, None);
    }
    fn lost(&self) {
        let mut inner = self.inner.lock();
        inner.is_connected = false;
        // what it was working on ends with the connection
        inner.tells = false;
        inner.given_up.clear();
        inner.turns.retain(|message| !message.has_begun());
        for (_, waiting) in inner.waiting.extract_if(|_, waiting| waiting.is_sent) {
            drop(waiting.reply.send(Err(PeerError::Lost)));
        }
    }
    fn failed(&self, link_error: &LinkError) {
        let mut inner = self.inner.lock();
        inner.link_error = Some(link_error.clone());
        inner.turns.retain(|_| false);
        for (_, waiting) in inner.waiting.drain() {
            let error = if waiting.is_sent { PeerError::Lost } else { link_error.into() };
            drop(waiting.reply.send(Err(error)));
        }
    }
    fn sink(&self) -> impl Sink {
        Answers { link: self }
    }
}

/// Takes the answers.
struct Answers<'l> {
    link: &'l RequestLink,
}

impl Sink for Answers<'_> {
    fn take(&mut self, frame: Frame) -> Result<(), End> {
        let link = self.link;
        match frame {
            Frame::Answer { id, total, part } => {
                let bytes_max = link.limits.message_bytes_max(link.lane);
                link.answered(id, |before| {
                    if before.is_some() || total as usize > bytes_max {
                        return Err(End::ProtocolError(format!(
                            "an answer of {total} bytes begins twice or is too long"
                        )));
                    }
                    Ok(Assembly::begin(total, part)?)
                })
            }
            Frame::AnswerPart { id, part } => link.answered(id, |before| {
                let begun =
                    before.ok_or_else(|| End::ProtocolError(format!("answer {id} has no beginning")))?;
                Ok(begun.add(&part)?)
            }),
            Frame::Failure { id, failure } => link.refused(id, failure),
            Frame::Hello(_)
            | Frame::Refusal(_)
            | Frame::Ping(_)
            | Frame::Pong(_)
            | Frame::Consensus(_)
            | Frame::Request { .. }
            | Frame::RequestPart { .. }
            | Frame::GivenUp(_) => Err(End::ProtocolError("it sent what only the dialling side may".into())),
        }
    }
}
