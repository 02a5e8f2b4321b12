//! geo: in which bucket of distances from the centre does a document lie? (C§7.3)

use super::row::{Better, CriterionRow};
use crate::ranking::context::SegmentContext;
use crate::ranking::distance::NOWHERE;

/// Its row.
pub const ROW: CriterionRow = CriterionRow {
    bits: 22,
    better: Better::Less,
    best: |_| 0,
    varies: |context| context.nearby.is_some(),
    explain: |bucket, hit, member| {
        member("geoDistance", if hit.precision.is_some() { bucket } else { 0 });
        member("geoPrecision", hit.precision.unwrap_or(1));
    },
};
pub use super::matched::Unmatched as Tally;
/// The bucket of a document's nearest point.
#[inline]
pub fn of_document(context: &SegmentContext<'_>, doc: u32, _: u32) -> u32 {
    let Some(nearby) = &context.nearby else { return 0 };
    match nearby.metres(doc) {
        NOWHERE => NOWHERE,
        metres => context.geo.bucket(metres),
    }
}
