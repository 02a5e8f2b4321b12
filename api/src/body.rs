//! How is a request body read, whatever its content type, within its limit (C§1.2)?
//!
//! The limit holds after decompression and is enforced while the body streams in, so a small compressed body
//! cannot grow large in memory.

use crate::away::away_if_long;
use crate::room::Taken;
use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::header::{self, HeaderMap};
use actix_web::web::{Bytes, BytesMut};
use flate2::write::MultiGzDecoder;
use futures_util::{FutureExt, StreamExt};
use quorate_model::{Error, ErrorKind, Result};
use std::io::Write;
use std::time::{Duration, Instant};

/// Seconds between two pieces of a body before the call is given up.
const PIECE_S: u64 = 30;
/// Bytes that have to arrive in each second after the first [`PIECE_S`], on average, so that a caller who sends a byte
/// now and then cannot keep a connection busy for ever.
const BYTES_PER_S_MIN: u64 = 1_024;

/// Reads a body of at most `bytes_max` bytes, decompressed.
///
/// Errors: `TooLarge` over the limit; `Unavailable` when `room` has none left; `Invalid` for an unknown or damaged encoding or a broken connection.
pub async fn read(
    headers: &HeaderMap,
    payload: &mut Payload,
    room: &mut Taken,
    bytes_max: usize,
) -> Result<Bytes> {
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > bytes_max as u64) {
        return Err(too_large(bytes_max));
    }
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
    match encoding.as_deref() {
        None | Some(b"" | b"identity") => read_plain(payload, room, bytes_max).await,
        Some(b"gzip" | b"x-gzip") => read_gzip(payload, room, bytes_max).await,
        Some(_) => Err(Error::invalid("Content-Encoding is not supported: use gzip or none")),
    }
}

/// Bytes of a refused body that are thrown away.
const DISCARDED_BYTES_MAX: usize = 32 << 20;
/// How long a body that is thrown away is waited for, all of it and each piece: who sends nothing waits for the answer.
const DISCARDED_IN: Duration = Duration::from_secs(3);
const DISCARDED_PIECE_IN: Duration = Duration::from_millis(300);

/// Throws away what is left of the body of a call that is refused, within bounds. Whoever is still sending when the connection or the
/// stream ends may never read why, and takes the node for a dead one (C§1.4).
pub async fn discard(payload: &mut Payload) {
    let mut left = DISCARDED_BYTES_MAX;
    let rest = async {
        let mut next = async || actix_rt::time::timeout(DISCARDED_PIECE_IN, payload.next()).await;
        while let Ok(Some(Ok(piece))) = next().await {
            match left.checked_sub(piece.len()) {
                Some(less) => left = less,
                None => break,
            }
        }
    };
    let _gone_or_late = actix_rt::time::timeout(DISCARDED_IN, rest).await;
}

/// A body as it arrives.
struct Arriving<'a> {
    payload: &'a mut Payload,
    /// When the first piece was found not to be there yet.
    begun: Option<Instant>,
    bytes: u64,
}
impl<'a> Arriving<'a> {
    fn new(payload: &'a mut Payload) -> Self {
        Arriving { payload, begun: None, bytes: 0 }
    }
    /// The next piece; no timer is set when it is already there.
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let late = || Error::invalid("The body did not arrive in time");
        let piece = match self.payload.next().now_or_never() {
            Some(ready) => ready,
            None => {
                let begun = self.begun.get_or_insert_with(Instant::now);
                let patience = patience(begun.elapsed(), self.bytes).ok_or_else(late)?;
                actix_rt::time::timeout(patience, self.payload.next()).await.map_err(|_| late())?
            }
        };
        let piece = piece.transpose().map_err(|error| match error {
            PayloadError::Incomplete(_) => Error::invalid("The body ends early or its chunks are malformed"),
            error => Error::invalid(format!("The body could not be read: {error}")),
        })?;
        self.bytes += piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Ok(piece)
    }
}

/// How long the next piece may take, after `bytes` have come in the time `since`; `None` when they came too slowly.
fn patience(since: Duration, bytes: u64) -> Option<Duration> {
    let piece = Duration::from_secs(PIECE_S);
    let end = piece + Duration::from_secs(bytes / BYTES_PER_S_MIN);
    end.checked_sub(since).map(|left| left.min(piece)).filter(|left| !left.is_zero())
}

async fn read_plain(payload: &mut Payload, room: &mut Taken, bytes_max: usize) -> Result<Bytes> {
    let mut arriving = Arriving::new(payload);
    let Some(first) = arriving.next().await? else {
        return Ok(Bytes::new());
    };
    let mut whole: Option<BytesMut> = None;
    let mut len = first.len();
    room.grow(len)?;
    while len <= bytes_max {
        let Some(piece) = arriving.next().await? else {
            return Ok(whole.map_or(first, BytesMut::freeze));
        };
        len += piece.len();
        room.grow(piece.len())?;
        whole.get_or_insert_with(|| BytesMut::from(&first[..])).extend_from_slice(&piece);
    }
    Err(too_large(bytes_max))
}

/// Bytes that are decompressed at once: they become a thousand times as many at most.
const INFLATED_AT_ONCE: usize = 256;
/// Bytes of a step, after which they are charged and others have a turn.
const STEP_BYTES: usize = 256 << 10;

async fn read_gzip(payload: &mut Payload, room: &mut Taken, bytes_max: usize) -> Result<Bytes> {
    let mut inflater = Inflater::new(bytes_max);
    let mut arriving = Arriving::new(payload);
    while let Some(mut piece) = arriving.next().await? {
        while !piece.is_empty() {
            let before = inflater.len();
            let step = move || {
                inflater.step(&mut piece)?;
                Ok((inflater, piece))
            };
            (inflater, piece) = away_if_long(before, step).await?;
            room.grow(inflater.len() - before)?;
        }
    }
    inflater.finish()
}

/// Decompresses piece by piece into memory that never exceeds its limit.
struct Inflater {
    decoder: MultiGzDecoder<Bounded>,
    bytes_max: usize,
    empty: bool,
}
struct Bounded {
    out: Vec<u8>,
    bytes_max: usize,
    overflowed: bool,
}
impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        if self.out.len() + piece.len() > self.bytes_max {
            self.overflowed = true;
            return Err(std::io::Error::other("over the limit"));
        }
        self.out.extend_from_slice(piece);
        Ok(piece.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
impl Inflater {
    fn new(bytes_max: usize) -> Self {
        let sink = Bounded { out: Vec::new(), bytes_max, overflowed: false };
        Inflater { decoder: MultiGzDecoder::new(sink), bytes_max, empty: true }
    }
    fn len(&self) -> usize {
        self.decoder.get_ref().out.len()
    }
    /// Decompresses some of a piece, and takes that away from it.
    fn step(&mut self, piece: &mut Bytes) -> Result<()> {
        let begun = self.len();
        while !piece.is_empty() && self.len() < begun + STEP_BYTES {
            let some = piece.split_to(piece.len().min(INFLATED_AT_ONCE));
            self.push(&some)?;
        }
        Ok(())
    }
    fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.empty &= piece.is_empty();
        let written = self.decoder.write_all(piece);
        written.map_err(|_| self.failure())
    }
    fn finish(mut self) -> Result<Bytes> {
        if self.empty {
            return Ok(Bytes::new());
        }
        if self.decoder.try_finish().is_err() {
            return Err(self.failure());
        }
        Ok(Bytes::from(std::mem::take(&mut self.decoder.get_mut().out)))
    }
    fn failure(&self) -> Error {
        if self.decoder.get_ref().overflowed {
            too_large(self.bytes_max)
        } else {
            Error::invalid("The body is not valid gzip")
        }
    }
}

fn too_large(bytes_max: usize) -> Error {
    Error::new(ErrorKind::TooLarge, format!("The body is too big: at most {bytes_max} bytes are accepted"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }
    fn inflate(bytes: &[u8], bytes_max: usize, piece: usize) -> Result<Bytes, ErrorKind> {
        let mut inflater = Inflater::new(bytes_max);
        for piece in bytes.chunks(piece) {
            inflater.push(piece).map_err(|error| error.kind)?;
        }
        inflater.finish().map_err(|error| error.kind)
    }

    #[test]
    fn inflates_in_pieces_of_any_size() {
        let text = b"{\"query\":\"some text that repeats, repeats, repeats\"}".repeat(50);
        for piece in [1, 7, 4096] {
            assert_eq!(inflate(&gzip(&text), 1 << 20, piece).unwrap(), text);
        }
        assert_eq!(inflate(b"", 10, 1).unwrap(), Bytes::new());
    }

    #[test]
    fn a_bomb_is_cut_at_the_limit() {
        let bomb = gzip(&vec![0u8; 8 << 20]);
        assert!(bomb.len() < 16 << 10);
        assert_eq!(inflate(&bomb, 1 << 20, 512), Err(ErrorKind::TooLarge));
        assert_eq!(inflate(&bomb, 8 << 20, 512).unwrap().len(), 8 << 20);
        assert_eq!(inflate(&bomb, (8 << 20) - 1, 512), Err(ErrorKind::TooLarge));
        // Members one after another count together.
        let two = [gzip(&[0; 600]), gzip(&[0; 600])].concat();
        assert_eq!(inflate(&two, 1_000, 64), Err(ErrorKind::TooLarge));
    }

    #[test]
    fn slow_bodies_are_waited_for_and_dripping_ones_are_not() {
        let s = Duration::from_secs;
        for (since, bytes, expected) in [
            (s(0), 0, Some(s(30))),
            (s(29), 0, Some(s(1))),
            (s(30), 0, None),
            (s(60), 60, None),
            (s(60), 100 << 10, Some(s(30))),
            (s(600), 600 << 10, Some(s(30))),
            (s(600), 500 << 10, None),
        ] {
            assert_eq!(patience(since, bytes), expected, "{bytes} bytes after {since:?}");
        }
    }

    #[test]
    fn damaged_bodies_are_refused() {
        let whole = gzip(b"hello hello hello");
        assert_eq!(inflate(&whole[..whole.len() - 3], 100, 8), Err(ErrorKind::Invalid));
        assert_eq!(inflate(b"{\"query\":\"plain\"}", 100, 8), Err(ErrorKind::Invalid));
        let mut flipped = whole.clone();
        let middle = flipped.len() - 6;
        flipped[middle] ^= 0xff;
        assert_eq!(inflate(&flipped, 100, 8), Err(ErrorKind::Invalid));
    }
}
