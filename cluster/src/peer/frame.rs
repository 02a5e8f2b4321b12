//! How bytes between nodes are laid out: a length, a kind, and what the kind says. All integers little endian.
//!
//! A request or answer longer than a part travels in several frames, so that a large one does not hold up those behind it.

use super::hello::Hello;
#[cfg(doc)]
use super::types::PeerVersion;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use quorate_model::GroupId;
use quorate_raft::messages::MESSAGE_BYTES_MAX;
use quorate_store::codec;
use tokio_util::codec::LengthDelimitedCodec;

/// Bytes of a request or answer in one frame.
pub const PART_BYTES: usize = 128 << 10;
/// Bytes of a frame before the greeting is over, and of all frames of a direction that carries nothing large.
pub const SHORT_FRAME_BYTES_MAX: usize = 4 << 10;
/// Bytes of a frame with a part.
pub const PART_FRAME_BYTES_MAX: usize = PART_BYTES + 64;
/// Bytes of messages after which a frame of consensus takes no further one.
pub const CONSENSUS_BATCH_BYTES: usize = 1 << 20;
/// Bytes of a frame of consensus: a batch and one message that crosses its end.
pub const CONSENSUS_FRAME_BYTES_MAX: usize =
    CONSENSUS_BATCH_BYTES + MESSAGE_BYTES_MAX + SHORT_FRAME_BYTES_MAX;
/// Bytes of the text of a refusal.
const REFUSAL_BYTES_MAX: usize = 1 << 10;
/// Bytes before each consensus message: its group and its length.
const MESSAGE_HEAD_BYTES: usize = 6;

/// Why bytes are not a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProtocolError(pub String);

/// Why a request has no answer. The numbers travel; they are appended, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Not begun: too many are being worked on.
    Busy,
    /// Not begun: over the limit of the node that was asked.
    TooLarge,
    /// It broke off.
    Broken,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The greeting.
    Hello(Hello),
    /// Why the node that was greeted does not go on.
    Refusal(String),
    /// Asks for a [`Frame::Pong`] with the same number.
    Ping(u64),
    /// The answer to a ping.
    Pong(u64),
    /// Encoded messages of groups.
    Consensus(Vec<(GroupId, Bytes)>),
    /// The first part of a request.
    Request {
        /// Counts up from 1 on a connection's dialling side.
        id: u64,
        /// How long the asker waits.
        within_ms: u32,
        /// Bytes of all parts.
        total: u32,
        /// The part.
        part: Bytes,
    },
    /// A further part of a request.
    RequestPart {
        /// Of which.
        id: u64,
        /// The part.
        part: Bytes,
    },
    /// The first part of an answer.
    Answer {
        /// To which request.
        id: u64,
        /// Bytes of all parts.
        total: u32,
        /// The part.
        part: Bytes,
    },
    /// A further part of an answer.
    AnswerPart {
        /// To which request.
        id: u64,
        /// The part.
        part: Bytes,
    },
    /// There is no answer.
    Failure {
        /// To which request.
        id: u64,
        /// Why.
        failure: Failure,
    },
    /// Nobody waits for the answer any more, and no further part of the request comes. Of a node that speaks
    /// [`PeerVersion::GIVES_UP`] to one that does.
    GivenUp(u64),
}

/// Reads frames of at most `bytes_max`.
pub fn decoder(bytes_max: usize) -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().little_endian().max_frame_length(bytes_max).new_codec()
}

impl Frame {
    /// Appends the frame with its length.
    pub fn put(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u32_le(0);
        self.put_content(out);
        let length = out.len() - start - 4;
        out[start..start + 4].copy_from_slice(&(length as u32).to_le_bytes());
    }

    fn put_content(&self, out: &mut BytesMut) {
        match self {
            Frame::Hello(hello) => {
                out.put_u8(1);
                out.extend_from_slice(&codec::encode(hello));
            }
            Frame::Refusal(text) => {
                out.put_u8(2);
                out.extend_from_slice(&text.as_bytes()[..text.floor_char_boundary(REFUSAL_BYTES_MAX)]);
            }
            Frame::Ping(number) => {
                out.put_u8(3);
                out.put_u64_le(*number);
            }
            Frame::Pong(number) => {
                out.put_u8(4);
                out.put_u64_le(*number);
            }
            Frame::Consensus(messages) => {
                out.put_u8(5);
                for (group, message) in messages {
                    out.put_u16_le(group.0);
                    out.put_u32_le(message.len() as u32);
                    out.extend_from_slice(message);
                }
            }
            Frame::Request { id, within_ms, total, part } => {
                out.put_u8(6);
                out.put_u64_le(*id);
                out.put_u32_le(*within_ms);
                out.put_u32_le(*total);
                out.extend_from_slice(part);
            }
            Frame::RequestPart { id, part } => {
                out.put_u8(7);
                out.put_u64_le(*id);
                out.extend_from_slice(part);
            }
            Frame::Answer { id, total, part } => {
                out.put_u8(8);
                out.put_u64_le(*id);
                out.put_u32_le(*total);
                out.extend_from_slice(part);
            }
            Frame::AnswerPart { id, part } => {
                out.put_u8(9);
                out.put_u64_le(*id);
                out.extend_from_slice(part);
            }
            Frame::Failure { id, failure } => {
                out.put_u8(10);
                out.put_u64_le(*id);
                out.put_u8(match failure {
                    Failure::Busy => 1,
                    Failure::TooLarge => 2,
                    Failure::Broken => 3,
                });
            }
            Frame::GivenUp(id) => {
                out.put_u8(11);
                out.put_u64_le(*id);
            }
        }
    }

    /// Reads what stands behind a length. Errors: [`ProtocolError`] that says what is wrong. Never panics and allocates no more
    /// than the bytes.
    pub fn read(mut bytes: Bytes) -> Result<Frame, ProtocolError> {
        let kind = u8_of(&mut bytes)?;
        let frame = match kind {
            1 => {
                let hello = codec::decode(&bytes, SHORT_FRAME_BYTES_MAX);
                return hello
                    .map(Frame::Hello)
                    .map_err(|error| ProtocolError(format!("the greeting is not one: {error}")));
            }
            2 => {
                let text = String::from_utf8(bytes.to_vec())
                    .map_err(|_| ProtocolError("a refusal is not text".into()))?;
                return Ok(Frame::Refusal(text.chars().filter(|c| !c.is_control()).collect()));
            }
            3 => Frame::Ping(u64_of(&mut bytes)?),
            4 => Frame::Pong(u64_of(&mut bytes)?),
            5 => return messages(bytes),
            6 => {
                let (id, within_ms, total) = (u64_of(&mut bytes)?, u32_of(&mut bytes)?, u32_of(&mut bytes)?);
                return Ok(Frame::Request { id, within_ms, total, part: bytes });
            }
            7 => return Ok(Frame::RequestPart { id: u64_of(&mut bytes)?, part: bytes }),
            8 => {
                let (id, total) = (u64_of(&mut bytes)?, u32_of(&mut bytes)?);
                return Ok(Frame::Answer { id, total, part: bytes });
            }
            9 => return Ok(Frame::AnswerPart { id: u64_of(&mut bytes)?, part: bytes }),
            10 => {
                let id = u64_of(&mut bytes)?;
                let failure = match u8_of(&mut bytes)? {
                    1 => Failure::Busy,
                    2 => Failure::TooLarge,
                    // reasons of later versions say at least that there is no answer
                    _ => Failure::Broken,
                };
                Frame::Failure { id, failure }
            }
            11 => Frame::GivenUp(u64_of(&mut bytes)?),
            other => return Err(ProtocolError(format!("there is no kind of frame with the number {other}"))),
        };
        if bytes.has_remaining() {
            return Err(ProtocolError(format!("a frame of kind {kind} has {} bytes too many", bytes.len())));
        }
        Ok(frame)
    }
}

fn messages(mut bytes: Bytes) -> Result<Frame, ProtocolError> {
    let mut messages = Vec::with_capacity(bytes.len().div_ceil(MESSAGE_HEAD_BYTES + 64).min(64));
    while bytes.has_remaining() {
        let short = |_| ProtocolError("a frame of consensus ends inside a message".into());
        let group = bytes.try_get_u16_le().map_err(short)?;
        let length = bytes.try_get_u32_le().map_err(short)? as usize;
        if length > bytes.len() {
            return Err(ProtocolError(format!("a message claims {length} bytes, {} are left", bytes.len())));
        }
        messages.push((GroupId(group), bytes.split_to(length)));
    }
    Ok(Frame::Consensus(messages))
}

fn u8_of(bytes: &mut Bytes) -> Result<u8, ProtocolError> {
    bytes.try_get_u8().map_err(|_| short())
}
fn u32_of(bytes: &mut Bytes) -> Result<u32, ProtocolError> {
    bytes.try_get_u32_le().map_err(|_| short())
}
fn u64_of(bytes: &mut Bytes) -> Result<u64, ProtocolError> {
    bytes.try_get_u64_le().map_err(|_| short())
}
fn short() -> ProtocolError {
    ProtocolError("a frame ends early".into())
}

#[cfg(test)]
mod tests {
    use super::super::hello::tests::hello;
    use super::*;
    use proptest::prelude::*;
    use tokio_util::codec::Decoder;

    fn part() -> Bytes {
        Bytes::from_static(b"part")
    }

    /// One of each kind and what it looks like, with its length. Nodes of other versions read these: they never change.
    fn golden() -> Vec<(Frame, &'static str)> {
        vec![
            (Frame::Hello(hello()), "1e00000001010105020705302e312e300103415050fd0068e5cf8b01000001010109"),
            (Frame::Refusal("no".into()), "03000000026e6f"),
            (Frame::Ping(0x0102), "09000000030201000000000000"),
            (Frame::Pong(3), "09000000040300000000000000"),
            (
                Frame::Consensus(vec![(GroupId(0), part()), (GroupId(258), Bytes::new())]),
                "110000000500000400000070617274020100000000",
            ),
            (
                Frame::Request { id: 1, within_ms: 2, total: 4, part: part() },
                "15000000060100000000000000020000000400000070617274",
            ),
            (Frame::RequestPart { id: 1, part: part() }, "0d00000007010000000000000070617274"),
            (Frame::Answer { id: 1, total: 4, part: part() }, "110000000801000000000000000400000070617274"),
            (Frame::AnswerPart { id: 1, part: part() }, "0d00000009010000000000000070617274"),
            (Frame::Failure { id: 1, failure: Failure::Busy }, "0a0000000a010000000000000001"),
            (Frame::Failure { id: 1, failure: Failure::TooLarge }, "0a0000000a010000000000000002"),
            (Frame::Failure { id: 1, failure: Failure::Broken }, "0a0000000a010000000000000003"),
            (Frame::GivenUp(1), "090000000b0100000000000000"),
        ]
    }

    #[test]
    fn golden_bytes() {
        for (frame, expected) in golden() {
            let mut out = BytesMut::new();
            frame.put(&mut out);
            let hex: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected, "{frame:?}");
            let read = decoder(SHORT_FRAME_BYTES_MAX).decode(&mut out).unwrap().unwrap();
            assert_eq!(Frame::read(read.freeze()), Ok(frame));
            assert!(out.is_empty());
        }
    }

    #[test]
    fn what_is_not_a_frame_is_refused_with_a_reason() {
        for (bytes, expected) in [
            (&[][..], "ends early"),
            (&[0], "number 0"),
            (&[12], "number 12"),
            (&[255, 1, 2], "number 255"),
            (&[1], "greeting"),
            (&[1, 255, 255, 255], "greeting"),
            (&[2, 0xff], "not text"),
            (&[3, 0, 0, 0], "ends early"),
            (&[3, 0, 0, 0, 0, 0, 0, 0, 0, 0], "1 bytes too many"),
            (&[5, 0, 0], "inside a message"),
            (&[5, 0, 0, 1, 0, 0, 0], "claims 1 bytes, 0 are left"),
            (&[5, 0, 0, 255, 255, 255, 255, 7], "claims 4294967295 bytes, 1 are left"),
            (&[6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "ends early"),
            (&[10, 0, 0, 0, 0, 0, 0, 0, 0], "ends early"),
        ] {
            let text = Frame::read(Bytes::copy_from_slice(bytes)).unwrap_err().to_string();
            assert!(text.contains(expected), "{bytes:?}: {text}");
        }
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_anything_is_kept() {
        let mut bytes = BytesMut::from(&(SHORT_FRAME_BYTES_MAX as u32 + 1).to_le_bytes()[..]);
        assert!(decoder(SHORT_FRAME_BYTES_MAX).decode(&mut bytes).is_err());
    }

    #[test]
    fn texts_of_refusals_are_cut_at_a_letter() {
        let mut out = BytesMut::new();
        Frame::Refusal("ä".repeat(1_000)).put(&mut out);
        assert_eq!(Frame::read(out.freeze().slice(4..)), Ok(Frame::Refusal("ä".repeat(512))));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(kind in 0u8..13, bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let all = [&[kind][..], &bytes].concat();
            if let Ok(frame) = Frame::read(all.into()) {
                let mut out = BytesMut::new();
                frame.put(&mut out);
                let again = Frame::read(out.freeze().slice(4..));
                prop_assert_eq!(again, Ok(frame));
            }
        }

        #[test]
        fn damaged_frames_do_not_make_it_panic(which in 0usize..13, at in any::<proptest::sample::Index>(), bit in 0u8..8) {
            let mut out = BytesMut::new();
            golden()[which].0.put(&mut out);
            let length = out.len();
            out[4 + at.index(length - 4)] ^= 1 << bit;
            drop(Frame::read(out.freeze().slice(4..)));
        }
    }
}
