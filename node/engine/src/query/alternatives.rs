//! What else can stand for words of a query, and in which ways can the query be read? (C§6.4)
//!
//! A single word that stands for a single word is one more term of its slot. Where the number of words changes, the query
//! can be read in another way: every way is a path of units, and a record gets the better of what its paths say.

use super::words::Word;
use quorate_model::limits::QUERY_WORDS_MAX;

/// Ways to read one query at most; the words as typed are the first.
pub const PATHS_MAX: usize = 16;
/// Of the words of a query, those whose neighbours are joined with them (C§6.4).
const JOINED_WORDS: usize = 5;

/// Why something stands for words of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Several words written as one.
    Concat,
    /// One word written as two.
    Split,
}
/// Words that stand for a stretch of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// Why.
    pub reason: Reason,
    /// First word of the query it stands for.
    pub from: usize,
    /// One past the last word it stands for.
    pub to: usize,
    /// The words to find instead, each directly after the one before.
    pub words: Vec<Word>,
    /// Typos it costs.
    pub typos: u32,
    /// Whether a match can be exact (C§7.8).
    pub exact: bool,
}
impl Alternative {
    /// Whether it counts as a typo, so that it is ignored where typos are (C§4.5).
    pub fn is_typo(&self) -> bool {
        match self.reason {
            Reason::Concat | Reason::Split => true,
        }
    }
    fn is_apart_from(&self, other: &Alternative) -> bool {
        self.to <= other.from || other.to <= self.from
    }
}
/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A word of the query, by number.
    Word(usize),
    /// An alternative of the plan, by number.
    Alternative(usize),
}
/// One way to read the query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// What is looked for, in query order.
    pub units: Vec<Unit>,
    /// Typos that the alternatives on it cost.
    pub typos: u32,
    /// Pairs of neighbouring words of the query that are inside of an alternative: they count as adjacent.
    pub joined: u32,
}
impl Path {
    /// The words as typed.
    pub fn typed(words: usize) -> Path {
        Path { units: (0..words).map(Unit::Word).collect(), ..Path::default() }
    }
    /// Whether it is the words as typed.
    pub fn is_typed(&self) -> bool {
        self.units.iter().all(|unit| matches!(unit, Unit::Word(_)))
    }
}

/// The neighbours among the first words, and all words, written as one (C§6.4).
pub fn concats(words: &[Word]) -> Vec<Alternative> {
    let mut found: Vec<Alternative> = vec![];
    let pairs = (1..words.len().min(JOINED_WORDS)).map(|i| (i - 1, i + 1));
    let all = (words.len() > 2).then_some((0, words.len()));
    for (from, to) in pairs.chain(all) {
        let joined = &words[from..to];
        let apart = |pair: &[Word]| pair[0].place + 1 != pair[1].place;
        if !joined.iter().all(|word| word.joins) || joined.windows(2).any(apart) {
            continue;
        }
        let text: String = joined.iter().map(|word| word.text.as_str()).collect();
        let prefix = joined.last().is_some_and(|word| word.prefix);
        let words = vec![Word { prefix, ..Word::written(text) }];
        found.push(Alternative { reason: Reason::Concat, from, to, words, typos: 1, exact: false });
    }
    found
}
/// The ways to read `words`: as typed, then with one alternative, then with several that do not overlap; the first
/// [`PATHS_MAX`] of them that are not too long.
pub fn paths(words: usize, alternatives: &[Alternative]) -> Vec<Path> {
    let mut chosen: Vec<Vec<usize>> = vec![vec![]];
    let mut paths = vec![Path::typed(words)];
    let mut at = 0;
    while let Some(base) = chosen.get(at).cloned() {
        at += 1;
        let next = base.last().map_or(0, |last| last + 1);
        for (number, alternative) in alternatives.iter().enumerate().skip(next) {
            if paths.len() == PATHS_MAX {
                return paths;
            }
            let mut together = base.clone();
            together.push(number);
            let apart = base.iter().all(|&other| alternatives[other].is_apart_from(alternative));
            if apart && let Some(path) = path_of(words, alternatives, &together) {
                chosen.push(together);
                paths.push(path);
            }
        }
    }
    paths
}
/// The path through the chosen alternatives; `None` when it has too many words.
fn path_of(words: usize, alternatives: &[Alternative], chosen: &[usize]) -> Option<Path> {
    let mut path = Path::default();
    let (mut at, mut slots) = (0, 0);
    while at < words {
        match chosen.iter().find(|&&number| alternatives[number].from == at) {
            Some(&number) => {
                let alternative = &alternatives[number];
                path.units.push(Unit::Alternative(number));
                path.typos += alternative.typos;
                path.joined += (alternative.to - alternative.from) as u32 - 1;
                slots += alternative.words.len();
                at = alternative.to;
            }
            None => {
                path.units.push(Unit::Word(at));
                slots += 1;
                at += 1;
            }
        }
    }
    (slots <= QUERY_WORDS_MAX).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        let word = |(place, text)| Word { place, joins: true, ..Word::written(text) };
        text.split(' ').enumerate().map(word).collect()
    }
    #[test]
    fn neighbours_and_all_words_are_joined() {
        for (text, expected) in
            [("a", ""), ("a b", "ab"), ("a b c", "ab bc abc"), ("a b c d e f", "ab bc cd de abcdef")]
        {
            let found: Vec<String> = concats(&words(text)).iter().map(|a| a.words[0].text.clone()).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
        let mut apart = words("a b c");
        apart[2].place = 3;
        assert_eq!(concats(&apart).len(), 1);
    }
    #[test]
    fn paths_are_combinations_of_what_does_not_overlap() {
        let alternative = |from, to, text: &str| Alternative {
            reason: Reason::Concat,
            from,
            to,
            words: words(text),
            typos: 1,
            exact: false,
        };
        let alternatives = [alternative(0, 2, "ab"), alternative(1, 3, "bc"), alternative(2, 3, "c d")];
        let shown: Vec<String> = paths(3, &alternatives)
            .iter()
            .map(|path| {
                let unit = |unit: &Unit| match unit {
                    Unit::Word(i) => format!("{i}"),
                    Unit::Alternative(i) => format!("+{i}"),
                };
                let units: Vec<String> = path.units.iter().map(unit).collect();
                format!("{} {} {}", units.join(","), path.typos, path.joined)
            })
            .collect();
        assert_eq!(shown, ["0,1,2 0 0", "+0,2 1 1", "0,+1 1 1", "0,1,+2 1 0", "+0,+2 2 1"]);
        let long = [alternative(0, 1, "a b c d e f g h i j")];
        assert_eq!(paths(2, &long).len(), 1);
        let many: Vec<Alternative> = (0..40).map(|_| alternative(0, 1, "x")).collect();
        assert_eq!(paths(2, &many).len(), PATHS_MAX);
    }
}
