//! Which languages have a name, and which of them are meant? (C§12.2, C§12.3)

use quorate_model::languages::{self, CODES};

/// One language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u8);
impl Language {
    /// The language of a code, in any letter case.
    pub fn of(code: &str) -> Option<Language> {
        languages::number(code).map(|at| Language(at as u8))
    }
    /// Every language, in the order of the codes.
    pub fn all() -> impl Iterator<Item = Language> {
        (0..CODES.len() as u8).map(Language)
    }
    /// Its code.
    pub fn code(self) -> &'static str {
        CODES[usize::from(self.0)]
    }
}

/// A set of languages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Languages(u128);
impl Languages {
    /// No language.
    pub const NONE: Languages = Languages(0);
    /// Every language.
    pub const ALL: Languages = Languages((1 << CODES.len()) - 1);

    /// The languages of a list of codes; unknown codes are left out.
    pub fn listed<S: AsRef<str>>(codes: &[S]) -> Languages {
        codes.iter().filter_map(|code| Language::of(code.as_ref())).fold(Languages::NONE, Languages::with)
    }
    /// What `true` means for ignorePlurals and removeStopWords: queryLanguages, or all when it is empty (C§12.3).
    pub fn of_query<S: AsRef<str>>(query_languages: &[S]) -> Languages {
        if query_languages.is_empty() { Languages::ALL } else { Languages::listed(query_languages) }
    }
    /// The set with one more language.
    pub fn with(self, language: Language) -> Languages {
        Languages(self.0 | 1 << language.0)
    }
    /// What either set holds.
    pub fn and(self, other: Languages) -> Languages {
        Languages(self.0 | other.0)
    }
    /// What both sets hold.
    pub fn common(self, other: Languages) -> Languages {
        Languages(self.0 & other.0)
    }
    /// What only this set holds.
    pub fn minus(self, other: Languages) -> Languages {
        Languages(self.0 & !other.0)
    }
    /// Whether the language is in the set.
    pub fn contains(self, language: Language) -> bool {
        self.0 >> language.0 & 1 == 1
    }
    /// Whether a language with this code is in the set.
    pub fn has(self, code: &str) -> bool {
        Language::of(code).is_some_and(|language| self.contains(language))
    }
    /// Whether it holds none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_found_in_any_case() {
        assert!(CODES.is_sorted() && CODES.iter().all(|code| Language::of(code).unwrap().code() == *code));
        assert_eq!(Language::of("PT-BR").unwrap().code(), "pt-br");
        assert_eq!(Language::of("zh").unwrap().code(), "zh");
        assert_eq!(Language::of("xx"), None);
    }

    #[test]
    fn true_means_the_languages_of_the_query_or_all() {
        assert_eq!(Languages::of_query::<&str>(&[]), Languages::ALL);
        let some = Languages::of_query(&["fr", "nonsense", "zh"]);
        assert!(some.has("fr") && some.has("zh") && !some.has("en"));
        assert!(Languages::ALL.has("zh") && Languages::listed(&["nonsense"]).is_empty());
    }
}
