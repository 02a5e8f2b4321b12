//! Which values of a facet match a text (C§8.3)?

use super::SearchRequest;
use crate::away::away_if_long;
use crate::call::Call;
use crate::parse;
use crate::reply::Reply;
use quorate_cluster::ReadRights;
use quorate_model::{Error, FacetHits, IndexName, Result, SearchParams, limits};
use quorate_wire::FacetBody;
use serde_json::{Map, Value};

/// `POST /1/indexes/{indexName}/facets/{facetName}/query`.
pub async fn post(call: &Call<'_>) -> Result<Reply> {
    let index = call.index_name()?;
    let (facet_query, members) = FacetAsked::text_of(call, &call.names[1], call.object().await?).await?;
    let asked = SearchRequest::of_members(call, members).await?;
    let asked = FacetAsked { facet: call.names[1].to_string(), facet_query, asked };
    let message = asked.message();
    let results = asked.run(call, &index, call.read_rights()).await?;
    let mut out = Vec::with_capacity(1_024);
    let facets = FacetBody {
        results: &results,
        processing_time_ms: call.elapsed_ms(),
        index: None,
        processed: None,
        message: message.as_deref(),
    };
    facets.write(&mut out);
    Ok(Reply::ok(out))
}

/// A facet search, from its own endpoint or from a multi-query.
#[derive(Clone, Debug)]
pub struct FacetAsked {
    facet: String,
    facet_query: String,
    asked: SearchRequest,
}

impl FacetAsked {
    /// What selects the records that count.
    pub fn params(&self) -> &SearchParams {
        &self.asked.params
    }
    /// From the members of a query of several.
    pub async fn of_members(call: &Call<'_>, facet: &str, members: Map<String, Value>) -> Result<Self> {
        let (facet_query, members) = FacetAsked::text_of(call, facet, members).await?;
        let asked = SearchRequest::of_members(call, members).await?;
        Ok(FacetAsked { facet: facet.to_owned(), facet_query, asked })
    }
    /// Takes the text to look for out of the members; the others select the records that count.
    async fn text_of(
        call: &Call<'_>,
        facet: &str,
        mut members: Map<String, Value>,
    ) -> Result<(String, Map<String, Value>)> {
        if facet.len() > limits::QUERY_BYTES_MAX {
            return Err(Error::parameter("facet", "string shorter than 512 bytes"));
        }
        let direct = members.remove("facetQuery");
        let facet_query = match direct {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => {
                let embedded;
                (embedded, members) = taken_out(call, members, "facetQuery").await?;
                embedded.unwrap_or_default()
            }
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
                return Err(Error::parameter("facetQuery", "string"));
            }
        };
        let forced = call.caller.forced_parameters().remove("facetQuery");
        let facet_query = forced.as_ref().and_then(Value::as_str).map_or(facet_query, str::to_owned);
        if facet_query.len() > limits::QUERY_BYTES_MAX {
            return Err(Error::parameter("facetQuery", "string shorter than 512 bytes"));
        }
        Ok((facet_query, members))
    }
    /// Values wanted at most.
    pub fn hits_max(&self) -> u64 {
        const DEFAULT: u64 = 10;
        self.asked.params.max_facet_hits.unwrap_or(DEFAULT)
    }
    /// What the answer says about parameters that cannot act.
    pub fn message(&self) -> Option<String> {
        self.asked.message.clone()
    }
    /// Asks the service.
    pub async fn run(self, call: &Call<'_>, index: &IndexName, rights: ReadRights) -> Result<FacetHits> {
        let (facet, facet_query) = (self.facet, self.facet_query);
        let search = async |index: &IndexName, params: Box<SearchParams>| {
            call.service().search_facet(index, &facet, &facet_query, params, rights).await
        };
        call.read(index, self.asked.params, search).await
    }
}

/// Takes a member out of the URL-encoded `params` text of members, out of a long one on another thread.
pub async fn taken_out(
    call: &Call<'_>,
    mut members: Map<String, Value>,
    name: &'static str,
) -> Result<(Option<String>, Map<String, Value>)> {
    let bytes = if parse::is_long(&members) { call.body.len() } else { 0 };
    let take = move || Ok((take_embedded(&mut members, name), members));
    away_if_long(bytes, take).await
}
fn take_embedded(members: &mut Map<String, Value>, name: &str) -> Option<String> {
    let text = members.get("params")?.as_str()?;
    if !text.contains(name) {
        return None;
    }
    let mut found = None;
    let mut rest = form_urlencoded::Serializer::new(String::new());
    for (key, value) in form_urlencoded::parse(text.as_bytes()) {
        if key == name {
            found = Some(value.into_owned());
        } else {
            rest.append_pair(&key, &value);
        }
    }
    let rest = rest.finish();
    members.insert("params".to_owned(), Value::String(rest));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn embedded_members_are_taken_out() {
        let Value::Object(mut members) = json!({"params": "facetQuery=a+b&filters=x%3Ay", "query": "q"})
        else {
            unreachable!("an object was written")
        };
        assert_eq!(take_embedded(&mut members, "facetQuery").as_deref(), Some("a b"));
        assert_eq!(Value::Object(members.clone()), json!({"params": "filters=x%3Ay", "query": "q"}));
        assert_eq!(take_embedded(&mut members, "facetQuery"), None);
    }
}
