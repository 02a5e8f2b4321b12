//! Which queries does a configuration exclude?
//!
//! An entry is one or several whole words, unless it is a pattern: written between slashes, or with one of `^ $ * \ [ ( |`. Diacritics
//! of Latin letters tell no words apart, as suggestions have none unless they may have special characters.

use super::normalise::{normalised, without_diacritics};
use regex::{RegexSet, RegexSetBuilder};

/// Bytes that all patterns of a configuration may take once they are compiled.
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// What makes an entry a pattern.
const OF_PATTERNS: [char; 7] = ['^', '$', '*', '\\', '[', '(', '|'];

/// What a configuration excludes. Patterns match in linear time.
#[derive(Clone, Debug)]
pub struct Exclusions {
    words: Vec<Vec<String>>,
    patterns: RegexSet,
    /// The patterns as they were written.
    written: Vec<String>,
}

impl Exclusions {
    /// Reads the entries. Errors: what is wrong with a pattern, or that all of them are too large.
    pub fn new(entries: &[String]) -> Result<Exclusions, String> {
        let (mut words, mut written, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            match pattern(entry) {
                Some(pattern) => {
                    let one = RegexSetBuilder::new([pattern]).size_limit(COMPILED_BYTES_MAX).build();
                    one.map_err(|error| why(entry, &error))?;
                    patterns.push(pattern.to_owned());
                    written.push(entry.clone());
                    // without its marks the range of a class could be another one
                    let plain = without_diacritics(pattern);
                    if plain != pattern && !pattern.contains('[') {
                        patterns.push(plain);
                        written.push(entry.clone());
                    }
                }
                // with its special characters: what has some is not to exclude what has none
                None => {
                    let text = normalised(entry, true).ok();
                    words.extend(text.map(|text| parts(&without_diacritics(&text))));
                }
            }
        }
        let all =
            RegexSetBuilder::new(patterns).case_insensitive(true).size_limit(COMPILED_BYTES_MAX).build();
        let patterns =
            all.map_err(|_| "patterns that are smaller: these are too large together".to_owned())?;
        Ok(Exclusions { words, patterns, written })
    }
    /// The entry that excludes a suggestion.
    pub fn excludes(&self, text: &str) -> Option<String> {
        let plain = without_diacritics(text);
        let of_text = parts(&plain);
        let is_in = |words: &&Vec<String>| of_text.windows(words.len()).any(|part| part == &words[..]);
        if let Some(words) = self.words.iter().filter(|words| !words.is_empty()).find(is_in) {
            return Some(words.join(" "));
        }
        let first = |text: &str| self.patterns.matches(text).into_iter().next();
        first(text).or_else(|| first(&plain)).map(|number| self.written[number].clone())
    }
}

fn pattern(entry: &str) -> Option<&str> {
    let entry = entry.trim();
    match entry.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
        Some(inner) if !inner.is_empty() => Some(inner),
        _ => entry.contains(OF_PATTERNS).then_some(entry),
    }
}

/// The words of a text; hyphens and the like end a word.
fn parts(text: &str) -> Vec<String> {
    let ends = |c: char| c == ' ' || matches!(c, '-' | '\'' | '&' | '.');
    text.split(ends).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn why(entry: &str, error: &regex::Error) -> String {
    let entry = quorate_model::error::shortened(entry);
    match error {
        regex::Error::CompiledTooBig(_) => format!("patterns that are smaller than {entry}"),
        _ => format!("words and patterns; {entry} is no regular expression"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[&str]) -> Result<Exclusions, String> {
        Exclusions::new(&entries.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_whole_and_patterns_match_anywhere() {
        let exclusions = of(&["Shirt", "new york", "/^x+y$/", "se.ret$", "c++", "", "-"]).unwrap();
        for (text, expected) in [
            ("t-shirt red", Some("shirt")),
            ("shirts", None),
            ("in new york city", Some("new york")),
            ("new amsterdam york", None),
            ("xxy", Some("/^x+y$/")),
            ("axy", None),
            ("a segret", Some("se.ret$")),
            ("secrets", None),
            ("vitamin c", None),
            ("learn c++", Some("c++")),
        ] {
            assert_eq!(exclusions.excludes(text).as_deref(), expected, "{text}");
        }
        assert_eq!(of(&[]).unwrap().excludes("anything"), None);
        // as users type it, and as it is suggested
        for entry in ["Café", "café", "cafe", "/^CAFÉ/", "caf[eé]"] {
            for text in ["cafe noir", "café noir"] {
                assert!(of(&[entry]).unwrap().excludes(text).is_some(), "{entry}: {text}");
            }
        }
        assert_eq!(of(&["й"]).unwrap().excludes("и"), None, "a letter of its own");
    }

    #[test]
    fn patterns_that_are_wrong_or_explode_are_refused() {
        for (entry, expected) in [
            ("(", "is no regular expression"),
            ("[z-a]", "is no regular expression"),
            ("/(?=a)/", "is no regular expression"),
            (r"/(\w{100}){100}/", "patterns that are smaller than"),
            (r"/(((a{100}){100}){100}){100}/", "patterns that are smaller than"),
        ] {
            let error = of(&[entry]).unwrap_err();
            assert!(error.contains(expected), "{entry}: {error}");
        }
        let many: Vec<String> = (0..100).map(|number| format!(r"/\w{{20}}{number}/")).collect();
        assert!(Exclusions::new(&many).unwrap_err().contains("too large together"));
        // what takes others an exponential time
        let begun = std::time::Instant::now();
        let exclusions = of(&["/(a+)+$/", "/(a|a)*b/"]).unwrap();
        assert_eq!(exclusions.excludes(&"a".repeat(500)).as_deref(), Some("/(a+)+$/"));
        assert_eq!(exclusions.excludes(&format!("{}c", "a".repeat(500))), None);
        assert!(begun.elapsed().as_secs() < 5);
    }
}
