//! Which hits remain when each value of an attribute may appear only so often? (C§8.1)

use crate::clock::Clock;
use crate::index::ShardView;
use crate::ranking::top::Entry;
use rustc_hash::FxHashMap;

/// Bytes of a value that are hashed in the time of ranking a document.
const BYTES_PER_UNIT: usize = 256;

/// The hits of one value, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// At most as many as asked for.
    pub members: Vec<Entry>,
}
/// Groups ranked entries by the value of `attribute`, `most` to a group, in the order of their best members.
/// Records without the attribute stand alone. Those not looked at when the clock rings are in no group.
pub fn groups(
    view: &ShardView,
    entries: &[Entry],
    attribute: &str,
    most: usize,
    clock: &mut Clock,
) -> Vec<Group> {
    let mut groups: Vec<Group> = vec![];
    let mut by_value: FxHashMap<&str, usize> = FxHashMap::default();
    let columns: Vec<_> = view.segments().iter().map(|segment| segment.facet(attribute)).collect();
    for entry in entries {
        let value = columns[entry.segment].as_ref().and_then(|column| {
            let ordinal = column.ords_of(entry.doc).next()?;
            Some(column.value(ordinal))
        });
        if clock.spend(1 + (value.map_or(0, str::len) / BYTES_PER_UNIT) as u32) {
            break;
        }
        match value.and_then(|value| by_value.get(value).copied()) {
            Some(number) => {
                if groups[number].members.len() < most {
                    groups[number].members.push(*entry);
                }
            }
            None => {
                if let Some(value) = value {
                    by_value.insert(value, groups.len());
                }
                groups.push(Group { members: vec![*entry] });
            }
        }
    }
    groups
}
