//! Which members of a stored record does the caller see? (C§4.1)
//!
//! Hot path: the stored bytes are copied as they are when everything is asked for and nothing is hidden.

use super::json;
use super::paths::{Part, descend, part_of, part_without};
use quorate_model::settings::IndexSettings;
use quorate_model::{SearchParams, Settings};

/// The selection of members for one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The paths to show; `None` = all.
    only: Option<Vec<String>>,
    /// Paths that are left out.
    without: Vec<String>,
}
impl Selection {
    /// Reads attributesToRetrieve; unretrievable attributes are hidden unless the caller sees them.
    pub fn new(settings: &Settings, attributes: Option<&[String]>, sees_unretrievable: bool) -> Selection {
        let mut selection = Selection::default();
        if let Some(attributes) = attributes
            && !attributes.iter().any(|attribute| attribute == "*")
        {
            let shown = attributes.iter().filter(|attribute| !attribute.starts_with('-'));
            selection.only = Some(shown.cloned().collect());
        }
        let removed = attributes.unwrap_or_default().iter().filter_map(|a| a.strip_prefix('-'));
        selection.without = removed.map(str::to_string).collect();
        let hidden = &settings.index.unretrievable_attributes;
        for path in hidden.iter().filter(|_| !sees_unretrievable) {
            match path.as_str() {
                "*" => selection.only = Some(vec![]),
                path => selection.without.push(path.strip_suffix(".*").unwrap_or(path).to_owned()),
            }
        }
        selection
    }
    /// What a caller may see of any attribute, wherever it would show: what its key forces, less what is unretrievable.
    pub fn visible(settings: &Settings, request: &SearchParams, sees_unretrievable: bool) -> Selection {
        let forced = request.forced.as_deref().and_then(|it| it.params.attributes_to_retrieve.as_deref());
        Selection::new(settings, forced, sees_unretrievable)
    }
    /// The same without members of these names.
    pub fn without(&self, names: Vec<&str>) -> Selection {
        let mut selection = self.clone();
        selection.without.extend(names.into_iter().map(str::to_owned));
        selection
    }
    /// Whether all of the value at a path may be seen.
    pub fn shows(&self, path: &str) -> bool {
        self.part(path) == Part::All
    }
    /// Whether all that is searched may be seen.
    pub fn shows_searched(&self, settings: &IndexSettings) -> bool {
        let searched = &settings.searchable_attributes;
        self.is_everything() || !searched.is_empty() && searched.iter().all(|it| self.shows(&it.path))
    }
    fn is_everything(&self) -> bool {
        self.only.is_none() && self.without.is_empty()
    }
    /// How much of the value at a path is selected.
    pub fn part(&self, path: &str) -> Part {
        if path == "objectID" {
            return Part::All;
        }
        let kept = part_without(self.without.iter().map(String::as_str), path);
        match &self.only {
            None => kept,
            Some(only) => kept.min(part_of(only.iter().map(String::as_str), path)),
        }
    }
    /// A stored record as a get of one object answers it.
    pub fn render(&self, raw: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(raw.len());
        self.write(json::stored(raw), &mut out);
        out
    }
    /// Appends the selected members of `raw` as a JSON object.
    pub fn write(&self, raw: &str, out: &mut Vec<u8>) {
        if self.is_everything() {
            out.extend_from_slice(raw.trim_ascii().as_bytes());
            return;
        }
        let mut path = String::new();
        self.write_object(raw, &mut path, out);
    }
    fn write_object(&self, raw: &str, path: &mut String, out: &mut Vec<u8>) {
        out.push(b'{');
        let empty = out.len();
        for (key, value) in json::members(raw) {
            let depth = descend(path, key);
            let before = out.len();
            if before > empty {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(b"\":");
            let written = match self.part(path) {
                Part::Nothing => false,
                Part::All => {
                    out.extend_from_slice(value.as_bytes());
                    true
                }
                Part::Inside => self.write_inside(value, path, out),
            };
            if !written {
                out.truncate(before);
            }
            path.truncate(depth);
        }
        out.push(b'}');
    }
    /// Appends what is selected below a value; `false` when that is nothing. Where nothing but what is left out is missing, the
    /// value shows whatever is left of it: lists and objects without members, too, which say that there are none.
    fn write_inside(&self, value: &str, path: &mut String, out: &mut Vec<u8>) -> bool {
        let is_listed = |only: &Vec<String>| part_of(only.iter().map(String::as_str), path) == Part::All;
        let shows_rest = self.only.as_ref().is_none_or(is_listed);
        match value.as_bytes().first() {
            Some(b'{') => {
                let before = out.len();
                self.write_object(value, path, out);
                shows_rest || out.len() > before + 2
            }
            Some(b'[') => {
                out.push(b'[');
                let empty = out.len();
                for element in json::elements(value) {
                    let before = out.len();
                    if before > empty {
                        out.push(b',');
                    }
                    if !self.write_inside(element, path, out) {
                        out.truncate(before);
                    }
                }
                let any = out.len() > empty;
                out.push(b']');
                shows_rest || any
            }
            // nothing lies below a plain value: it shows when only paths below it are hidden
            Some(_) if shows_rest => {
                out.extend_from_slice(value.as_bytes());
                true
            }
            Some(_) | None => false,
        }
    }
}
