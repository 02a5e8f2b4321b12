//! Which queries were half typed, misspelt, or forms of others, and what were they to be?

use super::Candidate;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// What a source finds for a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finds {
    /// Enough, as it stands: so many records.
    Enough(u64),
    /// Enough once its last word is completed; as it stands so many.
    AsPrefix(u64),
    /// Enough once it is corrected; as it stands so many.
    Corrected(u64),
    /// Too few: so many.
    TooFew(u64),
}

/// A candidate, and what the source finds for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The candidate.
    pub candidate: Candidate,
    /// What is found.
    pub finds: Finds,
}

/// What becomes of the candidates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// The suggestions with the places of their candidates, the most popular first; what was folded into them counts for them.
    pub kept: Vec<(usize, Candidate)>,
    /// Which candidates are none, and why.
    pub skipped: Vec<(String, String)>,
}

/// Decides on the candidates of a source. `is_over` is looked at now and then; the answer is `None` once it says so.
///
/// Cost: some nanoseconds for each pair of a misspelt candidate and a suggestion of about its length.
pub fn fold(judged: &[Judged], min_hits: u32, is_over: impl Fn() -> bool) -> Option<Folded> {
    let mut kept: Vec<(usize, Candidate)> = judged
        .iter()
        .enumerate()
        .filter(|(_, it)| matches!(it.finds, Finds::Enough(_)))
        .map(|(place, it)| (place, it.candidate.clone()))
        .collect();
    let targets = Targets::new(&kept);
    let (mut gained, mut skipped) = (vec![0_u64; kept.len()], Vec::new());
    for Judged { candidate, finds } in judged {
        let (target, hits) = match *finds {
            Finds::Enough(_) => continue,
            Finds::AsPrefix(hits) => (targets.completion(&candidate.text), hits),
            Finds::Corrected(hits) => (targets.correction(&candidate.text), hits),
            Finds::TooFew(hits) => (None, hits),
        };
        if is_over() {
            return None;
        }
        let why = match target {
            Some(target) => {
                gained[target] = gained[target].saturating_add(candidate.popularity);
                let form = if matches!(finds, Finds::AsPrefix(_)) { "completed" } else { "corrected" };
                format!("{form} to \"{}\"", kept[target].1.text)
            }
            None => format!("not enough search results, got {hits}, expected {min_hits}"),
        };
        skipped.push((candidate.text.clone(), why));
    }
    for ((_, candidate), gained) in kept.iter_mut().zip(gained) {
        candidate.popularity = candidate.popularity.saturating_add(gained);
    }
    kept.sort_by_key(|(_, it)| std::cmp::Reverse(it.popularity));
    Some(Folded { kept, skipped })
}

/// What candidates can be folded into, by how they are looked for.
struct Targets<'k> {
    kept: &'k [(usize, Candidate)],
    by_text: Vec<usize>,
    by_length: BTreeMap<usize, Vec<(usize, Vec<char>, u64)>>,
}

impl<'k> Targets<'k> {
    fn new(kept: &'k [(usize, Candidate)]) -> Self {
        let mut by_text: Vec<usize> = (0..kept.len()).collect();
        by_text.sort_unstable_by_key(|at| &kept[*at].1.text);
        let mut by_length: BTreeMap<usize, Vec<(usize, Vec<char>, u64)>> = BTreeMap::new();
        for (at, (_, candidate)) in kept.iter().enumerate() {
            let letters: Vec<char> = candidate.text.chars().collect();
            let set = letter_set(&letters);
            by_length.entry(letters.len()).or_default().push((at, letters, set));
        }
        Targets { kept, by_text, by_length }
    }
    /// The most popular one that begins with a text.
    fn completion(&self, text: &str) -> Option<usize> {
        let begin = self.by_text.partition_point(|at| *self.kept[*at].1.text < *text);
        let following =
            self.by_text[begin..].iter().take_while(|at| self.kept[**at].1.text.starts_with(text));
        following.copied().max_by_key(|at| (self.kept[*at].1.popularity, std::cmp::Reverse(*at)))
    }
    /// The most popular one among those that are the fewest edits away: one, or two from eight letters.
    fn correction(&self, text: &str) -> Option<usize> {
        const LONG: usize = 8;
        let letters: Vec<char> = text.chars().collect();
        let most = if letters.len() >= LONG { 2 } else { 1 };
        let (mut best, set) = (None, letter_set(&letters));
        for (_, those) in self.by_length.range(letters.len().saturating_sub(most)..=letters.len() + most) {
            for (at, theirs, their_set) in those {
                // an edit changes at most two letters of the set
                if (set ^ their_set).count_ones() as usize > 2 * most {
                    continue;
                }
                if let Some(edits) = edits(&letters, theirs, most) {
                    let rank =
                        (std::cmp::Reverse(edits), self.kept[*at].1.popularity, std::cmp::Reverse(*at));
                    best = best.max(Some(rank));
                }
            }
        }
        best.map(|(_, _, std::cmp::Reverse(at))| at)
    }
}

fn letter_set(letters: &[char]) -> u64 {
    letters.iter().fold(0, |set, letter| set | 1 << (u32::from(*letter) % 64))
}

/// Letters inserted, left out, replaced or exchanged with their neighbour, unless they are more than `most`.
fn edits(a: &[char], b: &[char], most: usize) -> Option<usize> {
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<usize>>(), vec![0; b.len() + 1]];
    for (i, &x) in a.iter().enumerate() {
        let [before, last, next] = &mut rows;
        next[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(x != y);
            next[j + 1] = replaced.min(last[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                next[j + 1] = next[j + 1].min(before[j - 1] + 1);
            }
        }
        if next.iter().all(|edits| *edits > most) {
            return None;
        }
        rows.rotate_left(1);
    }
    Some(rows[1][b.len()]).filter(|edits| *edits <= most)
}

/// Variants of a suggestion that are looked for.
const VARIANTS_MAX: usize = 256;

/// Keeps of suggestions that are forms of each other, word by word, the most popular one, which counts for all. `forms` says other forms
/// of a word; two words are forms of each other when one of them is among those of the other.
/// Shape: the most popular first, before and after.
pub fn fold_plurals(kept: &[Candidate], forms: impl Fn(&str) -> Vec<String>) -> Folded {
    let alternatives = alternatives(kept, forms);
    let (mut by_text, mut folded) = (FxHashMap::default(), Folded::default());
    for (place, candidate) in kept.iter().enumerate() {
        let found =
            variants(&candidate.text, &alternatives).iter().find_map(|text| by_text.get(text).copied());
        match found {
            Some(at) => {
                let (_, first): &mut (usize, Candidate) = &mut folded.kept[at];
                first.popularity = first.popularity.saturating_add(candidate.popularity);
                folded.skipped.push((candidate.text.clone(), format!("another form of \"{}\"", first.text)));
            }
            None => {
                by_text.insert(candidate.text.clone(), folded.kept.len());
                folded.kept.push((place, candidate.clone()));
            }
        }
    }
    folded.kept.sort_by_key(|(_, it)| std::cmp::Reverse(it.popularity));
    folded
}

/// For each word that has any the other forms that are words of suggestions.
fn alternatives(kept: &[Candidate], forms: impl Fn(&str) -> Vec<String>) -> FxHashMap<&str, Vec<&str>> {
    let vocabulary: FxHashSet<&str> = kept.iter().flat_map(|candidate| candidate.text.split(' ')).collect();
    let mut alternatives: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for &word in &vocabulary {
        for form in forms(word) {
            if let Some(&form) = vocabulary.get(form.as_str()).filter(|form| **form != word) {
                alternatives.entry(word).or_default().push(form);
                alternatives.entry(form).or_default().push(word);
            }
        }
    }
    for words in alternatives.values_mut() {
        words.sort_unstable();
        words.dedup();
    }
    alternatives
}

/// A text with its words in other forms; not the text itself.
fn variants(text: &str, alternatives: &FxHashMap<&str, Vec<&str>>) -> Vec<String> {
    let mut variants = vec![String::new()];
    for (number, word) in text.split(' ').enumerate() {
        let others = alternatives.get(word).map_or(&[][..], |others| others);
        let others = if variants.len() * (1 + others.len()) > VARIANTS_MAX { &[] } else { others };
        let blank = if number > 0 { " " } else { "" };
        let forms = || [word].into_iter().chain(others.iter().copied());
        let longer =
            variants.iter().flat_map(|begin| forms().map(move |form| format!("{begin}{blank}{form}")));
        variants = longer.collect();
    }
    variants.retain(|variant| variant != text);
    variants
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(text: &str, popularity: u64) -> Candidate {
        Candidate { text: text.to_owned(), popularity }
    }
    fn shown(folded: &Folded) -> (Vec<(&str, u64)>, Vec<(&str, &str)>) {
        let kept = folded.kept.iter().map(|(_, it)| (&*it.text, it.popularity)).collect();
        let skipped = folded.skipped.iter().map(|(text, why)| (&**text, &**why)).collect();
        (kept, skipped)
    }

    #[test]
    fn half_typed_and_misspelt_queries_count_for_what_was_meant() {
        let judged: Vec<Judged> = [
            ("shoe rack", 9, Finds::Enough(7)),
            ("shoes", 5, Finds::Enough(9)),
            ("sneakers", 4, Finds::Enough(9)),
            ("sho", 3, Finds::AsPrefix(0)),
            ("sneekars", 2, Finds::Corrected(0)),
            ("snekaers", 2, Finds::Corrected(1)),
            ("shose", 1, Finds::Corrected(0)),
            ("sneakrrrs", 1, Finds::Corrected(0)),
            ("zzz", 8, Finds::AsPrefix(2)),
            ("unicorn", 7, Finds::TooFew(1)),
        ]
        .into_iter()
        .map(|(text, popularity, finds)| Judged { candidate: candidate(text, popularity), finds })
        .collect();
        let folded = fold(&judged, 5, || false).unwrap();
        let expected = (
            vec![("shoe rack", 12), ("sneakers", 9), ("shoes", 6)],
            vec![
                ("sho", "completed to \"shoe rack\""),
                ("sneekars", "corrected to \"sneakers\""),
                ("snekaers", "corrected to \"sneakers\""),
                ("shose", "corrected to \"shoes\""),
                ("sneakrrrs", "corrected to \"sneakers\""),
                ("zzz", "not enough search results, got 2, expected 5"),
                ("unicorn", "not enough search results, got 1, expected 5"),
            ],
        );
        assert_eq!(shown(&folded), expected);
        assert_eq!(folded.kept.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [0, 2, 1]);
        assert_eq!(fold(&judged, 5, || true), None);
        assert_eq!(fold(&[], 5, || true), Some(Folded::default()));
    }

    #[test]
    fn edits_are_those_of_a_slow_computation() {
        fn slow(a: &[char], b: &[char]) -> usize {
            match (a, b) {
                ([], rest) | (rest, []) => rest.len(),
                ([x, a1 @ ..], [y, b1 @ ..]) => {
                    let replaced = slow(a1, b1) + usize::from(x != y);
                    let mut least = replaced.min(slow(a1, b) + 1).min(slow(a, b1) + 1);
                    if let ([x1, a2 @ ..], [y1, b2 @ ..]) = (a1, b1)
                        && (x, x1) == (y1, y)
                    {
                        least = least.min(slow(a2, b2) + 1);
                    }
                    least
                }
            }
        }
        let words = ["", "a", "b", "ab", "ba", "abc", "acb", "bca", "abab", "baba", "aabb", "cab"];
        let letters = words.map(|word| word.chars().collect::<Vec<_>>());
        for a in &letters {
            for b in &letters {
                let exact = slow(a, b);
                for most in 0..4 {
                    assert_eq!(edits(a, b, most), (exact <= most).then_some(exact), "{a:?} {b:?} {most}");
                }
            }
        }
    }

    #[test]
    fn of_forms_of_the_same_words_the_most_popular_stays() {
        let kept = [
            candidate("red shoes", 9),
            candidate("shoe", 7),
            candidate("red shoe", 5),
            candidate("shoes", 3),
            candidate("mouse", 2),
            candidate("mice", 1),
            candidate("red", 1),
        ];
        // as rules do it: one way for some words, and words that nobody types
        let forms = |word: &str| match word {
            "shoes" => vec!["shoe".to_owned(), "sho".to_owned()],
            "mouse" => vec!["mice".to_owned()],
            _ => vec![],
        };
        let folded = fold_plurals(&kept, forms);
        let expected = (
            vec![("red shoes", 14), ("shoe", 10), ("mouse", 3), ("red", 1)],
            vec![
                ("red shoe", "another form of \"red shoes\""),
                ("shoes", "another form of \"shoe\""),
                ("mice", "another form of \"mouse\""),
            ],
        );
        assert_eq!(shown(&folded), expected);
        let many = [candidate(&vec!["shoes"; 40].join(" "), 2), candidate(&vec!["shoe"; 40].join(" "), 1)];
        assert_eq!(fold_plurals(&many, forms).kept.len(), 2, "no more is looked for than there is room");
    }
}
