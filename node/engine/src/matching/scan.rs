//! Which documents of a tier come first, and how far must one look to know?
//!
//! Hot path: a document is evaluated only as far as it can still enter the page. No allocation per document.

use super::ahead::each_ahead;
use crate::bits;
use crate::clock::Clock;
use crate::query::Plan;
use crate::ranking::context::SegmentContext;
use crate::ranking::criteria::{CriterionScores, Field};
use crate::ranking::evaluate::Evaluator;
use crate::ranking::top::Top;

/// Documents of which the best are wanted.
pub struct Tier<'a> {
    /// The documents.
    pub set: &'a [u64],
    /// The best that one of them can have.
    pub bound: CriterionScores,
}
/// How many documents of a tier were looked at.
pub enum LookedAt {
    /// All that can enter the page.
    All,
    /// The budget or the time ran out.
    Cut,
    /// Those before this one.
    Before(u32),
}
impl LookedAt {
    /// Whether the budget or the time ran out.
    pub fn is_cut(&self) -> bool {
        matches!(self, LookedAt::Cut)
    }
}

/// Evaluates the documents of a tier in order, at most so many.
pub fn scan(
    plan: &Plan,
    evaluator: &mut Evaluator<'_>,
    top: &mut Top,
    tier: Tier<'_>,
    most: u64,
    context: &mut SegmentContext<'_>,
) -> LookedAt {
    let bound = plan.layout.key(&tier.bound);
    let base = plan.layout.key(&tier.bound.with(Field::Attribute, 0));
    let mut end = top.end_of_places(&plan.layout, base);
    let mut evaluated = 0u64;
    let mut clock = Clock::new(&plan.deadline);
    let mut looked_at = LookedAt::All;
    let lists = evaluator.lists();
    each_ahead(&lists, bits::documents(tier.set), |doc| {
        if evaluated >= most {
            looked_at = LookedAt::Before(doc);
            return false;
        }
        if let Some(scores) = evaluator.evaluate_before(doc, end) {
            let entry = (plan.layout.key(&context.complete(doc, scores)), doc);
            if top.would_enter(entry) {
                top.push(entry);
                end = top.end_of_places(&plan.layout, base);
            }
        }
        evaluated += 1;
        if top.closed_to((bound, doc)) {
            return false;
        }
        let cut = evaluated >= plan.budget && top.is_full() || clock.spend(evaluator.worth(doc));
        if cut {
            looked_at = LookedAt::Cut;
        }
        !cut
    });
    looked_at
}
