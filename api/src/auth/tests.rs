//! Are the checks made in the order of C§13.2, with the texts of C§19?

use super::*;
use futures_util::FutureExt as _;
use quorate_cluster::rate_limit::RateLimiter;
use std::borrow::Cow;

const ADMIN: &str = "adminadminadminadminadminadmin00";
const SEARCH: &str = "searchsearchsearchsearchsearch00";

#[derive(Default)]
struct Ring {
    keys: KeyMap,
    limiter: RateLimiter,
}
impl Keyring for Ring {
    fn app_id(&self) -> &str {
        "APP"
    }
    fn key(&self, digest: KeyDigest) -> Option<Arc<ApiKey>> {
        self.keys.values().find(|key| KeyDigest::of(&key.value) == digest).cloned()
    }
    fn keys(&self) -> KeyMap {
        self.keys.clone()
    }
    fn is_admin_key(&self, digest: KeyDigest) -> bool {
        digest == KeyDigest::of(ADMIN)
    }
    async fn count(&self, call: LimitedCall) -> Result<()> {
        self.limiter.count_here(call)
    }
}

fn key(change: impl FnOnce(&mut ApiKey)) -> ApiKey {
    let mut key = ApiKey::new(SEARCH, 0, vec![Acl::Search]);
    change(&mut key);
    key
}
fn ring(change: impl FnOnce(&mut ApiKey)) -> Ring {
    let mut ring = Ring::default();
    let key = key(change);
    ring.keys.insert(key.value.clone(), Arc::new(key));
    ring
}
fn credentials<'a>(app_id: &'a str, key: &'a str) -> Credentials<'a> {
    Credentials { app_id: Some(Cow::Borrowed(app_id)), key: Some(Cow::Borrowed(key)), tag_filters: vec![] }
}
fn call(ring: &Ring, key: &str, origin: Origin<'_>) -> Result<Caller> {
    at_once(Authenticator::default().authenticate(ring, &credentials("APP", key), origin))
}
/// With few keys nothing waits for another thread.
fn at_once<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("it is done on this thread")
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
    let shown = |shown: Credentials<'_>| at_once(auth.authenticate(&ring, &shown, Origin::default()));
    refused(shown(Credentials::default()), INVALID);
    refused(shown(credentials("OTHER", ADMIN)), INVALID);
    refused(shown(credentials("APP", "nope")), INVALID);
    refused(shown(credentials("APP", "")), INVALID);
    refused(shown(credentials("APP", &ADMIN.repeat(4_096))), INVALID);
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
    let call = |ring: &Ring, key: &str| {
        at_once(auth.authenticate(ring, &credentials("APP", key), Origin::default()))
    };
    assert!(call(&living, &secured).is_ok());
    assert!(call(&living, &secured).is_ok(), "from the cache");
    refused(call(&living, &grandchild), INVALID);
    refused(call(&living, &from_admin), INVALID);
    refused(call(&Ring::default(), &secured), INVALID);
}

/// Made once by `generateSecuredApiKey` of the JavaScript clients 5.64 and 4.27, and of the Python client 4.
const OF_CLIENTS: [&str; 3] = [
    "MjIzNzhhZjIyN2ViMDk5MGJlY2Q2ZmYxZmNiZWQ1M2E5ZTE5YTdlYWVjNGRkYzZmN2RlZmU0MDllYWNjNjE2OGF0dHJpYnV0ZXNUb1JldHJpZXZlPW5h\
     bWUlMkN0ZWFtJmZhY2V0RmlsdGVycz10ZWFtJTNBcmVkJTJDdGVhbSUzQWJsdWUmZmlsdGVycz10ZWFtJTNBcmVkJTIwQU5EJTIwbiUzRTMmaGl0c1Bl\
     clBhZ2U9MiZyZWZlcmVycz1odHRwcyUzQSUyRiUyRmElMkYqJnJlc3RyaWN0SW5kaWNlcz1Nb3ZpZXMlMkNjdHNfZTJlX3NldHRpbmdzJnJlc3RyaWN0\
     U291cmNlcz0xMjcuMC4wLjAlMkY4JnVzZXJUb2tlbj11c2VyJTIwMSUyRiVDMyVBOSZ2YWxpZFVudGlsPTI1MjQ2MDQ0MDA=",
    "MDIzYWNmOTcyMmQxMjdjOTY1YTdiZmI0ZGFjZDJhNzQ1OTdjOTBmZjQwMDdmNGE5ODJjNjNjM2VjMGRlZGZlNnZhbGlkVW50aWw9MjUyNDYwNDQwMCZy\
     ZXN0cmljdEluZGljZXM9JTVCJTIyTW92aWVzJTIyJTJDJTIyY3RzX2UyZV9zZXR0aW5ncyUyMiU1RCZmaWx0ZXJzPXRlYW0lM0FyZWQlMjBBTkQlMjBu\
     JTNFMyZ1c2VyVG9rZW49dXNlciUyMDElMkYlQzMlQTkmaGl0c1BlclBhZ2U9MiZhdHRyaWJ1dGVzVG9SZXRyaWV2ZT0lNUIlMjJuYW1lJTIyJTJDJTIy\
     dGVhbSUyMiU1RCZmYWNldEZpbHRlcnM9JTVCJTVCJTIydGVhbSUzQXJlZCUyMiUyQyUyMnRlYW0lM0FibHVlJTIyJTVEJTVE",
    "YmJmYmI2M2JkOGMwYzQ2Y2JlN2M0NmRmYWY4NGFkMjkxMjViMjdhNjUzNzIxYTAwYzVlZjgwNmQyNTBhZjJiN2F0dHJpYnV0ZXNUb1JldHJpZXZlPW5h\
     bWUlMkN0ZWFtJmZpbHRlcnM9dGVhbSUzQXJlZCUyMEFORCUyMG4lM0UzJmhpdHNQZXJQYWdlPTImcmVzdHJpY3RJbmRpY2VzPU1vdmllcyUyQ2N0c19l\
     MmVfc2V0dGluZ3MmdXNlclRva2VuPXVzZXIlMjAxJTJGJUMzJUE5JnZhbGlkVW50aWw9MjUyNDYwNDQwMA==",
];

#[test]
fn keys_that_official_clients_derive_are_read() {
    let ring = ring(|key| key.value = "2640659426d5107b6e47d75db9cbaef8".into());
    let origin = Origin {
        referer: Some("https://a/b"),
        address: "127.0.0.1".parse().ok(),
        now_s: 1_700_000_000,
        ..Origin::default()
    };
    for text in OF_CLIENTS {
        for text in [text, text.trim_end_matches('=')] {
            let caller = call(&ring, text, origin).unwrap();
            assert!(
                caller.may_use("Movies") && caller.may_use("cts_e2e_settings") && !caller.may_use("other")
            );
            let [restrictions] = caller.restrictions() else { panic!("{caller:?}") };
            assert_eq!(restrictions.valid_until_s, Some(2_524_604_400));
            assert_eq!(restrictions.user_token.as_deref(), Some("user 1/é"));
            assert!(restrictions.filter().is_ok_and(|filter| !filter.is_empty()), "{restrictions:?}");
            assert_eq!(restrictions.overrides["hitsPerPage"], "2");
        }
        let mut wrong = text.to_owned();
        wrong.replace_range(20..21, if text[20..].starts_with('x') { "y" } else { "x" });
        refused(call(&ring, &wrong, origin), INVALID);
    }
}

#[test]
fn a_key_for_one_index_is_good_there_alone() {
    let ring = ring(|key| key.index = quorate_model::IndexName::new("own").ok());
    for key in [SEARCH.to_owned(), secured::derive(SEARCH, "restrictIndices=own%2Cother%2C*")] {
        let caller = call(&ring, &key, Origin::default()).unwrap();
        assert!(caller.may_use("own") && !caller.may_use("other") && !caller.may_use("own2"));
        assert!(caller.is_of_one_index());
    }
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
        let caller = at_once(checks.authenticate(&ring, &credentials("APP", key), origin)).unwrap();
        at_once(checks.count(&ring, &caller, origin)).map_err(|error| error.kind)
    };
    let limited = Err(quorate_model::ErrorKind::RateLimited);
    for (address, now_s, expected) in [
        ("10.0.0.1", 1_000, Ok(())),
        ("10.0.0.1", 1_000, Ok(())),
        ("10.0.0.1", 1_000, limited),
        ("::ffff:10.0.0.1", 1_000, limited),
        ("10.0.0.2", 1_000, Ok(())),
        ("2001:db8::1", 1_000, Ok(())),
        ("2001:db8::2", 1_000, Ok(())),
        ("2001:db8::ffff:0:0:3", 1_000, limited),
        ("2001:db8:0:1::1", 1_000, Ok(())),
        ("10.0.0.1", 1_000 + 3_600, Ok(())),
        ("10.0.0.1", 1_000 + 3_600, Ok(())),
        ("10.0.0.1", 1_000 + 3_600, limited),
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
