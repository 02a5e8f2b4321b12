//! How does a query look as a suggestion?

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Bytes of a suggestion, as of a query (C§20).
const BYTES_MAX: usize = 512;
/// What a suggestion may have beside letters and digits.
const PLAIN: [char; 4] = ['-', '\'', '&', '.'];

/// A query as a suggestion: compatibility forms are the usual ones, letters are small, there is one blank between words, and without
/// special characters Latin letters have no diacritics. `Err` says why it cannot be one.
pub fn normalised(query: &str, allows_special: bool) -> Result<String, &'static str> {
    if query.len() > 4 * BYTES_MAX {
        return Err("it is too long");
    }
    let composed: String = query.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    let letters: String = if allows_special { composed } else { without_diacritics(&composed) };
    let mut text = String::with_capacity(letters.len());
    for word in letters.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    let is_special =
        |c: char| !(c.is_alphanumeric() || is_combining_mark(c) || c == ' ' || PLAIN.contains(&c));
    match &text {
        text if !text.chars().any(char::is_alphanumeric) => Err("it has no letters"),
        text if text.len() > BYTES_MAX => Err("it is too long"),
        text if !allows_special && text.contains(is_special) => Err("it has special characters"),
        _ => Ok(text),
    }
}

/// A text without diacritics of Latin letters; marks of other scripts belong to their letters.
pub fn without_diacritics(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut is_latin = false;
    let kept = text.nfd().filter(|c| {
        if is_combining_mark(*c) {
            return !is_latin;
        }
        is_latin = c.is_ascii_alphabetic();
        true
    });
    kept.nfc().collect()
}

/// Letters and digits of a suggestion.
pub fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

/// How many words it has.
pub fn words(text: &str) -> usize {
    text.split(' ').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_made_alike() {
        for (query, plain, special) in [
            ("  Red\t\u{3000}SHOES \n", Ok("red shoes"), Ok("red shoes")),
            ("ﬁnd ＡＢＣ①", Ok("find abc1"), Ok("find abc1")),
            ("Café Zoë", Ok("cafe zoe"), Ok("café zoë")),
            ("Straße", Ok("straße"), Ok("straße")),
            ("майка й", Ok("майка й"), Ok("майка й")),
            ("हिन्दी", Ok("हिन्दी"), Ok("हिन्दी")),
            ("靴", Ok("靴"), Ok("靴")),
            ("o'neill r&b t-shirt no. 5", Ok("o'neill r&b t-shirt no. 5"), Ok("o'neill r&b t-shirt no. 5")),
            ("c++", Err("it has special characters"), Ok("c++")),
            ("50% off", Err("it has special characters"), Ok("50% off")),
            ("", Err("it has no letters"), Err("it has no letters")),
            (" -.& ", Err("it has no letters"), Err("it has no letters")),
            ("\u{0}", Err("it has no letters"), Err("it has no letters")),
        ] {
            assert_eq!(normalised(query, false).as_deref(), plain.as_ref().map(|it| &**it), "{query}");
            assert_eq!(normalised(query, true).as_deref(), special.as_ref().map(|it| &**it), "{query}");
        }
        assert_eq!(normalised(&"x".repeat(512), false).unwrap().len(), 512);
        for length in [513, 5_000] {
            assert_eq!(normalised(&"x".repeat(length), false), Err("it is too long"));
        }
        // what is normalised stays
        for text in ["İstanbul", "ǅ ſ", "e\u{301}\u{302}", "한국어"] {
            for allows in [false, true] {
                let once = normalised(text, allows).unwrap();
                assert_eq!(normalised(&once, allows).as_ref(), Ok(&once), "{text}");
            }
        }
        assert_eq!((letters("a-1 b"), words("a-1 b")), (3, 2));
    }
}
