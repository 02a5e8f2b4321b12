//! What does a node keep of its groups in its folder, and what do tools read of one that does not run? The working metadata store
//! and the dumps; what makes groups of that is [`super::start`].

use crate::apply::group::{DumpFound, DumpPlace, GroupApply};
use crate::apply::meta::MetaMachine;
use crate::groups::reach;
use crate::meta::MetaState;
use crate::options::ServiceOptions;
use quorate_model::{Error, GroupId, NodeId, Result};
use quorate_node::{LevelInForce, Node, NodeOptions, Pace, SharedDictionaries};
use quorate_store::StoreError;
use quorate_store::dump;
use quorate_store::files::Files;
use quorate_store::identity::DataFolder;
use quorate_store::incoming;
use quorate_store::kv::{Kv, Start};
use quorate_store::layout::{self, Layout};
use quorate_store::space::Room;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Memory of the working store's page cache.
const KV_CACHE_BYTES: u64 = 64 << 20;
/// Memory of one index writer.
const WRITER_MEMORY_BYTES: usize = 64 << 20;
/// Bytes of a new segment file that a writer keeps in memory until a durable commit.
const WRITER_SPILL_BYTES: usize = 4 << 20;
/// Threads that index a large batch of one index together; each makes a segment of its part.
const WRITER_THREADS_MAX: usize = 4;

pub(super) fn node_options(options: &ServiceOptions, layout: &Layout, kv: Kv, room: Room) -> NodeOptions {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    NodeOptions {
        layout: layout.clone(),
        files: options.files.clone(),
        kv,
        search_threads: if options.search_threads == 0 { processors } else { options.search_threads },
        writer_threads: processors.min(WRITER_THREADS_MAX),
        writer_memory_bytes: WRITER_MEMORY_BYTES,
        writer_spill_bytes: WRITER_SPILL_BYTES,
        room,
        pace: Pace::default(),
        level: LevelInForce::default(),
        dictionaries: SharedDictionaries::default(),
        events_kept: options.events_kept,
    }
}

/// A node's number: its identity, never its address.
pub fn node_number(folder: &DataFolder) -> NodeId {
    let (high, low) = folder.node_id().as_u64_pair();
    NodeId((high ^ low).max(1))
}

/// What is kept of a node that does not run: the meta state, and how far each group was applied; 0 = there is nothing of it.
pub fn read_state(folder: &DataFolder) -> Result<(Arc<MetaState>, BTreeMap<GroupId, u64>)> {
    let (layout, files) = (folder.layout(), folder.files());
    let mut warnings = vec![];
    let kv = open_state(layout, files, log_before(layout), &mut warnings)?;
    let place = open_tree(&kv, layout, files, GroupId::META, &mut warnings)?;
    let meta = MetaMachine::open(place.tree.clone()).map_err(|e| unreadable(&kv, &e))?;
    let state = meta.shared().load_full();
    drop((meta, place));
    let groups = state.clusters.keys().flat_map(|cluster| state.groups_of(cluster));
    let groups = std::iter::once(GroupId::META).chain(groups);
    // with their dumps: a store that is rebuilt has nothing else yet
    let mut applied =
        |group| Ok((group, open_tree(&kv, layout, files, group, &mut warnings)?.tree.applied()));
    let applied: Result<_> = groups.map(&mut applied).collect();
    kv.close()?;
    Ok((state, applied?))
}

/// What the state of a group needs of its log.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// A start replays what is behind this log index: the log must not begin later.
    pub from: u64,
    /// The metadata store, or the files of an index, have everything through here: the log must not end before.
    pub through: u64,
}

/// What each group of a node that does not run needs of its log. Groups that it has nothing of need nothing.
pub fn read_reached(folder: &DataFolder) -> Result<BTreeMap<GroupId, Reached>> {
    let (layout, files) = (folder.layout(), folder.files());
    let mut warnings = vec![];
    let kv = open_state(layout, files, log_before(layout), &mut warnings)?;
    let node =
        Node::open(node_options(&ServiceOptions::new(layout.root()), layout, kv.clone(), Room::boundless()))?;
    let place = open_tree(&kv, layout, files, GroupId::META, &mut warnings)?;
    let meta = MetaMachine::open(place.tree.clone()).map_err(|e| unreadable(&kv, &e))?;
    let state = meta.shared().load_full();
    let applied = place.tree.applied();
    let mut reached = BTreeMap::new();
    if applied > 0 {
        reached.insert(GroupId::META, Reached { from: applied, through: applied });
    }
    for group in state.clusters.keys().flat_map(|cluster| state.groups_of(cluster)) {
        let place = open_tree(&kv, layout, files, group, &mut warnings)?;
        let machine = node.machine(group).map_err(|e| unreadable(&kv, &e))?;
        let through = machine.durable_in_files()?.max(place.tree.applied());
        let apply = GroupApply::open(machine, place).map_err(|e| unreadable(&kv, &e))?;
        if through > 0 {
            reached.insert(group, Reached { from: apply.taken(), through });
        }
    }
    drop((meta, place, node));
    kv.close()?;
    Ok(reached)
}

/// Of which of these groups a node that does not run has files that do not read as they were written, and the first that was found
/// of each. Cost: all files of indices are read.
pub fn read_damage(
    folder: &DataFolder,
    groups: impl Iterator<Item = GroupId>,
) -> Result<BTreeMap<GroupId, String>> {
    let (layout, files) = (folder.layout(), folder.files());
    let mut warnings = vec![];
    let kv = open_state(layout, files, log_before(layout), &mut warnings)?;
    let node =
        Node::open(node_options(&ServiceOptions::new(layout.root()), layout, kv.clone(), Room::boundless()))?;
    let mut damaged = BTreeMap::new();
    for group in groups.filter(|group| *group != GroupId::META) {
        let found = match open_tree(&kv, layout, files, group, &mut warnings) {
            Err(error) => Some(error.to_string()),
            Ok(_tree) => match node.machine(group) {
                Err(error) => Some(error.to_string()),
                Ok(_machine) => node
                    .pin_each(group)
                    .find_map(|index| index.and_then(|it| it.verify(&mut |_| {})).err())
                    .map(|error| error.to_string()),
            },
        };
        damaged.extend(found.map(|what| (group, what)));
    }
    drop(node);
    kv.close()?;
    Ok(damaged)
}

/// Whether a node ran in this folder before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogBefore {
    /// There is no log.
    None,
    /// There is one.
    Some,
}

pub(super) fn log_before(layout: &Layout) -> LogBefore {
    match std::fs::read_dir(layout.raft()).is_ok_and(|mut entries| entries.next().is_some()) {
        true => LogBefore::Some,
        false => LogBefore::None,
    }
}

/// Opens the working store.
pub(super) fn open_state(
    layout: &Layout,
    files: &Arc<dyn Files>,
    log_was: LogBefore,
    warnings: &mut Vec<String>,
) -> Result<Kv> {
    let (kv, found) = Kv::open(&layout.state(), files.clone(), KV_CACHE_BYTES)?;
    if let Start::Rebuild { reason } = &found
        && log_was == LogBefore::Some
    {
        warnings.push(format!("the metadata store is rebuilt from its dumps and the log: {reason}"));
    }
    files
        .create_dir_all(&layout.dumps())
        .map_err(|e| Error::internal(format!("cannot create dumps: {e}")))?;
    Ok(kv)
}

/// Opens the tree of a group and brings it at least to its dump.
pub(super) fn open_tree(
    kv: &Kv,
    layout: &Layout,
    files: &Arc<dyn Files>,
    group: GroupId,
    warnings: &mut Vec<String>,
) -> Result<DumpPlace> {
    let tree = kv.tree(&layout::tree(group))?;
    if let Some(index) = incoming::resume(&**files, layout, group, &tree)? {
        warnings.push(format!("group {group} continues from a snapshot at log index {index}"));
    }
    let found = match dump::read_dump(&layout.dump(group)) {
        Ok(Some(dump)) => {
            if reach::lacks(&tree, &dump)? {
                dump.restore_into(&tree)?;
            }
            DumpFound::Whole
        }
        Ok(None) if tree.applied() == 0 => DumpFound::Whole,
        Ok(None) => DumpFound::Lost,
        // it is whole, and whoever may read it finds the group in it
        Err(error @ StoreError::Io { .. }) if error.is_forbidden() => return Err(error.into()),
        // the log may still reach back far enough; if it does not, consensus refuses to start
        Err(error) => {
            warnings.push(format!("a dump of the metadata store is not used: {error}"));
            DumpFound::Lost
        }
    };
    incoming::forget(&**files, layout, group, tree.applied())?;
    Ok(DumpPlace { group, tree, data: layout.clone(), files: files.clone(), found })
}

/// A tree that verified but cannot be read must not be used at the next start either.
pub(super) fn unreadable(kv: &Kv, error: &dyn std::fmt::Display) -> Error {
    let next = match kv.distrust() {
        Ok(()) => "start again to rebuild it from its dumps and the log".to_owned(),
        Err(again) => format!("and it cannot be marked for a rebuild: {again}"),
    };
    Error::internal(format!("the metadata store cannot be read: {error}; {next}"))
}
