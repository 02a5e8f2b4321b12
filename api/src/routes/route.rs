//! What does a row of the route table say?

use super::doc::{Answer, AnswerContent, Argument, Doc};
use quorate_model::Acl;
use quorate_wire::schema::SchemaOf;
use utoipa::ToSchema;

/// A method of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Verb {
    Get,
    Post,
    Put,
    Delete,
}
impl Verb {
    /// The method as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Put => "PUT",
            Verb::Delete => "DELETE",
        }
    }
}

/// What a caller must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: no credentials are read.
    Nothing,
    /// Any key.
    AnyKey,
    /// A key with this right.
    Right(Acl),
    /// A key; the endpoint checks the right of each operation.
    PerOperation,
    /// The admin key.
    Admin,
}

/// What kind of work a row is: clients send reads to one host and writes to another (C§1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It changes nothing.
    Read,
    /// It changes something.
    Write,
    /// Part of either: those who write wait for their tasks, and so do those who read.
    Either,
    /// It is about the installation, for operators.
    Operate,
    /// It says whether the node is fit, for balancers, on any listener.
    Watch,
}

/// How long the body of a call may be, and how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// That of most calls: a tree of values.
    Object,
    /// What asks for records of one index: a tree of values, and short.
    Search,
    /// What asks for many things at once: a tree of values.
    Several,
    /// Records and batches: scanned in place, and long.
    Records,
    /// Entries of dictionaries: scanned in place, and at most 10 MB (C§12.1).
    Entries,
    /// Events: scanned in place, and below 2 MB (C§18).
    Events,
    /// A JSON value in each line: scanned in place, and long.
    Lines,
}
impl BodyKind {
    /// Whether a body of this kind becomes a tree of values, which takes more memory than its bytes.
    pub fn becomes_tree(self) -> bool {
        !matches!(self, BodyKind::Records | BodyKind::Entries | BodyKind::Events | BodyKind::Lines)
    }
}

/// One row; `H` is what answers.
#[derive(Clone, Copy, Debug)]
pub struct Route<H> {
    /// Method.
    pub verb: Verb,
    /// Path with `{placeholders}`; `*` is literal.
    pub path: &'static str,
    /// The right it needs.
    pub need: Need,
    /// What kind of work it is.
    pub work: Work,
    /// How its body is read.
    pub body: BodyKind,
    /// Whether it finds records: what operators mean by queries.
    pub is_query: bool,
    /// Whether the path itself carries something that must not be logged.
    pub is_secret: bool,
    /// Whether keys stand in its body or its answer.
    pub is_about_keys: bool,
    /// What answers.
    pub handler: H,
    /// What callers may know of it.
    pub doc: Doc,
}
impl<H: Copy> Route<H> {
    /// A row; what gets is a read, everything else a write, unless the row says otherwise.
    pub const fn new(verb: Verb, path: &'static str, need: Need, handler: H) -> Self {
        let work = match verb {
            Verb::Get => Work::Read,
            Verb::Post | Verb::Put | Verb::Delete => Work::Write,
        };
        Route {
            verb,
            path,
            need,
            work,
            body: BodyKind::Object,
            is_query: false,
            is_secret: has(path, "{key}") || has(path, "{userToken}"),
            is_about_keys: has(path, "/keys"),
            handler,
            doc: Doc::NONE,
        }
    }
    /// The same row, for this kind of work.
    pub const fn is(self, work: Work) -> Self {
        Route { work, ..self }
    }
    /// The same row, with a body of this kind.
    pub const fn body(self, body: BodyKind) -> Self {
        Route { body, ..self }
    }
    /// The same row, which finds records.
    pub const fn query(self) -> Self {
        Route { is_query: true, body: BodyKind::Search, work: Work::Read, ..self }
    }
    /// The same row, which does this, in a few words.
    pub const fn says(self, summary: &'static str) -> Self {
        Route { doc: Doc { summary, ..self.doc }, ..self }
    }
    /// The same row, with these arguments in the query string.
    pub const fn with(self, query: &'static [Argument]) -> Self {
        Route { doc: Doc { query, ..self.doc }, ..self }
    }
    /// The same row, with search parameters in the query string.
    pub const fn with_search_parameters(self) -> Self {
        Route { doc: Doc { takes_search_parameters: true, ..self.doc }, ..self }
    }
    /// The same row, with a body of this shape.
    pub const fn takes<T: ToSchema>(self) -> Self {
        Route { doc: Doc { body: Some(SchemaOf::of::<T>()), ..self.doc }, ..self }
    }
    /// The same row, which answers this when all is well.
    pub const fn gives<T: ToSchema>(self, status: u16) -> Self {
        let answer = Answer { status, or: None, content: AnswerContent::Json(SchemaOf::of::<T>()) };
        Route { doc: Doc { answer, ..self.doc }, ..self }
    }
    /// The same row, whose answer has this status when something is not well.
    pub const fn or(self, status: u16) -> Self {
        let answer = Answer { or: Some(status), ..self.doc.answer };
        Route { doc: Doc { answer, ..self.doc }, ..self }
    }
    /// The same row, which answers 204 without a body when all is well.
    pub const fn gives_nothing(self) -> Self {
        let answer = Answer { status: 204, or: None, content: AnswerContent::None };
        Route { doc: Doc { answer, ..self.doc }, ..self }
    }
    /// The same row, which answers a list of this shape, or its entries as lines in this format.
    pub const fn gives_lines<T: ToSchema>(self, format: &'static str) -> Self {
        let answer =
            Answer { status: 200, or: None, content: AnswerContent::Lines(SchemaOf::of::<T>(), format) };
        Route { doc: Doc { answer, ..self.doc }, ..self }
    }
    /// The same row, which answers text in this format.
    pub const fn gives_text(self, format: &'static str) -> Self {
        let answer = Answer { status: 200, or: None, content: AnswerContent::Text(format) };
        Route { doc: Doc { answer, ..self.doc }, ..self }
    }
}
impl<H> Route<H> {
    /// Whether the first placeholder names an index, so that index restrictions of the key apply (C§13.2 step 7).
    pub fn names_index(&self) -> bool {
        self.path.starts_with("/1/indexes/{indexName}")
    }
    /// Whether it says 401 where others say 403, of credentials and rights (C§19).
    pub fn says_unauthorized(&self) -> bool {
        self.is_of_suggestions()
            || is_of_insights(self.path)
            || self.path.starts_with("/1/indexes/*/recommendations")
            || self.path.contains("/{model}/")
    }
    /// Whether it is about query suggestions, which say in their own words what a caller may not do (C§16.4).
    pub fn is_of_suggestions(&self) -> bool {
        ["/1/configs", "/1/logs/"].iter().any(|start| self.path.starts_with(start))
    }
    /// Whether it is about the whole installation, so that a key for one index has no business there.
    pub fn is_of_installation(&self) -> bool {
        !["/1/indexes", "/1/keys/", "/1/task/", "/1/events", "/2/"]
            .iter()
            .any(|start| self.path.starts_with(start))
    }
}

/// Whether a path is about events, which say in their own words what they refuse (C§18.1).
pub fn is_of_insights(path: &str) -> bool {
    let of =
        |start: &str| path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    of("/1/events") || of("/1/usertokens")
}

/// Whether `part` stands somewhere in `path`.
const fn has(path: &str, part: &str) -> bool {
    let (path, part) = (path.as_bytes(), part.as_bytes());
    let (mut at, mut same) = (0, 0);
    while at + part.len() <= path.len() && same < part.len() {
        if path[at + same] == part[same] {
            same += 1;
        } else {
            (at, same) = (at + 1, 0);
        }
    }
    same == part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_path_are_found() {
        for (path, part) in
            [("/1/keys", "/keys"), ("/1/indexes/*/keys/{key}", "{key}"), ("aab", "ab"), ("a", "")]
        {
            assert!(has(path, part), "{path} {part}");
        }
        for (path, part) in [("/1/key", "/keys"), ("", "a"), ("abab", "abc"), ("aa", "aaa")] {
            assert!(!has(path, part), "{path} {part}");
        }
    }
}
