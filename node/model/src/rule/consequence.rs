//! How is the consequence of a rule read, and what are its limits (C§10.4, C§20)?

use super::condition::parts;
use super::{AutomaticFilter, Consequence, PatternPart, Promotion, QueryChange, QueryEdit, RuleParams};
use crate::error::{Error, Result};
use crate::ids::ObjectId;
use crate::limits::{
    FILTER_SCORE_MAX, OBJECT_ID_BYTES_MAX, RECOMMEND_RULE_HIDDEN_MAX, RECOMMEND_RULE_PROMOTED_MAX,
    RULE_CONSEQUENCE_BYTES_MAX, RULE_HIDDEN_MAX, RULE_LIST_ENTRIES_MAX, RULE_PARAMETER_BYTES_MAX,
    RULE_PROMOTED_GROUP_MAX, RULE_PROMOTED_MAX, RULE_USER_DATA_BYTES_MAX,
};
use crate::params::{SearchParams, lenient};
use crate::resource::{Members, bytes_of, missing, required_text, text};
use serde_json::{Map, Value};

const MEMBERS: &[&str] = &["params", "promote", "hide", "filterPromotes", "userData", "redirect"];

/// Members of `params` that are filters made of facet values.
pub(super) const OWN_AUTOMATIC: [&str; 2] = ["automaticFacetFilters", "automaticOptionalFacetFilters"];
/// Members of `params` that are not search parameters.
pub(super) const OWN_PARAMS: [&str; 3] = ["query", OWN_AUTOMATIC[0], OWN_AUTOMATIC[1]];

/// How many records a rule may name.
#[derive(Clone, Copy)]
pub(super) struct RecordsMax {
    /// Promoted by all entries together.
    promoted: usize,
    /// Promoted by one entry.
    group: usize,
    hidden: usize,
}
/// Of a rule of searches.
const RECORDS_OF_SEARCHES: RecordsMax =
    RecordsMax { promoted: RULE_PROMOTED_MAX, group: RULE_PROMOTED_GROUP_MAX, hidden: RULE_HIDDEN_MAX };
/// Of a rule of recommendations.
pub(super) const RECORDS_OF_RECOMMENDATIONS: RecordsMax = RecordsMax {
    promoted: RECOMMEND_RULE_PROMOTED_MAX,
    group: RECOMMEND_RULE_PROMOTED_MAX,
    hidden: RECOMMEND_RULE_HIDDEN_MAX,
};

/// What the consequences of all rules may have.
pub(super) struct Common<'a> {
    /// All members.
    members: Members<'a>,
    /// Those of `params`.
    pub params: Option<Members<'a>>,
    pub promote: Vec<Promotion>,
    pub hide: Vec<ObjectId>,
    pub user_data: Option<Value>,
}

/// Reads what rules of all kinds have; `known` is what this kind has.
pub(super) fn common<'a>(value: &'a Value, known: &[&str], most: RecordsMax) -> Result<Common<'a>> {
    let members = Members::of(value, "consequence".to_owned())?;
    members.only(known)?;
    if members.is_empty() {
        return Err(Error::invalid(format!(
            "consequence has no effect: one of {} is required",
            known.join(", ")
        )));
    }
    within("consequence", value, RULE_CONSEQUENCE_BYTES_MAX)?;
    let params = members.value("params").map(|value| Members::of(value, members.at("params"))).transpose()?;
    let mut hide = Vec::new();
    for (i, value) in members.list("hide", most.hidden)?.iter().enumerate() {
        let hidden = Members::of(value, format!("{}[{i}]", members.at("hide")))?;
        hidden.only(&["objectID"])?;
        hide.push(object_id(&hidden.at("objectID"), hidden.required("objectID")?)?);
    }
    let user_data = members.value("userData").cloned();
    if let Some(value) = &user_data {
        within(&members.at("userData"), value, RULE_USER_DATA_BYTES_MAX)?;
    }
    Ok(Common { params, promote: promote(&members, most)?, hide, user_data, members })
}

/// Reads the consequence of a rule.
pub(super) fn consequence(value: &Value) -> Result<Consequence> {
    let Common { members, params: given, promote, hide, user_data } =
        common(value, MEMBERS, RECORDS_OF_SEARCHES)?;
    let mut consequence = Consequence { promote, hide, user_data, ..Consequence::default() };
    if let Some(given) = given {
        params(&mut consequence, &given)?;
    }
    consequence.filter_promotes = members.flag("filterPromotes")?.unwrap_or(false);
    if let Some(value) = members.value("redirect") {
        let redirect = Members::of(value, members.at("redirect"))?;
        redirect.only(&["indexName"])?;
        consequence.redirect = Some(redirect.required_text("indexName")?);
    }
    Ok(consequence)
}

fn within(path: &str, value: &Value, bytes_max: usize) -> Result<()> {
    let bytes = bytes_of(value);
    if bytes > bytes_max {
        return Err(Error::invalid(format!("{path} is too big size={bytes}/{bytes_max} bytes")));
    }
    Ok(())
}

fn params(consequence: &mut Consequence, members: &Members) -> Result<()> {
    let bytes = members.given().map(|(name, value)| name.len() + bytes_of(value)).sum();
    consequence.params = search_params(members, &OWN_PARAMS)?.map(|params| RuleParams::new(params, bytes));
    if let Some(value) = members.value("query") {
        consequence.query = Some(query(value, members.at("query"))?);
    }
    consequence.automatic_facet_filters = automatic(members, "automaticFacetFilters")?;
    consequence.automatic_optional_facet_filters = automatic(members, "automaticOptionalFacetFilters")?;
    Ok(())
}

/// The search parameters among the members of `params`, which are those that are not `own`; `None` when there are none.
pub(super) fn search_params(members: &Members, own: &[&str]) -> Result<Option<SearchParams>> {
    let mut search = Map::new();
    for (name, value) in members.given() {
        within(&members.at(name), value, RULE_PARAMETER_BYTES_MAX)?;
        if !own.contains(&name.as_str()) {
            search.insert(name.clone(), value.clone());
        }
    }
    let params = SearchParams::from_members(&search).map_err(|mut error| {
        error.message = format!("{} in {}", error.message, members.path());
        error
    })?;
    Ok((!search.is_empty()).then_some(params))
}

/// A replacement, edits, or the earlier form of removals (C§4.8).
fn query(value: &Value, path: String) -> Result<QueryChange> {
    if value.is_string() {
        return text(&path, value).map(QueryChange::Replace);
    }
    if !value.is_object() {
        return Err(Error::parameter(&path, "string or object with edits"));
    }
    let members = Members::of(value, path)?;
    members.only(&["edits", "remove"])?;
    if members.is_empty() {
        return Err(missing(&members.at("edits")));
    }
    let mut edits = Vec::new();
    for (i, removed) in members.list("remove", RULE_LIST_ENTRIES_MAX)?.iter().enumerate() {
        let path = format!("{}[{i}]", members.at("remove"));
        edits.push(QueryEdit { delete: deleted(&path, removed)?, insert: None });
    }
    for (i, edit) in members.list("edits", RULE_LIST_ENTRIES_MAX)?.iter().enumerate() {
        edits.push(query_edit(&Members::of(edit, format!("{}[{i}]", members.at("edits")))?)?);
    }
    Ok(QueryChange::Edit(edits))
}

fn query_edit(members: &Members) -> Result<QueryEdit> {
    members.only(&["type", "delete", "insert"])?;
    let kinds = [("remove", false), ("replace", true)];
    let replaces = lenient::choice(&members.at("type"), members.required("type")?, &kinds)?;
    let delete = deleted(&members.at("delete"), members.required("delete")?)?;
    let insert = match replaces {
        true => Some(text(&members.at("insert"), members.required("insert")?)?),
        false => None,
    };
    Ok(QueryEdit { delete, insert })
}

/// A word, a phrase, or the placeholder of a facet alone.
fn deleted(path: &str, value: &Value) -> Result<PatternPart> {
    let mut parts = parts(path, &required_text(path, value)?)?;
    match (parts.pop(), parts.is_empty()) {
        (Some(part), true) => Ok(part),
        _ => Err(Error::parameter(path, "word, phrase or one {facet:attribute}")),
    }
}

/// Filters made of facet values, as names or objects.
pub(super) fn automatic(members: &Members, name: &str) -> Result<Vec<AutomaticFilter>> {
    let mut filters = Vec::new();
    for (i, value) in members.list(name, RULE_LIST_ENTRIES_MAX)?.iter().enumerate() {
        let path = format!("{}[{i}]", members.at(name));
        filters.push(match value {
            Value::String(_) => automatic_text(&path, &required_text(&path, value)?)?,
            Value::Object(_) => automatic_object(&Members::of(value, path)?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                return Err(Error::parameter(&path, "attribute name or object with facet"));
            }
        });
    }
    Ok(filters)
}

/// `brand`, `-brand` or `brand<score=5>`.
fn automatic_text(path: &str, text: &str) -> Result<AutomaticFilter> {
    let (name, score) = match text.strip_suffix('>').and_then(|rest| rest.rsplit_once("<score=")) {
        Some((name, score)) => (name, checked_score(path, score.trim().parse().ok())?),
        None => (text, 1),
    };
    let name = name.trim();
    let (negative, facet) = match name.strip_prefix('-').filter(|rest| !rest.is_empty()) {
        Some(facet) => (true, facet),
        None => (false, name),
    };
    Ok(AutomaticFilter { facet: facet.to_owned(), score, disjunctive: false, negative })
}

fn automatic_object(members: &Members) -> Result<AutomaticFilter> {
    members.only(&["facet", "score", "disjunctive", "negative"])?;
    let score = match members.value("score") {
        None => 1,
        Some(value) => checked_score(&members.at("score"), lenient::whole(value))?,
    };
    Ok(AutomaticFilter {
        facet: members.required_text("facet")?,
        score,
        disjunctive: members.flag("disjunctive")?.unwrap_or(false),
        negative: members.flag("negative")?.unwrap_or(false),
    })
}

fn checked_score(path: &str, score: Option<u64>) -> Result<u32> {
    let within = score.and_then(|score| u32::try_from(score).ok()).filter(|&score| score <= FILTER_SCORE_MAX);
    within.ok_or_else(|| Error::parameter(path, &format!("score between 0 and {FILTER_SCORE_MAX}")))
}

fn promote(members: &Members, most: RecordsMax) -> Result<Vec<Promotion>> {
    let path = members.at("promote");
    let mut promotions: Vec<Promotion> = Vec::new();
    for (i, value) in members.list("promote", most.promoted)?.iter().enumerate() {
        let entry = Members::of(value, format!("{path}[{i}]"))?;
        entry.only(&["objectID", "objectIDs", "position"])?;
        let object_ids = match (entry.value("objectID"), entry.value("objectIDs")) {
            (Some(id), None) => vec![object_id(&entry.at("objectID"), id)?],
            (None, Some(_)) => object_ids(&entry, most.group)?,
            (Some(_), Some(_)) | (None, None) => {
                let path = entry.path();
                return Err(Error::invalid(format!("{path} needs either objectID or objectIDs")));
            }
        };
        let position_path = entry.at("position");
        let position = lenient::count(&position_path, entry.required("position")?, 0, u64::from(u32::MAX))?;
        promotions.push(Promotion { object_ids, position });
    }
    let count: usize = promotions.iter().map(|promotion| promotion.object_ids.len()).sum();
    if count > most.promoted {
        return Err(Error::parameter(&path, &format!("at most {} records", most.promoted)));
    }
    Ok(promotions)
}

fn object_ids(entry: &Members, ids_max: usize) -> Result<Vec<ObjectId>> {
    let path = entry.at("objectIDs");
    let ids = entry.list("objectIDs", ids_max)?;
    if ids.is_empty() {
        return Err(Error::parameter(&path, "non-empty array"));
    }
    ids.iter().enumerate().map(|(i, id)| object_id(&format!("{path}[{i}]"), id)).collect()
}

fn object_id(path: &str, value: &Value) -> Result<ObjectId> {
    let id = match value {
        Value::String(id) => id.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => String::new(),
    };
    if id.is_empty() || id.len() > OBJECT_ID_BYTES_MAX {
        return Err(Error::parameter(path, &format!("objectID of 1 to {OBJECT_ID_BYTES_MAX} bytes")));
    }
    Ok(id)
}
