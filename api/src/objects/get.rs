//! How are records read by id (C§3.5)?
//!
//! A record that the filters of the caller's key keep from searches is not there for reads by id either (C§13.3).

use crate::call::Call;
use crate::parse;
use crate::reply::Reply;
use crate::search::forced_filter;
use quorate_cluster::ObjectRequest;
use quorate_model::user::{owned_id, public_id};
use quorate_model::{Error, IndexName, Result, SearchParams, limits};
use quorate_wire::writes::objects_body;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// `GET /1/indexes/{indexName}/{objectID}`.
pub async fn one(call: &Call<'_>) -> Result<Reply> {
    let given = |name| call.query.get(name).map(|text| Value::String(text.into_owned()));
    let attributes = attributes(NAMES.map(given))?;
    let request = ObjectRequest {
        index: call.index_name()?,
        object_id: call.names[1].to_string(),
        attributes_to_retrieve: forced_attributes(call)?.unwrap_or(attributes),
    };
    let records = read(call, vec![request]).await?;
    let record = records.into_iter().next().flatten().ok_or_else(Error::no_object)?;
    Ok(Reply::ok(record))
}

/// `POST /1/indexes/*/objects`: `null` where there is no such record.
pub async fn many(call: &Call<'_>) -> Result<Reply> {
    let mut requests = parse::away(&call.body, parse_requests).await?;
    let forced = forced_attributes(call)?;
    let mut attributes = 0;
    for request in &mut requests {
        call.caller.check_index(request.index.as_str())?;
        call.note.about(&request.index);
        if let Some(forced) = &forced {
            request.attributes_to_retrieve = forced.clone();
        }
        check_attributes(&mut attributes, request)?;
    }
    let records = read(call, requests).await?;
    Ok(Reply::ok(objects_body(&records)))
}

/// The records that the caller may see; a user's own one comes before a public one of the same id (C§15).
async fn read(call: &Call<'_>, mut requests: Vec<ObjectRequest>) -> Result<Vec<Option<Vec<u8>>>> {
    let (filter, rights) = (forced_filter(&call.caller)?, call.read_rights());
    let Some(user) = call.user()? else { return call.service().objects(requests, rights, filter).await };
    let public = requests
        .iter()
        .map(|request| ObjectRequest { object_id: public_id(&request.object_id), ..request.clone() });
    let public: Vec<ObjectRequest> = public.collect();
    for request in &mut requests {
        request.object_id = owned_id(&user, &request.object_id);
    }
    let count = requests.len();
    requests.extend(public);
    let indices: Vec<IndexName> = requests.iter().map(|request| request.index.clone()).collect();
    let filter = filter.meant_by(&user);
    let ask = async |parts: &[IndexName]| {
        let in_part = |(request, part): (&ObjectRequest, &IndexName)| ObjectRequest {
            index: part.clone(),
            ..request.clone()
        };
        let requests = requests.iter().zip(parts).map(in_part).collect();
        call.service().objects(requests, rights, filter.clone()).await
    };
    let mut own = call.service().read_all_for(&user, &indices, ask).await?;
    let public = own.split_off(count);
    Ok(own.into_iter().zip(public).map(|(own, public)| own.or(public)).collect())
}

/// The attributes that the caller's key lets through, whatever the request asks for (C§13.3).
fn forced_attributes(call: &Call<'_>) -> Result<Option<Option<Vec<String>>>> {
    const NAME: &str = "attributesToRetrieve";
    let mut forced = None;
    for restrictions in call.caller.restrictions() {
        if let Some(value) = restrictions.overrides.get(NAME) {
            let only = serde_json::Map::from_iter([(NAME.to_owned(), value.clone())]);
            forced = Some(SearchParams::from_json(&only)?.attributes_to_retrieve);
        }
    }
    Ok(forced)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    requests: Option<Vec<parse::Object<Item>>>,
    #[serde(rename = "apiKey")]
    _api_key: Option<IgnoredAny>,
}
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    #[serde(rename = "indexName")]
    index_name: Option<String>,
    #[serde(rename = "objectID")]
    object_id: Option<Value>,
    #[serde(rename = "attributesToRetrieve")]
    attributes_to_retrieve: Option<Value>,
    /// The earlier name.
    attributes: Option<Value>,
}

fn parse_requests(body: &[u8]) -> Result<Vec<ObjectRequest>> {
    let body: Body = parse::typed(body)?;
    let items =
        body.requests.ok_or_else(|| Error::invalid("requests is required: a list of objects to get"))?;
    if items.len() > limits::MULTI_MAX {
        return Err(Error::invalid(format!("requests has too many objects: at most {}", limits::MULTI_MAX)));
    }
    let mut attributes = 0;
    let parse = |parse::Object(item)| {
        let request = parse_item(item)?;
        check_attributes(&mut attributes, &request)?;
        Ok(request)
    };
    items.into_iter().map(parse).collect()
}

/// Adds the attributes that a request lists to those before it. Errors: `Invalid` when they are too many together.
fn check_attributes(attributes: &mut usize, request: &ObjectRequest) -> Result<()> {
    *attributes += request.attributes_to_retrieve.as_ref().map_or(0, Vec::len);
    match *attributes <= limits::MULTI_ATTRIBUTES_MAX {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "requests has too many attributes in attributesToRetrieve: at most {} together",
            limits::MULTI_ATTRIBUTES_MAX
        ))),
    }
}

fn parse_item(item: Item) -> Result<ObjectRequest> {
    let index = item.index_name.ok_or_else(|| Error::invalid("indexName is required in each request"))?;
    let object_id = match item.object_id {
        Some(Value::String(text)) => text,
        Some(Value::Number(number)) => number.to_string(),
        None | Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(Error::invalid("objectID is required in each request"));
        }
    };
    let attributes = attributes([item.attributes_to_retrieve, item.attributes])?;
    Ok(ObjectRequest { index: IndexName::new(&index)?, object_id, attributes_to_retrieve: attributes })
}

/// The names of the parameter that says what is shown: the current one, which counts, and the earlier one.
const NAMES: [&str; 2] = ["attributesToRetrieve", "attributes"];

/// What is shown, from the values of [`NAMES`], as searches read it.
fn attributes(values: [Option<Value>; 2]) -> Result<Option<Vec<String>>> {
    let given = NAMES.into_iter().zip(values);
    let members = given.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    Ok(SearchParams::from_json(&members)?.attributes_to_retrieve)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_leniently_and_bounded() {
        let body = br#"{"requests":[{"indexName":"a","objectID":7,"attributesToRetrieve":"x, y"},
            {"indexName":"b","objectID":"o","attributesToRetrieve":["*"]}]}"#;
        let requests = parse_requests(body).unwrap();
        assert_eq!(requests[0].object_id, "7");
        assert_eq!(
            requests[0].attributes_to_retrieve.as_deref(),
            Some(&["x".to_owned(), "y".to_owned()][..])
        );
        assert_eq!(requests[1].attributes_to_retrieve.as_deref(), Some(&["*".to_owned()][..]));
        for (body, message) in [
            ("{}", "requests is required: a list of objects to get"),
            (r#"{"requests":[{"objectID":"o"}]}"#, "indexName is required in each request"),
            (r#"{"requests":[{"indexName":"a"}]}"#, "objectID is required in each request"),
            (r#"{"requests":[{"indexName":"a","objectID":[1]}]}"#, "objectID is required in each request"),
            (
                r#"{"requests":[{"indexName":"a","objectID":"o","attributesToRetrieve":[5]}]}"#,
                "Invalid value for \"attributesToRetrieve\" parameter, expected array of strings",
            ),
            (
                r#"{"requests":[5]}"#,
                "parse error: requests[0]: invalid type: integer `5`, expected an object near line:1 column:14",
            ),
        ] {
            assert_eq!(parse_requests(body.as_bytes()).unwrap_err().message, message);
        }
        let item = r#"{"indexName":"a","objectID":"o"}"#;
        let many = format!("{{\"requests\":[{}]}}", vec![item; limits::MULTI_MAX + 1].join(","));
        assert!(parse_requests(many.as_bytes()).is_err());
    }
}
