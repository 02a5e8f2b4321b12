//! The commands that give an index a configuration in the place of the one that it has.

use quorate_model::ResourceKind;
use quorate_node::ops::{Incarnation, IndexCommand, RawResource};
use serde_json::{Map, Value};

/// Settings, and resources of the kinds that are given.
pub fn all(
    index: Incarnation,
    settings: &Map<String, Value>,
    given: Vec<(ResourceKind, Vec<RawResource>)>,
) -> Vec<IndexCommand> {
    std::iter::once(self::settings(index, settings)).chain(resources(index, given)).collect()
}

/// Settings alone.
pub fn settings(index: Incarnation, document: &Map<String, Value>) -> IndexCommand {
    let changes = serde_json::to_vec(document).expect("a JSON object always serialises");
    IndexCommand::Settings { index, changes, replace: true }
}

/// Resources alone; there may be none of a kind.
pub fn resources(
    index: Incarnation,
    given: Vec<(ResourceKind, Vec<RawResource>)>,
) -> impl Iterator<Item = IndexCommand> {
    given.into_iter().map(move |(kind, resources)| IndexCommand::SaveResources {
        index,
        kind,
        resources,
        replace: true,
    })
}
