//! Who is calling, and may they (C§13)?
//!
//! Order of checks: application id and key, secured signature and expiry, sources, referers, rate, right, index.

pub mod credentials;
pub mod pattern;
pub(crate) mod quota;
pub mod restrictions;
pub mod secured;
mod tries;

pub use credentials::Credentials;
pub use restrictions::Restrictions;

use crate::network::network_of;
use crate::routes::Need;
use quorate_cluster::rate_limit::LimitedCall;
use quorate_cluster::{KeyDigest, KeyMap, Payer, ReadRights, Service};
use quorate_model::{Acl, ApiKey, Error, ErrorKind, Result};
use serde_json::{Map, Value};
use std::net::IpAddr;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// What the check of credentials needs to know of the installation.
pub trait Keyring {
    /// The application id.
    fn app_id(&self) -> &str;
    /// The key with this digest, unless it has ended.
    fn key(&self, digest: KeyDigest) -> Option<Arc<ApiKey>>;
    /// Every key but the admin key; some may have ended.
    fn keys(&self) -> KeyMap;
    /// Whether this is the admin key.
    fn is_admin_key(&self, digest: KeyDigest) -> bool;
    /// Counts a call with a key that limits them. Errors: `RateLimited` when it is one too many.
    fn count(&self, call: LimitedCall) -> impl Future<Output = Result<()>>;
}
impl Keyring for Service {
    fn app_id(&self) -> &str {
        Service::app_id(self)
    }
    fn key(&self, digest: KeyDigest) -> Option<Arc<ApiKey>> {
        Service::key(self, digest)
    }
    fn keys(&self) -> KeyMap {
        Service::keys(self)
    }
    fn is_admin_key(&self, digest: KeyDigest) -> bool {
        Service::is_admin_key(self, digest)
    }
    async fn count(&self, call: LimitedCall) -> Result<()> {
        self.count_call(call).await
    }
}

/// What a request says about where it comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin<'a> {
    /// `Referer`, else `Origin`.
    pub referer: Option<&'a str>,
    /// The peer's address.
    pub address: Option<IpAddr>,
    /// Unix seconds.
    pub now_s: u64,
    /// Whom the holder of the admin key passes the call on for.
    pub forwarded: Option<Forwarded<'a>>,
}

/// What a proxy that calls with the admin key says about its own caller (C§13.4).
#[derive(Clone, Copy, Debug)]
pub struct Forwarded<'a> {
    /// `X-Forwarded-API-Key`: the key whose limit applies.
    pub key: &'a str,
    /// The first address of `X-Forwarded-For`.
    pub address: Option<IpAddr>,
}

/// A caller whose credentials hold.
#[derive(Clone, Debug)]
pub enum Caller {
    /// Showed no credentials, where none are needed: has no right.
    Nobody,
    /// Holds the admin key: no restriction applies.
    Admin,
    /// Holds an ordinary key or one derived from it.
    Key {
        /// The key, or the parent of a secured key.
        key: Arc<ApiKey>,
        /// What the secured part and the key's queryParameters force, weakest first.
        restrictions: Vec<Arc<Restrictions>>,
        /// Whether it is a key derived from it, whose holder does not know it.
        is_secured: bool,
    },
}

/// Checks credentials; keeps what is costly to verify.
#[derive(Debug, Default)]
pub struct Authenticator {
    secured: secured::Verifier,
    forced: restrictions::Cache,
}

impl Authenticator {
    /// Finds out who calls (C§13.2 steps 1, 3 and 4).
    ///
    /// Errors: `Forbidden` for unknown or missing credentials, refused referers and sources; `Invalid` when a
    /// secured key has expired, and for tags that are to restrict the admin key.
    pub async fn authenticate(
        &self,
        keyring: &impl Keyring,
        credentials: &Credentials<'_>,
        origin: Origin<'_>,
    ) -> Result<Caller> {
        let (Some(app_id), Some(value)) = (&credentials.app_id, &credentials.key) else {
            return Err(invalid_credentials());
        };
        check_app_id(keyring, app_id)?;
        let digest = digest_of(value)?;
        if keyring.is_admin_key(digest) {
            // whoever sends them counts on being shown no more
            if !credentials.tag_filters.is_empty() {
                return Err(Error::invalid(
                    "X-Algolia-TagFilters restricts nothing with the admin key: send another key",
                ));
            }
            return Ok(Caller::Admin);
        }
        let mut caller = self.ordinary(keyring, value, digest, origin).await?;
        if let Caller::Key { key, restrictions, .. } = &mut caller {
            check_origin(key, restrictions, origin)?;
            if credentials.tag_filters.iter().map(|tags| tags.len()).sum::<usize>() > TAG_FILTERS_BYTES_MAX {
                let expected = format!("at most {TAG_FILTERS_BYTES_MAX} bytes");
                return Err(Error::parameter("X-Algolia-TagFilters", &expected));
            }
            let tags = credentials.tag_filters.iter().map(|tags| Restrictions::of_tags(tags));
            restrictions.extend(tags.map(Arc::new));
        }
        Ok(caller)
    }

    /// Counts a call of somebody (C§13.2 step 5).
    ///
    /// Errors: `RateLimited` when the key allows no further call in this hour; `Forbidden` when a proxy passes it on for credentials
    /// that do not hold.
    pub async fn count(&self, keyring: &impl Keyring, caller: &Caller, origin: Origin<'_>) -> Result<()> {
        let forwarded;
        let (caller, origin) = match (caller, origin.forwarded) {
            // a proxy passes it on for the key and the address that it names (C§13.4)
            (Caller::Admin, Some(Forwarded { key, address })) => {
                forwarded = self.ordinary(keyring, key, digest_of(key)?, origin).await?;
                (&forwarded, Origin { address, ..origin })
            }
            (caller, _) => (caller, origin),
        };
        match caller {
            Caller::Nobody | Caller::Admin => Ok(()),
            Caller::Key { key, restrictions, .. } => match quota::limited(key, restrictions, origin) {
                Some(call) => keyring.count(call).await,
                None => Ok(()),
            },
        }
    }

    async fn ordinary(
        &self,
        keyring: &impl Keyring,
        value: &str,
        digest: KeyDigest,
        origin: Origin<'_>,
    ) -> Result<Caller> {
        let mut restrictions = Vec::new();
        let plain = keyring.key(digest);
        let is_secured = plain.is_none();
        let key = match plain {
            Some(key) => key,
            None => {
                let verified = self.secured.verify(keyring, value, digest, origin.address).await?;
                let (key, secured) = verified.ok_or_else(invalid_credentials)?;
                restrictions.push(secured);
                key
            }
        };
        if !key.query_parameters.is_empty() {
            restrictions.push(self.forced.get(&key.query_parameters));
        }
        Ok(Caller::Key { key, restrictions, is_secured })
    }
}

/// Errors: `Forbidden`, a text that is too long for a key.
fn digest_of(value: &str) -> Result<KeyDigest> {
    match value.len() <= secured::KEY_BYTES_MAX {
        true => Ok(KeyDigest::of(value)),
        false => Err(invalid_credentials()),
    }
}

fn check_origin(key: &ApiKey, restrictions: &[Arc<Restrictions>], origin: Origin<'_>) -> Result<()> {
    for restriction in restrictions {
        if let Some(error) = &restriction.twice {
            return Err(error.clone());
        }
        if restriction.valid_until_s.is_some_and(|until| until < origin.now_s) {
            return Err(Error::invalid("validUntil parameter expired (less than current date)"));
        }
        if !restriction.allows_source(origin.address) {
            return Err(Error::forbidden("Source not allowed with this API key"));
        }
    }
    let lists = restrictions.iter().map(|restriction| &restriction.referers);
    for referers in lists.chain([&key.referers]) {
        let referer = origin.referer.unwrap_or("");
        if !referers.is_empty() && !referers.iter().any(|pattern| pattern::matches(pattern, referer)) {
            return Err(Error::forbidden("Method not allowed with this referer"));
        }
    }
    Ok(())
}

impl Caller {
    /// Whether the caller holds a right.
    pub fn has(&self, acl: Acl) -> bool {
        match self {
            Caller::Nobody => false,
            Caller::Admin => true,
            Caller::Key { key, .. } => key.acl.contains(&acl),
        }
    }
    /// Checks what a route needs (C§13.2 step 6).
    pub fn check(&self, need: Need) -> Result<()> {
        let allowed = match need {
            Need::Nothing => true,
            Need::AnyKey | Need::PerOperation => !matches!(self, Caller::Nobody),
            Need::Right(acl) => self.has(acl),
            Need::Admin => matches!(self, Caller::Admin),
        };
        if allowed { Ok(()) } else { Err(Error::forbidden("Method not allowed with this API key")) }
    }
    /// Whether the index of the key, its `indexes` and every `restrictIndices` let the caller use an index.
    pub fn may_use(&self, index: &str) -> bool {
        match self {
            Caller::Nobody => false,
            Caller::Admin => true,
            Caller::Key { key, restrictions, .. } => {
                (key.index.is_none() || key.is_of(index))
                    && pattern::any_matches(&key.indexes, index)
                    && restrictions.iter().all(|r| match &r.indices {
                        None => true,
                        Some(patterns) => patterns.iter().any(|p| pattern::matches(p, index)),
                    })
            }
        }
    }
    /// Whether no restriction keeps the caller from any index.
    pub fn may_use_all(&self) -> bool {
        let is_for_all = |patterns: &[String]| patterns.iter().any(|pattern| pattern::is_for_all(pattern));
        match self {
            Caller::Nobody => false,
            Caller::Admin => true,
            Caller::Key { key, restrictions, .. } => {
                key.index.is_none()
                    && (key.indexes.is_empty() || is_for_all(&key.indexes))
                    && restrictions.iter().all(|r| r.indices.as_deref().is_none_or(is_for_all))
            }
        }
    }
    /// As [`Caller::may_use`], with the error of C§19.
    pub fn check_index(&self, index: &str) -> Result<()> {
        if self.may_use(index) {
            Ok(())
        } else {
            Err(Error::forbidden("Index not allowed with this API key"))
        }
    }
    /// Whether the key is for one index alone.
    pub fn is_of_one_index(&self) -> bool {
        matches!(self, Caller::Key { key, .. } if key.index.is_some())
    }
    /// Whom reads from an address are charged to.
    pub fn payer(&self, address: Option<IpAddr>) -> Payer {
        let network = address.map(network_of);
        let key = match self {
            Caller::Nobody => None,
            Caller::Admin => Some(None),
            Caller::Key { key, .. } => Some(Some(&key.value)),
        };
        Payer::new(&key, &network)
    }
    /// What reads may show.
    pub fn read_rights(&self) -> ReadRights {
        match self {
            Caller::Nobody => ReadRights::default(),
            Caller::Admin => ReadRights { sees_unretrievable: true, ..ReadRights::default() },
            Caller::Key { key, .. } => ReadRights {
                sees_unretrievable: self.has(Acl::SeeUnretrievableAttributes),
                max_hits_per_query: key.max_hits_per_query,
                ..ReadRights::default()
            },
        }
    }
    /// The user that the key acts for when a request names none; what a key says wins over what was signed with it.
    pub fn user_token(&self) -> Option<&str> {
        user_token(self.restrictions())
    }
    /// Whether the key forces filters or other search parameters.
    pub fn forces_parameters(&self) -> bool {
        let forces = |it: &Arc<Restrictions>| {
            !it.overrides.is_empty() || it.filter().map_or(true, |filter| !filter.is_empty())
        };
        self.restrictions().iter().any(forces)
    }
    /// The search parameters that the key puts in place of the caller's, as they are written.
    pub fn forced_parameters(&self) -> Map<String, Value> {
        restrictions::together(self.restrictions())
    }
    /// What the key forces on searches, weakest first.
    pub fn restrictions(&self) -> &[Arc<Restrictions>] {
        match self {
            Caller::Nobody | Caller::Admin => &[],
            Caller::Key { restrictions, .. } => restrictions,
        }
    }
}

/// The user that restrictions, the weakest first, name.
fn user_token(restrictions: &[Arc<Restrictions>]) -> Option<&str> {
    restrictions.iter().rev().find_map(|restrictions| restrictions.user_token.as_deref())
}

/// Whether an application id is the one of the installation. Errors: `Forbidden`.
pub fn check_app_id(keyring: &impl Keyring, app_id: &str) -> Result<()> {
    match bool::from(app_id.as_bytes().ct_eq(keyring.app_id().as_bytes())) {
        true => Ok(()),
        false => Err(invalid_credentials()),
    }
}

/// Bytes of the tags that a call has outside of its parameters (C§20).
pub const TAG_FILTERS_BYTES_MAX: usize = 4 << 10;
/// What is said of an application id or a key that is none.
pub const INVALID_CREDENTIALS: &str = "Invalid Application-ID or API key";

/// What somebody may not do, as the parts of the interface say it that answer 401 then (C§19).
pub fn unauthorized(error: Error) -> Error {
    match error.kind {
        ErrorKind::Forbidden => Error { kind: ErrorKind::Unauthorized, ..error },
        _ => error,
    }
}

fn invalid_credentials() -> Error {
    Error::forbidden(INVALID_CREDENTIALS)
}

#[cfg(test)]
mod tests;
