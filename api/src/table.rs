//! Which routes are there, what right does each need, and who answers?
//!
//! A row also says what kind of work it is, so that a listener can be kept to one kind (C§1.4), and how its body is read. A row
//! whose handler is `missing!` is part of the interface but not built yet; it answers 404 with the text.

use crate::call::Call;
use crate::reply::{JSON_LINES, Reply};
use crate::routes::BodyKind::{Entries, Events, Lines, Records, Search, Several};
use crate::routes::Verb::{self, Delete, Get, Post, Put};
use crate::routes::{Argument, Need, Route, Router, Work, choice, count, flag, text};
use crate::{
    admin, analytics, clusters, dictionaries, indices, insights, keys, logs, objects, openapi, operations,
    recommend, resources, search, settings, sources, suggestions, tasks,
};
use futures_util::future::LocalBoxFuture;
use quorate_model::ResourceKind::{Rules, Synonyms};
use quorate_model::{Acl, Error, ErrorKind, Result};
use quorate_wire::analytics::Endpoint;
use quorate_wire::schema as body;
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
const ANALYTICS: Need = Need::Right(Acl::Analytics);
const RECOMMENDATION: Need = Need::Right(Acl::Recommendation);
const ADMIN: Need = Need::Admin;
const PERSONALIZATION: Handler = missing!("Personalization");

// what may stand in the query string of several rows
const FORWARD: Argument = flag("forwardToReplicas", "Does the same to the replicas of the index.");
/// Which models of recommendations.
const MODEL_PAGE: &[Argument] = &[
    count("page", 0, u64::MAX, "Number of the page, from 0 on."),
    count("hitsPerPage", 1, 1_000, "Models of a page."),
];
const MODEL_SUM: &[Argument] = &[text("sha256", "What the body has to have, 64 hexadecimal digits.")];
/// Which rows of events.
const EVENT_ROWS: &[Argument] = &[
    count("group", 1, 65_535, "Number of a group, as GET /admin/events shows it."),
    text("day", "A day (UTC) as YYYY-MM-DD."),
    text("index", "Only rows of this index."),
    text("after", "What the answer before had as next."),
];
const FORCE: Argument = flag("force", "Also when copies of records may be lost by it.");
const ONLY_ERRORS: Argument = flag("onlyErrors", "An earlier form of type=error.");
const FORWARD_EARLIER: Argument = flag("forwardToSlaves", "An earlier name of forwardToReplicas.");
const PAGE: Argument = count("page", 0, u32::MAX as u64, "Page, from zero.");
const HITS_PER_PAGE: Argument = count("hitsPerPage", 1, 1_000, "Entries of a page.");
const QUERY: Argument = text("query", "What is searched for.");
const ATTRIBUTES: &[Argument] = &[
    text("attributesToRetrieve", "The attributes that are shown, with commas."),
    text("attributes", "An earlier name of attributesToRetrieve."),
];
const INDEX: Argument = text("index", "The index; required.");
const FIRST_DAY: Argument =
    text("startDate", "The first day (UTC), YYYY-MM-DD; seven days before the last one when absent.");
const LAST_DAY: Argument = text("endDate", "The last day (UTC), YYYY-MM-DD; today when absent.");
const TAGS: Argument = text("tags", "Only searches with these tags, joined by AND and OR.");
const LIMIT: Argument = count("limit", 0, 1_000, "Entries of the list; 10 when absent.");
const OFFSET: Argument = count("offset", 0, u32::MAX as u64, "Entries that are passed over.");
const OF_SEARCH: Argument = text("search", "Only searches with this query.");
const CLICKS: Argument = flag("clickAnalytics", "Whether figures of clicks and conversions are added.");
const REVENUE: Argument = flag("revenueAnalytics", "Whether figures of purchases are added, too.");
const ORDER: Argument = choice(
    "orderBy",
    &["searchCount", "clickThroughRate", "conversionRate", "averageClickPosition"],
    "What the list is ordered by.",
);
const DIRECTION: Argument =
    choice("direction", &["asc", "desc"], "Whether the least or the most comes first.");
const OF_RANGE: &[Argument] = &[INDEX, FIRST_DAY, LAST_DAY, TAGS];
const LISTED: &[Argument] = &[INDEX, FIRST_DAY, LAST_DAY, TAGS, LIMIT, OFFSET];
const LISTED_OF: &[Argument] = &[INDEX, FIRST_DAY, LAST_DAY, TAGS, LIMIT, OFFSET, OF_SEARCH];
const TOP_SEARCHES: &[Argument] =
    &[INDEX, FIRST_DAY, LAST_DAY, TAGS, LIMIT, OFFSET, CLICKS, REVENUE, ORDER, DIRECTION];
const TOP_HITS: &[Argument] = &[INDEX, FIRST_DAY, LAST_DAY, TAGS, LIMIT, OFFSET, OF_SEARCH, CLICKS, REVENUE];
const HEALTH: &[Argument] = &[
    choice("for", &["read", "write"], "One kind of work."),
    flag("writes", "Whether writes must be possible, too."),
];
const DICTIONARY_SEARCH: &[Argument] =
    &[QUERY, PAGE, HITS_PER_PAGE, text("language", "Only entries of this language.")];
const SYNONYM_SEARCH: &[Argument] = &[QUERY, PAGE, HITS_PER_PAGE, text("type", "Types, with commas.")];
const LOGGED: &[Argument] = &[
    count("offset", 0, u64::MAX, "How many of the newest are passed over."),
    count("length", 0, 1_000, "How many are listed; 10 when absent."),
    text("indexName", "Only calls that were about this index."),
    choice("type", &["all", "query", "build", "error"], "Only searches, changes or failed calls."),
    ONLY_ERRORS,
];
const RECOMMEND_RULE_SEARCH: &[Argument] = &[
    QUERY,
    PAGE,
    HITS_PER_PAGE,
    text("filters", "Only rules whose members pass."),
    text("context", "Only rules with a condition of this context."),
    flag("enabled", "Only rules that are enabled, or that are not."),
];
const RULE_SEARCH: &[Argument] = &[
    QUERY,
    PAGE,
    HITS_PER_PAGE,
    text("anchoring", "Only rules with a condition of this anchoring."),
    text("context", "Only rules with a condition of this context."),
    flag("enabled", "Only rules that are enabled, or that are not."),
];

/// Every row: one for each method and path (C§3).
#[rustfmt::skip]
pub static ROUTES: &[Route<Handler>] = &[
    // C§2 search
    row(Post, "/1/indexes/{indexName}/query", SEARCH, handler!(search::query::post)).query()
        .says("Searches an index").takes::<body::SearchParameters>().gives::<body::SearchAnswer>(200),
    row(Get, "/1/indexes/{indexName}", SEARCH, handler!(search::query::get)).query()
        .says("Searches an index").with_search_parameters().gives::<body::SearchAnswer>(200),
    row(Post, "/1/indexes/*/queries", SEARCH, handler!(search::multi::post)).query().body(Several)
        .says("Runs several queries").takes::<body::MultiSearch>().gives::<body::MultiSearchAnswer>(200),
    row(Post, "/1/indexes/{indexName}/facets/{facetName}/query", SEARCH, handler!(search::facet::post)).query()
        .says("Searches the values of a facet").takes::<body::FacetSearch>().gives::<body::FacetValues>(200),
    row(Post, "/1/indexes/{indexName}/browse", BROWSE, handler!(search::browse::post)).body(Search).is(Work::Read)
        .says("Reads an index, page by page").takes::<body::SearchParameters>().gives::<body::SearchAnswer>(200),
    row(Get, "/1/indexes/{indexName}/browse", BROWSE, handler!(search::browse::get)).body(Search)
        .says("Reads an index, page by page").with_search_parameters().gives::<body::SearchAnswer>(200),
    // C§3.5 objects
    row(Post, "/1/indexes/{indexName}", ADD, handler!(objects::one::add)).body(Records)
        .says("Adds a record").takes::<body::Record>().gives::<body::Created>(201),
    row(Put, "/1/indexes/{indexName}/{objectID}", ADD, handler!(objects::one::put)).body(Records)
        .says("Adds or replaces a record").takes::<body::Record>().gives::<body::UpdatedObject>(201),
    row(Delete, "/1/indexes/{indexName}/{objectID}", DELETE_OBJECT, handler!(objects::one::delete))
        .says("Deletes a record").gives::<body::Deleted>(200),
    row(Post, "/1/indexes/{indexName}/deleteByQuery", DELETE_INDEX, handler!(objects::many::delete_by)).body(Search)
        .says("Deletes the records that filters select").takes::<body::RecordsSelected>().gives::<body::Deleted>(200),
    row(Post, "/1/indexes/{indexName}/clear", DELETE_INDEX, handler!(objects::many::clear))
        .says("Deletes all records").gives::<body::Updated>(200),
    row(Post, "/1/indexes/{indexName}/{objectID}/partial", ADD, handler!(objects::one::partial)).body(Records)
        .says("Changes attributes of a record").with(&[flag("createIfNotExists", "Whether a missing record is made.")]).takes::<body::Record>().gives::<body::UpdatedObject>(200),
    row(Post, "/1/indexes/{indexName}/batch", Need::PerOperation, handler!(objects::batch::one_index)).body(Records)
        .says("Does several operations on an index").takes::<body::Batch>().gives::<body::BatchWritten>(200),
    row(Post, "/1/indexes/*/batch", Need::PerOperation, handler!(objects::batch::many_indices)).body(Records)
        .says("Does several operations on several indices").takes::<body::MultiBatch>().gives::<body::MultiBatchWritten>(200),
    row(Post, "/1/indexes/*/objects", SEARCH, handler!(objects::get::many)).body(Several).is(Work::Read)
        .says("Reads records").takes::<body::ObjectsWanted>().gives::<body::ObjectsFound>(200),
    row(Get, "/1/indexes/{indexName}/{objectID}", SEARCH, handler!(objects::get::one))
        .says("Reads a record").with(ATTRIBUTES).gives::<body::Record>(200),
    // C§4.9 settings
    row(Get, "/1/indexes/{indexName}/settings", SETTINGS, handler!(settings::get))
        .says("Reads settings").with(&[count("getVersion", 1, 2, "Form of the answer.")]).gives::<body::SettingsChange>(200),
    row(Put, "/1/indexes/{indexName}/settings", EDIT, handler!(settings::set))
        .says("Changes settings").with(&[FORWARD, FORWARD_EARLIER]).takes::<body::SettingsChange>().gives::<body::Updated>(200),
    // C§3.2 indices
    row(Delete, "/1/indexes/{indexName}", DELETE_INDEX, handler!(indices::delete))
        .says("Deletes an index").gives::<body::Deleted>(200),
    row(Post, "/1/indexes/{indexName}/operation", ADD, handler!(indices::operation))
        .says("Copies or renames an index").takes::<body::Operation>().gives::<body::Updated>(200),
    row(Get, "/1/indexes", Need::Right(Acl::ListIndexes), handler!(indices::list))
        .says("Lists indices").with(&[PAGE, HITS_PER_PAGE]).gives::<body::IndexList>(200),
    // C§11 synonyms
    row(Put, "/1/indexes/{indexName}/synonyms/{objectID}", EDIT, handler!(resources::save_synonym))
        .says("Saves a synonym").with(&[FORWARD, FORWARD_EARLIER]).takes::<body::SynonymDocument>().gives::<body::SavedSynonym>(200),
    row(Post, "/1/indexes/{indexName}/synonyms/batch", EDIT, handler!(resources::save_many, Synonyms)).body(Records)
        .says("Saves synonyms").with(&[FORWARD, FORWARD_EARLIER, flag("replaceExistingSynonyms", "Deletes all others.")]).takes::<body::SynonymDocuments>().gives::<body::Updated>(200),
    row(Get, "/1/indexes/{indexName}/synonyms/{objectID}", SETTINGS, handler!(resources::get, Synonyms))
        .says("Reads a synonym").gives::<body::SynonymDocument>(200),
    row(Post, "/1/indexes/{indexName}/synonyms/clear", EDIT, handler!(resources::clear, Synonyms))
        .says("Deletes all synonyms").with(&[FORWARD, FORWARD_EARLIER]).gives::<body::Updated>(200),
    row(Delete, "/1/indexes/{indexName}/synonyms/{objectID}", EDIT, handler!(resources::delete, Synonyms))
        .says("Deletes a synonym").with(&[FORWARD, FORWARD_EARLIER]).gives::<body::Deleted>(200),
    row(Post, "/1/indexes/{indexName}/synonyms/search", SETTINGS, handler!(resources::search, Synonyms)).body(Search).is(Work::Read)
        .says("Searches synonyms").with(SYNONYM_SEARCH).takes::<body::SynonymSearch>().gives::<body::SynonymsFound>(200),
    // C§13.1 keys
    row(Post, "/1/keys", ADMIN, handler!(keys::create)).body(Search)
        .says("Makes a key").takes::<body::KeyWanted>().gives::<body::KeyCreated>(200),
    row(Put, "/1/keys/{key}", ADMIN, handler!(keys::update)).body(Search)
        .says("Changes a key: what is not given gets its default").takes::<body::KeyWanted>().gives::<body::KeyUpdated>(200),
    row(Get, "/1/keys", ADMIN, handler!(keys::list))
        .says("Lists the keys for more than one index").gives::<body::Keys>(200),
    row(Get, "/1/keys/{key}", Need::AnyKey, handler!(keys::get))
        .says("Reads a key: the own one, or any with the admin key").gives::<body::Key>(200),
    row(Delete, "/1/keys/{key}", ADMIN, handler!(keys::delete))
        .says("Deletes a key").gives::<body::DeletedAt>(200),
    row(Post, "/1/keys/{key}/restore", ADMIN, handler!(keys::restore))
        .says("Restores a deleted key").gives::<body::KeyCreated>(200),
    row(Post, "/1/indexes/{indexName}/keys", ADMIN, handler!(keys::create_of_index)).body(Search)
        .says("Makes a key for an index alone").takes::<body::IndexKeyWanted>().gives::<body::KeyCreated>(200),
    row(Put, "/1/indexes/{indexName}/keys/{key}", ADMIN, handler!(keys::update_of_index)).body(Search)
        .says("Changes a key for an index alone").takes::<body::IndexKeyWanted>().gives::<body::KeyUpdated>(200),
    row(Get, "/1/indexes/{indexName}/keys", ADMIN, handler!(keys::list_of_index))
        .says("Lists the keys for an index alone").gives::<body::Keys>(200),
    row(Get, "/1/indexes/*/keys", ADMIN, handler!(keys::list_of_indices))
        .says("Lists the keys for one index each").gives::<body::Keys>(200),
    row(Get, "/1/indexes/{indexName}/keys/{key}", ADMIN, handler!(keys::get_of_index))
        .says("Reads a key for an index alone").gives::<body::Key>(200),
    row(Delete, "/1/indexes/{indexName}/keys/{key}", ADMIN, handler!(keys::delete_of_index))
        .says("Deletes a key for an index alone").gives::<body::DeletedAt>(200),
    // C§10 rules
    row(Put, "/1/indexes/{indexName}/rules/{objectID}", EDIT, handler!(resources::save_rule))
        .says("Saves a rule").with(&[FORWARD, FORWARD_EARLIER]).takes::<body::RuleDocument>().gives::<body::UpdatedObject>(200),
    row(Post, "/1/indexes/{indexName}/rules/batch", EDIT, handler!(resources::save_many, Rules)).body(Records)
        .says("Saves rules").with(&[FORWARD, FORWARD_EARLIER, flag("clearExistingRules", "Deletes all others.")]).takes::<body::RuleDocuments>().gives::<body::Updated>(200),
    row(Get, "/1/indexes/{indexName}/rules/{objectID}", SETTINGS, handler!(resources::get, Rules))
        .says("Reads a rule").gives::<body::RuleDocument>(200),
    row(Delete, "/1/indexes/{indexName}/rules/{objectID}", EDIT, handler!(resources::delete, Rules))
        .says("Deletes a rule").with(&[FORWARD, FORWARD_EARLIER]).gives::<body::Deleted>(200),
    row(Post, "/1/indexes/{indexName}/rules/clear", EDIT, handler!(resources::clear, Rules))
        .says("Deletes all rules").with(&[FORWARD, FORWARD_EARLIER]).gives::<body::Updated>(200),
    row(Post, "/1/indexes/{indexName}/rules/search", SETTINGS, handler!(resources::search, Rules)).body(Search).is(Work::Read)
        .says("Searches rules").with(RULE_SEARCH).takes::<body::RuleSearch>().gives::<body::RulesFound>(200),
    // C§12.1 dictionaries
    row(Post, "/1/dictionaries/{dictionaryName}/batch", EDIT, handler!(dictionaries::batch)).body(Entries)
        .says("Changes entries of a dictionary").takes::<body::DictionaryBatch>().gives::<body::Updated>(200),
    row(Get, "/1/dictionaries/{dictionaryName}/search", SETTINGS, handler!(dictionaries::get))
        .says("Searches entries of a dictionary").with(DICTIONARY_SEARCH).gives::<body::DictionaryEntries>(200),
    row(Post, "/1/dictionaries/{dictionaryName}/search", SETTINGS, handler!(dictionaries::post)).body(Search).is(Work::Read)
        .says("Searches entries of a dictionary").with(DICTIONARY_SEARCH).takes::<body::DictionarySearch>().gives::<body::DictionaryEntries>(200),
    row(Put, "/1/dictionaries/*/settings", EDIT, handler!(dictionaries::set_settings))
        .says("Switches standard entries off and on").takes::<body::DictionarySettings>().gives::<body::Updated>(200),
    row(Get, "/1/dictionaries/*/settings", SETTINGS, handler!(dictionaries::settings))
        .says("Says which standard entries are switched off").gives::<body::DictionarySettings>(200),
    row(Get, "/1/dictionaries/*/languages", SETTINGS, handler!(dictionaries::languages))
        .says("Says which languages have which dictionaries").gives::<body::DictionaryLanguages>(200),
    // C§15 multi-cluster
    row(Post, "/1/clusters/mapping", ADMIN, handler!(clusters::assign))
        .says("Assigns or moves a user").takes::<body::Assignment>().gives::<body::CreatedAt>(200),
    row(Post, "/1/clusters/mapping/batch", ADMIN, handler!(clusters::assign_many))
        .says("Assigns users").takes::<body::Assignments>().gives::<body::CreatedAt>(200),
    row(Get, "/1/clusters/mapping/top", ADMIN, handler!(clusters::top))
        .says("Shows the users with the most records").gives::<body::TopUsers>(200),
    row(Get, "/1/clusters/mapping/{userID}", ADMIN, handler!(clusters::get))
        .says("Reads where a user is").gives::<body::MappedUser>(200),
    row(Get, "/1/clusters", ADMIN, handler!(clusters::clusters))
        .says("Lists clusters").gives::<body::Clusters>(200),
    row(Get, "/1/clusters/mapping", ADMIN, handler!(clusters::list))
        .says("Lists users").with(&[PAGE, HITS_PER_PAGE]).gives::<body::MappedUsers>(200),
    row(Delete, "/1/clusters/mapping/{userID}", ADMIN, handler!(clusters::remove))
        .says("Removes a user").gives::<body::DeletedAt>(200),
    row(Delete, "/1/clusters/mapping", ADMIN, handler!(clusters::remove))
        .says("Removes a user").gives::<body::DeletedAt>(200),
    row(Post, "/1/clusters/mapping/search", ADMIN, handler!(clusters::search)).body(Search).is(Work::Read)
        .says("Searches users").takes::<body::UserSearch>().gives::<body::UsersFound>(200),
    row(Get, "/1/clusters/mapping/pending", ADMIN, handler!(clusters::pending))
        .says("Says which users are being moved or removed").with(&[flag("getClusters", "Whether they are named.")]).gives::<body::PendingUsers>(200),
    // C§13.5 allowlist
    row(Get, "/1/security/sources", ADMIN, handler!(sources::list))
        .says("Lists the networks that calls may come from").gives::<body::Sources>(200),
    row(Put, "/1/security/sources", ADMIN, handler!(sources::set))
        .says("Replaces the list of networks that calls may come from").takes::<body::Sources>().gives::<body::UpdatedAt>(200),
    row(Post, "/1/security/sources/append", ADMIN, handler!(sources::append))
        .says("Lets calls come from one more network").takes::<body::Source>().gives::<body::CreatedAt>(200),
    row(Delete, "/1/security/sources/{source}", ADMIN, handler!(sources::delete))
        .says("Removes a network from the list").gives::<body::DeletedAt>(200),
    // C§14 logs, C§1.6 tasks
    row(Get, "/1/logs", Need::Right(Acl::Logs), handler!(logs::list))
        .says("Lists the calls that the nodes of the cluster have answered lately, the newest first").with(LOGGED).gives::<body::Logs>(200),
    row(Get, "/1/indexes/{indexName}/task/{taskID}", ADD, handler!(tasks::of_index)).is(Work::Either)
        .says("Says whether readers see what a write has changed").gives::<body::Task>(200),
    row(Get, "/1/task/{taskID}", EDIT, handler!(tasks::any)).is(Work::Either)
        .says("Says whether readers see what a write has changed").gives::<body::Task>(200),
    // C§16.4 query suggestions
    row(Post, "/1/configs", SETTINGS, handler!(suggestions::create)).body(Search)
        .says("Makes a configuration of query suggestions").takes::<body::SuggestionsWanted>().gives::<body::SuggestionsChanged>(200),
    row(Put, "/1/configs/{indexName}", EDIT, handler!(suggestions::set)).body(Search)
        .says("Replaces a configuration of query suggestions, or makes it").takes::<body::SuggestionsWanted>().gives::<body::SuggestionsChanged>(200),
    row(Delete, "/1/configs/{indexName}", EDIT, handler!(suggestions::delete))
        .says("Deletes a configuration of query suggestions; the index stays").gives::<body::SuggestionsChanged>(200),
    row(Get, "/1/configs/{indexName}", SETTINGS, handler!(suggestions::get))
        .says("Reads a configuration of query suggestions").gives::<body::SuggestionsConfig>(200),
    row(Get, "/1/configs/{indexName}/status", SETTINGS, handler!(suggestions::status))
        .says("Says whether a suggestions index is being built").gives::<body::SuggestionsStatus>(200),
    row(Get, "/1/configs", SETTINGS, handler!(suggestions::list))
        .says("Lists the configurations of query suggestions").gives::<body::SuggestionsConfigs>(200),
    row(Get, "/1/logs/{indexName}", SETTINGS, handler!(suggestions::log))
        .says("Shows the log of the last build of a suggestions index").gives_lines::<body::SuggestionsLog>(JSON_LINES),
    // C§17 recommend
    row(Post, "/1/indexes/*/recommendations", SEARCH, handler!(recommend::post)).query().body(Several)
        .says("Recommends what goes with a record, or is trending").takes::<body::RecommendCall>().gives::<body::RecommendAnswer>(200),
    row(Post, "/1/indexes/{indexName}/{model}/recommend/rules/batch", EDIT, handler!(resources::recommend::save_many)).body(Records)
        .says("Saves rules of a model of recommendations").with(&[flag("clearExistingRules", "Deletes all others.")]).takes::<body::RecommendRuleDocuments>().gives::<body::Updated>(200),
    row(Get, "/1/indexes/{indexName}/{model}/recommend/rules/{objectID}", SETTINGS, handler!(resources::recommend::get))
        .says("Reads a rule of a model of recommendations").gives::<body::RecommendRuleDocument>(200),
    row(Delete, "/1/indexes/{indexName}/{model}/recommend/rules/{objectID}", EDIT, handler!(resources::recommend::delete))
        .says("Deletes a rule of a model of recommendations").gives::<body::Deleted>(200),
    row(Post, "/1/indexes/{indexName}/{model}/recommend/rules/search", SETTINGS, handler!(resources::recommend::search)).body(Search).is(Work::Read)
        .says("Searches rules of a model of recommendations").with(RECOMMEND_RULE_SEARCH).takes::<body::RecommendRuleSearch>().gives::<body::RecommendRulesFound>(200),
    row(Get, "/1/indexes/{indexName}/{model}/task/{taskID}", EDIT, handler!(resources::recommend::task)).is(Work::Either)
        .says("Says whether readers see what a write has changed").gives::<body::Task>(200),
    // C§18 insights
    row(Post, "/1/events", SEARCH, handler!(insights::add)).body(Events)
        .says("Keeps what users did").takes::<body::EventBatch>().gives::<body::EventsTaken>(200),
    row(Delete, "/1/usertokens/{userToken}", DELETE_OBJECT, handler!(insights::forget))
        .says("Forgets what a user did").gives_nothing(),
    // C§18.5 analytics
    row(Get, "/2/searches", ANALYTICS, handler!(analytics::get, Endpoint::TopSearches))
        .says("Lists the most frequent queries").with(TOP_SEARCHES).gives::<body::TopSearches>(200),
    row(Get, "/2/searches/count", ANALYTICS, handler!(analytics::get, Endpoint::SearchCount))
        .says("Counts searches").with(OF_RANGE).gives::<body::DailyCounts>(200),
    row(Get, "/2/searches/noResults", ANALYTICS, handler!(analytics::get, Endpoint::WithoutResults))
        .says("Lists the most frequent queries without results").with(LISTED).gives::<body::SearchesWithoutResults>(200),
    row(Get, "/2/searches/noClicks", ANALYTICS, handler!(analytics::get, Endpoint::WithoutClicks))
        .says("Lists the most frequent queries without clicks").with(LISTED).gives::<body::SearchesWithoutClicks>(200),
    row(Get, "/2/searches/noResultRate", ANALYTICS, handler!(analytics::get, Endpoint::NoResultRate))
        .says("Says how many searches have no results").with(OF_RANGE).gives::<body::NoResultRates>(200),
    row(Get, "/2/searches/noClickRate", ANALYTICS, handler!(analytics::get, Endpoint::NoClickRate))
        .says("Says how many searches have no clicks").with(OF_RANGE).gives::<body::NoClickRates>(200),
    row(Get, "/2/hits", ANALYTICS, handler!(analytics::get, Endpoint::TopHits))
        .says("Lists the records that are shown most").with(TOP_HITS).gives::<body::TopHits>(200),
    row(Get, "/2/users/count", ANALYTICS, handler!(analytics::get, Endpoint::UserCount))
        .says("Counts users who searched").with(OF_RANGE).gives::<body::DailyCounts>(200),
    row(Get, "/2/filters", ANALYTICS, handler!(analytics::get, Endpoint::FilterAttributes))
        .says("Lists the attributes that are filtered by most").with(LISTED_OF).gives::<body::TopFilterAttributes>(200),
    row(Get, "/2/filters/noResults", ANALYTICS, handler!(analytics::get, Endpoint::FiltersWithoutResults))
        .says("Lists the filters of searches without results").with(LISTED_OF).gives::<body::FiltersWithoutResults>(200),
    row(Get, "/2/filters/{attribute}", ANALYTICS, handler!(analytics::get, Endpoint::FiltersOf))
        .says("Lists the filters of an attribute that are used most").with(LISTED_OF).gives::<body::TopFilters>(200),
    row(Get, "/2/countries", ANALYTICS, handler!(analytics::get, Endpoint::Countries))
        .says("Lists the countries with most searches").with(LISTED).gives::<body::TopCountries>(200),
    row(Get, "/2/clicks/averageClickPosition", ANALYTICS, handler!(analytics::get, Endpoint::AverageClickPosition))
        .says("Says at which position results are clicked on the average").with(OF_RANGE).gives::<body::AverageClickPositions>(200),
    row(Get, "/2/clicks/positions", ANALYTICS, handler!(analytics::get, Endpoint::ClickPositions))
        .says("Says at which positions results are clicked").with(OF_RANGE).gives::<body::ClickPositions>(200),
    row(Get, "/2/clicks/clickThroughRate", ANALYTICS, handler!(analytics::get, Endpoint::ClickThroughRate))
        .says("Says after how many searches something is clicked").with(OF_RANGE).gives::<body::ClickThroughRates>(200),
    row(Get, "/2/conversions/conversionRate", ANALYTICS, handler!(analytics::get, Endpoint::ConversionRate))
        .says("Says after how many searches there is a conversion").with(OF_RANGE).gives::<body::ConversionRates>(200),
    row(Get, "/2/conversions/addToCartRate", ANALYTICS, handler!(analytics::get, Endpoint::AddToCartRate))
        .says("Says after how many searches something is put into a basket").with(OF_RANGE).gives::<body::AddToCartRates>(200),
    row(Get, "/2/conversions/purchaseRate", ANALYTICS, handler!(analytics::get, Endpoint::PurchaseRate))
        .says("Says after how many searches something is bought").with(OF_RANGE).gives::<body::PurchaseRates>(200),
    row(Get, "/2/conversions/revenue", ANALYTICS, handler!(analytics::get, Endpoint::Revenue))
        .says("Says what was paid after searches").with(OF_RANGE).gives::<body::Revenues>(200),
    row(Get, "/2/status", ANALYTICS, handler!(analytics::status))
        .says("Says when figures of searches are of").with(&[INDEX]).gives::<body::AnalyticsStatus>(200),
    // C§3.3 what official clients call beside the main ones
    row(Get, "/1/recommendation/personalization/strategy", RECOMMENDATION, PERSONALIZATION),
    row(Post, "/1/recommendation/personalization/strategy", RECOMMENDATION, PERSONALIZATION),
    row(Get, "/1/strategies/personalization", RECOMMENDATION, PERSONALIZATION),
    row(Post, "/1/strategies/personalization", RECOMMENDATION, PERSONALIZATION),
    row(Get, "/1/isalive", Need::Nothing, handler!(operations::live)).is(Work::Watch)
        .says("Says that the process answers").gives::<body::Message>(200),
    row(Get, "/1/health", Need::Nothing, handler!(operations::ready)).is(Work::Watch)
        .says("Says whether the node can do its work").with(HEALTH).gives::<body::Health>(200).or(503),
    row(Get, "/health", Need::Nothing, handler!(operations::ready)).is(Work::Watch)
        .says("Says whether the node can do its work").with(HEALTH).gives::<body::Health>(200).or(503),
    // operation
    row(Get, "/livez", Need::Nothing, handler!(operations::live)).is(Work::Watch)
        .says("Says that the process answers").gives::<body::Message>(200),
    row(Get, "/readyz", Need::Nothing, handler!(operations::ready)).is(Work::Watch)
        .says("Says whether the node can do its work").with(HEALTH).gives::<body::Health>(200).or(503),
    row(Get, "/metrics", Need::Nothing, handler!(operations::metrics)).is(Work::Operate)
        .says("Figures for Prometheus").gives_text("text/plain; version=0.0.4"),
    row(Get, "/openapi.json", Need::Nothing, handler!(openapi::get)).is(Work::Either)
        .says("This document").gives::<body::AnyObject>(200),
    // the installation, for operators
    row(Get, "/admin/cluster", ADMIN, handler!(admin::overview)).is(Work::Operate)
        .says("Shows nodes, groups and replicas").gives::<body::Overview>(200),
    row(Get, "/admin/cluster/digest", ADMIN, handler!(admin::digest)).is(Work::Operate)
        .says("Shows hashes of what the node holds").gives::<body::Digest>(200),
    row(Post, "/admin/nodes/{node}/drain", ADMIN, handler!(admin::drain)).is(Work::Operate)
        .says("Moves the replicas of a node elsewhere").gives::<body::Message>(200),
    row(Post, "/admin/nodes/{node}/undrain", ADMIN, handler!(admin::undrain)).is(Work::Operate)
        .says("Lets a node have replicas again").gives::<body::Message>(200),
    row(Post, "/admin/nodes/{node}/replace", ADMIN, handler!(admin::replace)).is(Work::Operate)
        .says("Lets a node take the place of another one").with(&[FORCE]).takes::<body::Replacement>().gives::<body::Message>(200),
    row(Delete, "/admin/nodes/{node}", ADMIN, handler!(admin::remove)).is(Work::Operate)
        .says("Removes a node for good").with(&[FORCE]).gives::<body::Message>(200),
    row(Post, "/admin/groups/{group}/leader", ADMIN, handler!(admin::transfer)).is(Work::Operate)
        .says("Hands a group to another leader").takes::<body::NewLeader>().gives::<body::Message>(200),
    row(Post, "/admin/suggestions/{indexName}/build", ADMIN, handler!(suggestions::build)).is(Work::Operate)
        .says("Has a suggestions index built now").gives::<body::Message>(200),
    row(Post, "/admin/admin-key", ADMIN, handler!(admin::replace_admin_key)).is(Work::Operate)
        .says("Replaces the admin key").takes::<body::NewAdminKey>().gives::<body::Message>(200),
    row(Get, "/admin/events", ADMIN, handler!(admin::events::show)).is(Work::Operate)
        .says("Shows what there is of events").gives::<body::EventsFound>(200),
    row(Post, "/admin/events", ADMIN, handler!(admin::events::bring)).is(Work::Operate).body(Events)
        .says("Takes events and searches of the past").takes::<body::EventHistory>().gives::<body::EventsTaken>(200),
    row(Post, "/admin/events/forget", ADMIN, handler!(admin::events::forget)).is(Work::Operate)
        .says("Forgets what a user did, whatever the token").takes::<body::ForgottenUser>().gives::<body::Message>(200),
    row(Get, "/admin/events/rows", ADMIN, handler!(admin::events::rows)).is(Work::Operate)
        .says("Hands out rows of events as a Parquet file").with(EVENT_ROWS).gives::<body::EventRows>(200),
    row(Get, "/admin/recommend", ADMIN, handler!(admin::models::list)).is(Work::Operate)
        .says("Shows the models of recommendations").with(MODEL_PAGE).gives::<body::Models>(200),
    row(Put, "/admin/recommend/{indexName}/{model}", ADMIN, handler!(admin::models::put)).is(Work::Operate).body(Lines)
        .says("Puts a model in force that was made elsewhere").with(MODEL_SUM).takes::<body::ModelLine>().gives::<body::Message>(200),
    row(Post, "/admin/recommend/{indexName}/{model}/build", ADMIN, handler!(admin::models::build)).is(Work::Operate)
        .says("Builds a model of recommendations").gives::<body::Message>(200),
    row(Post, "/admin/recover", ADMIN, handler!(admin::recovery)).is(Work::Operate)
        .says("Says what to do when a majority is lost").gives::<body::Message>(200),
];

#[cfg(test)]
mod tests;
