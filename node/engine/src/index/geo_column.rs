//! Where are the documents of a segment on the globe, and which of them are near each other?
//!
//! Documents are listed along a curve that seldom leaves a neighbourhood, with a box around each 64 in a row: a look at the boxes
//! tells which few of them a circle touches.

use super::container::{Container, ContainerWriter};
use super::form::{SegmentForm, points_of};
use super::sections as s;
use std::io::{self, Write};
use std::ops::Range;

/// Documents of one box.
pub const NEIGHBOURS: usize = 64;

/// The least x, y and z of some points on the unit sphere, and the greatest.
pub type SphereBox = [[f32; 3]; 2];

/// The squares of the least and the greatest chord from `at` to a point in a box. Rounding keeps the order of numbers, so that
/// no [`squared_chord`] is beyond them.
pub fn squared_chords([least, greatest]: &SphereBox, at: [f32; 3]) -> (f32, f32) {
    let (mut near, mut far) = ([0f32; 3], [0f32; 3]);
    for axis in 0..3 {
        let (before, after) = (least[axis] - at[axis], greatest[axis] - at[axis]);
        near[axis] = before.max(-after).max(0.0);
        far[axis] = after.max(-before);
    }
    let square = |[x, y, z]: [f32; 3]| x * x + y * y + z * z;
    (square(near), square(far))
}
/// The square of the chord between two points on the unit sphere.
pub fn squared_chord([ax, ay, az]: [f32; 3], [bx, by, bz]: [f32; 3]) -> f32 {
    (ax - bx) * (ax - bx) + (ay - by) * (ay - by) + (az - bz) * (az - bz)
}
/// A point in degrees as a point on the unit sphere.
pub fn on_sphere([lat, lng]: [f64; 2]) -> [f32; 3] {
    let (lat, lng) = (lat.to_radians(), lng.to_radians());
    [(lat.cos() * lng.cos()) as f32, (lat.cos() * lng.sin()) as f32, lat.sin() as f32]
}

/// Collects the points of a segment's documents.
#[derive(Debug)]
pub(crate) struct GeoBuilder {
    doc_off: Vec<u32>,
    points: Vec<[f64; 2]>,
}
impl GeoBuilder {
    /// No document yet.
    pub fn new() -> GeoBuilder {
        GeoBuilder { doc_off: vec![0], points: vec![] }
    }
    /// Adds a point to the current document.
    pub fn point(&mut self, point: [f64; 2]) {
        self.points.push(point);
    }
    /// Ends the current document.
    pub fn next_document(&mut self) {
        self.doc_off.push(self.points.len() as u32);
    }
    /// The points and who is near whom.
    pub fn build(self) -> GeoPoints {
        let GeoBuilder { doc_off, points } = self;
        let on_sphere: Vec<[f32; 3]> = points.iter().map(|&point| on_sphere(point)).collect();
        let range = |doc: u32| doc_off[doc as usize] as usize..doc_off[doc as usize + 1] as usize;
        let located = (0..doc_off.len() as u32 - 1).filter(|&doc| !range(doc).is_empty());
        let mut by_place: Vec<(u32, u32)> =
            located.map(|doc| (place_on_curve(points[range(doc).start]), doc)).collect();
        by_place.sort_unstable();
        let docs: Vec<u32> = by_place.into_iter().map(|(_, doc)| doc).collect();
        let box_of = |docs: &[u32]| {
            let points = docs.iter().flat_map(|&doc| &on_sphere[range(doc)]);
            points.fold([[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]], |[least, greatest], point| {
                let by_axis =
                    |of: fn(f32, f32) -> f32, ends: [f32; 3]| [0, 1, 2].map(|i| of(ends[i], point[i]));
                [by_axis(f32::min, least), by_axis(f32::max, greatest)]
            })
        };
        let boxes = docs.chunks(NEIGHBOURS).map(box_of).collect();
        GeoPoints { doc_off, points, on_sphere, docs, boxes }
    }
}
/// Bits of latitude and longitude in turns.
fn place_on_curve([lat, lng]: [f64; 2]) -> u32 {
    let part = |share: f64| (share * f64::from(u16::MAX)) as u32;
    let (lat, lng) = (part((lat + 90.0) / 180.0), part((lng + 180.0) / 360.0));
    (0..16).fold(0, |place, bit| place | (lat >> bit & 1) << (2 * bit + 1) | (lng >> bit & 1) << (2 * bit))
}
/// The points of a segment before they are written.
#[derive(Debug)]
pub(crate) struct GeoPoints {
    doc_off: Vec<u32>,
    points: Vec<[f64; 2]>,
    on_sphere: Vec<[f32; 3]>,
    docs: Vec<u32>,
    boxes: Vec<SphereBox>,
}
impl GeoPoints {
    /// Writes the sections; none without a point.
    pub fn write<W: Write>(&self, out: &mut ContainerWriter<W>, form: SegmentForm) -> io::Result<()> {
        if self.points.is_empty() {
            return Ok(());
        }
        out.section(s::GEO_OFF, bytemuck::cast_slice(&self.doc_off))?;
        out.section(s::GEO, bytemuck::cast_slice(&self.points))?;
        if form == SegmentForm::First {
            let by_axis: Vec<f32> =
                (0..3).flat_map(|axis| self.on_sphere.iter().map(move |p| p[axis])).collect();
            return out.section(s::GEO_ON_SPHERE, bytemuck::cast_slice(&by_axis));
        }
        out.section(s::GEO_ON_SPHERE, bytemuck::cast_slice(&self.on_sphere))?;
        out.section(s::GEO_NEIGHBOURS, bytemuck::cast_slice(&self.docs))?;
        out.section(s::GEO_BOXES, bytemuck::cast_slice(&self.boxes))
    }
    /// The points as searches see them.
    pub fn column(&self) -> GeoColumn<'_> {
        let GeoPoints { doc_off, points, on_sphere, docs, boxes } = self;
        GeoColumn { doc_off, points, on_sphere, docs, boxes }
    }
}

/// The points of an open segment.
#[derive(Debug)]
pub(crate) enum StoredGeo {
    /// In sections.
    Stored(GeoPlaces),
    /// Made for a file of the first form.
    Made(GeoPoints),
}
impl StoredGeo {
    /// Finds the points, checked by `fits` and by their lengths; `Ok(None)` when there is none, an error when they do not fit.
    pub fn find(
        container: &Container,
        fits: impl Fn(&Range<usize>, usize) -> bool,
    ) -> Result<Option<StoredGeo>, ()> {
        let Some(places) = GeoPlaces::find(container) else { return Ok(None) };
        let points = places.points.len() / size_of::<[f64; 2]>();
        if places.on_sphere.len() / size_of::<[f32; 3]>() != points || !fits(&places.off, points) {
            return Err(());
        }
        match SegmentForm::of(container) {
            SegmentForm::First => points_of(container).map(StoredGeo::Made).ok_or(()).map(Some),
            SegmentForm::Lettered if places.boxes_fit() => Ok(Some(StoredGeo::Stored(places))),
            SegmentForm::Lettered => Err(()),
        }
    }
    /// The points as searches see them.
    pub fn column<'a>(&'a self, container: &'a Container) -> GeoColumn<'a> {
        match self {
            StoredGeo::Stored(places) => places.column(container),
            StoredGeo::Made(points) => points.column(),
        }
    }
}

/// Where the sections of the points are.
#[derive(Clone, Debug)]
pub(crate) struct GeoPlaces {
    off: Range<usize>,
    points: Range<usize>,
    on_sphere: Range<usize>,
    docs: Range<usize>,
    boxes: Range<usize>,
}
impl GeoPlaces {
    /// Finds the sections; `None` when there is no point.
    fn find(container: &Container) -> Option<GeoPlaces> {
        let places = GeoPlaces {
            off: container.range(s::GEO_OFF),
            points: container.range(s::GEO),
            on_sphere: container.range(s::GEO_ON_SPHERE),
            docs: container.range(s::GEO_NEIGHBOURS),
            boxes: container.range(s::GEO_BOXES),
        };
        (!places.points.is_empty()).then_some(places)
    }
    /// Whether there is a box for each neighbourhood.
    fn boxes_fit(&self) -> bool {
        let docs = self.docs.len() / size_of::<u32>();
        self.boxes.len() / size_of::<SphereBox>() == docs.div_ceil(NEIGHBOURS)
    }
    /// The points.
    fn column<'a>(&self, c: &'a Container) -> GeoColumn<'a> {
        GeoColumn {
            doc_off: c.numbers(&self.off),
            points: c.numbers(&self.points),
            on_sphere: c.numbers(&self.on_sphere),
            docs: c.numbers(&self.docs),
            boxes: c.numbers(&self.boxes),
        }
    }
}

/// The points of the documents of one segment.
#[derive(Clone, Copy)]
pub struct GeoColumn<'a> {
    doc_off: &'a [u32],
    points: &'a [[f64; 2]],
    on_sphere: &'a [[f32; 3]],
    docs: &'a [u32],
    boxes: &'a [SphereBox],
}
impl<'a> GeoColumn<'a> {
    fn range_of(&self, doc: u32) -> Range<usize> {
        self.doc_off[doc as usize] as usize..self.doc_off[doc as usize + 1] as usize
    }
    /// `[latitude, longitude]` of each point of a document, in degrees.
    pub fn points_of(&self, doc: u32) -> &'a [[f64; 2]] {
        &self.points[self.range_of(doc)]
    }
    /// The square of the shortest chord to a point of the document; infinite without one.
    #[inline]
    pub fn squared_chord(&self, doc: u32, at: [f32; 3]) -> f32 {
        let points = &self.on_sphere[self.range_of(doc)];
        points.iter().fold(f32::INFINITY, |least, &point| least.min(squared_chord(point, at)))
    }
    /// The documents with points, [`NEIGHBOURS`] at a time, each time with a box around all of their points.
    pub fn neighbourhoods(&self) -> impl Iterator<Item = (&'a SphereBox, &'a [u32])> {
        self.boxes.iter().zip(self.docs.chunks(NEIGHBOURS))
    }
    /// The documents of one box.
    pub fn neighbours(&self, number: usize) -> &'a [u32] {
        let from = number * NEIGHBOURS;
        &self.docs[from..self.docs.len().min(from + NEIGHBOURS)]
    }
}
