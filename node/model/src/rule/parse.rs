//! How does a document become a rule (C§10.1)?

use super::{AutomaticFilter, Condition, Period, Rule, condition, consequence};
use crate::error::{Error, Result};
use crate::limits::{RULE_CONDITIONS_MAX, RULE_LIST_ENTRIES_MAX, RULE_PARAMETER_BYTES_MAX};
use crate::params::lenient;
use crate::params::members::as_taken_before;
use crate::resource::{self, Given, Members};
use serde_json::Value;

const MEMBERS: &[&str] = &[
    "objectID",
    "conditions",
    "condition",
    "consequence",
    "description",
    "enabled",
    "validity",
    "tags",
    "scope",
];

impl Rule {
    /// Reads the body of a call that saves one rule; the id of the path wins over that of the body.
    ///
    /// Errors: `Invalid`, naming the member (C§19).
    pub fn parse_body(body: &[u8], path_id: &str) -> Result<Rule> {
        resource::one(body, "rule", path_id, Rule::typed)
    }
    /// Reads the body of a batch; an empty body is an empty list.
    ///
    /// Errors: `Invalid`, naming the member, the position and the id.
    pub fn parse_batch(body: &[u8]) -> Result<Vec<Rule>> {
        resource::many(body, "rule", Rule::typed)
    }
    /// Reads a document that was saved, by this program or one before that refused less.
    pub fn from_document(document: &[u8]) -> Result<Rule> {
        let value: Value = serde_json::from_slice(document)
            .map_err(|error| Error::internal(format!("a stored rule: {error}")))?;
        let params = value.pointer("/consequence/params").and_then(Value::as_object);
        match params.and_then(as_taken_before) {
            None => Rule::typed(Given::new(value, "rule", None)?),
            Some(params) => {
                let mut read = value.clone();
                read["consequence"]["params"] = params.into();
                let rule = Rule::typed(Given::new(read, "rule", None)?)?;
                Ok(Rule { document: Given::new(value, "rule", None)?.text(), ..rule })
            }
        }
    }

    fn typed(given: Given) -> Result<Rule> {
        let document = given.text();
        let members = Members::top(&given.members);
        members.only(MEMBERS)?;
        let conditions = conditions(&members)?;
        let consequence = consequence::consequence(members.required("consequence")?)?;
        let automatic = [
            ("automaticFacetFilters", &consequence.automatic_facet_filters),
            ("automaticOptionalFacetFilters", &consequence.automatic_optional_facet_filters),
        ];
        for (name, filters) in automatic {
            check_placeholders(name, filters, &conditions)?;
        }
        Ok(Rule {
            conditions,
            consequence,
            description: description(&members)?,
            enabled: members.flag("enabled")?.unwrap_or(true),
            validity: validity(&members)?,
            tags: members.texts("tags", RULE_LIST_ENTRIES_MAX)?,
            scope: members.text("scope")?,
            document,
            object_id: given.object_id,
        })
    }
}

/// The list, or the single condition of earlier clients.
fn conditions(members: &Members) -> Result<Vec<Condition>> {
    if members.value("conditions").is_some() && members.value("condition").is_some() {
        return Err(Error::invalid("conditions and condition cannot both be given"));
    }
    if let Some(value) = members.value("condition") {
        return Ok(vec![condition::condition(value, members.at("condition"))?]);
    }
    let list = members.list("conditions", RULE_CONDITIONS_MAX)?.iter().enumerate();
    list.map(|(i, value)| condition::condition(value, format!("conditions[{i}]"))).collect()
}

/// The text for people.
pub(super) fn description(members: &Members) -> Result<Option<String>> {
    let value = members.value("description");
    value.map(|value| lenient::text_up_to("description", value, RULE_PARAMETER_BYTES_MAX)).transpose()
}

/// The periods in which a rule acts.
pub(super) fn validity(members: &Members) -> Result<Vec<Period>> {
    let mut periods = Vec::new();
    for (i, value) in members.list("validity", RULE_LIST_ENTRIES_MAX)?.iter().enumerate() {
        let period = Members::of(value, format!("validity[{i}]"))?;
        period.only(&["from", "until"])?;
        let seconds = |name: &str| {
            let value = period.required(name)?;
            lenient::whole(value).ok_or_else(|| Error::parameter(&period.at(name), "Unix time in seconds"))
        };
        let (from, until) = (seconds("from")?, seconds("until")?);
        if from > until {
            return Err(Error::parameter(&period.at("until"), "time that is not before from"));
        }
        periods.push(Period { from, until });
    }
    Ok(periods)
}

/// C§10.4: an automatic filter needs the placeholder of its facet in a pattern.
fn check_placeholders(name: &str, filters: &[AutomaticFilter], conditions: &[Condition]) -> Result<()> {
    let patterns = || conditions.iter().filter_map(|condition| condition.pattern.as_ref());
    for filter in filters {
        if !patterns().any(|pattern| pattern.facets().any(|facet| facet == filter.facet)) {
            let facet = &filter.facet;
            return Err(Error::parameter(
                &format!("consequence.params.{name}"),
                &format!("facet with a placeholder in a pattern, as in {{facet:{facet}}}"),
            ));
        }
    }
    Ok(())
}
