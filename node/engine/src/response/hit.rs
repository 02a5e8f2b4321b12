//! What does one hit look like? The record, its highlights and, if asked for, why it ranked so (C§7.12).

use super::highlight::{Highlighter, Showing};
use super::json;
use super::record::Selection;
use crate::analysis::Analyzer;
use crate::query::Plan;
use crate::ranking::criteria::CriterionScores;
use crate::ranking::criteria::row::Explained;
use memchr::memmem::Finder;
use quorate_model::Settings;
use quorate_model::params::LatLng;
use quorate_model::results::Hits;
use std::io::Write;
use std::sync::LazyLock;

/// Everything about a hit beside its record.
#[derive(Clone, Debug, Default)]
pub struct HitDetails {
    /// What ranked it.
    pub scores: CriterionScores,
    /// Typos of each query word, then of each alternative; 255 = not matched.
    pub typos: Vec<u8>,
    /// Place in the custom order.
    pub user_score: u32,
    /// Metres, precision there and the nearest point.
    pub place: Option<(u32, u32, LatLng)>,
    /// Number within its group, with distinct.
    pub sequence: Option<u32>,
    /// Whether a rule put it here.
    pub promoted: bool,
    /// Hundredths of its score, when it is recommended.
    pub score: Option<u16>,
}
/// Members that answers add to records.
const ADDED: [&str; 5] = ["_highlightResult", "_snippetResult", "_distinctSeqID", "_score", "_rankingInfo"];
static FINDERS: LazyLock<[Finder<'static>; 5]> =
    LazyLock::new(|| ADDED.map(|name| Finder::new(&format!("\"{name}\"")).into_owned()));

/// Whether hits carry `_rankingInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankingDetails {
    /// Yes.
    Shown,
    /// Yes, but not where the record is, which the caller may not see.
    WithoutPlace,
    /// No.
    Hidden,
}
/// Renders the hits of one query into one buffer.
pub struct Renderer<'a> {
    selection: &'a Selection,
    highlighter: Option<Highlighter<'a>>,
    ranking: RankingDetails,
    words: usize,
    /// What was rendered so far.
    pub hits: Hits,
}
impl<'a> Renderer<'a> {
    /// Prepares for hits of the plan. Beyond `bytes_max` no marks are written: nobody sees those hits.
    pub fn new(
        settings: &Settings,
        selection: &'a Selection,
        showing: &'a Showing,
        analyzer: &'a Analyzer,
        plan: &'a Plan,
        ranking: RankingDetails,
        bytes_max: usize,
    ) -> Renderer<'a> {
        let highlighter =
            (!showing.is_empty()).then(|| Highlighter::new(settings, showing, analyzer, plan, bytes_max));
        Renderer { selection, highlighter, ranking, words: plan.words.len(), hits: Hits::default() }
    }
    /// The members of a record that are named as what is added to it. Cost: a search for each name of these, as a rule.
    fn added(&self, raw: &str, details: &HitDetails) -> Vec<&'static str> {
        let (marks, snippets) = self.highlighter.as_ref().map_or((false, false), Highlighter::forms);
        let has_ranking = self.ranking != RankingDetails::Hidden;
        let are_added = [marks, snippets, details.sequence.is_some(), details.score.is_some(), has_ranking];
        let may_be_there = ADDED
            .iter()
            .zip(FINDERS.iter())
            .zip(are_added)
            .filter(|((_, quoted), is_added)| *is_added && quoted.find(raw.as_bytes()).is_some());
        let named = |name: &str| json::members(raw).any(|(key, _)| key == name);
        may_be_there.map(|((name, _), _)| *name).filter(|name| named(name)).collect()
    }
    /// Shows no matches in the hits that follow.
    pub fn stop_highlighting(&mut self) {
        self.highlighter = None;
    }
    /// Appends one hit. A member of the record that is named as one that the answer adds gives way: no answer has one twice.
    pub fn push(&mut self, raw: &[u8], details: &HitDetails) {
        let raw = json::stored(raw);
        let added = self.added(raw, details);
        let out = &mut self.hits.json;
        match added.is_empty() {
            true => self.selection.write(raw, out),
            false => self.selection.without(added).write(raw, out),
        }
        // members are appended before the closing brace; a record always has its objectID
        out.pop();
        if let Some(highlighter) = &mut self.highlighter {
            highlighter.write(raw, &details.typos, out);
        }
        if let Some(sequence) = details.sequence {
            write_to(out, format_args!(",\"_distinctSeqID\":{sequence}"));
        }
        if let Some(score) = details.score {
            write_to(out, format_args!(",\"_score\":{}", f64::from(score) / 100.0));
        }
        if self.ranking != RankingDetails::Hidden {
            ranking_details(details, self.words, self.ranking == RankingDetails::Shown, out);
        }
        out.push(b'}');
        self.hits.ends.push(out.len() as u32);
    }
}
fn write_to(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("a vector takes every write");
}
fn ranking_details(details: &HitDetails, words: usize, shows_place: bool, out: &mut Vec<u8>) {
    let precision = details.place.map(|(_, precision, _)| precision);
    let hit = Explained { words: words as u32, user_score: details.user_score, precision };
    let mut before = ",\"_rankingInfo\":{";
    details.scores.explain(&hit, &mut |name, value| {
        write_to(out, format_args!("{before}\"{name}\":{value}"));
        before = ",";
    });
    if details.promoted {
        out.extend_from_slice(b",\"promoted\":true");
    }
    if let Some((metres, _, point)) = details.place.filter(|_| shows_place) {
        write_to(
            out,
            format_args!(
                ",\"matchedGeoLocation\":{{\"lat\":{},\"lng\":{},\"distance\":{metres}}}",
                point.lat, point.lng
            ),
        );
    }
    out.push(b'}');
}
