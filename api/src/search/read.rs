//! What do the members of a search say, and how much of the memory that calls share does that take?

use super::explain::Explained;
use crate::auth::Caller;
use crate::away::{ON_ARBITER_BYTES_MAX, away_if_long};
use crate::call::Call;
use crate::parse;
use quorate_model::params::{check_free, check_free_pairs, echo, echo_bytes, echo_pairs};
use quorate_model::{Result, SearchParams};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Bytes of a body below which nobody counts the echoes of what stands there: they are three times as long at most.
const ECHOES_UNCOUNTED_MAX: usize = 64 << 10;

/// What members say.
pub struct Read {
    pub params: Box<SearchParams>,
    pub echo: Arc<str>,
    pub explained: Option<Explained>,
}

impl Read {
    /// Reads the members that are the body, or were taken out of it: many or long ones on another thread.
    pub async fn of_members(call: &Call<'_>, members: Map<String, Value>) -> Result<Read> {
        let body_bytes = call.body.len();
        let read = if body_bytes <= ON_ARBITER_BYTES_MAX || !parse::is_long(&members) {
            call.hold(taken(&members, &call.caller, body_bytes)?)?;
            Read::of(members, &call.caller)?
        } else {
            let caller = call.caller.clone();
            let look = move || Ok((taken(&members, &caller, body_bytes)?, members, caller));
            let (bytes, members, caller) = away_if_long(body_bytes, look).await?;
            call.hold(bytes)?;
            away_if_long(body_bytes, move || Read::of(members, &caller)).await?
        };
        call.hold(read.bytes())?;
        Ok(read)
    }
    /// Reads the pairs of a query string.
    pub fn of_pairs(call: &Call<'_>, pairs: &[(Cow<'_, str>, Cow<'_, str>)]) -> Result<Read> {
        let sent = || pairs.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
        check_free_pairs(sent())?;
        call.hold(taken_by_key(&call.caller)?)?;
        let echo = echo_pairs(sent()).into();
        let explained = Explained::of_pairs(sent(), &call.caller)?;
        let overrides = call.caller.restrictions().iter().flat_map(|restrictions| &restrictions.overrides);
        let overrides = overrides.map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()));
        let params = Box::new(SearchParams::from_query_pairs(sent().chain(overrides))?);
        let read = Read { params, echo, explained };
        call.hold(read.bytes())?;
        Ok(read)
    }

    fn of(mut members: Map<String, Value>, caller: &Caller) -> Result<Read> {
        let echo = echo(&members).into();
        let overrides = caller.restrictions().iter().flat_map(|restrictions| &restrictions.overrides);
        let replace =
            |(name, value): (&String, &Value)| (name.clone(), members.insert(name.clone(), value.clone()));
        let replaced: Vec<_> = overrides.map(replace).collect();
        let params = Box::new(SearchParams::from_json(&members)?);
        // what the caller gave is shown as it was, and moved there: a copy would not be charged to anybody
        for (name, given) in replaced.into_iter().rev() {
            match given {
                Some(value) => drop(members.insert(name, value)),
                None => drop(members.remove(&name)),
            }
        }
        Ok(Read { params, echo, explained: Explained::of_body(members, caller)? })
    }
    /// Bytes of what stays until the answer beside what the body became.
    fn bytes(&self) -> usize {
        let content = self.params.rendering_content.as_deref().map_or(0, parse::value_bytes);
        content + self.explained.as_ref().map_or(0, Explained::bytes)
    }
}

/// Bytes that members take once they have been read, more or less. Errors: `Invalid` for one that is too large to be read.
fn taken(members: &Map<String, Value>, caller: &Caller, body_bytes: usize) -> Result<usize> {
    check_free(members)?;
    let echo = if body_bytes > ECHOES_UNCOUNTED_MAX { echo_bytes(members) } else { 0 };
    Ok(parse::texts_bytes(members)? + echo + taken_by_key(caller)?)
}
/// The same of what the caller's key puts in their place.
fn taken_by_key(caller: &Caller) -> Result<usize> {
    let of_one = |overrides: &Map<String, Value>| {
        check_free(overrides)?;
        // it is read for the search, and once more to be put over what rules say
        Ok(2 * parse::texts_bytes(overrides)?)
    };
    caller.restrictions().iter().map(|restrictions| of_one(&restrictions.overrides)).sum()
}
