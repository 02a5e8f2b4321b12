//! How is a whole index read, page by page (C§8.8)?

use super::cursor::Cursor;
use super::{AnswerMembers, Presentation, SearchRequest};
use crate::call::Call;
use crate::reply::Reply;
use crate::search::facet::taken_out;
use quorate_model::{Error, IndexName, Result, SearchParams, level, limits};
use serde_json::{Map, Value};

/// `POST /1/indexes/{indexName}/browse`.
pub async fn post(call: &Call<'_>) -> Result<Reply> {
    let mut members = call.object().await?;
    let direct = members.remove("cursor");
    let (embedded, members) = taken_out(call, members, "cursor").await?;
    let text = match direct {
        Some(Value::String(text)) => Some(text),
        Some(Value::Null) | None => embedded,
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(Error::parameter("cursor", "string"));
        }
    };
    answer(call, members, text).await
}

/// `GET /1/indexes/{indexName}/browse`.
pub async fn get(call: &Call<'_>) -> Result<Reply> {
    let (mut members, mut cursor) = (Map::new(), None);
    for (name, value) in call.query.pairs() {
        if name == "cursor" {
            cursor = Some(value.into_owned());
        } else if name == "params" || quorate_model::settings::table::lookup(&name).is_some() {
            members.insert(name.into_owned(), Value::String(value.into_owned()));
        }
    }
    answer(call, members, cursor).await
}

async fn answer(call: &Call<'_>, mut members: Map<String, Value>, text: Option<String>) -> Result<Reply> {
    let index = call.index_name()?;
    let cursor = match text.filter(|text| !text.is_empty()) {
        Some(text) => Some(Cursor::decode(&text, &index)?),
        None => None,
    };
    let at = match cursor {
        None => None,
        Some(cursor) => {
            // A follow-up call that repeats parameters may change them; others go on as before.
            if let Some(Value::String(repeated)) = members.get("params") {
                let repeated = repeated.clone();
                for (name, value) in form_urlencoded::parse(repeated.as_bytes()) {
                    members.entry(name).or_insert_with(|| Value::String(value.into_owned()));
                }
                members.remove("params");
            }
            let kept = not_repeated(cursor.params, &members);
            members.entry("params").or_insert(Value::String(kept));
            Some(Place { page: cursor.page, order: cursor.order, after: cursor.after })
        }
    };
    let mut asked = SearchRequest::of_members(call, members).await?;
    if *asked.params.hits_per_page.get_or_insert(limits::HITS_PER_PAGE_MAX) == 0 {
        // such a page has no end to go on from: it would look like an empty index
        let form = format!("integer between 1 and {}", limits::HITS_PER_PAGE_MAX);
        return Err(Error::parameter("hitsPerPage", &form));
    }
    let presentation = Presentation::new(&mut asked);
    page(call, &index, asked, presentation, at).await
}

/// The parameters of earlier calls without those that this one gives anew: beside them they would stand in every cursor once more.
fn not_repeated(params: String, given: &Map<String, Value>) -> String {
    let pairs = || form_urlencoded::parse(params.as_bytes());
    if !pairs().any(|(name, _)| given.contains_key(&*name)) {
        return params;
    }
    let kept = pairs().filter(|(name, _)| !given.contains_key(&**name));
    form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish()
}

/// Where a page begins.
struct Place {
    page: u64,
    /// The order that the pages before had.
    order: Option<u32>,
    after: Vec<u8>,
}

async fn page(
    call: &Call<'_>,
    index: &IndexName,
    asked: SearchRequest,
    presentation: Presentation,
    at: Option<Place>,
) -> Result<Reply> {
    let rights = call.read_rights();
    let browse = async |index: &IndexName, (params, after): (Box<SearchParams>, _)| {
        call.service().browse(index, params, after, rights).await
    };
    let (begins, after) = at.map(|Place { page, order, after }| ((page, order), after)).unzip();
    let mut results = call.read(index, (asked.params, after), browse).await?;
    if let Some((page, order)) = begins {
        if order.is_some() && results.order.is_some() && order != results.order {
            return Err(Error::parameter(
                "cursor",
                "no cursor: the order of records has changed, begin anew",
            ));
        }
        results.page = page;
    }
    let order = results.order.filter(|_| call.service().is_level(level::ORDERED_CURSORS));
    let next = results.cursor.as_ref().map(|after| {
        let (params, page) = (presentation.echo.to_string(), results.page.saturating_add(1));
        Cursor { params, page, order, after: after.clone() }.encode(index)
    });
    let place = AnswerMembers { cursor: next.as_deref(), ..AnswerMembers::default() };
    let query_id = presentation.query_id(call, &results, place);
    Ok(Reply::ok(presentation.body(call, results, place, query_id).await?.0))
}
