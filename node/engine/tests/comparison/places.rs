//! How far is a record from a point, and does it lie in a box or polygon? By looking at every point (C§7.3).

use quorate_model::chance::Chance;
use serde_json::{Map, Value, json};

/// Where the random queries stand.
const CENTRE: (f64, f64) = (5.1, 4.9);

/// One point, several, or none that can be used.
pub fn random_place(chance: &mut Chance) -> Value {
    let point = |chance: &mut Chance| json!({"lat": chance.below(40) as f64 / 4.0, "lng": chance.below(40) as f64 / 4.0});
    match chance.below(8) {
        0 => (0..chance.below(4)).map(|_| point(chance)).collect::<Vec<_>>().into(),
        1 => json!({"lat": "5.1", "lng": "4.9"}),
        _ => point(chance),
    }
}
/// Sets the geographic parameters of a query now and then.
pub fn random_parameters(chance: &mut Chance, params: &mut Map<String, Value>) {
    let mut set = |name: &str, value: Value| drop(params.insert(name.to_string(), value));
    let kind = chance.below(12);
    if kind < 4 {
        set("aroundLatLng", "5.1,4.9".into());
        let precisions = [
            json!(1),
            json!(10),
            json!(100_000),
            json!([{"from": 0, "value": 25_000}, {"from": 300_000, "value": 400_000}]),
            json!([{"from": 200_000, "value": 150_000}]),
        ];
        if !chance.once_in(3) {
            set("aroundPrecision", chance.pick(&precisions).clone());
        }
    }
    match kind {
        0 => set("aroundRadius", chance.pick(&[json!("all"), json!(200_000), json!(500_000)]).clone()),
        1 => set("minimumAroundRadius", chance.pick(&[json!(10), json!(2_000_000)]).clone()),
        3 | 4 => {
            let boxes = [
                json!([[2.1, 2.1, 8.1, 7.1]]),
                // corners the other way round, two boxes, one across the date line, and one around the other way
                json!([[8.1, 2.1, 2.1, 7.1]]),
                json!([[0.1, 0.1, 3.1, 3.1], [6.1, 6.1, 9.9, 9.9]]),
                json!([[9.9, -176.0, 0.1, 5.05]]),
                json!([[9.9, 5.05, 0.1, -176.0]]),
            ];
            set("insideBoundingBox", chance.pick(&boxes).clone());
        }
        5 | 6 => {
            let polygons = [
                json!([[0.1, 0.1, 0.1, 9.2, 9.3, 0.1]]),
                json!([[0.1, 0.1, 9.2, 0.15, 3.3, 3.4, 0.12, 9.3]]),
                json!([[0.1, 0.1, 0.15, 4.1, 4.2, 0.12], [9.9, 9.8, 9.7, 5.1, 5.2, 9.6]]),
            ];
            set("insidePolygon", chance.pick(&polygons).clone());
        }
        _ => {}
    }
}
/// What the geographic parameters of a query ask for.
pub struct Around<'a> {
    params: &'a Map<String, Value>,
}
impl<'a> Around<'a> {
    pub fn new(params: &'a Map<String, Value>) -> Around<'a> {
        Around { params }
    }
    /// Whether records are ordered by distance: boxes and polygons put the point aside.
    pub fn is_around(&self) -> bool {
        let areas = ["insideBoundingBox", "insidePolygon"];
        self.params.contains_key("aroundLatLng") && !areas.iter().any(|name| self.params.contains_key(*name))
    }
    /// Metres to the nearest point of the record.
    pub fn metres(&self, record: &Value) -> Option<u32> {
        let nearest =
            points(record).into_iter().map(|point| haversine(CENTRE, point)).min_by(f64::total_cmp)?;
        self.is_around().then_some(nearest as u32)
    }
    /// The radius that acts where none is asked for: it holds the nearest 1,000 of the records that may be shown.
    pub fn automatic_radius<'r>(&self, records: impl Iterator<Item = &'r Value>) -> Option<u32> {
        if !self.is_around() || self.params.contains_key("aroundRadius") {
            return None;
        }
        let mut metres: Vec<u32> = records.filter_map(|record| self.metres(record)).collect();
        metres.sort_unstable();
        metres.truncate(1_000);
        let least = self.params.get("minimumAroundRadius").and_then(Value::as_u64).unwrap_or(0);
        Some((metres.last().unwrap_or(&0) + 1).max(least as u32))
    }
    /// Metres in a bucket at a distance.
    pub fn precision_at(&self, metres: u32) -> u32 {
        let one = |value: &Value| value.as_u64().unwrap().max(10) as u32;
        match self.params.get("aroundPrecision") {
            None => 10,
            Some(Value::Array(list)) => {
                let reached = |entry: &&Value| entry["from"].as_u64().unwrap() <= u64::from(metres);
                list.iter().rfind(reached).map_or(10, |entry| one(&entry["value"]))
            }
            Some(value) => one(value),
        }
    }
    /// The number of the bucket of a distance: as many as are nearer, the last one of each precision being shorter.
    pub fn bucket(&self, metres: Option<u32>) -> u32 {
        let Some(metres) = metres else { return 0 };
        let list = self.params.get("aroundPrecision").and_then(Value::as_array);
        let starts = list.into_iter().flatten().map(|entry| entry["from"].as_u64().unwrap() as u32);
        let mut starts: Vec<u32> = starts.filter(|from| *from > 0 && *from <= metres).collect();
        starts.insert(0, 0);
        let whole = |pair: &[u32]| (pair[1] - pair[0]).div_ceil(self.precision_at(pair[0]));
        let last = starts[starts.len() - 1];
        starts.windows(2).map(whole).sum::<u32>() + (metres - last) / self.precision_at(last)
    }
    /// Whether the record is near enough, or in one of the areas.
    pub fn holds(&self, record: &Value) -> bool {
        let list = |name: &str| -> Option<Vec<Vec<f64>>> {
            let areas = self.params.get(name)?.as_array()?;
            let corners =
                |area: &Value| area.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
            Some(areas.iter().map(corners).collect())
        };
        let any = |test: &dyn Fn((f64, f64)) -> bool| points(record).into_iter().any(test);
        if let Some(boxes) = list("insideBoundingBox") {
            return any(&|point| boxes.iter().any(|corners| in_box(corners, point)));
        }
        if let Some(polygons) = list("insidePolygon") {
            return any(&|point| polygons.iter().any(|corners| in_polygon(corners, point)));
        }
        if !self.is_around() {
            return true;
        }
        let radius = self.params.get("aroundRadius").and_then(Value::as_u64).unwrap_or(u64::MAX);
        self.metres(record).is_some_and(|metres| u64::from(metres) <= radius)
    }
}
fn points(record: &Value) -> Vec<(f64, f64)> {
    let point = |value: &Value| Some((value["lat"].as_f64()?, value["lng"].as_f64()?));
    match &record["_geoloc"] {
        Value::Array(list) => list.iter().filter_map(point).collect(),
        value => point(value).into_iter().collect(),
    }
}
fn in_box(corners: &[f64], (lat, lng): (f64, f64)) -> bool {
    let (low, high) = (corners[1].min(corners[3]), corners[1].max(corners[3]));
    let northeast = if corners[0] >= corners[2] { corners[1] } else { corners[3] };
    let across = high - low > 180.0 && northeast == low;
    let between = if across { lng <= low || lng >= high } else { lng >= low && lng <= high };
    between && lat >= corners[0].min(corners[2]) && lat <= corners[0].max(corners[2])
}
/// The angles under which the sides are seen from a point inside add up to a full turn, from outside to none.
fn in_polygon(corners: &[f64], (lat, lng): (f64, f64)) -> bool {
    let angle = |i: usize| {
        let i = i % (corners.len() / 2) * 2;
        (corners[i] - lat).atan2(corners[i + 1] - lng)
    };
    let turn = |i: usize| {
        let turn = angle(i + 1) - angle(i);
        turn - (turn / std::f64::consts::TAU).round() * std::f64::consts::TAU
    };
    (0..corners.len() / 2).map(turn).sum::<f64>().abs() > 1.0
}
fn haversine(a: (f64, f64), b: (f64, f64)) -> f64 {
    let (lat_a, lat_b) = (a.0.to_radians(), b.0.to_radians());
    let (d_lat, d_lng) = (lat_b - lat_a, (b.1 - a.1).to_radians());
    let h = (d_lat / 2.0).sin().powi(2) + lat_a.cos() * lat_b.cos() * (d_lng / 2.0).sin().powi(2);
    2.0 * 6_371_008.8 * h.sqrt().min(1.0).asin()
}
