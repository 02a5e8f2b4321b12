//! What did a build learn from, and how well does it foretell what it was not shown?

use super::parameters::Parameters;
use serde::{Deserialize, Serialize};

/// What is told of a build. It stands in the model file, so that whoever pulls the file can tell it, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Rows that were given.
    pub rows: u64,
    /// Users with so many rows that they were left out as robots.
    pub robots: u32,
    /// Users whose interactions count.
    pub users: u32,
    /// Their baskets, where a model learns from baskets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub baskets: Option<u32>,
    /// Items that somebody had to do with.
    pub items: u32,
    /// Different pairs of user, or basket, and item.
    pub interactions: u64,
    /// Entries of all lists.
    pub neighbours: u64,
    /// With what items were compared.
    pub parameters: Parameters,
    /// What the parameters were chosen by; nothing where there was too little to choose by, and they are the default.
    pub held_out: Option<HeldOut>,
    /// Whether it was made elsewhere: nothing but the lists is known of it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_uploaded: bool,
}

/// How much of what was held out was found with the parameters that were chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Users, or baskets, of which a part was held out.
    pub users: u32,
    /// Interactions that were held out.
    pub interactions: u32,
    /// The mean part of them that is among 20 items recommended by the rest.
    pub recall: f64,
}
