//! How are several queries answered in one call (C§3.3, C§3.4)?

use super::facet::FacetAsked;
use super::several::{self, Bodies, Body, check_time, requests};
use super::{AnswerMembers, Presentation, SearchRequest, search, settings_of};
use crate::call::Call;
use crate::reply::Reply;
use quorate_cluster::ReadRights;
use quorate_model::{Error, ErrorKind, IndexName, Result, SearchParams};
use quorate_wire::FacetBody;
use quorate_wire::search::write_unprocessed;
use serde_json::{Map, Value};

/// What the answer to a query that was left out says of an index that is not there.
const HITS_PER_PAGE: u64 = 20;

/// Which queries are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    None,
    StopIfEnoughMatches,
}

/// One element of `requests`.
#[derive(Clone, Debug)]
enum MultiRequest {
    Hits(SearchRequest),
    Facet(FacetAsked),
}
fn parameters_of((_, wanted): &(IndexName, MultiRequest)) -> [Option<&SearchParams>; 2] {
    let params = match wanted {
        MultiRequest::Hits(asked) => &*asked.params,
        MultiRequest::Facet(asked) => asked.params(),
    };
    [Some(params), None]
}
/// An answered element.
struct Answered {
    body: Vec<u8>,
    /// Whether it returned as many hits as it asked for.
    is_full: bool,
}

/// `POST /1/indexes/*/queries`.
pub async fn post(call: &Call<'_>) -> Result<Reply> {
    let body: Body = match call.body.trim_ascii().is_empty() {
        true => Body::default(),
        false => call.typed().await?,
    };
    let strategy = Strategy::read(body.strategy.as_ref(), call)?;
    let elements = requests(body.requests)?;
    let queries =
        several::read(call, elements, async |members| read(call, members).await, parameters_of).await?;
    for (index, wanted) in &queries {
        let user_token = match wanted {
            MultiRequest::Hits(asked) => asked.params.user_token.as_deref(),
            MultiRequest::Facet(_) => None,
        };
        call.note.asks(index, user_token);
    }
    let bodies = match strategy {
        Strategy::None => {
            let run = async |number, (index, wanted), bytes_max| {
                Ok(run(call, number, index, wanted, None, bytes_max).await?.body)
            };
            several::in_order(call, &queries, run).await?
        }
        Strategy::StopIfEnoughMatches => one_by_one(call, queries).await?,
    };
    bodies.into_reply().await
}

impl Strategy {
    fn read(given: Option<&Value>, call: &Call<'_>) -> Result<Self> {
        let given = match given {
            None | Some(Value::Null) => call.query.get("strategy").map(|text| text.into_owned()),
            Some(value) => Some(value.as_str().unwrap_or("?").to_owned()),
        };
        match given.as_deref() {
            None | Some("" | "none") => Ok(Strategy::None),
            Some("stopIfEnoughMatches") => Ok(Strategy::StopIfEnoughMatches),
            Some(_) => Err(Error::parameter("strategy", "none or stopIfEnoughMatches")),
        }
    }
}

async fn read(call: &Call<'_>, mut members: Map<String, Value>) -> Result<(IndexName, MultiRequest)> {
    let Some(Value::String(name)) = members.remove("indexName") else {
        return Err(Error::invalid("indexName is required in each query"));
    };
    let index = IndexName::new(&name)?;
    call.caller.check_index(index.as_str())?;
    let kind = members.remove("type");
    match kind.as_ref().map(Value::as_str) {
        None | Some(Some("default")) => {
            Ok((index, MultiRequest::Hits(SearchRequest::of_members(call, members).await?)))
        }
        Some(Some("facet")) => {
            let Some(Value::String(facet)) = members.remove("facet") else {
                return Err(Error::invalid("facet is required in a query of type facet"));
            };
            Ok((index, MultiRequest::Facet(FacetAsked::of_members(call, &facet, members).await?)))
        }
        Some(_) => Err(Error::parameter("type", "default or facet")),
    }
}

async fn run(
    call: &Call<'_>,
    number: usize,
    index: IndexName,
    wanted: MultiRequest,
    processed: Option<bool>,
    bytes_max: usize,
) -> Result<Answered> {
    check_time(call.started.elapsed())?;
    let rights = ReadRights { bytes_max: bytes_max.max(1), ..call.read_rights() };
    match wanted {
        MultiRequest::Hits(mut asked) => {
            let presentation = Presentation::new(&mut asked);
            let results = search(call, &index, asked.params, rights).await?;
            let wanted = results.window.map_or(results.hits_per_page, |(_, length)| length);
            let place = AnswerMembers { query: number, index: Some(index.as_str()), processed, cursor: None };
            let is_full = results.hits.len() as u64 >= wanted;
            let body = presentation.answer(call, &index, results, place).await?;
            Ok(Answered { body, is_full })
        }
        MultiRequest::Facet(asked) => {
            let (wanted, message) = (asked.hits_max(), asked.message());
            let results = asked.run(call, &index, rights).await?;
            let mut body = Vec::with_capacity(512);
            let facets = FacetBody {
                results: &results,
                processing_time_ms: call.elapsed_ms(),
                index: Some(index.as_str()),
                processed,
                message: message.as_deref(),
            };
            facets.write(&mut body);
            Ok(Answered { body, is_full: results.hits.len() as u64 >= wanted })
        }
    }
}

/// Runs each query only if all before it returned fewer hits than they asked for (C§3.4).
async fn one_by_one(call: &Call<'_>, queries: Vec<(IndexName, MultiRequest)>) -> Result<Bodies> {
    let mut bodies = Bodies::of(call);
    let mut enough = false;
    for (number, (index, wanted)) in queries.into_iter().enumerate() {
        if enough {
            bodies.push(left_out(call, &index, &wanted).await?)?;
            continue;
        }
        let answered = run(call, number, index, wanted, Some(true), bodies.left()).await?;
        enough = answered.is_full;
        bodies.push(answered.body)?;
    }
    Ok(bodies)
}

/// What stands for the answer to a query that was not run.
async fn left_out(call: &Call<'_>, index: &IndexName, wanted: &MultiRequest) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(192);
    match wanted {
        MultiRequest::Hits(SearchRequest { params, echo, .. }) => {
            let hits_per_page = match params.length.or(params.hits_per_page) {
                Some(asked) => asked,
                None => hits_per_page_of(call, index).await?,
            };
            let query = params.query.as_deref().unwrap_or("");
            write_unprocessed(&mut out, index.as_str(), query, echo, hits_per_page);
        }
        MultiRequest::Facet(_) => {
            let results = Default::default();
            let index = Some(index.as_str());
            FacetBody {
                results: &results,
                processing_time_ms: 0,
                index,
                processed: Some(false),
                message: None,
            }
            .write(&mut out);
        }
    }
    Ok(out)
}

/// Hits a page of the index has when the request does not say.
async fn hits_per_page_of(call: &Call<'_>, index: &IndexName) -> Result<u64> {
    match settings_of(call, index).await {
        Ok(settings) => Ok(settings.effective(&SearchParams::default()).hits_per_page),
        Err(missing) if missing.kind == ErrorKind::NotFound => Ok(HITS_PER_PAGE),
        Err(other) => Err(other),
    }
}
