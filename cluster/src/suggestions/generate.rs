//! Which suggestions are made of the values of facets?

use super::build::{How, Sources};
use super::log::{BuildLog, Level};
use quorate_model::{IndexName, Result, limits};
use quorate_node::suggestions::FacetCounts;

/// Suggestions that are made of one combination of facets.
const COMBINED_MAX: usize = 10_000;

/// Values of several facets, one of each, put together; of each facet as many as there is room for.
pub async fn combined<S: Sources>(
    sources: &S,
    index: &IndexName,
    attributes: &[String],
    log: &mut BuildLog,
) -> Result<Vec<String>> {
    let each = (COMBINED_MAX as f64).powf(1.0 / attributes.len() as f64).max(1.0) as u32;
    let each = each.min(limits::FACET_VALUES_MAX as u32);
    let wanted: Vec<(String, u32)> = attributes.iter().map(|attribute| (attribute.clone(), each)).collect();
    let facets = sources.find(index, "", How::Exact, &wanted).await?.facets;
    let mut combined = vec![String::new()];
    for attribute in attributes {
        let values = values_of(&facets, attribute);
        if values.is_empty() {
            has_no_values(attribute, index, log);
        }
        let joined =
            combined.iter().flat_map(|begin| values.iter().map(move |(value, _)| joined_words(begin, value)));
        combined = joined.take(COMBINED_MAX).collect();
    }
    Ok(combined)
}

fn joined_words(begin: &str, value: &str) -> String {
    if begin.is_empty() { value.to_owned() } else { format!("{begin} {value}") }
}

/// The values of an attribute.
pub fn values_of<'f>(facets: &'f [FacetCounts], attribute: &str) -> &'f [(String, u64)] {
    facets.iter().find(|(name, _)| name == attribute).map_or(&[], |(_, values)| values)
}
/// Says in the log why there is none.
pub fn has_no_values(attribute: &str, index: &IndexName, log: &mut BuildLog) {
    let told = format!(
        "{attribute} has no values in {index}: it has to be in attributesForFaceting, other than with filterOnly, \
         and not in unretrievableAttributes"
    );
    log.add(Level::Info, 1, &told);
}
