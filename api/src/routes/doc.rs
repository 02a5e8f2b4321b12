//! What does the document of the interface say of a row?

use quorate_wire::schema::SchemaOf;

/// What callers may know of a row: what it does, what it takes and what it answers.
#[derive(Clone, Copy, Debug)]
pub struct Doc {
    /// In a few words what it does; empty when it is not documented yet.
    pub summary: &'static str,
    /// What may stand in the query string.
    pub query: &'static [Argument],
    /// Whether all search parameters may stand there, too.
    pub takes_search_parameters: bool,
    /// Its body.
    pub body: Option<SchemaOf>,
    /// Its answer when all is well.
    pub answer: Answer,
}
impl Doc {
    /// Nothing is said yet.
    pub const NONE: Doc = Doc {
        summary: "",
        query: &[],
        takes_search_parameters: false,
        body: None,
        answer: Answer { status: 200, or: None, content: AnswerContent::None },
    };
}

/// An answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// The status with which it says that something is not well.
    pub or: Option<u16>,
    /// Its body.
    pub content: AnswerContent,
}
/// What the body of an answer is.
#[derive(Clone, Copy, Debug)]
pub enum AnswerContent {
    /// There is none.
    None,
    /// JSON of this shape.
    Json(SchemaOf),
    /// JSON of this shape, a list, or its entries as lines in this format.
    Lines(SchemaOf, &'static str),
    /// Text, in this format.
    Text(&'static str),
}

/// Something that may stand in the query string.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: ArgumentKind,
    /// What it does.
    pub summary: &'static str,
}
/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// `true` or `false`.
    Flag,
    /// A whole number in a closed range.
    Count(u64, u64),
    /// Any text.
    Text,
    /// One of these.
    Choice(&'static [&'static str]),
}

/// A flag of the query string.
pub const fn flag(name: &'static str, summary: &'static str) -> Argument {
    Argument { name, kind: ArgumentKind::Flag, summary }
}
/// A number of the query string.
pub const fn count(name: &'static str, from: u64, to: u64, summary: &'static str) -> Argument {
    Argument { name, kind: ArgumentKind::Count(from, to), summary }
}
/// A text of the query string.
pub const fn text(name: &'static str, summary: &'static str) -> Argument {
    Argument { name, kind: ArgumentKind::Text, summary }
}
/// One of several words of the query string.
pub const fn choice(name: &'static str, words: &'static [&'static str], summary: &'static str) -> Argument {
    Argument { name, kind: ArgumentKind::Choice(words), summary }
}
