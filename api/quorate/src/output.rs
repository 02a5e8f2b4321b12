//! What becomes of a command whose output nobody reads any more, as with `quorate keys list | head -1`?

use std::panic::PanicHookInfo;

/// What a shell is told of a program that ended by the signal for this.
const ENDED_BY_PIPE: i32 = 128 + 13;

/// Has the process end without a word when its output has been closed, as programs do. `print!` panics then.
pub fn end_with_its_reader() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if is_closed_output(info) {
            std::process::exit(ENDED_BY_PIPE);
        }
        before(info);
    }));
}

fn is_closed_output(info: &PanicHookInfo<'_>) -> bool {
    let text = info.payload_as_str().unwrap_or_default();
    text.starts_with("failed printing to stdout") && text.contains("Broken pipe")
}
