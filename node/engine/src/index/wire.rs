//! How analysed words reach tantivy: one string per record that its tokenizer only cuts, positions included.
//!
//! A word is three bytes of packed position (six bits each, from `0`), its text and a zero byte.

use tantivy::schema::document::{ReferenceValue, ReferenceValueLeaf};
use tantivy::schema::{
    BytesOptions, Document, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Name of the tokenizer: the one that tantivy asks for whatever the type of a field.
pub(crate) const TOKENIZER: &str = "default";
/// Name of the sort field.
pub(crate) const RANK: &str = "rank";
/// Name of the text field.
pub(crate) const TEXT: &str = "t";

/// The schema of every index: words, and the rank key that orders merged segments.
pub(crate) fn schema() -> Schema {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    schema.add_text_field(TEXT, TextOptions::default().set_indexing_options(indexing));
    schema.add_bytes_field(RANK, BytesOptions::default().set_fast());
    schema.build()
}
/// The text field of [`schema`].
pub(crate) const TEXT_FIELD: Field = Field::from_field_id(0);
const RANK_FIELD: Field = Field::from_field_id(1);

/// Appends a word.
pub(crate) fn push_word(wire: &mut String, packed: u16, text: &str) {
    for shift in [12, 6, 0] {
        wire.push((b'0' + (packed >> shift & 63) as u8) as char);
    }
    wire.push_str(text);
    wire.push('\0');
}

/// What tantivy sees of a record.
#[derive(Debug)]
pub(crate) struct WireDocument {
    /// Words.
    pub wire: String,
    /// Rank key.
    pub rank: Vec<u8>,
}
/// A field of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WireValue<'a> {
    /// The words.
    Text(&'a str),
    /// The rank key.
    Rank(&'a [u8]),
}
impl<'a> Value<'a> for WireValue<'a> {
    type ArrayIter = std::iter::Empty<Self>;
    type ObjectIter = std::iter::Empty<(&'a str, Self)>;
    fn as_value(&self) -> ReferenceValue<'a, Self> {
        ReferenceValue::Leaf(match *self {
            WireValue::Text(text) => ReferenceValueLeaf::Str(text),
            WireValue::Rank(rank) => ReferenceValueLeaf::Bytes(rank),
        })
    }
}
impl Document for WireDocument {
    type Value<'a> = WireValue<'a>;
    type FieldsValuesIter<'a> = std::array::IntoIter<(Field, WireValue<'a>), 2>;
    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        [(TEXT_FIELD, WireValue::Text(&self.wire)), (RANK_FIELD, WireValue::Rank(&self.rank))].into_iter()
    }
}

/// Cuts a wire string.
#[derive(Clone, Default)]
pub(crate) struct WireTokenizer {
    token: Token,
}
/// The words of one record.
pub(crate) struct WireStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}
impl Tokenizer for WireTokenizer {
    type TokenStream<'a> = WireStream<'a>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> WireStream<'a> {
        self.token.reset();
        WireStream { rest: text, token: &mut self.token }
    }
}
impl TokenStream for WireStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(end) = memchr::memchr(0, self.rest.as_bytes()) else { return false };
        let (word, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        let position = word.as_bytes()[..3].iter().fold(0, |p, b| p << 6 | usize::from(b - b'0'));
        self.token.position = position;
        self.token.text.clear();
        self.token.text.push_str(&word[3..]);
        true
    }
    fn token(&self) -> &Token {
        self.token
    }
    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_positions_survive() {
        let words = [(0u16, "a"), (1, "éa"), (63, "x"), (64, "東"), (u16::MAX, "last")];
        let mut wire = String::new();
        for (position, text) in words {
            push_word(&mut wire, position, text);
        }
        let mut tokenizer = WireTokenizer::default();
        let mut stream = tokenizer.token_stream(&wire);
        for (position, text) in words {
            assert!(stream.advance());
            assert_eq!(
                (stream.token().position, stream.token().text.as_str()),
                (usize::from(position), text)
            );
        }
        assert!(!stream.advance());
    }
}
