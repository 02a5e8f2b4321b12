//! Do models say what they should?

mod damage;
mod file;
mod reference;
mod rules;
mod shop;

use super::exact::spread;
use super::*;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// A row of small numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Event {
    user: u64,
    item: u32,
    kind: Kind,
    second: u32,
}

/// Which model is built.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Build {
    Related,
    Together,
}

fn name(item: u32) -> String {
    format!("item-{item}")
}
fn collect(events: &[Event]) -> Interactions {
    let mut collector = Collector::new();
    for event in events {
        let Event { user, item, kind, second } = *event;
        collector
            .add(Interaction { user, item: &name(item), kind, time_ms: i64::from(second) * 1_000 })
            .unwrap();
    }
    collector.finish(&AtomicBool::new(false)).unwrap()
}
/// The bytes of a model, which pass the checks of a file.
fn bytes(events: &[Event], build: Build) -> Vec<u8> {
    let (interactions, stop) = (collect(events), AtomicBool::new(false));
    let mut bytes = Vec::new();
    let report = match build {
        Build::Related => related_products(&interactions, &mut bytes, &stop),
        Build::Together => bought_together(&interactions, &mut bytes, &stop),
    }
    .unwrap();
    let model = Model::open(&bytes).unwrap();
    model.check().unwrap();
    assert_eq!(model.report().unwrap(), report);
    bytes
}
/// The lists of a model: neighbours with hundredths.
type Lists = BTreeMap<String, Vec<(String, u16)>>;

fn lists(bytes: &[u8]) -> Lists {
    let model = Model::open(bytes).unwrap();
    let entry = |entry: Result<(&str, Neighbours<'_>)>| {
        let (item, neighbours) = entry.unwrap();
        let list = neighbours.list.iter().map(|neighbour| (neighbour.item.to_owned(), neighbour.hundredths));
        (item.to_owned(), list.collect())
    };
    model.iter().map(entry).collect()
}

/// Numbers as if by chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 += 1;
        spread(self.0) % end
    }
    fn unit(&mut self) -> f64 {
        self.below(1 << 32) as f64 / (1u64 << 32) as f64
    }
}
