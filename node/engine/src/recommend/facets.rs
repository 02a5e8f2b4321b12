//! Which values of a facet do recommended records have (model trending-facets)?

use super::{Asker, Scored};
use crate::clock::Clock;
use crate::filter::is_declared;
use crate::response::record::Selection;
use quorate_model::recommend::SCORE_MAX;
use quorate_model::{Hits, SearchParams};
use rustc_hash::FxHashMap;
use serde_json::Value;

impl Asker<'_> {
    /// The values as hits, those first whose records have the most score together. None of a facet that is not declared, or that
    /// the caller may not see.
    pub(super) fn facets(&self, request: &SearchParams, list: &[Scored], clock: &mut Clock) -> Hits {
        let settings = self.settings();
        let visible = Selection::visible(settings, request, self.limits.sees_unretrievable);
        let mut hits = Hits::default();
        let Some(name) = self.asked.facet_name.as_deref() else { return hits };
        if !is_declared(&settings.index, name) || !visible.shows(name) {
            return hits;
        }
        let columns: Vec<_> = self.view.segments().iter().map(|segment| segment.facet(name)).collect();
        let mut sums: FxHashMap<&str, u64> = FxHashMap::default();
        for Scored { entry, score } in list {
            let Some(column) = &columns[entry.segment] else { continue };
            for ordinal in column.ords_of(entry.doc) {
                if clock.is_over() {
                    break;
                }
                *sums.entry(column.value(ordinal)).or_default() += u64::from(*score);
            }
        }
        let mut sums: Vec<(&str, u64)> = sums.into_iter().collect();
        sums.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let best = sums.first().map_or(1, |(_, best)| (*best).max(1));
        for (value, sum) in sums.into_iter().take(self.asked.most as usize) {
            // rounded
            let score = ((2 * sum * u64::from(SCORE_MAX) + best) / (2 * best)) as u16;
            if score < self.asked.threshold {
                break;
            }
            let (name, value, score) = (Value::from(name), Value::from(value), f64::from(score) / 100.0);
            let hit = format!("{{\"facetName\":{name},\"facetValue\":{value},\"_score\":{score}}}");
            hits.json.extend_from_slice(hit.as_bytes());
            hits.ends.push(hits.json.len() as u32);
        }
        hits
    }
}
