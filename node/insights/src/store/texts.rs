//! Which texts do the rows have that are in memory?

use crate::rows::Text;
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::hash::BuildHasher;

/// In how many parts they are: a set that grows moves all that it has, which of a hundred thousand takes milliseconds, in which
/// nobody else gets the processor.
const PARTS: usize = 32;

/// Each text once.
#[derive(Default)]
pub struct Texts([FxHashSet<Text>; PARTS]);

impl Texts {
    /// Gives a text that is there already, or a new one.
    pub fn share(&mut self, text: &str) -> Text {
        // each part looks at the lowest and the highest bits
        let part = (FxBuildHasher.hash_one(text) >> 32) as usize % PARTS;
        let texts = &mut self.0[part];
        match texts.get(text) {
            Some(shared) => shared.clone(),
            None => {
                let shared = Text::from(text);
                texts.insert(shared.clone());
                shared
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_text_is_there_once_and_no_part_has_many_more_than_others() {
        let mut texts = Texts::default();
        let count = 20_000;
        let first: Vec<Text> = (0..count).map(|number| texts.share(&format!("u{number}"))).collect();
        for (number, first) in first.iter().enumerate() {
            assert!(Arc::ptr_eq(first, &texts.share(&format!("u{number}"))));
        }
        assert_eq!(texts.0.iter().map(FxHashSet::len).sum::<usize>(), count);
        assert!(texts.0.iter().all(|part| part.len() < 2 * count / PARTS));
    }
}
