//! Is this key derived from one of ours, and what does it embed (§5.4, C§13.3)?

use super::{Keyring, Restrictions};
use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose};
use hmac::{Hmac, Mac};
use lru::LruCache;
use parking_lot::Mutex;
use quorate_model::ApiKey;
use sha2::Sha256;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Bytes of the hexadecimal signature in front of the parameters.
const SIGNATURE_BYTES: usize = 64;
/// Bytes of a presented key; longer ones are refused unread.
const KEY_BYTES_MAX: usize = 64 << 10;
/// Bytes of a presented key that is remembered once verified.
const REMEMBERED_BYTES_MAX: usize = 4 << 10;
/// Verified keys kept: with [`REMEMBERED_BYTES_MAX`], some 16 MiB at most.
const VERIFIED_MAX: NonZeroUsize = NonZeroUsize::new(4_096).expect("4,096 is not zero");

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A secured key whose signature has been checked.
#[derive(Debug)]
struct Verified {
    parent: String,
    restrictions: Arc<Restrictions>,
}

/// Secured keys verified lately, by their text.
#[derive(Debug)]
pub struct Cache(Mutex<LruCache<String, Arc<Verified>>>);

impl Default for Cache {
    fn default() -> Self {
        Cache(Mutex::new(LruCache::new(VERIFIED_MAX)))
    }
}
impl Cache {
    /// The parent and the embedded parameters of a secured key; `None` when no living key signed it.
    ///
    /// Cost: one look-up for a key seen before, else one HMAC for each key of the installation.
    pub fn verify(&self, keyring: &impl Keyring, value: &str) -> Option<(Arc<ApiKey>, Arc<Restrictions>)> {
        let known = self.0.lock().get(value).cloned();
        if let Some(known) = known {
            return Some((keyring.key(&known.parent)?, known.restrictions.clone()));
        }
        let (signature, parameters) = split(value)?;
        let parent = keyring.keys().into_iter().find(|key| signed_by(&key.value, &signature, &parameters))?;
        let restrictions = Arc::new(Restrictions::parse(&parameters));
        if value.len() <= REMEMBERED_BYTES_MAX {
            let verified = Verified { parent: parent.value.clone(), restrictions: restrictions.clone() };
            self.0.lock().put(value.to_owned(), Arc::new(verified));
        }
        Some((parent, restrictions))
    }
}

/// Signature bytes and raw parameters of a text that has the form of a secured key.
fn split(value: &str) -> Option<([u8; SIGNATURE_BYTES / 2], String)> {
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
    Some((signature, decoded[SIGNATURE_BYTES..].to_owned()))
}

fn signed_by(parent: &str, signature: &[u8], parameters: &str) -> bool {
    let mut mac = Hmac::<Sha256>::new_from_slice(parent.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(parameters.as_bytes());
    mac.verify_slice(signature).is_ok()
}

/// Makes a secured key, as client libraries do.
pub fn derive(parent: &str, parameters: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(parent.as_bytes()).expect("HMAC takes keys of any length");
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
        let (signature, parameters) = split(&derive(PARENT, PARAMETERS)).unwrap();
        assert!(signed_by(PARENT, &signature, &parameters));
        assert!(!signed_by("2640659426d5107b6e47d75db9cbaef9", &signature, &parameters));
        assert!(!signed_by(PARENT, &signature, "restrictIndices=Movies&validUntil=2524604401"));
    }

    #[test]
    fn other_texts_are_not_secured_keys() {
        for text in ["", "abc", PARENT, &"A".repeat(100), &"=".repeat(88), &"Z".repeat(KEY_BYTES_MAX + 1)] {
            assert!(split(text).is_none(), "{text:.20}");
        }
    }
}
