//! Is this key derived from one of ours, and what does it embed (C§13.3)?
//!
//! A derived key does not say from which: the first time it is shown, its signature is compared with that of every key. Where
//! that is long it is done on another thread, on half of the processors at most, and addresses whose keys are signed by none
//! have a bounded number of tries. Afterwards it is one look-up.

use super::tries::Tries;
use super::{Keyring, Restrictions};
use actix_web::web;
use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose};
use hmac::{Hmac, Mac};
use lru::LruCache;
use parking_lot::Mutex;
use quorate_cluster::{KeyDigest, KeyMap};
use quorate_model::{ApiKey, Error, Result};
use sha2::Sha256;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Bytes of the hexadecimal signature in front of the parameters.
const SIGNATURE_BYTES: usize = 64;
/// Bytes of a presented key; longer ones are refused unread.
pub const KEY_BYTES_MAX: usize = 64 << 10;
/// Bytes of a presented key that is remembered once verified.
const REMEMBERED_BYTES_MAX: usize = 4 << 10;
/// Verified keys kept: with [`REMEMBERED_BYTES_MAX`], some 16 MiB at most.
const VERIFIED_MAX: NonZeroUsize = NonZeroUsize::new(4_096).expect("4,096 is not zero");
/// Blocks of 64 bytes hashed on the thread that answers: a tenth of a millisecond, more or less.
const HERE_BLOCKS_MAX: usize = 512;
/// Searches for a parent that may wait for a thread.
const WAITING_MAX: usize = 256;
/// How long one waits.
const PATIENCE: Duration = Duration::from_secs(2);

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

type Parent = (Arc<ApiKey>, Arc<Restrictions>);

/// A secured key whose signature has been checked.
#[derive(Debug)]
struct Verified {
    parent: KeyDigest,
    restrictions: Arc<Restrictions>,
}

/// What is known of secured keys and of those who show them.
#[derive(Debug)]
pub struct Verifier {
    /// Keys verified lately, by their digest.
    verified: Mutex<LruCache<KeyDigest, Arc<Verified>>>,
    signers: Mutex<Arc<Signers>>,
    tries: Tries,
    threads: Semaphore,
    waiting: Semaphore,
}

impl Default for Verifier {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Verifier {
            verified: Mutex::new(LruCache::new(VERIFIED_MAX)),
            signers: Mutex::default(),
            tries: Tries::default(),
            threads: Semaphore::new((cores / 2).max(1)),
            waiting: Semaphore::new(WAITING_MAX),
        }
    }
}

/// Whose signature a secured key has.
#[derive(Clone)]
struct Shown {
    signature: [u8; SIGNATURE_BYTES / 2],
    parameters: String,
}

impl Verifier {
    /// The parent and the embedded parameters of a secured key; `None` when no living key signed it.
    ///
    /// Errors: `RateLimited` for an address whose keys were signed by none too often; `Unavailable` when too many wait.
    /// Cost: one look-up for a key seen before, else one HMAC for each key of the installation.
    pub async fn verify(
        &self,
        keyring: &impl Keyring,
        value: &str,
        digest: KeyDigest,
        address: Option<IpAddr>,
    ) -> Result<Option<Parent>> {
        let known = self.verified.lock().get(&digest).cloned();
        if let Some(known) = known {
            return Ok(keyring.key(known.parent).map(|key| (key, known.restrictions.clone())));
        }
        let (Some(shown), keys) = (Shown::read(value), keyring.keys()) else { return Ok(None) };
        let blocks = keys.len().saturating_mul(shown.blocks());
        let attempt = self.tries.begin(address, blocks as u64, Instant::now())?;
        let Some(value) = self.signer(keys, shown.clone(), blocks).await? else { return Ok(None) };
        self.tries.was_right(attempt);
        let parent = KeyDigest::of(&value);
        let Some(key) = keyring.key(parent) else { return Ok(None) };
        let restrictions = Arc::new(Restrictions::parse(&shown.parameters));
        if shown.parameters.len() <= REMEMBERED_BYTES_MAX {
            let verified = Verified { parent, restrictions: restrictions.clone() };
            self.verified.lock().put(digest, Arc::new(verified));
        }
        Ok(Some((key, restrictions)))
    }

    /// The key that signed, looked for here when that is short.
    async fn signer(&self, keys: KeyMap, shown: Shown, blocks: usize) -> Result<Option<String>> {
        let before = self.signers.lock().clone();
        let look = move || {
            let signers =
                if before.keys.is_same(&keys) { before } else { Arc::new(Signers::of(keys, &before)) };
            (signers.who_signed(&shown), signers)
        };
        let (found, signers) = match blocks <= HERE_BLOCKS_MAX {
            true => look(),
            false => {
                let busy = |_| Error::unavailable("too many new secured keys at a time");
                let _place = self.waiting.try_acquire().map_err(busy)?;
                let turn = actix_rt::time::timeout(PATIENCE, self.threads.acquire()).await;
                let _turn = turn.map_err(|_| Error::unavailable("too many new secured keys at a time"))?;
                web::block(look).await.map_err(|_| Error::unavailable("the node is stopping"))?
            }
        };
        *self.signers.lock() = signers;
        Ok(found)
    }
}

/// The keys of the installation, ready to sign.
#[derive(Default)]
struct Signers {
    keys: KeyMap,
    /// By value, as in `keys`.
    all: Vec<(String, Hmac<Sha256>)>,
}
impl std::fmt::Debug for Signers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} signers", self.all.len())
    }
}
impl Signers {
    /// Of these keys; what was made ready for keys of before is taken over.
    fn of(keys: KeyMap, before: &Signers) -> Signers {
        let mut known = before.all.iter().peekable();
        let all = keys.keys().map(|value| {
            while known.next_if(|(it, _)| it < value).is_some() {}
            match known.next_if(|(it, _)| it == value) {
                Some(known) => known.clone(),
                None => (value.clone(), keyed(value)),
            }
        });
        let all = all.collect();
        Signers { keys, all }
    }
    fn who_signed(&self, shown: &Shown) -> Option<String> {
        let found = self.all.iter().find(|(_, hmac)| shown.is_signed_by(hmac.clone()));
        found.map(|(value, _)| value.clone())
    }
}

fn keyed(value: &str) -> Hmac<Sha256> {
    Hmac::new_from_slice(value.as_bytes()).expect("HMAC takes keys of any length")
}

impl Shown {
    /// Signature and raw parameters of a text that has the form of a secured key.
    fn read(value: &str) -> Option<Shown> {
        if value.len() < SIGNATURE_BYTES || value.len() > KEY_BYTES_MAX {
            return None;
        }
        let decoded = String::from_utf8(BASE64.decode(value).ok()?).ok()?;
        let hex = decoded.as_bytes().get(..SIGNATURE_BYTES)?;
        let mut signature = [0u8; SIGNATURE_BYTES / 2];
        for (byte, pair) in signature.iter_mut().zip(hex.chunks_exact(2)) {
            let digit = |c: u8| (c as char).to_digit(16);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Some(Shown { signature, parameters: decoded[SIGNATURE_BYTES..].to_owned() })
    }
    /// Blocks that one signature hashes.
    fn blocks(&self) -> usize {
        self.parameters.len() / 64 + 3
    }
    /// Constant time.
    fn is_signed_by(&self, mut hmac: Hmac<Sha256>) -> bool {
        hmac.update(self.parameters.as_bytes());
        hmac.verify_slice(&self.signature).is_ok()
    }
}

/// Makes a secured key, as client libraries do.
pub fn derive(parent: &str, parameters: &str) -> String {
    let mut mac = keyed(parent);
    mac.update(parameters.as_bytes());
    let mut text: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    text.push_str(parameters);
    general_purpose::STANDARD.encode(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "2640659426d5107b6e47d75db9cbaef8";
    const PARAMETERS: &str = "restrictIndices=Movies&validUntil=2524604400";

    #[test]
    fn matches_the_published_vector() {
        let text = BASE64.decode(derive(PARENT, PARAMETERS)).unwrap();
        let expected =
            format!("61afa48a212798b87499d8c4b71c9ccc66e6419ef446c1ba60670d200926ad2f{PARAMETERS}");
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        let shown = Shown::read(&derive(PARENT, PARAMETERS)).unwrap();
        assert!(shown.is_signed_by(keyed(PARENT)));
        assert!(!shown.is_signed_by(keyed("2640659426d5107b6e47d75db9cbaef9")));
        let later = Shown { parameters: "restrictIndices=Movies&validUntil=2524604401".into(), ..shown };
        assert!(!later.is_signed_by(keyed(PARENT)));
    }

    #[test]
    fn other_texts_are_not_secured_keys() {
        for text in ["", "abc", PARENT, &"A".repeat(100), &"=".repeat(88), &"Z".repeat(KEY_BYTES_MAX + 1)] {
            assert!(Shown::read(text).is_none(), "{text:.20}");
        }
    }

    #[test]
    fn signers_follow_the_keys() {
        let shown = |parent: &str| Shown::read(&derive(parent, "a=b")).unwrap();
        let (mut keys, mut signers) = (KeyMap::default(), Signers::default());
        for value in ["m", "c", "x", "a", "z"] {
            keys.insert(value.to_owned(), Arc::new(ApiKey::new(value, 0, vec![])));
            signers = Signers::of(keys.clone(), &signers);
            assert_eq!(signers.who_signed(&shown(value)).as_deref(), Some(value));
        }
        for value in ["c", "z", "a"] {
            keys.remove(value);
            signers = Signers::of(keys.clone(), &signers);
            assert_eq!(signers.who_signed(&shown(value)), None);
            assert_eq!(signers.who_signed(&shown("m")).as_deref(), Some("m"));
        }
        assert_eq!(signers.all.len(), 2);
    }
}
