//! Do two sets hold the same, in whatever order and pieces? Their hashes say so.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A hash of a set: the sum of the hashes of its members, so that neither order nor grouping matters.
///
/// 128 bits of SHA-256 for each member. It tells damage and divergence; it is no defence against somebody who chooses records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(u128);

impl Digest {
    /// Adds a member: a key and what it stands for.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut hash = Sha256::new();
        // the length keeps the border between the two
        hash.update((key.len() as u64).to_le_bytes());
        hash.update(key);
        hash.update(value);
        let hash = hash.finalize();
        let half = hash[..16].try_into().expect("SHA-256 has 32 bytes");
        self.0 = self.0.wrapping_add(u128::from_le_bytes(half));
    }
    /// Adds all members of another set.
    pub fn join(&mut self, other: Digest) {
        self.0 = self.0.wrapping_add(other.0);
    }
}
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16).map(Digest).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_order_nor_grouping_matters_and_every_byte_does() {
        let members = [("a", "1"), ("b", "2"), ("ab", ""), ("", "ab"), ("a", "b")];
        let of = |members: &[(&str, &str)]| {
            let mut digest = Digest::default();
            members.iter().for_each(|(key, value)| digest.add(key.as_bytes(), value.as_bytes()));
            digest
        };
        let whole = of(&members);
        let mut backwards = members;
        backwards.reverse();
        assert_eq!(of(&backwards), whole);
        let mut joined = of(&members[..2]);
        joined.join(of(&members[2..]));
        assert_eq!(joined, whole);
        for left_out in 0..members.len() {
            let mut some = members.to_vec();
            some.remove(left_out);
            assert_ne!(of(&some), whole, "{left_out}");
        }
        let each: std::collections::BTreeSet<Digest> = members.iter().map(|member| of(&[*member])).collect();
        assert_eq!(each.len(), members.len());
    }

    #[test]
    fn it_is_shown_and_read_as_digits() {
        let mut digest = Digest::default();
        digest.add(b"key", b"value");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(text, "\"2e77a0c0\"".replace("2e77a0c0", &digest.to_string()));
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
        assert!(serde_json::from_str::<Digest>("\"g\"").is_err());
    }
}
