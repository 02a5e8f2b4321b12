//! Which models recommend records (C§17)?

use crate::params::SearchParams;
use crate::user::UserId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A way to find what may be recommended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RecommendModel {
    /// What the same users have to do with.
    RelatedProducts,
    /// What the same users convert within a day.
    BoughtTogether,
    /// What more and more users have to do with.
    TrendingItems,
    /// Values of a facet that the trending items have.
    TrendingFacets,
    /// What has the same words and values.
    LookingSimilar,
}

impl RecommendModel {
    /// All, in the order of their numbers.
    pub const ALL: [RecommendModel; 5] = [
        RecommendModel::RelatedProducts,
        RecommendModel::BoughtTogether,
        RecommendModel::TrendingItems,
        RecommendModel::TrendingFacets,
        RecommendModel::LookingSimilar,
    ];

    /// As callers write it, in paths and bodies.
    pub fn name(self) -> &'static str {
        match self {
            RecommendModel::RelatedProducts => "related-products",
            RecommendModel::BoughtTogether => "bought-together",
            RecommendModel::TrendingItems => "trending-items",
            RecommendModel::TrendingFacets => "trending-facets",
            RecommendModel::LookingSimilar => "looking-similar",
        }
    }
    /// Whether it says what goes with one record, the source.
    pub fn has_source(self) -> bool {
        match self {
            RecommendModel::RelatedProducts
            | RecommendModel::BoughtTogether
            | RecommendModel::LookingSimilar => true,
            RecommendModel::TrendingItems | RecommendModel::TrendingFacets => false,
        }
    }
    /// The model of a name.
    pub fn parse(name: &str) -> Option<RecommendModel> {
        Self::ALL.into_iter().find(|model| model.name() == name)
    }
}

/// What a model says may be recommended, before anything is known of the records as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidates {
    /// Users, or baskets, that had to do with the source item. Of few not much follows.
    pub users: u32,
    /// objectIDs with hundredths of their scores, 1 to 10,000, the best first.
    pub list: Vec<(String, u16)>,
}

/// What is asked of one index (C§17), with what a model says about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The model.
    pub model: RecommendModel,
    /// The source, for models that have one.
    #[serde(default)]
    pub object_id: Option<String>,
    /// The facet whose values are asked for, or one of whose values the records have to have.
    #[serde(default)]
    pub facet_name: Option<String>,
    /// The value that they have to have.
    #[serde(default)]
    pub facet_value: Option<String>,
    /// Hundredths of the least score.
    #[serde(default)]
    pub threshold: u16,
    /// How many are wanted at most.
    pub most: u64,
    /// What selects, boosts and shows records.
    #[serde(default)]
    pub params: Box<SearchParams>,
    /// What is searched for when nothing is left.
    #[serde(default)]
    pub fallback: Option<Box<SearchParams>>,
    /// Whose records are asked for, where records are placed by user.
    #[serde(default)]
    pub user: Option<UserId>,
    /// What the model says.
    #[serde(default)]
    pub candidates: Candidates,
}

/// Hundredths of the score 100.
pub const SCORE_MAX: u16 = 10_000;

/// Hundredths of the least score that is not lower than `threshold`, a number from 0 to 100.
pub fn least_score(threshold: f64) -> u16 {
    let near = (threshold * 100.0).round() as u16;
    if f64::from(near) / 100.0 < threshold { near + 1 } else { near }
}

impl fmt::Display for RecommendModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_score_is_not_below_the_threshold() {
        for (threshold, least) in
            [(0.0, 0), (0.07, 7), (33.333, 3_334), (33.337, 3_334), (99.991, 10_000), (100.0, SCORE_MAX)]
        {
            assert_eq!(least_score(threshold), least, "{threshold}");
        }
        assert!((0..=SCORE_MAX).all(|score| least_score(f64::from(score) / 100.0) == score));
    }

    #[test]
    fn a_name_is_of_one_model() {
        for model in RecommendModel::ALL {
            assert_eq!(RecommendModel::parse(model.name()), Some(model));
        }
        assert_eq!(RecommendModel::parse("recommended-for-you"), None);
    }
}
