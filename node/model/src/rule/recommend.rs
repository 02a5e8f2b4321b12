//! Rules of recommendations (C§17.4): for such a source item, change what a model recommends like that.

use super::consequence::{self, RECORDS_OF_RECOMMENDATIONS};
use super::parse::{description, validity};
use super::{AutomaticFilter, Period, Promotion, condition};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::ids::ObjectId;
use crate::limits::RECOMMEND_RULE_CONDITIONS_MAX;
use crate::resource::{self, Given, Members};
use serde_json::{Map, Value, json};

const MEMBERS: &[&str] =
    &["objectID", "conditions", "condition", "consequence", "description", "enabled", "validity"];
/// What answers add, and what is kept with a rule: when it was saved.
const METADATA: &str = "_metadata";

/// One rule of a model of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct RecommendRule {
    /// The id by which it is saved, read and deleted.
    pub object_id: ObjectId,
    /// Any of them suffices; none at all = the rule always applies.
    pub conditions: Vec<RecommendCondition>,
    /// What it does.
    pub consequence: RecommendConsequence,
    /// Free text for people.
    pub description: Option<String>,
    /// Whether it acts.
    pub enabled: bool,
    /// When it acts; any period suffices, none at all = always.
    pub validity: Vec<Period>,
    /// The document as it is kept, minified JSON: as it was given, with the time when it was saved.
    pub document: Box<str>,
}

/// When a rule applies; everything that is given must hold, nothing = always.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecommendCondition {
    /// One of the request's ruleContexts.
    pub context: Option<String>,
    /// What the source item has to match.
    pub filter: Filter,
    /// The filters as written.
    pub filters: Option<String>,
}

/// What a rule does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecommendConsequence {
    /// What recommended records have to match.
    pub filter: Filter,
    /// What makes recommended records come first.
    pub optional_filter: Filter,
    /// Filters made of the values that the source item has.
    pub automatic_facet_filters: Vec<AutomaticFilter>,
    /// Same, for filters that only rank.
    pub automatic_optional_facet_filters: Vec<AutomaticFilter>,
    /// Records with a fixed place.
    pub promote: Vec<Promotion>,
    /// Records that are not recommended.
    pub hide: Vec<ObjectId>,
    /// Appended to `userData` of the answer.
    pub user_data: Option<Value>,
}

impl RecommendRule {
    /// Reads the body of a batch; an empty body is an empty list.
    ///
    /// Errors: `Invalid`, naming the member, the position and the id.
    pub fn parse_batch(body: &[u8]) -> Result<Vec<RecommendRule>> {
        resource::many(body, "rule", RecommendRule::typed)
    }
    /// Reads a document that was saved.
    pub fn from_document(document: &[u8]) -> Result<RecommendRule> {
        let kept = std::str::from_utf8(document)
            .map_err(|error| Error::internal(format!("a stored rule: {error}")))?;
        let value: Value =
            serde_json::from_str(kept).map_err(|error| Error::internal(format!("a stored rule: {error}")))?;
        let rule = RecommendRule::typed(Given::new(value, "rule", None)?)?;
        Ok(RecommendRule { document: kept.into(), ..rule })
    }
    /// The document with the time when it is saved.
    pub fn stamped(document: &[u8], saved_at: &str) -> Vec<u8> {
        let mut members: Map<String, Value> = match serde_json::from_slice(document) {
            Ok(members) => members,
            Err(_) => return document.to_vec(),
        };
        members.insert(METADATA.to_owned(), json!({ "lastUpdate": saved_at }));
        serde_json::to_vec(&members).expect("a JSON object is always text")
    }
    /// The document as it was given.
    pub fn given(&self) -> Vec<u8> {
        let mut members: Map<String, Value> =
            serde_json::from_str(&self.document).expect("a kept document is a JSON object");
        members.remove(METADATA);
        serde_json::to_vec(&members).expect("a JSON object is always text")
    }
    /// Whether it is enabled and a moment, in Unix seconds, lies in one of its periods.
    pub fn is_in_force(&self, now: u64) -> bool {
        let within = |period: &Period| (period.from..=period.until).contains(&now);
        self.enabled && (self.validity.is_empty() || self.validity.iter().any(within))
    }

    fn typed(given: Given) -> Result<RecommendRule> {
        let document = given.text();
        let members = Members::top(&given.members);
        members.only(MEMBERS)?;
        let periods = validity(&members)?;
        if periods.is_empty() && members.value("validity").is_some() {
            return Err(Error::parameter("validity", "non-empty array"));
        }
        Ok(RecommendRule {
            conditions: conditions(&members)?,
            consequence: consequence(members.required("consequence")?)?,
            description: description(&members)?,
            enabled: members.flag("enabled")?.unwrap_or(true),
            validity: periods,
            document,
            object_id: given.object_id,
        })
    }
}

/// The list, or the single condition.
fn conditions(members: &Members) -> Result<Vec<RecommendCondition>> {
    if members.value("conditions").is_some() && members.value("condition").is_some() {
        return Err(Error::invalid("conditions and condition cannot both be given"));
    }
    if let Some(value) = members.value("condition") {
        return Ok(vec![condition(value, members.at("condition"))?]);
    }
    let list = members.list("conditions", RECOMMEND_RULE_CONDITIONS_MAX)?.iter().enumerate();
    list.map(|(i, value)| condition(value, format!("conditions[{i}]"))).collect()
}

fn condition(value: &Value, path: String) -> Result<RecommendCondition> {
    let members = Members::of(value, path)?;
    members.only(&["context", "filters"])?;
    let (filter, filters) = match condition::filter(&members)? {
        Some((filter, written)) => (filter, Some(written)),
        None => (Filter::default(), None),
    };
    Ok(RecommendCondition { context: condition::context(&members)?, filter, filters })
}

fn consequence(value: &Value) -> Result<RecommendConsequence> {
    let known = ["params", "promote", "hide", "userData"];
    let common = consequence::common(value, &known, RECORDS_OF_RECOMMENDATIONS)?;
    let mut consequence = RecommendConsequence {
        promote: common.promote,
        hide: common.hide,
        user_data: common.user_data,
        ..RecommendConsequence::default()
    };
    if let Some(user_data) = &consequence.user_data
        && !user_data.is_object()
    {
        return Err(Error::parameter("consequence.userData", "object"));
    }
    if let Some(params) = common.params {
        const FILTERING: [&str; 5] =
            ["filters", "facetFilters", "numericFilters", "tagFilters", "optionalFilters"];
        let own = consequence::OWN_AUTOMATIC;
        params.only(&[&FILTERING[..], &own[..]].concat())?;
        if let Some(search) = consequence::search_params(&params, &own)? {
            (consequence.filter, consequence.optional_filter) = (search.filter, search.optional_filter);
        }
        let [facets, optional_facets] = own;
        consequence.automatic_facet_filters = consequence::automatic(&params, facets)?;
        consequence.automatic_optional_facet_filters = consequence::automatic(&params, optional_facets)?;
    }
    Ok(consequence)
}

#[cfg(test)]
mod tests;
