//! A list of short texts.

use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Texts that are made, sent and kept together, in two pieces of memory however many they are: a search that counts has some twenty, and is
/// taken over half a dozen times before it lies in a file. Written as a list of texts.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct TextList {
    /// One behind the other.
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
}

impl TextList {
    /// Adds one.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }
    /// Each of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        let mut from = 0;
        self.ends.iter().map(move |&end| &self.text[std::mem::replace(&mut from, end)..end])
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// Bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }
    /// All of them, one behind the other.
    pub fn as_str(&self) -> &str {
        &self.text
    }
    /// Whether this is one of them.
    pub fn contains(&self, text: &str) -> bool {
        self.iter().any(|one| one == text)
    }
}

impl<T: AsRef<str>> FromIterator<T> for TextList {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> TextList {
        let mut all = TextList::default();
        texts.into_iter().for_each(|text| all.push(text.as_ref()));
        all
    }
}
impl fmt::Debug for TextList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
impl Serialize for TextList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        self.iter().try_for_each(|text| list.serialize_element(text))?;
        list.end()
    }
}
impl<'de> Deserialize<'de> for TextList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TextList, D::Error> {
        deserializer.deserialize_seq(OfList)
    }
}

struct OfList;
impl<'de> Visitor<'de> for OfList {
    type Value = TextList;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of texts")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TextList, A::Error> {
        let mut texts = TextList::default();
        while list.next_element_seed(Next(&mut texts))?.is_some() {}
        Ok(texts)
    }
}

/// Adds the next text of a list without memory of its own.
struct Next<'t>(&'t mut TextList);
impl<'de> DeserializeSeed<'de> for Next<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}
impl Visitor<'_> for Next<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn they_are_a_list_of_texts_everywhere() {
        for list in [vec![], vec!["a"], vec!["", "é", "", "two words"]] {
            let texts: TextList = list.iter().collect();
            assert_eq!((texts.iter().collect::<Vec<_>>(), texts.len()), (list.clone(), list.len()));
            assert_eq!((texts.is_empty(), texts.bytes()), (list.is_empty(), list.concat().len()));
            assert!(list.iter().all(|text| texts.contains(text)) && !texts.contains("b"));
            assert_eq!(format!("{texts:?}"), format!("{list:?}"));
            assert_eq!(serde_json::to_value(&texts).unwrap(), json!(list));
            assert_eq!(serde_json::from_value::<TextList>(json!(list)).unwrap(), texts);
        }
        for wrong in [json!("a"), json!([1]), json!([null]), json!({})] {
            assert!(serde_json::from_value::<TextList>(wrong).is_err());
        }
        assert_ne!(["ab", "c"].iter().collect::<TextList>(), ["a", "bc"].iter().collect());
    }
}
