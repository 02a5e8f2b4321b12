//! Are the checks made in the order of C§13.2, with the texts of C§19?

use super::*;
use std::borrow::Cow;

const ADMIN: &str = "adminadminadminadminadminadmin00";
const SEARCH: &str = "searchsearchsearchsearchsearch00";

struct Ring {
    keys: Vec<Arc<ApiKey>>,
}
impl Keyring for Ring {
    fn app_id(&self) -> &str {
        "APP"
    }
    fn key(&self, value: &str) -> Option<Arc<ApiKey>> {
        self.keys.iter().find(|key| key.value == value).cloned()
    }
    fn keys(&self) -> Vec<Arc<ApiKey>> {
        self.keys.clone()
    }
    fn is_admin_key(&self, value: &str) -> bool {
        value == ADMIN
    }
}

fn key(change: impl FnOnce(&mut ApiKey)) -> ApiKey {
    let mut key = ApiKey {
        value: SEARCH.into(),
        created_at: 0,
        acl: vec![Acl::Search],
        validity: 0,
        description: String::new(),
        indexes: vec![],
        max_hits_per_query: 0,
        max_queries_per_ip_per_hour: 0,
        query_parameters: String::new(),
        referers: vec![],
    };
    change(&mut key);
    key
}
fn ring(change: impl FnOnce(&mut ApiKey)) -> Ring {
    Ring { keys: vec![Arc::new(key(change))] }
}
fn credentials<'a>(app_id: &'a str, key: &'a str) -> Credentials<'a> {
    Credentials { app_id: Some(Cow::Borrowed(app_id)), key: Some(Cow::Borrowed(key)) }
}
fn call(ring: &Ring, key: &str, origin: Origin<'_>) -> Result<Caller> {
    Authenticator::default().authenticate(ring, &credentials("APP", key), origin)
}
#[track_caller]
fn refused(result: Result<Caller>, message: &str) {
    assert_eq!(result.expect_err("must be refused").message, message);
}

const INVALID: &str = "Invalid Application-ID or API key";

#[test]
fn unknown_or_missing_credentials() {
    let ring = ring(|_| {});
    let auth = Authenticator::default();
    refused(auth.authenticate(&ring, &Credentials::default(), Origin::default()), INVALID);
    refused(auth.authenticate(&ring, &credentials("OTHER", ADMIN), Origin::default()), INVALID);
    refused(auth.authenticate(&ring, &credentials("APP", "nope"), Origin::default()), INVALID);
    refused(auth.authenticate(&ring, &credentials("APP", ""), Origin::default()), INVALID);
    assert!(matches!(call(&ring, ADMIN, Origin::default()), Ok(Caller::Admin)));
}

#[test]
fn rights_and_indices_of_an_ordinary_key() {
    let caller = call(&ring(|key| key.indexes = vec!["dev_*".into()]), SEARCH, Origin::default()).unwrap();
    assert!(caller.check(Need::Right(Acl::Search)).is_ok());
    for need in [Need::Right(Acl::AddObject), Need::Admin] {
        assert_eq!(caller.check(need).unwrap_err().message, "Method not allowed with this API key");
    }
    assert!(caller.check_index("dev_a").is_ok());
    assert_eq!(caller.check_index("prod").unwrap_err().message, "Index not allowed with this API key");
}

#[test]
fn secured_keys_restrict_further_and_expire() {
    let ring = ring(|key| {
        key.indexes = vec!["a*".into()];
        key.max_hits_per_query = 5;
        key.query_parameters = "filters=x%3A1".into();
    });
    let secured = secured::derive(SEARCH, "restrictIndices=ab,b&validUntil=100&filters=y%3A2");
    let at = |now_s| Origin { now_s, ..Origin::default() };
    let caller = call(&ring, &secured, at(100)).unwrap();
    assert!(caller.may_use("ab"));
    assert!(!caller.may_use("aa"), "not in restrictIndices");
    assert!(!caller.may_use("b"), "not in the parent's indexes");
    assert_eq!(caller.restrictions().len(), 2);
    assert_eq!(caller.read_rights().max_hits_per_query, 5);
    refused(call(&ring, &secured, at(101)), "validUntil parameter expired (less than current date)");
}

#[test]
fn secured_keys_die_with_their_parent_and_have_no_children() {
    let auth = Authenticator::default();
    let living = ring(|_| {});
    let secured = secured::derive(SEARCH, "userToken=u");
    let grandchild = secured::derive(&secured, "userToken=v");
    let from_admin = secured::derive(ADMIN, "");
    let call = |ring: &Ring, key: &str| auth.authenticate(ring, &credentials("APP", key), Origin::default());
    assert!(call(&living, &secured).is_ok());
    assert!(call(&living, &secured).is_ok(), "from the cache");
    refused(call(&living, &grandchild), INVALID);
    refused(call(&living, &from_admin), INVALID);
    refused(call(&Ring { keys: vec![] }, &secured), INVALID);
}

#[test]
fn referers_and_sources() {
    let with_referer = |referer| Origin { referer, ..Origin::default() };
    let restricted = ring(|key| key.referers = vec!["https://shop.example/*".into()]);
    assert!(call(&restricted, SEARCH, with_referer(Some("https://shop.example/x"))).is_ok());
    for referer in [None, Some("https://evil.example/")] {
        refused(call(&restricted, SEARCH, with_referer(referer)), "Method not allowed with this referer");
    }
    let secured = secured::derive(SEARCH, "restrictSources=10.0.0.0%2F8");
    let from = |address: &str| Origin { address: Some(address.parse().unwrap()), ..Origin::default() };
    assert!(call(&ring(|_| {}), &secured, from("10.1.1.1")).is_ok());
    refused(call(&ring(|_| {}), &secured, from("11.1.1.1")), "Source not allowed with this API key");
}

#[test]
fn expiry_is_answered_before_rights() {
    let secured = secured::derive(SEARCH, "validUntil=1");
    let result = call(&ring(|key| key.acl.clear()), &secured, Origin { now_s: 2, ..Origin::default() });
    refused(result, "validUntil parameter expired (less than current date)");
}

#[test]
fn calls_are_counted_by_key_and_caller() {
    let ring = ring(|key| key.max_queries_per_ip_per_hour = 2);
    let checks = Authenticator::default();
    let at = |address: &str, now_s| Origin { address: address.parse().ok(), now_s, ..Origin::default() };
    let call = |key: &str, origin| {
        checks.authenticate(&ring, &credentials("APP", key), origin).map(|_| ()).map_err(|error| error.kind)
    };
    let limited = Err(quorate_model::ErrorKind::RateLimited);
    for (address, now_s, expected) in [
        ("10.0.0.1", 1_000, Ok(())),
        ("10.0.0.1", 1_001, Ok(())),
        ("10.0.0.1", 1_002, limited),
        ("::ffff:10.0.0.1", 1_002, limited),
        ("10.0.0.2", 1_003, Ok(())),
        ("10.0.0.1", 4_599, limited),
        ("10.0.0.1", 4_600, Ok(())),
        ("10.0.0.1", 100, Ok(())),
    ] {
        assert_eq!(call(SEARCH, at(address, now_s)), expected, "{address} at {now_s}");
    }
    // the user of a secured key is counted wherever he calls from
    let secured = secured::derive(SEARCH, "userToken=u");
    assert_eq!(call(&secured, at("10.0.0.1", 4_601)), Ok(()));
    assert_eq!(call(&secured, at("10.0.0.3", 4_601)), Ok(()));
    assert_eq!(call(&secured, at("10.0.0.4", 4_601)), limited);
    // a proxy passes calls on, and is not counted itself
    let through = |key, address: &str| {
        let forwarded = Some(Forwarded { key, address: address.parse().ok() });
        call(ADMIN, Origin { forwarded, ..at("10.0.0.9", 4_700) })
    };
    let proxied = [through(SEARCH, "1.1.1.1"), through(SEARCH, "1.1.1.1"), through(SEARCH, "1.1.1.1")];
    assert_eq!(proxied, [Ok(()), Ok(()), limited]);
    assert_eq!(through(SEARCH, "1.1.1.2"), Ok(()));
    assert_eq!(through("unknown", "1.1.1.2"), Err(quorate_model::ErrorKind::Forbidden));
    assert_eq!(call(ADMIN, at("10.0.0.9", 4_700)), Ok(()));
}
