//! Rules (C§10): when a query looks like this, change it or its results like that.

mod condition;
mod consequence;
mod params;
mod parse;
mod recommend;
#[cfg(test)]
mod tests;

pub use params::RuleParams;
pub use recommend::{RecommendCondition, RecommendConsequence, RecommendRule};

use crate::ids::ObjectId;
use serde_json::Value;

/// One rule of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The id by which it is saved, read and deleted.
    pub object_id: ObjectId,
    /// Any of them suffices; none at all = the rule always applies (C§10.1).
    pub conditions: Vec<Condition>,
    /// What it does.
    pub consequence: Consequence,
    /// Free text for people.
    pub description: Option<String>,
    /// Whether it acts.
    pub enabled: bool,
    /// When it acts; any period suffices, none at all = always.
    pub validity: Vec<Period>,
    /// Labels for people.
    pub tags: Vec<String>,
    /// `redirect` has a meaning of its own (C§10.4).
    pub scope: Option<String>,
    /// The document as it was saved, minified JSON; absent members are not filled in.
    pub document: Box<str>,
}

/// When a rule applies; everything that is given must hold (C§10.1, C§10.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// What the query has to look like.
    pub pattern: Option<Pattern>,
    /// Whether plurals, synonyms and typos of the pattern's words count, too.
    pub alternatives: bool,
    /// One of the request's ruleContexts.
    pub context: Option<String>,
    /// Facet values that the request's filters must name, all of them.
    pub filters: Vec<FacetValue>,
}

/// The text of a condition and where in the query it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// As written.
    pub text: String,
    /// Where.
    pub anchoring: Anchoring,
    /// The text in pieces: no piece for the empty text.
    pub parts: Vec<PatternPart>,
}
impl Pattern {
    /// The facets whose placeholders stand in the pattern, in their order.
    pub fn facets(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            PatternPart::Facet(attribute) => Some(attribute.as_str()),
            PatternPart::Literal(_) => None,
        })
    }
}

/// A piece of a pattern, and of the `delete` of a query edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternPart {
    /// Words as written.
    Literal(String),
    /// `{facet:attribute}`: any value of that facet.
    Facet(String),
}

/// Where in the query a pattern has to be (C§10.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Anchoring {
    /// It is the whole query.
    Is,
    /// It comes first.
    StartsWith,
    /// It comes last.
    EndsWith,
    /// Anywhere.
    Contains,
}
impl Anchoring {
    /// The value with a name in the interface.
    pub fn named(name: &str) -> Option<Anchoring> {
        Anchoring::NAMES.iter().find(|(known, _)| *known == name).map(|(_, anchoring)| *anchoring)
    }
    /// Names in the interface.
    pub const NAMES: &[(&str, Anchoring)] = &[
        ("is", Anchoring::Is),
        ("startsWith", Anchoring::StartsWith),
        ("endsWith", Anchoring::EndsWith),
        ("contains", Anchoring::Contains),
    ];
}

/// A value of a facet, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacetValue {
    /// Attribute, dots for nesting; `_tags` for tags.
    pub attribute: String,
    /// Value.
    pub value: String,
}

/// A closed range of time in which a rule acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Unix seconds.
    pub from: u64,
    /// Unix seconds.
    pub until: u64,
}

/// What a rule does (C§10.4).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consequence {
    /// What becomes of the query.
    pub query: Option<QueryChange>,
    /// Filters made of facet values that placeholders of the pattern found.
    pub automatic_facet_filters: Vec<AutomaticFilter>,
    /// Same, for filters that only rank.
    pub automatic_optional_facet_filters: Vec<AutomaticFilter>,
    /// The other search parameters of `params`, `renderingContent` among them; `None` when there are none.
    pub params: Option<RuleParams>,
    /// Records with a fixed place.
    pub promote: Vec<Promotion>,
    /// Records that do not show.
    pub hide: Vec<ObjectId>,
    /// Whether promoted records have to pass the filters of the request.
    pub filter_promotes: bool,
    /// Appended to `userData` of the answer.
    pub user_data: Option<Value>,
    /// `redirect.indexName`.
    pub redirect: Option<String>,
}

/// What becomes of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryChange {
    /// It becomes this text.
    Replace(String),
    /// Words are taken out or exchanged, in this order.
    Edit(Vec<QueryEdit>),
}

/// One edit of the query; `insert` is `None` for a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryEdit {
    /// Word or phrase to take out, or the placeholder of a facet: then what it matched.
    pub delete: PatternPart,
    /// What comes in its place.
    pub insert: Option<String>,
}

/// A filter on the value that a placeholder matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutomaticFilter {
    /// Attribute of the placeholder.
    pub facet: String,
    /// Weight for the `filters` criterion.
    pub score: u32,
    /// Several values: any of them instead of all.
    pub disjunctive: bool,
    /// `-facet`: the value is excluded.
    pub negative: bool,
}

/// Records with a fixed place: the first at `position`, the others after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// One or more, at most 100.
    pub object_ids: Vec<ObjectId>,
    /// 0 = first of the whole result list.
    pub position: u64,
}
