//! Who is a user of the multi-cluster mapping, and which records are whose (C§15)?
//!
//! A record that belongs to a user is stored under an id that begins with its owner, so that users cannot reach each
//! other's records by any id, and two of them may use the same objectID. What callers see is the id without the owner.

use crate::error::{Error, Result};
use crate::filter::{AnyOf, Atom, Filter, FilterAtom};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Characters of a user id at most.
pub const USER_ID_CHARS_MAX: usize = 128;
/// The owner of records that every user sees.
pub const PUBLIC: &str = "*";
/// The attribute by which records are filtered by their owner. It is made of the stored id, so no record contains it.
pub const OWNER: &str = "__userID";
/// Between owner and id; no id of a caller contains it.
const BETWEEN: char = '\u{1f}';

/// The id of a user: letters, digits, spaces, `-`, `*` and `.` (C§15).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserId(Arc<str>);

impl UserId {
    /// Checks and wraps an id. Errors: `Invalid` when empty, too long, or with other characters.
    pub fn new(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::invalid("userID is not valid: it must not be empty"));
        }
        if text.chars().count() > USER_ID_CHARS_MAX {
            return Err(Error::invalid(format!(
                "userID is not valid: it must have at most {USER_ID_CHARS_MAX} characters"
            )));
        }
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '*' | '.');
        if !text.chars().all(is_allowed) {
            return Err(Error::invalid(
                "userID is not valid: only letters, digits, spaces, \"-\", \"*\" and \".\" are allowed",
            ));
        }
        Ok(UserId(text.into()))
    }
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// Whether it stands for the records that every user sees.
    pub fn is_public(&self) -> bool {
        &*self.0 == PUBLIC
    }
}
impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id under which a record of `owner` is stored.
pub fn owned_id(owner: &UserId, object_id: &str) -> String {
    format!("{owner}{BETWEEN}{object_id}")
}
/// The id under which a public record is stored.
pub fn public_id(object_id: &str) -> String {
    format!("{PUBLIC}{BETWEEN}{object_id}")
}
/// The owner in a stored id, if there is one, and the id that callers see.
pub fn owner_of(stored_id: &str) -> (Option<&str>, &str) {
    match stored_id.split_once(BETWEEN) {
        Some((owner, object_id)) => (Some(owner), object_id),
        None => (None, stored_id),
    }
}

fn owner_is(owners: &[&str]) -> Filter {
    let atom = |owner: &&str| {
        let atom = Atom::Facet { attribute: OWNER.to_owned(), value: (*owner).to_owned() };
        FilterAtom { atom, negated: false, score: 1 }
    };
    Filter { all: vec![AnyOf { any: owners.iter().map(atom).collect() }] }
}

impl Filter {
    /// The records of a user.
    pub fn owned_by(user: &UserId) -> Filter {
        owner_is(&[user.as_str()])
    }
    /// The records that a user sees: the own ones and the public ones.
    pub fn seen_by(user: &UserId) -> Filter {
        match user.is_public() {
            true => owner_is(&[PUBLIC]),
            false => owner_is(&[user.as_str(), PUBLIC]),
        }
    }
    /// The same filter where it names records by objectID: the user means the own or the public record of that id.
    pub fn meant_by(mut self, user: &UserId) -> Filter {
        for tested in self.all.iter_mut().flat_map(|group| &mut group.any) {
            if let Atom::Facet { attribute, value } = &mut tested.atom
                && attribute == "objectID"
            {
                *value = owned_id(user, value);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c15_user_ids_have_few_characters() {
        let long = "x".repeat(USER_ID_CHARS_MAX + 1);
        for (text, is_valid) in [
            ("a", true),
            ("Jane Doe-7.x*", true),
            ("*", true),
            (&long[1..], true),
            (&long, false),
            ("", false),
            ("a/b", false),
            ("a_b", false),
            ("é", false),
            ("a\u{1f}b", false),
        ] {
            assert_eq!(UserId::new(text).is_ok(), is_valid, "{text}");
        }
    }

    #[test]
    fn owners_come_off_again() {
        let jane = UserId::new("jane").unwrap();
        let stored = owned_id(&jane, "7");
        assert_eq!(owner_of(&stored), (Some("jane"), "7"));
        assert_eq!(owner_of("7"), (None, "7"));
        let seen = Filter::seen_by(&jane);
        assert_eq!((seen.all.len(), seen.len(), Filter::owned_by(&jane).len()), (1, 2, 1));
        let by_id = crate::filter::parse_filters("objectID:7 AND a:7").unwrap().meant_by(&jane);
        let values: Vec<_> = by_id.all.iter().map(|group| group.any[0].atom.clone()).collect();
        let facet =
            |attribute: &str, value: &str| Atom::Facet { attribute: attribute.into(), value: value.into() };
        assert_eq!(values, [facet("objectID", &stored), facet("a", "7")]);
    }
}
