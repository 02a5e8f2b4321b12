//! What the interface calls for keys (C§13): who holds one, and how they are made, changed, deleted and restored.

use super::Service;
use crate::clock;
use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::context::proposer::Accepted;
use crate::controllers::call_counts;
use crate::disk::Purpose;
use crate::ids;
use crate::meta::{KeyDigest, KeyMap};
use crate::rate_limit::{LimitedCall, Quota};
use quorate_model::limits::KEYS_MAX;
use quorate_model::{ApiKey, Error, ErrorKind, IndexName, Result, level};
use std::sync::Arc;
use subtle::{Choice, ConstantTimeEq};

impl Service {
    /// Counts a call with a key that limits them, over all nodes. Errors: `RateLimited` when it is one too many.
    pub async fn count_call(&self, call: LimitedCall) -> Result<()> {
        call_counts::count(self.open_context()?, call).await
    }
    /// What is left of a limit after a call was counted.
    pub fn quota(&self, call: LimitedCall) -> Result<Quota> {
        Ok(self.open_context()?.calls().rate_limiter.counters().quota(call))
    }
    /// The key with this value or digest, if it exists and has not ended. It is found by its digest, so that the time it takes
    /// says nothing about other keys.
    pub fn key(&self, key: impl Into<KeyDigest>) -> Option<Arc<ApiKey>> {
        let found = self.inner.context.shared_meta().load().keys.get(key.into()).cloned()?;
        found.is_valid_at(clock::unix_ms() / 1_000).then_some(found)
    }
    /// All keys but the admin key, by value, also those whose time is up and that were not removed yet. Cost: a pointer.
    pub fn keys(&self) -> KeyMap {
        self.inner.context.shared_meta().load().keys.living().clone()
    }
    /// Whether this is the admin key, or one before it that still counts; constant time.
    pub fn is_admin_key(&self, key: impl Into<KeyDigest>) -> bool {
        let KeyDigest(digest) = key.into();
        let meta = self.inner.context.shared_meta().load();
        let equal = meta.admin_keys(clock::unix_ms()).map(|kept| digest.ct_eq(&kept));
        equal.fold(Choice::from(0), |any: Choice, is_it| any | is_it).into()
    }
    /// Now, Unix seconds, as keys are checked.
    pub fn now_s(&self) -> u64 {
        clock::unix_ms() / 1_000
    }
    /// The same as answers write it.
    pub fn now_text(&self) -> String {
        clock::rfc3339(clock::unix_ms())
    }

    /// Gives a key a value and adds it. Returns the value and the time. Errors: `Forbidden` when there are too many.
    pub async fn create_key(&self, key: ApiKey) -> Result<(String, String)> {
        if self.keys().len() >= KEYS_MAX {
            return Err(too_many());
        }
        let value = ids::key_string();
        let key = document(&ApiKey { value: value.clone(), ..key });
        let accepted = self.propose_key(MetaCommand::CreateKey { key }, Purpose::Add).await?;
        match self.keys().contains_key(&value) {
            true => Ok((value, clock::rfc3339(accepted.time_ms))),
            false => Err(too_many()),
        }
    }
    /// Replaces what the key with this value may do: all of it. Returns the time. Errors: `NotFound`.
    pub async fn update_key(&self, value: &str, key: ApiKey) -> Result<String> {
        self.key(value).ok_or_else(no_key)?;
        let key = document(&ApiKey { value: value.to_owned(), ..key });
        let accepted = self.propose_key(MetaCommand::UpdateKey { key }, Purpose::Add).await?;
        // it may have been deleted meanwhile
        self.key(value).ok_or_else(no_key)?;
        Ok(clock::rfc3339(accepted.time_ms))
    }
    /// Deletes a key. With an index the key is for that one no longer, and deleted if it is for no other. A key that was deleted already
    /// is no error. Returns the time.
    ///
    /// Errors: `NotFound`.
    pub async fn delete_key(&self, value: &str, index: Option<&IndexName>) -> Result<String> {
        let is_of = |key: &ApiKey| index.is_none_or(|index| key.is_of(index.as_str()));
        let context = self.open_context()?;
        let meta = context.meta();
        let is_deleted = meta.keys.deleted().get(value).is_some_and(|it| is_of(&it.key));
        if !self.key(value).is_some_and(|key| is_of(&key)) {
            return if is_deleted { Ok(clock::rfc3339(clock::unix_ms())) } else { Err(no_key()) };
        }
        let value = value.to_owned();
        let delete = match index.filter(|_| meta.level() >= level::COPIED_KEYS) {
            Some(index) => MetaCommand::DeleteKeyOf { value, index: index.clone() },
            None => MetaCommand::DeleteKey { value },
        };
        let accepted = self.propose_key(delete, Purpose::Remove).await?;
        Ok(clock::rfc3339(accepted.time_ms))
    }
    /// Lets a deleted key live again, without an end. Returns its new time of creation.
    ///
    /// Errors: `NotFound` when it is not among the deleted ones, `Forbidden` when there are too many keys.
    pub async fn restore_key(&self, value: &str) -> Result<String> {
        let is_deleted = |meta: &crate::meta::MetaState| meta.keys.deleted().contains_key(value);
        let context = self.open_context()?;
        if !is_deleted(&context.meta()) {
            return Err(Error::not_found("Key does not exist among those that were deleted"));
        }
        let restore = MetaCommand::RestoreKey { value: value.to_owned() };
        let accepted = self.propose_key(restore, Purpose::Add).await?;
        match is_deleted(&context.meta()) {
            true => Err(too_many()),
            false => Ok(clock::rfc3339(accepted.time_ms)),
        }
    }

    /// Replaces the admin key of the installation, now; the one before counts for the time that this node was started with. It is
    /// the operator who makes the key, so that it is known whatever becomes of this node.
    ///
    /// Errors: `Invalid`, a key that no start would take, or another one came first.
    pub async fn replace_admin_key(&self, key: &str) -> Result<()> {
        let context = self.open_context()?;
        let admin_keys = self.inner.running.lock().as_ref().map(|running| running.admin_keys.clone());
        let admin_keys = admin_keys.ok_or_else(|| Error::unavailable("the node is stopping"))?;
        admin_keys.replace(context, key).await
    }

    async fn propose_key(&self, command: MetaCommand, purpose: Purpose) -> Result<Accepted> {
        self.open_context()?.proposer().propose_meta(command, purpose, write_deadline()).await
    }
}

fn document(key: &ApiKey) -> Vec<u8> {
    serde_json::to_vec(key).expect("a key always serialises")
}
fn no_key() -> Error {
    Error::not_found("Key does not exist")
}
fn too_many() -> Error {
    Error::new(ErrorKind::Forbidden, format!("Too many API keys: there may be {KEYS_MAX}; delete one first"))
}
