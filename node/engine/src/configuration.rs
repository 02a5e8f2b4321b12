//! What does an index say about queries, beside its records?

use crate::language::Dictionaries;
use crate::query::synonyms::SynonymSet;
use crate::ranking::relevant::RelevantSort;
use crate::rules::RuleSet;
use quorate_model::Settings;
use std::sync::Arc;

/// Everything of an index that shapes a query and its answer, beside the records. One immutable value for each change.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// Settings in force (§2.5).
    pub settings: Arc<Settings>,
    /// Its rules (§2.7), compiled with these settings.
    pub rules: Arc<RuleSet>,
    /// Its synonyms (§2.6), normalised as these settings say.
    pub synonyms: Arc<SynonymSet>,
    /// Stop words, plurals and compounds: the standard ones and those of the application (§2.9).
    pub dictionaries: Arc<Dictionaries>,
    /// The order of a virtual replica; its settings are then those that shape its primary, with its own beside them.
    pub relevant_sort: Option<Arc<RelevantSort>>,
}
