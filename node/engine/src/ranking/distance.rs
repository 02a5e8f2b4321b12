//! How far is a record from a point, and is it inside a box or polygon? (C§7.3)

use crate::bits;
use crate::clock::{Clock, Deadline};
use crate::index::Segment;
use quorate_model::params::{AroundRadius, LatLng};
use quorate_model::settings::Effective;

/// Mean radius of the Earth in metres.
pub const EARTH_M: f64 = 6_371_008.8;
/// Records that the automatic radius should hold.
pub const AUTOMATIC_RECORDS: usize = 1_000;
/// Corners of polygons, all of which a point may be compared with, in the time of ranking a document.
const CORNERS_PER_UNIT: usize = 64;
/// A document without a point.
pub const NOWHERE: u32 = u32::MAX;

/// The geographic part of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeoQuery {
    /// The centre, when distances count.
    pub centre: Option<LatLng>,
    /// The radius asked for.
    pub radius: Option<AroundRadius>,
    /// Lower bound of an automatic radius.
    pub radius_min: u64,
    /// (from metres, precision metres), ascending.
    pub precision: Vec<(u64, u64)>,
    /// Boxes; any of them.
    pub boxes: Vec<[f64; 4]>,
    /// Polygons; any of them.
    pub polygons: Vec<Vec<LatLng>>,
}
impl GeoQuery {
    /// Boxes go before polygons, both before a centre (C§4.7).
    pub fn new(params: &Effective) -> GeoQuery {
        let mut query = GeoQuery::default();
        if let Some(boxes) = params.inside_bounding_box.as_ref().filter(|b| !b.is_empty()) {
            query.boxes = boxes.clone();
        } else if let Some(polygons) = params.inside_polygon.as_ref().filter(|p| !p.is_empty()) {
            query.polygons = polygons.clone();
        } else if let Some(centre) = params.around_lat_lng {
            query.centre = Some(centre);
            query.radius = params.around_radius;
            query.radius_min = params.minimum_around_radius.unwrap_or(0);
            query.precision = params.around_precision.clone();
        }
        query
    }
    /// Whether the query restricts nothing.
    pub fn is_empty(&self) -> bool {
        self.centre.is_none() && self.boxes.is_empty() && self.polygons.is_empty()
    }
    /// The precision that acts at a distance.
    pub fn precision_at(&self, metres: u32) -> u32 {
        let entry = self.precision.iter().take_while(|(from, _)| *from <= u64::from(metres)).last();
        entry.map_or(10, |(_, value)| (*value).clamp(10, u64::from(u32::MAX)) as u32)
    }
    /// The bucket of a distance: what the geo criterion compares. Each precision counts on from the buckets before its first
    /// metre, so that what is farther never ranks as nearer; with one precision it is the distance divided by it.
    pub fn bucket(&self, metres: u32) -> u32 {
        let mut before = 0;
        let (mut first, mut precision) = (0, self.precision_at(0));
        for &(from, _) in self.precision.iter().filter(|(from, _)| (1..=u64::from(metres)).contains(from)) {
            let from = from as u32;
            before += (from - first).div_ceil(precision);
            (first, precision) = (from, self.precision_at(from));
        }
        before + (metres - first) / precision
    }
    /// `around` are the boxes around the polygons: most points are outside of them, at little cost.
    fn contains(&self, around: &[[f64; 4]], point: LatLng) -> bool {
        let near = |[south, west, north, east]: &[f64; 4]| {
            (*south..=*north).contains(&point.lat) && (*west..=*east).contains(&point.lng)
        };
        self.boxes.iter().any(|corners| inside_box(corners, point))
            || self
                .polygons
                .iter()
                .zip(around)
                .any(|(polygon, around)| near(around) && inside_polygon(polygon, point))
    }
}
/// South, west, north and east end of a polygon.
fn bounds(polygon: &[LatLng]) -> [f64; 4] {
    let start = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    polygon.iter().fold(start, |[south, west, north, east], corner| {
        [south.min(corner.lat), west.min(corner.lng), north.max(corner.lat), east.max(corner.lng)]
    })
}
/// Great-circle distance in metres.
pub fn distance_m(a: LatLng, b: LatLng) -> f64 {
    let (lat_a, lat_b) = (a.lat.to_radians(), b.lat.to_radians());
    let (d_lat, d_lng) = (lat_b - lat_a, (b.lng - a.lng).to_radians());
    let h = (d_lat / 2.0).sin().powi(2) + lat_a.cos() * lat_b.cos() * (d_lng / 2.0).sin().powi(2);
    2.0 * EARTH_M * h.sqrt().min(1.0).asin()
}
/// Whether the point lies in the box of two opposite corners. Of a box wider than half the globe they are those in the northeast
/// and the southwest, as clients of maps send them: where the one in the northeast is west of the other, it crosses the date line.
pub fn inside_box(corners: &[f64; 4], point: LatLng) -> bool {
    let [lat_a, lng_a, lat_b, lng_b] = *corners;
    let (south, north) = (lat_a.min(lat_b), lat_a.max(lat_b));
    let (west, east) = (lng_a.min(lng_b), lng_a.max(lng_b));
    if point.lat < south || point.lat > north {
        return false;
    }
    let is_northern_west = if lat_a >= lat_b { lng_a < lng_b } else { lng_b < lng_a };
    if east - west > 180.0 && is_northern_west {
        return point.lng >= east || point.lng <= west;
    }
    point.lng >= west && point.lng <= east
}
/// Whether the point lies in the polygon, by counting the sides a ray crosses.
pub fn inside_polygon(polygon: &[LatLng], point: LatLng) -> bool {
    let Some(mut before) = polygon.last() else { return false };
    let mut inside = false;
    for corner in polygon {
        if (corner.lat > point.lat) != (before.lat > point.lat) {
            let share = (point.lat - corner.lat) / (before.lat - corner.lat);
            if point.lng < corner.lng + share * (before.lng - corner.lng) {
                inside = !inside;
            }
        }
        before = corner;
    }
    inside
}
/// The nearest of a record's points: metres and the point.
pub fn nearest(points: &[[f64; 2]], centre: LatLng) -> Option<(u32, LatLng)> {
    let located = points.iter().map(|&[lat, lng]| {
        let point = LatLng { lat, lng };
        (distance_m(centre, point), point)
    });
    let best = located.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((best.0 as u32, best.1))
}
/// Documents with a point in one of the query's boxes or polygons. Those not looked at by the deadline are out.
pub fn inside(segment: &Segment, query: &GeoQuery, deadline: &Deadline) -> Vec<u64> {
    let mut set = vec![0; bits::words_for(segment.doc_count())];
    let Some(geo) = segment.geo() else { return set };
    let around: Vec<[f64; 4]> = query.polygons.iter().map(|polygon| bounds(polygon)).collect();
    let corners = query.boxes.len() + query.polygons.iter().map(Vec::len).sum::<usize>();
    let worth = 1 + (corners / CORNERS_PER_UNIT) as u32;
    let mut clock = Clock::new(deadline);
    for doc in 0..segment.doc_count() {
        for &[lat, lng] in geo.points_of(doc) {
            if clock.spend(worth) {
                return set;
            }
            if query.contains(&around, LatLng { lat, lng }) {
                bits::insert(&mut set, doc);
                break;
            }
        }
    }
    set
}
impl GeoQuery {
    /// The radius asked for in metres; `None` = it is to be chosen.
    pub fn radius_asked(&self) -> Option<u32> {
        match self.radius? {
            AroundRadius::Metres(asked) => Some(asked.min(u64::from(NOWHERE - 1)) as u32),
            AroundRadius::All => Some(NOWHERE - 1),
        }
    }
    /// The radius to choose: the smallest that holds about 1,000 of the records with a point. `metres` are the distances of
    /// at least the nearest 1,000; they are reordered.
    pub fn radius_chosen(&self, metres: &mut [u32]) -> u32 {
        let smallest = match metres.len() {
            0 => 0,
            n => *metres.select_nth_unstable(AUTOMATIC_RECORDS.min(n) - 1).1,
        };
        let least = self.radius_min.min(u64::from(NOWHERE - 2)) as u32;
        smallest.saturating_add(1).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lat: f64, lng: f64) -> LatLng {
        LatLng { lat, lng }
    }
    #[test]
    fn distances_are_great_circles() {
        for (a, b, expected) in [
            (at(48.8566, 2.3522), at(51.5074, -0.1278), 343_556.0),
            (at(0.0, 179.5), at(0.0, -179.5), 111_195.0),
            (at(10.0, 10.0), at(10.0, 10.0), 0.0),
            (at(90.0, 0.0), at(-90.0, 0.0), 20_015_115.0),
        ] {
            assert!((distance_m(a, b) - expected).abs() < 50.0, "{a:?} {b:?} {}", distance_m(a, b));
        }
    }
    #[test]
    fn boxes_and_polygons() {
        let triangle = [at(0.0, 0.0), at(0.0, 10.0), at(10.0, 0.0)];
        for (point, in_triangle) in [(at(1.0, 1.0), true), (at(6.0, 6.0), false), (at(-1.0, 5.0), false)] {
            assert_eq!(inside_polygon(&triangle, point), in_triangle);
            let query = GeoQuery { polygons: vec![triangle.to_vec()], ..GeoQuery::default() };
            assert_eq!(query.contains(&[bounds(&triangle)], point), in_triangle);
        }
        assert_eq!(bounds(&triangle), [0.0, 0.0, 10.0, 10.0]);
        for (corners, point, expected) in [
            ([10.0, 0.0, 0.0, 10.0], at(5.0, 5.0), true),
            ([0.0, 10.0, 10.0, 0.0], at(5.0, 5.0), true),
            ([10.0, 0.0, 0.0, 10.0], at(5.0, 11.0), false),
            ([10.0, -170.0, -10.0, 170.0], at(0.0, 175.0), true),
            ([10.0, -170.0, -10.0, 170.0], at(0.0, 0.0), false),
            ([-10.0, 170.0, 10.0, -170.0], at(0.0, -175.0), true),
            ([10.0, 170.0, -10.0, -170.0], at(0.0, 175.0), false),
            ([10.0, 170.0, -10.0, -170.0], at(0.0, 0.0), true),
            ([90.0, 180.0, -90.0, -180.0], at(-33.9, 151.2), true),
            ([-90.0, -180.0, 90.0, 180.0], at(-33.9, 151.2), true),
        ] {
            assert_eq!(inside_box(&corners, point), expected, "{corners:?} {point:?}");
        }
    }
    #[test]
    fn precision_changes_with_distance() {
        let query = GeoQuery { precision: vec![(0, 25), (1_000, 2_000)], ..GeoQuery::default() };
        for (metres, bucket) in [(0, 0), (24, 0), (25, 1), (999, 39), (1_000, 40), (2_999, 40), (4_100, 41)] {
            assert_eq!(query.bucket(metres), bucket, "{metres}");
        }
        let odd =
            GeoQuery { precision: vec![(0, 10), (25, 100), (25, 50), (130, 10)], ..GeoQuery::default() };
        let buckets = [0, 10, 24, 25, 74, 75, 129, 130, 140].map(|metres| odd.bucket(metres));
        assert_eq!(buckets, [0, 1, 2, 3, 3, 4, 5, 6, 7], "equal starts: the last one counts");
        assert_eq!(GeoQuery::default().bucket(99), 9);
    }
}
