//! How a node with an empty data folder finds its installation: it joins one, or it is the one that founds it.
//!
//! A node that is told to join nobody founds. One that is told to join others asks them until one of them is a member of an
//! installation. With every question goes what the asker has heard of others who look for one, and with the answer what the
//! asked one has heard of and whom it was told to ask: all those are asked, too. Who has the smallest peer address of all that
//! look for one founds when a whole round said that none has an installation, and nobody new was heard of meanwhile; the others
//! go on asking. So the order in which nodes start does not matter, and two do not found when there is somebody whom both were
//! told of, or were told of by those they were told of, and so on: the second of them to ask that one hears of the first.

use crate::command::Joining;
use crate::peer::{PeerError, Peers};
use crate::rpc::requests::{PeerAnswer, PeerRequest, decode, encode};
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_model::{Error, ErrorKind, NodeId, Result};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one node may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// Between two rounds of asking.
const ROUND: Duration = Duration::from_millis(300);
/// Nodes that look for an installation at a time.
const SEEKERS_MAX: usize = 1_000;
/// Rounds between two lines in the log.
const LOG_ROUNDS: u64 = 30;

/// How a node came into its installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entered {
    /// It is the first node.
    Founded,
    /// It was added; these are the peer addresses of all nodes.
    Joined(Vec<(NodeId, String)>),
}

/// The peer addresses of the nodes without an installation that this one has heard of, its own among them, while it looks for
/// one itself. A node that founds one, has joined, or comes back to one, knows nothing.
#[derive(Clone, Debug, Default)]
pub struct Seekers(Arc<Mutex<Option<Heard>>>);

/// What a node that looks for an installation knows of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The peer addresses of those that look for one, its own among them, as they call themselves.
    pub known: BTreeSet<String>,
    /// The addresses that its operator told it to ask. They may be other names of the same nodes.
    pub told: BTreeSet<String>,
}

impl Seekers {
    /// From now on this node, which is at `own`, looks for an installation by asking those it was told of.
    fn seek(&self, own: &str, told: BTreeSet<String>) {
        *self.0.lock() = Some(Heard { known: BTreeSet::from([own.to_owned()]), told });
    }
    /// It has found one.
    fn rest(&self) {
        *self.0.lock() = None;
    }
    /// Takes addresses into account and returns all; `None` on a node that does not look for others, or hears of too many.
    pub fn note(&self, addresses: impl IntoIterator<Item = String>) -> Option<Heard> {
        let mut heard = self.0.lock();
        let heard = heard.as_mut()?;
        for address in addresses {
            if heard.known.len() >= SEEKERS_MAX && !heard.known.contains(&address) {
                return None;
            }
            heard.known.insert(address);
        }
        Some(heard.clone())
    }
    /// Whether this node, which is at `own`, is the one to found when all of `asked` have no installation. Then it knows nothing
    /// any more from this moment on: who asks it now waits for the installation.
    fn found(&self, own: &str, asked: &BTreeSet<String>) -> bool {
        let mut heard = self.0.lock();
        let is_whole = heard.as_ref().is_some_and(|heard| heard.known == *asked);
        let is_chosen = is_whole && asked.first().is_some_and(|smallest| smallest == own);
        if is_chosen {
            *heard = None;
        }
        is_chosen
    }
}

/// One round of asking everybody.
#[derive(Debug)]
struct Round {
    /// Whom the node had heard of when it began.
    known: BTreeSet<String>,
    /// Whom it has asked or will ask, itself among them.
    listed: BTreeSet<String>,
    left: BTreeSet<String>,
    all_unfounded: bool,
}

impl Round {
    /// A round of the node at `own`. `None` when it does not look for an installation.
    fn begin(own: &str, seekers: &Seekers) -> Option<Round> {
        let Heard { known, told } = seekers.note([])?;
        let listed = BTreeSet::from([own.to_owned()]);
        let mut round = Round { known: known.clone(), listed, left: BTreeSet::new(), all_unfounded: true };
        round.list(known.into_iter().chain(told));
        Some(round)
    }
    fn list(&mut self, addresses: impl IntoIterator<Item = String>) {
        for address in addresses {
            if self.listed.len() >= SEEKERS_MAX {
                self.all_unfounded = false;
            } else if self.listed.insert(address.clone()) {
                self.left.insert(address);
            }
        }
    }
    /// Takes the answer of one of them: it has no installation, has heard of these, and was told of these.
    fn heard(&mut self, theirs: Heard, seekers: &Seekers) {
        self.all_unfounded &= seekers.note(theirs.known).is_some();
        self.list(theirs.told);
    }
    /// One of them may have an installation.
    fn in_doubt(&mut self) {
        self.all_unfounded = false;
    }
    /// Whether the node founds after this round.
    fn ends_in_founding(&self, own: &str, seekers: &Seekers) -> bool {
        self.all_unfounded && self.left.is_empty() && seekers.found(own, &self.known)
    }
}

/// Asks until this node is in an installation. Errors: it is not wanted there.
pub async fn enter(
    peers: &Peers,
    node: NodeId,
    joining: &Joining,
    others: &[String],
    seekers: &Seekers,
) -> Result<Entered> {
    seekers.seek(&joining.peer, others.iter().cloned().collect());
    let entered = ask_around(peers, node, joining, seekers).await;
    seekers.rest();
    entered
}

async fn ask_around(peers: &Peers, node: NodeId, joining: &Joining, seekers: &Seekers) -> Result<Entered> {
    let own = &joining.peer;
    for number in 0_u64.. {
        let Some(mut round) = Round::begin(own, seekers) else { break };
        while let Some(address) = round.left.pop_first() {
            let Heard { known, .. } = seekers.note([]).unwrap_or_default();
            let request = PeerRequest::Join { node, joining: joining.clone(), known };
            let bytes = Bytes::from(encode(&request));
            let answer = peers.ask_address(&address, bytes, Instant::now() + ANSWER).await;
            match answer.map(|(_, bytes)| decode::<PeerAnswer>(&bytes)) {
                Ok(Some(PeerAnswer::Joined { app_id, addresses })) => {
                    tracing::info!(%address, app_id, "joined the installation");
                    return Ok(Entered::Joined(addresses));
                }
                Ok(Some(PeerAnswer::NotFounded { known, told })) => {
                    round.heard(Heard { known, told }, seekers)
                }
                Err(PeerError::Itself) => {}
                Ok(Some(PeerAnswer::Failed {
                    kind: kind @ (ErrorKind::Forbidden | ErrorKind::Invalid),
                    message,
                    ..
                })) => {
                    return Err(Error::new(kind, message));
                }
                other => {
                    round.in_doubt();
                    if number % LOG_ROUNDS == 0 {
                        let other_waits =
                            matches!(other, Ok(Some(PeerAnswer::Failed { .. })) | Err(PeerError::Refused(_)));
                        let reason = match other {
                            Err(error) => error.to_string(),
                            Ok(Some(PeerAnswer::Failed { message, .. })) => message,
                            Ok(_) => "it answered in a way this node does not know".to_owned(),
                        };
                        match other_waits {
                            true => tracing::warn!(%address, reason, "this node may not join yet"),
                            false => tracing::info!(%address, reason, "waiting for a node to join"),
                        }
                    }
                }
            }
        }
        if round.ends_in_founding(own, seekers) {
            return Ok(Entered::Founded);
        }
        tokio::time::sleep(ROUND).await;
    }
    Err(Error::internal("the rounds of asking ended"))
}

#[cfg(test)]
mod tests;
