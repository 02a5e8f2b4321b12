//! How do keys look in JSON (C§13, C§14)?

use crate::json::{self, Object};
use quorate_model::{Acl, ApiKey, IndexName};

/// What of a key is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// All of it.
    All,
    /// What its holder may know: the description is for those who manage keys.
    ToHolder,
}

/// `GET /1/keys/{key}`. A key for one index and copies of it is shown as that of `index`, one of these.
pub fn key_body(of: &ApiKey, index: Option<&IndexName>, shown: Shown, now_s: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(512);
    key(&mut body, of, index, shown, now_s);
    body
}

/// `GET /1/keys` and the lists of indices: keys, each with the index that it is shown of.
pub fn keys_body<'a>(
    keys: impl IntoIterator<Item = (&'a ApiKey, Option<&'a IndexName>)>,
    now_s: u64,
) -> Vec<u8> {
    let mut body = Vec::with_capacity(4_096);
    let mut object = Object::open(&mut body);
    json::list(object.member("keys"), keys, |out, (it, index)| key(out, it, index, Shown::All, now_s));
    object.close();
    body
}

/// Defaults are written, too: clients that wait for a change compare what they sent with what they read (C§1.6).
fn key(out: &mut Vec<u8>, key: &ApiKey, index: Option<&IndexName>, shown: Shown, now_s: u64) {
    let mut object = Object::open(out);
    object.string("value", &key.value).integer("createdAt", key.created_at);
    object.strings("acl", key.acl.iter().map(|right| Acl::name(*right)));
    object.integer("validity", key.left_s(now_s).unwrap_or(0));
    let description = match shown {
        Shown::All => key.description.as_str(),
        Shown::ToHolder => "<redacted>",
    };
    object.string("description", description);
    match index {
        Some(index) => object.string("index", index.as_str()),
        None => object.strings("indexes", key.indexes.iter().map(String::as_str)),
    };
    object.integer("maxHitsPerQuery", key.max_hits_per_query);
    object.integer("maxQueriesPerIPPerHour", key.max_queries_per_ip_per_hour);
    object.string("queryParameters", &key.query_parameters);
    object.strings("referers", key.referers.iter().map(String::as_str));
    object.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::IndexName;

    #[test]
    fn c14_keys_have_the_members_strict_clients_read() {
        let mut key = ApiKey::new("k", 100, vec![Acl::Search, Acl::Browse]);
        let text = |body: Vec<u8>| String::from_utf8(body).unwrap();
        let end = r#""maxHitsPerQuery":0,"maxQueriesPerIPPerHour":0,"queryParameters":"","referers":[]}"#;
        let start = r#"{"value":"k","createdAt":100,"acl":["search","browse"]"#;
        let plain = format!(r#"{start},"validity":0,"description":"","indexes":[],{end}"#);
        assert_eq!(text(key_body(&key, None, Shown::All, 1_000)), plain);
        (key.validity, key.description, key.index) = (60, "d".into(), IndexName::new("i").ok());
        let own = format!(r#"{start},"validity":50,"description":"<redacted>","index":"i",{end}"#);
        assert_eq!(text(key_body(&key, key.index.as_ref(), Shown::ToHolder, 110)), own);
        assert_eq!(
            text(keys_body([(&key, key.index.as_ref())], 110)),
            format!(r#"{{"keys":[{}]}}"#, own.replace("<redacted>", "d"))
        );
    }
}
