//! How does an import say how far it is? On a terminal by a bar, elsewhere by a line now and then when it has to wait.

use super::state::Done;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::fmt::Display;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// How far an import is.
pub struct Progress {
    bar: ProgressBar,
    told: Cell<Option<Instant>>,
}

impl Progress {
    /// Of a file of so many bytes, some of which may be done.
    pub fn new(bytes: u64, done: Option<&Done>) -> Progress {
        let target = match std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let style = ProgressStyle::with_template(
            "{bar:30} {percent:>3}%  {decimal_bytes_per_sec}  {eta} left  {msg}",
        )
        .expect("the template is a constant");
        let bar = ProgressBar::with_draw_target(Some(bytes), target).with_style(style);
        bar.set_position(done.map_or(0, |done| done.file_bytes));
        bar.reset_eta();
        Progress { bar, told: Cell::new(None) }
    }
    /// So much has been answered.
    pub fn reached(&self, done: &Done) {
        self.bar.set_position(done.file_bytes);
        self.bar.set_message(format!("{} records", done.records));
    }
    /// All has been answered.
    pub fn waits(&self) {
        self.bar.set_message("waiting until all can be found");
    }
    /// The node is away or too busy, and is asked again.
    pub fn fails(&self, done: &Done, why: &dyn Display) {
        let text = format!("{} records, trying again: {why}", done.records);
        if self.bar.is_hidden() && self.told.get().is_none_or(|told| told.elapsed() >= LINE_EVERY) {
            self.told.set(Some(Instant::now()));
            eprintln!("{text}");
        }
        self.bar.set_message(text);
    }
    /// It ends here.
    pub fn ends(&self, is_done: bool) {
        match is_done {
            true => self.bar.finish_and_clear(),
            false => self.bar.abandon(),
        }
    }
}
