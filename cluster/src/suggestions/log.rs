//! What does a build of a suggestions index say of itself (C§16)?
//!
//! The log is kept with the state of the meta group, so it is short: what is past its bounds is counted in its last line.

use crate::clock::rfc3339;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use quorate_model::{Error, Result};
use serde_json::json;
use std::io::{Read, Write};

/// Lines of a log.
const LINES_MAX: usize = 20_000;
/// Bytes of its lines.
const BYTES_MAX: usize = 4 << 20;
/// Bytes of a log as it is kept. Text of this kind takes a tenth.
const KEPT_BYTES_MAX: usize = 512 << 10;
/// Characters of a message.
const MESSAGE_CHARS_MAX: usize = 1_000;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something was done.
    Info,
    /// Something is no suggestion, and why.
    Skip,
    /// Something could not be done.
    Error,
}

/// The log of a build under way.
#[derive(Debug)]
pub struct BuildLog {
    lines: Vec<u8>,
    count: usize,
    left_out: usize,
    now_ms: fn() -> u64,
}

impl BuildLog {
    /// An empty one, with the clock that its lines go by.
    pub fn new(now_ms: fn() -> u64) -> BuildLog {
        BuildLog { lines: vec![], count: 0, left_out: 0, now_ms }
    }
    /// Adds a line at this depth, unless there are too many: an error is always added.
    pub fn add(&mut self, level: Level, depth: u8, message: &str) {
        let is_full = self.count >= LINES_MAX || self.lines.len() >= BYTES_MAX;
        if is_full && level != Level::Error || self.count >= 2 * LINES_MAX {
            self.left_out += 1;
            return;
        }
        self.push(level, depth, message);
    }
    fn push(&mut self, level: Level, depth: u8, message: &str) {
        let level = match level {
            Level::Info => "INFO",
            Level::Skip => "SKIP",
            Level::Error => "ERROR",
        };
        let message: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
        let timestamp = rfc3339((self.now_ms)());
        let line = json!({"timestamp": timestamp, "level": level, "message": message, "contextLevel": depth});
        self.lines.extend_from_slice(line.to_string().as_bytes());
        self.lines.push(b'\n');
        self.count += 1;
    }
    /// All of it, as it is kept. Cost: compresses it.
    pub fn close(mut self) -> Vec<u8> {
        if self.left_out > 0 {
            let told = format!("{} more lines are left out", self.left_out);
            self.push(Level::Info, 0, &told);
        }
        let kept = compressed(&self.lines);
        if kept.len() <= KEPT_BYTES_MAX {
            return kept;
        }
        // what hardly gets shorter: as much as can be kept however it is
        let cut =
            self.lines[..KEPT_BYTES_MAX / 2].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let left_out = self.lines[cut..].iter().filter(|byte| **byte == b'\n').count();
        self.lines.truncate(cut);
        self.push(Level::Info, 0, &format!("{left_out} more lines are left out"));
        compressed(&self.lines)
    }
}

fn compressed(lines: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(lines).expect("writing to memory cannot fail");
    encoder.finish().expect("writing to memory cannot fail")
}

/// The lines of a log as it is kept.
pub fn open(kept: &[u8]) -> Result<Vec<u8>> {
    let (mut lines, most) = (Vec::new(), (4 * BYTES_MAX) as u64);
    match DeflateDecoder::new(kept).take(most).read_to_end(&mut lines) {
        Ok(_) => Ok(lines),
        Err(error) => Err(Error::internal(format!("the log of a build cannot be read: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(log: BuildLog) -> Vec<Value> {
        let lines = open(&log.close()).unwrap();
        String::from_utf8(lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn lines_have_times_levels_and_depths() {
        let mut log = BuildLog::new(|| 0);
        log.add(Level::Info, 0, "begin");
        log.add(Level::Skip, 1, "skipping query \"a\"");
        log.add(Level::Error, 2, "no");
        let expected = json!([
            {"timestamp": "1970-01-01T00:00:00.000Z", "level": "INFO", "message": "begin", "contextLevel": 0},
            {"timestamp": "1970-01-01T00:00:00.000Z", "level": "SKIP", "message": "skipping query \"a\"", "contextLevel": 1},
            {"timestamp": "1970-01-01T00:00:00.000Z", "level": "ERROR", "message": "no", "contextLevel": 2},
        ]);
        assert_eq!(Value::Array(read(log)), expected);
    }

    #[test]
    fn a_log_is_bounded_and_says_what_is_left_out() {
        let mut log = BuildLog::new(|| 0);
        for number in 0..LINES_MAX + 5 {
            log.add(Level::Skip, 1, &format!("query {number}"));
        }
        log.add(Level::Error, 0, "last");
        let lines = read(log);
        assert_eq!(lines.len(), LINES_MAX + 2);
        assert_eq!(lines[LINES_MAX]["message"], "last");
        assert_eq!(lines[LINES_MAX + 1]["message"], "5 more lines are left out");
        // texts that do not get shorter
        let (mut log, mut state) = (BuildLog::new(|| 0), 1_u64);
        for _ in 0..5_000 {
            let noise = std::iter::repeat_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from_u32(0x4e00 + ((state >> 40) % 20_000) as u32).unwrap()
            });
            log.add(Level::Skip, 1, &noise.take(300).collect::<String>());
        }
        let kept = log.close();
        assert!(kept.len() <= KEPT_BYTES_MAX, "{}", kept.len());
        let lines = String::from_utf8(open(&kept).unwrap()).unwrap();
        assert!(lines.lines().last().unwrap().contains("more lines are left out"));
    }
}
