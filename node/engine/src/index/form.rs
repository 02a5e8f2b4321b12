//! What do segments look like that programs of command level 1 wrote, and when is that form still written?
//!
//! Programs of level 1 and all later ones name the same version of the format, and neither opens the other's segments. This one
//! opens both: what the first form lacks is made when a segment is opened. While command level 1 is in force another node may
//! be of that level, or this one may go back to it, so only the first form is written; afterwards merging and rebuilding leave
//! none of it.
//!
//! The first form has no letters of terms, no boxes around neighbours, points on the sphere by axis, top lists only beside
//! bitmaps and without kinds, and one number for the attributes of a priority.

use super::container::Container;
use super::geo_column::{GeoBuilder, GeoPoints};
use super::position::attribute_numbers;
use super::sections as s;
use super::trie::{CHARACTER, letter_bit};
use quorate_model::level::LETTERED;
use quorate_model::settings::IndexSettings;
use std::fmt;
use std::sync::Arc;

/// How a segment is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentForm {
    /// As programs of command level 1 write and read it.
    First,
    /// As all later ones write it.
    Lettered,
}
impl SegmentForm {
    /// The form of a segment's file.
    pub(crate) fn of(container: &Container) -> SegmentForm {
        match container.range(s::TERM_LETTERS).is_empty() {
            true => SegmentForm::First,
            false => SegmentForm::Lettered,
        }
    }
    /// Whether attributes have other numbers in the first form than in the other.
    pub(crate) fn numbers_differ(settings: &IndexSettings) -> bool {
        attribute_numbers(settings, SegmentForm::First).ne(attribute_numbers(settings, SegmentForm::Lettered))
    }
}

/// Which command level is in force, asked whenever a segment is written.
#[derive(Clone)]
pub struct LevelInForce(Arc<dyn Fn() -> u16 + Send + Sync>);
impl LevelInForce {
    /// Asks `level`, which must not block.
    pub fn new(level: impl Fn() -> u16 + Send + Sync + 'static) -> LevelInForce {
        LevelInForce(Arc::new(level))
    }
    /// The form to write.
    pub(crate) fn form(&self) -> SegmentForm {
        match (self.0)() {
            level if level < LETTERED => SegmentForm::First,
            _ => SegmentForm::Lettered,
        }
    }
}
impl Default for LevelInForce {
    /// The newest: there is nobody else.
    fn default() -> Self {
        LevelInForce::new(|| u16::MAX)
    }
}
impl fmt::Debug for LevelInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LevelInForce")
    }
}

/// For each node of a segment's trie the letters that go on after it. What does not fit together has none: such a file is
/// damaged, which its checksums tell.
pub(crate) fn letters_of(container: &Container) -> Vec<u64> {
    let numbers = |id: u32| container.numbers::<u32>(&container.range(id));
    let (children, labels, lows) =
        (numbers(s::TERM_CHILDREN), numbers(s::TERM_LABELS), numbers(s::TERM_LOWS));
    let (tail_off, tails) = (numbers(s::TAIL_OFF), container.slice(&container.range(s::TAILS)));
    let first_of_tail = |low: u32| {
        let from = *tail_off.get(low as usize)? as usize;
        let to = *tail_off.get(low as usize + 1)? as usize;
        std::str::from_utf8(tails.get(from..to)?).ok()?.chars().next()
    };
    let of_node = |(ends, low): (&[u32], &u32)| {
        let below = labels.get(ends[0] as usize..ends[1] as usize).unwrap_or_default();
        match below {
            [] => first_of_tail(*low).map_or(0, |c| letter_bit(c.into())),
            below => below.iter().fold(0, |letters, label| letters | letter_bit(label & CHARACTER)),
        }
    };
    children.windows(2).zip(lows).map(of_node).collect()
}

/// The points of a segment with who is near whom; `None` when offsets and points do not fit together.
pub(crate) fn points_of(container: &Container) -> Option<GeoPoints> {
    let offsets: &[u32] = container.numbers(&container.range(s::GEO_OFF));
    let points: &[[f64; 2]] = container.numbers(&container.range(s::GEO));
    let mut builder = GeoBuilder::new();
    for ends in offsets.windows(2) {
        points.get(ends[0] as usize..ends[1] as usize)?.iter().for_each(|point| builder.point(*point));
        builder.next_document();
    }
    Some(builder.build())
}
