//! Which installation a data folder belongs to: application id and keys, made at the first start and kept.

use crate::clock;
use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::disk::Purpose;
use crate::ids;
use crate::lifecycle::admin_key::AdminKeys;
use crate::lifecycle::running::Running;
use crate::meta::KeyDigest;
use crate::options::{Expected, ServiceOptions, Started};
use quorate_model::{Acl, ApiKey, Error, Result};
use quorate_store::identity::DataFolder;
use quorate_store::layout::Layout;

/// Characters of an admin key given by the operator.
const ADMIN_KEY_CHARS_MIN: usize = 8;
/// Characters of one at most: callers send it in a header.
const ADMIN_KEY_CHARS_MAX: usize = 1_024;

/// What the meta state keeps of the admin key.
pub fn admin_key_digest(value: &str) -> [u8; 32] {
    KeyDigest::of(value).0
}

/// Refuses options that cannot be right for this folder, before anything is changed in it.
pub fn check(options: &ServiceOptions) -> Result<()> {
    refuse_empty(options)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if let Some(app_id) = &options.app_id
        && !((1..=64).contains(&app_id.len()) && app_id.bytes().all(is_plain))
    {
        return Err(Error::invalid("app-id must be 1 to 64 letters, digits, \"-\" or \"_\""));
    }
    options.admin_key.as_deref().map_or(Ok(()), check_admin_key)
}

/// Errors: `Invalid`, an admin key of fewer or more characters than it may have, or others than visible ones.
pub fn check_admin_key(key: &str) -> Result<()> {
    let has_length = (ADMIN_KEY_CHARS_MIN..=ADMIN_KEY_CHARS_MAX).contains(&key.chars().count());
    match has_length && key.bytes().all(|b| b.is_ascii_graphic()) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "the admin key must have {ADMIN_KEY_CHARS_MIN} to {ADMIN_KEY_CHARS_MAX} characters, all of them visible ASCII"
        ))),
    }
}

/// Refuses a folder that must hold data and holds none, before anything is made in it.
fn refuse_empty(options: &ServiceOptions) -> Result<()> {
    let has_log = || {
        let raft = Layout::new(options.data_dir.clone()).raft();
        std::fs::read_dir(raft).is_ok_and(|mut entries| entries.next().is_some())
    };
    match options.expects {
        Expected::Data if !has_log() => Err(Error::invalid(format!(
            "{} holds no data of a node, and expect-data says that it must: is its disk mounted? Mount it and start again; if \
             the data is lost for good, start without expect-data",
            options.data_dir.display()
        ))),
        Expected::Data | Expected::Anything => Ok(()),
    }
}

/// Brings the folder, the meta state and the options into agreement and says what was found or made.
pub async fn settle(running: &Running, options: &ServiceOptions, keys: &AdminKeys) -> Result<Started> {
    let first_start = running.context.meta().installation.is_none();
    if first_start {
        set_up(running, options, keys).await?;
    }
    let meta = running.context.meta();
    let installation =
        meta.installation.clone().ok_or_else(|| Error::internal("the first start left nothing"))?;
    refuse_other_app(&running.folder, options, &installation.app_id)?;
    let searches_only = |key: &&std::sync::Arc<ApiKey>| key.acl == [Acl::Search] && key.validity == 0;
    Ok(Started {
        app_id: installation.app_id.clone(),
        admin_key_path: running.folder.layout().admin_key(),
        search_key: meta
            .keys
            .living()
            .values()
            .filter(searches_only)
            .min_by_key(|key| key.created_at)
            .map(|key| key.value.clone()),
        replaced_admin_key: false,
        first_start,
        warnings: std::mem::take(&mut *running.starter.warnings.lock()),
    })
}

/// Whether other nodes have the installation as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// This node decides alone.
    SingleNode,
    /// It is one of several.
    MultiNode,
}

async fn set_up(running: &Running, options: &ServiceOptions, keys: &AdminKeys) -> Result<()> {
    let folder = &running.folder;
    let app_id = match (&options.app_id, folder.app_id()?) {
        (_, Some(kept)) => kept,
        (Some(asked), None) => asked.clone(),
        (None, None) => ids::app_id(),
    };
    let admin_key = match (&options.admin_key, keys.files().key()?) {
        (Some(asked), _) => asked.clone(),
        (None, Some(kept)) => kept,
        (None, None) => ids::key_string(),
    };
    // the file first: nobody could ever know a key that is only a digest in the log
    keys.files().set_key(&admin_key)?;
    let search_key = ApiKey {
        description: "Search-only key made at the first start".into(),
        ..ApiKey::new(ids::key_string(), clock::unix_ms() / 1_000, vec![Acl::Search])
    };
    let command = MetaCommand::SetUp {
        app_id,
        admin_key: admin_key_digest(&admin_key),
        search_key: serde_json::to_vec(&search_key).expect("a key document always serialises"),
    };
    running.context.proposer().propose_meta(command, Purpose::Add, write_deadline()).await?;
    Ok(())
}

fn refuse_other_app(folder: &DataFolder, options: &ServiceOptions, app_id: &str) -> Result<()> {
    if let Some(asked) = options.app_id.as_deref().filter(|&asked| asked != app_id) {
        return Err(quorate_store::StoreError::OtherApp {
            path: folder.layout().root().to_path_buf(),
            kept: app_id.to_owned(),
            asked: asked.to_owned(),
        }
        .into());
    }
    Ok(folder.set_app_id(app_id)?)
}
