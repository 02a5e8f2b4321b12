//! How a call travels to a node that has a replica of an index, and its answer back: as JSON, since nodes of two versions talk, and
//! parameters describe themselves.

use quorate_model::{Error, ErrorKind, GroupId};
use quorate_node::Payer;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Which group a call reads, and what was seen of it. Who answers says how far it was with the group's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOf {
    /// The group.
    pub group: GroupId,
    /// Through where the asker's clients may have seen it; 0 = no further than the node that is asked has shown.
    pub seen: u64,
}

/// Bytes of a call or an answer at most: what a lane of the transport takes, with room for what is put around it.
pub const BYTES_MAX: usize = 120 << 20;

/// A call, and what the asker knew when it made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallEnvelope<C> {
    /// Through where the asker had applied the meta log: who answers must know as much.
    pub meta: u64,
    /// What is read, and was seen of it; older programs do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadOf>,
    /// Whom the work is charged to; older programs do not say it.
    #[serde(default)]
    pub payer: Payer,
    /// The call, under its name (`read/call.rs`).
    pub call: C,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answered<T> {
    /// The answer, to who does not say what it reads.
    Done(T),
    /// The node that was asked cannot serve it either.
    NotHere,
    /// It can, and this is what the caller hears.
    Failed(SentError),
    /// The answer to who says what it reads.
    DoneAt {
        /// Nothing behind this index of the group's log can be seen in it.
        applied: u64,
        /// The answer.
        answer: T,
    },
}

/// An error on its way between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentError {
    kind: ErrorKind,
    message: String,
    position: Option<u64>,
    object_id: Option<String>,
}

impl From<Error> for SentError {
    fn from(error: Error) -> Self {
        let Error { kind, message, position, object_id } = error;
        SentError { kind, message, position, object_id }
    }
}
impl From<SentError> for Error {
    fn from(sent: SentError) -> Self {
        let SentError { kind, message, position, object_id } = sent;
        Error { kind, message, position, object_id }
    }
}

/// The bytes of a call. Errors: `TooLarge`.
pub fn encode_call<C: Serialize>(asked: &CallEnvelope<C>) -> Result<Vec<u8>, Error> {
    let bytes = serde_json::to_vec(asked);
    let bytes = bytes.map_err(|error| Error::internal(format!("a call cannot be sent: {error}")))?;
    within_bounds(bytes, BYTES_MAX)
}

/// The bytes of an answer: that of an error when it is too large to be sent.
pub fn encode_answer<T: Serialize>(answered: &Answered<T>) -> Vec<u8> {
    encode_answer_within(answered, BYTES_MAX)
}

fn encode_answer_within<T: Serialize>(answered: &Answered<T>, bytes_max: usize) -> Vec<u8> {
    let encoded = serde_json::to_vec(answered)
        .map_err(|error| Error::internal(format!("an answer cannot be sent to another node: {error}")))
        .and_then(|bytes| within_bounds(bytes, bytes_max));
    encoded.unwrap_or_else(|error| {
        let failed: Answered<()> = Answered::Failed(error.into());
        serde_json::to_vec(&failed).expect("an error always serialises")
    })
}

fn within_bounds(bytes: Vec<u8>, bytes_max: usize) -> Result<Vec<u8>, Error> {
    match bytes.len() <= bytes_max {
        true => Ok(bytes),
        false => Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "this takes {} bytes between two nodes, at most {bytes_max} are allowed; ask for less at once",
                bytes.len()
            ),
        )),
    }
}

/// An answer from its bytes; `None` when they are none that this node knows.
pub fn decode_answer<T: DeserializeOwned>(bytes: &[u8]) -> Option<Answered<T>> {
    serde_json::from_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::FacetHits;
    use quorate_model::wire::Text;
    use quorate_node::IndexStats;
    use std::fmt::Debug;

    #[track_caller]
    fn survives<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
        let answered = Answered::Done(value);
        assert_eq!(decode_answer::<T>(&encode_answer(&answered)).as_ref(), Some(&answered));
        assert_eq!(decode_answer::<T>(&encode_answer(&Answered::<T>::NotHere)), Some(Answered::NotHere));
    }

    #[test]
    fn every_answer_survives() {
        survives(FacetHits { hits: vec![("a".into(), "b".into(), 1)], exhaustive: true });
        survives(vec![Some(Text(b"{\"a\":\"\\u0000\"}".to_vec())), None]);
        survives(Text(b"{}".to_vec()));
        survives(vec![IndexStats { records: 1, updated_ms: u64::MAX, ..IndexStats::default() }]);
        survives((3_usize, 2_usize));
        survives(true);
    }

    #[test]
    fn an_error_keeps_all_its_members() {
        for kind in [ErrorKind::Invalid, ErrorKind::NotFound, ErrorKind::Forbidden, ErrorKind::TooLarge] {
            let error = Error {
                position: Some(4),
                object_id: Some("x".into()),
                ..Error::new(kind, "Record at the position 4 …")
            };
            let answered: Answered<()> = Answered::Failed(error.clone().into());
            let Some(Answered::Failed(sent)) = decode_answer::<()>(&encode_answer(&answered)) else {
                panic!("no error")
            };
            assert_eq!(Error::from(sent), error);
        }
    }

    #[test]
    fn what_is_too_large_becomes_an_error() {
        let answered = Answered::Done(Text(vec![b'a'; 100]));
        let Some(Answered::Failed(sent)) = decode_answer::<Text>(&encode_answer_within(&answered, 99)) else {
            panic!("no error")
        };
        assert_eq!(Error::from(sent).kind, ErrorKind::TooLarge);
        let no_text = Answered::Done(Text(vec![0xff]));
        assert!(matches!(decode_answer::<Text>(&encode_answer(&no_text)), Some(Answered::Failed(_))));
        assert_eq!(decode_answer::<Text>(b"{\"Later\":1}"), None);
    }
}
