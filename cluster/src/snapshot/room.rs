//! What the actors of the groups ask for snapshots: to offer one, to fetch one. One room for each node.

use super::Description;
use super::fetch::{FETCHES_AT_ONCE, FetchOptions, Fetcher, Holders, SharedSource};
use super::source::{NoPeers, SnapshotSource};
use super::store::{OfferOptions, SnapshotStore};
use super::throttle::{Stop, Throttle, Turns};
use arc_swap::ArcSwap;
use quorate_model::{GroupId, NodeId, Result};
use quorate_raft::SnapshotImage;
use quorate_store::files::Files;
use quorate_store::incoming::Incoming;
use quorate_store::layout::Layout;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How the room of a node is opened.
#[derive(Clone, Debug)]
pub struct RoomOptions {
    /// The data folder.
    pub data: Layout,
    /// The file layer.
    pub files: Arc<dyn Files>,
    /// This node.
    pub node: u64,
    /// How files are fetched.
    pub fetch: FetchOptions,
    /// How snapshots are offered.
    pub offer: OfferOptions,
}

impl RoomOptions {
    /// The usual rates and times.
    pub fn new(data: &Layout, files: Arc<dyn Files>, node: u64) -> Self {
        RoomOptions {
            data: data.clone(),
            files,
            node,
            fetch: FetchOptions::default(),
            offer: OfferOptions::default(),
        }
    }
}

/// The snapshots of a node: those it offers, and those on their way to it.
pub struct SnapshotRoom {
    options: RoomOptions,
    store: Arc<SnapshotStore>,
    source: SharedSource,
    throttle: Arc<Throttle>,
    turns: Arc<Turns>,
}

/// A snapshot on its way. Dropped, it does not change a file any more; waits for a step that is being carried out.
pub struct Fetch {
    stop: Arc<Stop>,
}
impl Drop for Fetch {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

impl SnapshotRoom {
    /// A room that is not connected to other nodes yet.
    pub fn open(options: RoomOptions) -> Result<Arc<SnapshotRoom>> {
        let store = SnapshotStore::open(&options.data, options.files.clone(), options.node, options.offer)?;
        Ok(Arc::new(SnapshotRoom {
            store,
            source: Arc::new(ArcSwap::from_pointee(Arc::new(NoPeers))),
            throttle: Arc::new(Throttle::new(options.fetch.bytes_per_s)),
            turns: Arc::new(Turns::new(FETCHES_AT_ONCE)),
            options,
        }))
    }
    /// Names where files are fetched from; fetches that go on ask there the next time.
    pub fn connect(&self, source: Arc<dyn SnapshotSource>) {
        self.source.store(Arc::new(source));
    }
    /// What this node offers: answers other nodes ([`SnapshotStore::answer`]).
    pub fn store(&self) -> &Arc<SnapshotStore> {
        &self.store
    }
    /// How this room was opened.
    pub(super) fn options(&self) -> &RoomOptions {
        &self.options
    }
    /// Where files are fetched from.
    pub(super) fn source(&self) -> Arc<dyn SnapshotSource> {
        Arc::clone(&self.source.load())
    }
    /// Shared by all that this node fetches.
    pub(super) fn throttle(&self) -> &Throttle {
        &self.throttle
    }
    /// Fetches what the consensus named, on a thread of its own, and calls `done` when everything is there and durable.
    pub fn fetch(
        &self,
        group: GroupId,
        image: &SnapshotImage,
        done: impl FnOnce(Incoming) + Send + 'static,
    ) -> io::Result<Fetch> {
        let named = match Description::decode(&image.data) {
            Ok(named) => Some(named),
            Err(error) => {
                tracing::error!(group = group.0, %error, "another snapshot is asked for");
                None
            }
        };
        self.begin(group, image.index, named, Holders::All, done)
    }
    /// As [`Self::fetch`], from any of these nodes that reflects at least this log index.
    pub fn fetch_any(
        &self,
        group: GroupId,
        index: u64,
        from: &[NodeId],
        done: impl FnOnce(Incoming) + Send + 'static,
    ) -> io::Result<Fetch> {
        let from = from.iter().map(|node| node.0).collect();
        self.begin(group, index, None, Holders::These(from), done)
    }
    fn begin(
        &self,
        group: GroupId,
        index: u64,
        named: Option<Description>,
        holders: Holders,
        done: impl FnOnce(Incoming) + Send + 'static,
    ) -> io::Result<Fetch> {
        let stop = Arc::new(Stop::default());
        let fetcher = Fetcher {
            data: self.options.data.clone(),
            files: self.options.files.clone(),
            source: self.source.clone(),
            node: self.options.node,
            options: self.options.fetch.clone(),
            throttle: self.throttle.clone(),
            turns: self.turns.clone(),
            stop: stop.clone(),
            group,
            index,
            named,
            holders,
        };
        std::thread::Builder::new().name(format!("snapshot-{group}")).spawn(move || {
            let arrived = loop {
                match catch_unwind(AssertUnwindSafe(|| fetcher.run())) {
                    Ok(ended) => break ended,
                    Err(_) => {
                        tracing::error!(group = group.0, "fetching a snapshot panicked; it is begun again")
                    }
                }
                if fetcher.stop.wait(fetcher.options.retry_max).is_none() {
                    break None;
                }
            };
            if let Some(incoming) = arrived {
                done(incoming);
            }
        })?;
        Ok(Fetch { stop })
    }
}
