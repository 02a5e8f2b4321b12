//! What does the meta state hold, as hashes that other members can compare theirs with?

use super::keys::document;
use super::{MetaState, RowChange};
use quorate_model::DictionaryKind;
use quorate_node::Digest;
use std::collections::BTreeMap;

impl MetaState {
    /// A hash of each part of the state, of the rows that it would lie in its tree as. `pace` is called with bytes that were
    /// hashed, every mebibyte or so, and may take its time. Cost: one pass over everything.
    pub fn digest(&self, mut pace: impl FnMut(u64)) -> BTreeMap<String, Digest> {
        let mut read = 0;
        let mut part = |rows: &mut dyn Iterator<Item = RowChange>| {
            let mut digest = Digest::default();
            for RowChange { key, value } in rows {
                let value = value.unwrap_or_default();
                digest.add(&key, &value);
                read += (key.len() + value.len()) as u64;
                if read >= PACE_BYTES {
                    pace(std::mem::take(&mut read));
                }
            }
            digest
        };
        let living = self.keys.living().values().map(|key| RowChange::key(&key.value, &document(key)));
        let deleted = self.keys.deleted().values().map(|it| RowChange::deleted_key(it));
        let users = self.users.map.iter().map(|(user, row)| RowChange::user(user, *row));
        let is_enabled = self.users.is_enabled.then(RowChange::users_enabled);
        // no row, as on nodes that know of no sources, when there are none
        let sources = (!self.sources.list().is_empty()).then(|| RowChange::sources(&self.sources));
        let history = RowChange::key_history(&self.key_history);
        let parts: [(&str, &mut dyn Iterator<Item = RowChange>); 11] = [
            ("indices", &mut self.catalogue.iter().map(|(name, row)| RowChange::index(name, row))),
            ("keys", &mut living.chain(deleted)),
            (
                "admin key",
                &mut self
                    .installation
                    .iter()
                    .map(|it| RowChange::installation(it))
                    .chain([history])
                    .chain(sources),
            ),
            (
                "copies",
                &mut self
                    .reserved
                    .iter()
                    .map(|(it, group)| RowChange::reserved(*it, *group))
                    .chain(self.waiting.map(RowChange::waiting)),
            ),
            ("removed indices", &mut self.tombstoned.iter().map(|(it, on)| RowChange::tombstoned(*it, *on))),
            ("replica lists", &mut self.unannounced.iter().map(|(it, at)| RowChange::unannounced(*it, *at))),
            ("nodes", &mut self.nodes.iter().map(|(node, row)| RowChange::node(*node, row))),
            ("clusters", &mut self.clusters.iter().map(|(name, row)| RowChange::cluster(name, *row))),
            ("placement", &mut self.placement.iter().map(|(group, on)| RowChange::placed(*group, on))),
            ("users", &mut users.chain(is_enabled)),
            (
                "levels",
                &mut [RowChange::level(self.in_force), RowChange::catalogue_changed(self.catalogue_changed)]
                    .into_iter(),
            ),
        ];
        let mut digests: BTreeMap<String, Digest> =
            parts.into_iter().map(|(name, rows)| (name.to_owned(), part(rows))).collect();
        // older programs know of no such parts
        if !self.dictionaries.is_empty() || self.dictionaries_revision > 0 {
            digests.insert("dictionaries".to_owned(), part(&mut self.dictionary_rows()));
        }
        if !self.suggestions.is_empty() {
            let mut rows = self.suggestions.iter().map(|(index, row)| RowChange::suggestions(index, row));
            digests.insert("suggestions".to_owned(), part(&mut rows));
        }
        pace(read);
        digests
    }

    fn dictionary_rows(&self) -> impl Iterator<Item = RowChange> {
        let entries = DictionaryKind::ALL.into_iter().flat_map(|kind| self.dictionaries.all(kind));
        let standard = RowChange::standard_entries(self.dictionaries.settings());
        // no row before they act, as on nodes that know of no revisions
        let revision = Some(self.dictionaries_revision).filter(|it| *it > 0);
        let entries = entries.map(RowChange::dictionary_entry).chain([standard]);
        entries.chain(revision.map(RowChange::dictionaries_revision))
    }
}

/// Bytes between two pauses.
const PACE_BYTES: u64 = 1 << 20;
