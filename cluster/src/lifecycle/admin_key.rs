//! How does a node get the admin key it was given into the installation, and the one of the installation into its file?
//!
//! A key counts when the meta group has it. What a node is given is a wish when it differs from what it was given before: a
//! node that was down during a rotation comes back with the old key and changes nothing. The wish is noted with the revision
//! that it is to replace before it is proposed, so that a process that dies in between neither forgets it nor repeats it after
//! others have replaced the key again. The file follows the installation, never the other way round, but on a node that is
//! alone: there its owner may write a key into it.

mod keeper;

use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::lifecycle::installation::{admin_key_digest, check_admin_key};
use crate::meta::MetaState;
use crate::options::ServiceOptions;
use crate::rpc::requests::{AdminKeyText, PeerAnswer, PeerRequest};
pub use keeper::keep;
use parking_lot::Mutex;
use quorate_model::{Error, Result, level};
use quorate_store::admin_key::{AdminKeyFiles, Given};
use quorate_store::identity::DataFolder;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is wrong with a value that others hold.
const IS_API_KEY: &str = "it is the value of an API key, which others hold; give one that is new";
/// How long another node may take to tell the key.
const ANSWER: Duration = Duration::from_secs(2);

/// The admin key as this node was given it, keeps it and tells it to others.
pub struct AdminKeys {
    files: AdminKeyFiles,
    given: Mutex<Option<String>>,
    overlap: Duration,
    wish: Mutex<Wish>,
}

/// What is to be done about the key that this node was given.
#[derive(Clone, PartialEq, Eq)]
enum Wish {
    /// It has not been looked at.
    Unread,
    /// Nothing.
    Nothing,
    /// It is another one than before.
    New {
        /// The key.
        key: String,
    },
    /// It is to replace the key of this revision.
    Noted {
        /// The key.
        key: String,
        /// The revision.
        replaces: u64,
    },
}

impl Wish {
    fn key(&self) -> Option<&str> {
        match self {
            Wish::Unread | Wish::Nothing => None,
            Wish::New { key, .. } | Wish::Noted { key, .. } => Some(key),
        }
    }
}

/// What became of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is none, or it is settled.
    Settled,
    /// This look has replaced the admin key.
    Replaced,
    /// It has to wait.
    Waits,
}

/// What became of a wish that was to be noted.
enum Noting {
    /// It is, and can be proposed.
    Noted(Wish),
    /// It needs no note, or has to wait.
    Not(Outcome),
}

impl AdminKeys {
    /// For a node with these options.
    pub fn new(folder: &DataFolder, options: &ServiceOptions) -> Arc<AdminKeys> {
        Arc::new(AdminKeys {
            files: folder.into(),
            given: Mutex::new(options.admin_key.clone()),
            overlap: options.admin_key_overlap,
            wish: Mutex::new(Wish::Unread),
        })
    }
    /// The files that the key stands in.
    pub fn files(&self) -> &AdminKeyFiles {
        &self.files
    }
    /// Gives the node another key while it runs, as a start with it would. Returns whether it is another one.
    pub fn give(&self, key: &str) -> bool {
        let mut given = self.given.lock();
        if given.as_deref() == Some(key) {
            return false;
        }
        *given = Some(key.to_owned());
        *self.wish.lock() = Wish::Unread;
        true
    }
    fn given(&self) -> Option<String> {
        self.given.lock().clone()
    }
    /// Notes, before a node without an installation looks for one, that what it was given is no wish: who joins takes the
    /// key that is there, and who founds makes it.
    pub fn enter(&self) -> Result<()> {
        let digest = self.given().as_deref().map(admin_key_digest);
        Ok(self.files.set_given(Given { digest, replaces: None })?)
    }
    /// The key with this digest, if this node has it.
    pub fn known(&self, digest: &[u8; 32]) -> Option<String> {
        let has_it = |key: &String| admin_key_digest(key) == *digest;
        let in_file = || self.files.key().ok().flatten();
        self.given().filter(has_it).or_else(|| in_file().filter(has_it))
    }

    /// What this start was given in comparison with the starts before it.
    fn read(&self) -> Result<Wish> {
        let noted = self.files.given()?;
        let in_file = self.files.key()?.as_deref().map(admin_key_digest);
        // programs from before noted nothing, and put what they were given into the file
        let before = noted.unwrap_or(Given { digest: in_file, replaces: None });
        if noted.is_none() {
            self.files.set_given(before)?;
        }
        let Some(key) = self.given() else { return Ok(Wish::Nothing) };
        Ok(match before {
            Given { digest, replaces } if digest == Some(admin_key_digest(&key)) => match replaces {
                Some(replaces) => Wish::Noted { key, replaces },
                None => Wish::Nothing,
            },
            Given { .. } => Wish::New { key },
        })
    }
    /// The key in the file of a node that is alone, when its owner has changed it.
    fn read_alone(&self, meta: &MetaState) -> Result<Wish> {
        let is_current =
            |key: &String| meta.installation.as_ref().is_some_and(|it| it.admin_key == admin_key_digest(key));
        let changed = self.files.key()?.filter(|key| !is_current(key));
        Ok(changed.map_or(Wish::Nothing, |key| Wish::New { key }))
    }
    fn settled(&self, key: &str) -> Result<()> {
        let mut wish = self.wish.lock();
        // another key may have been given meanwhile
        if wish.key() == Some(key) {
            *wish = Wish::Nothing;
        }
        drop(wish);
        Ok(self.files.set_given(Given { digest: Some(admin_key_digest(key)), replaces: None })?)
    }

    /// Goes on with the wish, if there is one, as far as it goes now. Errors: it could not; the next call may.
    pub async fn settle(&self, context: &NodeContext) -> Result<Outcome> {
        loop {
            let wish = self.wish.lock().clone();
            let next = match wish.clone() {
                Wish::Nothing => return Ok(Outcome::Settled),
                Wish::Unread => self.look(&context.meta())?,
                Wish::New { key } => match self.note(context, key).await? {
                    Noting::Noted(noted) => noted,
                    Noting::Not(outcome) => return Ok(outcome),
                },
                Wish::Noted { key, replaces } => return self.propose(context, &key, replaces).await,
            };
            let mut now = self.wish.lock();
            if *now == wish {
                *now = next;
            }
        }
    }
    fn look(&self, meta: &MetaState) -> Result<Wish> {
        let wish = match self.read()? {
            Wish::Nothing if self.given().is_none() && is_alone(meta) => self.read_alone(meta)?,
            read => read,
        };
        if wish == Wish::Nothing {
            self.say_when_other(meta);
            if self.given().is_some_and(|key| meta.keys.knows(&key)) {
                warn_of_api_key();
            }
        }
        Ok(wish)
    }

    /// Looks which key the wish is to replace, and notes it.
    async fn note(&self, context: &NodeContext, key: String) -> Result<Noting> {
        let digest = admin_key_digest(&key);
        if context.meta().level() < level::KEY_ROTATION {
            return self.replace_as_before(context, &key).await.map(Noting::Not);
        }
        // what this node knows may be old: an entry of its own shows it what came before
        context.proposer().propose_meta(MetaCommand::StartNode, Purpose::Remove, write_deadline()).await?;
        let meta = context.meta();
        if meta.installation.as_ref().is_some_and(|it| it.admin_key == digest) {
            self.settled(&key)?;
            return Ok(Noting::Not(Outcome::Settled));
        }
        if is_api_key(&meta, &key) {
            self.settled(&key)?;
            return Ok(Noting::Not(Outcome::Settled));
        }
        // an old file brings no key back that may have been replaced because it leaked
        if meta.key_history.retired.iter().any(|it| it.digest == digest) {
            self.settled(&key)?;
            self.say_when_other(&meta);
            return Ok(Noting::Not(Outcome::Settled));
        }
        let replaces = meta.key_history.revision;
        self.files.set_given(Given { digest: Some(digest), replaces: Some(replaces) })?;
        Ok(Noting::Noted(Wish::Noted { key, replaces }))
    }

    async fn propose(&self, context: &NodeContext, key: &str, replaces: u64) -> Result<Outcome> {
        // programs of before noted any key
        if is_api_key(&context.meta(), key) {
            self.settled(key)?;
            return Ok(Outcome::Settled);
        }
        let admin_key = admin_key_digest(key);
        let overlap_ms = self.overlap.as_millis() as u64;
        let rotate = MetaCommand::RotateAdminKey { admin_key, replaces, overlap_ms };
        context.proposer().propose_meta(rotate, Purpose::Remove, write_deadline()).await?;
        // either it was replaced now, or it had been before
        self.settled(key)?;
        let meta = context.meta();
        if meta.installation.as_ref().is_some_and(|it| it.admin_key == admin_key) {
            return Ok(Outcome::Replaced);
        }
        tracing::warn!(
            "the admin key was replaced on another node at the same time; the one given to this node is not used"
        );
        Ok(Outcome::Settled)
    }

    /// Replaces the admin key as an operator asks a running node to. What this node was given at its start stays what it was: the
    /// next start with the same changes nothing.
    ///
    /// Errors: `Invalid`, a key that no start would take, or one that was replaced by another at the same time.
    pub async fn replace(&self, context: &NodeContext, key: &str) -> Result<()> {
        check_admin_key(key)?;
        // what this node knows may be old: an entry of its own shows it what came before
        context.proposer().propose_meta(MetaCommand::StartNode, Purpose::Remove, write_deadline()).await?;
        let (admin_key, meta) = (admin_key_digest(key), context.meta());
        let is_current =
            |meta: &MetaState| meta.installation.as_ref().is_some_and(|it| it.admin_key == admin_key);
        if meta.keys.knows(key) {
            return Err(Error::invalid(format!("The admin key is not replaced: {IS_API_KEY}")));
        }
        if !is_current(&meta) {
            let (replaces, overlap_ms) = (meta.key_history.revision, self.overlap.as_millis() as u64);
            let rotate = MetaCommand::RotateAdminKey { admin_key, replaces, overlap_ms };
            context.proposer().propose_meta(rotate, Purpose::Remove, write_deadline()).await?;
            if !is_current(&context.meta()) {
                return Err(Error::invalid(
                    "The admin key was replaced by another one at the same time: look again",
                ));
            }
        }
        // the other nodes ask for it
        Ok(self.files.set_key(key)?)
    }

    /// While nodes of older programs take part: a node that is alone replaces the key as they did, several wait.
    async fn replace_as_before(&self, context: &NodeContext, key: &str) -> Result<Outcome> {
        let (admin_key, meta) = (admin_key_digest(key), context.meta());
        let is_current = meta.installation.as_ref().is_some_and(|it| it.admin_key == admin_key);
        if !is_current && !is_alone(&meta) {
            return Ok(Outcome::Waits);
        }
        if !is_current && is_api_key(&meta, key) {
            self.settled(key)?;
            return Ok(Outcome::Settled);
        }
        if !is_current {
            let set = MetaCommand::SetAdminKey { admin_key };
            context.proposer().propose_meta(set, Purpose::Remove, write_deadline()).await?;
        }
        self.settled(key)?;
        Ok(if is_current { Outcome::Settled } else { Outcome::Replaced })
    }

    fn say_when_other(&self, meta: &MetaState) {
        let digest = self.given().as_deref().map(admin_key_digest);
        let current = meta.installation.as_ref().map(|it| it.admin_key);
        if digest.is_some() && digest != current {
            tracing::warn!(
                "the admin key given to this node is not that of the installation; a node that joins changes none, and one that was replaced does not come back: give another one"
            );
        }
    }

    /// Brings the file to the key of the installation. Returns whether it has it.
    pub async fn keep_file(&self, context: &NodeContext) -> Result<bool> {
        let meta = context.meta();
        let Some(digest) = meta.installation.as_ref().map(|it| it.admin_key) else { return Ok(false) };
        let in_file = self.files.key()?;
        if in_file.as_deref().map(admin_key_digest) == Some(digest) {
            return Ok(true);
        }
        let key = match self.known(&digest) {
            Some(key) => Some(key),
            None => ask_others(context, &meta, digest).await,
        };
        let Some(key) = key else { return Ok(false) };
        self.files.set_key(&key)?;
        tracing::info!(path = "admin-key", "the file has the admin key of the installation");
        Ok(true)
    }
}

/// Whether the key that this node was given is the value of an API key, which is said.
fn is_api_key(meta: &MetaState, key: &str) -> bool {
    let is_known = meta.keys.knows(key);
    if is_known {
        warn_of_api_key();
    }
    is_known
}
fn warn_of_api_key() {
    tracing::warn!("the admin key given to this node is not what it should be: {IS_API_KEY}");
}

fn is_alone(meta: &MetaState) -> bool {
    meta.present_nodes().len() <= 1
}

/// Asks the other nodes, one after another, for the key with a digest.
async fn ask_others(context: &NodeContext, meta: &MetaState, digest: [u8; 32]) -> Option<String> {
    let others = meta.present_nodes().into_iter().map(|(id, _)| id).filter(|id| *id != context.self_id());
    for other in others {
        let asked =
            context.peers().ask(other, &PeerRequest::AdminKey { digest }, Instant::now() + ANSWER).await;
        if let Ok(PeerAnswer::AdminKey(AdminKeyText(Some(key)))) = asked
            && admin_key_digest(&key) == digest
        {
            return Some(key);
        }
    }
    None
}
