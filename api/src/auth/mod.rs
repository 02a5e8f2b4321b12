//! Who is calling, and may they (C§13)?
//!
//! Order of checks: application id and key, secured signature and expiry, sources, referers, rate, right, index.

pub mod credentials;
pub mod pattern;
pub mod quota;
pub mod restrictions;
pub mod secured;

pub use credentials::Credentials;
pub use restrictions::Restrictions;

use crate::network::network_of;
use crate::routes::Need;
use quorate_cluster::Payer;
use quorate_cluster::{ReadRights, Service};
use quorate_model::{Acl, ApiKey, Error, Result};
use std::net::IpAddr;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// What the check of credentials needs to know of the installation.
pub trait Keyring {
    /// The application id.
    fn app_id(&self) -> &str;
    /// The unexpired key with this value.
    fn key(&self, value: &str) -> Option<Arc<ApiKey>>;
    /// Every key but the admin key.
    fn keys(&self) -> Vec<Arc<ApiKey>>;
    /// Whether this is the admin key.
    fn is_admin_key(&self, value: &str) -> bool;
}
impl Keyring for Service {
    fn app_id(&self) -> &str {
        Service::app_id(self)
    }
    fn key(&self, value: &str) -> Option<Arc<ApiKey>> {
        Service::key(self, value)
    }
    fn keys(&self) -> Vec<Arc<ApiKey>> {
        Service::keys(self)
    }
    fn is_admin_key(&self, value: &str) -> bool {
        Service::is_admin_key(self, value)
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

/// What a proxy that calls with the admin key says about its own caller (§5.1).
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
    },
}

/// Checks credentials; keeps what is costly to verify.
#[derive(Debug, Default)]
pub struct Authenticator {
    secured: secured::Cache,
    forced: restrictions::Cache,
    quota: quota::Quota,
}

impl Authenticator {
    /// Finds out who calls, and counts the call (C§13.2 steps 1, 3, 4 and 5).
    ///
    /// Errors: `Forbidden` for unknown or missing credentials, refused referers and sources; `Invalid` when a
    /// secured key has expired; `RateLimited` when the key allows no further call in this hour.
    pub fn authenticate(
        &self,
        keyring: &impl Keyring,
        credentials: &Credentials<'_>,
        origin: Origin<'_>,
    ) -> Result<Caller> {
        let (Some(app_id), Some(value)) = (&credentials.app_id, &credentials.key) else {
            return Err(invalid_credentials());
        };
        check_app_id(keyring, app_id)?;
        if keyring.is_admin_key(value) {
            self.count_forwarded(keyring, origin)?;
            return Ok(Caller::Admin);
        }
        let caller = self.ordinary(keyring, value)?;
        if let Caller::Key { key, restrictions } = &caller {
            check_origin(key, restrictions, origin)?;
            self.quota.count(key, restrictions, origin)?;
        }
        Ok(caller)
    }

    /// Counts a call of a proxy for the key and address it passes it on for (C§13.4).
    fn count_forwarded(&self, keyring: &impl Keyring, origin: Origin<'_>) -> Result<()> {
        let Some(Forwarded { key, address }) = origin.forwarded else { return Ok(()) };
        match self.ordinary(keyring, key)? {
            Caller::Key { key, restrictions } => {
                self.quota.count(&key, &restrictions, Origin { address, ..origin })
            }
            Caller::Nobody | Caller::Admin => Ok(()),
        }
    }

    fn ordinary(&self, keyring: &impl Keyring, value: &str) -> Result<Caller> {
        let mut restrictions = Vec::new();
        let plain = keyring.key(value).filter(|key| bool::from(key.value.as_bytes().ct_eq(value.as_bytes())));
        let key = match plain {
            Some(key) => key,
            None => {
                let (key, secured) = self.secured.verify(keyring, value).ok_or_else(invalid_credentials)?;
                restrictions.push(secured);
                key
            }
        };
        if !key.query_parameters.is_empty() {
            restrictions.push(self.forced.get(&key.query_parameters));
        }
        Ok(Caller::Key { key, restrictions })
    }
}

fn check_origin(key: &ApiKey, restrictions: &[Arc<Restrictions>], origin: Origin<'_>) -> Result<()> {
    for restriction in restrictions {
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
    /// Whether the key's `indexes` and every `restrictIndices` let the caller use an index.
    pub fn may_use(&self, index: &str) -> bool {
        match self {
            Caller::Nobody => false,
            Caller::Admin => true,
            Caller::Key { key, restrictions } => {
                pattern::any_matches(&key.indexes, index)
                    && restrictions.iter().all(|r| match &r.indices {
                        None => true,
                        Some(patterns) => patterns.iter().any(|p| pattern::matches(p, index)),
                    })
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
    /// What the key forces on searches, weakest first.
    pub fn restrictions(&self) -> &[Arc<Restrictions>] {
        match self {
            Caller::Nobody | Caller::Admin => &[],
            Caller::Key { restrictions, .. } => restrictions,
        }
    }
}

/// Whether an application id is the one of the installation. Errors: `Forbidden`.
pub fn check_app_id(keyring: &impl Keyring, app_id: &str) -> Result<()> {
    match bool::from(app_id.as_bytes().ct_eq(keyring.app_id().as_bytes())) {
        true => Ok(()),
        false => Err(invalid_credentials()),
    }
}

fn invalid_credentials() -> Error {
    Error::forbidden("Invalid Application-ID or API key")
}

#[cfg(test)]
mod tests;
