//! Which documents of one segment come first when the query has no words?

use super::collect::SegmentHits;
use crate::bits;
use crate::clock::Clock;
use crate::index::Segment;
use crate::query::Plan;
use crate::ranking::context::SegmentContext;
use crate::ranking::criteria::CriterionScores;
use crate::ranking::nearby::{end_of_bucket, metres_of};
use crate::ranking::top::Top;
use crate::scratch::Scratch;

/// Every document that may be shown, in document order unless something else ranks.
pub fn without_words(
    segment: &Segment,
    plan: &Plan,
    context: &mut SegmentContext<'_>,
    scratch: &mut Scratch,
) -> SegmentHits {
    let set = match context.allowed.as_deref() {
        Some(allowed) => scratch.copy(allowed),
        None => {
            let mut all = scratch.take(bits::words_for(segment.doc_count()));
            bits::fill_all(&mut all, segment.doc_count());
            all
        }
    };
    let count = bits::count(&set);
    let mut top = Top::new(plan.limit);
    let order_is_known = !plan.layout.orders(context, false);
    let mut cut = false;
    let mut clock = Clock::new(&plan.deadline);
    let nearest = nearest_of(&set, count, plan, context);
    bits::each(nearest.as_deref().unwrap_or(&set), |doc| {
        let scores = context.complete(doc, CriterionScores::default());
        top.push((plan.layout.key(&scores), doc));
        if clock.is_over() {
            cut = true;
            return false;
        }
        !(order_is_known && top.is_full())
    });
    let matched = if plan.wants_set {
        Some(set)
    } else {
        scratch.give(set);
        None
    };
    let ranked = top.into_sorted();
    SegmentHits { ranked, count, matched, query_terms: vec![], count_cut: false, order_cut: cut }
}

/// The documents that can enter the page when nothing but the distance ranks before the custom order.
fn nearest_of(set: &[u64], count: u64, plan: &Plan, context: &SegmentContext<'_>) -> Option<Vec<u64>> {
    let nearby = context.nearby.as_ref()?;
    let wanted = plan.limit.max(1);
    if wanted as u64 >= count || !plan.layout.orders_by_distance_alone(context) {
        return None;
    }
    let mut chords = vec![];
    nearby.nearest_chords(Some(set), wanted, &mut chords);
    let end = end_of_bucket(context.geo, metres_of(&mut chords, wanted))?;
    Some(nearby.within_of(set, end))
}
