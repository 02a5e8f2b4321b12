//! Which endpoint does a method and a path mean?
//!
//! Hot path: a few literal comparisons, no regular expressions. Paths are split on `/` first and percent-decoded
//! afterwards, so that names may contain any character (C§1.2).

mod table;

pub use table::{Endpoint, Need, Route, Verb, Work, table};

use percent_encoding::percent_decode_str;
use quorate_model::{Error, ErrorKind, Result};
use std::borrow::Cow;

/// Most segments a path of the table has.
const SEGMENTS_MAX: usize = 8;

/// The table, ordered for look-up.
pub struct Router {
    /// By number of segments; within one, rows with more literal segments first.
    by_len: Vec<Vec<Row>>,
}
struct Row {
    /// Position in [`table`].
    number: usize,
    route: &'static Route,
    segments: Vec<Segment>,
}
enum Segment {
    Literal(&'static str),
    /// `*`, which may arrive as `%2A`.
    Star,
    Name,
}

/// What a path means.
pub struct Match<'p> {
    /// The row.
    pub route: &'static Route,
    /// Its position in [`table`].
    pub number: usize,
    /// The decoded segments that stand at placeholders, in order.
    pub names: Vec<Cow<'p, str>>,
}

impl Router {
    /// Orders the table.
    pub fn new() -> Self {
        let mut by_len: Vec<Vec<Row>> = (0..=SEGMENTS_MAX).map(|_| Vec::new()).collect();
        for (number, route) in table().iter().enumerate() {
            let segments: Vec<Segment> = split(route.path).map(Segment::parse).collect();
            by_len[segments.len()].push(Row { number, route, segments });
        }
        for rows in &mut by_len {
            rows.sort_by_key(|row| row.segments.iter().filter(|s| matches!(s, Segment::Name)).count());
        }
        Router { by_len }
    }

    /// Finds the row of a raw (still encoded) path.
    ///
    /// Errors: `NotFound` for a path no row has, `MethodNotAllowed` when only other methods have it, `Invalid` when
    /// a name is not UTF-8.
    pub fn find<'p>(&self, verb: Option<Verb>, path: &'p str) -> Result<Match<'p>> {
        let mut parts = [""; SEGMENTS_MAX];
        let mut len = 0;
        for part in split(path) {
            if len == SEGMENTS_MAX {
                return Err(unknown());
            }
            parts[len] = part;
            len += 1;
        }
        if len > 1 && parts[len - 1].is_empty() {
            len -= 1;
        }
        let parts = &parts[..len];
        let mut path_exists = false;
        for row in &self.by_len[len] {
            let right_verb = verb == Some(row.route.verb);
            if (right_verb || !path_exists) && row.matches(parts) {
                if right_verb {
                    return Ok(Match { route: row.route, number: row.number, names: row.names(parts)? });
                }
                path_exists = true;
            }
        }
        Err(if path_exists {
            Error::new(ErrorKind::MethodNotAllowed, "Method not allowed on this path")
        } else {
            unknown()
        })
    }
}
impl Default for Router {
    fn default() -> Self {
        Self::new()
    }
}

impl Segment {
    fn parse(text: &'static str) -> Self {
        match text {
            "*" => Segment::Star,
            _ if text.starts_with('{') => Segment::Name,
            _ => Segment::Literal(text),
        }
    }
}
impl Row {
    fn matches(&self, parts: &[&str]) -> bool {
        // The last segment tells rows apart most often.
        self.segments.iter().zip(parts).rev().all(|(segment, part)| match segment {
            Segment::Literal(text) => text == part,
            Segment::Star => *part == "*" || part.eq_ignore_ascii_case("%2A"),
            Segment::Name => true,
        })
    }
    fn names<'p>(&self, parts: &[&'p str]) -> Result<Vec<Cow<'p, str>>> {
        let mut names = Vec::with_capacity(2);
        for (segment, part) in self.segments.iter().zip(parts) {
            if matches!(segment, Segment::Name) {
                let name = percent_decode_str(part).decode_utf8();
                names.push(name.map_err(|_| Error::invalid("The path is not valid UTF-8"))?);
            }
        }
        Ok(names)
    }
}

fn split(path: &str) -> std::str::Split<'_, char> {
    path.strip_prefix('/').unwrap_or(path).split('/')
}
fn unknown() -> Error {
    Error::not_found("Path not supported by this API")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[track_caller]
    fn check(verb: Verb, path: &str, expected: Result<(Endpoint, &[&str]), ErrorKind>) {
        let router = Router::new();
        match (router.find(Some(verb), path), expected) {
            (Ok(found), Ok((endpoint, names))) => {
                assert_eq!(found.route.endpoint, endpoint, "{path}");
                assert_eq!(found.names, names, "{path}");
            }
            (Err(error), Err(kind)) => assert_eq!(error.kind, kind, "{path}: {error}"),
            (Ok(found), Err(kind)) => panic!("{path}: found {}, expected {kind:?}", found.route.path),
            (Err(error), Ok(_)) => panic!("{path}: {error}"),
        }
    }

    #[test]
    fn names_are_decoded_after_splitting() {
        check(Verb::Post, "/1/indexes/a%2Fb%20c%25/query", Ok((Endpoint::Query, &["a/b c%"])));
        check(Verb::Post, "/1/indexes/a%252Fb/query", Ok((Endpoint::Query, &["a%2Fb"])));
        check(Verb::Post, "/1/indexes/a+b/query", Ok((Endpoint::Query, &["a+b"])));
        check(Verb::Post, "/1/indexes/%E6%97%A5%E6%9C%AC/query", Ok((Endpoint::Query, &["日本"])));
        check(Verb::Get, "/1/indexes/a/x%2Fy", Ok((Endpoint::GetObject, &["a", "x/y"])));
        check(Verb::Post, "/1/indexes/%FF/query", Err(ErrorKind::Invalid));
        check(Verb::Post, "/1/indexes/%zz/query", Ok((Endpoint::Query, &["%zz"])));
    }

    #[test]
    fn literals_win_over_names_and_the_star_may_be_encoded() {
        check(Verb::Post, "/1/indexes/*/queries", Ok((Endpoint::Queries, &[])));
        check(Verb::Post, "/1/indexes/%2A/queries", Ok((Endpoint::Queries, &[])));
        check(Verb::Post, "/1/indexes/%2a/batch", Ok((Endpoint::MultiBatch, &[])));
        check(Verb::Post, "/1/indexes/i/batch", Ok((Endpoint::Batch, &["i"])));
        check(Verb::Post, "/1/indexes/*/objects", Ok((Endpoint::GetObjects, &[])));
        check(Verb::Get, "/1/indexes/i/settings", Ok((Endpoint::GetSettings, &["i"])));
        check(Verb::Put, "/1/indexes/i/settings", Ok((Endpoint::SetSettings, &["i"])));
        check(Verb::Get, "/1/indexes/i/browse", Ok((Endpoint::BrowseGet, &["i"])));
        check(Verb::Get, "/1/indexes/i/o", Ok((Endpoint::GetObject, &["i", "o"])));
        check(Verb::Get, "/1/indexes/i/task/9", Ok((Endpoint::IndexTask, &["i", "9"])));
        check(Verb::Get, "/1/task/9", Ok((Endpoint::Task, &["9"])));
        check(Verb::Get, "/1/indexes/", Ok((Endpoint::ListIndices, &[])));
        check(Verb::Post, "/1/indexes/i/facets/f%2Fg/query", Ok((Endpoint::FacetQuery, &["i", "f/g"])));
    }

    #[test]
    fn unknown_paths_and_methods_differ() {
        check(Verb::Get, "/", Err(ErrorKind::NotFound));
        check(Verb::Get, "/2/indexes", Err(ErrorKind::NotFound));
        check(Verb::Get, "/1/indexes/a/b/c/d/e/f/g/h/i", Err(ErrorKind::NotFound));
        check(Verb::Put, "/1/indexes", Err(ErrorKind::MethodNotAllowed));
        check(Verb::Post, "/livez", Err(ErrorKind::MethodNotAllowed));
        assert_eq!(
            Router::new().find(None, "/livez").err().map(|e| e.kind),
            Some(ErrorKind::MethodNotAllowed)
        );
    }

    #[test]
    fn no_two_rows_are_the_same_and_every_row_is_reachable() {
        let mut seen = BTreeSet::new();
        let router = Router::new();
        for route in table() {
            assert!(
                seen.insert((route.verb.as_str(), route.path)),
                "{} {} twice",
                route.verb.as_str(),
                route.path
            );
            let path = route.path.replace(['{', '}'], "~");
            let found = router.find(Some(route.verb), &path).unwrap_or_else(|e| panic!("{path}: {e}"));
            assert_eq!(found.route.path, route.path);
        }
    }

    proptest! {
        #[test]
        fn any_path_is_answered(path in "(/[a-z0-9%*{}. ]{0,8}){0,10}") {
            let router = Router::new();
            for verb in [Verb::Get, Verb::Post, Verb::Put, Verb::Delete] {
                let _ = router.find(Some(verb), &path);
            }
        }
        #[test]
        fn any_name_survives_encoding(name in "\\PC{1,20}") {
            let encoded = percent_encoding::utf8_percent_encode(&name, percent_encoding::NON_ALPHANUMERIC);
            let path = format!("/1/indexes/x/{encoded}");
            let router = Router::new();
            let found = router.find(Some(Verb::Delete), &path).unwrap();
            prop_assert_eq!(found.names[1].as_ref(), name.as_str());
        }
    }
}
