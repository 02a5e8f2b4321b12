//! How are matches shown? C§9, done by looking at every word of every shown text.

use super::exact::SingleWord;
use super::letters::{Attribute, Kind, Written, written};
use super::ranker::{Ranker, Seen};
use super::typo::own_typos;
use super::wanted::{Other, Step, Wanted};
use serde_json::{Map, Value, json};

/// What was found in one text.
#[derive(Default)]
struct Marks {
    /// The words of the text, one for each place, with the numbers of the query words that match there.
    spans: Vec<(Written, Vec<usize>)>,
    /// Numbers of the query words that match anywhere.
    found: Vec<usize>,
    /// Marked stretches, in order, apart from each other.
    marked: Vec<(usize, usize)>,
    /// Stretches that are a synonym of a query word.
    synonyms: Vec<((usize, usize), usize)>,
}
impl Marks {
    fn add(&mut self, word: &Written, end: usize, numbers: &[usize]) {
        self.found.extend(numbers);
        // a camelCase word stands at several places
        let is_part_of_it = |span: &Written| match word.kind {
            Kind::Whole => span.start < end && word.start < span.end,
            _ => span.position == word.position,
        };
        let spans = self.spans.iter_mut().filter(|(span, _)| is_part_of_it(span));
        spans.for_each(|(_, known)| known.extend(numbers));
    }
}
/// The tags and the rest of the request that says how to show.
struct Show<'a> {
    params: &'a Map<String, Value>,
    pre: &'a str,
    post: &'a str,
}
impl<'a> Show<'a> {
    fn new(params: &'a Map<String, Value>) -> Show<'a> {
        let text =
            |name: &str, default: &'static str| params.get(name).and_then(Value::as_str).unwrap_or(default);
        Show { params, pre: text("highlightPreTag", "<em>"), post: text("highlightPostTag", "</em>") }
    }
    fn list(&self, name: &str) -> Option<Vec<String>> {
        let list = self.params.get(name)?.as_array()?;
        Some(list.iter().map(|entry| entry.as_str().unwrap().to_string()).collect())
    }
    fn is_on(&self, name: &str) -> bool {
        self.params.get(name) == Some(&json!(true))
    }
}
fn covers(listed: &str, path: &str) -> bool {
    listed == "*" || listed == path || path.starts_with(&format!("{listed}."))
}
/// `attribute:words`; ten words where none are named.
fn snippet_entry(entry: &str) -> (String, usize) {
    match entry.split_once(':') {
        Some((path, words)) => (path.to_string(), words.parse().unwrap()),
        None => (entry.to_string(), 10),
    }
}

impl Ranker<'_> {
    /// `_highlightResult` of a hit; null when there is nothing to show.
    pub fn highlights(&self, record: &Value, seen: &Seen) -> Value {
        let show = Show::new(&self.query.params);
        let searchable = self.searchable_paths();
        let all = || if searchable.is_empty() { vec!["*".to_string()] } else { searchable.clone() };
        let listed = show.list("attributesToHighlight").unwrap_or_else(all);
        let leaf = |path: &str, text: &str| {
            let marks = self.marks(path, text, seen);
            let value = self.tagged(text, &marks, (0, text.len()), &show);
            self.leaf(value, &marks, true)
        };
        self.shown(record, "", &|path| listed.iter().any(|entry| covers(entry, path)), &leaf)
            .unwrap_or(Value::Null)
    }
    /// `_snippetResult` of a hit; null when there is nothing to show.
    pub fn snippets(&self, record: &Value, seen: &Seen) -> Value {
        let show = Show::new(&self.query.params);
        let listed = show.list("attributesToSnippet").unwrap_or_default();
        let listed: Vec<(String, usize)> = listed.iter().map(|entry| snippet_entry(entry)).collect();
        let leaf = |path: &str, text: &str| {
            let marks = self.marks(path, text, seen);
            let named = listed.iter().find(|(entry, _)| entry != "*" && covers(entry, path));
            let any = listed.iter().find(|(entry, _)| entry == "*");
            let value = self.snippet(text, &marks, named.or(any).unwrap().1, &show);
            self.leaf(value, &marks, false)
        };
        let is_listed = |path: &str| listed.iter().any(|(entry, _)| covers(entry, path));
        self.shown(record, "", &is_listed, &leaf).unwrap_or(Value::Null)
    }
    /// A facet value that has every word of this query, with tags.
    pub fn facet_value(&self, value: &str) -> Option<String> {
        let marks = self.marks("", value, &Seen::everything(&self.words));
        let found = |number: usize| marks.found.contains(&number);
        let all = (0..self.words.len()).all(found);
        all.then(|| self.tagged(value, &marks, (0, value.len()), &Show::new(&self.query.params)))
    }
    fn searchable_paths(&self) -> Vec<String> {
        self.settings.index.searchable_attributes.iter().map(|attribute| attribute.path.clone()).collect()
    }
    /// The leaves below a value that are listed, in its shape; `None` when there are none.
    fn shown(
        &self,
        value: &Value,
        path: &str,
        is_listed: &dyn Fn(&str) -> bool,
        leaf: &dyn Fn(&str, &str) -> Value,
    ) -> Option<Value> {
        let searchable = self.searchable_paths();
        match value {
            Value::Object(members) => {
                let below =
                    |name: &String| if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let inside = members.iter().filter(|(name, _)| *name != "objectID" && *name != "_geoloc");
                let shown: Map<String, Value> = inside
                    .filter_map(|(name, value)| {
                        Some((name.clone(), self.shown(value, &below(name), is_listed, leaf)?))
                    })
                    .collect();
                (!shown.is_empty()).then_some(Value::Object(shown))
            }
            Value::Array(list) => {
                let only = self.query.params.get("restrictHighlightAndSnippetArrays") == Some(&json!(true));
                let shown: Vec<Value> = list
                    .iter()
                    .filter_map(|value| self.shown(value, path, is_listed, leaf))
                    .filter(|shown| !only || has_match(shown))
                    .collect();
                (!shown.is_empty()).then_some(Value::Array(shown))
            }
            Value::String(text) => is_listed(path).then(|| leaf(path, text)),
            Value::Number(number) => {
                let is_searched = searchable.is_empty() || searchable.iter().any(|entry| covers(entry, path));
                (is_listed(path) && is_searched).then(|| leaf(path, &number.to_string()))
            }
            Value::Null | Value::Bool(_) => None,
        }
    }
    fn leaf(&self, value: String, marks: &Marks, is_highlight: bool) -> Value {
        let found: Vec<usize> = (0..self.words.len()).filter(|number| marks.found.contains(number)).collect();
        let level = match found.len() {
            0 => "none",
            n if n == self.words.len() => "full",
            _ => "partial",
        };
        let mut shown = json!({"value": value, "matchLevel": level});
        if is_highlight {
            let mut texts: Vec<String> = vec![];
            for number in &found {
                let text: String = self.words[*number].text.iter().collect();
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            shown["matchedWords"] = json!(texts);
            if !found.is_empty() {
                let is_inside =
                    |word: &Written| marks.marked.iter().any(|m| m.0 <= word.start && word.end <= m.1);
                shown["fullyHighlighted"] = marks.spans.iter().all(|(word, _)| is_inside(word)).into();
            }
        }
        shown
    }
    /// What matches in a text at a path of a record in which the query was seen so.
    fn marks(&self, path: &str, text: &str, seen: &Seen) -> Marks {
        let index = &self.settings.index;
        let words = written(text, index, Attribute::at(path, index));
        let mut marks = Marks::default();
        // one for each place: what else stands there is a part of it, or has it as a part
        let places = words.iter().filter(|word| word.kind == Kind::Word);
        marks.spans = places.map(|word| (word.clone(), vec![])).collect();
        for word in &words {
            self.mark_word(word, seen, &mut marks);
        }
        if !self.marks_exact_only() {
            seen.steps.iter().for_each(|step| self.mark_step(step, &words, &mut marks));
        }
        marks.marked.sort_unstable();
        let mut apart: Vec<(usize, usize)> = vec![];
        for (start, end) in std::mem::take(&mut marks.marked) {
            match apart.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => apart.push((start, end)),
            }
        }
        marks.marked = apart;
        marks
    }
    /// Whether a query of one word marks only what counts as exact.
    fn marks_exact_only(&self) -> bool {
        self.words.len() == 1 && self.single_word() == SingleWord::Word
    }
    fn mark_word(&self, word: &Written, seen: &Seen, marks: &mut Marks) {
        let mut ends = vec![];
        // what somebody typed stays, whatever else it stands for
        let (mut stands_for, mut is_typed) = (None, false);
        let mut numbers = vec![];
        for (number, wanted) in self.words.iter().enumerate() {
            let Some(allowed) = seen.typed[number] else { continue };
            let own = match self.marks_exact_only() {
                true => (word.text == wanted.text).then_some(word.end),
                false => end_of(wanted, word, allowed),
            };
            is_typed |= own.is_some();
            let may_stand =
                |other: &&Other| other.typos <= allowed && (other.exact || !self.marks_exact_only());
            let mut by_others = vec![];
            for other in wanted.others.iter().filter(may_stand) {
                if word.text == other.text {
                    by_others.push(word.end);
                    stands_for = stands_for.or(other.is_synonym.then_some(number));
                } else if other.prefix && word.text.starts_with(&other.text) && !self.marks_exact_only() {
                    by_others.push(word.end_of(other.text.len()));
                }
            }
            if own.is_some() || !by_others.is_empty() {
                numbers.push(number);
            }
            ends.extend(own);
            ends.extend(by_others);
        }
        let end = ends.into_iter().max();
        if let Some(end) = end {
            marks.marked.push((word.start, end));
            let synonym = stands_for.filter(|_| !is_typed);
            marks.synonyms.extend(synonym.map(|number| ((word.start, end), number)));
        }
        marks.add(word, end.unwrap_or(word.end), &numbers);
    }
    /// Marks what was found in the place of words of the query.
    fn mark_step(&self, step: &Step, words: &[Written], marks: &mut Marks) {
        let numbers: Vec<usize> = (step.from..step.to).collect();
        if step.words.len() == 1 || step.scattered {
            for word in words {
                for end in step.words.iter().filter_map(|wanted| end_of(wanted, word, 0)) {
                    marks.marked.push((word.start, end));
                    marks.add(word, end, &numbers);
                }
            }
            return;
        }
        for first in words {
            let at = |i: usize| {
                let mut here = words.iter().filter(|word| word.position == first.position + i);
                let here: Option<&Written> = if i == 0 {
                    Some(first)
                } else {
                    here.find(|word| end_of(&step.words[i], word, 0).is_some())
                };
                here.and_then(|word| Some((word.start, end_of(&step.words[i], word, 0)?)))
            };
            let Some(stretches) = (0..step.words.len()).map(at).collect::<Option<Vec<_>>>() else { continue };
            for &(start, end) in &stretches {
                marks.marked.push((start, end));
                marks.found.extend(&numbers);
                let span = marks.spans.iter_mut().find(|(span, _)| span.start <= start && end <= span.end);
                span.into_iter().for_each(|(_, known)| known.extend(&numbers));
            }
            let stretch = (stretches[0].0, stretches[stretches.len() - 1].1);
            if !step.is_typo && step.to == step.from + 1 && self.replaces() {
                marks.marked.push(stretch);
                marks.synonyms.push((stretch, step.from));
            }
        }
    }
    fn replaces(&self) -> bool {
        Show::new(&self.query.params).is_on("replaceSynonymsInHighlight")
    }
    /// A stretch of a text with its marks in tags.
    fn tagged(&self, text: &str, marks: &Marks, (from, to): (usize, usize), show: &Show<'_>) -> String {
        let mut out = String::new();
        let mut at = from;
        for &(start, end) in &marks.marked {
            let (first, last) = (start.max(from), end.min(to));
            if first >= last {
                continue;
            }
            let synonym = marks.synonyms.iter().find(|(stretch, _)| *stretch == (first, last));
            let inside = match synonym {
                Some((_, number)) if self.replaces() => self.words[*number].text.iter().collect(),
                _ => text[first..last].to_string(),
            };
            out += &format!("{}{}{inside}{}", &text[at..first], show.pre, show.post);
            at = last;
        }
        out + &text[at..to]
    }
    /// So many words around the earliest stretch with the most different query words.
    fn snippet(&self, text: &str, marks: &Marks, wanted: usize, show: &Show<'_>) -> String {
        let count = marks.spans.len();
        if wanted == 0 || count <= wanted {
            return self.tagged(text, marks, (0, text.len()), show);
        }
        let different = |first: &usize| {
            let mut numbers: Vec<usize> =
                marks.spans[*first..first + wanted].iter().flat_map(|w| w.1.clone()).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len()
        };
        let most = (0..=count - wanted).map(|first| different(&first)).max().unwrap();
        let earliest = (0..=count - wanted).find(|first| different(first) == most).unwrap();
        // what matches stands in the middle
        let matching: Vec<usize> =
            (earliest..earliest + wanted).filter(|&i| !marks.spans[i].1.is_empty()).collect();
        let first = match (matching.first(), matching.last()) {
            (Some(first), Some(last)) => {
                first.saturating_sub((wanted - (last - first + 1)) / 2).min(count - wanted)
            }
            _ => 0,
        };
        let last = first + wanted - 1;
        let from = if first == 0 { 0 } else { marks.spans[first].0.start };
        let to = if last + 1 == count { text.len() } else { marks.spans[last].0.end };
        let ellipsis = self.query.params.get("snippetEllipsisText").and_then(Value::as_str).unwrap_or("…");
        let (before, after) =
            (if first > 0 { ellipsis } else { "" }, if last + 1 < count { ellipsis } else { "" });
        format!("{before}{}{after}", self.tagged(text, marks, (from, to), show))
    }
}
/// Where the matching part of a word ends: a word that is as near as its beginning is meant as a whole.
fn end_of(wanted: &Wanted, word: &Written, allowed: u32) -> Option<usize> {
    let typos = own_typos(wanted, &word.text, true).filter(|typos| *typos <= allowed)?;
    let as_whole = own_typos(&Wanted { prefix: false, ..wanted.clone() }, &word.text, true);
    let is_begun = word.text.len() > wanted.text.len() && as_whole != Some(typos);
    Some(if is_begun { word.end_of(wanted.text.len()) } else { word.end })
}
/// Whether any of the leaves has a match.
fn has_match(shown: &Value) -> bool {
    match shown {
        Value::Array(list) => list.iter().any(has_match),
        Value::Object(members) => match members.get("matchLevel") {
            Some(Value::String(level)) => level != "none",
            _ => members.values().any(has_match),
        },
        _ => false,
    }
}
