//! Is there room on the disk for what is to be written to the log?

use crate::effects::Persist;
use quorate_store::space::Room;
use std::io::Write as _;
use std::path::Path;

/// Bytes at most that are left to what makes room again: the durable commits and dumps without which no log can be cut.
const LAST_BYTES_MAX: u64 = 16 << 20;
/// Free bytes beyond the batch that a retry wants to see.
const PROBE_BYTES: usize = 64 << 10;
/// Name of the file that tries for space; it exists only for that moment.
const PROBE_NAME: &str = "space-probe";

/// Why entries may not be written now although the disk takes them: its last bytes are for what makes room again.
pub(crate) fn lacks_room(room: &Room, writes: &[Persist]) -> Option<String> {
    let floor = (room.last_bytes() / 2).min(LAST_BYTES_MAX);
    // what consensus itself writes lets a node lead and serve reads, however full its disk is
    let adds = writes.iter().flat_map(|write| &write.entries).any(|entry| !entry.data.is_empty());
    let free = room.free_bytes();
    (adds && free < floor).then(|| {
        format!("the disk is full: {} MB are free, the log needs {}", free / 1_000_000, floor / 1_000_000)
    })
}

/// Whether a file of the batch's size can be written. The engine would start a new file at each failed attempt.
pub(crate) fn has_space(dir: &Path, bytes: usize) -> bool {
    let path = dir.join(PROBE_NAME);
    let tried = std::fs::File::create(&path).and_then(|mut file| {
        let zeros = vec![0; 64 << 10];
        let mut left = bytes + PROBE_BYTES;
        while left > 0 {
            let count = left.min(zeros.len());
            file.write_all(&zeros[..count])?;
            left -= count;
        }
        Ok(())
    });
    // A leftover is replaced by the next probe.
    let _ = std::fs::remove_file(&path);
    tried.is_ok()
}
