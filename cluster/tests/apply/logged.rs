//! What this process logs as errors, for tests that hold it against what a node says.

use parking_lot::Mutex;
use serde_json::Value;
use std::io::Write;
use tracing_subscriber::filter::LevelFilter;

static WRITTEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Sink;

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        WRITTEN.lock().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Keeps every line from now on. Further calls change nothing.
pub fn watch() {
    let lines = tracing_subscriber::fmt().json().flatten_event(true).with_max_level(LevelFilter::ERROR);
    let _kept_already = lines.with_writer(|| Sink).try_init();
}
/// The lines of all tests of this process so far.
pub fn lines() -> Vec<Value> {
    let written = WRITTEN.lock().clone();
    let lines = written.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    lines.map(|line| serde_json::from_slice(line).expect("a line of JSON")).collect()
}
