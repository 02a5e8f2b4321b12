//! Does each path find its row?

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[track_caller]
fn check(verb: Verb, path: &str, expected: Result<(&str, &[&str]), ErrorKind>) {
    let router = &*ROUTER;
    match (router.find(Some(verb), path), expected) {
        (Ok(found), Ok((row, names))) => {
            assert_eq!(found.route.path, row, "{path}");
            assert_eq!(found.names, names, "{path}");
        }
        (Err(error), Err(kind)) => assert_eq!(error.kind, kind, "{path}: {error}"),
        (Ok(found), Err(kind)) => panic!("{path}: found {}, expected {kind:?}", found.route.path),
        (Err(error), Ok(_)) => panic!("{path}: {error}"),
    }
}

#[test]
fn names_are_decoded_after_splitting() {
    check(Verb::Post, "/1/indexes/a%2Fb%20c%25/query", Ok(("/1/indexes/{indexName}/query", &["a/b c%"])));
    check(Verb::Post, "/1/indexes/a%252Fb/query", Ok(("/1/indexes/{indexName}/query", &["a%2Fb"])));
    check(Verb::Post, "/1/indexes/a+b/query", Ok(("/1/indexes/{indexName}/query", &["a+b"])));
    check(Verb::Post, "/1/indexes/%E6%97%A5%E6%9C%AC/query", Ok(("/1/indexes/{indexName}/query", &["日本"])));
    check(Verb::Get, "/1/indexes/a/x%2Fy", Ok(("/1/indexes/{indexName}/{objectID}", &["a", "x/y"])));
    check(Verb::Post, "/1/indexes/%FF/query", Err(ErrorKind::Invalid));
    check(Verb::Post, "/1/indexes/%zz/query", Ok(("/1/indexes/{indexName}/query", &["%zz"])));
}

#[test]
fn literals_win_over_names_and_the_star_may_be_encoded() {
    check(Verb::Post, "/1/indexes/*/queries", Ok(("/1/indexes/*/queries", &[])));
    check(Verb::Post, "/1/indexes/%2A/queries", Ok(("/1/indexes/*/queries", &[])));
    check(Verb::Post, "/1/indexes/%2a/batch", Ok(("/1/indexes/*/batch", &[])));
    check(Verb::Post, "/1/indexes/i/batch", Ok(("/1/indexes/{indexName}/batch", &["i"])));
    check(Verb::Post, "/1/indexes/*/objects", Ok(("/1/indexes/*/objects", &[])));
    check(Verb::Get, "/1/indexes/i/settings", Ok(("/1/indexes/{indexName}/settings", &["i"])));
    check(Verb::Put, "/1/indexes/i/settings", Ok(("/1/indexes/{indexName}/settings", &["i"])));
    check(Verb::Get, "/1/indexes/i/browse", Ok(("/1/indexes/{indexName}/browse", &["i"])));
    check(Verb::Get, "/1/indexes/i/o", Ok(("/1/indexes/{indexName}/{objectID}", &["i", "o"])));
    check(Verb::Get, "/1/indexes/i/task/9", Ok(("/1/indexes/{indexName}/task/{taskID}", &["i", "9"])));
    check(Verb::Get, "/1/task/9", Ok(("/1/task/{taskID}", &["9"])));
    check(Verb::Get, "/1/indexes/", Ok(("/1/indexes", &[])));
    check(
        Verb::Post,
        "/1/indexes/i/facets/f%2Fg/query",
        Ok(("/1/indexes/{indexName}/facets/{facetName}/query", &["i", "f/g"])),
    );
}

#[test]
fn unknown_paths_and_methods_differ() {
    check(Verb::Get, "/", Err(ErrorKind::NotFound));
    check(Verb::Get, "/2/indexes", Err(ErrorKind::NotFound));
    check(Verb::Get, "/1/indexes/a/b/c/d/e/f/g/h/i", Err(ErrorKind::NotFound));
    check(Verb::Put, "/1/indexes", Err(ErrorKind::MethodNotAllowed));
    check(Verb::Post, "/livez", Err(ErrorKind::MethodNotAllowed));
    assert_eq!(ROUTER.find(None, "/livez").err().map(|e| e.kind), Some(ErrorKind::MethodNotAllowed));
}

#[test]
fn no_two_rows_are_the_same_and_every_row_is_reachable() {
    let mut seen = BTreeSet::new();
    let router = &*ROUTER;
    for route in ROUTES {
        assert!(
            seen.insert((route.verb.as_str(), route.path)),
            "{} {} twice",
            route.verb.as_str(),
            route.path
        );
        let path = route.path.replace(['{', '}'], "~");
        let found = router.find(Some(route.verb), &path).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert_eq!(found.route.path, route.path);
    }
}

proptest! {
    #[test]
    fn any_path_is_answered(path in "(/[a-z0-9%*{}. ]{0,8}){0,10}") {
        let router = &*ROUTER;
        for verb in [Verb::Get, Verb::Post, Verb::Put, Verb::Delete] {
            let _ = router.find(Some(verb), &path);
        }
    }
    #[test]
    fn any_name_survives_encoding(name in "\\PC{1,20}") {
        let encoded = percent_encoding::utf8_percent_encode(&name, percent_encoding::NON_ALPHANUMERIC);
        let path = format!("/1/indexes/x/{encoded}");
        let router = &*ROUTER;
        let found = router.find(Some(Verb::Delete), &path).unwrap();
        prop_assert_eq!(found.names[1].as_ref(), name.as_str());
    }
}
