//! What does the query string of a URL say?

use quorate_model::{Error, Result};
use std::borrow::Cow;

/// A raw query string. Unknown names are never an error (C§1.1).
#[derive(Clone, Copy, Debug)]
pub struct QueryString<'a>(pub &'a str);

impl<'a> QueryString<'a> {
    /// Decoded pairs in order.
    pub fn pairs(&self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> + use<'a> {
        form_urlencoded::parse(self.0.as_bytes())
    }
    /// The last value given for `name`.
    pub fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        if self.0.is_empty() {
            return None;
        }
        self.pairs().filter(|(key, _)| key == name).last().map(|(_, value)| value)
    }
    /// The last value whose name is `name` in any letter case.
    pub fn get_any_case(&self, name: &str) -> Option<Cow<'a, str>> {
        if self.0.is_empty() {
            return None;
        }
        self.pairs().filter(|(key, _)| key.eq_ignore_ascii_case(name)).last().map(|(_, value)| value)
    }
    /// Every value whose name is `name` in any letter case.
    pub fn all_any_case(&self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        self.pairs().filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
    /// A switch: `true`, `1`, `false`, `0`; `default` when absent or empty.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool> {
        match self.get(name).as_deref() {
            None | Some("") => Ok(default),
            Some("true" | "1") => Ok(true),
            Some("false" | "0") => Ok(false),
            Some(_) => Err(Error::parameter(name, "boolean")),
        }
    }
    /// A non-negative integer.
    pub fn integer(&self, name: &str) -> Result<Option<u64>> {
        match self.get(name).as_deref() {
            None | Some("") => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| Error::parameter(name, "non-negative integer")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_switches_and_numbers() {
        let query = QueryString("a=1&A=2&bad=no&n=7");
        assert_eq!(query.get("a").as_deref(), Some("1"));
        assert_eq!(query.get_any_case("a").as_deref(), Some("2"));
        assert!(query.flag("a", false).unwrap());
        assert!(query.flag("none", true).unwrap());
        assert!(query.flag("bad", true).is_err());
        assert_eq!(query.integer("n").unwrap(), Some(7));
        assert!(query.integer("bad").is_err());
    }
}
