//! How a node with an empty data folder finds its installation: it joins one, or it is the one that founds it.
//!
//! A node that is told to join nobody founds. One that is told to join others asks them until one of them is a member of an
//! installation. When none is, the node with the smallest peer address founds, as soon as everyone it was told of has said
//! that it has no installation either; the others go on asking. So the order in which nodes start does not matter.

use crate::meta::Joining;
use crate::peer::Peers;
use crate::requests::{PeerAnswer, PeerRequest, decode, encode};
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

/// The smallest peer address among the nodes without an installation that this one has heard of, while it has none itself
/// and may join another's. A node that founds one, or comes back to one, says nothing about it.
#[derive(Clone, Debug, Default)]
pub struct Smallest(Arc<Mutex<Option<String>>>);

impl Smallest {
    /// From now on this node, which is at `own`, looks for an installation.
    fn seek(&self, own: &str) {
        *self.0.lock() = Some(own.to_owned());
    }
    /// It has found one, or founds one.
    fn rest(&self) {
        *self.0.lock() = None;
    }
    /// Takes an address into account and returns the smallest one; `None` on a node that does not look for others.
    pub fn note(&self, address: &str) -> Option<String> {
        let mut smallest = self.0.lock();
        let known = smallest.as_mut()?;
        if address < known.as_str() {
            address.clone_into(known);
        }
        Some(known.clone())
    }
}

/// Asks until this node is in an installation. Errors: it is not wanted there.
pub async fn enter(
    peers: &Peers,
    node: NodeId,
    joining: &Joining,
    others: &[String],
    smallest: &Smallest,
) -> Result<Entered> {
    smallest.seek(&joining.peer);
    let entered = ask_around(peers, node, joining, others, smallest).await;
    smallest.rest();
    entered
}

async fn ask_around(
    peers: &Peers,
    node: NodeId,
    joining: &Joining,
    others: &[String],
    smallest: &Smallest,
) -> Result<Entered> {
    let own = || smallest.note(&joining.peer).unwrap_or_default();
    let others: BTreeSet<&String> = others.iter().filter(|address| **address != joining.peer).collect();
    for round in 0_u64.. {
        let mut unfounded = 0;
        for address in &others {
            let request = PeerRequest::Join { node, joining: joining.clone(), smallest: own() };
            let bytes = Bytes::from(encode(&request));
            let answer = peers.ask_address(address, bytes, Instant::now() + ANSWER).await;
            match answer.map(|(_, bytes)| decode::<PeerAnswer>(&bytes)) {
                Ok(Some(PeerAnswer::Joined { app_id, addresses })) => {
                    tracing::info!(%address, app_id, "joined the installation");
                    return Ok(Entered::Joined(addresses));
                }
                Ok(Some(PeerAnswer::NotFounded { smallest: theirs })) => {
                    smallest.note(&theirs);
                    unfounded += 1;
                }
                Ok(Some(PeerAnswer::Failed {
                    kind: kind @ (ErrorKind::Forbidden | ErrorKind::Invalid),
                    message,
                    ..
                })) => {
                    return Err(Error::new(kind, message));
                }
                other => {
                    if round % LOG_ROUNDS == 0 {
                        let reason = match other {
                            Err(error) => error.to_string(),
                            Ok(Some(PeerAnswer::Failed { message, .. })) => message,
                            Ok(_) => "it answered in a way this node does not know".to_owned(),
                        };
                        tracing::info!(%address, reason, "waiting for a node to join");
                    }
                }
            }
        }
        if unfounded == others.len() && own() == joining.peer {
            return Ok(Entered::Founded);
        }
        tokio::time::sleep(ROUND).await;
    }
    Err(Error::internal("the rounds of asking ended"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_address_is_kept() {
        let smallest = Smallest::default();
        assert_eq!(smallest.note("a:1"), None, "it looks for nobody");
        smallest.seek("c:1");
        assert_eq!(smallest.note("d:1").as_deref(), Some("c:1"));
        assert_eq!(smallest.clone().note("a:1").as_deref(), Some("a:1"));
        assert_eq!(smallest.note("b:1").as_deref(), Some("a:1"));
        smallest.rest();
        assert_eq!(smallest.note("a:1"), None);
    }
}
