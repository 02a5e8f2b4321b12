//! What does this node make of searches and events?

use super::builds::Builds;
use super::reports::Reports;
use super::searches::Searches;
use super::trends::Trends;

/// What is computed from what users search for and do, as far as it is in memory.
pub struct Insights {
    /// The searches that this node has served, until they are counted.
    pub searches: Searches,
    /// Figures of searches that this node has made lately.
    pub reports: Reports,
    /// What trends.
    pub trends: Trends,
    /// The builds of models of recommendations.
    pub builds: Builds,
}
