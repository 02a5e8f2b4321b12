//! Which other forms does a word have? Rules that exchange endings, and the exceptions, language by language.
//!
//! The index holds words as they are written, so a query word is looked for together with its forms. Words are
//! normalised: `bucher` stands for `Bücher`. Lists of whole languages would be better still; there is none that is
//! maintained, permissively licensed and small, see DECISIONS.md.

mod english;
mod germanic;
mod nordic;
mod romance;
mod rule;
mod slavic;
mod various;

use super::codes::{Language, Languages};
use rule::Rules;
use std::sync::LazyLock;

/// The languages with rules, those whose forms come first when many are wanted first.
static RULES: &[(&str, &Rules)] = &[
    ("en", &english::ENGLISH),
    ("fr", &romance::FRENCH),
    ("de", &germanic::GERMAN),
    ("es", &romance::SPANISH),
    ("it", &romance::ITALIAN),
    ("pt", &romance::PORTUGUESE),
    ("pt-br", &romance::PORTUGUESE),
    ("nl", &germanic::DUTCH),
    ("sv", &nordic::SWEDISH),
    ("da", &nordic::DANISH),
    ("no", &nordic::NORWEGIAN),
    ("nb", &nordic::NORWEGIAN),
    ("fi", &nordic::FINNISH),
    ("ru", &slavic::RUSSIAN),
    ("uk", &slavic::RUSSIAN),
    ("pl", &slavic::POLISH),
    ("cs", &slavic::CZECH),
    ("sk", &slavic::CZECH),
    ("bg", &slavic::BULGARIAN),
    ("hu", &various::HUNGARIAN),
    ("tr", &various::TURKISH),
    ("az", &various::TURKISH),
    ("kk", &various::KAZAKH),
    ("ky", &various::KAZAKH),
    ("tt", &various::KAZAKH),
    ("ca", &romance::CATALAN),
    ("gl", &romance::GALICIAN),
    ("ro", &romance::ROMANIAN),
    ("el", &various::GREEK),
    ("af", &germanic::AFRIKAANS),
    ("et", &various::ESTONIAN),
    ("eo", &various::ESPERANTO),
    ("eu", &various::BASQUE),
    ("ar", &various::ARABIC),
    ("he", &various::HEBREW),
    ("ka", &various::GEORGIAN),
    ("hi", &various::HINDI),
];

static BY_LANGUAGE: LazyLock<Vec<(Language, &Rules)>> = LazyLock::new(|| {
    let known = |(code, rules): &(&str, &'static Rules)| Some((Language::of(code)?, *rules));
    RULES.iter().filter_map(known).collect()
});

/// Where more languages than this are meant, nobody has said which one a word is of.
const LANGUAGES_SAID: usize = 4;
/// Letters of a form that is not made by rules then: a word of one language nearly always has an ending of some other.
const SHORT: usize = 2;

/// Appends the forms of a normalised word, at most [`super::dictionaries::FORMS_MAX`] in all.
pub(super) fn push_forms(word: &str, languages: Languages, forms: &mut Vec<String>) {
    let is_guessed =
        BY_LANGUAGE.iter().filter(|(language, _)| languages.contains(*language)).count() > LANGUAGES_SAID;
    for (_, rules) in BY_LANGUAGE.iter().filter(|(language, _)| languages.contains(*language)) {
        if forms.len() >= super::dictionaries::FORMS_MAX {
            break;
        }
        let before = forms.len();
        rules.push_forms(word, forms);
        if is_guessed {
            let made = forms.split_off(before);
            let is_long = |form: &String| form.len() > SHORT || !form.is_ascii();
            forms.extend(made.into_iter().filter(|form| is_long(form) || rules.is_pair(word, form)));
        }
    }
}
/// Whether a language has rules.
pub(super) fn has_rules(language: Language) -> bool {
    BY_LANGUAGE.iter().any(|(known, _)| *known == language)
}
/// Words of a language that follow no rule, with their plurals.
pub(super) fn irregular(language: Language) -> &'static [(&'static str, &'static str)] {
    BY_LANGUAGE.iter().find(|(known, _)| *known == language).map_or(&[], |(_, rules)| rules.pairs)
}
