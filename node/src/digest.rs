//! Do two replicas of an index hold the same? Hashes of its records, settings, synonyms and rules, whatever segments they lie in.

use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::index::IndexState;
use crate::node::Node;
use crate::ops::Incarnation;
use quorate_engine::index::{Segment, ShardView};
use quorate_model::{DocumentKind, GroupId, Settings};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A hash of a set: the sum of the hashes of its members, so that neither order nor grouping matters.
///
/// 128 bits of SHA-256 for each member. It tells damage and divergence; it is no defence against somebody who chooses records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(u128);

impl Digest {
    /// Adds a member: a key and what it stands for.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut hash = Sha256::new();
        // the length keeps the border between the two
        hash.update((key.len() as u64).to_le_bytes());
        hash.update(key);
        hash.update(value);
        let hash = hash.finalize();
        let half = hash[..16].try_into().expect("SHA-256 has 32 bytes");
        self.0 = self.0.wrapping_add(u128::from_le_bytes(half));
    }
    /// Adds all members of another set.
    pub fn join(&mut self, other: Digest) {
        self.0 = self.0.wrapping_add(other.0);
    }
}
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16).map(Digest).map_err(serde::de::Error::custom)
    }
}

/// What an index holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexDigest {
    /// Live records.
    pub records: u64,
    /// Their objectIDs and contents.
    pub content: Digest,
    /// The settings document of the last applied command.
    pub settings: Digest,
    /// The synonyms.
    pub synonyms: Digest,
    /// The rules, those of models of recommendations among them.
    pub rules: Digest,
}

/// An index as it was at one moment, to be hashed later and elsewhere: it costs nobody anything while it is held.
#[derive(Clone, Debug)]
pub struct PinnedIndex {
    /// Which life of which index.
    pub incarnation: Incarnation,
    folder: PathBuf,
    shard: Arc<ShardView>,
    small: IndexDigest,
}

impl PinnedIndex {
    fn of(state: &Arc<IndexState>) -> Result<PinnedIndex> {
        let shard = state.shard_view()?;
        Ok(Self::new(state, shard, &state.settings.load(), &state.documents.load()))
    }
    /// An index with what it held at some other moment.
    pub(crate) fn new(
        state: &IndexState,
        shard: Arc<ShardView>,
        settings: &Settings,
        documents: &Documents,
    ) -> PinnedIndex {
        let (incarnation, folder) = (state.incarnation, state.folder.clone());
        PinnedIndex { incarnation, folder, shard, small: without_records(settings, documents) }
    }
    /// Recomputes the checksums of its files. `pace` as in [`Self::digest`]. Errors: `Engine` when one is damaged. Cost: one pass
    /// over the files.
    pub fn verify(&self, pace: &mut impl FnMut(u64)) -> Result<()> {
        let folder = &self.folder;
        self.shard.verify_paced(pace).map_err(|source| Error::Engine { folder: folder.clone(), source })
    }
    /// Bytes of its raw records: what hashing it costs.
    pub fn data_bytes(&self) -> u64 {
        self.shard.data_bytes()
    }
    /// Hashes it. `pace` is called with the bytes that were read, every mebibyte or so, and may take its time. Cost: one pass
    /// over the records.
    pub fn digest(&self, mut pace: impl FnMut(u64)) -> IndexDigest {
        let mut whole = IndexDigest { records: self.shard.record_count(), ..self.small };
        for segment in self.shard.segments() {
            whole.content.join(records(segment, &mut pace));
        }
        whole
    }
}

/// Bytes between two pauses.
const PACE_BYTES: u64 = 1 << 20;

fn records(segment: &Segment, pace: &mut impl FnMut(u64)) -> Digest {
    let (mut digest, mut read) = (Digest::default(), 0);
    for doc in (0..segment.doc_count()).filter(|&doc| segment.is_alive(doc)) {
        let (id, record) = (segment.object_id(doc), segment.record(doc));
        digest.add(id.as_bytes(), record);
        read += (id.len() + record.len()) as u64;
        if read >= PACE_BYTES {
            pace(std::mem::take(&mut read));
        }
    }
    pace(read);
    digest
}

fn without_records(own: &Settings, documents: &Documents) -> IndexDigest {
    let of_kind = |kind| {
        let mut digest = Digest::default();
        for (id, document) in documents.saved(kind) {
            digest.add(id.as_bytes(), document.as_bytes());
        }
        digest
    };
    let mut rules = of_kind(DocumentKind::Rules);
    for (model, of_model) in &documents.recommend {
        for (id, rule) in of_model.iter() {
            // no objectID holds the byte between the two
            rules.add(format!("{model}\0{id}").as_bytes(), rule.document.as_bytes());
        }
    }
    IndexDigest {
        settings: settings(own),
        synonyms: of_kind(DocumentKind::Synonyms),
        rules,
        ..IndexDigest::default()
    }
}

fn settings(settings: &Settings) -> Digest {
    let mut digest = Digest::default();
    for (name, value) in &settings.document {
        digest.add(name.as_bytes(), value.to_string().as_bytes());
    }
    digest
}

impl IndexState {
    /// The records that reads see. Those of an index that nobody reads are opened beside it, so that looking through all
    /// indices leaves none of them open.
    pub(crate) fn shard_view(&self) -> Result<Arc<ShardView>> {
        if let Some(view) = self.opened_view() {
            return Ok(view.shard.clone());
        }
        match ShardView::open(&self.folder) {
            Ok(shard) => Ok(Arc::new(shard)),
            // never written to, or a writer has just replaced what the manifest named
            Err(_) => Ok(self.view()?.shard.clone()),
        }
    }
}

/// Indices that are held open together; of more, each is opened in its turn.
const PINNED_MAX: usize = 256;

/// Checks a segment's file that is about to be sent elsewhere. Errors: `Engine` when it is damaged.
pub fn verify_file(path: &Path) -> Result<()> {
    let folder = || path.parent().unwrap_or(path).to_path_buf();
    quorate_engine::index::verify_file(path).map_err(|source| Error::Engine { folder: folder(), source })
}

impl Node {
    /// As [`Self::pinned`], index by index: one that cannot be opened keeps no other from being looked at. Up to some hundred
    /// are of the moment of this call, more are each of the moment when their turn comes.
    pub fn pin_each(&self, group: GroupId) -> impl Iterator<Item = Result<PinnedIndex>> {
        let mut states = self.indices_of(group);
        states.sort_by_key(|state| state.incarnation);
        let later = states.split_off(states.len().min(PINNED_MAX));
        let now: Vec<_> = states.iter().map(PinnedIndex::of).collect();
        now.into_iter().chain(later.into_iter().map(|state| PinnedIndex::of(&state)))
    }
    /// What every index of a group shows now, by incarnation. Cost: opens those that are closed; hashing is the caller's.
    ///
    /// Errors: the files of an index cannot be opened.
    pub fn pinned(&self, group: GroupId) -> Result<Vec<PinnedIndex>> {
        let mut pinned: Vec<PinnedIndex> =
            self.indices_of(group).iter().map(PinnedIndex::of).collect::<Result<_>>()?;
        pinned.sort_by_key(|index| index.incarnation);
        Ok(pinned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_order_nor_grouping_matters_and_every_byte_does() {
        let members = [("a", "1"), ("b", "2"), ("ab", ""), ("", "ab"), ("a", "b")];
        let of = |members: &[(&str, &str)]| {
            let mut digest = Digest::default();
            members.iter().for_each(|(key, value)| digest.add(key.as_bytes(), value.as_bytes()));
            digest
        };
        let whole = of(&members);
        let mut backwards = members;
        backwards.reverse();
        assert_eq!(of(&backwards), whole);
        let mut joined = of(&members[..2]);
        joined.join(of(&members[2..]));
        assert_eq!(joined, whole);
        for left_out in 0..members.len() {
            let mut some = members.to_vec();
            some.remove(left_out);
            assert_ne!(of(&some), whole, "{left_out}");
        }
        let each: std::collections::BTreeSet<Digest> = members.iter().map(|member| of(&[*member])).collect();
        assert_eq!(each.len(), members.len());
    }

    #[test]
    fn it_is_shown_and_read_as_digits() {
        let mut digest = Digest::default();
        digest.add(b"key", b"value");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(text, "\"2e77a0c0\"".replace("2e77a0c0", &digest.to_string()));
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
        assert!(serde_json::from_str::<Digest>("\"g\"").is_err());
    }
}
