//! Which simplified character stands for a traditional one? (C§6.1)
//!
//! The mapping is that of the `fast2s` crate, read once into a table for the characters U+3400 to U+9FFF: one look-up a
//! character, 54 KB.

use std::sync::LazyLock;

const FIRST: u32 = 0x3400;
const LAST: u32 = 0x9FFF;

static TABLE: LazyLock<Vec<char>> = LazyLock::new(|| {
    let all = (FIRST..=LAST).map(|code| char::from_u32(code).expect("the range holds no surrogates"));
    // apart from each other, so that each is mapped without regard to its neighbours
    let apart: String = all.flat_map(|c| [c, ' ']).collect();
    fast2s::convert(&apart).chars().step_by(2).collect()
});

/// The simplified form of a character; itself when there is none.
pub(super) fn simplified(c: char) -> char {
    let code = c as u32;
    if !(FIRST..=LAST).contains(&code) {
        return c;
    }
    TABLE.get((code - FIRST) as usize).copied().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traditional_characters_become_simplified() {
        for (from, to) in
            [('東', '东'), ('國', '国'), ('體', '体'), ('東', '东'), ('学', '学'), ('a', 'a'), ('の', 'の')]
        {
            assert_eq!(simplified(from), to);
        }
        assert_eq!(TABLE.len() as u32, LAST - FIRST + 1);
    }
}
