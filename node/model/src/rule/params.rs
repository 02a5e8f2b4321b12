//! How are the search parameters of a rule kept?

use crate::params::SearchParams;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Bytes of JSON up to which parameters are kept as they act. Read, they take up to ten times as many, and a kilobyte at least.
const READ_BYTES_MAX: usize = 1 << 10;

/// The search parameters among the members of a rule's `params`.
///
/// Few rules apply to a query, so long ones are read each time that they do: some 20 µs for 12 kB of filters, of which
/// 10,000 rules would take a gigabyte otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleParams(Kept);

#[derive(Clone, Debug, PartialEq)]
enum Kept {
    Read(Box<SearchParams>),
    /// As a JSON object that [`SearchParams`] takes.
    Written(Box<str>),
}

impl RuleParams {
    /// Keeps `params`, which were read from `members`.
    pub(super) fn new(params: SearchParams, members: Map<String, Value>) -> RuleParams {
        let written = Value::Object(members).to_string();
        match written.len() <= READ_BYTES_MAX {
            true => RuleParams(Kept::Read(Box::new(params))),
            false => RuleParams(Kept::Written(written.into())),
        }
    }
    /// The parameters.
    pub fn read(&self) -> Cow<'_, SearchParams> {
        match &self.0 {
            Kept::Read(params) => Cow::Borrowed(params),
            Kept::Written(written) => {
                let members = serde_json::from_str(written).unwrap_or_default();
                // they were taken when the rule was saved
                Cow::Owned(SearchParams::from_members(&members).unwrap_or_default())
            }
        }
    }
    /// Bytes that have to be read for them; 0 when they are kept as they act.
    pub fn bytes_to_read(&self) -> usize {
        match &self.0 {
            Kept::Read(_) => 0,
            Kept::Written(written) => written.len(),
        }
    }
}
