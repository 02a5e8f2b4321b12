//! What does an index say about queries, beside its records?

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
}
