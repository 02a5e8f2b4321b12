//! How far did an interrupted import get? A small file in the cache folder, one for each file and destination.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Bytes of the beginning of a file that count for its identity.
const HEAD_BYTES: u64 = 64 << 10;

/// What tells one content of a file from another without reading all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    bytes: u64,
    modified_ns: u64,
    head: u64,
}

/// What an interrupted import had done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The file it was.
    pub identity: Identity,
    /// Options that change what the records become.
    pub shape: String,
    /// Records answered by the node.
    pub records: u64,
    /// Bytes of the file behind them, about.
    pub file_bytes: u64,
    /// Task of the last answered batch.
    pub task_id: u64,
    /// Id of its last record, which is there as long as what was sent is.
    #[serde(default)]
    pub last_id: Option<String>,
}

impl Done {
    /// An import that begins.
    pub fn nothing(identity: Identity, shape: String) -> Done {
        Done { identity, shape, records: 0, file_bytes: 0, task_id: 0, last_id: None }
    }
}

/// Where the state of one import is kept: nowhere, when no folder can be made for it.
pub struct StateFile {
    path: PathBuf,
    /// Whether it was said that it cannot be kept.
    is_told: Cell<bool>,
}

impl Identity {
    /// The identity of a file now.
    pub fn of(path: &Path) -> Result<Identity> {
        let cannot = || format!("cannot read {}", path.display());
        let meta = std::fs::metadata(path).with_context(cannot)?;
        let mut head = Vec::new();
        File::open(path)
            .with_context(cannot)?
            .take(HEAD_BYTES)
            .read_to_end(&mut head)
            .with_context(cannot)?;
        let modified_ns = meta
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .map_or(0, |age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
        Ok(Identity { bytes: meta.len(), modified_ns, head: fingerprint(&[&head]) })
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A short text that stands for the place of a file. The ids of records without one start with it, so that a file that
/// is repaired and imported again replaces its records instead of adding them twice.
pub fn place(file: &Path) -> Result<String> {
    let full = file.canonicalize().with_context(|| format!("cannot open {}", file.display()))?;
    Ok(format!("{:016x}", fingerprint(&[full.to_string_lossy().as_bytes()])))
}

impl StateFile {
    /// The state of importing `file` into `index` of the installation `app_id` at `url`.
    pub fn locate(file: &Path, index: &str, url: &str, app_id: &str) -> Result<StateFile> {
        let full = file.canonicalize().with_context(|| format!("cannot open {}", file.display()))?;
        let full = full.to_string_lossy().into_owned();
        let name = fingerprint(&[full.as_bytes(), index.as_bytes(), url.as_bytes(), app_id.as_bytes()]);
        let path = cache_folder().join(format!("import-{name:016x}.json"));
        Ok(StateFile { path, is_told: Cell::new(false) })
    }

    /// What is done, when it was this very file. A damaged or foreign state counts as none.
    pub fn load(&self, identity: &Identity, shape: &str) -> Option<Done> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let done: Done = serde_json::from_str(&text).ok()?;
        (done.identity == *identity && done.shape == shape).then_some(done)
    }

    /// Keeps `done`: whole or not at all. An import whose state cannot be kept goes on, and says once that it cannot be continued.
    pub fn save(&self, done: &Done) {
        if let Err(error) = self.write(done)
            && !self.is_told.replace(true)
        {
            self.remove();
            eprintln!(
                "warning: {error:#}; if this is interrupted, it begins anew (XDG_CACHE_HOME names another folder)"
            );
        }
    }
    fn write(&self, done: &Done) -> Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let cannot = || format!("cannot write {}", self.path.display());
        let text = serde_json::to_vec(done).with_context(cannot)?;
        let temporary = self.path.with_extension(format!("{}.new", std::process::id()));
        let mut file = File::create(&temporary).with_context(cannot)?;
        file.write_all(&text).with_context(cannot)?;
        drop(file);
        std::fs::rename(&temporary, &self.path).with_context(cannot)
    }

    /// Whether what breaks off is gone on with: it could be kept so far.
    pub fn is_kept(&self) -> bool {
        !self.is_told.get()
    }

    /// Forgets everything.
    pub fn remove(&self) {
        // A state that stays behind is only asked about a file that is unchanged, and then repeats nothing wrong.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn cache_folder() -> PathBuf {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map_or_else(|| std::env::temp_dir().join(of_user()), |folder| folder.join("quorate"))
}

/// A folder among those of all users.
#[cfg(unix)]
fn of_user() -> String {
    format!("quorate-{}", rustix::process::geteuid().as_raw())
}
#[cfg(not(unix))]
fn of_user() -> String {
    "quorate".to_owned()
}

/// FNV-1a over the parts, with their lengths so that parts cannot run into each other.
fn fingerprint(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part.iter()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_kept_for_the_same_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data.jsonl");
        std::fs::write(&data, "{}").unwrap();
        let state = StateFile { path: folder.path().join("new/state.json"), is_told: Cell::new(false) };
        let identity = Identity::of(&data).unwrap();
        assert_eq!(state.load(&identity, "s"), None);
        let done = Done {
            identity: identity.clone(),
            shape: "s".into(),
            records: 5,
            file_bytes: 70,
            task_id: 4097,
            last_id: None,
        };
        state.save(&done);
        assert!(!state.is_told.get());
        assert_eq!(state.load(&identity, "s").as_ref(), Some(&done));
        assert_eq!(state.load(&identity, "other"), None);
        std::fs::write(&data, "{}{}").unwrap();
        assert_eq!(state.load(&Identity::of(&data).unwrap(), "s"), None);
        std::fs::write(&state.path, "{broken").unwrap();
        assert_eq!(state.load(&identity, "s"), None);
        state.remove();
        state.remove();
        // no folder can be made in a file: that is said, and no more
        let nowhere = StateFile { path: data.join("folder/state.json"), is_told: Cell::new(false) };
        nowhere.save(&done);
        assert!(nowhere.is_told.get());
        assert_eq!(nowhere.load(&Identity::of(&data).unwrap(), "s"), None);
    }

    #[test]
    fn fingerprints_tell_parts_apart() {
        assert_ne!(fingerprint(&[b"ab", b"c"]), fingerprint(&[b"a", b"bc"]));
    }
}
