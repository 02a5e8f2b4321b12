//! Which routes are there, what right does each need, and which endpoint answers?
//!
//! Each row also says what kind of work it is, so that a listener can be kept to one kind (§4.1).
//!
//! One row per method and path of §4 and C§3.3. A row whose endpoint is `Missing` is part of the interface but not
//! built yet; it answers 404 with the text.

use quorate_model::{Acl, DocumentKind};

/// A method of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Verb {
    Get,
    Post,
    Put,
    Delete,
}
impl Verb {
    /// The method as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Put => "PUT",
            Verb::Delete => "DELETE",
        }
    }
}

/// What a caller must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: no credentials are read.
    Nothing,
    /// Any key.
    AnyKey,
    /// A key with this right.
    Right(Acl),
    /// A key; the endpoint checks the right of each operation.
    PerOperation,
    /// The admin key.
    Admin,
}

/// What kind of work a row is: clients send reads to one host and writes to another (§4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It changes nothing.
    Read,
    /// It changes something.
    Write,
    /// Part of either: those who write wait for their tasks, and so do those who read.
    Either,
    /// It is about the installation, for operators.
    Operate,
    /// It says whether the node is fit, for balancers, on any listener.
    Watch,
}

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Endpoint {
    Query,
    QueryGet,
    Queries,
    FacetQuery,
    Browse,
    BrowseGet,
    AddObject,
    PutObject,
    DeleteObject,
    DeleteBy,
    Clear,
    Partial,
    Batch,
    MultiBatch,
    GetObjects,
    GetObject,
    GetSettings,
    SetSettings,
    SaveDocument(DocumentKind),
    SaveDocuments(DocumentKind),
    GetDocument(DocumentKind),
    DeleteDocument(DocumentKind),
    ClearDocuments(DocumentKind),
    SearchDocuments(DocumentKind),
    DeleteIndex,
    Operation,
    ListIndices,
    AssignUser,
    AssignUsers,
    TopUsers,
    GetUser,
    ListUsers,
    ListClusters,
    RemoveUser,
    SearchUsers,
    PendingUsers,
    IndexTask,
    Task,
    IsAlive,
    Live,
    Ready,
    Metrics,
    Overview,
    Digest,
    DrainNode,
    UndrainNode,
    RemoveNode,
    ReplaceNode,
    TransferLeader,
    Recovery,
    /// Not built yet; the text says what.
    Missing(&'static str),
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Method.
    pub verb: Verb,
    /// Path with `{placeholders}`; `*` is literal.
    pub path: &'static str,
    /// The right it needs.
    pub need: Need,
    /// What answers.
    pub endpoint: Endpoint,
    /// What kind of work it is.
    pub work: Work,
}
impl Route {
    const fn is(self, work: Work) -> Route {
        Route { work, ..self }
    }
    /// Whether the first placeholder names an index, so that index restrictions of the key apply (C§13.2 step 7).
    pub fn names_index(&self) -> bool {
        self.path.starts_with("/1/indexes/{indexName}")
    }
    /// Whether the path itself carries something that must not be logged.
    pub fn is_secret(&self) -> bool {
        self.path.contains("{key}") || self.path.contains("{userToken}")
    }
}

/// A row; what gets is a read, everything else a write, unless the row says otherwise.
const fn row(verb: Verb, path: &'static str, need: Need, endpoint: Endpoint) -> Route {
    let work = match verb {
        Verb::Get => Work::Read,
        Verb::Post | Verb::Put | Verb::Delete => Work::Write,
    };
    Route { verb, path, need, endpoint, work }
}

/// Every row.
pub fn table() -> &'static [Route] {
    ROUTES
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
use quorate_model::DocumentKind::{Rules, Synonyms};
const KEYS: Endpoint = Endpoint::Missing("Key management");
const DICTIONARIES: Endpoint = Endpoint::Missing("Dictionaries");
const SOURCES: Endpoint = Endpoint::Missing("The network allowlist");
const LOGS: Endpoint = Endpoint::Missing("The request log");
const SUGGESTIONS: Endpoint = Endpoint::Missing("Query suggestions");
const RECOMMEND: Endpoint = Endpoint::Missing("Recommendations");
const INSIGHTS: Endpoint = Endpoint::Missing("Event collection");
const PERSONALIZATION: Endpoint = Endpoint::Missing("Personalization");
use Verb::{Delete, Get, Post, Put};

#[rustfmt::skip]
static ROUTES: &[Route] = &[
    // §4.2 search
    row(Post, "/1/indexes/{indexName}/query", SEARCH, Endpoint::Query).is(Work::Read),
    row(Get, "/1/indexes/{indexName}", SEARCH, Endpoint::QueryGet),
    row(Post, "/1/indexes/*/queries", SEARCH, Endpoint::Queries).is(Work::Read),
    row(Post, "/1/indexes/{indexName}/facets/{facetName}/query", SEARCH, Endpoint::FacetQuery).is(Work::Read),
    row(Post, "/1/indexes/{indexName}/browse", BROWSE, Endpoint::Browse).is(Work::Read),
    row(Get, "/1/indexes/{indexName}/browse", BROWSE, Endpoint::BrowseGet),
    // §4.3 objects
    row(Post, "/1/indexes/{indexName}", ADD, Endpoint::AddObject),
    row(Put, "/1/indexes/{indexName}/{objectID}", ADD, Endpoint::PutObject),
    row(Delete, "/1/indexes/{indexName}/{objectID}", DELETE_OBJECT, Endpoint::DeleteObject),
    row(Post, "/1/indexes/{indexName}/deleteByQuery", DELETE_INDEX, Endpoint::DeleteBy),
    row(Post, "/1/indexes/{indexName}/clear", DELETE_INDEX, Endpoint::Clear),
    row(Post, "/1/indexes/{indexName}/{objectID}/partial", ADD, Endpoint::Partial),
    row(Post, "/1/indexes/{indexName}/batch", Need::PerOperation, Endpoint::Batch),
    row(Post, "/1/indexes/*/batch", Need::PerOperation, Endpoint::MultiBatch),
    row(Post, "/1/indexes/*/objects", SEARCH, Endpoint::GetObjects).is(Work::Read),
    row(Get, "/1/indexes/{indexName}/{objectID}", SEARCH, Endpoint::GetObject),
    // §4.4 settings
    row(Get, "/1/indexes/{indexName}/settings", SETTINGS, Endpoint::GetSettings),
    row(Put, "/1/indexes/{indexName}/settings", EDIT, Endpoint::SetSettings),
    // §4.5 indices
    row(Delete, "/1/indexes/{indexName}", DELETE_INDEX, Endpoint::DeleteIndex),
    row(Post, "/1/indexes/{indexName}/operation", ADD, Endpoint::Operation),
    row(Get, "/1/indexes", Need::Right(Acl::ListIndexes), Endpoint::ListIndices),
    // §4.6 synonyms
    row(Put, "/1/indexes/{indexName}/synonyms/{objectID}", EDIT, Endpoint::SaveDocument(Synonyms)),
    row(Post, "/1/indexes/{indexName}/synonyms/batch", EDIT, Endpoint::SaveDocuments(Synonyms)),
    row(Get, "/1/indexes/{indexName}/synonyms/{objectID}", SETTINGS, Endpoint::GetDocument(Synonyms)),
    row(Post, "/1/indexes/{indexName}/synonyms/clear", EDIT, Endpoint::ClearDocuments(Synonyms)),
    row(Delete, "/1/indexes/{indexName}/synonyms/{objectID}", EDIT, Endpoint::DeleteDocument(Synonyms)),
    row(Post, "/1/indexes/{indexName}/synonyms/search", SETTINGS, Endpoint::SearchDocuments(Synonyms)).is(Work::Read),
    // §4.7 keys
    row(Post, "/1/keys", ADMIN, KEYS),
    row(Put, "/1/keys/{key}", ADMIN, KEYS),
    row(Get, "/1/keys", ADMIN, KEYS),
    row(Get, "/1/keys/{key}", Need::AnyKey, KEYS),
    row(Delete, "/1/keys/{key}", ADMIN, KEYS),
    row(Post, "/1/keys/{key}/restore", ADMIN, KEYS),
    row(Post, "/1/indexes/{indexName}/keys", ADMIN, KEYS),
    row(Put, "/1/indexes/{indexName}/keys/{key}", ADMIN, KEYS),
    row(Get, "/1/indexes/{indexName}/keys", ADMIN, KEYS),
    row(Get, "/1/indexes/*/keys", ADMIN, KEYS),
    row(Get, "/1/indexes/{indexName}/keys/{key}", ADMIN, KEYS),
    row(Delete, "/1/indexes/{indexName}/keys/{key}", ADMIN, KEYS),
    // §4.8 rules
    row(Put, "/1/indexes/{indexName}/rules/{objectID}", EDIT, Endpoint::SaveDocument(Rules)),
    row(Post, "/1/indexes/{indexName}/rules/batch", EDIT, Endpoint::SaveDocuments(Rules)),
    row(Get, "/1/indexes/{indexName}/rules/{objectID}", SETTINGS, Endpoint::GetDocument(Rules)),
    row(Delete, "/1/indexes/{indexName}/rules/{objectID}", EDIT, Endpoint::DeleteDocument(Rules)),
    row(Post, "/1/indexes/{indexName}/rules/clear", EDIT, Endpoint::ClearDocuments(Rules)),
    row(Post, "/1/indexes/{indexName}/rules/search", SETTINGS, Endpoint::SearchDocuments(Rules)).is(Work::Read),
    // §4.9 dictionaries
    row(Post, "/1/dictionaries/{dictionaryName}/batch", EDIT, DICTIONARIES),
    row(Get, "/1/dictionaries/{dictionaryName}/search", SETTINGS, DICTIONARIES),
    row(Post, "/1/dictionaries/{dictionaryName}/search", SETTINGS, DICTIONARIES).is(Work::Read),
    row(Put, "/1/dictionaries/*/settings", EDIT, DICTIONARIES),
    row(Get, "/1/dictionaries/*/settings", SETTINGS, DICTIONARIES),
    row(Get, "/1/dictionaries/*/languages", SETTINGS, DICTIONARIES),
    // §4.10 multi-cluster
    row(Post, "/1/clusters/mapping", ADMIN, Endpoint::AssignUser),
    row(Post, "/1/clusters/mapping/batch", ADMIN, Endpoint::AssignUsers),
    row(Get, "/1/clusters/mapping/top", ADMIN, Endpoint::TopUsers),
    row(Get, "/1/clusters/mapping/{userID}", ADMIN, Endpoint::GetUser),
    row(Get, "/1/clusters", ADMIN, Endpoint::ListClusters),
    row(Get, "/1/clusters/mapping", ADMIN, Endpoint::ListUsers),
    row(Delete, "/1/clusters/mapping/{userID}", ADMIN, Endpoint::RemoveUser),
    row(Delete, "/1/clusters/mapping", ADMIN, Endpoint::RemoveUser),
    row(Post, "/1/clusters/mapping/search", ADMIN, Endpoint::SearchUsers).is(Work::Read),
    row(Get, "/1/clusters/mapping/pending", ADMIN, Endpoint::PendingUsers),
    // §4.11 allowlist
    row(Get, "/1/security/sources", ADMIN, SOURCES),
    row(Put, "/1/security/sources", ADMIN, SOURCES),
    row(Post, "/1/security/sources/append", ADMIN, SOURCES),
    row(Delete, "/1/security/sources/{source}", ADMIN, SOURCES),
    // §4.12 logs and tasks
    row(Get, "/1/logs", Need::Right(Acl::Logs), LOGS),
    row(Get, "/1/indexes/{indexName}/task/{taskID}", ADD, Endpoint::IndexTask).is(Work::Either),
    row(Get, "/1/task/{taskID}", EDIT, Endpoint::Task).is(Work::Either),
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
    row(Get, "/1/isalive", Need::Nothing, Endpoint::IsAlive).is(Work::Watch),
    row(Get, "/1/health", Need::Nothing, Endpoint::Ready).is(Work::Watch),
    row(Get, "/health", Need::Nothing, Endpoint::Ready).is(Work::Watch),
    // operation
    row(Get, "/livez", Need::Nothing, Endpoint::Live).is(Work::Watch),
    row(Get, "/readyz", Need::Nothing, Endpoint::Ready).is(Work::Watch),
    row(Get, "/metrics", Need::Nothing, Endpoint::Metrics).is(Work::Operate),
    // the installation, for operators
    row(Get, "/admin/cluster", ADMIN, Endpoint::Overview).is(Work::Operate),
    row(Get, "/admin/cluster/digest", ADMIN, Endpoint::Digest).is(Work::Operate),
    row(Post, "/admin/nodes/{node}/drain", ADMIN, Endpoint::DrainNode).is(Work::Operate),
    row(Post, "/admin/nodes/{node}/undrain", ADMIN, Endpoint::UndrainNode).is(Work::Operate),
    row(Post, "/admin/nodes/{node}/replace", ADMIN, Endpoint::ReplaceNode).is(Work::Operate),
    row(Delete, "/admin/nodes/{node}", ADMIN, Endpoint::RemoveNode).is(Work::Operate),
    row(Post, "/admin/groups/{group}/leader", ADMIN, Endpoint::TransferLeader).is(Work::Operate),
    row(Post, "/admin/recover", ADMIN, Endpoint::Recovery).is(Work::Operate),
];
