//! How are the bytes of a CSV file handed to the reader of rows, and what is wrong with them that it does not say?

use super::source::{BUFFER_BYTES, RECORD_BYTES_MAX};
use std::io::{BufRead, Error, Read, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that the reader of rows may take for one: it reads ahead.
pub const ROW_BYTES_MAX: u64 = (RECORD_BYTES_MAX + BUFFER_BYTES) as u64;

/// A file of rows, of which one may have only so many bytes: a quote that nobody closes makes a row of the whole file.
pub struct Rows<R> {
    input: R,
    /// What the row that is read now may still take.
    left: Arc<AtomicU64>,
    place: Place,
    line: u64,
    /// Whether nothing but a mark of the order of bytes was read.
    is_begin: bool,
    /// The line of the last quote that opened a cell.
    opened: u64,
}

/// Where in a cell the bytes that were read end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before its first byte.
    Start,
    /// Outside quotes.
    Plain,
    /// Between its quotes.
    Quoted,
    /// Behind a quote that closes them, unless another one follows.
    Closing,
}

impl<R: BufRead> Rows<R> {
    /// The file; `left` is set anew before each row.
    pub fn new(input: R, left: Arc<AtomicU64>) -> Rows<R> {
        Rows { input, left, place: Place::Start, line: 1, is_begin: true, opened: 0 }
    }
    fn pass(&mut self, byte: u8) {
        self.line += u64::from(byte == b'\n');
        self.is_begin &= matches!(byte, 0xEF | 0xBB | 0xBF);
        self.place = match (self.place, byte) {
            (Place::Start, _) if self.is_begin => Place::Start,
            (Place::Start, b'"') => {
                self.opened = self.line;
                Place::Quoted
            }
            (Place::Quoted, b'"') => Place::Closing,
            (Place::Closing, b'"') | (Place::Quoted, _) => Place::Quoted,
            (Place::Start | Place::Plain | Place::Closing, b',' | b'\n' | b'\r') => Place::Start,
            (Place::Start | Place::Plain | Place::Closing, _) => Place::Plain,
        };
    }
}

impl<R: BufRead> Read for Rows<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(Error::other(format!(
                "a row longer than {RECORD_BYTES_MAX} bytes; is there a quote that nothing closes?"
            )));
        }
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.input.read(&mut buffer[..most])?;
        if read == 0 && most > 0 && self.place == Place::Quoted {
            let line = self.opened;
            return Err(Error::other(format!("line {line}: the quote before a cell is never closed")));
        }
        self.left.store(left - read as u64, Ordering::Relaxed);
        buffer[..read].iter().for_each(|byte| self.pass(*byte));
        Ok(read)
    }
}
