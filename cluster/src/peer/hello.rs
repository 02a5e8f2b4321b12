//! What nodes announce when a connection begins, and when they do not go on.

use super::types::{Lane, PeerVersion};
use quorate_model::NodeId;
use serde::{Deserialize, Serialize};

/// What a connection sends before anything else, unencrypted: that it is one of ours, and its lane's number. It only
/// picks the threads that serve it; the greeting must name the same lane.
pub const PREAMBLE: [u8; 3] = *b"QP1";
/// Bytes of the preamble with the lane.
pub const PREAMBLE_BYTES: usize = PREAMBLE.len() + 1;

/// What a connection is for. The numbers travel; they are appended, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// It stays and carries a lane; a newer one of the same node and lane replaces it.
    Lane(Lane),
    /// It carries one request of a node that knows an address and not yet who is there.
    Introduction,
}

impl Purpose {
    /// The number that travels.
    pub fn number(self) -> u8 {
        match self {
            Purpose::Lane(Lane::Consensus) => 1,
            Purpose::Lane(Lane::Requests) => 2,
            Purpose::Lane(Lane::Bulk) => 3,
            Purpose::Introduction => 4,
        }
    }
    /// The purpose with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Purpose::Lane(Lane::Consensus)),
            2 => Some(Purpose::Lane(Lane::Requests)),
            3 => Some(Purpose::Lane(Lane::Bulk)),
            4 => Some(Purpose::Introduction),
            _ => None,
        }
    }
    /// The lane whose limits hold and that requests are said to come from.
    pub fn lane(self) -> Lane {
        match self {
            Purpose::Lane(lane) => lane,
            Purpose::Introduction => Lane::Requests,
        }
    }
}

/// The first frame of each side. Its layout never changes; what later versions add goes into `extra`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The lowest protocol version the node speaks.
    pub protocol_lowest: u16,
    /// The highest protocol version the node speaks.
    pub protocol_highest: u16,
    /// Who it is; the certificate says the same.
    pub node: NodeId,
    /// [`Purpose::number`].
    pub purpose: u8,
    /// The newest commands it can apply.
    pub feature_level: u16,
    /// The version of its program.
    pub program: String,
    /// The application id, when it knows one.
    pub installation: Option<String>,
    /// Its clock, Unix milliseconds.
    pub unix_ms: u64,
    /// Numbered additions; unknown numbers are passed over.
    pub extra: Vec<(u16, Vec<u8>)>,
}

/// Number of the addition that tells the starts of a node apart.
const LIFE: u16 = 1;
/// What a node says to itself when it dialled one of its own addresses.
pub const ITSELF: &str = "that is this node itself";

/// What a node hears that does not belong to the installation any more.
pub fn removed(node: NodeId) -> String {
    format!("node {node} was removed from the installation")
}

impl Hello {
    /// The addition that says which start of its node it is.
    pub fn of_life(life: u64) -> (u16, Vec<u8>) {
        (LIFE, life.to_le_bytes().to_vec())
    }
    fn life(&self) -> Option<&[u8]> {
        self.extra.iter().find(|(number, _)| *number == LIFE).map(|(_, bytes)| bytes.as_slice())
    }
    /// What it says about the program.
    pub fn version(&self) -> PeerVersion {
        PeerVersion {
            protocol_lowest: self.protocol_lowest,
            protocol_highest: self.protocol_highest,
            feature_level: self.feature_level,
            program: self.program.clone(),
        }
    }

    /// Why a node that says `self` does not go on with one that says `other`; `None`: it does.
    pub fn objection(&self, other: &Hello) -> Option<String> {
        if other.node == self.node {
            return Some(match self.life().is_some() && self.life() == other.life() {
                true => ITSELF.to_owned(),
                false => format!(
                    "it has the same number, {}: it runs with a copy of this node's folder",
                    self.node
                ),
            });
        }
        if other.protocol_highest < self.protocol_lowest || other.protocol_lowest > self.protocol_highest {
            return Some(format!(
                "it speaks versions {} to {} of the protocol between nodes, this node {} to {}",
                other.protocol_lowest, other.protocol_highest, self.protocol_lowest, self.protocol_highest
            ));
        }
        if let (Some(own), Some(theirs)) = (&self.installation, &other.installation)
            && own != theirs
        {
            return Some(format!("it belongs to the application {theirs}, this node to {own}"));
        }
        if other.program.len() > PeerVersion::PROGRAM_BYTES_MAX || other.program.chars().any(char::is_control)
        {
            return Some("the name of its program's version is not valid".into());
        }
        None
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn hello() -> Hello {
        Hello {
            protocol_lowest: 1,
            protocol_highest: 1,
            node: NodeId(5),
            purpose: 2,
            feature_level: 7,
            program: "0.1.0".into(),
            installation: Some("APP".into()),
            unix_ms: 1_700_000_000_000,
            extra: vec![(LIFE, vec![9])],
        }
    }

    #[test]
    fn numbers_of_purposes_do_not_change() {
        for (number, purpose) in [
            (1, Purpose::Lane(Lane::Consensus)),
            (2, Purpose::Lane(Lane::Requests)),
            (3, Purpose::Lane(Lane::Bulk)),
            (4, Purpose::Introduction),
        ] {
            assert_eq!((purpose.number(), Purpose::from_number(number)), (number, Some(purpose)));
        }
        assert_eq!((Purpose::from_number(0), Purpose::from_number(5)), (None, None));
    }

    #[test]
    fn nodes_that_do_not_fit_together_say_why() {
        let own = hello();
        let other = |change: fn(&mut Hello)| {
            let mut other = Hello { node: NodeId(6), ..hello() };
            change(&mut other);
            other
        };
        for (other, expected) in [
            (other(|_| {}), None),
            (other(|o| o.installation = None), None),
            (other(|o| (o.protocol_lowest, o.protocol_highest) = (0, 4)), None),
            (other(|o| o.extra = vec![]), None),
            (other(|o| o.node = NodeId(5)), Some(ITSELF)),
            (
                other(|o| (o.node, o.extra) = (NodeId(5), vec![Hello::of_life(8)])),
                Some("same number, 0000000000000005"),
            ),
            (other(|o| (o.node, o.extra) = (NodeId(5), vec![])), Some("same number, 0000000000000005")),
            (other(|o| (o.protocol_lowest, o.protocol_highest) = (2, 3)), Some("versions 2 to 3")),
            (other(|o| (o.protocol_lowest, o.protocol_highest) = (0, 0)), Some("versions 0 to 0")),
            (other(|o| o.installation = Some("ELSE".into())), Some("application ELSE, this node to APP")),
            (other(|o| o.program = "1\n2".into()), Some("not valid")),
            (other(|o| o.program = "1".repeat(65)), Some("not valid")),
        ] {
            let found = own.objection(&other);
            match expected {
                None => assert_eq!(found, None, "{other:?}"),
                Some(part) => assert!(found.as_deref().is_some_and(|text| text.contains(part)), "{found:?}"),
            }
        }
    }
}
