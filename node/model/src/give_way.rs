//! How does work on many small things let others go in between, on a machine whose processors are all in use?

/// Things that are done without a pause: of events, which take two microseconds each, a tenth of a millisecond.
const AT_A_TIME: usize = 50;

/// Lets who waits for this processor go first, once in so many things; `at` is the number of this one, from 0. A thread of the same or
/// a lower priority than the one that waits would keep the processor for milliseconds. Cost: a call of the system, when nobody waits.
pub fn give_way(at: usize) {
    if at % AT_A_TIME == AT_A_TIME - 1 {
        std::thread::yield_now();
    }
}

/// Many things that are written and read as a plain sequence, with pauses in which others go: for `#[serde(with = "…")]`.
pub mod sequence {
    use super::give_way;
    use serde::de::{SeqAccess, Visitor};
    use serde::ser::SerializeSeq;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::fmt;
    use std::marker::PhantomData;

    /// As many as memory is taken for before the first is read, whatever is said of their number.
    const BELIEVED: usize = 1_024;

    /// Writes them.
    pub fn serialize<T: Serialize, S: Serializer>(items: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(items.len()))?;
        for (at, item) in items.iter().enumerate() {
            give_way(at);
            sequence.serialize_element(item)?;
        }
        sequence.end()
    }
    /// Reads them.
    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(Items(PhantomData))
    }

    struct Items<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
        type Value = Vec<T>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a sequence")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
            let mut items = Vec::with_capacity(from.size_hint().unwrap_or(0).min(BELIEVED));
            while let Some(item) = from.next_element()? {
                give_way(items.len());
                items.push(item);
            }
            Ok(items)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Paced(#[serde(with = "super")] Vec<String>);

        #[test]
        fn it_is_written_and_read_as_any_sequence() {
            for count in [0, 1, 50, 5_000] {
                let items: Vec<String> = (0..count).map(|number: u32| number.to_string()).collect();
                let plain = serde_json::to_vec(&items).unwrap();
                let paced = Paced(items);
                assert_eq!(serde_json::to_vec(&paced).unwrap(), plain);
                assert_eq!(serde_json::from_slice::<Paced>(&plain).unwrap(), paced);
            }
            assert!(serde_json::from_str::<Paced>("{}").is_err());
        }
    }
}
