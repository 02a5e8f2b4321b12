//! Which members and words did parsers of this test ask for?

use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    static ASKED: RefCell<BTreeMap<String, Vec<String>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Notes what is known at a place, without the numbers of list entries.
pub fn note(path: &str, known: &[&str]) {
    let bare: String = path.chars().filter(|c| !(c.is_ascii_digit() || matches!(c, '[' | ']'))).collect();
    ASKED.with_borrow_mut(|asked| {
        let words = asked.entry(bare).or_default();
        for known in known {
            if !words.iter().any(|listed| listed == known) {
                words.push((*known).to_owned());
            }
        }
    });
}

/// What `parse` asks for: places, and the members or words that are known there. It runs on a thread of its own, which knows of
/// nothing else.
pub fn of(parse: impl FnOnce() + Send) -> BTreeMap<String, Vec<String>> {
    let run = || {
        parse();
        ASKED.take()
    };
    std::thread::scope(|scope| scope.spawn(run).join()).expect("what is parsed is valid")
}
