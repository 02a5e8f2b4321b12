//! What do people type who look for records of this file? Every keystroke of a few words, some with a typo.

use quorate_tests::chance::Chance;

/// Words of one query at most.
const WORDS_MAX: usize = 4;
/// One sequence in this many has a typo.
const TYPO_EVERY: u64 = 10;

/// At least `count` queries: for a title, each prefix of its first one to four words.
pub fn keystrokes(titles: &[String], count: usize, chance: &mut Chance) -> Vec<String> {
    let mut queries = Vec::with_capacity(count + 64);
    while queries.len() < count && !titles.is_empty() {
        let title = &titles[chance.below(titles.len() as u64) as usize];
        let words: Vec<&str> =
            title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let wanted = (1 + chance.below(WORDS_MAX as u64) as usize).min(words.len());
        let mut text: Vec<char> = words[..wanted].join(" ").to_lowercase().chars().collect();
        if chance.below(TYPO_EVERY) == 0 && text.len() > 5 {
            let at = 1 + chance.below(text.len() as u64 - 2) as usize;
            if text[at] != ' ' && text[at + 1] != ' ' {
                text.swap(at, at + 1);
            }
        }
        for end in 1..=text.len() {
            if text[end - 1] != ' ' {
                queries.push(text[..end].iter().collect());
            }
        }
    }
    queries
}
