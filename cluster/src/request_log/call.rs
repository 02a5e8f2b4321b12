//! What is kept of a call that was answered, and which calls does somebody ask for (C§14)?

use super::CALL_BYTES_MAX;
use quorate_store::codec;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_bytes::ByteBuf;
use std::borrow::Cow;
use std::net::IpAddr;

/// What a call did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallKind {
    /// It searched.
    Query,
    /// It changed something.
    Build,
    /// Neither.
    #[default]
    Other,
}

/// Where values may stand in a call that only those see who see unretrievable attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Secret {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In its body: records are written.
    Body,
    /// In its answer: records are read, by somebody who sees such attributes.
    Answer,
}

/// One of the queries of a call with several, or another index that a call was about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InnerCall {
    /// The index.
    pub index: String,
    /// The user it was for, as far as it said so.
    pub user_token: Option<String>,
    /// What events name its query by.
    pub query_id: Option<String>,
}

/// A call that was answered. No key stands in it: whoever notes it has masked them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoggedCall {
    /// When it was answered, Unix milliseconds.
    pub time_ms: u64,
    /// What it did.
    pub kind: CallKind,
    /// The status of the answer.
    pub status: u16,
    /// Microseconds from its head to its answer.
    pub took_us: u64,
    /// Where it came from.
    pub address: Option<IpAddr>,
    /// How many records its query found.
    pub hits: Option<u64>,
    /// Whether that is exact.
    pub is_exhaustive: Option<bool>,
    /// What tells it from every other call.
    pub id: String,
    /// Method.
    pub method: String,
    /// The index that its path names.
    pub index: Option<String>,
    /// Its queries, and other indices that it was about.
    pub inner: Vec<InnerCall>,
    /// Whether it was about more of them than are named.
    pub has_more: bool,
    /// Where values may stand that only few see.
    pub secret: Secret,
    /// Path and query string.
    pub url: String,
    /// Its headers, one a line.
    pub headers: Text,
    /// The beginning of its body.
    pub body: Text,
    /// The beginning of the answer.
    pub answer: Text,
}

impl LoggedCall {
    /// When it began, Unix milliseconds, or a moment before.
    pub(super) fn began_ms(&self) -> u64 {
        self.time_ms.saturating_sub(self.took_us.div_ceil(1_000))
    }
    /// As it is kept.
    pub fn encode(&self) -> Vec<u8> {
        codec::encode(self)
    }
    /// What [`LoggedCall::encode`] made; nothing when it is none, or longer than any is.
    pub fn decode(bytes: &[u8]) -> Option<LoggedCall> {
        codec::decode(bytes, CALL_BYTES_MAX).ok()
    }
    /// All that it holds of what callers sent or were answered.
    pub(super) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let tokens = self.inner.iter().filter_map(|inner| inner.user_token.as_deref());
        let lines = [&self.url, &self.id].map(String::as_str).into_iter().chain(self.indices()).chain(tokens);
        lines.map(str::as_bytes).chain([&self.headers, &self.body, &self.answer].map(|text| &text.0[..]))
    }
}

/// A text as it came, which is read as UTF-8 when it is shown: most never are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text(Vec<u8>);

impl Text {
    /// The text.
    pub fn show(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}
impl<T: Into<Vec<u8>>> From<T> for Text {
    fn from(bytes: T) -> Self {
        Text(bytes.into())
    }
}
impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&self.show()),
            false => serializer.serialize_bytes(&self.0),
        }
    }
}
impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = match deserializer.is_human_readable() {
            true => String::deserialize(deserializer)?.into_bytes(),
            false => ByteBuf::deserialize(deserializer)?.into_vec(),
        };
        Ok(Text(bytes))
    }
}

impl LoggedCall {
    /// Every index that it was about.
    pub fn indices(&self) -> impl Iterator<Item = &str> {
        let inner = self.inner.iter().map(|inner| inner.index.as_str());
        self.index.as_deref().into_iter().chain(inner)
    }
}

/// Which calls are asked for, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallFilter {
    /// All.
    #[default]
    All,
    /// Searches.
    Query,
    /// Changes.
    Build,
    /// Those whose answer was an error.
    Error,
}

/// Which calls are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallsAsked {
    /// Of this kind.
    pub filter: CallFilter,
    /// About this index.
    pub index: Option<String>,
    /// At most so many, the newest ones.
    pub most: usize,
}

impl CallsAsked {
    /// Whether a call is one of them.
    pub fn wants(&self, call: &LoggedCall) -> bool {
        let is_of_kind = match self.filter {
            CallFilter::All => true,
            CallFilter::Query => call.kind == CallKind::Query,
            CallFilter::Build => call.kind == CallKind::Build,
            CallFilter::Error => call.status >= 400,
        };
        is_of_kind && self.index.as_deref().is_none_or(|wanted| call.indices().any(|index| index == wanted))
    }
}
