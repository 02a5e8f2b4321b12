//! Which members and words did parsers of this test ask for?

use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    static ASKED: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
}

/// Notes what is known at a place, without the numbers of list entries.
pub fn note(path: &str, known: &[&str]) {
    let bare: String = path.chars().filter(|c| !(c.is_ascii_digit() || matches!(c, '[' | ']'))).collect();
    let known = known.join(" ");
    ASKED.with_borrow_mut(|asked| {
        let words = asked.entry(bare).or_default();
        if !words.split(" / ").any(|listed| listed == known) {
            *words = if words.is_empty() { known } else { format!("{words} / {known}") };
        }
    });
}

/// Everything that was noted on this thread, a line for each place.
pub fn all() -> Vec<String> {
    ASKED.with_borrow(|asked| asked.iter().map(|(path, known)| format!("{path}: {known}")).collect())
}
