//! Which parameters did client, key and rules give to a search? (C§8.9 `params`)
//!
//! Cost: nothing for requests without `explain`.

use crate::auth::Caller;
use crate::auth::restrictions::take_rivals;
use crate::parse;
use quorate_model::Result;
use quorate_model::params::{given, put_over};
use quorate_model::results::RuleResults;
use quorate_model::settings::table::lookup;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The members of the answer.
const MEMBERS: [&str; 5] = ["client", "apiKey", "abTest", "rules", "final"];

/// What is known before the search.
#[derive(Clone, Debug, Default)]
pub struct Explained {
    client: Arc<Map<String, Value>>,
    api_key: Arc<Map<String, Value>>,
}
impl Explained {
    /// Takes down the parameters of a body that mentions `explain`; `None` for other bodies.
    pub fn of_body(body: Map<String, Value>, caller: &Caller) -> Result<Option<Explained>> {
        let in_text = body.get("params").and_then(Value::as_str).is_some_and(|text| text.contains("explain"));
        if !in_text && !body.contains_key("explain") {
            return Ok(None);
        }
        Ok(Some(Explained { client: Arc::new(given(body)?), api_key: Arc::new(caller.forced_parameters()) }))
    }
    /// Same for the pairs of a query string.
    pub fn of_pairs<'p>(
        pairs: impl Iterator<Item = (&'p str, &'p str)>,
        caller: &Caller,
    ) -> Result<Option<Explained>> {
        let known = |name: &str| name == "params" || lookup(name).is_some_and(|row| row.scope.in_query());
        let body = pairs.filter(|(name, _)| known(name)).map(|(name, value)| (name.to_owned(), value.into()));
        Explained::of_body(body.collect(), caller)
    }
    /// Bytes that it takes, more or less.
    pub fn bytes(&self) -> usize {
        parse::members_bytes(&self.client) + parse::members_bytes(&self.api_key)
    }
    /// `explain.params` with the members that the request names; `None` when it names none.
    pub fn params(&self, names: &[String], rules: &RuleResults) -> Option<Map<String, Value>> {
        let wants = |member: &str| {
            let is_it = |name: &String| name.strip_prefix("params.").is_some_and(|rest| rest == member);
            names.iter().any(|name| matches!(name.as_str(), "*" | "params" | "params.*") || is_it(name))
        };
        let mut shown = Map::new();
        for member in MEMBERS.into_iter().filter(|member| wants(member)) {
            let value = match member {
                "client" => Map::clone(&self.client),
                "apiKey" => Map::clone(&self.api_key),
                "rules" => rules.params.clone().unwrap_or_default(),
                "final" => self.together(rules),
                _ => Map::new(),
            };
            shown.insert(member.to_owned(), Value::Object(value));
        }
        (!shown.is_empty()).then_some(shown)
    }
    fn together(&self, rules: &RuleResults) -> Map<String, Value> {
        let mut all = Map::clone(&self.client);
        rules.params.iter().for_each(|given| put_over(&mut all, given));
        if let Some(query) = &rules.query {
            all.insert("query".into(), query.as_str().into());
        }
        take_rivals(&mut all, &self.api_key);
        all.extend(Map::clone(&self.api_key));
        all
    }
}
