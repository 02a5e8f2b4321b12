//! Which routes are there, what right does each need, and who answers?
//!
//! A row also says what kind of work it is, so that a listener can be kept to one kind (§4.1), and how its body is read. A row
//! whose handler is `missing!` is part of the interface but not built yet; it answers 404 with the text.

use crate::call::Call;
use crate::reply::Reply;
use crate::routes::BodyKind::{Entries, Records, Search, Several};
use crate::routes::Verb::{self, Delete, Get, Post, Put};
use crate::routes::{Need, Route, Router, Work};
use crate::{
    admin, clusters, dictionaries, documents, indices, keys, objects, operations, search, settings, sources,
    tasks,
};
use futures_util::future::LocalBoxFuture;
use quorate_model::DocumentKind::{Rules, Synonyms};
use quorate_model::{Acl, Error, ErrorKind, Result};
use std::sync::LazyLock;

/// Answers a call. It stands in a box: what is around it is moved several times before it runs.
pub type Handler = for<'a> fn(Call<'a>) -> LocalBoxFuture<'a, Result<Reply>>;

/// The table, ordered for look-up.
pub static ROUTER: LazyLock<Router<Handler>> = LazyLock::new(|| Router::new(ROUTES));

/// A function of a call, and of what the row says beside it, as a handler.
macro_rules! handler {
    ($function:path $(, $argument:expr)?) => {
        |call| Box::pin(async move { $function(&call $(, $argument)?).await })
    };
}
/// The handler of what is not built yet; the text says what.
macro_rules! missing {
    ($what:literal) => {
        |_| Box::pin(async { Err(not_built($what)) })
    };
}

fn not_built(what: &str) -> Error {
    let text = format!("{what}: this part of the interface is not available in this version");
    Error::new(ErrorKind::NotImplemented, text)
}

const fn row(verb: Verb, path: &'static str, need: Need, handler: Handler) -> Route<Handler> {
    Route::new(verb, path, need, handler)
}

const SEARCH: Need = Need::Right(Acl::Search);
const BROWSE: Need = Need::Right(Acl::Browse);
const ADD: Need = Need::Right(Acl::AddObject);
const DELETE_OBJECT: Need = Need::Right(Acl::DeleteObject);
const DELETE_INDEX: Need = Need::Right(Acl::DeleteIndex);
const SETTINGS: Need = Need::Right(Acl::Settings);
const EDIT: Need = Need::Right(Acl::EditSettings);
const RECOMMENDATION: Need = Need::Right(Acl::Recommendation);
const ADMIN: Need = Need::Admin;
const LOGS: Handler = missing!("The request log");
const SUGGESTIONS: Handler = missing!("Query suggestions");
const RECOMMEND: Handler = missing!("Recommendations");
const INSIGHTS: Handler = missing!("Event collection");
const PERSONALIZATION: Handler = missing!("Personalization");

/// Every row: one for each method and path of §4 and C§3.3.
#[rustfmt::skip]
pub static ROUTES: &[Route<Handler>] = &[
    // §4.2 search
    row(Post, "/1/indexes/{indexName}/query", SEARCH, handler!(search::query::post)).query(),
    row(Get, "/1/indexes/{indexName}", SEARCH, handler!(search::query::get)).query(),
    row(Post, "/1/indexes/*/queries", SEARCH, handler!(search::multi::post)).query().body(Several),
    row(Post, "/1/indexes/{indexName}/facets/{facetName}/query", SEARCH, handler!(search::facet::post)).query(),
    row(Post, "/1/indexes/{indexName}/browse", BROWSE, handler!(search::browse::post)).body(Search).is(Work::Read),
    row(Get, "/1/indexes/{indexName}/browse", BROWSE, handler!(search::browse::get)).body(Search),
    // §4.3 objects
    row(Post, "/1/indexes/{indexName}", ADD, handler!(objects::one::add)).body(Records),
    row(Put, "/1/indexes/{indexName}/{objectID}", ADD, handler!(objects::one::put)).body(Records),
    row(Delete, "/1/indexes/{indexName}/{objectID}", DELETE_OBJECT, handler!(objects::one::delete)),
    row(Post, "/1/indexes/{indexName}/deleteByQuery", DELETE_INDEX, handler!(objects::many::delete_by)).body(Search),
    row(Post, "/1/indexes/{indexName}/clear", DELETE_INDEX, handler!(objects::many::clear)),
    row(Post, "/1/indexes/{indexName}/{objectID}/partial", ADD, handler!(objects::one::partial)).body(Records),
    row(Post, "/1/indexes/{indexName}/batch", Need::PerOperation, handler!(objects::batch::one_index)).body(Records),
    row(Post, "/1/indexes/*/batch", Need::PerOperation, handler!(objects::batch::many_indices)).body(Records),
    row(Post, "/1/indexes/*/objects", SEARCH, handler!(objects::get::many)).body(Several).is(Work::Read),
    row(Get, "/1/indexes/{indexName}/{objectID}", SEARCH, handler!(objects::get::one)),
    // §4.4 settings
    row(Get, "/1/indexes/{indexName}/settings", SETTINGS, handler!(settings::get)),
    row(Put, "/1/indexes/{indexName}/settings", EDIT, handler!(settings::set)),
    // §4.5 indices
    row(Delete, "/1/indexes/{indexName}", DELETE_INDEX, handler!(indices::delete)),
    row(Post, "/1/indexes/{indexName}/operation", ADD, handler!(indices::operation)),
    row(Get, "/1/indexes", Need::Right(Acl::ListIndexes), handler!(indices::list)),
    // §4.6 synonyms
    row(Put, "/1/indexes/{indexName}/synonyms/{objectID}", EDIT, handler!(documents::save_one, Synonyms)),
    row(Post, "/1/indexes/{indexName}/synonyms/batch", EDIT, handler!(documents::save_many, Synonyms)).body(Records),
    row(Get, "/1/indexes/{indexName}/synonyms/{objectID}", SETTINGS, handler!(documents::get, Synonyms)),
    row(Post, "/1/indexes/{indexName}/synonyms/clear", EDIT, handler!(documents::clear, Synonyms)),
    row(Delete, "/1/indexes/{indexName}/synonyms/{objectID}", EDIT, handler!(documents::delete, Synonyms)),
    row(Post, "/1/indexes/{indexName}/synonyms/search", SETTINGS, handler!(documents::search, Synonyms)).body(Search).is(Work::Read),
    // §4.7 keys
    row(Post, "/1/keys", ADMIN, handler!(keys::create)).body(Search),
    row(Put, "/1/keys/{key}", ADMIN, handler!(keys::update)).body(Search),
    row(Get, "/1/keys", ADMIN, handler!(keys::list)),
    row(Get, "/1/keys/{key}", Need::AnyKey, handler!(keys::get)),
    row(Delete, "/1/keys/{key}", ADMIN, handler!(keys::delete)),
    row(Post, "/1/keys/{key}/restore", ADMIN, handler!(keys::restore)),
    row(Post, "/1/indexes/{indexName}/keys", ADMIN, handler!(keys::create_of_index)).body(Search),
    row(Put, "/1/indexes/{indexName}/keys/{key}", ADMIN, handler!(keys::update_of_index)).body(Search),
    row(Get, "/1/indexes/{indexName}/keys", ADMIN, handler!(keys::list_of_index)),
    row(Get, "/1/indexes/*/keys", ADMIN, handler!(keys::list_of_indices)),
    row(Get, "/1/indexes/{indexName}/keys/{key}", ADMIN, handler!(keys::get_of_index)),
    row(Delete, "/1/indexes/{indexName}/keys/{key}", ADMIN, handler!(keys::delete_of_index)),
    // §4.8 rules
    row(Put, "/1/indexes/{indexName}/rules/{objectID}", EDIT, handler!(documents::save_one, Rules)),
    row(Post, "/1/indexes/{indexName}/rules/batch", EDIT, handler!(documents::save_many, Rules)).body(Records),
    row(Get, "/1/indexes/{indexName}/rules/{objectID}", SETTINGS, handler!(documents::get, Rules)),
    row(Delete, "/1/indexes/{indexName}/rules/{objectID}", EDIT, handler!(documents::delete, Rules)),
    row(Post, "/1/indexes/{indexName}/rules/clear", EDIT, handler!(documents::clear, Rules)),
    row(Post, "/1/indexes/{indexName}/rules/search", SETTINGS, handler!(documents::search, Rules)).body(Search).is(Work::Read),
    // §4.9 dictionaries
    row(Post, "/1/dictionaries/{dictionaryName}/batch", EDIT, handler!(dictionaries::batch)).body(Entries),
    row(Get, "/1/dictionaries/{dictionaryName}/search", SETTINGS, handler!(dictionaries::get)),
    row(Post, "/1/dictionaries/{dictionaryName}/search", SETTINGS, handler!(dictionaries::post)).body(Search).is(Work::Read),
    row(Put, "/1/dictionaries/*/settings", EDIT, handler!(dictionaries::set_settings)),
    row(Get, "/1/dictionaries/*/settings", SETTINGS, handler!(dictionaries::settings)),
    row(Get, "/1/dictionaries/*/languages", SETTINGS, handler!(dictionaries::languages)),
    // §4.10 multi-cluster
    row(Post, "/1/clusters/mapping", ADMIN, handler!(clusters::assign)),
    row(Post, "/1/clusters/mapping/batch", ADMIN, handler!(clusters::assign_many)),
    row(Get, "/1/clusters/mapping/top", ADMIN, handler!(clusters::top)),
    row(Get, "/1/clusters/mapping/{userID}", ADMIN, handler!(clusters::get)),
    row(Get, "/1/clusters", ADMIN, handler!(clusters::clusters)),
    row(Get, "/1/clusters/mapping", ADMIN, handler!(clusters::list)),
    row(Delete, "/1/clusters/mapping/{userID}", ADMIN, handler!(clusters::remove)),
    row(Delete, "/1/clusters/mapping", ADMIN, handler!(clusters::remove)),
    row(Post, "/1/clusters/mapping/search", ADMIN, handler!(clusters::search)).body(Search).is(Work::Read),
    row(Get, "/1/clusters/mapping/pending", ADMIN, handler!(clusters::pending)),
    // §4.11 allowlist
    row(Get, "/1/security/sources", ADMIN, handler!(sources::list)),
    row(Put, "/1/security/sources", ADMIN, handler!(sources::set)),
    row(Post, "/1/security/sources/append", ADMIN, handler!(sources::append)),
    row(Delete, "/1/security/sources/{source}", ADMIN, handler!(sources::delete)),
    // §4.12 logs and tasks
    row(Get, "/1/logs", Need::Right(Acl::Logs), LOGS),
    row(Get, "/1/indexes/{indexName}/task/{taskID}", ADD, handler!(tasks::of_index)).is(Work::Either),
    row(Get, "/1/task/{taskID}", EDIT, handler!(tasks::any)).is(Work::Either),
    // §4.13 query suggestions
    row(Post, "/1/configs", SETTINGS, SUGGESTIONS),
    row(Put, "/1/configs/{indexName}", EDIT, SUGGESTIONS),
    row(Delete, "/1/configs/{indexName}", EDIT, SUGGESTIONS),
    row(Get, "/1/configs/{indexName}", SETTINGS, SUGGESTIONS),
    row(Get, "/1/configs/{indexName}/status", SETTINGS, SUGGESTIONS),
    row(Get, "/1/configs", SETTINGS, SUGGESTIONS),
    row(Get, "/1/logs/{indexName}", SETTINGS, SUGGESTIONS),
    // §4.14 recommend
    row(Post, "/1/indexes/*/recommendations", SEARCH, RECOMMEND).is(Work::Read),
    row(Post, "/1/indexes/{indexName}/{model}/recommend/rules/batch", EDIT, RECOMMEND),
    row(Get, "/1/indexes/{indexName}/{model}/recommend/rules/{objectID}", SETTINGS, RECOMMEND),
    row(Delete, "/1/indexes/{indexName}/{model}/recommend/rules/{objectID}", EDIT, RECOMMEND),
    row(Post, "/1/indexes/{indexName}/{model}/recommend/rules/search", SETTINGS, RECOMMEND).is(Work::Read),
    row(Get, "/1/indexes/{indexName}/{model}/task/{taskID}", EDIT, RECOMMEND).is(Work::Either),
    // §4.15 insights
    row(Post, "/1/events", SEARCH, INSIGHTS),
    row(Delete, "/1/usertokens/{userToken}", DELETE_OBJECT, INSIGHTS),
    // C§3.3 what official clients call beside the card
    row(Get, "/1/recommendation/personalization/strategy", RECOMMENDATION, PERSONALIZATION),
    row(Post, "/1/recommendation/personalization/strategy", RECOMMENDATION, PERSONALIZATION),
    row(Get, "/1/strategies/personalization", RECOMMENDATION, PERSONALIZATION),
    row(Post, "/1/strategies/personalization", RECOMMENDATION, PERSONALIZATION),
    row(Get, "/1/isalive", Need::Nothing, handler!(operations::live)).is(Work::Watch),
    row(Get, "/1/health", Need::Nothing, handler!(operations::ready)).is(Work::Watch),
    row(Get, "/health", Need::Nothing, handler!(operations::ready)).is(Work::Watch),
    // operation
    row(Get, "/livez", Need::Nothing, handler!(operations::live)).is(Work::Watch),
    row(Get, "/readyz", Need::Nothing, handler!(operations::ready)).is(Work::Watch),
    row(Get, "/metrics", Need::Nothing, handler!(operations::metrics)).is(Work::Operate),
    // the installation, for operators
    row(Get, "/admin/cluster", ADMIN, handler!(admin::overview)).is(Work::Operate),
    row(Get, "/admin/cluster/digest", ADMIN, handler!(admin::digest)).is(Work::Operate),
    row(Post, "/admin/nodes/{node}/drain", ADMIN, handler!(admin::drain)).is(Work::Operate),
    row(Post, "/admin/nodes/{node}/undrain", ADMIN, handler!(admin::undrain)).is(Work::Operate),
    row(Post, "/admin/nodes/{node}/replace", ADMIN, handler!(admin::replace)).is(Work::Operate),
    row(Delete, "/admin/nodes/{node}", ADMIN, handler!(admin::remove)).is(Work::Operate),
    row(Post, "/admin/groups/{group}/leader", ADMIN, handler!(admin::transfer)).is(Work::Operate),
    row(Post, "/admin/admin-key", ADMIN, handler!(admin::replace_admin_key)).is(Work::Operate),
    row(Post, "/admin/recover", ADMIN, handler!(admin::recovery)).is(Work::Operate),
];

#[cfg(test)]
mod tests {
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
        check(
            Verb::Post,
            "/1/indexes/%E6%97%A5%E6%9C%AC/query",
            Ok(("/1/indexes/{indexName}/query", &["日本"])),
        );
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
}
