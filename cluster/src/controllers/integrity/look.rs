//! What does this node hold of a group? Reads its files at the common rate, off the threads that serve.

use super::{Checks, Kind};
use crate::apply::meta::MetaPin;
use crate::groups::Group;
use crate::types::{GroupDigest, NamedDigest};
use quorate_model::GroupId;
use quorate_node::{GroupPin, Held, Incarnation, IndexDigest, UnreadableEvents};
use std::collections::BTreeMap;
use std::time::Instant;

/// What was read of a group.
#[derive(Default)]
struct Seen {
    damage: Vec<String>,
    indices: Vec<(Incarnation, IndexDigest)>,
    unknown: Vec<Incarnation>,
}

impl Checks {
    /// Checks and hashes what a group held at a log index.
    pub(super) async fn hash(&self, pin: GroupPin) {
        let (group, through, checks) = (pin.group, pin.through, self.clone());
        let seen = tokio::task::spawn_blocking(move || {
            let mut seen = Seen::default();
            let mut pace = |bytes| checks.pace.take(bytes);
            for (incarnation, held) in pin.looks(checks.context.node(), &mut pace) {
                match held {
                    Ok(Held::Known(digest)) => seen.indices.push((incarnation, digest)),
                    Ok(Held::Unknown) => seen.unknown.push(incarnation),
                    Err(error) => {
                        seen.unknown.push(incarnation);
                        seen.note(group, &error);
                    }
                }
                if checks.pace.is_over() {
                    return None;
                }
            }
            seen.look_at_events(&checks, group)
        });
        let Some(seen) = ended(group, seen.await) else { return };
        let names = self.names();
        let named = |(incarnation, digest): (Incarnation, _)| {
            let index = names.get(&incarnation).cloned();
            NamedDigest { index, incarnation, digest }
        };
        let indices = seen.indices.into_iter().map(named).collect();
        let digest = GroupDigest { indices, unknown: seen.unknown, ..GroupDigest::of(group, through) };
        self.was_read(group, seen.damage, Some(digest));
    }

    /// Hashes what the meta group held at a log index.
    pub(super) async fn hash_meta(&self, pin: MetaPin) {
        let (through, checks) = (pin.through, self.clone());
        let parts = tokio::task::spawn_blocking(move || {
            let parts = pin.state.digest(|bytes| checks.pace.take(bytes));
            (!checks.pace.is_over()).then_some(parts)
        });
        let Some(parts) = ended(GroupId::META, parts.await) else { return };
        let digest = GroupDigest { parts, ..GroupDigest::of(GroupId::META, through) };
        self.was_read(GroupId::META, vec![], Some(digest));
    }

    /// Reads the checksums of the files of a group whose replicas nobody compares.
    pub(super) async fn read(&self, group: &Group) {
        let (id, checks) = (group.id, self.clone());
        let seen = tokio::task::spawn_blocking(move || {
            let mut seen = Seen::default();
            for pinned in checks.context.node().pin_each(id) {
                let mut pace = |bytes| checks.pace.take(bytes);
                if let Err(error) = pinned.and_then(|index| index.verify(&mut pace)) {
                    seen.note(id, &error);
                }
                if checks.pace.is_over() {
                    return None;
                }
            }
            seen.look_at_events(&checks, id)
        });
        if let Some(seen) = ended(id, seen.await) {
            self.was_read(id, seen.damage, None);
        }
    }

    fn was_read(&self, id: GroupId, damage: Vec<String>, digest: Option<GroupDigest>) {
        let Some(group) = self.context.groups().get(id) else { return };
        let others = self.others(&group);
        let way = match others.is_empty() {
            true => "no other node has it: put back a copy of the file, or delete the index",
            false => "it is fetched anew from the other nodes",
        };
        let integrity = self.context.integrity();
        let told = damage.into_iter().map(|what| format!("{what}; {way}"));
        integrity.tell(id, Kind::Damage, told, &others);
        integrity.update(id, |checked| {
            checked.looked = Some(Instant::now());
            if digest.is_some() {
                checked.digest = digest;
            }
        });
    }

    fn names(&self) -> BTreeMap<Incarnation, String> {
        let meta = self.context.meta();
        meta.catalogue.iter().map(|(name, row)| (row.incarnation, name.to_string())).collect()
    }
}

impl Seen {
    /// Reads the files of a group's events, too. `None` when the checks are over.
    fn look_at_events(mut self, checks: &Checks, group: GroupId) -> Option<Seen> {
        let (mut pace, goes_on) = (|bytes| checks.pace.take(bytes), || !checks.pace.is_over());
        for UnreadableEvents { error, rows } in
            checks.context.node().verify_events(group, &mut pace, &goes_on)
        {
            match error.is_damage() {
                true => self.damage.push(format!("events, {rows} rows: {error}")),
                false => tracing::warn!(group = group.0, %error, "events cannot be checked"),
            }
        }
        goes_on().then_some(self)
    }
    fn note(&mut self, group: GroupId, error: &quorate_node::Error) {
        match error.is_damage() {
            true => self.damage.push(error.to_string()),
            false => tracing::warn!(group = group.0, %error, "an index cannot be checked"),
        }
    }
}

fn ended<T>(group: GroupId, read: Result<Option<T>, tokio::task::JoinError>) -> Option<T> {
    read.unwrap_or_else(|_| {
        tracing::error!(group = group.0, "checking what a group holds panicked");
        None
    })
}
