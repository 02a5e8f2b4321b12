//! Do two replicas of an index hold the same? Hashes of its records, settings, synonyms and rules, whatever segments they lie in.

use crate::error::{Error, Result};
use crate::index::IndexState;
use crate::ops::Incarnation;
use crate::resources::Resources;
use crate::set_digest::Digest;
use quorate_engine::index::{Segment, ShardView};
use quorate_model::{ResourceKind, Settings};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    pub(crate) fn of(state: &Arc<IndexState>) -> Result<PinnedIndex> {
        let shard = state.shard_view()?;
        Ok(Self::new(state, shard, &state.settings.load(), &state.resources.load()))
    }
    /// An index with what it held at some other moment.
    pub(crate) fn new(
        state: &IndexState,
        shard: Arc<ShardView>,
        settings: &Settings,
        resources: &Resources,
    ) -> PinnedIndex {
        let (incarnation, folder) = (state.incarnation, state.folder.clone());
        PinnedIndex { incarnation, folder, shard, small: without_records(settings, resources) }
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

fn without_records(own: &Settings, resources: &Resources) -> IndexDigest {
    let of_kind = |kind| {
        let mut digest = Digest::default();
        for (id, document) in resources.saved(kind) {
            digest.add(id.as_bytes(), document.as_bytes());
        }
        digest
    };
    let mut rules = of_kind(ResourceKind::Rules);
    for (model, of_model) in &resources.recommend {
        for (id, rule) in of_model.iter() {
            // no objectID holds the byte between the two
            rules.add(format!("{model}\0{id}").as_bytes(), rule.document.as_bytes());
        }
    }
    IndexDigest {
        settings: settings(own),
        synonyms: of_kind(ResourceKind::Synonyms),
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
        self.check_files()?;
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

/// Checks a segment's file that is about to be sent elsewhere. Errors: `Engine` when it is damaged.
pub fn verify_file(path: &Path) -> Result<()> {
    let folder = || path.parent().unwrap_or(path).to_path_buf();
    quorate_engine::index::verify_file(path).map_err(|source| Error::Engine { folder: folder(), source })
}
