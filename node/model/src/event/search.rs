//! What is kept of a search that counts?

use super::{QueryId, TextList};
use crate::filter::{Atom, Filter, FilterAtom, NumericOp};
use crate::ids::IndexName;
use crate::user::OWNER;
use serde::{Deserialize, Serialize};

/// Ids of searches that one which counts has, those of keystrokes before it included.
pub const IDS_MAX: usize = 32;
/// Records that a search is kept to have shown.
pub const SHOWN_MAX: usize = 20;
/// Filters that are kept of a search.
pub const FILTERS_MAX: usize = 20;
/// Tags that are kept of a search.
pub const TAGS_MAX: usize = 20;
/// Bytes of a filter that is kept.
pub const FILTER_BYTES_MAX: usize = 512;

/// A search that counts, as it stands in a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedSearch {
    /// The index that was searched.
    pub index: IndexName,
    /// Who it was: a token, or a digest of the address.
    pub user: String,
    /// When, Unix milliseconds.
    pub time_ms: u64,
    /// The query, normalised.
    pub query: String,
    /// Records found.
    pub hits: u64,
    /// Records shown, the first ones.
    pub shown: TextList,
    /// Tags for analytics.
    pub tags: TextList,
    /// Filters, each as [`filter_texts`] writes it.
    pub filters: TextList,
    /// Code of the country of the caller.
    pub country: Option<String>,
    /// Ids that it was answered with, keystrokes before it included.
    pub query_ids: Vec<QueryId>,
    /// Whether it counts whatever follows it.
    pub stands: bool,
}

impl CountedSearch {
    /// About how many bytes it takes in an entry.
    pub fn bytes(&self) -> usize {
        let lists = [&self.shown, &self.tags, &self.filters];
        let texts: usize = lists.into_iter().map(|texts| texts.bytes() + 8 * texts.len()).sum();
        64 + self.index.as_str().len()
            + self.user.len()
            + self.query.len()
            + texts
            + 16 * self.query_ids.len()
    }
}

/// The tests of a filter, each an attribute, an operator and a value; the value of one that is inverted begins with `-`. Which
/// records a user may see is none of them.
pub fn filter_texts(filter: &Filter) -> Vec<String> {
    let atoms = filter.all.iter().flat_map(|any| &any.any);
    let texts = atoms.filter_map(text_of).filter(|text| text.len() <= FILTER_BYTES_MAX);
    texts.take(FILTERS_MAX).collect()
}
fn text_of(test: &FilterAtom) -> Option<String> {
    let FilterAtom { atom, negated, score: _ } = test;
    let sign = if *negated { "-" } else { "" };
    Some(match atom {
        Atom::Facet { attribute, .. } if attribute == OWNER => return None,
        Atom::Facet { attribute, value } => format!("{attribute}:{sign}{value}"),
        Atom::Tag { value } => format!("_tags:{sign}{value}"),
        Atom::Numeric { attribute, op, value } => format!("{attribute}{}{value}", sign_of(*op, *negated)),
        Atom::Range { attribute, from, to } => format!("{attribute}:{sign}{from} TO {to}"),
    })
}
fn sign_of(op: NumericOp, is_inverted: bool) -> &'static str {
    match (op, is_inverted) {
        (NumericOp::Eq, false) | (NumericOp::Ne, true) => "=",
        (NumericOp::Ne, false) | (NumericOp::Eq, true) => "!=",
        (NumericOp::Lt, false) | (NumericOp::Ge, true) => "<",
        (NumericOp::Le, false) | (NumericOp::Gt, true) => "<=",
        (NumericOp::Gt, false) | (NumericOp::Le, true) => ">",
        (NumericOp::Ge, false) | (NumericOp::Lt, true) => ">=",
    }
}

/// Attribute, operator and value of a text of [`filter_texts`].
pub fn filter_parts(text: &str) -> Option<(&str, &str, &str)> {
    let at = text.find([':', '<', '>', '=', '!'])?;
    let length = match text.as_bytes()[at..] {
        [b'<' | b'>' | b'!', b'=', ..] => 2,
        _ => 1,
    };
    Some((&text[..at], &text[at..at + length], &text[at + length..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UserId;
    use crate::filter::parse_filters;

    #[test]
    fn filters_are_kept_as_they_are_shown() {
        for (given, expected) in [
            ("brand:Nike", vec![("brand", ":", "Nike")]),
            (r#"NOT brand:Nike AND a:"b:c""#, vec![("brand", ":", "-Nike"), ("a", ":", "b:c")]),
            ("price<=10 OR price>20", vec![("price", "<=", "10"), ("price", ">", "20")]),
            ("NOT price<10.5", vec![("price", ">=", "10.5")]),
            ("price:1 TO 5", vec![("price", ":", "1 TO 5")]),
            ("price!=3", vec![("price", "!=", "3")]),
            ("_tags:new", vec![("_tags", ":", "new")]),
        ] {
            let filter = parse_filters(given).expect("a filter");
            let texts = filter_texts(&filter);
            let parts: Vec<_> = texts.iter().map(|text| filter_parts(text).expect("parts")).collect();
            assert_eq!(parts, expected, "{given}");
        }
        let user = UserId::new("someone").expect("a user");
        assert_eq!(filter_texts(&Filter::seen_by(&user)), Vec::<String>::new());
    }
}
