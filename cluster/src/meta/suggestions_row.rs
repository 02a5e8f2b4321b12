//! How is a suggestions index to be made, and what became of its last build (C§16)?

use quorate_model::{NodeId, SuggestionConfig};
use quorate_store::codec;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::sync::Arc;

/// A configuration, and how its builds are.
#[derive(Clone, Debug, PartialEq)]
pub struct SuggestionsRow {
    /// How the index is made.
    pub config: Arc<SuggestionConfig>,
    /// The log index of the command that made it.
    pub created: u64,
    /// The log index of the last command that wants a build: the configuration was changed, or a build was asked for.
    pub asked: u64,
    /// The build that is under way, or that a node began which is gone.
    pub begun: Option<BuildBegun>,
    /// The last build that has ended.
    pub built: Option<Built>,
}

/// A build that a node has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildBegun {
    /// The log index of the command that says so, which tells the build from others.
    pub at: u64,
    /// The node.
    pub node: NodeId,
    /// When, Unix milliseconds.
    pub time_ms: u64,
}

/// A build that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// When, Unix milliseconds.
    pub ended_ms: u64,
    /// The log index of its begin: what was asked for until then is done.
    pub begun_at: u64,
    /// Whether the index has what it found.
    pub is_success: bool,
    /// When the last build ended that was a success, and how long it took, in milliseconds.
    pub last_success: Option<(u64, u64)>,
    /// Its log, compressed.
    pub log: Arc<Vec<u8>>,
}

impl SuggestionsRow {
    /// Whether somebody waits for a build, or one is under way.
    pub fn is_running(&self) -> bool {
        self.begun.is_some() || self.is_asked()
    }
    /// Whether somebody waits for a build that none that has ended has seen.
    pub fn is_asked(&self) -> bool {
        self.built.as_ref().is_none_or(|built| built.begun_at < self.asked)
    }
    pub(super) fn encode(&self) -> Vec<u8> {
        let SuggestionsRow { config, created, asked, begun, built } = self;
        let built = built.as_ref().map(|it| {
            let log = serde_bytes::Bytes::new(&it.log);
            (it.ended_ms, it.begun_at, it.is_success, it.last_success, log)
        });
        let config = config.to_json();
        codec::encode(&(serde_bytes::Bytes::new(&config), created, asked, begun, built))
    }
    pub(super) fn decode(bytes: &[u8], bytes_max: usize) -> Option<SuggestionsRow> {
        type Ended = (u64, u64, bool, Option<(u64, u64)>, ByteBuf);
        let (config, created, asked, begun, built): (ByteBuf, u64, u64, Option<BuildBegun>, Option<Ended>) =
            codec::decode(bytes, bytes_max).ok()?;
        let config = Arc::new(SuggestionConfig::from_json(&config)?);
        let built = built.map(|(ended_ms, begun_at, is_success, last_success, log)| {
            let log = Arc::new(log.into_vec());
            Built { ended_ms, begun_at, is_success, last_success, log }
        });
        Some(SuggestionsRow { config, created, asked, begun, built })
    }
}
