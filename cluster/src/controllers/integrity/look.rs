//! What does this node hold of a group? Reads its files at the common rate, off the threads that serve.

use super::{Checks, Kind};
use crate::apply::meta::MetaPin;
use crate::context::integrity::is_count;
use crate::groups::Group;
use crate::metrics;
use crate::types::{GroupDigest, NamedDigest};
use quorate_model::{GroupId, NodeId};
use quorate_node::{EventsDigest, EventsPin, GroupPin, Held, Incarnation, IndexDigest, UnreadableEvents};
use std::collections::BTreeMap;
use std::time::Instant;

/// What findings of events begin with.
const EVENTS: &str = "events, ";

/// What was read of a group.
#[derive(Default)]
struct Seen {
    damage: Vec<String>,
    indices: Vec<(Incarnation, IndexDigest)>,
    unknown: Vec<Incarnation>,
    events: Option<EventsDigest>,
}

impl Checks {
    /// Checks and hashes what a group held at a log index.
    pub(super) async fn hash(&self, mut pin: GroupPin) {
        let (group, through, checks) = (pin.group, pin.through, self.clone());
        let events = pin.take_events();
        let seen = tokio::task::spawn_blocking(move || {
            let mut seen = Seen::default();
            let mut pace = |bytes| checks.pace.take(bytes);
            for (incarnation, held) in checks.context.node().looks(pin, &mut pace) {
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
            let seen = seen.look_at_events(&checks, group)?.look_at_models(&checks, group)?;
            seen.hash_events(&checks, group, events)
        });
        let Some(seen) = ended(group, seen.await) else { return };
        let names = self.names();
        let named = |(incarnation, digest): (Incarnation, _)| {
            let index = names.get(&incarnation).cloned();
            NamedDigest { index, incarnation, digest }
        };
        let indices = seen.indices.into_iter().map(named).collect();
        let (unknown, events) = (seen.unknown, seen.events);
        let digest = GroupDigest { indices, unknown, events, ..GroupDigest::of(group, through) };
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
            seen.look_at_events(&checks, id)?.look_at_models(&checks, id)
        });
        if let Some(seen) = ended(id, seen.await) {
            self.was_read(id, seen.damage, None);
        }
    }

    fn was_read(&self, id: GroupId, damage: Vec<String>, digest: Option<GroupDigest>) {
        let Some(group) = self.context.groups().get(id) else { return };
        let others = self.others(&group);
        let integrity = self.context.integrity();
        let told = damage.into_iter().map(|what| with_way_out(what, &others));
        integrity.tell(id, Kind::Damage, told, &others);
        integrity.update(id, |checked| {
            checked.looked = Some(Instant::now());
            if digest.is_some() {
                checked.digest = digest;
            }
        });
    }

    /// Tells at once what the files of a group and of its events lacked when the group was opened, and what is lacking no more since its
    /// index was dropped: checks may come to it much later.
    pub(super) fn tell_lost(&self, group: &Group) {
        let (integrity, node) = (self.context.integrity(), self.context.node());
        let gone = node.gone_files(group.id).into_iter().map(|error| error.to_string());
        let lost: Vec<String> = gone.chain(node.lost_events(group.id).iter().map(of_events)).collect();
        let known = integrity.damage(group.id);
        let is_told = |what: &String| known.iter().any(|told| told.starts_with(what.as_str()));
        let is_past = |told: &&String| node.is_dropped(group.id, told);
        let mut told: Vec<String> = known.iter().filter(|told| !is_past(told)).cloned().collect();
        if told.iter().all(|it| is_count(it)) {
            told.clear();
        }
        let news: Vec<String> = lost.iter().filter(|what| !is_told(what)).cloned().collect();
        if told.len() < known.len() || !news.is_empty() {
            let others = self.others(group);
            told.extend(news.into_iter().map(|what| with_way_out(what, &others)));
            integrity.tell(group.id, Kind::Damage, told, &others);
        }
    }

    fn names(&self) -> BTreeMap<Incarnation, String> {
        let meta = self.context.meta();
        meta.catalogue.iter().map(|(name, row)| (row.incarnation, name.to_string())).collect()
    }
}

/// What is wrong, with what becomes of it when these nodes have the group, too.
fn with_way_out(what: String, others: &[NodeId]) -> String {
    let is_of_events = what.starts_with(EVENTS);
    let way = match (others.is_empty(), is_of_events) {
        (true, true) => {
            "no other node has them: put back a copy of the file, or go on without these rows (quorate events accept-loss)"
        }
        (true, false) => "no other node has it: put back a copy of the file, or delete the index",
        (false, _) => "it is fetched anew from the other nodes",
    };
    format!("{what}; {way}")
}

impl Seen {
    /// Reads the files of a group's events, too. `None` when the checks are over.
    fn look_at_events(mut self, checks: &Checks, group: GroupId) -> Option<Seen> {
        let (mut pace, goes_on) = (|bytes| checks.pace.take(bytes), || !checks.pace.is_over());
        for found in checks.context.node().verify_events(group, &mut pace, &goes_on) {
            match found.error.is_damage() {
                true => self.damage.push(of_events(&found)),
                false => tracing::warn!(group = group.0, error = %found.error, "events cannot be checked"),
            }
        }
        metrics::rollups_damaged(checks.context.node().verify_rollups(group, &mut pace, &goes_on));
        goes_on().then_some(self)
    }
    /// Reads the files of a group's models, too. A damaged one is mended beside, without another state of the group. `None` when the checks
    /// are over.
    fn look_at_models(self, checks: &Checks, group: GroupId) -> Option<Seen> {
        let (mut pace, goes_on) = (|bytes| checks.pace.take(bytes), || !checks.pace.is_over());
        let damaged = checks.context.node().verify_models(group, &mut pace, &goes_on);
        metrics::models_damaged(damaged.len());
        goes_on().then_some(self)
    }
    /// Hashes what readers saw of events. What cannot be read is not known. `None` when the checks are over.
    fn hash_events(mut self, checks: &Checks, group: GroupId, pin: Option<EventsPin>) -> Option<Seen> {
        let Some(pin) = pin else { return Some(self) };
        let (mut pace, goes_on) = (|bytes| checks.pace.take(bytes), || !checks.pace.is_over());
        match pin.digest(&mut pace, &goes_on) {
            Ok(None) => return None,
            Ok(digest) => self.events = digest,
            Err(error) => tracing::debug!(group = group.0, %error, "events cannot be compared"),
        }
        Some(self)
    }
    fn note(&mut self, group: GroupId, error: &quorate_node::Error) {
        match error.is_damage() {
            true => self.damage.push(error.to_string()),
            false => tracing::warn!(group = group.0, %error, "an index cannot be checked"),
        }
    }
}

fn of_events(found: &UnreadableEvents) -> String {
    match found.rows {
        Some(rows) => format!("{EVENTS}{rows} rows: {}", found.error),
        None => format!("{EVENTS}rows that nobody has counted: {}", found.error),
    }
}

fn ended<T>(group: GroupId, read: Result<Option<T>, tokio::task::JoinError>) -> Option<T> {
    read.unwrap_or_else(|_| {
        tracing::error!(group = group.0, "checking what a group holds panicked");
        None
    })
}
