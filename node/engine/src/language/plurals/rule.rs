//! How does a table of endings turn one form of a word into the others?
//!
//! A rule is a pair of endings, singular and plural. Small letters stand for themselves, `C` for any consonant, `V` for
//! any vowel; the n-th class letter of one side is the same letter on the other. Of all rules whose ending fits, those
//! with the longest one act, in both directions. Cost: one pass over the table of a language, well below 10 µs.

/// The forms of one language.
pub(super) struct Rules {
    /// Singular and plural endings.
    pub endings: &'static [(&'static str, &'static str)],
    /// Whole words that follow no rule, singular and plural. They have no other forms.
    pub pairs: &'static [(&'static str, &'static str)],
    /// Words without other forms, separated by spaces.
    pub fixed: &'static str,
    /// Characters that must be left of a word in front of a short ending that is exchanged.
    pub stem_min: usize,
}
impl Rules {
    /// Appends the other forms of a word, each once.
    pub fn push_forms(&self, word: &str, forms: &mut Vec<String>) {
        let is_fixed = |word: &str| self.fixed.split_ascii_whitespace().any(|fixed| fixed == word);
        if is_fixed(word) || word.chars().any(char::is_numeric) {
            return;
        }
        let mut push = |form: String| {
            if form != word && !is_fixed(&form) && !forms.contains(&form) {
                forms.push(form);
            }
        };
        let mut irregular = false;
        for (one, many) in self.pairs {
            if *one == word {
                push((*many).to_string());
                irregular = true;
            } else if *many == word {
                push((*one).to_string());
                irregular = true;
            }
        }
        if irregular {
            return;
        }
        let endings = self.endings.iter();
        self.exchange(word, endings.clone().map(|(one, many)| (*many, *one)), &mut push);
        self.exchange(word, endings.map(|(one, many)| (*one, *many)), &mut push);
    }
    /// Whether these are a word that follows no rule and its plural, either way round.
    pub fn is_pair(&self, word: &str, form: &str) -> bool {
        self.pairs.iter().any(|(one, many)| (*one, *many) == (word, form) || (*many, *one) == (word, form))
    }
    fn exchange(
        &self,
        word: &str,
        rules: impl Iterator<Item = (&'static str, &'static str)> + Clone,
        push: &mut impl FnMut(String),
    ) {
        let fitting = rules.filter(|(from, _)| self.fits(word, from));
        let longest = fitting.clone().map(|(from, _)| from.chars().count()).max();
        for (from, to) in fitting.filter(|(from, _)| Some(from.chars().count()) == longest) {
            push(exchanged(word, from, to));
        }
    }
    fn fits(&self, word: &str, ending: &str) -> bool {
        let mut letters = word.chars().rev();
        let same = ending.chars().rev().all(|pattern| {
            letters.next().is_some_and(|letter| match pattern {
                'V' => is_vowel(letter),
                'C' => letter.is_alphabetic() && !is_vowel(letter),
                exact => exact == letter,
            })
        });
        // an ending of three letters may be the whole word: man
        same && (ending.chars().count() > 2 || letters.count() >= self.stem_min)
    }
}
/// `word` with the ending `from`, which fits, replaced by `to`.
fn exchanged(word: &str, from: &str, to: &str) -> String {
    let letters: Vec<char> = word.chars().collect();
    let (stem, ending) = letters.split_at(letters.len() - from.chars().count());
    let is_class = |pattern: &char| matches!(pattern, 'V' | 'C');
    let mut kept =
        from.chars().zip(ending).filter(|(pattern, _)| is_class(pattern)).map(|(_, letter)| *letter);
    let mut form: String = stem.iter().collect();
    for pattern in to.chars() {
        form.extend(if is_class(&pattern) { kept.next() } else { Some(pattern) });
    }
    form
}
/// Vowels of the normalised Latin, Greek and Cyrillic alphabets.
fn is_vowel(letter: char) -> bool {
    "aeiouyαεηιουωаеиоуыэюяіє".contains(letter)
}
