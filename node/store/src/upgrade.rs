//! Which steps bring an older data folder to the present format.

use crate::error::{Result, StoreError};
use crate::files::Files;
use crate::layout::{FORMAT, Layout};

/// Brings a folder from format N to N + 1. Must be safe to run again after a power cut in its middle.
type Step = fn(&Layout, &dyn Files) -> Result<()>;

/// `STEPS[n]` leads from format n + 1 to n + 2.
const STEPS: [Step; FORMAT as usize - 1] = [];

/// Runs every step from `found` to [`FORMAT`]. The caller writes the new format number afterwards.
///
/// Errors: `TooNew` when the folder is newer than this version.
pub fn run(layout: &Layout, files: &dyn Files, found: u32) -> Result<()> {
    if found > FORMAT {
        return Err(StoreError::TooNew { path: layout.root().to_path_buf(), found, known: FORMAT });
    }
    if found == 0 {
        return Err(StoreError::damaged(layout.format().display().to_string(), "format 0 never existed"));
    }
    for (number, step) in STEPS.iter().enumerate().skip(found as usize - 1) {
        tracing::info!(from = number + 1, to = number + 2, "upgrading the data folder");
        step(layout, files)?;
    }
    Ok(())
}
