//! What do the searches of an index look like (C§18.5)?

use crate::call::Call;
use crate::reply::Reply;
use quorate_cluster::{counted_query, rfc3339, unix_ms};
use quorate_model::analytics::{DAYS_MAX, Day, LIMIT, LIMIT_MAX, Order, ReportQuery, TagFilter};
use quorate_model::{Error, IndexName, Result, limits};
use quorate_wire::analytics::{Detail, Endpoint, figures_body, status_body};

/// Days of a range when it is not said: today and the seven days before.
const DAYS_BEFORE: u32 = 7;
/// Days whose searches are kept, and one more.
const KEPT_DAYS: u32 = 91;

/// `GET /2/…`: figures of an index.
pub async fn get(call: &Call<'_>, endpoint: Endpoint) -> Result<Reply> {
    let index = index(call)?;
    let detail =
        match (call.query.flag("revenueAnalytics", false)?, call.query.flag("clickAnalytics", false)?) {
            (true, _) => Detail::Revenue,
            (false, true) => Detail::Clicks,
            (false, false) => Detail::None,
        };
    let by = endpoint.by(call.names.first().map_or("", |attribute| attribute));
    let order = order(call)?;
    let asked = ReportQuery {
        days: days(call, Day::of(unix_ms()))?,
        tags: tags(call)?,
        search: search(call)?,
        with_events: endpoint.needs_events() || detail > Detail::None || order != Order::Searches,
        by,
        order,
        ascending: is_ascending(call)?,
        offset: offset(call)?,
        limit: limit(call)?,
    };
    let report = call.service().report(&index, asked).await?;
    Ok(Reply::ok(figures_body(endpoint, &report, detail)))
}

/// `GET /2/status`: figures are of this moment, if there are any.
pub async fn status(call: &Call<'_>) -> Result<Reply> {
    let (index, now_ms) = (index(call)?, unix_ms());
    let today = Day::of(now_ms);
    let asked =
        ReportQuery { days: (Day(today.0.saturating_sub(KEPT_DAYS)), today), ..ReportQuery::default() };
    let report = call.service().report(&index, asked).await?;
    let updated_at = (report.total.searches > 0).then(|| rfc3339(now_ms));
    Ok(Reply::ok(status_body(updated_at.as_deref())))
}

fn index(call: &Call<'_>) -> Result<IndexName> {
    let name = call.query.get("index").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Error::invalid("index is required: the name of an index"))?;
    call.caller.check_index(&name)?;
    let named = |error: Error| Error::invalid(error.message.replacen("indexName", "index", 1));
    let index = IndexName::new(&name).map_err(named)?;
    call.note.about(&index);
    Ok(index)
}

fn days(call: &Call<'_>, today: Day) -> Result<(Day, Day)> {
    let day = |name| match call.query.get(name).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => match Day::parse(&text) {
            Some(day) => Ok(Some(day)),
            None => Err(Error::parameter(name, "a day as YYYY-MM-DD")),
        },
    };
    let last = day("endDate")?.unwrap_or(today);
    let first = day("startDate")?.unwrap_or(Day(last.0.saturating_sub(DAYS_BEFORE)));
    if first > last {
        return Err(Error::parameter("startDate", "a day that is not after endDate"));
    }
    if last.0 - first.0 >= DAYS_MAX {
        return Err(Error::parameter("startDate", &format!("at most {DAYS_MAX} days up to endDate")));
    }
    Ok((first, last))
}

/// The query whose figures are asked for, in the form in which queries are counted.
fn search(call: &Call<'_>) -> Result<Option<String>> {
    let Some(search) = call.query.get("search") else { return Ok(None) };
    match search.len() <= limits::QUERY_BYTES_MAX {
        true => Ok(Some(counted_query(&search))),
        false => {
            let expected = format!("string of at most {} bytes", limits::QUERY_BYTES_MAX);
            Err(Error::parameter("search", &expected))
        }
    }
}

fn tags(call: &Call<'_>) -> Result<Option<String>> {
    let Some(tags) = call.query.get("tags").filter(|tags| !tags.is_empty()) else { return Ok(None) };
    match TagFilter::parse(&tags) {
        Ok(_) => Ok(Some(tags.into_owned())),
        Err(expected) => Err(Error::parameter("tags", &expected)),
    }
}

fn order(call: &Call<'_>) -> Result<Order> {
    match call.query.get("orderBy").as_deref() {
        None | Some("" | "searchCount") => Ok(Order::Searches),
        Some("clickThroughRate") => Ok(Order::ClickThroughRate),
        Some("conversionRate") => Ok(Order::ConversionRate),
        Some("averageClickPosition") => Ok(Order::AverageClickPosition),
        Some(_) => Err(Error::parameter(
            "orderBy",
            "searchCount, clickThroughRate, conversionRate or averageClickPosition",
        )),
    }
}
fn is_ascending(call: &Call<'_>) -> Result<bool> {
    match call.query.get("direction").as_deref() {
        None | Some("" | "desc") => Ok(false),
        Some("asc") => Ok(true),
        Some(_) => Err(Error::parameter("direction", "asc or desc")),
    }
}
fn limit(call: &Call<'_>) -> Result<usize> {
    let limit =
        call.query.integer("limit")?.map_or(LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    match limit <= LIMIT_MAX {
        true => Ok(limit),
        false => Err(Error::parameter("limit", &format!("a number between 0 and {LIMIT_MAX}"))),
    }
}
fn offset(call: &Call<'_>) -> Result<usize> {
    let offset = call.query.integer("offset")?.unwrap_or_default();
    Ok(usize::try_from(offset).unwrap_or(usize::MAX))
}
