//! Where everything in the data folder is: every file, folder, tree and row key, and the format they have.

use crate::error::{Result, StoreError};
use crate::files::Files;
use quorate_model::GroupId;
use std::path::{Path, PathBuf};

/// The newest data format this version reads and the one it writes. A step from an older one is a row of `upgrade`.
pub const FORMAT: u32 = 1;

/// The folder beside the days of a group's events that has its models.
pub const MODELS: &str = "models";
/// The folder beside them that has files which nobody knows any more.
pub const DAMAGED: &str = "damaged";
/// The folder beside them that has what is derived of the rows of each day.
pub const ROLLUPS: &str = "rollups";

/// Ends the names of folders of indices that are on their way out.
const DEAD: &str = ".dead";

/// The paths inside one data folder.
///
/// | path | holds |
/// |---|---|
/// | `FORMAT` | `quorate data format N` |
/// | `lock` | number of the process that used the folder last; locked while one does |
/// | `node-id` | UUID of this member |
/// | `app-id` | application id of the installation |
/// | `admin-key` | admin key, mode 0600 |
/// | `admin-key-given` | digest of the admin key that the node was given last, mode 0600 |
/// | `join-token` | what all nodes of the installation share, mode 0600 |
/// | `address` | the bound address of the running server, for tools on this machine |
/// | `request-log.0`, `request-log.1` | the last calls of clients that the node answered, for people; not relied on |
/// | `damage.json` | what the checks found wrong in this folder, as long as it is |
/// | `raft/` | the log of all groups |
/// | `state/` | working metadata store: `db/`, `session`, `aside/` |
/// | `dumps/G.dump` | last dump of group G's metadata store |
/// | `dumps/G.left` | nothing: the node leaves group G, and removes what it has of it |
/// | `indices/I/` | index with incarnation I (hexadecimal); `indices/I/S/` its shard S |
/// | `indices/I.dead` | the same of one that nothing asks for, on its way out |
/// | `events/G/` | the events of group G: a manifest, its copy, and by day the files that it names |
/// | `events/G/damaged/N/` | files whose manifest was damaged, until somebody imports or removes them |
/// | `events/G/models/H/M-N.mdl` | model M of the index whose name has hash H, the one with number N |
/// | `events/G/rollups/D.rollup` | searches of the day D that count, as reports read them; not relied on |
/// | `parts/` | parts of staged batches |
/// | `snapshots/out/G-N/` | the state of group G as of log index N, for other members; gone at the next start |
/// | `snapshots/in/G-N/` | such a state on its way from another member |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout of the data folder `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Layout { root: root.into() }
    }
    /// The data folder.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// The format version file.
    pub fn format(&self) -> PathBuf {
        self.root.join("FORMAT")
    }
    /// The file whose lock keeps a second process out.
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }
    /// The member's UUID.
    pub fn node_id(&self) -> PathBuf {
        self.root.join("node-id")
    }
    /// The application id.
    pub fn app_id(&self) -> PathBuf {
        self.root.join("app-id")
    }
    /// The admin key.
    pub fn admin_key(&self) -> PathBuf {
        self.root.join("admin-key")
    }
    /// A note of which admin key this node was given last.
    pub fn admin_key_given(&self) -> PathBuf {
        self.root.join("admin-key-given")
    }
    /// The join token.
    pub fn join_token(&self) -> PathBuf {
        self.root.join("join-token")
    }
    /// The address the running server is bound to.
    pub fn address(&self) -> PathBuf {
        self.root.join("address")
    }
    /// The files of the last calls that the node answered; each is begun anew when the other is full.
    pub fn request_logs(&self) -> [PathBuf; 2] {
        [0, 1].map(|number| self.root.join(format!("request-log.{number}")))
    }
    /// What the checks found wrong in this folder.
    pub fn damage(&self) -> PathBuf {
        self.root.join("damage.json")
    }
    /// The Raft log of all groups.
    pub fn raft(&self) -> PathBuf {
        self.root.join("raft")
    }
    /// The working metadata store.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }
    /// The folder of the dumps.
    pub fn dumps(&self) -> PathBuf {
        self.root.join("dumps")
    }
    /// The last dump of a group.
    pub fn dump(&self, group: GroupId) -> PathBuf {
        self.dumps().join(format!("{group}.dump"))
    }
    /// Says that this node leaves a group, until nothing of the group is left.
    pub fn left(&self, group: GroupId) -> PathBuf {
        self.dumps().join(format!("{group}.left"))
    }
    /// The folder of all indices.
    pub fn indices(&self) -> PathBuf {
        self.root.join("indices")
    }
    /// The folder of one index.
    pub fn index(&self, incarnation: u64) -> PathBuf {
        self.indices().join(format!("{incarnation:014x}"))
    }
    /// Where the folder of a dead index stands while it is removed.
    pub fn dead_index(&self, incarnation: u64) -> PathBuf {
        self.indices().join(format!("{incarnation:014x}{DEAD}"))
    }
    /// The folder of one shard of an index.
    pub fn shard(&self, incarnation: u64, shard: u16) -> PathBuf {
        self.index(incarnation).join(shard.to_string())
    }
    /// The folder of the events of all groups.
    pub fn events(&self) -> PathBuf {
        self.root.join("events")
    }
    /// The folder of the events of one group.
    pub fn events_of(&self, group: GroupId) -> PathBuf {
        self.events().join(group.to_string())
    }
    /// The folder of the models of one group.
    pub fn models_of(&self, group: GroupId) -> PathBuf {
        self.events_of(group).join(MODELS)
    }
    /// Parts of staged batches.
    pub fn parts(&self) -> PathBuf {
        self.root.join("parts")
    }
    /// Images sent to or received from peers.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }
    /// Images for other members.
    pub fn snapshots_out(&self) -> PathBuf {
        self.snapshots().join("out")
    }
    /// Images on their way from other members.
    pub fn snapshots_in(&self) -> PathBuf {
        self.snapshots().join("in")
    }
    /// The incarnations that have a folder here; other names are ignored.
    pub fn incarnations(&self) -> Result<Vec<u64>> {
        self.incarnations_with("")
    }
    /// The incarnations whose folder is on its way out ([`Layout::dead_index`]).
    pub fn dead(&self) -> Result<Vec<u64>> {
        self.incarnations_with(DEAD)
    }
    fn incarnations_with(&self, ending: &str) -> Result<Vec<u64>> {
        let folder = self.indices();
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(StoreError::io("list", &folder, e)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry.map_err(|e| StoreError::io("list", &folder, e))?.file_name();
            if let Some(digits) = name.to_str().and_then(|name| name.strip_suffix(ending))
                && digits.len() == 14
                && let Ok(incarnation) = u64::from_str_radix(digits, 16)
            {
                found.push(incarnation);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Makes the folder ready for this version: writes the format into an empty one, upgrades an older one.
    ///
    /// Errors: `TooNew` for a newer format, `NotOurs` for a folder with other files.
    pub fn prepare(&self, files: &dyn Files) -> Result<()> {
        let at = self.root();
        files.create_dir_durable(at).map_err(|e| StoreError::io("create", at, e))?;
        let format = match std::fs::read_to_string(self.format()) {
            Ok(text) => parse_format(&text).ok_or_else(|| {
                StoreError::damaged(self.format().display().to_string(), "no format number")
            })?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                self.refuse_foreign()?;
                FORMAT
            }
            Err(e) => return Err(StoreError::io("read", &self.format(), e)),
        };
        crate::upgrade::run(self, files, format)?;
        for folder in
            [self.raft(), self.state(), self.dumps(), self.indices(), self.parts(), self.snapshots()]
        {
            files.create_dir_all(&folder).map_err(|e| StoreError::io("create", &folder, e))?;
        }
        files.sync_dir(at).map_err(|e| StoreError::io("sync", at, e))?;
        self.write_format(files)
    }

    fn write_format(&self, files: &dyn Files) -> Result<()> {
        let text = format!("quorate data format {FORMAT}\n");
        if std::fs::read_to_string(self.format()).is_ok_and(|kept| kept == text) {
            return Ok(());
        }
        files
            .write_atomic(&self.format(), text.as_bytes())
            .map_err(|e| StoreError::io("write", &self.format(), e))
    }

    /// A folder without FORMAT may hold what a first start leaves before it writes that file, and what an operator puts
    /// there; anything else is somebody else's.
    fn refuse_foreign(&self) -> Result<()> {
        let ours = [
            "lock",
            "node-id",
            "app-id",
            "admin-key",
            "address",
            "raft",
            "state",
            "dumps",
            "indices",
            "parts",
            "snapshots",
            "FORMAT.tmp",
            "lost+found",
        ];
        let entries = std::fs::read_dir(&self.root).map_err(|e| StoreError::io("list", &self.root, e))?;
        for entry in entries {
            let name = entry.map_err(|e| StoreError::io("list", &self.root, e))?.file_name();
            let known = name.to_str().is_some_and(|n| ours.contains(&n) || n.ends_with(".toml"));
            if !known {
                return Err(StoreError::NotOurs { path: self.root.clone() });
            }
        }
        Ok(())
    }
}

fn parse_format(text: &str) -> Option<u32> {
    text.trim_end().strip_prefix("quorate data format ")?.parse().ok()
}

/// The working store's tree of a group.
pub fn tree(group: GroupId) -> String {
    format!("group-{group}")
}

/// The rows of a group's tree that more than one file knows. A key is one letter, then parts in big-endian order so that a scan is in
/// their order. The letters of the others stand where these rows are read.
pub mod rows {
    /// Placement group: settings of an index, by incarnation.
    pub const SETTINGS: u8 = b's';
    /// Placement group: state of an index, by incarnation.
    pub const STATE: u8 = b't';
    /// Placement group: the log index after which a restart replays.
    pub const REPLAY: u8 = b'p';
    /// Placement group: a synonym or rule, by incarnation, kind and objectID.
    pub const DOCUMENT: u8 = b'y';
    /// Any group: outcome of a task, by log index.
    pub const TASK: u8 = b'o';

    /// A key under `letter` for a name.
    pub fn by_name(letter: u8, name: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(1 + name.len());
        key.push(letter);
        key.extend_from_slice(name.as_bytes());
        key
    }
    /// A key under `letter` for a number, in numeric order.
    pub fn by_number(letter: u8, number: u64) -> Vec<u8> {
        let mut key = Vec::with_capacity(9);
        key.push(letter);
        key.extend_from_slice(&number.to_be_bytes());
        key
    }
    /// The key of a document: kinds are apart, ids in their order.
    pub fn document(incarnation: u64, kind: u8, object_id: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(10 + object_id.len());
        key.push(DOCUMENT);
        key.extend_from_slice(&incarnation.to_be_bytes());
        key.push(kind);
        key.extend_from_slice(object_id.as_bytes());
        key
    }
    /// The incarnation, the kind and the objectID of a key made by [`document`].
    pub fn document_of(key: &[u8]) -> Option<(u64, u8, &str)> {
        let (number, rest) = key.get(1..)?.split_first_chunk::<8>()?;
        let (&kind, object_id) = rest.split_first()?;
        Some((u64::from_be_bytes(*number), kind, std::str::from_utf8(object_id).ok()?))
    }
    /// The number of a key made by [`by_number`].
    pub fn number(key: &[u8]) -> Option<u64> {
        Some(u64::from_be_bytes(key.get(1..)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::RealFiles;

    #[test]
    fn a_new_folder_an_old_one_a_newer_one_and_a_foreign_one() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().join("a/b"));
        layout.prepare(&RealFiles).unwrap();
        layout.prepare(&RealFiles).unwrap();
        assert_eq!(std::fs::read_to_string(layout.format()).unwrap(), "quorate data format 1\n");

        std::fs::write(layout.format(), "quorate data format 2\n").unwrap();
        let text = layout.prepare(&RealFiles).unwrap_err().to_string();
        assert!(text.contains("data format 2") && text.contains("up to 1"), "{text}");

        std::fs::write(layout.format(), "").unwrap();
        assert!(matches!(layout.prepare(&RealFiles), Err(StoreError::Damaged { .. })));

        let foreign = Layout::new(dir.path().join("photos"));
        std::fs::create_dir(foreign.root()).unwrap();
        std::fs::write(foreign.root().join("cat.jpg"), "x").unwrap();
        assert!(matches!(foreign.prepare(&RealFiles), Err(StoreError::NotOurs { .. })));
        assert!(!foreign.format().exists());
    }

    #[test]
    fn keys_sort_as_their_numbers_and_incarnations_are_found() {
        assert!(rows::by_number(rows::TASK, 255) < rows::by_number(rows::TASK, 256));
        assert_eq!(rows::number(&rows::by_number(rows::TASK, 1 << 40)), Some(1 << 40));
        assert!(rows::document(255, 1, "z") < rows::document(256, 0, "a"));
        assert_eq!(rows::document_of(&rows::document(1 << 40, 1, "é/")), Some((1 << 40, 1, "é/")));
        assert_eq!(rows::document_of(&[rows::DOCUMENT, 0]), None);
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        assert_eq!(layout.incarnations().unwrap(), Vec::<u64>::new());
        for incarnation in [1 << 52, 5] {
            std::fs::create_dir_all(layout.shard(incarnation, 0)).unwrap();
        }
        std::fs::create_dir_all(layout.indices().join("other")).unwrap();
        assert_eq!(layout.incarnations().unwrap(), [5, 1 << 52]);
    }
}
