//! Does a name match a pattern with a leading or trailing `*` (C§13.1)?

/// Whether `text` matches: exact, or with `*` at the start, the end or both.
pub fn matches(pattern: &str, text: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(tail), Some(_)) => text.contains(&tail[..tail.len() - 1]),
        (Some(tail), None) => text.ends_with(tail),
        (None, Some(head)) => text.starts_with(head),
        (None, None) => text == pattern,
    }
}

/// Whether it matches every text.
pub fn is_for_all(pattern: &str) -> bool {
    matches!(pattern, "*" | "**")
}

/// Whether any pattern matches; an empty list allows everything.
pub fn any_matches(patterns: &[String], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_at_the_ends_only() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "A", false),
            ("a*", "ab", true),
            ("a*", "ba", false),
            ("*a", "ba", true),
            ("*a*", "bab", true),
            ("*", "", true),
            ("**", "x", true),
            ("a*b", "axb", false),
            ("a*b", "a*b", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
            assert!(!is_for_all(pattern) || expected, "{pattern}");
        }
        assert!(any_matches(&[], "x"));
    }
}
