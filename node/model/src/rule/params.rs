//! How are the search parameters of a rule kept?

use super::consequence::OWN_PARAMS;
use crate::params::SearchParams;
use crate::params::members::as_taken_before;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Bytes of JSON up to which parameters are kept as they act. Read, they take up to ten times as many, and a kilobyte at least.
const READ_BYTES_MAX: usize = 1 << 10;

/// The search parameters among the members of a rule's `params`.
///
/// Few rules apply to a query, so long ones are read from the document each time that they do: some 0.1 ms for 12 kB of filters, of
/// which 10,000 rules took half a gigabyte otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleParams(Kept);

#[derive(Clone, Debug, PartialEq)]
enum Kept {
    Read(Box<SearchParams>),
    /// In the document of the rule, with about so many bytes.
    Written(usize),
}

/// The part of a document that has them.
#[derive(Deserialize)]
struct Document<'d> {
    #[serde(borrow)]
    consequence: Consequence<'d>,
}
#[derive(Deserialize)]
struct Consequence<'d> {
    #[serde(borrow)]
    params: &'d RawValue,
}

impl RuleParams {
    /// Keeps `params`, whose members take so many bytes of the document.
    pub(super) fn new(params: SearchParams, bytes: usize) -> RuleParams {
        match bytes <= READ_BYTES_MAX {
            true => RuleParams(Kept::Read(Box::new(params))),
            false => RuleParams(Kept::Written(bytes)),
        }
    }
    /// The parameters; `document` is that of the rule.
    pub fn read(&self, document: &str) -> Cow<'_, SearchParams> {
        match &self.0 {
            Kept::Read(params) => Cow::Borrowed(params),
            // they were taken when the rule was saved
            Kept::Written(_) => Cow::Owned(written(document).unwrap_or_default()),
        }
    }
    /// Bytes that have to be read for them; 0 when they are kept as they act.
    pub fn bytes_to_read(&self) -> usize {
        match self.0 {
            Kept::Read(_) => 0,
            Kept::Written(bytes) => bytes,
        }
    }
}

fn written(document: &str) -> Option<SearchParams> {
    let Document { consequence: Consequence { params } } = serde_json::from_str(document).ok()?;
    let mut members: Map<String, Value> = serde_json::from_str(params.get()).ok()?;
    if let Some(before) = as_taken_before(&members) {
        members = before;
    }
    members.retain(|name, value| !value.is_null() && !OWN_PARAMS.contains(&name.as_str()));
    SearchParams::from_members(&members).ok()
}
