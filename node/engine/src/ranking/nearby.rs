//! How far are the documents of a segment from the centre of a query? (C§7.3)
//!
//! Hot path: distances of all documents are looked at as squared chords of the unit sphere in f32, about 1 ns a document;
//! the exact great circle, some 60 ns, is left for those that the chord cannot decide.

use super::geo::{EARTH_M, GeoQuery, NOWHERE, nearest};
use crate::index::{GeoColumn, Segment, on_sphere};
use crate::matching::bits;
use multiversion::multiversion;
use quorate_model::params::LatLng;

/// Documents of one look: a word of a set.
const BLOCK: usize = 64;
/// Metres by which a chord in f32 may be wrong, beside its relative error.
const MARGIN_M: f64 = 5.0;
/// Relative error of a chord, with reserve.
const MARGIN_RELATIVE: f64 = 2e-6;
/// Beyond it chords hardly grow with the distance, so that they decide nothing.
const CHORDS_UP_TO_M: f64 = 15_000_000.0;
/// Bits of a chord that its place in the histogram leaves out.
const HISTOGRAM_SHIFT: u32 = 17;

/// The documents of a segment as seen from a centre.
pub struct Nearby<'a> {
    geo: Option<GeoColumn<'a>>,
    documents: u32,
    centre: LatLng,
    at: [f32; 3],
}
/// Squared chords below `sure` are within a distance, those above `possible` are not.
#[derive(Clone, Copy)]
struct Limits {
    sure: f32,
    possible: f32,
}
impl Limits {
    /// The limits of distances below `metres`.
    fn of(metres: f64) -> Limits {
        let margin = MARGIN_M + metres * MARGIN_RELATIVE;
        let squared = |metres: f64| {
            let chord = 2.0 * (metres.max(0.0) / EARTH_M / 2.0).sin();
            (chord * chord) as f32
        };
        if metres > CHORDS_UP_TO_M {
            return Limits { sure: squared(CHORDS_UP_TO_M), possible: f32::MAX };
        }
        let sure = if metres > margin { squared(metres - margin) } else { -1.0 };
        Limits { sure, possible: squared(metres + margin) }
    }
}
impl<'a> Nearby<'a> {
    /// Looks at the segment from the centre.
    pub fn new(segment: &'a Segment, centre: LatLng) -> Nearby<'a> {
        let at = on_sphere([centre.lat, centre.lng]);
        Nearby { geo: segment.geo(), documents: segment.doc_count(), centre, at }
    }
    /// Whole metres to the nearest point of the document; [`NOWHERE`] without one.
    pub fn metres(&self, doc: u32) -> u32 {
        let points = self.geo.as_ref().map(|geo| geo.points_of(doc)).unwrap_or_default();
        nearest(points, self.centre).map_or(NOWHERE, |(metres, _)| metres)
    }
    /// The documents at most `metres` away, as a set.
    pub fn within(&self, metres: u32) -> Vec<u64> {
        let limits = Limits::of(f64::from(metres) + 1.0);
        let mut set = vec![0; bits::words_for(self.documents)];
        self.each_block(|first, chords| {
            let mut near = at_most(chords, limits.sure);
            let mut unsure = at_most(chords, limits.possible) & !near;
            while unsure != 0 {
                let i = unsure.trailing_zeros();
                unsure &= unsure - 1;
                near |= u64::from(self.metres(first + i) <= metres) << i;
            }
            if let Some(word) = set.get_mut(first as usize / BLOCK) {
                *word = near;
            }
        });
        set
    }
    /// Adds the documents of the set to a histogram of distances.
    pub fn count(&self, set: Option<&[u64]>, histogram: &mut Histogram) {
        self.each_block(|first, chords| {
            let word = set.map_or(u64::MAX, |set| set[first as usize / BLOCK]);
            for (i, chord) in chords.iter().enumerate() {
                if word >> i & 1 == 1 && chord.is_finite() {
                    histogram.counts[(chord.to_bits() >> HISTOGRAM_SHIFT) as usize] += 1;
                }
            }
        });
    }
    /// Calls `visit` with each document and its squared chord, 64 documents at a time; infinite without a point.
    fn each_block(&self, mut visit: impl FnMut(u32, &[f32])) {
        let Some(geo) = &self.geo else { return };
        let (mut of_points, mut of_docs) = ([0f32; BLOCK], [f32::INFINITY; BLOCK]);
        let [xs, ys, zs] = geo.on_sphere();
        let squared = |from: usize, out: &mut [f32]| {
            let to = from + out.len();
            squared_chords([&xs[from..to], &ys[from..to], &zs[from..to]], self.at, out);
        };
        for first in (0..self.documents).step_by(BLOCK) {
            let length = (self.documents - first).min(BLOCK as u32) as usize;
            if geo.has_one_each() {
                squared(first as usize, &mut of_points[..length]);
                visit(first, &of_points[..length]);
                continue;
            }
            for (i, best) in of_docs[..length].iter_mut().enumerate() {
                *best = f32::INFINITY;
                let mut points = geo.range_of(first + i as u32);
                while !points.is_empty() {
                    let part = points.len().min(BLOCK);
                    squared(points.start, &mut of_points[..part]);
                    *best = of_points[..part].iter().fold(*best, |best, &chord| best.min(chord));
                    points.start += part;
                }
            }
            visit(first, &of_docs[..length]);
        }
    }
}
/// Squared distances of points from `at`.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt+lzcnt"))]
fn squared_chords([xs, ys, zs]: [&[f32]; 3], [x, y, z]: [f32; 3], out: &mut [f32]) {
    for (((out, px), py), pz) in out.iter_mut().zip(xs).zip(ys).zip(zs) {
        *out = (px - x) * (px - x) + (py - y) * (py - y) + (pz - z) * (pz - z);
    }
}
/// Bits of the chords that do not exceed `limit`; in steps that the compiler makes vector operations of.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt+lzcnt"))]
fn at_most(chords: &[f32], limit: f32) -> u64 {
    let mut flags = [0u8; BLOCK];
    for (flag, &chord) in flags.iter_mut().zip(chords) {
        *flag = u8::from(chord <= limit);
    }
    bits::packed(&flags)
}
/// How many documents lie in which ring around the centre, over all segments.
pub struct Histogram {
    counts: Vec<u32>,
}
impl Histogram {
    /// No documents yet.
    pub fn new() -> Histogram {
        // the squared chord of opposite points is 4; rounding may exceed it
        Histogram { counts: vec![0; (4.001f32.to_bits() >> HISTOGRAM_SHIFT) as usize + 1] }
    }
    /// How many documents were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }
    /// Whole metres within which at least `wanted` of the documents lie; [`NOWHERE`] - 1 when there are fewer.
    pub fn metres_of(&self, wanted: u64) -> u32 {
        let mut before = 0;
        for (i, &count) in self.counts.iter().enumerate() {
            before += u64::from(count);
            if before >= wanted {
                let chord = f32::from_bits((i as u32 + 1) << HISTOGRAM_SHIFT).sqrt();
                let metres = 2.0 * EARTH_M * (f64::from(chord) / 2.0).min(1.0).asin();
                if metres > CHORDS_UP_TO_M {
                    break;
                }
                return (metres + MARGIN_M + metres * MARGIN_RELATIVE) as u32 + 1;
            }
        }
        NOWHERE - 1
    }
}
impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}
/// The last metre of the distance bucket that `metres` falls into, when buckets are of one width; a limit for the
/// nearest documents by bucket.
pub fn end_of_bucket(query: &GeoQuery, metres: u32) -> Option<u32> {
    if query.precision.len() > 1 {
        return None;
    }
    let width = query.precision_at(metres);
    (metres / width + 1).checked_mul(width).map(|end| end - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::geo::distance_m;

    #[test]
    fn chords_never_contradict_the_great_circle() {
        let mut state = 7u64;
        let mut random = |low: f64, high: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            low + (state >> 11) as f64 / (1u64 << 53) as f64 * (high - low)
        };
        for round in 0..20_000 {
            let centre = LatLng { lat: random(-90.0, 90.0), lng: random(-180.0, 180.0) };
            let reach = [180.0, 1.0, 0.01, 0.0001][round % 4];
            let lat = (centre.lat + random(-reach, reach)).clamp(-90.0, 90.0);
            let point = LatLng { lat, lng: centre.lng + random(-reach, reach) };
            let exact = distance_m(centre, point);
            let (a, b) = (on_sphere([centre.lat, centre.lng]), on_sphere([point.lat, point.lng]));
            let chord: f32 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
            let asked = exact * [1.0, 0.999_999, 1.000_001, 0.5][round % 4] + random(-20.0, 20.0);
            let limits = Limits::of(asked);
            if chord <= limits.sure {
                assert!(exact < asked, "{centre:?} {point:?} {exact} {asked}");
            }
            if chord > limits.possible {
                assert!(exact >= asked, "{centre:?} {point:?} {exact} {asked}");
            }
        }
    }
    #[test]
    fn flags_become_bits_in_order() {
        for length in [0, 1, 7, 8, 9, 63, 64] {
            let chords: Vec<f32> = (0..length).map(|i| (i * 37 % 64) as f32).collect();
            for limit in [-1.0, 0.0, 5.0, 31.0, 64.0] {
                let expected = chords.iter().enumerate();
                let expected = expected.fold(0u64, |bits, (i, &chord)| bits | u64::from(chord <= limit) << i);
                assert_eq!(at_most(&chords, limit), expected, "{length} {limit}");
            }
        }
    }
    #[test]
    fn buckets_of_several_widths_have_no_end() {
        let query = GeoQuery { precision: vec![(0, 100)], ..GeoQuery::default() };
        assert_eq!(end_of_bucket(&query, 250), Some(299));
        assert_eq!(end_of_bucket(&query, u32::MAX - 1), None);
        let query = GeoQuery { precision: vec![(0, 25), (1_000, 2_000)], ..GeoQuery::default() };
        assert_eq!(end_of_bucket(&query, 250), None);
    }
}
