//! Which endpoint does a method and a path mean?
//!
//! Hot path: a few literal comparisons, no regular expressions. Paths are split on `/` first and percent-decoded
//! afterwards, so that names may contain any character (C§1.2).

mod doc;
mod route;

pub use doc::{Answer, AnswerContent, Argument, ArgumentKind, Doc, choice, count, flag, text};
pub use route::{BodyKind, Need, Route, Verb, Work, is_of_insights};

use percent_encoding::percent_decode_str;
use quorate_model::{Error, ErrorKind, Result};
use std::borrow::Cow;

/// Most segments a path of the table has.
const SEGMENTS_MAX: usize = 8;

/// A table of routes, ordered for look-up; `H` is what answers.
pub struct Router<H: 'static> {
    /// By number of segments; within one, rows with more literal segments first.
    by_len: Vec<Vec<Row<H>>>,
}
struct Row<H: 'static> {
    /// Position in the table.
    number: usize,
    route: &'static Route<H>,
    segments: Vec<Segment>,
}
enum Segment {
    Literal(&'static str),
    /// `*`, which may arrive as `%2A`.
    Star,
    Name,
}

/// What a path means.
pub struct Match<'p, H: 'static> {
    /// The row.
    pub route: &'static Route<H>,
    /// Its position in the table.
    pub number: usize,
    /// The decoded segments that stand at placeholders, in order.
    pub names: Vec<Cow<'p, str>>,
}

impl<H> Router<H> {
    /// Orders a table.
    pub fn new(table: &'static [Route<H>]) -> Self {
        let mut by_len: Vec<Vec<Row<H>>> = (0..=SEGMENTS_MAX).map(|_| Vec::new()).collect();
        for (number, route) in table.iter().enumerate() {
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
    /// a name is not UTF-8, and for a deletion whose path ends with a slash.
    pub fn find<'p>(&self, verb: Option<Verb>, path: &'p str) -> Result<Match<'p, H>> {
        let mut parts = [""; SEGMENTS_MAX];
        let mut len = 0;
        for part in split(path) {
            if len == SEGMENTS_MAX {
                return Err(unknown());
            }
            parts[len] = part;
            len += 1;
        }
        let ends_with_slash = len > 1 && parts[len - 1].is_empty();
        len -= usize::from(ends_with_slash);
        let parts = &parts[..len];
        let mut path_exists = false;
        for row in &self.by_len[len] {
            let right_verb = verb == Some(row.route.verb);
            if (right_verb || !path_exists) && row.matches(parts) {
                // whoever leaves the name of a record out must not delete the index
                if right_verb && ends_with_slash && row.route.verb == Verb::Delete {
                    return Err(Error::invalid(
                        "The path ends with a slash: the name of what to delete must not be empty",
                    ));
                }
                if right_verb {
                    return Ok(Match { route: row.route, number: row.number, names: row.names(parts)? });
                }
                path_exists = true;
            }
        }
        // C§17.2: only all indices together are asked, although a record could be named so
        let is_of_one_index =
            matches!(parts, ["1", "indexes", _, "recommendations"]) && verb == Some(Verb::Post);
        Err(if path_exists && !is_of_one_index {
            Error::new(ErrorKind::MethodNotAllowed, "Method not allowed on this path")
        } else {
            unknown()
        })
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
impl<H> Row<H> {
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
