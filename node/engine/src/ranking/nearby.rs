//! How far are the documents of a segment from the centre of a query? (C§7.3)
//!
//! Hot path: squared chords of the unit sphere in f32 decide, 2 to 5 ns a document; the exact great circle, some 60 ns, is left
//! for those that the chord cannot decide. Boxes around neighbours tell where a circle's edge is, so that of all documents only
//! those there are looked at.

use super::distance::{EARTH_M, GeoQuery, NOWHERE, nearest};
use crate::bits;
use crate::index::{GeoColumn, Segment, on_sphere, squared_chords};
use quorate_model::params::LatLng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Of a set that holds less than this part of the documents each one is looked at, without the boxes.
const FEW_PART: u64 = 64;
/// Metres by which a chord in f32 may be wrong, beside its relative error.
const MARGIN_M: f64 = 5.0;
/// Relative error of a chord, with reserve.
const MARGIN_RELATIVE: f64 = 2e-6;
/// Beyond it chords hardly grow with the distance, so that they decide nothing.
const CHORDS_UP_TO_M: f64 = 15_000_000.0;

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
    /// Whether the document is within the distance that the limits are of.
    fn is_within(&self, doc: u32, chord: f32, limits: Limits, metres: u32) -> bool {
        chord <= limits.sure || (chord <= limits.possible && self.metres(doc) <= metres)
    }
    /// The documents at most `metres` away, as a set.
    pub fn within(&self, metres: u32) -> Vec<u64> {
        let limits = Limits::of(f64::from(metres) + 1.0);
        let mut set = vec![0; bits::words_for(self.documents)];
        let Some(geo) = &self.geo else { return set };
        for (around, docs) in geo.neighbourhoods() {
            let (near, far) = squared_chords(around, self.at);
            if far <= limits.sure {
                docs.iter().for_each(|&doc| bits::insert(&mut set, doc));
            } else if near <= limits.possible {
                let within = |doc| self.is_within(doc, geo.squared_chord(doc, self.at), limits, metres);
                docs.iter().filter(|&&doc| within(doc)).for_each(|&doc| bits::insert(&mut set, doc));
            }
        }
        set
    }
    /// The documents of a set that are at most `metres` away.
    pub fn within_of(&self, set: &[u64], metres: u32) -> Vec<u64> {
        let limits = Limits::of(f64::from(metres) + 1.0);
        let mut near = vec![0; set.len()];
        let Some(geo) = &self.geo else { return near };
        for doc in bits::documents(set) {
            if self.is_within(doc, geo.squared_chord(doc, self.at), limits, metres) {
                bits::insert(&mut near, doc);
            }
        }
        near
    }
    /// Adds the squared chords of the `wanted`, one or more, nearest documents of the set, or of all; fewer when fewer have a point.
    pub fn nearest_chords(&self, set: Option<&[u64]>, wanted: usize, out: &mut Vec<f32>) {
        let Some(geo) = &self.geo else { return };
        let chord = |doc| geo.squared_chord(doc, self.at);
        if let Some(set) = set
            && bits::count(set) <= u64::from(self.documents) / FEW_PART
        {
            out.extend(bits::documents(set).map(chord).filter(|chord| chord.is_finite()));
            return;
        }
        // chords are never negative: their bits compare as they do
        let near = |around| squared_chords(around, self.at).0.to_bits();
        let boxes = geo.neighbourhoods().enumerate();
        let mut boxes: BinaryHeap<_> = boxes.map(|(i, (around, _))| Reverse((near(around), i))).collect();
        let (mut found, mut limit) = (vec![], f32::INFINITY);
        while let Some(Reverse((near, number))) = boxes.pop()
            && f32::from_bits(near) <= limit
        {
            let docs = geo.neighbours(number).iter().copied();
            let shown = docs.filter(|&doc| set.is_none_or(|set| bits::contains(set, doc)));
            found.extend(shown.map(chord).filter(|&chord| chord <= limit));
            if found.len() >= 2 * wanted || limit == f32::INFINITY && found.len() >= wanted {
                limit = *found.select_nth_unstable_by(wanted - 1, f32::total_cmp).1;
                found.truncate(wanted);
            }
        }
        out.append(&mut found);
    }
}
/// Whole metres within which at least `wanted` documents, one or more, with these chords lie; [`NOWHERE`] - 1 when there are fewer.
pub fn metres_of(chords: &mut [f32], wanted: usize) -> u32 {
    if chords.len() < wanted {
        return NOWHERE - 1;
    }
    let chord = chords.select_nth_unstable_by(wanted - 1, f32::total_cmp).1.sqrt();
    let metres = 2.0 * EARTH_M * (f64::from(chord) / 2.0).min(1.0).asin();
    if metres > CHORDS_UP_TO_M {
        return NOWHERE - 1;
    }
    (metres + MARGIN_M + metres * MARGIN_RELATIVE) as u32 + 1
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
    use crate::index::GeoBuilder;
    use crate::ranking::distance::distance_m;
    use proptest::prelude::*;

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
    proptest! {
        #[test]
        fn boxes_leave_out_nothing(
            places in prop::collection::vec(prop::collection::vec((-90.0..90.0, -180.0..180.0), 0..3), 1..300),
            centre in (-90.0..90.0, -180.0..180.0),
            metres in prop_oneof![0u32..3_000_000, 0u32..21_000_000],
            wanted in 1usize..200,
            every in prop_oneof![Just(1u32), Just(2), Just(100)],
        ) {
            let mut builder = GeoBuilder::new();
            for points in &places {
                points.iter().for_each(|&(lat, lng)| builder.point([lat, lng]));
                builder.next_document();
            }
            let points = builder.build();
            let centre = LatLng { lat: centre.0, lng: centre.1 };
            let documents = places.len() as u32;
            let at = on_sphere([centre.lat, centre.lng]);
            let nearby = Nearby { geo: Some(points.column()), documents, centre, at };
            let expected: Vec<u32> = (0..documents).filter(|&doc| nearby.metres(doc) <= metres).collect();
            let within = nearby.within(metres);
            prop_assert_eq!(bits::documents(&within).collect::<Vec<_>>(), &expected[..]);

            let mut set = vec![0; bits::words_for(documents)];
            (0..documents).step_by(every as usize).for_each(|doc| bits::insert(&mut set, doc));
            let kept: Vec<u32> = bits::documents(&nearby.within_of(&set, metres)).collect();
            prop_assert_eq!(kept, expected.into_iter().filter(|doc| doc % every == 0).collect::<Vec<_>>());

            let mut chords = vec![];
            nearby.nearest_chords(Some(&set), wanted, &mut chords);
            let reach = metres_of(&mut chords, wanted);
            let mut distances: Vec<u32> = bits::documents(&set).map(|doc| nearby.metres(doc)).collect();
            distances.sort_unstable();
            if let Some(&last) = distances.get(wanted - 1).filter(|&&last| last != NOWHERE) {
                prop_assert!(reach >= last, "{reach} {last}");
                prop_assert!(reach == NOWHERE - 1 || reach <= last + 10 + last / 100_000, "{reach} {last}");
            } else {
                prop_assert_eq!(reach, NOWHERE - 1);
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
