//! What does an index say about queries, beside its records?

use crate::analysis::Schema;
use crate::query::synonyms::SynonymSet;
use crate::ranking::relevant::RelevantSort;
use crate::rules::{RecommendRules, RuleSet};
use quorate_model::Settings;
use std::sync::Arc;

/// Everything of an index that shapes a query and its answer, beside the records. One immutable value for each change.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// Settings in force (C§4), and stop words, plurals and compounds: the standard ones and those of the application (C§12).
    pub schema: Schema,
    /// Its rules (C§10.1), compiled with that schema.
    pub rules: Arc<RuleSet>,
    /// The rules of its models of recommendations (C§17.4).
    pub recommend_rules: RecommendRules,
    /// Its synonyms (C§11), normalised as that schema says.
    pub synonyms: Arc<SynonymSet>,
    /// The order of a virtual replica; its settings are then those that shape its primary, with its own beside them.
    pub relevant_sort: Option<Arc<RelevantSort>>,
}
impl Configuration {
    /// The settings in force.
    pub fn settings(&self) -> &Arc<Settings> {
        self.schema.settings()
    }
}
