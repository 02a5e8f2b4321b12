//! How do search-like calls become parameters, and results become bodies (C§2)?

pub mod browse;
mod counted;
pub mod cursor;
pub mod explain;
pub mod facet;
mod ids;
pub mod multi;
pub mod query;
mod read;
pub mod several;

use crate::auth::Caller;
use crate::away::{ON_ARBITER_BYTES_MAX, away_if_long};
use crate::call::Call;
use actix_web::http::header::HeaderName;
use explain::Explained;
use quorate_cluster::{Payer, ReadRights};
use quorate_model::event::search::SHOWN_MAX;
use quorate_model::event::{QueryId, with_ids_alone};
use quorate_model::params::Forced;
use quorate_model::{Error, Filter, IndexName, Result, SearchParams, SearchResults, Settings, UserId};
use quorate_wire::SearchBody;
use read::Read;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// What a caller asks of one index, with what its key forces.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Parameters to search with: a thousand bytes, which each step on the way to the index would move otherwise.
    pub params: Box<SearchParams>,
    /// What the caller sent, URL-encoded; nothing its key forces shows here.
    pub echo: Arc<str>,
    /// Who gave which parameters, when the caller wants to know.
    pub explained: Option<Explained>,
    /// What the answer says about parameters that cannot act.
    pub message: Option<String>,
    /// What is kept of it, if it is counted.
    pub counted: Option<counted::Counting>,
}

/// What an answer says when aroundLatLngViaIP finds no centre.
const NO_LOCATIONS: &str =
    "aroundLatLngViaIP has no effect: this service has no places of addresses (option ip-locations)";
const NO_LOCATION: &str = "aroundLatLngViaIP has no effect: the place of the caller's address is not known";

/// What is kept and has no effect, when it asks for one: by its name, the value that does.
const WITHOUT_EFFECT: [(&str, fn(&Value) -> bool); 6] = [
    ("enablePersonalization", |value| *value == Value::Bool(true)),
    ("personalizationImpact", |value| value.as_u64() > Some(0)),
    ("enableReRanking", |value| *value == Value::Bool(true)),
    ("reRankingApplyFilter", |value| !value.is_null()),
    ("mode", |value| value.as_str() == Some("neuralSearch")),
    ("semanticSearch", |value| value.as_object().is_some_and(|members| !members.is_empty())),
];

/// What an answer says of parameters of its request that have no effect; `located` is said of the caller's place.
fn without_effect(params: &SearchParams, located: Option<&'static str>) -> Option<String> {
    let asks = |(name, asks): &&(&str, fn(&Value) -> bool)| params.other.get(*name).is_some_and(asks);
    let names: Vec<&str> = WITHOUT_EFFECT.iter().filter(asks).map(|(name, _)| *name).collect();
    let kept = (!names.is_empty()).then(|| {
        let verb = if names.len() == 1 { "has" } else { "have" };
        format!(
            "{} {verb} no effect: this service does not personalize, re-rank or search by vectors",
            names.join(" and ")
        )
    });
    match (kept, located) {
        (Some(kept), Some(located)) => Some(format!("{kept}; {located}")),
        (kept, located) => kept.or_else(|| located.map(str::to_owned)),
    }
}

/// Puts the caller's place in as the centre where it is asked for and none is given (C§4.7).
fn locate(call: &Call<'_>, params: &mut SearchParams) -> Option<&'static str> {
    let is_wanted = params.other.get("aroundLatLngViaIP") == Some(&Value::Bool(true));
    if !is_wanted || params.has_place() {
        return None;
    }
    let Some(locations) = call.state.locations() else { return Some(NO_LOCATIONS) };
    params.around_lat_lng = call.address.and_then(|address| locations.place_of(address));
    params.around_lat_lng.is_none().then_some(NO_LOCATION)
}
/// Whether the key forces the place of the caller, in front of all others.
fn forces_own_place(params: &SearchParams) -> bool {
    let forced = params.forced.as_ref().map(|forced| &forced.params);
    forced.is_some_and(|forced| {
        forced.other.get("aroundLatLngViaIP") == Some(&Value::Bool(true)) && !forced.has_place()
    })
}

impl SearchRequest {
    /// From the members that are the body, or were taken out of it.
    pub async fn of_members(call: &Call<'_>, members: Map<String, Value>) -> Result<Self> {
        SearchRequest::new(call, Read::of_members(call, members).await?)
    }
    /// From the pairs of a query string.
    pub fn of_pairs(call: &Call<'_>, pairs: &[(Cow<'_, str>, Cow<'_, str>)]) -> Result<Self> {
        SearchRequest::new(call, Read::of_pairs(call, pairs)?)
    }

    fn new(call: &Call<'_>, Read { mut params, echo, explained }: Read) -> Result<Self> {
        let counted = counted::Counting::of(&params);
        params = forced(&call.caller, params, user_token(call).as_deref())?;
        let is_own_place = forces_own_place(&params);
        if is_own_place {
            params.take_places(&SearchParams::default());
        }
        let located = locate(call, &mut params);
        if let Some(forced) = params.forced.as_mut().filter(|_| is_own_place) {
            Arc::make_mut(forced).params.around_lat_lng = params.around_lat_lng;
        }
        let message = without_effect(&params, located);
        // nothing else looks at what is kept without effect, and there are copies of the parameters wherever a search goes
        params.other.retain(|_, value| !value.is_object() && !value.is_array());
        let counted = counted.map(|counted| counted.by(params.user_token.as_deref()));
        if let Some(user) = call.user()? {
            show_to(&user, &mut params);
        }
        Ok(SearchRequest { params, echo, explained, message, counted })
    }
}

/// Lets a user see the own records and the public ones (C§15). No rule changes that.
fn show_to(user: &UserId, params: &mut SearchParams) {
    let mut forced = params.forced.take().map_or_else(Forced::default, |forced| (*forced).clone());
    let seen = Filter::seen_by(user);
    params.filter = std::mem::take(&mut params.filter).meant_by(user).and(seen.clone());
    forced.filter = forced.filter.meant_by(user).and(seen);
    params.forced = Some(Arc::new(forced));
}

/// Adds the filters and the user a key forces; the other forced parameters are in `params` already (C§13.3). All of them
/// are kept apart, too: rules do not override them.
fn forced(
    caller: &Caller,
    mut params: Box<SearchParams>,
    header_token: Option<&str>,
) -> Result<Box<SearchParams>> {
    if params.user_token.is_none() {
        params.user_token = header_token.map(str::to_owned);
    }
    if caller.restrictions().is_empty() {
        return Ok(params);
    }
    if params.user_token.is_none() {
        params.user_token = caller.user_token().map(str::to_owned);
    }
    let mut forced = Forced { filter: forced_filter(caller)?, ..Forced::default() };
    params.filter = std::mem::take(&mut params.filter).and(forced.filter.clone());
    forced.params = SearchParams::from_json(&caller.forced_parameters())?;
    params.forced = Some(Arc::new(forced));
    params.keep_forced();
    Ok(params)
}

/// What the records that the caller's key shows have to pass. Errors: `Invalid` when the key's filters cannot be read.
pub fn forced_filter(caller: &Caller) -> Result<Filter> {
    let mut filters = caller.restrictions().iter().map(|restrictions| restrictions.filter());
    filters.try_fold(Filter::default(), |all, filter| Ok(all.and(filter?.clone())))
}

/// Who searches, where the parameters do not say so: `userToken` of the query string, the header, or its name in the query string, where
/// browsers put what would be a header (C§1.1, C§18.3).
fn user_token<'a>(call: &Call<'a>) -> Option<Cow<'a, str>> {
    const TOKEN_BYTES_MAX: usize = 129;
    const USER_TOKEN: HeaderName = HeaderName::from_static("x-algolia-usertoken");
    let in_url = |name: &'static str| call.query.all_any_case(name).find(|token| !token.is_empty());
    let header = || call.headers.get(USER_TOKEN).and_then(|token| token.to_str().ok()).map(Cow::Borrowed);
    let token = in_url("userToken").or_else(header).or_else(|| in_url("x-algolia-usertoken"))?;
    (token.len() <= TOKEN_BYTES_MAX).then_some(token)
}

/// What the body of an answer needs to know of its request once the parameters have gone to the service.
#[derive(Clone, Debug)]
pub struct Presentation {
    echo: Arc<str>,
    message: Option<String>,
    response_fields: Option<Vec<String>>,
    rendering_content: Option<Arc<Value>>,
    click_analytics: bool,
    explained: Option<Explained>,
    explain: Vec<String>,
    counted: Option<counted::Counting>,
}

impl Presentation {
    /// Takes what the request says about the answer.
    pub fn new(asked: &mut SearchRequest) -> Self {
        let params = &asked.params;
        Presentation {
            echo: asked.echo.clone(),
            message: asked.message.take(),
            response_fields: params.response_fields.clone(),
            rendering_content: params.rendering_content.clone(),
            click_analytics: params.click_analytics == Some(true),
            explained: asked.explained.take(),
            explain: params.explain.clone().unwrap_or_default(),
            counted: asked.counted.take(),
        }
    }

    /// Writes the answer to a search of an index, which is counted. Errors: as of [`Self::body`].
    pub async fn answer(
        mut self,
        call: &Call<'_>,
        index: &IndexName,
        results: SearchResults,
        place: AnswerMembers<'_>,
    ) -> Result<Vec<u8>> {
        let query_id = self.query_id(call, &results, place);
        let counted = self.counted.take();
        let (body, results) = self.body(call, results, place, query_id).await?;
        if let Some(counted) = counted {
            counted.note(call, index, &results, query_id);
        }
        Ok(body)
    }
    /// What events name the search by, if they are to.
    pub fn query_id(
        &self,
        call: &Call<'_>,
        results: &SearchResults,
        place: AnswerMembers<'_>,
    ) -> Option<QueryId> {
        let click_analytics = results.rules.click_analytics.unwrap_or(self.click_analytics);
        let query_id = click_analytics.then(ids::new)?;
        call.note.answers_as(place.query, &query_id.to_string());
        Some(query_id)
    }

    /// Writes an answer, and gives back what it was made of; of long hits the
    /// ids of the first alone. Errors: `Unavailable` when others hold all there is for answers, or the node stops meanwhile.
    pub async fn body(
        self,
        call: &Call<'_>,
        results: SearchResults,
        place: AnswerMembers<'_>,
        query_id: Option<QueryId>,
    ) -> Result<(Vec<u8>, SearchResults)> {
        let facts = Facts {
            processing_time_ms: call.elapsed_ms(),
            query_id: query_id.map(|query_id| query_id.to_string()),
            server: results.parsed_query.is_some().then(|| call.service().node_name()),
        };
        let bytes = results.hits.json.len();
        if bytes <= ON_ARBITER_BYTES_MAX {
            let mut out = vec![];
            self.write(&results, place, &facts, |body| body.write(&mut out));
            return Ok((out, results));
        }
        // charged as the answer that it becomes, since others may be written first
        let mut held = call.state.answers().enter(Payer::current());
        held.grow(bytes)?;
        let AnswerMembers { query, index, processed, cursor } = place;
        let (index, cursor) = (index.map(str::to_owned), cursor.map(str::to_owned));
        let mut results = results;
        let write = move || {
            let _held = held;
            let place =
                AnswerMembers { query, index: index.as_deref(), processed, cursor: cursor.as_deref() };
            let hits = std::mem::take(&mut results.hits);
            let ids = with_ids_alone(&hits, SHOWN_MAX);
            let out = self.write(&results, place, &facts, |body| body.around(hits));
            Ok((out, SearchResults { hits: ids, ..results }))
        };
        // hardly ever, and the future of every search would be as large as this
        Box::pin(away_if_long(bytes, write)).await
    }
    fn write<T>(
        &self,
        results: &SearchResults,
        place: AnswerMembers<'_>,
        facts: &Facts,
        write: impl FnOnce(SearchBody<'_>) -> T,
    ) -> T {
        let of_index = results.settings.as_ref();
        let response_fields = self.response_fields.as_ref();
        let response_fields = response_fields.or_else(|| of_index?.response_fields.as_ref());
        let rendering_content = self.rendering_content.as_ref();
        let rendering_content = rendering_content.or_else(|| of_index?.rendering_content.as_ref());
        let rendering_content = rendering_content.map(|content| content.to_string());
        let explained = self.explained.as_ref();
        let explained_params =
            explained.and_then(|explained| explained.params(&self.explain, &results.rules));
        write(SearchBody {
            results,
            params: &self.echo,
            processing_time_ms: facts.processing_time_ms,
            index: place.index,
            processed: place.processed,
            query_id: facts.query_id.as_deref(),
            explained_params: explained_params.as_ref(),
            server: facts.server.as_deref(),
            message: self.message.as_deref(),
            cursor: place.cursor,
            response_fields: response_fields.map(Vec::as_slice),
            rendering_content: rendering_content.as_deref().map(str::as_bytes),
        })
    }
}

/// What an answer says of its call.
struct Facts {
    processing_time_ms: u64,
    query_id: Option<String>,
    server: Option<String>,
}

/// A whole answer, whose hits are within bounds already; facets may not be. Errors: `Invalid` when it is too large.
fn bounded(call: &Call<'_>, body: Vec<u8>) -> Result<Vec<u8>> {
    let bytes_max = call.state.limits().answer_bytes_max;
    // what stands around the hits is not what makes an answer large
    match body.len() <= bytes_max.saturating_add(AROUND_HITS_BYTES) {
        true => Ok(body),
        false => Err(Error::invalid(format!(
            "The answer is too big: it may have {bytes_max} bytes. Ask for fewer facets, for fewer values with maxValuesPerFacet, or for \
             fewer hits with hitsPerPage"
        ))),
    }
}
/// Bytes of an answer beside its hits and facets.
const AROUND_HITS_BYTES: usize = 64 << 10;

/// Where an answer stands: members that only some endpoints add.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswerMembers<'a> {
    /// Which query of its call it is.
    pub query: usize,
    /// Index name, in multi-query answers.
    pub index: Option<&'a str>,
    /// Under stopIfEnoughMatches.
    pub processed: Option<bool>,
    /// Of a browse.
    pub cursor: Option<&'a str>,
}

/// Settings of the index. Errors: `NotFound`.
pub async fn settings_of(call: &Call<'_>, index: &IndexName) -> Result<Arc<Settings>> {
    call.read(index, (), async |index: &IndexName, ()| call.service().settings(index).await).await
}

/// Runs one query. Errors: those of the service's search.
async fn search(
    call: &Call<'_>,
    index: &IndexName,
    params: Box<SearchParams>,
    rights: ReadRights,
) -> Result<SearchResults> {
    let search = async |index: &IndexName, params: Box<SearchParams>| {
        call.service().search(index, params, rights).await
    };
    call.read(index, params, search).await
}
