//! Where do the application id and the key stand in a request (C§1.1)?

use crate::parse::check_object;
use actix_web::http::header::{HeaderMap, HeaderName};
use quorate_wire::QueryString;
use serde::Deserialize;
use std::borrow::Cow;

/// What the caller presented.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Credentials<'a> {
    /// Application id.
    pub app_id: Option<Cow<'a, str>>,
    /// Key.
    pub key: Option<Cow<'a, str>>,
    /// Tags that records have to have, as older clients send them with each call (`setSecurityTags`).
    /// What is no text refuses what they restrict.
    pub tag_filters: Vec<Cow<'a, [u8]>>,
}

// as names of headers, which a text would be made into for each look
static APP_ID_NAMES: [HeaderName; 2] = [
    HeaderName::from_static("x-algolia-application-id"),
    HeaderName::from_static("x-service-application-id"),
];
static KEY_NAMES: [HeaderName; 2] =
    [HeaderName::from_static("x-algolia-api-key"), HeaderName::from_static("x-service-api-key")];
static TAG_FILTERS_NAME: HeaderName = HeaderName::from_static("x-algolia-tagfilters");

impl<'a> Credentials<'a> {
    /// Reads headers of both families, otherwise the query string; names in any letter case.
    ///
    /// Headers go before the query string, since clients put credentials there and let a call override them. What disagrees
    /// within one of the two is no credential: what a proxy looked at must not be another one than what counts here.
    pub fn read(headers: &'a HeaderMap, query: QueryString<'a>) -> Self {
        let find = |names: &'static [HeaderName; 2]| {
            // what is no text is no key either, and must not let another one count
            let given = names.iter().flat_map(|name| headers.get_all(name));
            let given = given.map(|value| Cow::Borrowed(value.to_str().unwrap_or_default()));
            agreed(given).or_else(|| agreed(names.iter().flat_map(|name| query.all_any_case(name.as_str()))))
        };
        Credentials {
            app_id: find(&APP_ID_NAMES),
            key: find(&KEY_NAMES),
            tag_filters: tag_filters(headers, query),
        }
    }
    /// The same with the key of the body, which counts when there is no other.
    pub fn or_key(self, key: Option<String>) -> Credentials<'a> {
        Credentials { key: self.key.or(key.map(Cow::Owned)), ..self }
    }
    /// The key in the body member `apiKey`, where old browser clients put long ones.
    pub fn key_of(body: &[u8]) -> Option<String> {
        #[derive(Deserialize)]
        struct Body {
            #[serde(rename = "apiKey")]
            api_key: Option<String>,
        }
        check_object(body).ok()?;
        serde_json::from_slice::<Body>(body).ok()?.api_key
    }
}

/// Every value that was given: each has to hold by itself. None allocates nothing.
fn tag_filters<'a>(headers: &'a HeaderMap, query: QueryString<'a>) -> Vec<Cow<'a, [u8]>> {
    let in_url = query.all_any_case(TAG_FILTERS_NAME.as_str()).map(|value| match value {
        // what stands for bytes that are no text would be another tag
        value if value.contains(char::REPLACEMENT_CHARACTER) => Cow::Borrowed(&b"\xff"[..]),
        Cow::Borrowed(value) => Cow::Borrowed(value.as_bytes()),
        Cow::Owned(value) => Cow::Owned(value.into_bytes()),
    });
    let given = headers.get_all(&TAG_FILTERS_NAME).map(|value| Cow::Borrowed(value.as_bytes()));
    given.chain(in_url).filter(|value| !value.trim_ascii().is_empty()).collect()
}

/// The one value that was given; an empty one, which is nobody's, when there are several.
fn agreed<'a>(mut given: impl Iterator<Item = Cow<'a, str>>) -> Option<Cow<'a, str>> {
    let first = given.next()?;
    match given.all(|other| other == first) {
        true => Some(first),
        false => Some(Cow::Borrowed("")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::{HeaderName, HeaderValue};

    #[track_caller]
    fn check(headers: &[(&str, &str)], query: &str, body: &str, app_id: Option<&str>, key: Option<&str>) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_bytes(name.to_lowercase().as_bytes()).unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            );
        }
        let found = Credentials::read(&map, QueryString(query)).or_key(Credentials::key_of(body.as_bytes()));
        assert_eq!(
            (found.app_id.as_deref(), found.key.as_deref()),
            (app_id, key),
            "{headers:?} {query} {body}"
        );
    }

    #[test]
    fn every_place_is_read() {
        check(&[], "", "", None, None);
        check(&[("X-Algolia-Application-Id", "a"), ("X-Algolia-API-Key", "k")], "", "", Some("a"), Some("k"));
        check(&[("X-Service-Application-Id", "a"), ("X-Service-API-Key", "k")], "", "", Some("a"), Some("k"));
        check(&[("X-Service-Application-Id", "a"), ("X-Algolia-API-Key", "k")], "", "", Some("a"), Some("k"));
        check(&[], "X-Algolia-Application-Id=a&X-ALGOLIA-API-KEY=k%20l", "", Some("a"), Some("k l"));
        check(&[], "x-service-application-id=a&x-service-api-key=k", "", Some("a"), Some("k"));
        check(&[("X-Algolia-API-Key", "h")], "x-algolia-api-key=q", r#"{"apiKey":"b"}"#, None, Some("h"));
        check(&[], "x-algolia-application-id=a", r#"{"params":"","apiKey":"b"}"#, Some("a"), Some("b"));
        check(&[], "x-algolia-application-id=a", "{not json", Some("a"), None);
        check(&[], "x-algolia-application-id=a", r#"["apiKey"]"#, Some("a"), None);
    }

    #[test]
    fn every_tag_that_is_given_has_to_hold() {
        let tags = |headers: &[&'static str], query: &'static str| {
            let mut map = HeaderMap::new();
            for value in headers {
                map.append(TAG_FILTERS_NAME.clone(), HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let found = Credentials::read(&map, QueryString(query)).tag_filters;
            found.into_iter().map(Cow::into_owned).collect::<Vec<Vec<u8>>>()
        };
        assert!(tags(&[], "").is_empty());
        assert!(tags(&[" "], "x-algolia-tagfilters=").is_empty());
        assert_eq!(tags(&["a,(b,c)"], "X-Algolia-TagFilters=d"), ["a,(b,c)".as_bytes(), b"d"]);
        assert_eq!(
            tags(&["(x", "a"], "x-algolia-tagfilters=b)"),
            [&b"(x"[..], b"a", b"b)"],
            "no group of several"
        );
        assert_eq!(tags(&["-é"], "x-algolia-tagfilters=-%FF"), ["-é".as_bytes(), b"\xff"]);
    }

    #[test]
    fn what_disagrees_is_no_credential() {
        let (algolia, service) = ("X-Algolia-API-Key", "X-Service-API-Key");
        check(&[(algolia, "k"), (algolia, "k"), (service, "k")], "", "", None, Some("k"));
        check(&[(algolia, "k"), (algolia, "l")], "", "", None, Some(""));
        check(&[(algolia, "k"), (service, "l")], "x-algolia-api-key=k", "", None, Some(""));
        check(&[(algolia, "é")], "x-algolia-api-key=k", r#"{"apiKey":"k"}"#, None, Some(""));
        check(&[], "x-algolia-api-key=k&X-ALGOLIA-API-KEY=k", "", None, Some("k"));
        check(&[], "x-algolia-api-key=k&x-algolia-api-key=l", r#"{"apiKey":"k"}"#, None, Some(""));
        check(&[], "x-algolia-application-id=a&x-service-application-id=b", "", Some(""), None);
        check(&[(algolia, "k")], "x-algolia-api-key=l&x-algolia-api-key=m", "", None, Some("k"));
    }
}
