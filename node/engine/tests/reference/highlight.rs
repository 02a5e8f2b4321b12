//! How are matches shown? C§9, done by looking at every word of every shown text.

use super::letters::{Written, written};
use super::ranker::{Ranker, Seen, Wanted};
use serde_json::{Map, Value, json};

/// What was found in one text.
struct Marks {
    /// The words of the text, each with the numbers of the query words that it matches.
    words: Vec<(Written, Vec<usize>)>,
    /// Marked stretches, in order, apart from each other.
    marked: Vec<(usize, usize)>,
    /// Stretches that are a synonym of a query word.
    synonyms: Vec<((usize, usize), usize)>,
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
        let leaf = |_: &str, text: &str| {
            let marks = self.marks(text, seen);
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
            let marks = self.marks(text, seen);
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
        let marks = self.marks(value, &Seen::everything(&self.words));
        let found = |number: usize| marks.words.iter().any(|(_, words)| words.contains(&number));
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
                    .filter(|shown| !only || shown["matchLevel"] != "none")
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
        let found = |number: &usize| marks.words.iter().any(|(_, words)| words.contains(number));
        let found: Vec<usize> = (0..self.words.len()).filter(found).collect();
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
                shown["fullyHighlighted"] = marks.words.iter().all(|(word, _)| is_inside(word)).into();
            }
        }
        shown
    }
    /// What matches in a text of a record in which the query was seen so.
    fn marks(&self, text: &str, seen: &Seen) -> Marks {
        let words = written(text, &self.settings.index);
        let mut found: Vec<Vec<usize>> = vec![vec![]; words.len()];
        let (mut marked, mut synonyms) = (vec![], vec![]);
        for (place, word) in words.iter().enumerate() {
            let mut ends = vec![];
            // what somebody typed stays, whatever else it stands for
            let (mut stands_for, mut is_typed) = (None, false);
            for (number, wanted) in self.words.iter().enumerate() {
                let Some(allowed) = seen.typed[number] else { continue };
                let own = self.end_of(wanted, word, allowed);
                is_typed |= own.is_some();
                let others = wanted.others.iter().filter(|other| other.typos <= allowed);
                let mut by_others = vec![];
                for other in others {
                    if word.text == other.text {
                        by_others.push(word.end);
                        stands_for = stands_for.or(other.is_synonym.then_some(number));
                    } else if other.prefix && word.text.starts_with(&other.text) {
                        by_others.push(word.end_of(other.text.len()));
                    }
                }
                if own.is_some() || !by_others.is_empty() {
                    found[place].push(number);
                }
                ends.extend(own);
                ends.extend(by_others);
            }
            if let Some(end) = ends.into_iter().max() {
                marked.push((word.start, end));
                synonyms.extend(stands_for.filter(|_| !is_typed).map(|number| ((word.start, end), number)));
            }
        }
        for step in &seen.steps {
            for from in 0..=words.len().saturating_sub(step.words.len()) {
                let ends: Vec<usize> = words[from..]
                    .iter()
                    .zip(&step.words)
                    .filter_map(|(word, wanted)| self.end_of(wanted, word, 0))
                    .collect();
                if ends.len() < step.words.len() {
                    continue;
                }
                for (i, end) in ends.iter().enumerate() {
                    marked.push((words[from + i].start, *end));
                    found[from + i].extend(step.from..step.to);
                }
                let stretch = (words[from].start, ends[ends.len() - 1]);
                if ends.len() > 1 && !step.is_typo && step.to == step.from + 1 && self.replaces() {
                    marked.push(stretch);
                    synonyms.push((stretch, step.from));
                }
            }
        }
        marked.sort_unstable();
        let mut apart: Vec<(usize, usize)> = vec![];
        for (start, end) in marked {
            match apart.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => apart.push((start, end)),
            }
        }
        Marks { words: words.into_iter().zip(found).collect(), marked: apart, synonyms }
    }
    fn replaces(&self) -> bool {
        Show::new(&self.query.params).is_on("replaceSynonymsInHighlight")
    }
    /// Where the matching part of a word ends: a word that is as near as its beginning is meant as a whole.
    fn end_of(&self, wanted: &Wanted, word: &Written, allowed: u32) -> Option<usize> {
        let typos = self
            .own_typos(wanted, &word.text, true, wanted.prefix, false)
            .filter(|typos| *typos <= allowed)?;
        let as_whole = self.own_typos(wanted, &word.text, true, false, false);
        let is_begun = word.text.len() > wanted.text.len() && as_whole != Some(typos);
        Some(if is_begun { word.end_of(wanted.text.len()) } else { word.end })
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
        let count = marks.words.len();
        if wanted == 0 || count <= wanted {
            return self.tagged(text, marks, (0, text.len()), show);
        }
        let different = |first: &usize| {
            let mut numbers: Vec<usize> =
                marks.words[*first..first + wanted].iter().flat_map(|w| w.1.clone()).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len()
        };
        let most = (0..=count - wanted).map(|first| different(&first)).max().unwrap();
        let earliest = (0..=count - wanted).find(|first| different(first) == most).unwrap();
        // what matches stands in the middle
        let matching: Vec<usize> =
            (earliest..earliest + wanted).filter(|&i| !marks.words[i].1.is_empty()).collect();
        let first = match (matching.first(), matching.last()) {
            (Some(first), Some(last)) => {
                first.saturating_sub((wanted - (last - first + 1)) / 2).min(count - wanted)
            }
            _ => 0,
        };
        let last = first + wanted - 1;
        let from = if first == 0 { 0 } else { marks.words[first].0.start };
        let to = if last + 1 == count { text.len() } else { marks.words[last].0.end };
        let ellipsis = self.query.params.get("snippetEllipsisText").and_then(Value::as_str).unwrap_or("…");
        let (before, after) =
            (if first > 0 { ellipsis } else { "" }, if last + 1 < count { ellipsis } else { "" });
        format!("{before}{}{after}", self.tagged(text, marks, (from, to), show))
    }
}
