//! What else can stand for words of a query, and in which ways can the query be read? (C§6.4)
//!
//! A single word that stands for a single word is one more term that its query term matches. Where the number of words changes, the query
//! can be read in another way: every way is a path of units, and a record gets the better of what its paths say.

use super::synonyms::{Kind, SynonymSet, Target};
use super::words::{Compounds, Other, OtherReason, Word, Words};
use crate::language::{Dictionaries, Languages};
use quorate_model::limits::QUERY_WORDS_MAX;
use quorate_model::params::{ExactOnSingleWord, ForLanguages};
use quorate_model::settings::Effective;
use std::sync::Arc;

/// Ways to read one query at most; the words as typed are the first.
pub const PATHS_MAX: usize = 16;
/// Of the words of a query, those whose neighbours are joined with them (C§6.4).
const JOINED_WORDS: usize = 5;

/// Why something stands for words of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A synonym, or a placeholder of records.
    Synonym,
    /// Several words written as one.
    Concat,
    /// One word written as two.
    Split,
    /// The parts of a compound word, wherever they stand.
    Compound,
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
    /// The words to find instead; but for the parts of a compound, each directly after the one before.
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
            Reason::Synonym | Reason::Compound => false,
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

/// What synonyms stand for in one query at most.
const TARGETS_MAX: usize = 256;

/// Leaves stop words out and adds what stands for the words: other forms, synonyms, neighbours written as one.
pub fn add(words: &mut Words, dictionaries: &Arc<Dictionaries>, synonyms: &SynonymSet, params: &Effective) {
    let languages = |which: &ForLanguages| match which {
        ForLanguages::None => Languages::NONE,
        ForLanguages::Query => Languages::of_query(&params.query_languages),
        ForLanguages::Listed(listed) => Languages::listed(listed),
    };
    let plural_languages = languages(&params.ignore_plurals);
    if !plural_languages.is_empty() {
        for word in words.wanted.iter_mut().filter(|word| !word.quoted) {
            let exact = params.alternatives_as_exact.plurals;
            for text in dictionaries.declensions(&word.text, plural_languages) {
                word.add(Other { text, reason: OtherReason::Plural, prefix: false, typos: 0, exact });
            }
        }
    }
    let stop_languages = languages(&params.remove_stop_words);
    let is_stop =
        |word: &Word| !word.prefix && !word.quoted && dictionaries.is_stop_word(&word.text, stop_languages);
    let mut stop: Vec<bool> = match stop_languages.is_empty() {
        true => vec![false; words.wanted.len()],
        false => words.wanted.iter().map(is_stop).collect(),
    };
    // a query of nothing else is meant
    if stop.iter().all(|stop| *stop) && words.beyond.iter().flatten().all(is_stop) {
        stop.fill(false);
    } else {
        words.beyond.retain(|phrase| !phrase.iter().all(is_stop));
    }
    if params.synonyms && !synonyms.is_empty() {
        add_synonyms(words, &stop, synonyms, params);
    }
    if stop.contains(&true) {
        let all = std::mem::take(&mut words.wanted);
        let (stopped, wanted): (Vec<_>, Vec<_>) = all.into_iter().partition(|word| stop[word.place]);
        (words.wanted, words.stop_words) = (wanted, stopped);
        // whoever leaves makes room for the next
        let single =
            words.beyond.iter().take_while(|phrase| matches!(phrase.as_slice(), [word] if !word.quoted));
        let room = single.count().min(QUERY_WORDS_MAX - words.wanted.len());
        words.wanted.extend(words.beyond.drain(..room).flatten());
    }
    if let [word] = words.wanted.as_mut_slice()
        && params.exact_on_single_word_query == ExactOnSingleWord::Word
    {
        // a list of languages that is given for stop words counts before those of the query (C§12.3)
        let languages = match &params.remove_stop_words {
            listed @ ForLanguages::Listed(_) => languages(listed),
            ForLanguages::None | ForLanguages::Query => Languages::of_query(&params.query_languages),
        };
        word.says_little = dictionaries.is_stop_word(&word.text, languages);
    }
    words.alternatives.extend(concats(&words.wanted));
    // without languages every second word would be a compound of some
    let languages = Languages::listed(&params.query_languages);
    if params.decompound_query && !languages.is_empty() {
        words.compounds = Some(Compounds { dictionaries: dictionaries.clone(), languages });
    }
}
/// Looks every stretch of the query up, longest first. `stop` says which of the typed words are left out.
fn add_synonyms(words: &mut Words, stop: &[bool], set: &SynonymSet, params: &Effective) {
    let mut left = TARGETS_MAX;
    let count = words.wanted.len();
    for from in 0..count {
        for length in (1..=set.words_max().min(count - from)).rev() {
            let stretch = &words.wanted[from..from + length];
            let kept = (from..from + length).filter(|i| !stop[*i]).count();
            if stretch.iter().any(|word| word.quoted) || kept == 0 {
                continue;
            }
            let last = &stretch[length - 1];
            let prefix = last.prefix && from + length == count;
            let text = stretch.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
            let before = stop[..from].iter().filter(|stop| !**stop).count();
            let place = Stretch { from, length, covers: (before, before + kept), prefix };
            let mut found: Vec<(Target<'_>, Lookup)> =
                set.of(&text).take(left).map(|target| (target, Lookup::Whole)).collect();
            if length == 1 {
                let forms = last.others.iter().filter(|other| other.reason == OtherReason::Plural);
                for form in forms {
                    found.extend(set.of(&form.text).map(|target| (target, Lookup::Form)));
                }
            }
            if prefix {
                found.extend(set.starting_with(&text).take(left).map(|target| (target, Lookup::Begun)));
            }
            found.truncate(left);
            left -= found.len();
            for (target, lookup) in found {
                place.add(words, target, lookup, params);
            }
        }
    }
}
/// How the words of the query gave a key of the synonyms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// They are the key.
    Whole,
    /// Another form of the word is the key.
    Form,
    /// The key goes on after them.
    Begun,
}
/// Words of the query that were looked up.
struct Stretch {
    from: usize,
    length: usize,
    /// The same without stop words: first and one past the last.
    covers: (usize, usize),
    /// Whether the last word may be begun only.
    prefix: bool,
}
impl Stretch {
    fn add(&self, words: &mut Words, target: Target<'_>, lookup: Lookup, params: &Effective) {
        let as_exact = params.alternatives_as_exact;
        let single = self.length == 1 && !target.text.contains(' ');
        let (typos, reason, may_be_exact) = match target.kind {
            Kind::Synonym if single => (0, OtherReason::Synonym, as_exact.single_word_synonyms),
            Kind::Synonym => (0, OtherReason::Synonym, as_exact.multi_word_synonyms),
            Kind::Correction(typos) => (typos, OtherReason::Correction, false),
            Kind::Placeholder => (0, OtherReason::Synonym, false),
        };
        let exact = may_be_exact
            && match lookup {
                Lookup::Whole => true,
                Lookup::Form => as_exact.plurals,
                Lookup::Begun => false,
            };
        let prefix = self.prefix && target.kind == Kind::Synonym;
        if single {
            let text = target.text.to_string();
            words.wanted[self.from].add(Other { text, reason, prefix, typos, exact });
            return;
        }
        let (from, to) = self.covers;
        let mut found: Vec<Word> = target.text.split(' ').map(Word::written).collect();
        if let Some(last) = found.last_mut() {
            last.prefix = prefix;
        }
        let typos = u32::from(typos);
        let same = |known: &&mut Alternative| (known.from, known.to, &known.words) == (from, to, &found);
        match words.alternatives.iter_mut().find(same) {
            Some(known) => known.exact |= exact,
            None => {
                let reason = Reason::Synonym;
                words.alternatives.push(Alternative { reason, from, to, words: found, typos, exact });
            }
        }
    }
}
/// The neighbours among the first words, and all words, written as one (C§6.4).
pub fn concats(words: &[Word]) -> Vec<Alternative> {
    let mut found = Vec::with_capacity(if words.len() > 1 { JOINED_WORDS } else { 0 });
    let pairs = (1..words.len().min(JOINED_WORDS)).map(|i| (i - 1, i + 1));
    let all = (words.len() > 2).then_some((0, words.len()));
    for (from, to) in pairs.chain(all) {
        let joined = &words[from..to];
        let apart = |pair: &[Word]| pair[0].place + 1 != pair[1].place;
        if !joined.iter().all(|word| word.joins) || joined.windows(2).any(apart) {
            continue;
        }
        let mut text = String::with_capacity(joined.iter().map(|word| word.text.len()).sum());
        text.extend(joined.iter().map(|word| word.text.as_str()));
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
    let (mut at, mut query_terms) = (0, 0);
    while at < words {
        match chosen.iter().find(|&&number| alternatives[number].from == at) {
            Some(&number) => {
                let alternative = &alternatives[number];
                path.units.push(Unit::Alternative(number));
                path.typos += alternative.typos;
                path.joined += (alternative.to - alternative.from) as u32 - 1;
                query_terms += alternative.words.len();
                at = alternative.to;
            }
            None => {
                path.units.push(Unit::Word(at));
                query_terms += 1;
                at += 1;
            }
        }
    }
    (query_terms <= QUERY_WORDS_MAX).then_some(path)
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
