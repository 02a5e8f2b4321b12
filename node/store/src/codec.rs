//! How values become bytes: bincode with a limit, and frames that carry a magic, a version, a length and a checksum.

use crate::error::{Result, StoreError};
use bincode::Options;
use serde::{Deserialize, Serialize};

/// Bytes of a frame before its payload: magic 4, version 2, zero 2, length 8, checksum 4.
pub const FRAME_HEADER_BYTES: usize = 20;

/// Encodes a value. Variable-length integers, little endian; the same value always gives the same bytes.
///
/// Documents (records, settings, …) do not pass through here as values but as raw JSON bytes: the encoding does not
/// describe itself.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    bincode::DefaultOptions::new()
        .with_limit(u64::MAX)
        .serialize(value)
        .expect("stored types have sequences of known length and no bound on writing")
}

/// As [`encode`], at the end of `out`. Cost: one pass; with a limit, or into memory of its own, the size is counted in one before it.
pub fn encode_into<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    bincode::DefaultOptions::new()
        .with_no_limit()
        .serialize_into(out, value)
        .expect("stored types have sequences of known length, and memory takes all that is written");
}

/// Decodes what [`encode`] made, all of it; texts may be those of `bytes`. Never allocates more than `limit` bytes for the claims of a length.
///
/// Errors: `Damaged` when the bytes are longer than `limit`, end early, have a rest, or are not such a value.
pub fn decode<'b, T: Deserialize<'b>>(bytes: &'b [u8], limit: usize) -> Result<T> {
    if bytes.len() > limit {
        return Err(StoreError::damaged("a stored value", format!("{} bytes, limit {limit}", bytes.len())));
    }
    bincode::DefaultOptions::new()
        .with_limit(limit as u64)
        .deserialize(bytes)
        .map_err(|e| StoreError::damaged("a stored value", e.to_string()))
}

/// Kind and format version at the start of every file and record of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Four letters that name the kind.
    pub magic: [u8; 4],
    /// The format version; readers accept every version up to theirs.
    pub version: u16,
}

/// Puts a payload behind a header with its kind, version, length and CRC-32 (of header and payload).
pub fn frame(mark: Mark, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(FRAME_HEADER_BYTES + payload.len());
    frame_into(&mut out, mark, payload);
    out
}

/// As [`frame`], at the end of `out`.
pub fn frame_into(out: &mut Vec<u8>, mark: Mark, payload: &[u8]) {
    let begin = out.len();
    out.extend_from_slice(&mark.magic);
    out.extend_from_slice(&mark.version.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    let checksum = frame_checksum(&out[begin..], payload);
    out.extend_from_slice(&checksum.to_le_bytes());
    out.extend_from_slice(payload);
}

/// A frame found at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed<'b> {
    /// The version it was written with.
    pub version: u16,
    /// The payload.
    pub payload: &'b [u8],
    /// The bytes behind the frame.
    pub rest: &'b [u8],
}

/// Checks and takes the frame at the start of `bytes`. `newest.version` is the newest version the caller reads.
///
/// Errors: `Damaged`, with a text that tells a foreign file, a newer version, a short file and a wrong checksum apart.
pub fn unframe(newest: Mark, bytes: &[u8]) -> Result<Framed<'_>> {
    let name = || format!("a {} frame", String::from_utf8_lossy(&newest.magic));
    let Some((header, behind)) = bytes.split_at_checked(FRAME_HEADER_BYTES) else {
        return Err(StoreError::damaged(name(), format!("{} bytes, shorter than its header", bytes.len())));
    };
    if header[..4] != newest.magic {
        return Err(StoreError::damaged(name(), "it starts with other letters"));
    }
    let version = u16::from_le_bytes([header[4], header[5]]);
    let length = u64::from_le_bytes(header[8..16].try_into().expect("eight bytes"));
    let checksum = u32::from_le_bytes(header[16..20].try_into().expect("four bytes"));
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let Some((payload, rest)) = behind.split_at_checked(length) else {
        return Err(StoreError::damaged(name(), format!("{} of {length} bytes are there", behind.len())));
    };
    if frame_checksum(&header[..16], payload) != checksum {
        return Err(StoreError::damaged(name(), "wrong checksum"));
    }
    if version == 0 || version > newest.version {
        let why = format!("version {version}, known up to {}", newest.version);
        return Err(StoreError::damaged(name(), why));
    }
    Ok(Framed { version, payload, rest })
}

/// The bytes behind the frame at the start of `bytes` by what its header says, whether or not its checksum holds; nothing when they
/// do not start with such a header or end before the frame does.
pub fn behind_claimed(newest: Mark, bytes: &[u8]) -> Option<&[u8]> {
    let (header, behind) = bytes.split_at_checked(FRAME_HEADER_BYTES)?;
    let length = u64::from_le_bytes(header[8..16].try_into().expect("eight bytes"));
    behind.get(usize::try_from(length).ok()?..).filter(|_| header[..4] == newest.magic)
}

fn frame_checksum(header: &[u8], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(header);
    crc.update(payload);
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MARK: Mark = Mark { magic: *b"TEST", version: 3 };

    #[test]
    fn golden_bytes_do_not_change() {
        let value = (7u64, Some("naïve".to_string()), vec![300u32, 1], false);
        let golden = [7, 1, 6, b'n', b'a', 0xc3, 0xaf, b'v', b'e', 2, 251, 44, 1, 1, 0];
        assert_eq!(encode(&value), golden);
        let mut behind = vec![9];
        encode_into(&mut behind, &value);
        assert_eq!(behind, [&[9], &golden[..]].concat());
        assert_eq!(decode::<(u64, Option<String>, Vec<u32>, bool)>(&golden, 64).unwrap(), value);
        let framed = frame(Mark { magic: *b"QDMP", version: 1 }, b"abc");
        assert_eq!(framed[..16], *b"QDMP\x01\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00");
        assert_eq!(framed[16..], [&0x8f58_12c8u32.to_le_bytes()[..], b"abc"].concat());
    }

    #[test]
    fn a_claimed_length_does_not_allocate() {
        let claim = encode(&(u64::MAX - 1));
        let error = decode::<Vec<u8>>(&claim, 1 << 10).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert!(decode::<Vec<u8>>(&encode(&vec![1u8; 100]), 50).is_err(), "over the limit");
        assert!(decode::<u8>(&[1, 2], 50).is_err(), "a rest is an error");
    }

    #[test]
    fn frames_tell_what_is_wrong() {
        let good = frame(MARK, b"payload");
        for (bytes, part) in [
            (good[..10].to_vec(), "shorter than its header"),
            (frame(Mark { magic: *b"ELSE", version: 1 }, b""), "other letters"),
            (good[..good.len() - 1].to_vec(), "6 of 7 bytes"),
            (frame(Mark { version: 4, ..MARK }, b"x"), "version 4, known up to 3"),
        ] {
            let text = unframe(MARK, &bytes).unwrap_err().to_string();
            assert!(text.contains(part), "{text} / {part}");
        }
    }

    proptest! {
        #[test]
        fn frames_survive_and_flips_do_not(payload in proptest::collection::vec(any::<u8>(), 0..200), rest in proptest::collection::vec(any::<u8>(), 0..9), at in any::<proptest::sample::Index>(), bit in 0u8..8) {
            let mut bytes = frame(MARK, &payload);
            let length = bytes.len();
            bytes.extend_from_slice(&rest);
            let found = unframe(MARK, &bytes).unwrap();
            prop_assert_eq!(found, Framed { version: 3, payload: &payload, rest: &rest });
            bytes[at.index(length)] ^= 1 << bit;
            prop_assert!(unframe(MARK, &bytes).is_err());
        }

        #[test]
        fn decode_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode::<Vec<(String, Option<Vec<u64>>)>>(&bytes, 256);
        }
    }
}
