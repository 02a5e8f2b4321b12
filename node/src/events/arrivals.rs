//! How much have the events of each index grown since its models learned from them?

use quorate_model::IndexName;
use quorate_model::event::{Event, EventTarget};
use rustc_hash::FxHashMap;

/// Names that are counted at most; of others nothing is known.
const NAMES_MAX: usize = 10_000;

/// What came for one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Rows, as far as this process knows.
    pub rows: u64,
    /// When the first one came, or the process began, Unix milliseconds.
    pub since_ms: u64,
}

/// What came for the names of one group.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    of: FxHashMap<IndexName, Arrived>,
}

impl Arrivals {
    /// Knows that there are events of a name, of which none is new.
    pub fn know(&mut self, name: &str, now_ms: u64) {
        if let Ok(name) = IndexName::stored(name)
            && self.of.len() < NAMES_MAX
        {
            self.of.entry(name).or_insert(Arrived { rows: 0, since_ms: now_ms });
        }
    }
    /// Counts events that were received at a time (Unix milliseconds).
    pub fn take(&mut self, events: &[Event], time_ms: u64) {
        for event in events {
            let EventTarget::Objects(objects) = &event.target else { continue };
            let rows = objects.len() as u64;
            let is_room = self.of.len() < NAMES_MAX;
            match self.of.get_mut(&event.index) {
                Some(arrived) if arrived.rows > 0 => arrived.rows += rows,
                Some(arrived) => *arrived = Arrived { rows, since_ms: time_ms },
                None if is_room => {
                    self.of.insert(event.index.clone(), Arrived { rows, since_ms: time_ms });
                }
                None => {}
            }
        }
    }
    /// Some rows are new no more.
    pub fn settle(&mut self, name: &IndexName, rows: u64) {
        if let Some(arrived) = self.of.get_mut(name) {
            arrived.rows = arrived.rows.saturating_sub(rows);
        }
    }
    /// Nothing more is known of a name until its next event.
    pub fn drop_name(&mut self, name: &IndexName) {
        self.of.remove(name);
    }
    /// All that is known.
    pub fn all(&self) -> Vec<(IndexName, Arrived)> {
        self.of.iter().map(|(name, arrived)| (name.clone(), *arrived)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::event::{EventKind, EventObject};

    fn event(index: &str, target: EventTarget) -> Event {
        Event {
            kind: EventKind::View,
            name: "n".into(),
            index: IndexName::new(index).unwrap(),
            user: "u".into(),
            authenticated: None,
            time_ms: None,
            query_id: None,
            value: None,
            currency: None,
            target,
        }
    }
    fn objects(count: usize) -> EventTarget {
        let object = EventObject {
            object_id: "o".into(),
            position: None,
            query_id: None,
            price: None,
            quantity: None,
            discount: None,
        };
        EventTarget::Objects(vec![object; count])
    }

    #[test]
    fn rows_are_new_until_a_model_has_them() {
        let mut arrivals = Arrivals::default();
        let of = |arrivals: &Arrivals, name: &str| {
            arrivals.all().into_iter().find(|(known, _)| known.as_str() == name).map(|(_, arrived)| arrived)
        };
        arrivals.know("a", 5);
        assert_eq!(of(&arrivals, "a"), Some(Arrived { rows: 0, since_ms: 5 }));
        arrivals.take(&[event("a", objects(2)), event("a", EventTarget::Filters(vec!["f".into()]))], 10);
        arrivals.take(&[event("a", objects(3)), event("b", objects(1))], 20);
        assert_eq!(of(&arrivals, "a"), Some(Arrived { rows: 5, since_ms: 10 }));
        assert_eq!(of(&arrivals, "b"), Some(Arrived { rows: 1, since_ms: 20 }));
        let a = IndexName::new("a").unwrap();
        arrivals.settle(&a, 4);
        arrivals.know("a", 99);
        assert_eq!(of(&arrivals, "a").map(|arrived| arrived.rows), Some(1));
        arrivals.settle(&a, u64::MAX);
        arrivals.take(&[event("a", objects(1))], 30);
        assert_eq!(of(&arrivals, "a"), Some(Arrived { rows: 1, since_ms: 30 }));
        arrivals.settle(&IndexName::new("c").unwrap(), 1);
        assert_eq!(of(&arrivals, "c"), None);
    }
    #[test]
    fn names_are_bounded() {
        let mut arrivals = Arrivals::default();
        for number in 0..NAMES_MAX + 5 {
            arrivals.take(&[event(&format!("n{number}"), objects(1))], 1);
        }
        assert_eq!(arrivals.all().len(), NAMES_MAX);
    }
}
