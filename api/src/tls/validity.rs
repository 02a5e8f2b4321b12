//! Until when does a certificate count?
//!
//! Only as much of its encoding (X.690, RFC 5280 §4.1) is read as it takes to get there; a certificate that is not read so far is one
//! of which nothing is said.

use quorate_cluster::rfc3339;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// When a certificate has ended, as `2024-01-31T12:00:00Z`; `None` for one that counts at `now_ms` (Unix milliseconds), as far as its
/// end goes, or that cannot be read.
pub fn ended(certificate: &[u8], now_ms: u64) -> Option<String> {
    let end = end(certificate)?;
    let now: String = rfc3339(now_ms).chars().filter(char::is_ascii_digit).take(end.len()).collect();
    // a certificate counts up to and with its last second (RFC 5280 §4.1.2.5)
    let part = |from: usize, to: usize| &end[from..to];
    (end < now).then(|| {
        let date = format!("{}-{}-{}", part(0, 4), part(4, 6), part(6, 8));
        format!("{date}T{}:{}:{}Z", part(8, 10), part(10, 12), part(12, 14))
    })
}

/// The last second of a certificate, as 14 digits from the year on.
fn end(certificate: &[u8]) -> Option<String> {
    let (content, _) = element(certificate, SEQUENCE)?;
    let (mut signed, _) = element(content, SEQUENCE)?;
    if let Some((_, rest)) = element(signed, VERSION) {
        signed = rest;
    }
    // serial number, algorithm, issuer
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        (_, signed) = element(signed, tag)?;
    }
    let (validity, _) = element(signed, SEQUENCE)?;
    let (_, not_after) = time(validity)?;
    time(not_after).map(|(text, _)| text)
}

/// A time, as 14 digits, and what comes after it.
fn time(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (short, long) = (element(bytes, UTC_TIME), element(bytes, GENERALIZED_TIME));
    let (content, rest) = short.or(long)?;
    let text = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    let text = match short.is_some() {
        // years from 50 on are of the last century
        true if text >= "50" => format!("19{text}"),
        true => format!("20{text}"),
        false => text.to_owned(),
    };
    (text.len() == 14 && text.bytes().all(|byte| byte.is_ascii_digit())).then_some((text, rest))
}

/// The content of an element that has this tag, and what comes after it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, bytes) = bytes.split_first()?;
    let (&first, bytes) = bytes.split_first()?;
    let (length, bytes) = match first {
        0..0x80 => (usize::from(first), bytes),
        0x81..=0x83 => {
            let (length, bytes) = bytes.split_at_checked(usize::from(first - 0x80))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), bytes)
        }
        0x80 | 0x84.. => return None,
    };
    (found == tag).then(|| bytes.split_at_checked(length)).flatten()
}
