//! What all nodes of an installation share, and its text: the join token.

use argon2::{Algorithm, Argon2, Params, Version};
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine};
use quorate_model::{Error, Result};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// What every join token begins with; the number names the layout of the rest.
const PREFIX: &str = "qj1-";
/// Bytes of a secret.
const SECRET_BYTES: usize = 32;
/// Characters of a token that an operator has chosen.
const CHOSEN_CHARS_MIN: usize = 16;
/// Bytes of the checksum behind it: enough to notice a letter that was lost or mistyped.
const CHECKSUM_BYTES: usize = 4;

/// The secret that makes a node one of an installation: who has it can be a node and read everything.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterSecret([u8; SECRET_BYTES]);

impl ClusterSecret {
    /// A new secret.
    pub fn random() -> Self {
        ClusterSecret(crate::ids::random())
    }
    /// The secret with these bytes.
    pub fn from_bytes(bytes: [u8; SECRET_BYTES]) -> Self {
        ClusterSecret(bytes)
    }
    /// Its bytes.
    pub fn bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }
    /// The secret of a join token: one that [`ClusterSecret::to_token`] made, or any other text of at least 16 characters
    /// that the operator has chosen. The latter is stretched: whoever connects to a node gets a certificate to try guesses
    /// against, at leisure. Cost then: 64 MiB and some 200 ms.
    ///
    /// Errors: `Invalid` with a text that says what is wrong, never with the token.
    pub fn from_token(token: &str) -> Result<Self> {
        match Token::of(token)? {
            Token::Made(secret) => Ok(secret),
            Token::Chosen(token) => stretched(token),
        }
    }
    /// As [`ClusterSecret::from_token`], on a node that has had `kept`: what an earlier program made of a chosen token without
    /// stretching it stays, since the other nodes have that.
    pub fn from_token_or_kept(token: &str, kept: &ClusterSecret) -> Result<(Self, Derivation)> {
        match Token::of(token)? {
            Token::Made(secret) => Ok((secret, Derivation::Random)),
            Token::Chosen(token) if unstretched(token) == *kept => Ok((kept.clone(), Derivation::Hashed)),
            Token::Chosen(token) => Ok((stretched(token)?, Derivation::Stretched)),
        }
    }
    /// The join token: the secret as a word for a command line. [`ClusterSecret::from_str`] reads it.
    pub fn to_token(&self) -> String {
        let mut bytes = self.0.to_vec();
        bytes.extend_from_slice(&checksum(&self.0));
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// What a secret was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// Chance.
    Random,
    /// Words of people, stretched.
    Stretched,
    /// Words of people, hashed once: thousands of guesses a second.
    Hashed,
}

enum Token<'a> {
    Made(ClusterSecret),
    Chosen(&'a str),
}
impl Token<'_> {
    fn of(token: &str) -> Result<Token<'_>> {
        let token = token.trim();
        if token.starts_with(PREFIX) {
            return token.parse().map(Token::Made);
        }
        match token.chars().count() >= CHOSEN_CHARS_MIN {
            true => Ok(Token::Chosen(token)),
            false => Err(Error::invalid(format!(
                "the join token is not valid: expected at least {CHOSEN_CHARS_MIN} characters; `quorate cluster token --new` makes one"
            ))),
        }
    }
}

/// KiB, passes and lanes of Argon2id: the second choice of RFC 9106 §4, on one lane. A change locks old nodes out.
const STRETCHING: (u32, u32, u32) = (64 << 10, 3, 1);
/// Every node has to make the same of a token, and knows nothing else yet.
const SALT: &[u8] = b"quorate join token argon2id 1";

fn stretched(token: &str) -> Result<ClusterSecret> {
    let wrong =
        |error: argon2::Error| Error::internal(format!("the join token could not be stretched: {error}"));
    let (memory, passes, lanes) = STRETCHING;
    let params = Params::new(memory, passes, lanes, Some(SECRET_BYTES)).map_err(wrong)?;
    let mut secret = [0; SECRET_BYTES];
    let stretching = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    stretching.hash_password_into(token.as_bytes(), SALT, &mut secret).map_err(wrong)?;
    Ok(ClusterSecret(secret))
}
/// What earlier programs made of a token that was chosen.
fn unstretched(token: &str) -> ClusterSecret {
    ClusterSecret(Sha256::new().chain_update("quorate join token ").chain_update(token).finalize().into())
}

fn checksum(secret: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let digest = Sha256::new().chain_update(PREFIX).chain_update(secret).finalize();
    *digest.first_chunk().expect("a digest has 32 bytes")
}

impl FromStr for ClusterSecret {
    type Err = Error;
    /// Errors: `Invalid` with a text that says what is wrong, never with the token.
    fn from_str(token: &str) -> Result<Self> {
        let wrong = |what: &str| Error::invalid(format!("the join token is not valid: {what}"));
        let Some(text) = token.trim().strip_prefix(PREFIX) else {
            return Err(wrong("expected a word that begins with \"qj1-\""));
        };
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| match error {
            DecodeError::InvalidByte(..) => {
                wrong("expected letters, digits, \"-\" and \"_\" behind \"qj1-\"")
            }
            DecodeError::InvalidLength(_)
            | DecodeError::InvalidLastSymbol(..)
            | DecodeError::InvalidPadding => {
                wrong("its length is wrong; letters may be missing, or too many")
            }
        })?;
        let Some((secret, sum)) = bytes.split_first_chunk::<SECRET_BYTES>() else {
            return Err(wrong("it is too short; a part of it may be missing"));
        };
        if sum != checksum(secret) {
            return Err(wrong("its checksum is wrong; a letter may be missing or mistyped"));
        }
        Ok(ClusterSecret(*secret))
    }
}

impl fmt::Debug for ClusterSecret {
    /// Never the secret: it would end up in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_secret_and_does_not_change() {
        let secret = ClusterSecret::from_bytes(std::array::from_fn(|at| at as u8));
        let token = secret.to_token();
        assert_eq!(token, "qj1-AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9T0W2M");
        assert_eq!(token.parse::<ClusterSecret>().unwrap(), secret);
        assert_eq!(format!(" {token}\n").parse::<ClusterSecret>().unwrap(), secret, "from a file");
        assert_ne!(ClusterSecret::random(), ClusterSecret::random());
        assert_eq!(format!("{secret:?}"), "ClusterSecret(…)");
    }

    #[test]
    fn a_token_that_people_chose_is_stretched_unless_the_others_have_it_as_it_was() {
        let chosen = "correct horse battery staple";
        let secret = ClusterSecret::from_token(chosen).unwrap();
        assert_eq!(secret.to_token(), "qj1-NAJHgSJkgkq9xFazfhuGEQYe4YulC614AqFve2pTNiZ2O35V");
        assert_eq!(ClusterSecret::from_token(&format!(" {chosen}\n")).unwrap(), secret);
        assert_ne!(secret, unstretched(chosen));
        let on = |token: &str, kept: &ClusterSecret| ClusterSecret::from_token_or_kept(token, kept).unwrap();
        let made = ClusterSecret::from_bytes([7; 32]);
        assert_eq!(on(chosen, &secret), (secret.clone(), Derivation::Stretched));
        assert_eq!(on(chosen, &made), (secret.clone(), Derivation::Stretched), "another token is given");
        assert_eq!(on(chosen, &unstretched(chosen)), (unstretched(chosen), Derivation::Hashed));
        assert_eq!(on(&made.to_token(), &secret), (made, Derivation::Random));
        assert!(ClusterSecret::from_token("fifteen letters").unwrap_err().message.contains("--new"));
    }

    #[test]
    fn tokens_that_were_damaged_on_the_way_are_refused() {
        let token = ClusterSecret::from_bytes([7; 32]).to_token();
        let refused = |token: &str| token.parse::<ClusterSecret>().unwrap_err().message;
        for (token, part) in [
            (String::new(), "begins with \"qj1-\""),
            ("qj2-AAAA".into(), "begins with \"qj1-\""),
            ("qj1-".into(), "too short"),
            (token[..20].into(), "too short"),
            (format!("{token}A"), "its length is wrong"),
            (format!("{token}AAAA"), "checksum"),
            (token.replace("qj1-B", "qj1-C"), "checksum"),
            (token.replace("qj1-B", "qj1-!"), "expected letters"),
        ] {
            let text = refused(&token);
            assert!(text.contains(part), "{token}: {text}");
        }
        for at in 4..token.len() {
            let mut letters = token.clone().into_bytes();
            letters[at] = if letters[at] == b'A' { b'B' } else { b'A' };
            refused(std::str::from_utf8(&letters).unwrap());
        }
    }
}
