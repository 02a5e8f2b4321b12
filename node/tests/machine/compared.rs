//! What a machine says that its group held where its log says that replicas are to be compared.

use crate::*;
use quorate_node::{EventsDigest, Held, IndexDigest};
use std::collections::BTreeMap;

/// The hashes of what was held at a place of the log, as far as the node can say.
pub struct Compared {
    indices: BTreeMap<u64, IndexDigest>,
    events: Option<EventsDigest>,
}

impl Compared {
    /// What was held where the last `Compare` was applied; `None` when that was not noted.
    pub fn take(node: &Node) -> Option<Compared> {
        let mut pin = node.take_pin()?;
        let events = pin.take_events().map(|it| it.digest(&mut |_| {}, &|| true).unwrap().unwrap());
        let mut no_pause = |_| {};
        let known = node.looks(pin, &mut no_pause).filter_map(|(index, held)| match held.unwrap() {
            Held::Known(digest) => Some((index, digest)),
            Held::Unknown => None,
        });
        Some(Compared { indices: known.collect(), events })
    }
    /// What differs from the same place of a machine that never stopped. What one of them cannot tell does not.
    pub fn difference(&self, expected: &Compared) -> Option<String> {
        let differs = |(index, digest): (&u64, &IndexDigest)| {
            let expected = expected.indices.get(index)?;
            (digest != expected).then(|| format!("index {index}: {digest:?} instead of {expected:?}"))
        };
        let of_indices = self.indices.iter().find_map(differs);
        let of_events = || match (&self.events, &expected.events) {
            (Some(found), Some(expected)) if found != expected => {
                Some(found.differences(expected).join(", "))
            }
            _ => None,
        };
        of_indices.or_else(of_events)
    }
}
