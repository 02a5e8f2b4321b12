//! How does a browse remember where it is and what it was asked (C§8.8)?
//!
//! The text holds everything, so any node can go on. It is not signed: what a key forces is applied anew on each
//! call, and the position is checked by the engine. A checksum tells one that was damaged on its way.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use quorate_model::{Error, IndexName, Result};

/// First byte of every cursor; another one is from another version. Cursors of version 1 have no page, those of version 2 no order and
/// no checksum.
const VERSION: u8 = 3;
/// What all nodes read that have not been upgraded yet.
const WITHOUT_ORDER: u8 = 2;
/// Characters of a cursor: filters may take up to 64 KiB, URL-encoded and in base 64.
const CHARS_MAX: usize = 512 << 10;

/// A place in a browse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The parameters of the first call, URL-encoded.
    pub params: String,
    /// The number of the page that begins there.
    pub page: u64,
    /// Stands for the order of the records; `None` when that is not known.
    pub order: Option<u32>,
    /// The engine's position.
    pub after: Vec<u8>,
}

impl Cursor {
    /// The opaque text; without an order one that earlier programs read. `index` is kept so that the cursor of another index is refused.
    pub fn encode(&self, index: &IndexName) -> String {
        let mut bytes = vec![if self.order.is_some() { VERSION } else { WITHOUT_ORDER }];
        for part in [index.as_str().as_bytes(), self.params.as_bytes()] {
            let len = u32::try_from(part.len()).expect("names and parameters are far below 4 GiB");
            bytes.extend_from_slice(&len.to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(&self.page.to_le_bytes());
        bytes.extend(self.order.iter().flat_map(|order| order.to_le_bytes()));
        bytes.extend_from_slice(&self.after);
        if self.order.is_some() {
            let sum = crc32fast::hash(&bytes);
            bytes.extend_from_slice(&sum.to_le_bytes());
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads the text back. Errors: `Invalid` when it is damaged or belongs to another index.
    pub fn decode(text: &str, index: &IndexName) -> Result<Self> {
        let wrong = || {
            Error::invalid("Invalid value for \"cursor\" parameter, expected the cursor of the last answer")
        };
        if text.len() > CHARS_MAX {
            return Err(wrong());
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
        let mut bytes = &bytes[..];
        if bytes.first() == Some(&VERSION) {
            let (all, sum) = bytes.split_last_chunk::<4>().ok_or_else(wrong)?;
            if crc32fast::hash(all) != u32::from_le_bytes(*sum) {
                return Err(wrong());
            }
            bytes = all;
        }
        let (&version, rest) = bytes.split_first().ok_or_else(wrong)?;
        let (name, rest) = part(rest).ok_or_else(wrong)?;
        let (params, after) = part(rest).ok_or_else(wrong)?;
        if name != index.as_str().as_bytes() {
            return Err(wrong());
        }
        let with_page = || after.split_first_chunk::<8>().ok_or_else(wrong);
        let (page, order, after) = match version {
            1 => (0, None, after),
            WITHOUT_ORDER => {
                let (page, after) = with_page()?;
                (u64::from_le_bytes(*page), None, after)
            }
            VERSION => {
                let (page, after) = with_page()?;
                let (order, after) = after.split_first_chunk::<4>().ok_or_else(wrong)?;
                (u64::from_le_bytes(*page), Some(u32::from_le_bytes(*order)), after)
            }
            _ => return Err(wrong()),
        };
        let params = String::from_utf8(params.to_vec()).map_err(|_| wrong())?;
        Ok(Cursor { params, page, order, after: after.to_vec() })
    }
}

fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*len) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index(name: &str) -> IndexName {
        IndexName::new(name).unwrap()
    }

    #[test]
    fn comes_back_and_belongs_to_its_index() {
        let cursor =
            Cursor { params: "filters=a%3Ab".into(), page: 3, order: Some(9), after: vec![0, 255, 7] };
        let text = cursor.encode(&index("日本"));
        assert_eq!(Cursor::decode(&text, &index("日本")).unwrap(), cursor);
        assert!(Cursor::decode(&text, &index("other")).is_err());
        // as the programs before wrote it
        let first = [&[1, 1, 0, 0, 0, b'i', 1, 0, 0, 0, b'p'][..], &[9, 9]].concat();
        let cursor = Cursor { params: "p".into(), page: 0, order: None, after: vec![9, 9] };
        assert_eq!(Cursor::decode(&URL_SAFE_NO_PAD.encode(first), &index("i")).unwrap(), cursor);
        let second = [&[2, 1, 0, 0, 0, b'i', 1, 0, 0, 0, b'p', 4, 0, 0, 0, 0, 0, 0, 0][..], &[9, 9]].concat();
        let cursor = Cursor { page: 4, ..cursor };
        assert_eq!(cursor.encode(&index("i")), URL_SAFE_NO_PAD.encode(&second), "which they read, too");
        assert_eq!(Cursor::decode(&URL_SAFE_NO_PAD.encode(second), &index("i")).unwrap(), cursor);
        for damaged in [&text[..text.len() - 2], &format!("{text}A"), &text.replacen('A', "B", 1)] {
            assert!(Cursor::decode(damaged, &index("日本")).is_err(), "{damaged}");
        }
        assert!(Cursor::decode(&text[..8], &index("日本")).is_err());
        assert!(Cursor::decode("", &index("日本")).is_err());
        assert!(Cursor::decode("not a cursor", &index("日本")).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Cursor::decode(&URL_SAFE_NO_PAD.encode(bytes), &index("i"));
        }
    }
}
