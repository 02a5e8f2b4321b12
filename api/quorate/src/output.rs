//! What becomes of a command whose output nobody reads any more, as with `quorate keys list | head -1`?

use std::io::{IsTerminal, Write as _};

/// What a shell is told of a program that ended by the signal for this.
const ENDED_BY_PIPE: i32 = 128 + 13;

/// How `print!` says that it cannot, in a panic.
const FAILED: &str = "failed printing to stdout";

/// Has the process end without a word when its output has been closed, as programs do, and with one when it cannot be written.
pub fn end_with_its_reader() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        match info.payload_as_str().unwrap_or_default().strip_prefix(FAILED) {
            Some(why) if why.contains("Broken pipe") => std::process::exit(ENDED_BY_PIPE),
            Some(why) => {
                // standard error may be the same full disk
                let _ = writeln!(std::io::stderr(), "error: cannot write the output{why}");
                std::process::exit(1);
            }
            None => {}
        }
        before(info);
    }));
}

/// Whether a stream takes colours: it is a terminal that knows them, and nobody has said otherwise (<https://no-color.org>).
pub fn takes_colours(stream: &impl IsTerminal) -> bool {
    let is_said = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !is_said && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
