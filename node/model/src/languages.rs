//! Which languages have a code? (C§12.2)

use crate::error::{Error, Result};

/// Every accepted code, in alphabetical order (C§12.2).
pub const CODES: [&str; 68] = [
    "af", "ar", "az", "bg", "bn", "ca", "cs", "cy", "da", "de", "el", "en", "eo", "es", "et", "eu", "fa",
    "fi", "fo", "fr", "ga", "gl", "he", "hi", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "ko", "ku",
    "ky", "lt", "lv", "mi", "mn", "mr", "ms", "mt", "nb", "nl", "no", "ns", "pl", "ps", "pt", "pt-br", "qu",
    "ro", "ru", "sk", "sq", "sv", "sw", "ta", "te", "th", "tl", "tn", "tr", "tt", "uk", "ur", "uz", "zh",
];

/// The number of a code in [`CODES`], in any letter case; `None` when no language has it.
pub fn number(code: &str) -> Option<usize> {
    let code = code.trim();
    CODES.iter().position(|known| known.eq_ignore_ascii_case(code))
}

/// The code as [`CODES`] has it. Errors: `Invalid`, naming the parameter and what is no code.
pub(crate) fn code(name: &str, code: &str) -> Result<&'static str> {
    number(code).map(|number| CODES[number]).ok_or_else(|| {
        let unknown = crate::error::shortened(code);
        Error::parameter(name, &format!("language codes such as \"en\", \"{unknown}\" is not one"))
    })
}

/// Errors: `Invalid`, naming the parameter and the first entry that is not a code.
pub(crate) fn check<S: AsRef<str>>(name: &str, codes: &[S]) -> Result<()> {
    codes.iter().try_for_each(|entry| code(name, entry.as_ref()).map(drop))
}
