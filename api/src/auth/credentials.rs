//! Where do the application id and the key stand in a request (C§1.1)?

use crate::parse::check_object;
use actix_web::http::header::HeaderMap;
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
}

const APP_ID_NAMES: [&str; 2] = ["x-algolia-application-id", "x-service-application-id"];
const KEY_NAMES: [&str; 2] = ["x-algolia-api-key", "x-service-api-key"];

impl<'a> Credentials<'a> {
    /// Reads headers of both families, then the query string; names in any letter case.
    pub fn read(headers: &'a HeaderMap, query: QueryString<'a>) -> Self {
        let find = |names: [&str; 2]| {
            let header = names.iter().find_map(|name| headers.get(*name)?.to_str().ok());
            match header {
                Some(value) => Some(Cow::Borrowed(value)),
                None => names.iter().find_map(|name| query.get_any_case(name)),
            }
        };
        Credentials { app_id: find(APP_ID_NAMES), key: find(KEY_NAMES) }
    }
    /// Takes the key from the body member `apiKey`, where old browser clients put long ones.
    pub fn with_body(self, body: &[u8]) -> Credentials<'a> {
        #[derive(Deserialize)]
        struct Body {
            #[serde(rename = "apiKey")]
            api_key: Option<String>,
        }
        if self.key.is_some() || check_object(body).is_err() {
            return self;
        }
        let api_key = serde_json::from_slice::<Body>(body).ok().and_then(|body| body.api_key);
        Credentials { key: api_key.map(Cow::Owned), ..self }
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
            map.insert(
                HeaderName::from_bytes(name.to_lowercase().as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let found = Credentials::read(&map, QueryString(query)).with_body(body.as_bytes());
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
}
