//! What does one element of `requests` ask for?

use crate::call::Call;
use crate::search::{Presentation, SearchRequest};
use quorate_model::error::shortened;
use quorate_model::recommend::least_score;
use quorate_model::{
    Candidates, Error, IndexName, RecommendModel, Recommendation, Result, SearchParams, limits,
};
use serde_json::{Map, Number, Value};

/// Members of parameters that say which hits make a page: here maxRecommendations does.
const PAGES: [&str; 4] = ["page", "hitsPerPage", "offset", "length"];

/// One request, checked.
#[derive(Clone, Debug)]
pub struct RecommendRequest {
    /// Of which index.
    pub index: IndexName,
    /// What; without candidates.
    pub asked: Recommendation,
    /// How it is shown.
    pub presentation: Presentation,
}

impl RecommendRequest {
    /// What selects records of the model, and of the fallback.
    pub fn parameters(&self) -> [Option<&SearchParams>; 2] {
        [Some(&self.asked.params), self.asked.fallback.as_deref()]
    }
    /// Reads the members of a request. Errors: `Invalid` for the first that is not as it has to be; `Forbidden`.
    pub async fn read(call: &Call<'_>, mut members: Map<String, Value>) -> Result<RecommendRequest> {
        let Some(Value::String(name)) = members.remove("indexName") else {
            return Err(Error::invalid("indexName is required in each request"));
        };
        let index = IndexName::new(&name)?;
        call.caller.check_index(index.as_str())?;
        let model = model(members.remove("model"))?;
        let threshold = least_score(threshold(members.remove("threshold"))?);
        let most = most(members.remove("maxRecommendations"))?;
        let object_id = match model.has_source() {
            true => Some(object_id(members.remove("objectID"))?),
            false => None,
        };
        let (facet_name, facet_value) = facet(model, &mut members)?;
        let mut selecting = parameters(&mut members, "queryParameters")?.unwrap_or_default();
        PAGES.iter().for_each(|name| drop(selecting.remove(*name)));
        let mut selecting = SearchRequest::of_members(call, selecting).await?;
        let most = without_pages(&mut selecting.params, most, call.read_rights().max_hits_per_query);
        let fallback = parameters(&mut members, "fallbackParameters")?;
        // clients of version 4 send that with every call for what is bought together, where callers cannot say it
        let fallback =
            fallback.filter(|members| model != RecommendModel::BoughtTogether || !members.is_empty());
        let fallback = match fallback {
            Some(fallback) => Some(SearchRequest::of_members(call, fallback).await?),
            None => None,
        };
        // clients send those that the model does not use, too
        for name in ["objectID", "facetName", "facetValue"] {
            members.remove(name);
        }
        if let Some(name) = members.keys().next() {
            return Err(Error::invalid(format!("Unknown parameter: {}", shortened(name))));
        }
        let presentation = Presentation::new(&mut selecting);
        let asked = Recommendation {
            model,
            object_id,
            facet_name,
            facet_value,
            threshold,
            most,
            params: selecting.params,
            fallback: fallback.map(|fallback| fallback.params),
            user: call.user()?,
            candidates: Candidates::default(),
        };
        Ok(RecommendRequest { index, asked, presentation })
    }
}

/// Takes out what says which hits make a page. How many hits the caller's key lets a page have is what it lets be recommended.
fn without_pages(params: &mut SearchParams, most: u64, max_hits_per_query: u64) -> u64 {
    let forced =
        params.forced.as_ref().and_then(|forced| forced.params.length.or(forced.params.hits_per_page));
    (params.page, params.hits_per_page, params.offset, params.length) = (None, None, None, None);
    let allowed = if max_hits_per_query == 0 { u64::MAX } else { max_hits_per_query };
    most.min(allowed).min(forced.unwrap_or(u64::MAX))
}

fn model(given: Option<Value>) -> Result<RecommendModel> {
    let name = match given {
        Some(Value::String(name)) => name,
        None | Some(Value::Null) => return Err(Error::invalid("model is required in each request")),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => String::new(),
    };
    RecommendModel::parse(&name).ok_or_else(|| {
        let names = RecommendModel::ALL.map(RecommendModel::name).join(", ");
        Error::parameter("model", &format!("one of {names}"))
    })
}

fn threshold(given: Option<Value>) -> Result<f64> {
    let number = match given {
        Some(Value::Number(number)) => number.as_f64(),
        None | Some(Value::Null) => return Err(Error::invalid("threshold is required in each request")),
        Some(Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => None,
    };
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| Error::parameter("threshold", "number between 0 and 100"))
}

/// How many are wanted: 0 is all there are.
fn most(given: Option<Value>) -> Result<u64> {
    let wrong = || {
        let expected = format!("integer between 0 and {}", limits::RECOMMENDATIONS_MAX);
        Error::parameter("maxRecommendations", &expected)
    };
    match given {
        None | Some(Value::Null) => Ok(limits::RECOMMENDATIONS_MAX),
        Some(Value::Number(number)) => match whole(&number) {
            Some(0) => Ok(limits::RECOMMENDATIONS_MAX),
            Some(most) if most <= limits::RECOMMENDATIONS_MAX => Ok(most),
            Some(_) | None => Err(wrong()),
        },
        Some(Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => Err(wrong()),
    }
}

/// A number that is whole, however it is written.
fn whole(number: &Number) -> Option<u64> {
    let is_whole = |number: &f64| number.fract() == 0.0 && (0.0..=1e15).contains(number);
    number.as_u64().or_else(|| number.as_f64().filter(is_whole).map(|number| number as u64))
}

fn object_id(given: Option<Value>) -> Result<String> {
    let text = match given {
        Some(Value::String(text)) => text,
        Some(Value::Number(number)) => number.to_string(),
        None | Some(Value::Null) => {
            return Err(Error::invalid("objectID is required in each request of this model"));
        }
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => String::new(),
    };
    match (1..=limits::OBJECT_ID_BYTES_MAX).contains(&text.len()) {
        true => Ok(text),
        false => {
            let expected = format!("string of 1 to {} bytes", limits::OBJECT_ID_BYTES_MAX);
            Err(Error::parameter("objectID", &expected))
        }
    }
}

/// The facet and the value of it, as far as the model knows them.
fn facet(
    model: RecommendModel,
    members: &mut Map<String, Value>,
) -> Result<(Option<String>, Option<String>)> {
    let mut text = |name: &str| match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= limits::QUERY_BYTES_MAX => Ok(Some(text)),
        Some(_) => {
            Err(Error::parameter(name, &format!("string of at most {} bytes", limits::QUERY_BYTES_MAX)))
        }
    };
    match model {
        RecommendModel::TrendingFacets => match text("facetName")? {
            Some(name) => Ok((Some(name), None)),
            None => Err(Error::invalid("facetName is required in each request of the model trending-facets")),
        },
        RecommendModel::TrendingItems => match (text("facetName")?, text("facetValue")?) {
            (Some(_), None) => Err(Error::invalid("facetValue is required where facetName is given")),
            (None, Some(_)) => Err(Error::invalid("facetName is required where facetValue is given")),
            both => Ok(both),
        },
        RecommendModel::RelatedProducts | RecommendModel::BoughtTogether | RecommendModel::LookingSimilar => {
            Ok((None, None))
        }
    }
}

fn parameters(members: &mut Map<String, Value>, name: &str) -> Result<Option<Map<String, Value>>> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(parameters)) => Ok(Some(parameters)),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(Error::parameter(name, "object of search parameters"))
        }
    }
}
