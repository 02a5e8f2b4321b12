//! Values and texts one behind the other, as they are written and read in one process.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

/// Bytes that a text takes.
pub fn text_bytes(text: &[u8]) -> usize {
    size_of::<u64>() + text.len()
}

/// Puts them behind what is there.
pub struct Writer<'a>(pub &'a mut Vec<u8>);

impl Writer<'_> {
    /// A number.
    pub fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }
    /// As many as fit into a number.
    pub fn flags<const N: usize>(&mut self, flags: [bool; N]) {
        let number = flags.iter().rev().fold(0, |number, flag| (number << 1) | u64::from(*flag));
        self.number(number);
    }
    /// A text.
    pub fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text);
    }
    /// An address.
    pub fn address(&mut self, address: IpAddr) {
        let (is_v4, address) = match address {
            IpAddr::V4(address) => (true, address.to_ipv6_mapped()),
            IpAddr::V6(address) => (false, address),
        };
        self.0.push(u8::from(is_v4));
        self.0.extend_from_slice(&address.octets());
    }
    /// What may be there, with `write`.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.0.push(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads them in the order in which they were written; nothing where they end.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let bytes;
        (bytes, self.0) = self.0.split_at_checked(count)?;
        Some(bytes)
    }
    fn flag(&mut self) -> Option<bool> {
        Some(self.bytes(1)? != [0])
    }
    /// A number.
    pub fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }
    /// As many as were written.
    pub fn flags<const N: usize>(&mut self) -> Option<[bool; N]> {
        let number = self.number()?;
        Some(std::array::from_fn(|bit| number >> bit & 1 == 1))
    }
    /// A text.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.bytes(count as usize)
    }
    /// A text that is UTF-8.
    pub fn line(&mut self) -> Option<Cow<'a, str>> {
        self.text().map(String::from_utf8_lossy)
    }
    /// An address.
    pub fn address(&mut self) -> Option<IpAddr> {
        let is_v4 = self.flag()?;
        let octets: [u8; 16] = self.bytes(16)?.try_into().ok()?;
        let address = Ipv6Addr::from(octets);
        Some(if is_v4 { address.to_ipv4_mapped()?.into() } else { address.into() })
    }
    /// What may be there, with `read`.
    pub fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.flag()? {
            true => read(self).map(Some),
            false => Some(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = vec![];
        let mut out = Writer(&mut bytes);
        let addresses: [IpAddr; 3] =
            ["10.1.2.3", "2001:db8::1", "::ffff:1.2.3.4"].map(|it| it.parse().unwrap());
        out.number(u64::MAX);
        out.flags([true, false, true]);
        out.text(b"text");
        addresses.into_iter().for_each(|address| out.address(address));
        out.optional(Some(7), Writer::number);
        out.optional(None, Writer::number);
        let mut from = Reader(&bytes);
        assert_eq!(from.number(), Some(u64::MAX));
        assert_eq!(from.flags(), Some([true, false, true]));
        assert_eq!(from.line().as_deref(), Some("text"));
        assert_eq!([(); 3].map(|()| from.address()), addresses.map(Some));
        assert_eq!(from.optional(Reader::number), Some(Some(7)));
        assert_eq!(from.optional(Reader::number), Some(None));
        assert_eq!((from.0, from.number(), from.text()), (&[][..], None, None));
        assert_eq!(Reader(&u64::MAX.to_le_bytes()).text(), None, "a length that is none");
    }
}
