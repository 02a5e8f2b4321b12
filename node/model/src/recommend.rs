//! Which models recommend records (§4.14)?

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

impl fmt::Display for RecommendModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_one_model() {
        for model in RecommendModel::ALL {
            assert_eq!(RecommendModel::parse(model.name()), Some(model));
        }
        assert_eq!(RecommendModel::parse("recommended-for-you"), None);
    }
}
