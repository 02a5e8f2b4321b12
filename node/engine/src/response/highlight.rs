//! How are matches shown in attributes? `_highlightResult` and `_snippetResult` (C§9).
//!
//! Hot path: raw JSON is walked in place; only shown attributes are tokenised.

use super::json;
use super::marks::{Detail, Marker, Marks};
use super::matches::Synonyms;
use super::paths::{Part, descend, part_of};
use super::record::Selection;
use super::snippet;
use crate::analysis::{Analyzer, AttributeOptions, TokenOptions, as_written};
use crate::query::plan::covers;
use crate::query::{Plan, Word};
use quorate_model::Settings;
use quorate_model::settings::Effective;

/// Words of a snippet when the request names no number.
const SNIPPET_WORDS: usize = 10;

/// What to show and how, for one request.
#[derive(Clone, Debug)]
pub struct Showing {
    /// Attributes to highlight; `*` stands alone.
    highlight: Vec<String>,
    /// Attributes to snippet with their words.
    snippet: Vec<(String, usize)>,
    visible: Selection,
    searchable: Vec<String>,
    options: AttributeOptions,
    names_object_id: bool,
    pre: Vec<u8>,
    post: Vec<u8>,
    ellipsis: Vec<u8>,
    only_matching_elements: bool,
    synonyms: Synonyms,
}
/// Which of the two results is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Highlight,
    Snippet,
}
impl Showing {
    /// Reads the parameters.
    pub fn new(settings: &Settings, params: &Effective, visible: Selection) -> Showing {
        let index = &settings.index;
        let searchable: Vec<String> = index.searchable_attributes.iter().map(|a| a.path.clone()).collect();
        let highlight = match &params.attributes_to_highlight {
            Some(listed) => listed.clone(),
            None if searchable.is_empty() => vec!["*".to_string()],
            None => searchable.clone(),
        };
        let snippet = params.attributes_to_snippet.iter().map(|entry| snippet_entry(entry));
        let escaped = |text: &str| {
            let mut out = vec![];
            json::escape(text, &mut out);
            out
        };
        let object_id = |list: &[String]| list.iter().any(|path| path == "objectID");
        Showing {
            names_object_id: object_id(&highlight) || object_id(&searchable),
            snippet: snippet.collect(),
            visible,
            options: AttributeOptions::new(settings),
            pre: escaped(&params.highlight_pre_tag),
            post: escaped(&params.highlight_post_tag),
            ellipsis: escaped(&params.snippet_ellipsis_text),
            only_matching_elements: params.restrict_highlight_and_snippet_arrays,
            synonyms: match params.replace_synonyms_in_highlight {
                true => Synonyms::Replaced,
                false => Synonyms::Kept,
            },
            highlight,
            searchable,
        }
    }
    /// Whether hits get neither result.
    pub fn is_empty(&self) -> bool {
        self.highlight.is_empty() && self.snippet.is_empty()
    }
    fn attribute(&self, form: Form, path: &str) -> Attribute {
        let (part, is_searchable) = (self.part(form, path), self.is_searchable(path));
        Attribute { part, is_searchable, options: self.options.of(path) }
    }
    fn part(&self, form: Form, path: &str) -> Part {
        if path == "objectID" && !self.names_object_id || path == "_geoloc" {
            return Part::Nothing;
        }
        let listed = match form {
            Form::Highlight => listed_part(self.highlight.iter().map(String::as_str), path),
            Form::Snippet => listed_part(self.snippet.iter().map(|(listed, _)| listed.as_str()), path),
        };
        if listed == Part::Nothing { listed } else { listed.min(self.visible.part(path)) }
    }
    fn snippet_words(&self, path: &str) -> usize {
        let named = self.snippet.iter().find(|(listed, _)| covers(listed, path));
        let entry = named.or_else(|| self.snippet.iter().find(|(listed, _)| listed == "*"));
        entry.map_or(SNIPPET_WORDS, |(_, words)| *words)
    }
    fn is_searchable(&self, path: &str) -> bool {
        self.searchable.is_empty() || self.searchable.iter().any(|listed| covers(listed, path))
    }
}
/// What a list of paths that may hold `*` says about a path.
fn listed_part<'a>(listed: impl Iterator<Item = &'a str> + Clone, path: &str) -> Part {
    if listed.clone().any(|entry| entry == "*") { Part::All } else { part_of(listed, path) }
}
/// `attribute:words`, the number being optional.
fn snippet_entry(entry: &str) -> (String, usize) {
    match entry.rsplit_once(':').map(|(path, words)| (path, words.trim().parse())) {
        Some((path, Ok(words))) => (path.to_string(), words),
        Some((_, Err(_))) | None => (entry.to_string(), SNIPPET_WORDS),
    }
}

/// What is said about one attribute.
#[derive(Clone, Copy, Debug)]
struct Attribute {
    part: Part,
    is_searchable: bool,
    options: TokenOptions,
}
/// Writes the results of one query's hits.
pub struct Highlighter<'a> {
    showing: &'a Showing,
    marker: Marker<'a>,
    words: &'a [Word],
    bytes_max: usize,
    path: String,
    text: String,
    /// Leaves with a match so far.
    matching: usize,
    /// The members of the last records in their order, for each form: most records have the same ones.
    members: [Vec<(String, Attribute)>; 2],
}
impl<'a> Highlighter<'a> {
    /// Shows the matches of the plan's words and alternatives.
    pub fn new(
        settings: &Settings,
        showing: &'a Showing,
        analyzer: &'a Analyzer,
        plan: &'a Plan,
        bytes_max: usize,
    ) -> Self {
        let words = plan.words.as_slice();
        let marker = Marker::new(settings, analyzer, words, &plan.alternatives, plan.deep);
        let marker = marker.replacing(showing.synonyms);
        let (path, text, members) = Default::default();
        Highlighter { showing, marker, words, bytes_max, path, text, matching: 0, members }
    }
    /// Whether highlights are asked for, and whether snippets are.
    pub fn forms(&self) -> (bool, bool) {
        (!self.showing.highlight.is_empty(), !self.showing.snippet.is_empty())
    }
    /// Appends `,"_highlightResult":…` and `,"_snippetResult":…` as far as there is something to show.
    pub fn write(&mut self, raw: &str, typos: &[u8], out: &mut Vec<u8>) {
        let forms = [
            (Form::Highlight, !self.showing.highlight.is_empty(), ",\"_highlightResult\":"),
            (Form::Snippet, !self.showing.snippet.is_empty(), ",\"_snippetResult\":"),
        ];
        for (form, asked, name) in forms {
            if !asked {
                continue;
            }
            let before = out.len();
            out.extend_from_slice(name.as_bytes());
            self.path.clear();
            if !self.object(form, raw, typos, out) {
                out.truncate(before);
            }
        }
    }
    /// Appends the leaves of an object; `false` when there are none.
    fn object(&mut self, form: Form, raw: &str, typos: &[u8], out: &mut Vec<u8>) -> bool {
        out.push(b'{');
        let empty = out.len();
        let depth = self.path.len();
        for (place, (key, value)) in json::members(raw).enumerate() {
            let attribute =
                if depth == 0 { self.of_record(form, place, key) } else { self.attribute(form, key) };
            if attribute.part == Part::Nothing {
                continue;
            }
            let before = out.len();
            if before > empty {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(b"\":");
            descend(&mut self.path, key);
            if !self.value(form, value, attribute, typos, out) {
                out.truncate(before);
            }
            self.path.truncate(depth);
        }
        let any = out.len() > empty;
        out.push(b'}');
        any
    }
    /// What is said about a member of the object at the current path.
    fn attribute(&mut self, form: Form, key: &str) -> Attribute {
        let depth = descend(&mut self.path, key);
        let attribute = self.showing.attribute(form, &self.path);
        self.path.truncate(depth);
        attribute
    }
    /// The same for a member of the record itself.
    fn of_record(&mut self, form: Form, place: usize, key: &str) -> Attribute {
        if let Some((known, attribute)) = self.members[form as usize].get(place)
            && known == key
        {
            return *attribute;
        }
        let attribute = self.attribute(form, key);
        let members = &mut self.members[form as usize];
        members.truncate(place);
        members.push((key.to_owned(), attribute));
        attribute
    }
    fn value(
        &mut self,
        form: Form,
        raw: &str,
        attribute: Attribute,
        typos: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        match raw.as_bytes().first() {
            Some(b'{') => self.object(form, raw, typos, out),
            Some(b'[') => {
                out.push(b'[');
                let empty = out.len();
                for element in json::elements(raw) {
                    let before = out.len();
                    if before > empty {
                        out.push(b',');
                    }
                    let matching = self.matching;
                    let written = self.value(form, element, attribute, typos, out);
                    let dropped = self.showing.only_matching_elements && self.matching == matching;
                    if !written || dropped {
                        out.truncate(before);
                    }
                }
                let any = out.len() > empty;
                out.push(b']');
                any
            }
            Some(b'"') if attribute.part == Part::All => {
                self.leaf(form, raw, attribute.options, typos, out);
                true
            }
            Some(b'-' | b'0'..=b'9') if attribute.part == Part::All && attribute.is_searchable => {
                self.leaf(form, raw, attribute.options, typos, out);
                true
            }
            Some(_) | None => false,
        }
    }
    fn leaf(&mut self, form: Form, raw: &str, options: TokenOptions, typos: &[u8], out: &mut Vec<u8>) {
        let mut buffer = std::mem::take(&mut self.text);
        let text = json::text(raw, &mut buffer);
        let detail = match form {
            Form::Highlight => Detail::Marks,
            // words around the best place are counted
            Form::Snippet => Detail::Words,
        };
        if detail == Detail::Words || !self.marker.is_idle(typos) {
            self.marker.mark(text, options, typos, detail);
        }
        let marks = &self.marker.marks;
        self.matching += usize::from(marks.words != 0);
        // without escapes the text is longer than what is stored by its quotes at most
        let verbatim = text.len() + 2 >= raw.len();
        let writer = Writer {
            showing: self.showing,
            words: self.words,
            bytes_max: self.bytes_max,
            verbatim,
            text,
            marks,
        };
        out.extend_from_slice(b"{\"value\":\"");
        match form {
            Form::Highlight => writer.stretch(0, text.len(), out),
            Form::Snippet => writer.snippet(self.showing.snippet_words(&self.path), out),
        }
        out.extend_from_slice(b"\",\"matchLevel\":");
        let all = (1u32 << self.words.len()) - 1;
        let level: &[u8] = match u32::from(marks.words) {
            0 => b"\"none\"",
            found if found == all => b"\"full\"",
            _ => b"\"partial\"",
        };
        out.extend_from_slice(level);
        if form == Form::Highlight {
            if marks.words != 0 {
                out.extend_from_slice(b",\"fullyHighlighted\":");
                out.extend_from_slice(if marks.covered { b"true" } else { b"false" });
            }
            out.extend_from_slice(b",\"matchedWords\":[");
            self.matched_words(out);
            out.push(b']');
        }
        out.push(b'}');
        self.text = buffer;
    }
    fn matched_words(&self, out: &mut Vec<u8>) {
        let found = self.marker.marks.words;
        let mut separator = false;
        for (i, word) in self.words.iter().enumerate() {
            let repeated =
                self.words[..i].iter().enumerate().any(|(j, w)| found >> j & 1 == 1 && w.text == word.text);
            if found >> i & 1 == 0 || repeated {
                continue;
            }
            if separator {
                out.push(b',');
            }
            separator = true;
            json::string(&as_written(&word.text), out);
        }
    }
}
/// Writes one text with its marks.
struct Writer<'a> {
    showing: &'a Showing,
    words: &'a [Word],
    /// Bytes from which on nobody sees what is written.
    bytes_max: usize,
    /// Whether the text needs no escapes.
    verbatim: bool,
    text: &'a str,
    marks: &'a Marks,
}
impl Writer<'_> {
    fn plain(&self, from: usize, to: usize, out: &mut Vec<u8>) {
        if self.verbatim {
            out.extend_from_slice(&self.text.as_bytes()[from..to]);
        } else {
            json::escape(&self.text[from..to], out);
        }
    }
    /// Writes `from..to` with its marks in tags.
    fn stretch(&self, from: usize, to: usize, out: &mut Vec<u8>) {
        let mut at = from;
        for &(start, end) in &self.marks.marked {
            let (start, end) = (start.max(from), end.min(to));
            if start >= end {
                continue;
            }
            if out.len() > self.bytes_max {
                break;
            }
            self.plain(at, start, out);
            out.extend_from_slice(&self.showing.pre);
            match self.instead_of((start, end)) {
                Some(word) => json::escape(word, out),
                None => self.plain(start, end, out),
            }
            out.extend_from_slice(&self.showing.post);
            at = end;
        }
        self.plain(at, to, out);
    }
    /// The query word that is shown for a synonym.
    fn instead_of(&self, stretch: (usize, usize)) -> Option<&str> {
        if self.showing.synonyms == Synonyms::Kept {
            return None;
        }
        let words = self.marks.synonym_at(stretch)?;
        self.words.get(words.trailing_zeros() as usize).map(|word| word.text.as_str())
    }
    /// Writes `wanted` words around the best cluster of matches.
    fn snippet(&self, wanted: usize, out: &mut Vec<u8>) {
        let spans = &self.marks.spans;
        if spans.len() <= wanted || wanted == 0 {
            self.stretch(0, self.text.len(), out);
            return;
        }
        let first = snippet::first_word(spans, wanted);
        let last = first + wanted - 1;
        let from = if first == 0 { 0 } else { spans[first].start };
        let to = if last + 1 == spans.len() { self.text.len() } else { spans[last].end };
        if first > 0 {
            out.extend_from_slice(&self.showing.ellipsis);
        }
        self.stretch(from, to, out);
        if last + 1 < spans.len() {
            out.extend_from_slice(&self.showing.ellipsis);
        }
    }
}
